"""Which text is trained on, how it is cut into tokens and put into batches.

A trained model keeps these settings beside its weights, so that what it reads
later is prepared as its training text was.
"""

import re
from dataclasses import dataclass
from typing import Annotated, Literal

from transformer_course.checks import (
    Config,
    Constraint,
    Count,
    NonNegative,
    Size,
    require,
)

SHORT_CODES = {
    "eng": "en",
    "jpn": "ja",
    "zho": "zh",
    "chi": "zh",
    "cmn": "zh",
    "tha": "th",
    "lao": "lo",
    "khm": "km",
    "mya": "my",
    "bur": "my",
}
"""From three letters to two, for the languages that are written in a way that
the package has to know."""
OWN_FILES = "files"
"""The name of the corpus that consists of a reader's own files."""
Language = Annotated[
    str,
    Constraint(
        re.compile("[a-z]{2,3}").fullmatch,
        "that is a language code of two or three letters, such as en, ja, fr",
    ),
]
Files = Annotated[
    tuple[str, ...],
    Constraint(
        lambda files: len(files) in (1, 2),
        "one or two, with names in UTF-8",
    ),
]


@dataclass(frozen=True)
class DataConfig(Config):
    """The training text, its subwords and its batches."""

    corpus: str = "grammar"
    """Name of the corpus: see data list. With --data.files it is "files"."""
    src: Language | None = None
    """Language that is read, by its code, such as en or eng; the corpus's
    when None."""
    tgt: Language | None = None
    """Language that is written; the corpus's when None. Of two files the
    defaults are en and ja."""
    files: Files | None = None
    """Files in a corpus's place, UTF-8. For a translator, two with a sentence
    a line, which translate each other, or one with both in each line and a
    tab between them. For a classifier of texts, one with a text, a tab and
    its label in each line, or a .csv file with columns text and label; a
    column group keeps what belongs together in one part. For one of images,
    a folder with a folder for each class. For a model that writes on, one
    text."""
    sha256: Files | None = None
    """The sha256 of each of these files, recorded when training begins, so
    that a text which has changed since is refused."""
    classes: tuple[str, ...] | None = None
    """Names of the classes in these files, recorded when training begins."""
    image_size: Size | None = None
    """Height and width to which the images in your folder are scaled; the
    model's when None."""
    spaced: bool = False
    """In your files, words and punctuation are separated by spaces, as in
    the book's corpora; else they hold text as people write it."""
    train_pairs: Size | None = None
    """Number of pairs to train on, from the first; all when None."""
    more: Files | None = None
    """Files of more pairs to train on beside the corpus, in its form:
    translations that a model wrote, for instance. A pair with a sentence that
    is held out is left out."""
    more_sha256: Files | None = None
    """The sha256 of each of these files, recorded when training begins."""
    both_ways: bool = False
    """Train on each pair in both directions (Ding et al. 2021); what is
    scored stays in the one direction."""
    pieces: Literal["unigram", "bpe", "word", "char"] = "unigram"
    """Kind of SentencePiece model."""
    subword_sampling: NonNegative = 0.0
    """Cut the training text anew in each epoch, drawing the pieces with this
    sharpness (Kudo 2018); 0 always takes the likeliest pieces."""
    token_budget: Size = 2048
    """Size of a batch: its rows times the wider of source and target, padding
    counted, are at the most this many."""
    max_shapes: Size = 12
    """Different sizes of batches; more of them pad less."""
    batch_size: Size = 128
    """Images in a batch."""
    shift: Count = 0
    """Move each image by up to so many pixels and mirror every other one,
    drawn anew in each epoch; 0 leaves them as they are."""

    def __post_init__(self):
        super().__post_init__()
        require(
            not self.subword_sampling or self.pieces == "unigram",
            f"subword_sampling needs unigram pieces, but pieces is "
            f"{self.pieces!r}: only that model gives each segmentation a "
            "probability.",
        )
        for side in ("src", "tgt"):
            code = getattr(self, side)
            object.__setattr__(self, side, SHORT_CODES.get(code, code))
        if self.files:
            object.__setattr__(self, "corpus", OWN_FILES)
        require(
            self.files or not (self.corpus == OWN_FILES or self.spaced),
            "corpus 'files' and spaced describe your files, and none are "
            "given: add --data.files FILE FILE, or name another corpus and "
            "leave out --data.spaced.",
        )
        require(
            not self.files or self.spaced or self.pieces != "word",
            "pieces are words, but the files hold text as people write it: "
            "choose --data.pieces unigram, or cut the text into words and "
            "add --data.spaced.",
        )
