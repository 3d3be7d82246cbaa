"""Train with wrong masks: the stored runs of chapter 06.

    python tools/train_wrong_masks.py               all that is missing
    python tools/train_wrong_masks.py correct ...   these variants

Corpus, model, seeds and steps are those of ``train_failures.py``; what is
changed here is who may attend to whom, or how the others are hidden. After the
last step each model is looked at more closely: what it answers when the future
is not there or consists of random words, and what more padding does to its
translations. What is there
already under ``runs/wrong-masks/`` is not trained again.
"""

import math
import sys
from collections import defaultdict

import torch
import torch.nn.functional as F
from train_failures import (
    STEPS,
    TRANSLATED,
    Variant,
    look,
    train_missing,
    write_settings,
)

from transformer_course import attention, generate, runs, transformer
from transformer_course.attention import dot_score
from transformer_course.batches import Batch
from transformer_course.experiment import Prepared, keep_freed_memory
from transformer_course.generate import greedy_search
from transformer_course.masks import causal_mask, padding_mask
from transformer_course.score import corpus_bleu
from transformer_course.tokenizer import PAD
from transformer_course.train import Progress
from transformer_course.translate import encode_source

MORE_PADDING = (0, 5, 20, 80)
"""Columns of padding added to sources that have none."""


# --- what is wrong -----------------------------------------------------------


def open_padding_mask(ids, pad_id: int = PAD):
    """Padding may be attended to."""
    return torch.ones_like(padding_mask(ids, pad_id))


def open_causal_mask(length: int, device=None):
    """The future may be attended to."""
    return torch.ones_like(causal_mask(length, device))


def hidden_after_softmax(query, key, value, mask):
    """Hidden weights are set to 0, and the others left as they are."""
    scores = dot_score(query, key) / math.sqrt(query.size(-1))
    return (scores.softmax(dim=-1) * mask) @ value


def zeroed_before_softmax(query, key, value, mask):
    """Hidden scores are multiplied by 0."""
    scores = dot_score(query, key) / math.sqrt(query.size(-1))
    return (scores * mask).softmax(dim=-1) @ value


NO_PADDING_MASK = {
    (transformer, "padding_mask"): open_padding_mask,
    (generate, "padding_mask"): open_padding_mask,
}

VARIANTS = {
    "correct": Variant("both masks, −∞ before the softmax"),
    "no-padding-mask": Variant("no padding mask", NO_PADDING_MASK),
    "no-padding-mask-one-length": Variant(
        "no padding mask, all padded to one length",
        NO_PADDING_MASK,
        one_length=True,
    ),
    "no-causal-mask": Variant(
        "no causal mask",
        {(transformer, "causal_mask"): open_causal_mask},
    ),
    "after-softmax": Variant(
        "masks multiplied after the softmax",
        {(attention, "fused_attention"): hidden_after_softmax},
    ),
    "zeroed-scores": Variant(
        "masks multiplied before the softmax",
        {(attention, "fused_attention"): zeroed_before_softmax},
    ),
}


# --- a closer look -----------------------------------------------------------


def look_closer(prepared: Prepared, progress: Progress) -> dict:
    """As ``look``; at the end also with the future changed, and padding."""
    seen = look(prepared, progress)
    if progress.step == STEPS:
        seen["accuracy_without_future"] = round(without_future(prepared), 4)
        seen["accuracy_random_future"] = round(random_future(prepared), 4)
        seen["padding"] = with_padding(prepared)
    return seen


@torch.inference_mode()
def without_future(prepared: Prepared) -> float:
    """Teacher-forced accuracy when later tokens do not exist yet."""
    prepared.model.eval()
    right = real = 0
    for batch in prepared.dev_batches:
        tgt_out = batch.tgt_out
        found = _token_by_token(prepared.model, batch)
        right += int(((found == tgt_out) & (tgt_out != PAD)).sum())
        real += int((tgt_out != PAD).sum())
    prepared.model.train()
    return right / real


def _token_by_token(model, batch: Batch):
    """The model's answer to each true prefix, computed on its own."""
    memory = model.encode(batch.src)
    src_mask = transformer.padding_mask(batch.src)
    cache = model.new_cache()
    found = [
        model.decode(batch.tgt_in[:, i : i + 1], memory, src_mask, cache)
        for i in range(batch.tgt_in.size(1))
    ]
    return torch.cat(found, dim=1).argmax(dim=-1)


@torch.inference_mode()
def random_future(prepared: Prepared) -> float:
    """Teacher-forced accuracy when all later tokens are random words.

    As many of them as in training: only what they say has gone.
    """
    model = prepared.model.eval()
    generator = torch.Generator().manual_seed(0)
    right = real = 0
    for batch in prepared.dev_batches:
        tgt_in, tgt_out = batch.tgt_in, batch.tgt_out
        memory = model.encode(batch.src)
        src_mask = transformer.padding_mask(batch.src)
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
    model.train()
    return right / real


def with_padding(prepared: Prepared) -> list[dict]:
    """BLEU, and how many translations change, for more and more padding."""
    dev = prepared.splits.dev.take(range(TRANSLATED))
    found: list[dict] = []
    alone: list[str] = []
    for width in MORE_PADDING:
        written = translate_padded(prepared, dev.src, width)
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
    prepared.model.eval()
    for same_length in places.values():
        src = torch.tensor([ids[place] for place in same_length])
        src = F.pad(src, (0, width), value=PAD)
        for place, target in zip(
            same_length,
            greedy_search(prepared.model, src),
            strict=True,
        ):
            written[place] = prepared.tokenizer.decode(target)
    prepared.model.train()
    return written


def main() -> None:
    """Train what is missing of the variants named, or of all."""
    folder = runs.folder("wrong-masks")
    write_settings(folder, "python tools/train_wrong_masks.py", VARIANTS)
    keep_freed_memory()
    for name in sys.argv[1:] or VARIANTS:
        train_missing(folder / f"{name}.json", VARIANTS[name], look_closer)


if __name__ == "__main__":
    main()
