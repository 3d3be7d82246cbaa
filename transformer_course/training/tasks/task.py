"""The base class of all tasks, and the checks that they share."""

from abc import ABC, abstractmethod
from typing import ClassVar

from torch import nn

from transformer_course.batches.pairs import AnyBatch, Batches
from transformer_course.checkpoints.kinds import TaskKind, model_type_of
from transformer_course.checks import changed
from transformer_course.console import log
from transformer_course.data.config import DataConfig
from transformer_course.data.corpora import CORPORA, Corpus, corpus_of
from transformer_course.data.tokenizer import PAD, AnyTokenizer
from transformer_course.errors import ConfigError
from transformer_course.models.config import AnyModelConfig
from transformer_course.training.config import Experiment, LossConfig
from transformer_course.training.loss import LossSums


class Task(ABC):
    """A kind of training: its data, its loss, its metrics and samples.

    A task has no state. The type of a split is the corpus's; the tokenizer is
    None where there is no text.
    """

    kind: ClassVar[TaskKind]
    """Its name, the models that it trains, and what they are for."""
    corpora: ClassVar[tuple[str, ...]]
    """Fields of :class:`~.corpora.Corpus`; a corpus must have one of them."""
    languages: ClassVar[int | None] = None
    """Number of languages of a corpus; None for any."""
    own_files: ClassVar[bool] = True
    """Whether it can be trained on a reader's own files."""
    examples: ClassVar[str]
    """Plural noun for the training examples."""
    selection_metric: ClassVar[str]
    """Metric on the development set by which checkpoints are chosen."""
    greater_is_better: ClassVar[bool] = True
    """Whether a larger value of ``selection_metric`` is better."""
    loss_config: ClassVar[type[LossConfig]] = LossConfig
    """The settings of its loss."""
    data_settings: ClassVar[tuple[str, ...]]
    """Settings of the data that it follows, besides the corpus; any other
    must have its default."""

    @property
    def name(self) -> str:
        """Its name in settings and checkpoints."""
        return self.kind.name

    @abstractmethod
    def load(self, data: DataConfig):
        """Load the splits of a corpus: train, dev, test.

        Raises:
            ConfigError: settings that do not go together.
            CorpusError: the corpus cannot be had.
        """

    def fitted(self, experiment: Experiment) -> Experiment:
        """The settings, with what the files of one's own determine.

        Raises:
            CorpusError: the files cannot be had.
        """
        return experiment

    @abstractmethod
    def prepare(
        self,
        experiment: Experiment,
        train,
        tokenizer: AnyTokenizer | None = None,
    ) -> tuple[AnyTokenizer | None, Batches]:
        """Tokenizer and batches of the training split.

        Args:
            experiment: the settings.
            train: the training split.
            tokenizer: a trained one; trained on the split when None.
        """

    @abstractmethod
    def eval_batches(
        self, config: AnyModelConfig, tokenizer: AnyTokenizer | None, text
    ) -> list[AnyBatch]:
        """Batches of any split in its order, always the same.

        Args:
            config: of the model.
            tokenizer: of the model.
            text: the split.
        """

    @abstractmethod
    def loss(
        self, model: nn.Module, batch: AnyBatch, config: LossConfig
    ) -> LossSums:
        """The loss of a batch."""

    def unsmoothed_loss(self, model: nn.Module, batch: AnyBatch) -> LossSums:
        """The loss of a batch in an evaluation."""
        return self.loss(model, batch, self.loss_config(label_smoothing=0.0))

    def metrics(
        self,
        model: nn.Module,
        tokenizer: AnyTokenizer | None,
        dev,
        means: dict[str, float],
    ) -> dict[str, float]:
        """Metrics on the development set besides loss, nll and accuracy.

        Args:
            model: in any mode.
            tokenizer: of the model.
            dev: the split.
            means: from :func:`~.loop.evaluate`.
        """
        return {}

    @abstractmethod
    def samples(
        self, model: nn.Module, tokenizer: AnyTokenizer | None, dev
    ) -> list[dict[str, str]]:
        """Outputs for a few fixed inputs.

        Each is a record of "src", "tgt" and the outputs by name; a class or a
        word is followed by its "probability".
        """


def warn_cut_off(cut: int, total: int, things: str, max_length: int) -> None:
    """Warn of training examples that are longer than ``max_length``."""
    if cut:
        log(
            f"warning: {cut:,} of {total:,} {things} are longer than "
            f"{max_length} tokens and are cut off there; a larger "
            "--model.max-length keeps them whole."
        )


def selection_value(task: Task, metrics: dict[str, float]) -> float:
    """The number by which checkpoints are compared; greater is better."""
    value = metrics[task.selection_metric]
    return value if task.greater_is_better else -value


def check(task: Task, experiment: Experiment) -> None:
    """Check that a task supports the settings.

    Raises:
        ConfigError: another kind of model, a corpus without the data that it
            needs, or a setting that it does not follow.
        CorpusError: no such corpus.
    """
    model, train = experiment.model, experiment.train
    model_type = model_type_of(model)
    if model_type not in task.kind.models:
        raise ConfigError(
            f"the task {task.name} trains a {' or '.join(task.kind.models)}, "
            f"and a {model_type} was given: choose another model, or another "
            "task."
        )
    corpus = corpus_of(experiment.data)
    if not supports(task, corpus):
        fit = [name for name, c in CORPORA.items() if supports(task, c)]
        raise ConfigError(
            f"the corpus {corpus.name} has nothing for the task {task.name}; "
            f"these have: {', '.join(fit)}."
        )
    if type(experiment.loss) is not task.loss_config:
        raise ConfigError(
            f"the task {task.name} has a loss with the settings of "
            f"{task.loss_config.__name__}, and {experiment.loss} was given: "
            f"give loss={task.loss_config.__name__}(...)."
        )
    for name, value in changed(experiment.data).items():
        if name not in ("corpus", *task.data_settings):
            raise ConfigError(
                f"{name} is {value}, which the task {task.name} does not use: "
                "leave it out."
            )
    pad_id = getattr(model, "pad_id", PAD)
    if task.kind.input == "text" and pad_id != PAD:
        raise ConfigError(
            f"pad_id is {pad_id}, but text is padded with {PAD}: leave "
            "--model.pad-id out."
        )
    if task.kind.output == "classes" and train.peak_rate is None:
        raise ConfigError(
            "peak_rate is None, and the paper's rate is for translators: give "
            "one, for instance --train.peak-rate 1e-3."
        )


def supports(task: Task, corpus: Corpus) -> bool:
    """Whether a corpus has the data that a task needs."""
    if corpus.own:
        return task.own_files
    return task.languages in (None, len(corpus.languages)) and any(
        getattr(corpus, name) is not None for name in task.corpora
    )
