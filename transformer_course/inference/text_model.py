"""A trained model as people use it: text in, text out (chapter 15).

A :class:`TextModel` is a checkpoint, or several that work together, with what
is known about its text: it cuts a reader's sentence into the words of the
corpus and joins what the model writes, unless told to leave text as it is.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from transformer_course.batches.labelled import text_rows
from transformer_course.checks import from_dict
from transformer_course.console import quoted
from transformer_course.data import plain
from transformer_course.data.labelled import CLASSES
from transformer_course.data.tokenizer import Tokenizer
from transformer_course.decoding.classify import (
    Guess,
    probabilities,
    top_guesses,
)
from transformer_course.decoding.generate import sample
from transformer_course.decoding.translate import (
    DEFAULT_SEARCHES,
    Candidate,
    Searches,
    TextStream,
    candidates,
    encode_source,
    too_long,
    translate,
    unknown,
)
from transformer_course.device import pick_device
from transformer_course.errors import CheckpointError, ConfigError
from transformer_course.inference.report import (
    Evaluation,
    Say,
    first_command,
)
from transformer_course.interpretation import explain
from transformer_course.models.ensemble import Ensemble
from transformer_course.models.optimize import optimize
from transformer_course.training import checkpoint
from transformer_course.training.config import DataConfig
from transformer_course.training.run.folder import find
from transformer_course.training.tasks.table import task_of
from transformer_course.training.tasks.task import Task, corpus_of

Search = Callable[..., list[list[int]]]
"""Finds one target's ids; takes ``on_token``."""


