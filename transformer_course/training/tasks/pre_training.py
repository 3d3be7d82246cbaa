"""Pre-training: hidden words, and whether a passage follows (chapter 18)."""

import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn

import torch
import torch.nn.functional as F
from torch import nn

from transformer_course.batches.masked import (
    FOLLOWS,
    OTHER_WORK,
    SAME_WORK,
    Documents,
    MaskedBatch,
    MaskedBatches,
    joined,
)
from transformer_course.console import quoted
from transformer_course.data.aozora import Work
from transformer_course.data.aozora.authors import WorkSplits
from transformer_course.data.corpora import Corpus
from transformer_course.data.tokenizer import MASK_PIECE, Tokenizer
from transformer_course.decoding.fill import masked_probabilities
from transformer_course.errors import ConfigError
from transformer_course.evaluation.bleu import perplexity
from transformer_course.models.bert_config import BertConfig
from transformer_course.models.mode import eval_mode
from transformer_course.training.config import (
    DataConfig,
    Experiment,
    TrainConfig,
)
from transformer_course.training.loop import evaluate
from transformer_course.training.loss import LossSums, classification_loss
from transformer_course.training.tasks.task import (
    Judged,
    Task,
    corpus_of,
    require_read_once,
    require_text,
    require_unset,
)

JUDGED_BUDGET = 8192
"""Ids in a batch that is judged on."""
SAMPLES = 10
"""Sentences that are shown at each epoch."""
KINDS = {
    FOLLOWS: "follows",
    OTHER_WORK: "other_work",
    SAME_WORK: "same_work",
}
"""Names of the ways in which pairs are made."""


