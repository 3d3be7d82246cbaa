"""What does a base model answer, and what once it has been shown answers?

``school-lm`` has read texts and nothing else. It is asked held-out questions
bare, in the template, and in a form of its own texts, where a teacher asks and
a child answers; and in the template after it was shown the answers to others.
"""

from collections import Counter

from experiments.lab import Experiment, Record, RunContext
from experiments.post_trainings import PostTraining, sft, taught
from transformer_course.checkpoints.shipped import load_shipped
from transformer_course.data.school import questions
from transformer_course.data.tokenizer import BOS, EOS
from transformer_course.training.loop import set_seed
from transformer_course.training.post_training import (
    greedy_answers,
    prompt_ids,
)

SHOWN, HELD_OUT = 360, 60
"""Questions that are shown with their answers, and those that are asked."""
EPOCHS, ROWS, RATE = 3, 12, 1e-3
"""How often they are shown, how many to an update, and the highest rate."""
ROOM = 12
"""Most tokens of an answer."""
FORMS = {"bare": "{}", "lesson": "teacher : {} mia :"}
"""Ways to ask without a template."""


def measure(teaches: bool, seed: int, context: RunContext) -> Record:
    """Right answers by kind, in each form."""
    set_seed(seed)
    base, record = load_shipped("school-lm"), {}
    model, tokenizer = base.model, base.tokenizer
    held_out = questions(1_000, context.limit(HELD_OUT), held_out=True)

    def right(prompts: list[list[int]]) -> dict[str, int]:
        found = Counter()
        answers = greedy_answers(model, prompts, ROOM)
        for one, ids in zip(held_out, answers, strict=True):
            line = tokenizer.decode(ids).partition(" /")[0]
            found[one.kind] += one.is_right(line.removesuffix(" ."))
        return dict(found)

    if teaches:
        shown = [
            (
                prompt_ids(tokenizer, one.prompt),
                [*tokenizer.encode(one.answer), EOS],
            )
            for one in questions(seed, context.limit(SHOWN))
        ]
        rates = {"sft": RATE}
        settings = {"rates": rates, "rows": ROWS, "groups": 0, "longest": ROOM}
        run = PostTraining(
            model, seed, shown * EPOCHS, [], lambda *_: False, **settings
        )
        record |= taught(sft, run)
    else:
        for form, text in FORMS.items():
            texts = [text.format(one.prompt) for one in held_out]
            record[form] = right([[BOS, *tokenizer.encode(t)] for t in texts])
    prompts = [prompt_ids(tokenizer, one.prompt) for one in held_out]
    return {**record, "template": right(prompts)}


EXPERIMENT = Experiment(
    name="school",
    chapter="23_from_text_to_answers",
    variants={"base": False, "answers": True},
    measure=measure,
    seeds=tuple(range(8)),
    seeds_of={"base": (0,)},
    settings=lambda: {
        "shown": SHOWN,
        "epochs": EPOCHS,
        "rows": ROWS,
        "rate": RATE,
        "asked": HELD_OUT,
    },
)
