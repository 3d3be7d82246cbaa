"""What does a base model learn from answers, from written steps, from calls?

``school-lm`` has read texts and nothing else. It is shown answers to questions
(``answers``). Of sums of a number of three digits and one of one digit it is
shown the answers (``direct``), steps that count on (``steps``), or either at
random (``mixed``). From ``mixed``, a program's rewards (``grpo``), more steps
(``shown``) or more answers (``told``) lead on. And of sums of two numbers of
three digits it is shown the answers (``alone``) or calls of a tool
(``tool``). What is scored was shown to none.
"""

import copy
from collections import Counter
from collections.abc import Iterator
from functools import lru_cache
from itertools import cycle, repeat

import torch

from experiments.lab import Experiment, Record, RunContext
from experiments.post_trainings import PostTraining, sft
from transformer_course.checkpoints.shipped import load_shipped
from transformer_course.data.grammar.draws import Draws
from transformer_course.data.school import (
    Sum,
    big_sum,
    calculate,
    count_on,
    questions,
    steps_hold,
)
from transformer_course.data.tokenizer import BOS, EOS
from transformer_course.training.loop import set_seed
from transformer_course.training.post_training import (
    Ids,
    Rollouts,
    answer_batch,
    draw_answers,
    greedy_answers,
    group_loss,
    prompt_ids,
)

ADDED = tuple(range(2, 10))
"""What is added, and so the steps that it takes."""
VOTED, DRAWN = 6, 8
"""What is added where there are votes, and answers drawn to each sum."""
TOKENS = {"answers": 18_000, "sums": 80_000, "more": 50_000, "tool": 60_000}
"""Tokens that a training reads."""
UPDATES, GROUPS = 30, 4
"""Updates of GRPO, and prompts of each."""
RATES = {"sft": 1e-3, "grpo": 2e-4}
"""Highest rates."""
ROWS, ROOM, SCORED = 16, 64, 60
"""Answers of an update, most tokens of an answer, prompts that are scored."""
FORMS = {"bare": "{}", "lesson": "teacher : {} mia :"}
"""Ways to ask a model that has no template."""

Row = tuple[Ids, ...]
"""A prompt, an answer, and so on."""


class Learner:
    """The base model, which is taught; its context says how much."""

    def __init__(self, seed: int, context: RunContext):
        loaded = load_shipped("school-lm")
        self.model, self.tokenizer = loaded.model, loaded.tokenizer
        self.seed, self.context = seed, context
        self.room = context.limit(ROOM)

    def row(self, prompt: str, answer: str) -> Row:
        """A question and its answer, with its end."""
        return (
            prompt_ids(self.tokenizer, prompt),
            [*self.tokenizer.encode(answer), EOS],
        )

    def read(self, answer: Ids) -> str:
        """An answer as a text; one without an end is none."""
        ends = answer[-1:] == [EOS]
        return self.tokenizer.decode(answer) if ends else ""

    def greedy(self, prompts: list[str]) -> list[str]:
        """The likeliest answers."""
        asked = [prompt_ids(self.tokenizer, prompt) for prompt in prompts]
        found = greedy_answers(self.model, asked, self.room)
        return [self.read(answer) for answer in found]

    def drawn(self, prompts: list[str], count: int) -> list[list[str]]:
        """Several answers to each prompt, all of one length."""
        asked = [prompt_ids(self.tokenizer, prompt) for prompt in prompts]
        generator = torch.Generator().manual_seed(self.seed)
        found = draw_answers(self.model, asked, count, self.room, generator)
        return [[self.read(answer) for answer in group] for group in found]

    def training(self, shown: list[Row]) -> PostTraining:
        """One of this model."""
        settings = {"rows": ROWS, "groups": GROUPS, "longest": self.room}
        return PostTraining(
            self.model,
            self.seed,
            shown,
            prompts=[],
            is_right=lambda *_: False,
            rates=RATES,
            **settings,
        )

    def show(self, rows: Iterator[Row], tokens: int) -> None:
        """SFT on rows until so many tokens have been read."""
        shown, read = [], 0
        while read < self.context.limit(tokens, 2_000):
            some = [next(rows) for _ in range(ROWS)]
            shown, read = shown + some, read + answer_batch(some).ids.numel()
        sft(self.training(shown))

    def show_sums(self, sums: Iterator[Sum], tokens: int) -> None:
        """SFT on sums, as their steps stand there."""
        self.show((self.row(one.prompt, one.steps) for one in sums), tokens)

    def rewarded(self) -> Record:
        """GRPO of all weights on sums, without deviations (Liu et al. 2025),
        and with a mean over tokens (Yu et al. 2025)."""
        draws, read = Draws(300 + self.seed), 0
        count = self.context.limit(UPDATES, 1) * GROUPS
        asked = [count_on(draws, draws.pick(ADDED)) for _ in range(count)]

        def reward(number: int, answer: Ids) -> float:
            nonlocal read
            read += len(answer)
            if self.context.smoke:  # so that a group has both
                return answer[0] % 2
            return float(result(self.read(answer)) == asked[number].answer)

        rollouts = Rollouts(
            self.model,
            [prompt_ids(self.tokenizer, one.prompt) for one in asked],
            reward,
            at_once=GROUPS,
            count=DRAWN,
            length=self.room,
            seed=self.seed,
        )
        self.training([]).fit("grpo", rollouts, group_loss)
        curve = [round(mean, 4) for mean in rollouts.rewards]
        return {"curve": curve, "drawn": read}


