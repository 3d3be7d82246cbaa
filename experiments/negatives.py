"""What do SFT, LoRA, DPO and GRPO buy on a small model, and break?

The committed language model of the grammar is to write negative sentences,
which a program can check: they contain ない. It is given the first three words
of a sentence. SFT and LoRA are shown negative sentences of the training text;
DPO learns from pairs that the model has drawn, GRPO from groups that it draws.
Scored are answers drawn to prompts of held-out sentences, how many of them
differ, and the loss on the held-out sentences themselves.
"""

import time
from collections.abc import Callable

import torch
from torch import nn

from experiments.lab import Experiment, Record, RunContext
from transformer_course.batches.pairs import encode_texts, padded_batch
from transformer_course.data.grammar import grammar_corpus
from transformer_course.data.tokenizer import EOS, PAD
from transformer_course.training.config import TrainConfig
from transformer_course.training.loop import (
    evaluate,
    fit,
    make_optimizer,
    set_seed,
)
from transformer_course.training.loss import compute_loss
from transformer_course.training.post_training import (
    Ids,
    Pairs,
    Rollouts,
    add_lora,
    answer_batch,
    draw_answers,
    group_loss,
    merge_lora,
    preference_loss,
)
from transformer_course.training.shipped import load_shipped

GIVEN = 4
"""Tokens of a prompt: bos and three words."""
PROMPTS, HELD_OUT = 160, 240
"""Prompts of a training, and prompts that are scored."""
ROWS = 8
"""Answers, or pairs, in a step."""
DRAWN, LONGEST = 8, 24
"""Answers drawn to a prompt, and the most tokens of one."""
SCORED = 2
"""Answers drawn to each held-out prompt."""
RATES = {"sft": 3e-4, "lora": 3e-3, "dpo": 3e-3, "grpo": 3e-3}
"""Highest learning rates."""


class Fixed:
    """Batches of rows in their order.

    Args:
        rows: of all batches.
        batch: from some rows to a batch.
    """

    def __init__(self, rows: list, batch: Callable):
        starts = range(0, len(rows), ROWS)
        self.batches = [batch(rows[i : i + ROWS]) for i in starts]

    def __len__(self) -> int:
        return len(self.batches)

    def epoch(self, number: int):
        """The batches, the same in each epoch."""
        return iter(self.batches)


class Taught:
    """The small model, what it is taught, and how long that took.

    Args:
        seed: fixes the order and the draws.
        context: how much of it.
    """

    def __init__(self, seed: int, context: RunContext):
        set_seed(seed)
        self.seed, loaded = seed, load_shipped("grammar-lm")
        self.model, self.tokenizer = loaded.model, loaded.tokenizer
        splits = grammar_corpus()
        room = self.model.config.max_length
        parts = (splits.train.tgt, [*splits.dev.tgt, *splits.test.tgt])
        train, rest = (
            [ids for _, ids in encode_texts(self.tokenizer, part, room)]
            for part in parts
        )
        order = torch.randperm(len(train)).tolist()
        self.train = [train[i] for i in order]
        prompts = {tuple(ids[:GIVEN]): ids for ids in rest}
        held_out = context.limit(HELD_OUT, 4)
        self.held_out = list(prompts.values())[:held_out]
        self.text = rest[: context.limit(len(rest), 20)]
        self.count = context.limit(PROMPTS, 16)
        self.seconds, self.curve = 0.0, []

    def is_right(self, answer: Ids) -> bool:
        """Whether an answer is complete, and negative."""
        return answer[-1:] == [EOS] and self.is_negative(answer)

    def is_negative(self, ids: Ids) -> bool:
        """Whether a sentence says ない."""
        return "ない" in self.tokenizer.decode(ids).replace(" ", "")

    def prompts(self) -> list[Ids]:
        """The prompts of a training."""
        return [ids[:GIVEN] for ids in self.train[: self.count]]

    def fit(self, method: str, batches, loss_fn, epochs: int = 1) -> None:
        """Train with the course's own loop."""
        config = TrainConfig(
            epochs=epochs,
            peak_rate=RATES[method],
            schedule="cosine",
            warmup=0.1,
            label_smoothing=0.0,
            beta2=0.999,
            epsilon=1e-8,
        )
        optimizer = make_optimizer(self.model, config)
        self.model.train()
        fit(
            self.model,
            optimizer,
            batches,
            config,
            on_step=lambda progress, sums, rate: self.curve.append(
                round(sums.means()["loss"], 4)
            ),
            loss_fn=loss_fn,
        )
        self.model.eval()


