"""The next sentence, or a haiku to a keyword (chapter 16)."""

from pathlib import Path

from transformer_course.console import quoted
from transformer_course.data.corpora import Corpus
from transformer_course.data.text import ParallelText, Splits
from transformer_course.training.config import DataConfig
from transformer_course.training.tasks.pairs import Pairs
from transformer_course.training.tasks.task import require_unset


class NextSentence(Pairs):
    """Judged by the nll: there is no one right way to go on."""

    name = "next_sentence"

    def takes(self, corpus: Corpus) -> bool:
        return corpus.pairs is not None and len(corpus.languages) == 1

    def load(self, data: DataConfig) -> Splits:
        require_unset(data, "both_ways")
        return super().load(data)

    def lines(self, train: ParallelText) -> list[str]:
        """The targets: every sentence but a chapter's first is one."""
        return train.tgt

    def first_use(self, folder: Path) -> str:
        return f"generate {quoted(folder)} '...'"