@dataclass(frozen=True)
class TextModel:
    """A model with its tokenizer, its task, and the ways of its text."""

    path: Path
    """The checkpoint that was loaded, or the first of them."""
    model: nn.Module
    tokenizer: Tokenizer
    task: Task
    details: dict[str, Any]
    """What was saved beside the model: corpus, languages."""
    as_is: bool
    """Whether text is left as it comes, its words apart as in the corpus."""
    searches: Searches = DEFAULT_SEARCHES
    """Those that the model is made for."""

    @classmethod
    def load(
        cls,
        path: Path,
        device: str = "auto",
        as_is: bool = False,
        bf16: bool = False,
    ) -> "TextModel":
        """Load a run's chosen checkpoint, or the one that a folder is.

        Args:
            path: the run, or the checkpoint.
            device: see :func:`~transformer_course.device.pick_device`.
            as_is: leave text as it comes.
            bf16: compute in bf16, which rounds to three digits.

        Raises:
            CheckpointError: there is none, it is damaged, or it has no
                tokenizer.
        """
        folder = find(path)
        loaded = checkpoint.load(folder, pick_device(device))
        task = task_of(loaded.model.config, loaded.details)
        if task.input_kind != "text":
            raise CheckpointError(
                f"{path} holds a model of {task.input_kind}, and this command "
                "takes one of text: use classify or score."
            )
        if loaded.tokenizer is None:
            raise CheckpointError(
                f"{path} has no tokenizer.model, so it cannot read text: save "
                "the model with its tokenizer."
            )
        model = loaded.model.bfloat16() if bf16 else loaded.model
        return cls(
            folder,
            optimize(model),
            loaded.tokenizer,
            task,
            loaded.details,
            as_is,
        )

    def require_writing(self, translates: bool = False) -> None:
        """See that the model writes text, and translations if asked.

        Raises:
            ConfigError: it does not; what it is for is said.
        """
        if self.task.output_kind not in ("text", "translation"):
            raise self._used_otherwise("writes no text")
        if translates and self.task.prompt_side != "src":
            raise self._used_otherwise("goes on with a text")

    def _used_otherwise(self, what: str) -> ConfigError:
        use = (
            f"transformer-course {first_command(self.task, quoted(self.path))}"
        )
        return ConfigError(f"{self.path} holds a model that {what}: {use}")

    def beside(self, others: Sequence["TextModel"]) -> "TextModel":
        """This model and others as one: their probabilities are averaged.

        Raises:
            CheckpointError: one was trained for another task, corpus or
                direction, or with another tokenizer.
            ConfigError: models that cannot be averaged.
        """
        if not others:
            return self
        self.require_writing()
        for other in others:
            self._check_like(other)
        models = [self.model, *(other.model for other in others)]
        return replace(self, model=Ensemble(models))

    def _check_like(self, other: "TextModel") -> None:
        for key in ("task", "corpus", "src", "tgt", "sha256"):
            mine, theirs = (
                ({"task": m.task.name} | m.details).get(key)
                for m in (self, other)
            )
            if mine != theirs:
                raise CheckpointError(
                    f"{other.path} has {key} {theirs!r}, and {self.path} has "
                    f"{mine!r}: models that work together must do the same."
                )
        if not self.tokenizer.cuts_like(other.tokenizer):
            raise CheckpointError(
                f"{other.path} cuts text into other pieces than {self.path}: "
                "the models need one tokenizer. Train the one with "
                "--train.start-from the other, or both on the same text with "
                "the same vocab-size."
            )

    def translate(
        self, sentences: list[str], beam_size: int, alpha: float
    ) -> list[str]:
        """Translate sentences, in the order given."""
        return self._joined(
            translate(
                self.model,
                self.tokenizer,
                self.cut(sentences),
                beam_size,
                alpha,
                searches=self.searches,
            )
        )

    def ranked(
        self, sentences: list[str], beam_size: int, alpha: float
    ) -> list[list[Candidate]]:
        """The whole beam of each sentence, best first."""
        beams = candidates(
            self.model,
            self.tokenizer,
            self.cut(sentences),
            beam_size,
            alpha,
            searches=self.searches,
        )
        return [
            [one._replace(text=self._joined([one.text])[0]) for one in beam]
            for beam in beams
        ]

    def stream(self, sentence: str, say: Say) -> None:
        """Translate a sentence greedily, and say words as they are decided."""
        [source] = self.cut([sentence])
        if source.strip():
            limit = self.model.config.max_length
            ids = encode_source(self.tokenizer, source, limit)
            src = torch.tensor([ids])
            self._grow(partial(self.searches.greedy, self.model, src), say)

    def drawing(self, prompt: str, seed: int, **settings) -> "Drawing":
        """What draws texts that answer a prompt, or go on with it.

        Args:
            prompt: text as people write it.
            seed: fixes what is drawn.
            settings: of :func:`~.generate.sample`.

        Raises:
            ConfigError: the model writes no text, or needs a prompt, and
                none was given.
        """
        self.require_writing()
        [text] = self.cut([prompt], self.task.prompt_side)
        src = prefix = None
        if self.task.prompt_side == "tgt":
            prefix = torch.tensor([self.tokenizer.encode(text)]).long()
        elif text.strip():
            limit = self.model.config.max_length
            src = torch.tensor([encode_source(self.tokenizer, text, limit)])
        else:
            raise ConfigError(
                "no sentence was given, and this model answers one: generate "
                "MODEL 'a sentence'."
            )
        device = next(self.model.parameters()).device
        search = partial(
            sample,
            self.model,
            src,
            generator=torch.Generator(device).manual_seed(seed),
            prefix=prefix,
            **settings,
        )
        return Drawing(self, search, prefix)

    @property
    def names(self) -> tuple[str, ...]:
        """Of the classes that it tells apart.

        Raises:
            ConfigError: it tells none.
            CheckpointError: it does not say which.
        """
        if self.task.output_kind != "classes":
            raise self._used_otherwise("tells no classes apart")
        corpus = self._about("corpus")
        if corpus not in CLASSES:
            raise CheckpointError(
                f"{self.path} says that it was trained on {corpus!r}, so its "
                f"classes have no names; known are {', '.join(CLASSES)}."
            )
        return CLASSES[corpus]

    def classify(self, lines: list[str], top: int = 1) -> list[list[Guess]]:
        """The likeliest classes of each text; none where there is no text.

        Raises:
            ConfigError: ``top`` is not from 1 to the number of classes.
            CheckpointError: its classes have no names.
        """
        names, texts = self.names, self.cut(lines)
        shares = probabilities(self.model, self.tokenizer, texts)
        found = top_guesses(shares, names, top)
        return [
            guesses if text.strip() else []
            for text, guesses in zip(texts, found, strict=True)
        ]

    def explain(self, line: str) -> "TokenAttribution":
        """What each piece of a text has to do with its likeliest class.

        Raises:
            ConfigError: the model has no encoder with attention.
        """
        [text] = self.cut([line])
        limit = self.model.config.max_length
        ids = torch.tensor(text_rows(self.tokenizer, [text], limit))
        ids = ids.to(next(self.model.parameters()).device)
        looks = explain.encoder_attention(self.model, ids)[0, -1].mean(dim=0)
        speaks = explain.gradient_attention(self.model, ids)[0]
        speaks = speaks - torch.eye(len(speaks), device=ids.device)
        pooling = self.model.config.pooling
        looks, speaks = (
            explain.pooled_row(m, pooling) for m in (looks, speaks)
        )
        pieces = self.tokenizer.pieces(text)[: limit - 2]
        return TokenAttribution(pieces, looks[1:-1].cpu(), speaks[1:-1].cpu())

    def report(
        self, named: str, split: str, beam_size: int, alpha: float, say: Say
    ) -> list[str] | None:
        """Evaluate the model on its corpus; see :meth:`~.Evaluation.report`.

        Args:
            named: the name of the model.
            split: dev or test.
            beam_size: of a translator's search.
            alpha: of its length penalty.
            say: called with each line.
        """
        for key in ("corpus", "src", "tgt"):
            self._about(key)
        data = replace(self._data(), more=None, more_sha256=None)
        splits = self.task.load(data)
        evaluation = Evaluation(
            self.task,
            self.model,
            self.tokenizer,
            getattr(splits, split),
            splits.train,
            beam_size,
            alpha,
        )
        title = f"{named} on {corpus_of(data).name}, {split}"
        return evaluation.report(title, say)

    def warnings(
        self, lines: list[str], side: str = "src", first: int = 1
    ) -> Iterator[str]:
        """What a reader should know about lines that are given.

        Args:
            lines: as they are given.
            side: of the corpus, that they stand for.
            first: the number of the first line.
        """
        lines = self.cut(lines, side)
        limit = self.model.config.max_length
        ends = 2 if self.task.output_kind == "classes" else 1
        long = too_long(self.model, self.tokenizer, lines, ends)
        for i in long if side == "src" else ():
            yield (
                f"line {first + i} is longer than {limit} tokens and is cut "
                "off there; split it into sentences."
            )
        for number, line in enumerate(lines, start=first):
            if strange := unknown(self.tokenizer, line):
                yield (
                    f"line {number} has what the model has never seen: "
                    f"{', '.join(map(repr, strange))}"
                )

    def cut(self, lines: list[str], side: str = "src") -> list[str]:
        """Text as people write it, in the way of the model's corpus."""
        language = self._language(side)
        if language is None:
            return lines
        return [plain.from_plain(line, language) for line in lines]

    def _joined(self, lines: list[str]) -> list[str]:
        """What the model wrote, as people write it."""
        language = self._language("tgt")
        if language is None:
            return lines
        return [plain.to_plain(line, language) for line in lines]

    def _language(self, side: str) -> str | None:
        """Of a side whose words stand apart in the corpus; None where text
        is left as it is."""
        known = "corpus" in self.details
        if self.as_is or (known and not corpus_of(self._data()).spaced):
            return None
        return self._about(side)

    def _data(self) -> DataConfig:
        """Which text was learned, as far as the checkpoint says it."""
        kept = ("corpus", "src", "tgt", "files", "sha256", "spaced")
        known = {key: self.details.get(key) for key in kept}
        known = {key: value for key, value in known.items() if value}
        return from_dict(DataConfig, known)

    def _about(self, key: str) -> str:
        if key not in self.details:
            raise CheckpointError(
                f"the checkpoint does not say its {key!r}: save it with such "
                "details, or cut text into words yourself and add --as-is."
            )
        return self.details[key]

    def _grow(
        self, search: Search, say: Say, begun: Sequence[int] = ()
    ) -> None:
        """Say a text while a search decides it.

        Args:
            search: takes ``on_token``.
            say: called with each new part.
            begun: tokens of a prompt, which come first.
        """
        text = TextStream(self.tokenizer, self._language("tgt"))

        def add(token: int | Tensor) -> None:
            say(text.add(int(token)))

        for token in begun:
            add(token)
        search(on_token=add)
        say(text.end())


class TokenAttribution(NamedTuple):
    """A text's pieces, and two numbers of each."""

    pieces: list[str]
    attention: Tensor
    """How much the class token looks at it, in the last layer, on the
    average of the heads; or how much all tokens do, where their mean is
    read."""
    relevance: Tensor
    """How much it speaks for the class, by gradient × attention."""


class Drawing(NamedTuple):
    """Draws one text after another."""

    owner: TextModel
    search: Search
    prefix: Tensor | None

    def text(self) -> str:
        """Draw a text."""
        [ids] = self.search()
        [text] = self.owner._joined([self.owner.tokenizer.decode(ids)])
        return text

    def stream(self, say: Say) -> None:
        """Draw a text, and say words as they are drawn: the same text."""
        begun = [] if self.prefix is None else self.prefix[0].tolist()
        self.owner._grow(self.search, say, begun)