class PreTraining(Task):
    """BERT's two tasks on whole works; judged by the hidden words.

    Devlin et al. 2019, section 3.1. Where the config says so, rows are pairs
    of passages, and whether B follows A is learned too.
    """

    name = "pre_training"
    models = (BertConfig,)
    examples = "works"
    prompted = "src"
    gives = "hidden words"

    def takes(self, corpus: Corpus) -> bool:
        return corpus.works is not None

    def check(self, experiment: Experiment) -> None:
        super().check(experiment)
        require_text(experiment)
        require_read_once(experiment)

    def load(self, data: DataConfig) -> WorkSplits:
        require_unset(
            data, "both_ways", "subword_sampling", "train_pairs", "more"
        )
        return corpus_of(data).works()

    def learn_tokenizer(
        self, experiment: Experiment, train: list[Work]
    ) -> Tokenizer:
        return Tokenizer.train(
            (sentence for work in train for sentence in work.sentences),
            experiment.model.vocab_size,
            experiment.data.pieces,
            masked=True,
        )

    def sized(self, config: BertConfig, tokenizer: Tokenizer) -> BertConfig:
        return dataclasses.replace(config, vocab_size=tokenizer.vocab_size)

    def batches(
        self, experiment: Experiment, tokenizer: Tokenizer, train: list[Work]
    ) -> MaskedBatches:
        return MaskedBatches(
            Documents.of(train, tokenizer),
            tokenizer,
            experiment.model.max_length,
            experiment.data.token_budget,
            experiment.train.seed,
            experiment.model.next_sentence,
        )

    def scored_batches(
        self, config: BertConfig, tokenizer: Tokenizer, text: list[Work]
    ) -> list[MaskedBatch]:
        """Always the same words hidden, and the same pairs."""
        return MaskedBatches(
            Documents.of(text, tokenizer),
            tokenizer,
            config.max_length,
            max(JUDGED_BUDGET, config.max_length),
            0,
            config.next_sentence,
        ).in_order()

    def loss(
        self, model: nn.Module, batch: MaskedBatch, config: TrainConfig
    ) -> LossSums:
        """Cross entropy of the chosen words, in nats.

        To the loss comes that of "does B follow?", so weighed that the two
        means are added, as in BERT. Accuracy is that of the words.
        """
        logits, to_next = model(batch.ids, batch.segments, batch.chosen)
        words, smoothing = batch.words[batch.chosen], config.label_smoothing
        sums = classification_loss(logits, words, smoothing)
        # a batch of a few short rows may have no chosen word
        count = sums.tokens.clamp(min=1)
        loss = sums.loss
        if batch.kinds is not None:
            follows = (batch.kinds == FOLLOWS).long()
            loss = loss + count * F.cross_entropy(to_next.float(), follows)
        return sums._replace(loss=loss, tokens=count)

    def metrics(
        self,
        model: nn.Module,
        tokenizer: Tokenizer,
        dev: list[Work],
        means: dict[str, float],
    ) -> dict[str, float]:
        """Perplexity of hidden words, and how often "next" is right."""
        found = {"perplexity": perplexity(means["nll"])}
        if not model.config.next_sentence:
            return found
        batches = self.scored_batches(model.config, tokenizer, dev)
        return found | {
            f"next_{name}": share
            for name, share in next_accuracy(model, batches).items()
        }

    def quality(self, metrics: dict[str, float]) -> float:
        """Minus the nll of the hidden words."""
        return -metrics["nll"]

    def samples(
        self, model: nn.Module, tokenizer: Tokenizer, dev: list[Work]
    ) -> list[dict[str, str]]:
        """Some fixed sentences with one piece hidden, and its best guess."""
        room = model.config.max_length - 2
        sentences = [
            sentence
            for work in dev
            for sentence in work.sentences
            if 5 <= len(tokenizer.encode(sentence)) <= room
        ]
        shown = (
            sentences[:: -(-len(sentences) // SAMPLES)] if sentences else []
        )
        return [self._sample(model, tokenizer, text) for text in shown]

    def _sample(
        self, model: nn.Module, tokenizer: Tokenizer, text: str
    ) -> dict[str, str]:
        ids = tokenizer.encode(text)
        place = len(ids) // 2
        hidden = [*ids[:place], tokenizer.mask_id, *ids[place + 1 :]]
        row = torch.tensor([joined(hidden)[0]])
        [found] = masked_probabilities(model, row, tokenizer.mask_id)
        best = int(found.argmax())
        return {
            "src": tokenizer.decode(hidden),
            "tgt": tokenizer.piece(ids[place]),
            "guess": tokenizer.piece(best),
            "probability": f"{float(found[best]):.2f}",
        }

    def told(self, sample: dict[str, str]) -> str:
        return (
            f"{sample['src']}\n→ {sample['guess']} "
            f"({sample['probability']}), was {sample['tgt']}"
        )

    def report(
        self, title: str, judged: Judged, say: Callable[[str], None]
    ) -> None:
        """How well hidden words are guessed, and what follows is told."""
        model, tokenizer = judged.model, judged.tokenizer
        batches = self.scored_batches(model.config, tokenizer, judged.text)
        means = evaluate(model, batches, loss_fn=self.loss)
        count = sum(int(batch.chosen.sum()) for batch in batches)
        say(
            f"{title}: {count:,} hidden words, nll {means['nll']:.4f}, "
            f"perplexity {perplexity(means['nll']):.2f}, accuracy "
            f"{means['accuracy']:.4f}"
        )
        if model.config.next_sentence:
            for name, share in next_accuracy(model, batches).items():
                say(f"  does B follow? {name:10}  accuracy {share:.4f}")

    def prompt(
        self, tokenizer: Tokenizer, text: str, max_length: int
    ) -> NoReturn:
        """Refuse to go on with a text: raise a ConfigError."""
        raise ConfigError(
            "this model guesses hidden words, and writes no text: fill MODEL "
            f"'a text with {MASK_PIECE} in it'."
        )

    def first_use(self, folder: Path) -> str:
        return f"fill {quoted(folder)} '... {MASK_PIECE} ...'"


@torch.inference_mode()
def next_accuracy(
    model: nn.Module, batches: list[MaskedBatch]
) -> dict[str, float]:
    """How often "does B follow A?" is answered rightly, by kind of pair.

    Args:
        model: put into evaluation mode meanwhile.
        batches: of pairs.

    Returns:
        The share of right answers for each kind that is there; "all" is over
        all pairs.
    """
    device = next(model.parameters()).device
    answers, kinds = [], []
    with eval_mode(model):
        for batch in batches:
            _, to_next = model(
                batch.ids.to(device),
                batch.segments.to(device),
                torch.zeros_like(batch.chosen).to(device),
            )
            answers.append(to_next.argmax(dim=-1).cpu())
            kinds.append(batch.kinds)
    kind, answer = torch.cat(kinds), torch.cat(answers)
    right = (answer == 1) == (kind == FOLLOWS)
    shares = {
        name: right[kind == number].float().mean().item()
        for number, name in KINDS.items()
        if (kind == number).any()
    }
    return shares | {"all": right.float().mean().item()}
