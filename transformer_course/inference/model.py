"""A trained model, loaded and ready for use (chapter 15).

A :class:`TrainedModel` is a checkpoint, or an ensemble of several, with what
is known about its text: it tokenises a user's sentence as the corpus is, and
joins the words that the model writes, unless text is left raw.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import torch
from jaxtyping import Float, UInt8
from torch import Tensor, nn

from transformer_course.checkpoints.find import find, load_found
from transformer_course.checkpoints.kinds import TaskKind, task_kind_of
from transformer_course.checks import from_dict
from transformer_course.console import Say, quoted
from transformer_course.data import plain
from transformer_course.data.byte_bpe import ByteBPE
from transformer_course.data.config import DataConfig
from transformer_course.data.corpora import corpus_of
from transformer_course.data.tokenizer import BOS, AnyTokenizer
from transformer_course.data.wordpiece import WordPiece
from transformer_course.decoding.generate import greedy_search, sample
from transformer_course.decoding.search import DEFAULT_ALPHA, length_limits
from transformer_course.decoding.translate import (
    Candidate,
    MapBatches,
    TextStreamer,
    candidates,
    encode_source,
    report_cut,
    too_long,
    translate,
)
from transformer_course.device import pick_device
from transformer_course.errors import CheckpointError, ConfigError
from transformer_course.fast.optimize import optimize
from transformer_course.fast.parallel import parallel_map

if TYPE_CHECKING:
    from transformer_course.decoding.classify import Guess


class TokenAttribution(NamedTuple):
    """The tokens of a text, with two numbers for each."""

    pieces: list[str]
    attention: Tensor
    """Attention of the class token in the last layer, averaged over heads;
    or of all tokens, where their mean is classified."""
    relevance: Tensor
    """Gradient × attention for the predicted class."""


@dataclass(frozen=True)
class TrainedModel:
    """A model with its task, its tokenizer and the form of its text."""

    path: Path
    """The checkpoint, or the first one of an ensemble."""
    model: nn.Module
    tokenizer: AnyTokenizer | None
    """None for a model of images."""
    task: TaskKind
    details: dict[str, Any]
    """Stored with the model: corpus, languages."""
    raw: bool = False
    """Whether text is left as it is: tokenised, as in the corpus."""
    map_batches: MapBatches = map
    """How batches are searched: one after another, or in parallel."""
    max_length: int | None = None
    """Most tokens of a translation; None: 50 more than its source has."""

    @classmethod
    def load(
        cls,
        path: Path,
        device: str = "auto",
        raw: bool = False,
    ) -> "TrainedModel":
        """Load the selected checkpoint of a run, or a single checkpoint.

        Args:
            path: of the run or the checkpoint, or the name of a model that
                comes with the course.
            device: see :func:`~transformer_course.device.pick_device`.
            raw: leave text as it is.

        Raises:
            CheckpointError: there is none, it is damaged, or a model of text
                has no tokenizer.
        """
        folder, place = find(path), pick_device(device)
        loaded = load_found(folder, place)
        task = task_kind_of(loaded.model.config, loaded.details)
        if task.input == "text" and loaded.tokenizer is None:
            raise CheckpointError(
                f"{path} has neither tokenizer.model nor vocab.txt, so it "
                "cannot read text: save the model with its tokenizer."
            )
        return cls(
            folder,
            optimize(loaded.model),
            loaded.tokenizer,
            task,
            loaded.details,
            raw or isinstance(loaded.tokenizer, ByteBPE),
            parallel_map if place.type == "cpu" else map,
        )

    def require_output(self, *kinds: str, prompt_side: str = "") -> None:
        """Raise a ConfigError unless the task has one of these outputs.

        Args:
            kinds: of :attr:`.TaskKind.output`.
            prompt_side: of the task, if it matters.
        """
        task = self.task
        if task.output not in kinds or (
            prompt_side not in ("", task.prompt_side)
        ):
            raise ConfigError(
                f"{self.path} holds a model for "
                f"{task.name.replace('_', ' ')}: transformer-course "
                f"{task.use.format(quoted(self.path))}"
            )

    def ensemble_with(
        self, others: Sequence["TrainedModel"]
    ) -> "TrainedModel":
        """An ensemble of this model and others.

        Raises:
            CheckpointError: one was trained for another task, corpus or
                direction, or with another tokenizer.
            ConfigError: the models cannot be averaged.
        """
        if not others:
            return self
        self.require_output("text", "translation")
        for other in others:
            for key in ("task", "corpus", "src", "tgt", "sha256"):
                ours, theirs = (
                    ({"task": m.task.name} | m.details).get(key)
                    for m in (self, other)
                )
                if ours != theirs:
                    raise CheckpointError(
                        f"{other.path} has {key} {theirs!r}, and {self.path} "
                        f"has {ours!r}: an ensemble needs the same."
                    )
            if not self.tokenizer.cuts_like(other.tokenizer):
                raise CheckpointError(
                    f"{other.path} has other pieces than {self.path}: an "
                    "ensemble needs one tokenizer. Train one model with "
                    "--train.start-from the other, or both on the same text "
                    "with the same vocab-size."
                )
        from transformer_course.models.ensemble import Ensemble

        models = [self.model, *(other.model for other in others)]
        return replace(self, model=Ensemble(models))

    # --- translation and generation ------------------------------------------

    @property
    def alpha(self) -> float:
        """The length penalty that was exported with the model, or 0.6."""
        return self.details.get("alpha", DEFAULT_ALPHA)

    def translate(self, sentences: list[str], **settings) -> list[str]:
        """Translate sentences by settings of :func:`~.translate.translate`."""
        return self._join(self._search(translate, sentences, settings))

    def n_best(
        self, sentences: list[str], **settings
    ) -> list[list[Candidate]]:
        """The hypotheses of each sentence's beam, best first."""
        beams = self._search(candidates, sentences, settings)
        return [
            [one._replace(text=self._join([one.text])[0]) for one in beam]
            for beam in beams
        ]

    def _search(self, search: Callable, sentences: list[str], settings: dict):
        settings["map_batches"] = self.map_batches
        settings["max_length"] = self.max_length
        given = self.model, self.tokenizer, self.tokenise(sentences)
        return search(*given, **settings)

    def stream(self, sentence: str, say: Say, on_cut: Callable) -> None:
        """Translate a sentence greedily, and say words as they are decided."""
        [source] = self.tokenise([sentence])
        if not source.strip():
            return
        src, limit, found = self._source(source), self.max_length, []

        def search(**how) -> None:
            how["max_length"] = limit
            found.extend(greedy_search(self.model, src, **how))

        self._decode(search, say)
        limits = length_limits(self.model, src, None, self.max_length)
        report_cut(found, limits.tolist(), on_cut)

    def sample(
        self, prompt: str, seed: int, say: Say | None = None, **settings
    ) -> Iterator[str]:
        """Sample texts that answer or continue a prompt, without end.

        Args:
            prompt: text as people write it.
            seed: fixes the samples.
            say: called with words as they are sampled; None samples whole
                texts.
            settings: of :func:`~.generate.sample`.

        Raises:
            ConfigError: the model writes no text, or needs a prompt.
        """
        self.require_output("text", "translation")
        [text] = self.tokenise([prompt], self.task.prompt_side)
        src, prefix, begun = None, None, [BOS]
        if self.task.prompt_side == "tgt":
            begun += self.tokenizer.encode(text)
            if isinstance(self.tokenizer, ByteBPE):  # its texts have no bos
                begun = begun[1:] or begun
            prefix = torch.tensor([begun[1:]]).long()
        elif text.strip():
            src = self._source(text)
        else:
            raise ConfigError(
                "no sentence was given, and this model answers one: generate "
                "MODEL 'a sentence'."
            )
        generator = torch.Generator(self._device).manual_seed(seed)
        search = partial(
            sample,
            self.model,
            src,
            generator=generator,
            prefix=prefix,
            start=begun[0],
            **settings,
        )
        while True:
            yield self._decode(search, say, begun)

    def _source(self, text: str) -> Tensor:
        """A batch of one source."""
        limit = self.model.config.max_length
        return torch.tensor([encode_source(self.tokenizer, text, limit)])

    def _decode(
        self,
        search: Callable[..., list[list[int]]],
        say: Say | None,
        prefix: Sequence[int] = (),
    ) -> str:
        """Run a search for one text; say its words as they are decided."""
        if say is None:
            [ids] = search()
            return self._join([self.tokenizer.decode(ids)])[0]
        text = TextStreamer(self.tokenizer, self._language("tgt"))

        def add(token: int | Tensor) -> None:
            say(text.add(int(token)))

        for token in prefix:
            add(token)
        search(on_token=add)
        say(text.end())
        return text.shown

    # --- classification ------------------------------------------------------

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the classes.

        Raises:
            ConfigError: the model is no classifier.
            CheckpointError: its corpus is unknown.
        """
        from transformer_course.data import images, labelled

        self.require_output("classes")
        if own := self.details.get("classes"):
            return tuple(own)
        corpus = self._detail("corpus")
        known = labelled.CLASSES | images.CLASSES
        if corpus not in known:
            raise CheckpointError(
                f"{self.path} was trained on {corpus!r}, so its classes have "
                f"no names; known are {', '.join(known)}."
            )
        return known[corpus]

    def classify(self, lines: list[str], top: int = 1) -> list[list["Guess"]]:
        """The likeliest classes of each text; none for an empty text.

        Raises:
            ConfigError: ``top`` is not from 1 to the number of classes.
        """
        from transformer_course.decoding.classify import (
            probabilities,
            top_guesses,
        )

        names, texts = self.names, self.tokenise(lines)
        found = probabilities(self.model, self.tokenizer, texts)
        return [
            guesses if text.strip() else []
            for text, guesses in zip(
                texts, top_guesses(found, names, top), strict=True
            )
        ]

    def classify_images(
        self, pixels: UInt8[Tensor, "images channels height width"], top: int
    ) -> list[list["Guess"]]:
        """The likeliest classes of each image.

        Raises:
            ConfigError: ``top`` is not from 1 to the number of classes.
        """
        from transformer_course.batches.images import scaled
        from transformer_course.decoding.classify import top_guesses

        with torch.inference_mode():
            logits = self.model(scaled(pixels).to(self._device)).float()
        return top_guesses(logits.softmax(dim=-1), self.names, top)

    def heat_maps(
        self, pixels: UInt8[Tensor, "images channels height width"]
    ) -> Float[Tensor, "images rows columns"]:
        """The evidence for the predicted class: see
        :func:`~.explain.class_map`."""
        from transformer_course.batches.images import scaled
        from transformer_course.interpretation import explain

        inputs = scaled(pixels).to(self._device)
        return explain.class_map(self.model, inputs).cpu()

    def explain(self, line: str) -> TokenAttribution:
        """Attribute the predicted class to the tokens of a text.

        Raises:
            ConfigError: the model has no encoder with attention.
        """
        from transformer_course.batches.labelled import text_rows
        from transformer_course.interpretation import explain

        [text], limit = self.tokenise([line]), self.model.config.max_length
        ids = torch.tensor(text_rows(self.tokenizer, [text], limit))
        ids = ids.to(self._device)
        attention = explain.encoder_attention(self.model, ids)[0, -1]
        relevance = explain.gradient_attention(self.model, ids)[0]
        relevance = relevance - torch.eye(len(relevance), device=ids.device)
        rows = (
            explain.pooled_row(m, self.model.config.pooling)[1:-1].cpu()
            for m in (attention.mean(dim=0), relevance)
        )
        pieces = self.tokenizer.pieces(text)[: limit - 2]
        if isinstance(self.tokenizer, WordPiece):  # spaces as in our pieces
            pieces = [f"▁{piece}".replace("▁##", "") for piece in pieces]
        return TokenAttribution(pieces, *rows)

    # --- the form of text ----------------------------------------------------

    def warnings(
        self, lines: list[str], side: str = "src", first: int = 1
    ) -> Iterator[str]:
        """Warnings about lines that are truncated or have unknown pieces.

        Args:
            lines: as people write them.
            side: the side of the corpus that they belong to.
            first: the number of the first line.
        """
        language = self._spaced_language(side)
        if first == 1 and language not in (None, *plain.LANGUAGES):
            yield (
                f"there are no rules that cut {language!r} into words: "
                "separate words and punctuation by spaces, as in training."
            )
        lines = self.tokenise(lines, side)
        limit = self.model.config.max_length
        ends = 2 if self.task.output == "classes" else 1
        long = too_long(self.model, self.tokenizer, lines, ends)
        for i in long if side == "src" else ():
            yield (
                f"line {first + i} is longer than {limit} tokens and is cut "
                "off there; split it into sentences."
            )
        for number, line in enumerate(lines, start=first):
            if strange := self.tokenizer.unknown(line):
                yield (
                    f"line {number} has words or characters that the model "
                    "has never seen: "
                    f"{', '.join(map(repr, strange))}"
                )

    def tokenise(self, lines: list[str], side: str = "src") -> list[str]:
        """Separate words by spaces, as in the model's corpus."""
        language = self._language(side)
        if language is None:
            return lines
        return [plain.from_plain(line, language) for line in lines]

    def _join(self, lines: list[str]) -> list[str]:
        """Join words as people write them."""
        language = self._language("tgt")
        if language is None:
            return lines
        return [plain.to_plain(line, language) for line in lines]

    def _language(self, side: str) -> str | None:
        """The language of a side; None where text is left as it is."""
        language = self._spaced_language(side)
        return language if language in plain.LANGUAGES else None

    def _spaced_language(self, side: str) -> str | None:
        known = "corpus" in self.details
        if self.raw or (known and not corpus_of(self.data).spaced):
            return None
        return self._detail(side)

    @property
    def data(self) -> DataConfig:
        """The corpus that the model was trained on.

        Raises:
            CheckpointError: its checkpoint does not say.
        """
        self._detail("corpus")
        keys = (
            "corpus",
            "src",
            "tgt",
            "files",
            "sha256",
            "classes",
            "image_size",
            "spaced",
        )
        return from_dict(
            DataConfig,
            {k: self.details[k] for k in keys if self.details.get(k)},
        )

    def _detail(self, key: str) -> str:
        if key not in self.details:
            raise CheckpointError(
                f"the checkpoint does not say its {key!r}: save it with such "
                "details, or cut text into words yourself and add --as-is."
            )
        return self.details[key]

    @property
    def _device(self) -> torch.device:
        return next(self.model.parameters()).device
