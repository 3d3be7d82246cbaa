"""Labelled texts: reading and splitting them (chapter 17).

Two corpora. ``sentence_polarity`` holds 10,662 sentences out of reviews of
films, half from good ones and half from bad ones (Pang and Lee 2005).
``authors`` holds passages of books in Japanese by eleven authors; who wrote
this?
"""

import hashlib
import re
import zipfile
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

from transformer_course.data.aozora import Work
from transformer_course.data.aozora import authors as by_author
from transformer_course.data.download import fetch
from transformer_course.data.text import Splits, describe_split

CLASSES = {
    "sentence_polarity": ("negative", "positive"),
    "authors": (
        "芥川龍之介",
        "太宰治",
        "宮沢賢治",
        "島崎藤村",
        "夢野久作",
        "江戸川乱歩",
        "中島敦",
        "坂口安吾",
        "岡本綺堂",
        "海野十三",
        "夏目漱石",
    ),
}
"""The classes of each corpus, in the order of their labels."""
FOLDS = 10
"""Parts of equal size, about, into which the sentences fall by their sha256:
the last one is the test set, the one before it the development set."""
PASSAGE = 200
"""Most characters of a passage, unless it is a single sentence."""
SHORTEST = 100
"""Fewest characters of a passage."""
MAX_TRAIN = 700
"""Most training passages of an author: Soseki has eighteen times as many as
any other."""
MAX_HELD_OUT = 100
"""Most passages of an author in dev, and in test."""


@dataclass(frozen=True)
class LabelledText:
    """Texts with one label and one group each."""

    texts: list[str]
    labels: list[int]
    """The number of each text's class."""
    names: tuple[str, ...]
    """Names of the classes, by number."""
    groups: list[str]
    """The source of each text: a work, or the text itself. Texts of a group
    are not independent; bootstrap intervals resample groups."""
    unlabelled: list[str] = field(default_factory=list)
    """Further texts, whose classes are not used."""

    def __len__(self) -> int:
        return len(self.texts)

    def take(self, places: Iterable[int]) -> "LabelledText":
        """The texts at these places, in this order."""
        places = list(places)
        texts, labels, groups = (
            [column[i] for i in places]
            for column in (self.texts, self.labels, self.groups)
        )
        return replace(self, texts=texts, labels=labels, groups=groups)

    def mixed(self) -> "LabelledText":
        """In an order in which each beginning has all classes.

        Each class is shuffled by itself, the same way each time, and the
        classes are dealt in turns, each as often as it is large: the first
        hundred hold the classes in the shares of the whole, and hold the
        first ten.
        """
        place_of = defaultdict(list)
        for i in sorted(
            range(len(self)), key=lambda i: sha256_of(self.texts[i])
        ):
            place_of[self.labels[i]].append(i)
        dealt = [
            ((rank + 0.5) / len(places), label, i)
            for label, places in place_of.items()
            for rank, i in enumerate(places)
        ]
        return self.take(i for *_, i in sorted(dealt))

    def at_most(self, most: int) -> "LabelledText":
        """The first ``most`` texts of each class."""
        places = defaultdict(list)
        for i, label in enumerate(self.labels):
            places[label].append(i)
        kept = (i for each in places.values() for i in each[:most])
        return self.take(sorted(kept))


def sha256_of(text: str) -> str:
    """A pseudo-random sort key that is the same in each run."""
    return hashlib.sha256(text.encode()).hexdigest()


# --- sentences of reviews ----------------------------------------------------


def sentence_polarity() -> Splits[LabelledText]:
    """Sentences of film reviews: is the review a good one?

    Eight folds of ten to learn from, one to choose by, one to report on.

    Raises:
        CorpusError: the corpus cannot be had.
    """
    text = reviews()
    parts = defaultdict(list)
    for place, fold in enumerate(folds(text)):
        parts[max(0, fold - FOLDS + 3)].append(place)
    train, dev, test = (text.take(parts[part]) for part in range(3))
    how = describe_split(
        map(len, (train, dev, test)),
        "sentences",
        "the sha256 of a sentence draws its part, so equal ones stay together",
    )
    return Splits(train.mixed(), dev, test, how)


def reviews() -> LabelledText:
    """All sentences of ``sentence_polarity``, negative ones first.

    The file is UTF-8 of Latin-1 of cp1252: a dash is U+0097, which is put
    right. Nothing else is changed.

    Raises:
        CorpusError: the corpus cannot be had.
    """
    [path] = fetch("sentence_polarity").values()
    texts: list[str] = []
    labels: list[int] = []
    for label, part in enumerate(("neg", "pos")):
        found = _lines(path, f"sentence_polarity/rt-polarity.{part}")
        texts += found
        labels += [label] * len(found)
    return LabelledText(
        texts, labels, CLASSES["sentence_polarity"], groups=list(texts)
    )


def folds(text: LabelledText) -> list[int]:
    """The fold of each text, from 0 to 9; equal texts share one."""
    return [int(sha256_of(text), 16) % FOLDS for text in text.texts]


def _lines(path: Path, name: str) -> list[str]:
    """The sentences in one file of the archive."""
    with zipfile.ZipFile(path) as archive:
        text = archive.read(name).decode("utf-8")
    text = re.sub("[\x80-\x9f]", _from_cp1252, text)
    return [line.strip() for line in text.split("\n") if line.strip()]


def _from_cp1252(sign: re.Match) -> str:
    return sign[0].encode("latin-1").decode("cp1252")


# --- passages of books -------------------------------------------------------


def authors(given: Iterable[Work] | None = None) -> Splits[LabelledText]:
    """Passages of books by eleven authors; whole works are held out.

    Balanced by a cap: of each author so many passages at the most, drawn
    from all works of the part.

    Args:
        given: works that have been read; those of the corpora when None.

    Raises:
        CorpusError: a corpus cannot be had.
    """
    works = by_author.works(given)
    caps = MAX_TRAIN, MAX_HELD_OUT, MAX_HELD_OUT
    parts = works.train, works.dev, works.test
    train, dev, test = (
        passages_of(part).mixed().at_most(cap)
        for part, cap in zip(parts, caps, strict=True)
    )
    how = describe_split(
        map(len, (train, dev, test)),
        "passages",
        f"whole works are held out; an author has {MAX_TRAIN} passages to "
        f"learn from, and {MAX_HELD_OUT} held-out ones, at the most",
    )
    return Splits(train.mixed(), dev, test, how)


def passages_of(works: Iterable[Work]) -> LabelledText:
    """Every passage of some works, labelled by author, in groups by work.

    Raises:
        ValueError: a work is by none of the eleven.
    """
    names = CLASSES["authors"]
    rows = [
        (text, work.author, work.title)
        for work in works
        for text in passages(work)
    ]
    return LabelledText(
        [text for text, _, _ in rows],
        [names.index(author) for _, author, _ in rows],
        names,
        [title for _, _, title in rows],
    )


def passages(work: Work) -> Iterator[str]:
    """Sentences of one chapter in a row, some 200 characters.

    A passage ends before the sentence that would make it longer than that.
    What is shorter than 100, at a chapter's end, is left out.
    """
    for chapter in work.chapters:
        passage = ""
        for sentence in chapter.sentences:
            if passage and len(passage) + len(sentence) > PASSAGE:
                if len(passage) >= SHORTEST:
                    yield passage
                passage = ""
            passage += sentence
        if len(passage) >= SHORTEST:
            yield passage