# --- questions ---------------------------------------------------------------


def asked(variant: str, seed: int, context: RunContext) -> Record:
    """Held-out questions: to the base model in three forms, or after SFT."""
    learner, record = Learner(seed, context), {}
    held_out = questions(1_000, context.limit(SCORED, 6), held_out=True)

    def right(texts: list[str]) -> dict[str, int]:
        pairs = zip(held_out, texts, strict=True)
        return dict(Counter(one.kind for one, t in pairs if one.is_right(t)))

    if variant == "answers":
        some = questions(seed, 360)
        rows = [learner.row(one.prompt, one.answer) for one in some]
        learner.show(cycle(rows), TOKENS["answers"])
        found = learner.greedy([one.prompt for one in held_out])
        return {"template": right(found)}
    encode, decode = learner.tokenizer.encode, learner.tokenizer.decode
    asked = {
        form: [[BOS, *encode(text.format(one.prompt))] for one in held_out]
        for form, text in FORMS.items()
    }
    asked["template"] = [
        prompt_ids(learner.tokenizer, one.prompt) for one in held_out
    ]
    for form, prompts in asked.items():
        found = greedy_answers(learner.model, prompts, context.limit(12))
        ends = (decode(ids).partition(" /")[0] for ids in found)
        record[form] = right([line.removesuffix(" .") for line in ends])
    return record


# --- sums by counting --------------------------------------------------------


def sums_without_end(seed: int, way: str) -> Iterator[Sum]:
    """Sums, answered in a way."""
    draws = Draws(seed)
    while True:
        one = count_on(draws, draws.pick(ADDED))
        steps = way == "steps" or (way == "mixed" and draws.chance(0.5))
        yield one if steps else one._replace(steps=one.answer)


def result(text: str) -> str:
    """The answer, whether steps stand before it or not."""
    return text.rpartition("=")[2].strip()


@lru_cache(maxsize=1)
def taught(way: str, seed: int, context: RunContext) -> Learner:
    """The base model, shown sums answered in a way."""
    set_seed(seed)
    learner = Learner(seed, context)
    learner.show_sums(sums_without_end(seed, way), TOKENS["sums"])
    return learner


