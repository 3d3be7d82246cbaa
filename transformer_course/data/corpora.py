"""Every corpus by its name: the one place that says what a corpus is.

Each names the functions that load it, whose modules are imported on use. A
training reads a corpus as sentence pairs (:func:`load_corpus`), running text,
texts with labels (:func:`load_labelled`) or images (:func:`load_images`). A
reader's own files become a corpus beside the table (:func:`of_files`).
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any

from transformer_course.data.config import DataConfig
from transformer_course.data.text import LANGUAGES, Splits
from transformer_course.errors import CorpusError

if TYPE_CHECKING:
    from transformer_course.data.aozora import Work
    from transformer_course.data.download import ManifestEntry
    from transformer_course.data.images import ImageSet
    from transformer_course.data.labelled import LabelledText


def on_use(function: str) -> Callable[[], Any]:
    """What loads a corpus, imported when it is called.

    Args:
        function: of ``transformer_course.data``, as "module:function".
    """

    def load() -> Any:
        return resolve_name(f"transformer_course.data.{function}")()

    return load


@dataclass(frozen=True)
class Corpus:
    """What is known about a corpus without reading it."""

    name: str
    """What it is called, in the package and on the command line."""
    languages: tuple[str, ...]
    """What it is written in: two languages for translations."""
    spaced: bool = False
    """Whether its words stand apart by spaces."""
    pairs: Callable[[], Splits] | None = None
    """Loads sentence pairs: translations, a sentence and the next, a keyword
    and its haiku; None when it has none, or no training reads them yet."""
    texts: Callable[[], Splits] | None = None
    """Loads running text, as targets; None when it has none, or no training
    reads it yet."""
    labelled: Callable[[], "Splits[LabelledText]"] | None = None
    """Loads texts with labels; None when it has none."""
    images: Callable[[], "Splits[ImageSet]"] | None = None
    """Loads images with labels; None when it has none."""
    works: Callable[[], "Splits[list[Work]]"] | None = None
    """Loads whole works, in chapters and sentences; None when it has none, or
    no training reads them yet."""
    licence: str = ""
    """Of a built-in corpus; the manifest has it of a downloaded one."""
    description: str = ""
    """Of a built-in corpus, in a line."""
    own: bool = False
    """Whether these are files of one's own, which every training reads in its
    own way."""

    def direction(
        self, src: str | None = None, tgt: str | None = None
    ) -> tuple[str | None, str | None]:
        """Source and target, where not given from the corpus's languages."""
        if not self.languages:
            return src, tgt
        first, last = self.languages[0], self.languages[-1]
        other = {first: last, last: first}
        src = src or other.get(tgt, first)
        return src, tgt or other.get(src, last)


CORPORA = {
    corpus.name: corpus
    for corpus in (
        Corpus(
            "grammar",
            LANGUAGES,
            True,
            on_use("grammar:grammar_corpus"),
            licence="MIT",
            description="bilingual grammar of English and Japanese",
        ),
        Corpus(
            "school",
            ("en",),
            True,
            texts=on_use("school:school_texts"),
            licence="MIT",
            description="worksheets, facts, numbers and little stories",
        ),
        Corpus(
            "school-later",
            ("en",),
            True,
            texts=on_use("school:later_texts"),
            licence="MIT",
            description="the same, with sums that children work out",
        ),
        Corpus(
            "digits",
            (),
            images=on_use("images:digits"),
            licence="CC BY 4.0",
            description="1,797 hand-written digits, from scikit-learn",
        ),
        Corpus(
            "small_parallel_enja",
            LANGUAGES,
            True,
            on_use("small_parallel_enja:load"),
        ),
        Corpus(
            "soseki",
            ("ja",),
            pairs=on_use("aozora.prose:next_sentences"),
            texts=on_use("aozora.prose:running_text"),
        ),
        Corpus(
            "authors",
            ("ja",),
            works=on_use("aozora.authors:works"),
            labelled=on_use("labelled:authors"),
        ),
        Corpus("haiku", ("ja",), pairs=on_use("aozora.haiku:keyword_pairs")),
        Corpus(
            "sentence_polarity",
            ("en",),
            True,
            labelled=on_use("labelled:sentence_polarity"),
        ),
        Corpus("fashion_mnist", (), images=on_use("images:fashion_mnist")),
    )
}
"""Every corpus, by name.

:meta hide-value:
"""


