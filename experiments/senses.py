"""Does the encoder tell the senses of a word apart?

*Play* becomes 弾く with a piano, する with tennis and 遊ぶ in a park.
``senses.toml`` has such words, and what in a target shows which sense is
meant. From the encoder's vector of the word, before and after each layer, the
nearest of the senses' mean vectors is chosen. The means are those of training
sentences, which are themselves asked about with their own vector left out; of
development and test sentences whose English the encoder has not been trained
on; and of sentences written for this experiment, which are in no corpus.

Beside it stand the commonest sense; an encoder of the same form with first
weights; and two readers of the counts of the sentence's other words, which
know no encoder: their nearest mean, and logistic regression.

``experiments/results/senses/`` has ``accuracy.json`` with all this, and
``play.json``: sentences for the figure, with where the vector of *play* lies
on the plane through the three means after the last layer.
"""

import re
import tomllib
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from scipy.stats import binomtest
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from experiments import store
from experiments.lab import (
    Analysis,
    Record,
    RunContext,
    made_of,
    weights_of,
)
from experiments.translations import CREDIT
from transformer_course.batches.pairs import pad_rows
from transformer_course.checkpoints import checkpoint
from transformer_course.checkpoints.shipped import FOLDER
from transformer_course.data.corpora import load_corpus
from transformer_course.data.plain import from_plain
from transformer_course.data.text import ParallelText
from transformer_course.data.tokenizer import Tokenizer
from transformer_course.decoding.translate import encode_source, translate
from transformer_course.interpretation.hooks import record
from transformer_course.models.transformer import Transformer

WORDS = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))
FEWEST = 20
"""Training sentences of each sense of a word that is asked about."""
MOST = 600
"""Training sentences of a word, of which the first are taken."""
SHOWN = (
    "the children play the piano .",
    "the children play the guitar .",
    "the children play the violin .",
    "the children play tennis .",
    "the children play baseball .",
    "the children play soccer .",
    "the children play in the park .",
    "the children play outside .",
    "the children play with the cat .",
)
"""Sentences of the figure."""
SEED = 0
TIE = 1e-6
"""Distances that differ by less are equal."""
Answer = Callable[[np.ndarray, np.ndarray, np.ndarray], np.ndarray]
"""From vectors and their labels to the labels of other vectors."""


class Use(NamedTuple):
    """A sentence with the word in it."""

    text: str
    sense: int
    """Its number among the word's senses."""


# --- sentences ---------------------------------------------------------------


def uses_of(word: str, text: ParallelText) -> list[Use]:
    """Sentences with the word once, whose target shows one sense alone.

    Each English sentence is there once, with its first target.
    """
    patterns = [re.compile(sense["shown"]) for sense in WORDS[word].values()]
    found = {}
    for src, tgt in text:
        joined = tgt.replace(" ", "")
        shown = [k for k, one in enumerate(patterns) if one.search(joined)]
        if src.split().count(word) == 1 and len(shown) == 1:
            found.setdefault(src, Use(src, shown[0]))
    return list(found.values())


def written_uses(word: str) -> list[Use]:
    """The sentences that were written for this experiment."""
    return [
        Use(from_plain(text, "en"), k)
        for k, sense in enumerate(WORDS[word].values())
        for text in sense["written"]
    ]


def without(uses: list[Use], known: set[str]) -> list[Use]:
    """Those whose English is not known."""
    return [use for use in uses if use.text not in known]


# --- vectors -----------------------------------------------------------------


@torch.no_grad()
def states_of(
    model: Transformer, tokenizer: Tokenizer, texts: list[str], word: str
) -> np.ndarray:
    """The word's vector (text, depth, d_model): the embedding, with the
    position if one is added, and after each layer of the encoder."""
    found = []
    for text in texts:
        src = pad_rows([encode_source(tokenizer, text)])
        place = tokenizer.pieces(text).index("▁" + word)
        x = model.src_position(model.src_embedding(src))
        _, gave = record(model.encoder, x)
        layers = range(model.config.n_layers)
        states = [x, *(gave[f"layers.{i}"] for i in layers)]
        found.append(torch.stack(states)[:, 0, place])
    return torch.stack(found).double().numpy()  # equal ones have equal means


