"""Translation: the target is the source in another language (chapter 15)."""

import dataclasses
from collections.abc import Callable
from pathlib import Path

from torch import nn

from transformer_course.console import quoted
from transformer_course.data.corpora import Corpus
from transformer_course.data.text import ParallelText, Splits, unseen
from transformer_course.data.tokenizer import Tokenizer
from transformer_course.decoding.translate import translate
from transformer_course.errors import ConfigError
from transformer_course.evaluation.bleu import corpus_bleu, score_lines
from transformer_course.training.config import DataConfig
from transformer_course.training.tasks.pairs import Pairs
from transformer_course.training.tasks.task import Judged


class Translation(Pairs):
    """Judged by BLEU: every sentence has a translation to be held against."""

    name = "translation"

    def takes(self, corpus: Corpus) -> bool:
        return corpus.pairs is not None and len(corpus.languages) == 2

    def load(self, data: DataConfig) -> Splits:
        if data.src == data.tgt:
            raise ConfigError(
                f"src and tgt are both {data.src!r}: choose two languages."
            )
        splits = super().load(data)
        return both_ways(splits) if data.both_ways else splits

    def lines(self, train: ParallelText) -> list[str]:
        return [*train.src, *train.tgt]

    def metrics(
        self,
        model: nn.Module,
        tokenizer: Tokenizer,
        dev: ParallelText,
        means: dict[str, float],
    ) -> dict[str, float]:
        """Perplexity, and BLEU of what greedy search writes."""
        written = translate(model, tokenizer, dev.src)
        bleu = corpus_bleu(written, dev.tgt, dev.words).value
        return super().metrics(model, tokenizer, dev, means) | {"bleu": bleu}

    def quality(self, metrics: dict[str, float]) -> float:
        return metrics["bleu"]

    def report(
        self, title: str, judged: Judged, say: Callable[[str], None]
    ) -> list[str]:
        """BLEU and chrF, of all sentences and of those unseen in training."""
        say(f"{title}: {judged.search}")
        text, how = judged.text, (judged.beam_size, judged.alpha)
        written = translate(judged.model, judged.tokenizer, text.src, *how)
        title = f"all {len(text)} sentences"
        say(score_lines(title, written, text.tgt, text.words))
        if new := unseen(text, judged.train):
            title = f"the {len(new)} whose source is not in the training part"
            found = [written[i] for i in new], [text.tgt[i] for i in new]
            say(score_lines(title, *found, text.words))
        return written

    def first_use(self, folder: Path) -> str:
        return f"translate {quoted(folder)}"


def both_ways(splits: Splits) -> Splits:
    """The same splits with each training pair in both directions."""
    src, tgt = splits.train.src, splits.train.tgt
    train = ParallelText([*src, *tgt], [*tgt, *src])
    return dataclasses.replace(splits, train=train)
