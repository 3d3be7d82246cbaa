"""What do SFT, LoRA, DPO and GRPO buy on a small model, and break?

The committed language model of the grammar is to write negative sentences,
which a program can check: they contain ない. It is given the first three words
of a sentence. SFT and LoRA are shown negative sentences of the training text;
DPO learns from pairs that the model has drawn, GRPO from groups that it draws.
Scored are answers drawn to prompts of held-out sentences, how many of them
differ, and the loss on the held-out sentences themselves.
"""

from collections.abc import Callable

import torch

from experiments.lab import Experiment, Record, RunContext
from experiments.post_trainings import METHODS, PostTraining, taught
from transformer_course.batches.pairs import encode_texts, padded_batch
from transformer_course.checkpoints.shipped import load_shipped
from transformer_course.data.grammar import grammar_corpus
from transformer_course.data.tokenizer import EOS
from transformer_course.inference.model import TrainedModel
from transformer_course.training.loop import evaluate, set_seed
from transformer_course.training.post_training import Ids, draw_answers

GIVEN = 4
"""Tokens of a prompt: bos and three words."""
PROMPTS, HELD_OUT = 160, 240
"""Prompts of a training, and prompts that are scored."""
LONGEST = 24
"""Most tokens of an answer."""
SCORED = 2
"""Answers drawn to each held-out prompt."""
RATES = {"sft": 3e-4, "lora": 3e-3, "dpo": 3e-3, "grpo": 3e-3}
"""Highest learning rates."""


class Negatives:
    """The small model's sentences, and which of them are negative.

    Args:
        loaded: the small model.
        context: how much of it.
    """

    def __init__(self, loaded: TrainedModel, context: RunContext):
        self.tokenizer = loaded.tokenizer
        splits = grammar_corpus()
        room = loaded.model.config.max_length
        parts = (splits.train.tgt, [*splits.dev.tgt, *splits.test.tgt])
        train, rest = (
            [ids for _, ids in encode_texts(self.tokenizer, part, room)]
            for part in parts
        )
        order = torch.randperm(len(train)).tolist()
        self.train = [train[i] for i in order]
        prompts = {tuple(ids[:GIVEN]): ids[:GIVEN] for ids in rest}
        self.held_out = list(prompts.values())[: context.limit(HELD_OUT, 4)]
        self.text = rest[: context.limit(len(rest), 20)]
        self.count = context.limit(PROMPTS, 16)

    def is_right(self, number: int, answer: Ids) -> bool:
        """Whether an answer is complete, and negative."""
        return answer[-1:] == [EOS] and self.is_negative(answer)

    def is_negative(self, ids: Ids) -> bool:
        """Whether a sentence says ない."""
        return "ない" in self.tokenizer.decode(ids).replace(" ", "")

    def shown(self) -> list[tuple[Ids, Ids]]:
        """Negative sentences of the training text."""
        chosen = [ids for ids in self.train if self.is_negative(ids)]
        return [(ids[:GIVEN], ids[GIVEN:]) for ids in chosen[: self.count]]

    def prompts(self) -> list[Ids]:
        """The prompts of a training."""
        return [ids[:GIVEN] for ids in self.train[: self.count]]

    def scores(self, model) -> Record:
        """Drawn answers: how many are right, and differ; the loss on text."""
        generator = torch.Generator().manual_seed(1_000)
        right, texts = 0, []
        for i, prompt in enumerate(self.held_out):
            more = SCORED, LONGEST, generator
            for answer in draw_answers(model, [prompt], *more)[0]:
                right += self.is_right(i, answer)
                texts.append(self.tokenizer.decode(prompt + answer))
        batches = [
            padded_batch([(None, ids) for ids in self.text[i : i + 50]])
            for i in range(0, len(self.text), 50)
        ]
        return {
            "drawn": len(texts),
            "right": right,
            "different": len(set(texts)),
            "nll": evaluate(model, batches)["nll"],
            "samples": texts[:: max(1, len(texts) // 6)][:6],
        }


def measure(
    method: Callable[[PostTraining], None] | None,
    seed: int,
    context: RunContext,
) -> Record:
    """Teach the model, and score it."""
    set_seed(seed)
    loaded = load_shipped("grammar-lm")
    task = Negatives(loaded, context)
    run = PostTraining(
        loaded.model,
        seed,
        task.shown(),
        task.prompts(),
        task.is_right,
        RATES,
        rows=8,
        groups=4,
        longest=LONGEST,
    )
    return {**taught(method, run), **task.scores(run.model)}


EXPERIMENT = Experiment(
    name="negatives",
    chapter="23_from_text_to_answers",
    variants=METHODS,
    measure=measure,
    seeds_of={"untouched": (0,)},
    smoke_variants=("dpo",),
)