def counts_of(texts: list[str], known: list[str]) -> np.ndarray:
    """How often each known word stands in a text."""
    words = CountVectorizer(
        vocabulary=known, token_pattern=r"\S+", lowercase=False, dtype=float
    )
    return words.transform(texts).toarray()


# --- answers -----------------------------------------------------------------


def nearest_mean(learn: np.ndarray, labels, ask: np.ndarray) -> np.ndarray:
    """The sense whose mean is nearest; of equal ones the commonest."""
    common = [sense for sense, _ in Counter(labels.tolist()).most_common()]
    means = np.stack([learn[labels == sense].mean(axis=0) for sense in common])
    apart = np.linalg.norm(ask[:, None] - means, axis=-1)
    return np.array(common)[(apart / TIE).round().argmin(axis=1)]


def regression(learn: np.ndarray, labels, ask: np.ndarray) -> np.ndarray:
    """By logistic regression."""
    return LogisticRegression(max_iter=1000).fit(learn, labels).predict(ask)


def scaled_regression(learn: np.ndarray, labels, ask: np.ndarray):
    """The same on vectors whose components have one scale."""
    model = LogisticRegression(C=0.1, max_iter=1000)
    scaled = make_pipeline(StandardScaler(), model)
    return scaled.fit(learn, labels).predict(ask)


def left_out(answer: Answer, vectors: np.ndarray, labels) -> np.ndarray:
    """Each one's answer, learned from all others."""
    rest = ~np.eye(len(labels), dtype=bool)
    return np.concatenate(
        [
            answer(vectors[others], labels[others], vectors[[i]])
            for i, others in enumerate(rest)
        ]
    )


# --- scores ------------------------------------------------------------------


def share(right: np.ndarray) -> Record:
    """How many are right, with Wilson's interval of 95 %."""
    if not len(right):
        return {"right": 0, "of": 0}
    count = int(right.sum())
    test = binomtest(count, len(right)).proportion_ci(method="wilson")
    interval = [round(float(end), 3) for end in (test.low, test.high)]
    return {"right": count, "of": len(right), "interval": interval}


def difference(right: np.ndarray, other: np.ndarray) -> Record:
    """By how much a share is larger than another of the same sentences,
    with the interval of 95 % of the paired bootstrap."""
    apart = right.astype(float) - other
    drawn = np.random.default_rng(SEED).choice(apart, (10_000, len(apart)))
    ends = np.percentile(drawn.mean(axis=1), [2.5, 97.5])
    return {
        "value": round(float(apart.mean()), 3),
        "interval": [round(float(end), 3) for end in ends],
    }


def rights(
    answer: Answer, vectors: dict[str, np.ndarray], labels: dict
) -> dict[str, np.ndarray]:
    """Which sentences of each kind are answered rightly.

    Training sentences are left out one by one; all of them are learned from
    before the others are asked about.
    """
    learn = vectors["train"], labels["train"]
    found = {"train": left_out(answer, *learn) == learn[1]}
    for kind in vectors.keys() - {"train"}:
        asked = vectors[kind]
        told = answer(*learn, asked) if len(asked) else np.empty(0)
        found[kind] = told == labels[kind]
    return found


class Asked(NamedTuple):
    """A word, its model, and the sentences of each kind."""

    word: str
    model: Transformer
    tokenizer: Tokenizer
    uses: dict[str, list[Use]]

    def texts(self, kind: str) -> list[str]:
        """The sentences of a kind."""
        return [use.text for use in self.uses[kind]]

    def labels(self) -> dict[str, np.ndarray]:
        """The senses of each kind's sentences."""
        return {
            kind: np.array([use.sense for use in uses], dtype=int)
            for kind, uses in self.uses.items()
        }

    def states(self, model: Transformer) -> dict[str, np.ndarray]:
        """The word's vectors in a model: (text, depth, d_model) each."""
        empty = np.empty((0, model.config.n_layers + 1, model.config.d_model))
        return {
            kind: states_of(model, self.tokenizer, self.texts(kind), self.word)
            if self.uses[kind]
            else empty
            for kind in self.uses
        }

    def neighbours(self) -> dict[str, np.ndarray]:
        """Counts of the other words of each kind's sentences."""
        words = {one for text in self.texts("train") for one in text.split()}
        known = sorted(words - {self.word})
        return {kind: counts_of(self.texts(kind), known) for kind in self.uses}


