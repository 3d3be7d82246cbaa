"""small_parallel_enja: 50,000 short English–Japanese sentence pairs.

Taken from the Tanaka Corpus, by way of Tatoeba (CC BY 2.0 FR), and cut into
words by spaces: English in lower case by the Stanford tokenizer, Japanese by
KyTea. Every sentence has 4 to 16 words. Chapter 15 trains on it.

Of the 500 test sentences, 60 English sides also stand in the training part
(77 of the 500 dev sentences), though no Japanese side and no pair does:
scores are reported on all of them and on those that
:func:`~.text.unseen` finds.
"""

from transformer_course.data.download import fetch
from transformer_course.data.text import ParallelText, Splits, read_parallel

NAME = "small_parallel_enja"


def load(progress: bool = True) -> Splits:
    """The corpus, English to Japanese; fetched at first use.

    Args:
        progress: show a bar while downloading.

    Raises:
        CorpusError: it is not here and cannot be downloaded.
    """
    files = fetch(NAME, progress)

    def read(split: str) -> ParallelText:
        return read_parallel(
            files[f"{NAME}/{split}.en"], files[f"{NAME}/{split}.ja"]
        )

    return Splits(read("train"), read("dev"), read("test"))
