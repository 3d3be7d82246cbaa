"""What a task is asked."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

from torch import Tensor, nn

from transformer_course.batches.pairs import Batches
from transformer_course.data.corpora import CORPORA, Corpus, find, of_files
from transformer_course.data.tokenizer import PAD, Tokenizer
from transformer_course.errors import ConfigError
from transformer_course.models.config import AnyModelConfig
from transformer_course.training.chunked_loss import chunked_loss
from transformer_course.training.config import DataConfig, Experiment
from transformer_course.training.loss import LossFunction


class Judged(NamedTuple):
    """A model, and what it is judged by."""

    model: nn.Module
    """On its device."""
    tokenizer: Tokenizer | None
    """Its own; None where there is no text."""
    text: Any
    """The split to judge by."""
    train: Any
    """The split that was learned from."""
    beam_size: int = 5
    """Of the search, where there is one; 1 is greedy."""
    alpha: float = 0.6
    """Exponent of the search's length penalty."""

    @property
    def search(self) -> str:
        """The search in words."""
        if self.beam_size == 1:
            return "greedy"
        return f"beam {self.beam_size}, alpha {self.alpha}"


class Task(ABC):
    """A kind of training.

    A task has no state: what it needs is handed to it. The text of a split is
    whatever its corpora hold; the tokenizer is None for what is no text.
    """

    name: ClassVar[str]
    """As settings and checkpoints have it."""
    models: ClassVar[tuple[type[AnyModelConfig], ...]]
    """The models that can be trained, by the classes of their configs."""
    examples: ClassVar[str]
    """What the training part is counted in, in a word."""
    prompted: ClassVar[str]
    """The side of the corpus that a reader's text stands for: src or tgt."""
    reads: ClassVar[str] = "text"
    """What its models are given: text or images."""
    gives: ClassVar[str] = "text"
    """What its models answer: text, classes or hidden words."""

    @abstractmethod
    def takes(self, corpus: Corpus) -> bool:
        """Whether a corpus has what this task learns from."""

    @abstractmethod
    def load(self, data: DataConfig):
        """The splits of a corpus, shortened and turned as asked.

        Raises:
            ConfigError: a setting that this corpus cannot follow.
            CorpusError: the corpus cannot be had.
        """

    @abstractmethod
    def learn_tokenizer(
        self, experiment: Experiment, train
    ) -> Tokenizer | None:
        """A tokenizer from the training text; None where there is no text."""

    @abstractmethod
    def sized(
        self, config: AnyModelConfig, tokenizer: Tokenizer | None
    ) -> AnyModelConfig:
        """The model's config with the sizes that the data decide."""

    @abstractmethod
    def batches(
        self, experiment: Experiment, tokenizer: Tokenizer | None, train
    ) -> Batches:
        """What is trained on, epoch by epoch."""

    def how_parted(self, splits) -> str:
        """How the package has parted the text; "" by default."""
        return ""

    def batch_figures(self, batches: Batches) -> dict[str, float]:
        """What is recorded of an epoch's batches; nothing by default."""
        return {}

    @abstractmethod
    def scored_batches(
        self, config: AnyModelConfig, tokenizer: Tokenizer | None, text
    ) -> list:
        """What is judged on, in order."""

    def begin_with(self, model: nn.Module, other: nn.Module) -> None:
        """Copy the weights that a training starts from.

        Args:
            model: new; its weights are replaced.
            other: trained, by the same task or another.

        Raises:
            RuntimeError: they do not fit.
        """
        model.load_state_dict(other.state_dict())

    loss: LossFunction = staticmethod(chunked_loss)
    """The loss of a batch, in training and in evaluation."""

    @abstractmethod
    def metrics(
        self,
        model: nn.Module,
        tokenizer: Tokenizer | None,
        dev,
        means: dict[str, float],
    ) -> dict[str, float]:
        """What else the development set says of a model.

        Args:
            model: as it stands.
            tokenizer: its own.
            dev: the split.
            means: from ``evaluate``.
        """

    @abstractmethod
    def samples(
        self, model: nn.Module, tokenizer: Tokenizer | None, dev
    ) -> list[dict[str, str]]:
        """What a model makes of a few fixed inputs; the same each time."""

    @abstractmethod
    def told(self, sample: dict[str, str]) -> str:
        """A sample in a line or two."""

    @abstractmethod
    def quality(self, metrics: dict[str, float]) -> float:
        """What checkpoints are chosen by; more is better."""

    @abstractmethod
    def report(
        self, title: str, judged: Judged, say: Callable[[str], None]
    ) -> list[str] | None:
        """Judge a model by a split, and say it line by line.

        Args:
            title: what the first line begins with.
            judged: the model and the text.
            say: called with each line as soon as it is known.

        Returns:
            What the model wrote, a line for each sentence; None where it is
            judged by something else.
        """

    @abstractmethod
    def prompt(
        self, tokenizer: Tokenizer, text: str, max_length: int
    ) -> tuple[Tensor | None, Tensor | None]:
        """A reader's text as a model takes it: source and prefix, one row.

        Raises:
            ConfigError: there is no text, and the model needs one.
        """

    @abstractmethod
    def first_use(self, folder: Path) -> str:
        """The command that shows what a model has learned."""

    def check(self, experiment: Experiment) -> None:
        """See that this task can do what the settings ask.

        Raises:
            ConfigError: another kind of model, or a corpus without what is
                learned from; those that fit are named.
            CorpusError: no such corpus.
        """
        given = type(experiment.model)
        if given not in self.models:
            known = ", ".join(kind.__name__ for kind in self.models)
            raise ConfigError(
                f"the task {self.name} trains a {known}, and a "
                f"{given.__name__} was given: choose another model, or "
                "another task."
            )
        corpus = corpus_of(experiment.data)
        if not self.takes(corpus):
            fit = [name for name, c in CORPORA.items() if self.takes(c)]
            raise ConfigError(
                f"the corpus {corpus.name} has nothing for the "
                f"task {self.name}; these have: {', '.join(fit)}."
            )


def corpus_of(data: DataConfig) -> Corpus:
    """What is learned: a corpus of the table, or two files.

    Raises:
        CorpusError: no such corpus.
    """
    if data.files is None:
        return find(data.corpus)
    languages = data.src, data.tgt
    return of_files(data.files, data.sha256, languages, data.spaced)


def require_unset(data: DataConfig, *names: str) -> None:
    """Refuse settings that only other tasks, or other corpora, can follow.

    Raises:
        ConfigError: one of them is set.
    """
    for name in names:
        if value := getattr(data, name):
            raise ConfigError(
                f"{name} is {value}, which {data.corpus} cannot follow in "
                "this task: leave it out."
            )


def require_text(experiment: Experiment) -> None:
    """See that the settings are those of text, filled up as text is.

    Raises:
        ConfigError: a setting of images, or another id to fill up with.
    """
    require_unset(experiment.data, "shift")
    if experiment.model.pad_id != PAD:
        raise ConfigError(
            f"pad_id is {experiment.model.pad_id}, but text is filled up "
            f"with {PAD}: leave --model.pad-id out."
        )


def require_read_once(experiment: Experiment) -> None:
    """Refuse R-Drop, which reads each batch twice.

    Raises:
        ConfigError: it is asked for.
    """
    if r_drop := experiment.train.r_drop:
        raise ConfigError(
            f"r_drop is {r_drop}, but this task reads each batch once: leave "
            "it out."
        )
