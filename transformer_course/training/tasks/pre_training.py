"""Pre-training: hidden words, and whether a passage follows (chapter 18)."""

import torch
import torch.nn.functional as F
from torch import nn

from transformer_course.batches.masked import (
    FOLLOWS,
    OTHER_WORK,
    SAME_WORK,
    MaskedBatch,
    MaskedBatches,
    encode_works,
    joined,
)
from transformer_course.checkpoints.kinds import TASK_KINDS
from transformer_course.data.aozora import Work
from transformer_course.data.config import DataConfig
from transformer_course.data.corpora import corpus_of
from transformer_course.data.text import Splits
from transformer_course.data.tokenizer import Tokenizer
from transformer_course.decoding.fill import masked_probabilities
from transformer_course.evaluation.bleu import perplexity
from transformer_course.models.bert_config import BertConfig
from transformer_course.models.mode import eval_mode
from transformer_course.training.config import Experiment, LossConfig
from transformer_course.training.loss import LossSums, classification_loss
from transformer_course.training.tasks.task import Task, warn_cut_off

EVAL_TOKEN_BUDGET = 8192
"""Ids in a batch of an evaluation."""
SAMPLES = 10
"""Number of samples at each epoch."""
KINDS = {
    FOLLOWS: "follows",
    OTHER_WORK: "other_work",
    SAME_WORK: "same_work",
}
"""Names of the kinds of pairs."""


class PreTraining(Task):
    """BERT's two tasks: hidden words and, if the config asks, next sentence.

    Devlin et al. 2019, section 3.1. Rows are then pairs of passages, and
    whether B follows A is learned too.
    """

    kind = TASK_KINDS["pre_training"]
    corpora = ("works",)
    own_files = False
    examples = "works"
    selection_metric = "nll"
    greater_is_better = False
    data_settings = ("src", "tgt", "pieces", "token_budget")

    def load(self, data: DataConfig) -> Splits[list[Work]]:
        return corpus_of(data).works()

    def prepare(
        self,
        experiment: Experiment,
        train: list[Work],
        tokenizer: Tokenizer | None = None,
    ) -> tuple[Tokenizer, MaskedBatches]:
        tokenizer = tokenizer or train_tokenizer(experiment, train)
        batches = MaskedBatches(
            encode_works(train, tokenizer),
            tokenizer,
            experiment.model.max_length,
            experiment.data.token_budget,
            experiment.train.seed,
            experiment.model.next_sentence,
        )
        sentences = [
            s for work in batches.works for chapter in work for s in chapter
        ]
        cut_off = sum(len(sentence) > batches.room for sentence in sentences)
        warn_cut_off(cut_off, len(sentences), "sentences", batches.room)
        return tokenizer, batches

    def eval_batches(
        self, config: BertConfig, tokenizer: Tokenizer, text: list[Work]
    ) -> list[MaskedBatch]:
        """Always the same words hidden, and the same pairs."""
        return MaskedBatches(
            encode_works(text, tokenizer),
            tokenizer,
            config.max_length,
            max(EVAL_TOKEN_BUDGET, config.max_length),
            0,
            config.next_sentence,
        ).in_order()

    def loss(
        self, model: nn.Module, batch: MaskedBatch, config: LossConfig
    ) -> LossSums:
        """Cross entropy of the chosen words.

        The mean loss of "does B follow?" is added to the mean loss of the
        words, as in BERT. Accuracy is that of the words.
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
        """Perplexity of hidden words, and accuracy of "does B follow?"."""
        found = {"perplexity": perplexity(means["nll"])}
        if not model.config.next_sentence:
            return found
        batches = self.eval_batches(model.config, tokenizer, dev)
        accuracies = next_accuracy(model, batches)
        return found | {f"next_{k}": v for k, v in accuracies.items()}

    def samples(
        self, model: nn.Module, tokenizer: Tokenizer, dev: list[Work]
    ) -> list[dict[str, str]]:
        """A few fixed sentences with one hidden token, and its best guess."""
        limit = model.config.max_length - 2
        sentences = [
            sentence
            for work in dev
            for sentence in work.sentences
            if 5 <= len(tokenizer.encode(sentence)) <= limit
        ]
        shown = sentences[:: max(1, -(-len(sentences) // SAMPLES))]
        return [_sample(model, tokenizer, text) for text in shown]


def train_tokenizer(experiment: Experiment, works: list[Work]) -> Tokenizer:
    """A tokenizer with a [MASK] piece."""
    return Tokenizer.train(
        (sentence for work in works for sentence in work.sentences),
        experiment.model.vocab_size,
        experiment.data.pieces,
        masked=True,
    )


def _sample(
    model: nn.Module, tokenizer: Tokenizer, text: str
) -> dict[str, str]:
    """A sentence with its middle token hidden, and the best guess."""
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


@torch.inference_mode()
def next_accuracy(
    model: nn.Module, batches: list[MaskedBatch]
) -> dict[str, float]:
    """Accuracy of "does B follow A?" by kind of pair.

    Args:
        model: put into evaluation mode meanwhile.
        batches: of pairs.

    Returns:
        The accuracy of each kind in the batches, and of "all" pairs.
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
            answers.append(to_next.argmax(dim=-1).to(batch.kinds.device))
            kinds.append(batch.kinds)
    kind, answer = torch.cat(kinds), torch.cat(answers)
    right = (answer == 1) == (kind == FOLLOWS)
    shares = {
        name: right[kind == number].float().mean().item()
        for number, name in KINDS.items()
        if (kind == number).any()
    }
    return shares | {"all": right.float().mean().item()}
