"""What does a training learn whose masks are wrong?

Corpus, model and steps are those of the failures; what is changed here is who
may attend to whom, or how the others are hidden. After the last step each
model is looked at more closely: what it answers when the future is not there
or consists of random words, and what more padding does to its translations.
"""

import math
from collections import defaultdict

import torch
import torch.nn.functional as F

from experiments.failures import at_one_length, inspect
from experiments.lab import Record
from experiments.translators import (
    TRANSLATED,
    Snapshot,
    Training,
    causal_of,
    experiment_of,
    padding_of,
    with_masks,
    with_parts,
)
from transformer_course.batches.pairs import Batch
from transformer_course.data.tokenizer import PAD
from transformer_course.decoding.generate import greedy_search
from transformer_course.decoding.translate import encode_source
from transformer_course.evaluation.bleu import corpus_bleu
from transformer_course.models.attention import MultiHeadAttention, dot_score
from transformer_course.models.masks import padding_mask
from transformer_course.models.mode import eval_mode
from transformer_course.training.run.prepare import Prepared

MORE_PADDING = (0, 5, 20, 80)
"""Columns of padding added to sources that have none."""


# --- what is wrong -----------------------------------------------------------


def padding_open(mask, whose: str):
    """Padding may be attended to."""
    return causal_of(mask) if whose == "own" else torch.ones_like(mask)


def future_open(mask, whose: str):
    """The future may be attended to."""
    return padding_of(mask) if whose == "own" else mask


class HiddenAfterSoftmax(MultiHeadAttention):
    """Hidden weights are set to 0, and the others left as they are."""

    def attend(self, query, key, value, mask):
        """The heads' outputs, by weights that no longer sum to one."""
        scores = dot_score(query, key) / math.sqrt(query.size(-1))
        return (scores.softmax(dim=-1) * mask) @ value


AFTER_SOFTMAX = with_parts(
    MultiHeadAttention, lambda c: HiddenAfterSoftmax(c.d_model, c.n_heads)
)
"""Builds a model whose attentions are of this class."""


VARIANTS = {
    "correct": Training("both masks, −∞ before the softmax"),
    "no-padding-mask": Training(
        "no padding mask", build=with_masks(padding_open)
    ),
    "no-padding-mask-one-length": Training(
        "no padding mask, all padded to one length",
        build=with_masks(padding_open),
        data=at_one_length,
    ),
    "no-causal-mask": Training(
        "no causal mask", build=with_masks(future_open)
    ),
    "after-softmax": Training(
        "masks multiplied after the softmax",
        build=AFTER_SOFTMAX,
    ),
}


# --- a closer look -----------------------------------------------------------


def inspect_closely(snapshot: Snapshot) -> Record:
    """Inspect as for failures; at the end change the future, and pad."""
    seen = inspect(snapshot)
    if snapshot.last:
        found = snapshot.prepared
        with eval_mode(found.model), torch.inference_mode():
            seen["accuracy_without_future"] = without_future(found)
            seen["accuracy_random_future"] = random_future(found)
            seen["padding"] = with_padding(snapshot)
    return seen


def without_future(prepared: Prepared) -> float:
    """Teacher-forced accuracy when later tokens do not exist yet."""
    right = real = 0
    for batch in prepared.dev_batches:
        found = _token_by_token(prepared.model, batch)
        counts = batch.tgt_out != PAD
        right += int(((found == batch.tgt_out) & counts).sum())
        real += int(counts.sum())
    return round(right / real, 4)


def _token_by_token(model, batch: Batch):
    """The model's answer to each true prefix, computed on its own."""
    memory, src_mask = model.encode(batch.src), padding_mask(batch.src)
    cache = model.new_cache()
    found = [
        model.decode(token, memory, src_mask, cache)
        for token in batch.tgt_in.split(1, dim=1)
    ]
    return torch.cat(found, dim=1).argmax(dim=-1)


def random_future(prepared: Prepared) -> float:
    """Teacher-forced accuracy when all later tokens are random words.

    As many of them as in training: only what they say has gone.
    """
    model = prepared.model
    generator = torch.Generator().manual_seed(0)
    right = real = 0
    for batch in prepared.dev_batches:
        tgt_in, tgt_out = batch.tgt_in, batch.tgt_out
        memory, src_mask = model.encode(batch.src), padding_mask(batch.src)
        words = tgt_in[:, 1:][tgt_in[:, 1:] != PAD]
        for i in range(tgt_in.size(1)):
            later = tgt_in != PAD
            later[:, : i + 1] = False
            drawn = torch.randint(
                len(words), tgt_in.shape, generator=generator
            )
            changed = torch.where(later, words[drawn], tgt_in)
            logits = model.decode(changed, memory, src_mask)[:, i]
            counts = tgt_out[:, i] != PAD
            found = logits.argmax(dim=-1)
            right += int(((found == tgt_out[:, i]) & counts).sum())
            real += int(counts.sum())
    return round(right / real, 4)


def with_padding(snapshot: Snapshot) -> list[Record]:
    """BLEU, and how many translations change, for more and more padding."""
    size = snapshot.context.limit(TRANSLATED)
    dev = snapshot.prepared.splits.dev.take(range(size))
    found: list[Record] = []
    alone: list[str] = []
    for width in MORE_PADDING:
        written = translate_padded(snapshot.prepared, dev.src, width)
        alone = alone or written
        changed = sum(a != b for a, b in zip(alone, written, strict=True))
        bleu = round(corpus_bleu(written, dev.tgt).value, 2)
        found.append({"columns": width, "bleu": bleu, "changed": changed})
    return found


def translate_padded(
    prepared: Prepared, sentences: list[str], width: int
) -> list[str]:
    """Translate with ``width`` columns of padding after every sentence."""
    places = defaultdict(list)
    ids = [encode_source(prepared.tokenizer, s) for s in sentences]
    for place, row in enumerate(ids):
        places[len(row)].append(place)
    written = [""] * len(sentences)
    for same_length in places.values():
        src = torch.tensor([ids[place] for place in same_length])
        src = F.pad(src, (0, width), value=PAD)
        targets = greedy_search(prepared.model, src)
        for place, target in zip(same_length, targets, strict=True):
            written[place] = prepared.tokenizer.decode(target)
    return written


EXPERIMENT = experiment_of(
    "wrong-masks", "06_masks", VARIANTS, inspect_closely
)
