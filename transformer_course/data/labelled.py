"""Texts with labels: what they are, read, checked and parted (chapter 17).

Two corpora. ``sentence_polarity`` holds 10,662 sentences out of reviews of
films, half from good ones and half from bad ones (Pang and Lee 2005).
``authors`` holds passages of books in Japanese by eleven authors; who wrote
this?
"""

import hashlib
import re
import zipfile
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

from transformer_course.data.aozora import Work
from transformer_course.data.aozora import authors as by_author
from transformer_course.data.download import fetch
from transformer_course.errors import CorpusError

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
"""Characters of a passage, at the most, unless it is a single sentence."""
SHORTEST = 100
"""Passages with fewer characters are left out."""
MOST = 700
"""Passages of an author in the training part, at the most: Soseki has some
fourteen times as much text as any other."""
MOST_HELD_OUT = 100
"""Passages of an author in dev, and in test, at the most."""


@dataclass(frozen=True)
class LabelledText:
    """Texts, the class of each, and what belongs together.

    Raises:
        CorpusError: not one label and one group for each text, or a label
            without a name.
    """

    texts: list[str]
    labels: list[int]
    """The number of each text's class."""
    names: tuple[str, ...]
    """What the classes are called, by number."""
    groups: list[str]
    """Where each text comes from: a work, or the text itself. Texts of one
    group are no independent evidence; intervals are drawn over groups."""
    unlabelled: list[str] = field(default_factory=list)
    """Texts besides, whose classes are not to be learned from."""

    def __post_init__(self):
        for name, column in (("labels", self.labels), ("groups", self.groups)):
            if len(column) != len(self.texts):
                raise CorpusError(
                    f"{len(self.texts):,} texts but {len(column):,} {name}: "
                    "each text needs exactly one."
                )
        if wrong := {*self.labels} - {*range(len(self.names))}:
            raise CorpusError(
                f"there is a label {min(wrong)}, but there are "
                f"{len(self.names)} classes, numbered from 0."
            )

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
        for i in sorted(range(len(self)), key=self._draw):
            place_of[self.labels[i]].append(i)
        dealt = [
            ((rank + 0.5) / len(places), label, i)
            for label, places in place_of.items()
            for rank, i in enumerate(places)
        ]
        return self.take(i for *_, i in sorted(dealt))

    def at_most(self, most: int) -> "LabelledText":
        """The first ``most`` texts of each class."""
        seen: Counter[int] = Counter()
        kept = []
        for i, label in enumerate(self.labels):
            seen[label] += 1
            if seen[label] <= most:
                kept.append(i)
        return self.take(kept)

    def _draw(self, place: int) -> str:
        return sha256_of(self.texts[place])


@dataclass(frozen=True)
class LabelledSplits:
    """Texts with labels in the three parts that a training needs."""

    train: LabelledText
    dev: LabelledText
    test: LabelledText
    how: str = ""
    """How the package has parted them, in a line."""


def sha256_of(text: str) -> str:
    """By what texts are drawn: chance, but the same chance each time."""
    return hashlib.sha256(text.encode()).hexdigest()


# --- sentences of reviews ----------------------------------------------------


def sentence_polarity() -> LabelledSplits:
    """Sentences of film reviews: is the review a good one?

    Eight folds of ten to learn from, one to choose by, one to report on.

    Raises:
        CorpusError: the corpus cannot be had, or its file is damaged.
    """
    text = reviews()
    parts = defaultdict(list)
    for place, fold in enumerate(folds(text)):
        parts[max(0, fold - FOLDS + 3)].append(place)
    train, dev, test = (text.take(parts[part]) for part in range(3))
    how = _how(
        (train, dev, test),
        "sentences",
        "the sha256 of a sentence draws its part, so equal ones stay together",
    )
    return LabelledSplits(train.mixed(), dev, test, how)


def reviews(progress: bool = True) -> LabelledText:
    """All sentences of ``sentence_polarity``, negative ones first.

    The file is UTF-8 of Latin-1 of cp1252: a dash is U+0097, which is put
    right. Nothing else is changed.

    Raises:
        CorpusError: the corpus cannot be had, or its file is damaged.
    """
    [path] = fetch("sentence_polarity", progress).values()
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


def _lines(path: str | Path, name: str) -> list[str]:
    """The sentences in a file of an archive.

    Raises:
        CorpusError: it is no archive, or lacks the file; not UTF-8.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            text = archive.read(name).decode("utf-8")
    except (OSError, KeyError, zipfile.BadZipFile, UnicodeDecodeError) as e:
        raise CorpusError(
            f"{path} cannot be read ({e}): expected the archive of sentence "
            f"polarity, with {name} in UTF-8. Fetch it anew."
        ) from e
    text = re.sub("[\x80-\x9f]", _from_cp1252, text)
    return [line.strip() for line in text.split("\n") if line.strip()]


def _from_cp1252(sign: re.Match) -> str:
    return sign[0].encode("latin-1").decode("cp1252")


# --- passages of books -------------------------------------------------------


def authors(given: Iterable[Work] | None = None) -> LabelledSplits:
    """Passages of books by eleven authors; whole works are held out.

    Balanced by a cap: of each author so many passages at the most, drawn
    from all works of the part.

    Args:
        given: works that have been read; those of the corpora when None.

    Raises:
        CorpusError: a corpus cannot be had, or a held-out work is missing.
    """
    works = by_author.works(given)
    caps = MOST, MOST_HELD_OUT, MOST_HELD_OUT
    train, dev, test = (
        passages_of(part).mixed().at_most(cap)
        for part, cap in zip(works, caps, strict=True)
    )
    how = _how(
        (train, dev, test),
        "passages",
        f"whole works are held out; an author has {MOST} passages to learn "
        f"from, and {MOST_HELD_OUT} held-out ones, at the most",
    )
    return LabelledSplits(train.mixed(), dev, test, how)


def passages_of(works: Iterable[Work]) -> LabelledText:
    """Every passage of some works, labelled by author, in groups by work.

    Raises:
        CorpusError: a work is by none of the eleven.
    """
    names = CLASSES["authors"]
    rows = [
        (text, work.author, work.title)
        for work in works
        for text in passages(work)
    ]
    if others := {author for _, author, _ in rows} - {*names}:
        raise CorpusError(
            f"there is a work by {min(others)}, but the classes are "
            f"{', '.join(names)}: leave it out."
        )
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


def _how(parts: tuple[LabelledText, ...], what: str, rule: str) -> str:
    train, dev, test = map(len, parts)
    return (
        f"{train:,} {what} to learn from, {dev:,} to choose checkpoints by "
        f"(dev), {test:,} to score (test); {rule}"
    )