def with_first_weights(model: Transformer) -> Transformer:
    """A model of the same form that has learned nothing."""
    torch.manual_seed(SEED)
    return Transformer(model.config).eval()


def answered(asked: Asked) -> Iterator[tuple[str, int | None, str, dict]]:
    """Each way to answer: from what, at which depth, how, and its rights."""
    labels = asked.labels()
    common = Counter(labels["train"].tolist()).most_common(1)[0][0]
    same = {kind: one == common for kind, one in labels.items()}
    yield "the commonest sense", None, "", same
    counts = asked.neighbours()
    for answer in (nearest_mean, regression):
        how = answer.__name__.replace("_", " ")
        yield "neighbours", None, how, rights(answer, counts, labels)
    for name, model in (
        ("first weights", with_first_weights(asked.model)),
        ("encoder", asked.model),
    ):
        states = asked.states(model)
        last = states["train"].shape[1] - 1
        for depth in range(last + 1):
            at = {kind: found[:, depth] for kind, found in states.items()}
            found = rights(nearest_mean, at, labels)
            yield name, depth, "nearest mean", found
        yield name, last, "regression", rights(scaled_regression, at, labels)


def written_by_model(asked: Asked, kind: str) -> np.ndarray:
    """Whether greedy translations show the right sense, and no other."""
    texts = asked.texts(kind)
    told = translate(asked.model, asked.tokenizer, texts, 1) if texts else []
    pairs = ParallelText(texts, told)
    shown = {use.text: use.sense for use in uses_of(asked.word, pairs)}
    right = [shown.get(use.text) == use.sense for use in asked.uses[kind]]
    return np.array(right, dtype=bool)


Rights = dict[tuple[str, str], dict[str, np.ndarray]]
"""Which sentences of each kind are right, by what is read and how."""


def asked_of(asked: Asked) -> tuple[Record, Rights]:
    """All scores of a word in a model; of the encoder's rights, those after
    the last layer."""
    rows, kept = [], {}
    for source, depth, how, found in answered(asked):
        kept[source, how] = found
        scores = {kind: share(one) for kind, one in found.items()}
        rows.append({"from": source, "depth": depth, "by": how, **scores})
    written = {
        kind: share(written_by_model(asked, kind))
        for kind in asked.uses
        if kind != "train"
    }
    told = {"from": "the translation", "depth": None, "by": "", **written}
    senses = list(WORDS[asked.word])
    record = {
        "sentences": {
            kind: {
                sense: int((of == k).sum()) for k, sense in enumerate(senses)
            }
            for kind, of in asked.labels().items()
        },
        "answers": [*rows, told],
        "encoder over neighbours": compared([kept]),
    }
    return record, kept


def compared(words: list[Rights]) -> Record:
    """How much more is right from the encoder than from the neighbours, in
    the sentences of these words together."""
    found: Record = {}
    for how in ("nearest mean", "regression"):
        for kind in words[0]["encoder", how]:
            both = [
                np.concatenate([kept[source, how][kind] for kept in words])
                for source in ("encoder", "neighbours")
            ]
            if len(both[0]):
                found.setdefault(how, {})[kind] = difference(*both)
    return found


# --- the figure --------------------------------------------------------------