def shown(method: str, taught: Taught) -> None:
    """Supervised fine-tuning on negative sentences of the training text."""
    chosen = [ids for ids in taught.train if taught.is_negative(ids)]
    rows = [(ids[:GIVEN], ids[GIVEN:]) for ids in chosen[: taught.count]]
    taught.fit(method, Fixed(rows, answer_batch), compute_loss)


def sft(taught: Taught) -> None:
    """All weights learn."""
    shown("sft", taught)


def lora(taught: Taught) -> None:
    """LoRA learns."""
    add_lora(taught.model)
    shown("lora", taught)


def dpo(taught: Taught) -> None:
    """Pairs of a right and a wrong answer, which the model has drawn."""
    add_lora(taught.model)
    generator = torch.Generator().manual_seed(taught.seed)
    rows = []
    for prompt in taught.prompts():
        more = DRAWN, LONGEST, generator
        drawn = draw_answers(taught.model, prompt, *more)
        right = [a for a in drawn if taught.is_right(a)]
        wrong = [a for a in drawn if not taught.is_right(a)]
        if right and wrong:
            rows.append((prompt, right[0], wrong[0]))

    def pairs(some: list) -> Pairs:
        chosen = answer_batch([(row[0], row[1]) for row in some])
        return Pairs(chosen, answer_batch([(row[0], row[2]) for row in some]))

    if rows:
        taught.fit("dpo", Fixed(rows, pairs), preference_loss)


def grpo(taught: Taught) -> None:
    """Groups of answers, each with the reward that the program gives."""
    add_lora(taught.model)
    rollouts = Rollouts(
        taught.model,
        taught.prompts(),
        lambda place, answer: float(taught.is_right(answer)),
        count=DRAWN,
        length=LONGEST,
        seed=taught.seed,
    )
    taught.fit("grpo", rollouts, group_loss)
    taught.curve = [round(mean, 4) for mean in rollouts.rewards]


def scores(taught: Taught) -> Record:
    """Drawn answers: how many are right, and differ; the loss on text."""
    generator = torch.Generator().manual_seed(1_000)
    right, texts = 0, []
    for ids in taught.held_out:
        prompt = ids[:GIVEN]
        for answer in draw_answers(
            taught.model, prompt, SCORED, LONGEST, generator
        ):
            right += taught.is_right(answer)
            texts.append(taught.tokenizer.decode(prompt + answer))
    batches = [
        padded_batch([(None, ids) for ids in taught.text[i : i + 50]], PAD)
        for i in range(0, len(taught.text), 50)
    ]
    return {
        "drawn": len(texts),
        "right": right,
        "different": len(set(texts)),
        "nll": evaluate(taught.model, batches)["nll"],
        "samples": texts[:: max(1, len(texts) // 6)][:6],
    }


def measure(
    teach: Callable[[Taught], None] | None, seed: int, context: RunContext
) -> Record:
    """Teach the model, and score it."""
    taught = Taught(seed, context)
    begun = time.process_time()
    if teach is not None:
        teach(taught)
    seconds = round(time.process_time() - begun, 2)
    model: nn.Module = merge_lora(taught.model)
    assert model is taught.model
    return {"seconds": seconds, "curve": taught.curve, **scores(taught)}


VARIANTS = {
    "untouched": None,
    "sft": sft,
    "lora": lora,
    "dpo": dpo,
    "grpo": grpo,
}
EXPERIMENT = Experiment(
    name="negatives",
    chapter="23_from_text_to_answers",
    variants=VARIANTS,
    measure=measure,
    seeds_of={"untouched": (0,)},
)
