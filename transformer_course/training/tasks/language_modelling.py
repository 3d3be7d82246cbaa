"""Language modelling: the next token of a text (chapters 13 and 16)."""

from pathlib import Path

import torch
from torch import Tensor, nn

from transformer_course.batches.pairs import IdPair, encode_texts
from transformer_course.console import quoted
from transformer_course.data.corpora import Corpus, pairs_of
from transformer_course.data.text import ParallelText, Splits
from transformer_course.data.tokenizer import Tokenizer
from transformer_course.decoding.generate import sample
from transformer_course.models.config import LanguageModelConfig
from transformer_course.models.mode import eval_mode
from transformer_course.models.modern_config import ModernConfig
from transformer_course.training.config import DataConfig
from transformer_course.training.tasks.task import corpus_of, require_unset
from transformer_course.training.tasks.writing import (
    SAMPLES,
    Writing,
    first_pairs,
)


class LanguageModelling(Writing):
    """A text without a source: chapters, or the targets of pairs."""

    name = "language_modelling"
    models = (LanguageModelConfig, ModernConfig)
    examples = "texts"
    prompted = "tgt"

    def takes(self, corpus: Corpus) -> bool:
        return corpus.pairs is not None or corpus.texts is not None

    def load(self, data: DataConfig) -> Splits:
        require_unset(data, "both_ways", "subword_sampling", "more")
        corpus = corpus_of(data)
        if corpus.texts:
            splits = corpus.texts()
        else:
            splits = pairs_of(corpus, data.src, data.tgt)
        return first_pairs(splits, data.train_pairs)

    def lines(self, train: ParallelText) -> list[str]:
        """All text there is: of pairs, both sides, as a translator has."""
        texts = filter(None, [*train.src, *train.tgt])
        return [line for text in texts for line in text.split("\n")]

    def pairs(
        self, tokenizer: Tokenizer, text: ParallelText, max_length: int
    ) -> list[IdPair]:
        return encode_texts(tokenizer, text.tgt, max_length)

    def samples(
        self, model: nn.Module, tokenizer: Tokenizer, dev: ParallelText
    ) -> list[dict[str, str]]:
        """Texts drawn from the model, the same draw each time."""
        device = next(model.parameters()).device
        with eval_mode(model):
            drawn = sample(
                model,
                prefix=torch.empty(SAMPLES, 0, dtype=torch.long),
                generator=torch.Generator(device).manual_seed(0),
            )
        texts = map(tokenizer.decode, drawn)
        return [{"src": "", "tgt": "", "sampled": text} for text in texts]

    def told(self, sample: dict[str, str]) -> str:
        return f"\n→ {sample['sampled']}"

    def prompt(
        self, tokenizer: Tokenizer, text: str, max_length: int
    ) -> tuple[None, Tensor]:
        return None, torch.tensor([tokenizer.encode(text)]).long()

    def first_use(self, folder: Path) -> str:
        return f"generate {quoted(folder)}"
