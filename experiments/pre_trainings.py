"""What has a pre-training on whole works learned?

Held-out works are judged as in training: so many words are hidden, and pairs
are drawn, always the same. Of a model that learned whether B follows A, the
answers are counted by kind of pair: B follows, is of another work, is from
elsewhere in the same work.
"""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import torch
from torch import nn

from experiments.lab import (
    Analysis,
    Record,
    RunContext,
    checkpoint_of,
    store_each,
)
from transformer_course.batches.masked import MaskedBatch
from transformer_course.checkpoints import checkpoint
from transformer_course.data.aozora import Chapter, Work
from transformer_course.data.aozora.authors import works
from transformer_course.data.config import DataConfig
from transformer_course.data.text import Splits
from transformer_course.data.tokenizer import MASK_PIECE, Tokenizer
from transformer_course.decoding.fill import fill
from transformer_course.models.mode import eval_mode
from transformer_course.training.config import changed_experiment
from transformer_course.training.loop import evaluate
from transformer_course.training.presets import PRESETS
from transformer_course.training.run.prepare import sized
from transformer_course.training.tasks.pre_training import (
    PreTraining,
    next_accuracy,
    train_tokenizer,
)

CREDIT = "Books: Aozora Bunko, in the public domain."
FILLED = (
    f"吾輩は{MASK_PIECE}である。",
    f"雨が{MASK_PIECE}っている。",
    f"彼は{MASK_PIECE}を開けて、部屋へ入った。",
    f"それは{MASK_PIECE}だ。",
)
"""Lines of our own, but for the first."""
TOP = 5


def text_for(context: RunContext) -> Splits[list[Work]]:
    """The works; in a smoke test a few lines that need no file."""
    if not context.smoke:
        return works()
    lines = tuple(f"{a}は{b}。" for a in "犬猫" for b in "白黒")
    small = [Work("a", "b", (Chapter("", lines),))] * 2
    return Splits(small, small, small)


def scores(model, tokenizer: Tokenizer, text: list[Work]) -> Record:
    """Scores of held-out works, rounded."""
    task = PreTraining()
    batches = task.eval_batches(model.config, tokenizer, text)
    means = evaluate(model, batches, loss_fn=task.unsmoothed_loss)
    found: Record = {
        "nll": round(means["nll"], 4),
        "accuracy": round(means["accuracy"], 4),
        "accuracy_at_mask": right_at_mask(model, batches, tokenizer.mask_id),
        "hidden": sum(int(batch.chosen.sum()) for batch in batches),
    }
    if model.config.next_sentence:
        answers = next_accuracy(model, batches)
        found["next"] = {k: round(v, 4) for k, v in answers.items()}
        kinds = Counter(k for b in batches for k in b.kinds.tolist())
        found["pairs"] = kinds.total()
    return found


@torch.inference_mode()
def right_at_mask(
    model: nn.Module, batches: list[MaskedBatch], mask_id: int
) -> float:
    """Share of the pieces behind [MASK] that are guessed rightly."""
    hits = []
    with eval_mode(model):
        for batch in batches:
            logits, _ = model(batch.ids, batch.segments, batch.chosen)
            right, shown = batch.words[batch.chosen], batch.ids[batch.chosen]
            hits.append((logits.argmax(dim=-1) == right)[shown == mask_id])
    return round(torch.cat(hits).float().mean().item(), 4)


def results(output: Path, context: RunContext) -> tuple[Record, None]:
    """Results of the checkpoint that is best on the development works."""
    loaded = checkpoint.load(checkpoint_of(output))
    model, tokenizer = loaded.model, loaded.tokenizer
    splits = PreTraining().load(DataConfig(corpus=loaded.details["corpus"]))
    with torch.no_grad():
        filled = {
            line: [
                [[piece, round(share, 4)] for piece, share in place]
                for place in fill(model, tokenizer, line, TOP)
            ]
            for line in FILLED
        }
    return {
        "credit": CREDIT,
        "parameters": sum(p.numel() for p in model.parameters()),
        "dev": scores(model, tokenizer, splits.dev),
        "test": scores(model, tokenizer, splits.test),
        "filled": filled,
    }, None


def untrained(context: RunContext) -> Record:
    """Results of a tiny model with its first weights."""
    text, preset = text_for(context).dev, PRESETS["aozora-bert"]
    preset = changed_experiment(preset, {"model.d_model": 16})
    tokenizer = train_tokenizer(preset, text)
    model = checkpoint.build(sized(preset.model, tokenizer))
    return scores(model, tokenizer, text)


def analyse(context: RunContext) -> Iterator[str]:
    """Score and store each training."""
    if context.smoke:
        yield f"smoke: {untrained(context)}"
    describe = "{0[dev]} {0[test]}".format
    yield from store_each(results, describe)(context)


NAMES = ("aozora-bert", "aozora-bert-longer", "aozora-bert-pairs")
EXPERIMENT = Analysis(
    name="pre-trainings",
    chapter="18_bert",
    analyse=analyse,
    inputs=tuple(f"outputs/{name}" for name in NAMES),
    writes=NAMES,
)
