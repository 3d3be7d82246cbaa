"""What has a training on running text or next sentences learned?

Held-out works are scored per token and per character. Of a model that reads a
sentence and writes the next, three things more are measured on the
development work: how much the right source helps, against the source of
another pair; how many different answers it gives; and how many of them stand
in the training text word for word.
"""

from collections import Counter
from pathlib import Path

import torch

from experiments.lab import Analysis, RunContext, store_each, tiny_run
from transformer_course.checkpoints import checkpoint
from transformer_course.checkpoints.find import chosen_checkpoint
from transformer_course.data.config import DataConfig
from transformer_course.data.text import ParallelText
from transformer_course.decoding.generate import sample
from transformer_course.decoding.translate import draw, translate
from transformer_course.training.report import text_nll
from transformer_course.training.tasks.table import task_of
from transformer_course.training.tasks.task import Task

CREDIT = "Text: Natsume Soseki, from Aozora Bunko; in the public domain."
SEED = 0
BEAM_SIZE = 5
DRAWN = 40
"""Texts drawn from a language model."""
LENGTH = 120
"""Tokens of each at the most."""


def scores(
    task: Task, model, tokenizer, text: ParallelText
) -> dict[str, float]:
    """Scores of one held-out text, rounded."""
    found = text_nll(task, model, tokenizer, text)
    return {
        "nll": round(found.nll, 4),
        "accuracy": round(found.accuracy, 4),
        "tokens": found.tokens,
        "characters": found.characters,
        "nll_per_character": round(found.nll_per_character, 4),
    }


def other_sources(text: ParallelText) -> ParallelText:
    """Each target with the source of another pair, drawn once."""
    generator = torch.Generator().manual_seed(SEED)
    order = torch.randperm(len(text), generator=generator).tolist()
    sources = [""] * len(text)
    for place, following in zip(order, order[1:] + order[:1], strict=True):
        sources[place] = text.src[following]
    return ParallelText(sources, text.tgt)


def about_answers(answers: list[str], known: set[str]) -> dict:
    """Variety of answers, and the share of quotations."""
    counts = Counter(answers)
    copied = [answer for answer in answers if answer in known]
    long = [answer for answer in copied if len(answer) > 10]
    return {
        "answers": len(answers),
        "different": len(counts),
        "most_common": counts.most_common(5),
        "copied": len(copied),
        "copied_over_10_characters": len(long),
        "longest_copies": sorted(set(copied), key=len)[-3:],
    }


def results_of_pairs(task: Task, model, tokenizer, splits) -> dict:
    """Answers of a model of next sentences to the development work."""
    dev = splits.dev
    ways = {
        "greedy": translate(model, tokenizer, dev.src),
        "beam": translate(model, tokenizer, dev.src, BEAM_SIZE),
        "sampled": draw(model, tokenizer, dev.src, SEED),
        "author": dev.tgt,
    }
    known = {*splits.train.src, *splits.train.tgt}
    return {
        "answers": {
            way: about_answers(answers, known) for way, answers in ways.items()
        },
    }


def results_of_text(model, tokenizer) -> dict:
    """Texts drawn from a language model, from nothing."""
    drawn = sample(
        model,
        prefix=torch.empty(DRAWN, 0, dtype=torch.long),
        generator=torch.Generator().manual_seed(SEED),
        max_length=LENGTH,
    )
    return {"seed": SEED, "drawn": [tokenizer.decode(ids) for ids in drawn]}


def data_of(details: dict) -> DataConfig:
    """The text that a checkpoint of Soseki was trained on."""
    kept = ("corpus", "src", "tgt")
    return DataConfig(**{key: details[key] for key in kept})


def results(output: Path, context: RunContext) -> tuple[dict, None]:
    """Results of the checkpoint that is best on the development work."""
    loaded = checkpoint.load(chosen_checkpoint(output))
    model, tokenizer = loaded.model, loaded.tokenizer
    task = task_of(model.config, loaded.details)
    splits = task.load(data_of(loaded.details))
    found = {
        "credit": CREDIT,
        "parameters": sum(p.numel() for p in model.parameters()),
        "dev": scores(task, model, tokenizer, splits.dev),
        "test": scores(task, model, tokenizer, splits.test),
    }
    if task.kind.prompt_side == "tgt":
        return found | results_of_text(model, tokenizer), None
    return found | results_of_pairs(task, model, tokenizer, splits), None


EXPERIMENT = Analysis(
    name="text-runs",
    chapter="16_soseki",
    analyse=store_each(
        results, lambda found: f"{found['dev']} {found['test']}"
    ),
    inputs=("outputs/soseki-cpu", "outputs/soseki-lm"),
    smoke_inputs=lambda scratch: [tiny_run(scratch, "lm", "grammar-lm")],
    writes=("soseki-cpu", "soseki-lm"),
)