def find(name: str) -> Corpus:
    """A corpus by its name.

    Raises:
        CorpusError: there is none; those there are are named.
    """
    if name not in CORPORA:
        raise CorpusError(
            f"there is no corpus {name!r}; there are: {', '.join(CORPORA)}."
        )
    return CORPORA[name]


def of_files(data: DataConfig) -> Corpus:
    """Files of one's own as a corpus, read as the training needs them."""
    from transformer_course.data import own_labels, own_text

    files, sha256 = data.files, data.sha256
    languages = data.src or LANGUAGES[0], data.tgt or LANGUAGES[1]
    return Corpus(
        " and ".join(files),
        languages,
        data.spaced,
        partial(own_text.load, files, sha256, languages, data.spaced),
        labelled=partial(own_labels.load, files, sha256),
        own=True,
    )


def corpus_of(data: DataConfig) -> Corpus:
    """The corpus of the settings: one of the table, or files of one's own.

    Raises:
        CorpusError: no such corpus.
    """
    return find(data.corpus) if data.files is None else of_files(data)


def manifest_entry(corpus: Corpus) -> "ManifestEntry":
    """Its licence, description and files; a built-in corpus has no files."""
    from transformer_course.data import download

    built_in = download.ManifestEntry(
        corpus.name, corpus.licence, corpus.description, ()
    )
    return download.entries().get(corpus.name, built_in)


def load_corpus(
    name: str, src: str | None = None, tgt: str | None = None
) -> Splits:
    """The sentence pairs of a corpus, in the direction asked for.

    Args:
        name: ``"grammar"`` (built in), ``"small_parallel_enja"``,
            ``"soseki"`` (a sentence and the next) or ``"haiku"`` (a keyword
            and a haiku with it).
        src: language to read; the corpus's first when None.
        tgt: language to write; the corpus's other one, if it has two, when
            None.

    Raises:
        CorpusError: no such corpus or direction, or its files cannot be had.
    """
    return pairs_of(find(name), src, tgt)


def pairs_of(
    corpus: Corpus, src: str | None = None, tgt: str | None = None
) -> Splits:
    """The sentence pairs of a corpus, as :func:`load_corpus` gives them.

    Raises:
        CorpusError: it has none, or not in this direction; or its files
            cannot be had.
    """
    load = _loader(corpus, "pairs", "sentence pairs")
    src, tgt = corpus.direction(src, tgt)
    first, last = corpus.languages[0], corpus.languages[-1]
    if (src, tgt) not in ((first, last), (last, first)):
        raise CorpusError(
            f"{corpus.name} cannot be had from {src!r} to {tgt!r}: leave out "
            f"src and tgt, which gives {first} to {last}"
            + (f", or choose {last} to {first}." if first != last else ".")
        )
    splits = load()
    return splits if (src, tgt) == (first, last) else splits.swap()


def load_labelled(name: str) -> "Splits[LabelledText]":
    """The texts of a corpus, with their labels.

    Args:
        name: ``"sentence_polarity"``, or ``"authors"``, which needs the files
            of ``"soseki"`` too.

    Raises:
        CorpusError: no such corpus, it has no labels, or its files cannot be
            had.
    """
    return labelled_of(find(name))


def labelled_of(corpus: Corpus) -> "Splits[LabelledText]":
    """The texts of a corpus, with their labels.

    Raises:
        CorpusError: it has none, or its files cannot be had.
    """
    return _loader(corpus, "labelled", "texts with labels")()


def load_images(name: str) -> "Splits[ImageSet]":
    """The images of a corpus, with their labels.

    Args:
        name: ``"digits"`` (comes with scikit-learn) or ``"fashion_mnist"``.

    Raises:
        CorpusError: no such corpus, it has no images, or its files cannot be
            had.
    """
    return _loader(find(name), "images", "images with labels")()


def _loader(corpus: Corpus, field: str, what: str) -> Callable[[], Any]:
    """What loads a corpus as sentence pairs, texts with labels or images.

    Raises:
        CorpusError: it cannot be read so; those that can are named.
    """
    if load := getattr(corpus, field):
        return load
    others = [c.name for c in CORPORA.values() if getattr(c, field)]
    raise CorpusError(
        f"{corpus.name} cannot be read as {what}; these can: "
        f"{', '.join(others)}."
    )