class Plane(NamedTuple):
    """The plane through three points; the first two lie level."""

    middle: np.ndarray
    axes: np.ndarray
    """To the right and up: two vectors of length 1."""

    @classmethod
    def through(cls, points: np.ndarray, below: np.ndarray) -> "Plane":
        """The plane through three points, (point, d_model).

        Args:
            points: the first left of the second.
            below: a point that falls below their middle.
        """
        middle = points.mean(axis=0)
        right = points[1] - points[0]
        right /= np.linalg.norm(right)
        up = points[2] - middle
        up -= (right @ up) * right
        up /= np.linalg.norm(up)
        side = -np.sign(up @ (below - middle))
        return cls(middle, np.stack([right, side * up]))

    def shadow(self, vectors: np.ndarray) -> list:
        """Where vectors fall on the plane, at a right angle."""
        shadow = (vectors - self.middle) @ self.axes.T
        return shadow.round(1).tolist()


def figure_of(asked: Asked, shown: list[str]) -> Record:
    """What the figure needs: the plane, and the shown sentences on it."""
    labels = asked.labels()["train"]
    states = asked.states(asked.model)["train"]
    senses = list(WORDS[asked.word])
    means = np.stack(
        [states[labels == k, -1].mean(axis=0) for k in range(len(senses))]
    )
    plane = Plane.through(means, states[0, 0])
    paths = states_of(asked.model, asked.tokenizer, shown, asked.word)
    told = translate(asked.model, asked.tokenizer, shown, 1)
    return {
        "word": asked.word,
        "senses": senses,
        "middle": plane.middle.round(3).tolist(),
        "axes": plane.axes.round(5).tolist(),
        "means": plane.shadow(means),
        "train": [
            [*place, sense]
            for place, sense in zip(
                plane.shadow(states[:, -1]), labels.tolist(), strict=True
            )
        ],
        "sentences": [
            {
                "text": text,
                "written": one,
                "path": plane.shadow(path),
            }
            for text, one, path in zip(shown, told, paths, strict=True)
        ],
    }


# --- all of it ---------------------------------------------------------------


def chosen_words(path: Path, context: RunContext) -> Iterator[Asked]:
    """The words of which a model's corpus has enough sentences."""
    loaded = checkpoint.load(path)
    model = loaded.model.cpu().eval()
    direction = {side: loaded.details[side] for side in ("src", "tgt")}
    splits = load_corpus(loaded.details["corpus"], **direction)
    known = set(splits.train.src)
    for word in WORDS:
        train = uses_of(word, splits.train)
        shown = Counter(use.sense for use in train)
        if min(shown[k] for k in range(len(WORDS[word]))) < FEWEST:
            continue
        train = train[: context.limit(MOST, FEWEST)]
        held_out = uses_of(word, splits.dev) + uses_of(word, splits.test)
        own = loaded.details["corpus"] == "grammar"  # it knows few words
        written = [] if own else written_uses(word)
        uses = {
            "train": train,
            "held out": without(held_out, known),
            "written": without(written, known),
        }
        yield Asked(word, model, loaded.tokenizer, uses)


def analyse(context: RunContext) -> Iterator[str]:
    """Ask each model about its words; store the figure of the first."""
    about = made_of("senses", context)
    found: Record = {**about, "credit": CREDIT, "models": {}}
    for i, path in enumerate(context.inputs):
        words: Record = {}
        kept = []
        for asked in chosen_words(path, context):
            if i == 0 and not words:
                figure = figure_of(asked, list(SHOWN))
                head = {**about, "weights": weights_of(path), "credit": CREDIT}
                to = context.folder / f"{asked.word}.json"
                store.write_json(to, head | figure)
            words[asked.word], rights_of = asked_of(asked)
            kept.append(rights_of)
            yield f"{path.name}: {asked.word}"
        found["models"][path.name] = {
            "weights": weights_of(path),
            "words": words,
            "encoder over neighbours": compared(kept),
        }
        store.write_json(context.folder / "accuracy.json", found, indent=1)


EXPERIMENT = Analysis(
    name="senses",
    chapter="04_attention",
    analyse=analyse,
    inputs=(
        "transformer_course/shipped/en-ja",
        "transformer_course/shipped/grammar",
    ),
    smoke_inputs=lambda scratch: [FOLDER / "grammar"],
)