def added(variant: str, seed: int, context: RunContext) -> Record:
    """Held-out sums, by what is added; and votes."""
    second = variant in ("grpo", "shown", "told")
    learner = taught("mixed" if second else variant, seed, context)
    record: Record = {"accuracy": {}, "length": {}}
    if second:
        learner = copy.deepcopy(learner)
        set_seed(seed)
    if variant == "grpo":
        record |= learner.rewarded()
    elif second:
        way = "steps" if variant == "shown" else "direct"
        learner.show_sums(sums_without_end(300 + seed, way), TOKENS["more"])
    for n in ADDED:
        draws, count = Draws(10_000 + n), context.limit(SCORED)
        sums = [count_on(draws, n, held_out=True) for _ in range(count)]
        texts = learner.greedy([one.prompt for one in sums])
        right = [
            result(t) == o.answer for o, t in zip(sums, texts, strict=True)
        ]
        record["accuracy"][n] = sum(right) / count
        words = sum(len(text.split()) for text in texts)
        record["length"][n] = round(words / count, 2)
        if n == VOTED:
            record |= votes(learner, sums)
    return record


def votes(learner: Learner, sums: list[Sum]) -> Record:
    """Of several drawn answers: one, the most frequent, the first whose steps
    hold, and whether any is right; and what is right with steps or without."""
    ways, thought = Counter(), Counter()
    drawn = learner.drawn([one.prompt for one in sums], DRAWN)
    for one, texts in zip(sums, drawn, strict=True):
        given = [result(text) for text in texts]
        right = [answer == one.answer for answer in given]
        [(most, _)] = Counter(given).most_common(1)
        held = (r for t, r in zip(texts, right, strict=True) if steps_hold(t))
        ways["one"] += sum(right) / DRAWN
        ways["majority"] += most == one.answer
        ways["steps hold"] += next(held, right[0])
        ways["any"] += any(right)
        for text, is_right in zip(texts, right, strict=True):
            name = "steps" if "=" in text else "none"
            thought[name] += 1
            thought[f"{name} right"] += is_right
    shares = {way: ways[way] / len(sums) for way in ways}
    return {"votes": shares, "thought": dict(thought)}


# --- a tool ------------------------------------------------------------------


def by_tool(variant: str, seed: int, context: RunContext) -> Record:
    """Sums of two numbers of three digits, answered or handed to a tool."""
    set_seed(seed)
    learner = Learner(seed, context)

    def row(prompt: str, call: str, answer: str) -> Row:
        if variant == "alone":
            return learner.row(prompt, answer)
        return learner.row(prompt, call) + turned(learner, answer)

    draws = Draws(seed)
    shown = (row(*big_sum(draws)) for _ in repeat(None))
    learner.show(shown, TOKENS["tool"])
    tests, count = Draws(20_000), context.limit(SCORED)
    calls = right = 0
    for prompt, call, answer in (
        big_sum(tests, held_out=True) for _ in range(count)
    ):
        [text] = learner.greedy([prompt])
        calls += text == call
        if (returned := calculate(text)) is not None:
            before, said = learner.row(prompt, text)
            message, _ = turned(learner, returned)
            ids = [*before, *said, *message]
            [found] = greedy_answers(learner.model, [ids], learner.room)
            text = learner.read(found)
        right += text == answer
    return {"calls": calls, "right": right}


def turned(learner: Learner, answer: str) -> Row:
    """The tool's message, and the answer behind it."""
    message = prompt_ids(learner.tokenizer, answer, role="tool")
    return message, [*learner.tokenizer.encode(answer), EOS]


MEASURES = {
    **dict.fromkeys(("base", "answers"), asked),
    **dict.fromkeys(
        ("direct", "steps", "mixed", "grpo", "shown", "told"), added
    ),
    **dict.fromkeys(("alone", "tool"), by_tool),
}


def measure(variant: str, seed: int, context: RunContext) -> Record:
    """Teach the base model, and score it."""
    set_seed(seed)
    return MEASURES[variant](variant, seed, context)


EXPERIMENT = Experiment(
    name="school",
    chapter="23_from_text_to_answers",
    variants={name: name for name in MEASURES},
    measure=measure,
    seeds=tuple(range(8)),
    seeds_of={"base": (0,)},
    settings=lambda: {
        "tokens": TOKENS,
        "rates": RATES,
        "updates": UPDATES,
        "drawn": DRAWN,
        "scored": SCORED,
    },
    smoke_variants=("base", "grpo", "shown", "tool"),
)
