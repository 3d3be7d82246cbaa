"""How much faster does a text come with guesses that are checked?

Greedy search, one text at a time, on one thread, in seconds of the processor;
in each round all ways take turns. *everyday* and *long*: the shipped
translator ``en-ja`` writes short sentences of its corpus, or longer ones than
it has seen, and ``en-ja-draft`` guesses one to eight tokens before each of its
calls. *repeat* and *open*: SmolLM2 answers prompts, and guesses are looked up
in the text so far (prompt lookup). An answer to the first kind repeats much
of its prompt, to the second little. All ways write the same tokens.
"""

import functools
import time
from collections.abc import Callable, Iterable
from typing import NamedTuple

import torch

from experiments.lab import Experiment, Record, RunContext
from experiments.timing import undisturbed
from transformer_course.checkpoints.shipped import load_shipped
from transformer_course.checkpoints.smollm2 import load_gguf, smollm2_file
from transformer_course.data.corpora import load_corpus
from transformer_course.decoding.generate import greedy_search
from transformer_course.decoding.search import without_special
from transformer_course.decoding.translate import encode_source
from transformer_course.fast.optimize import optimize
from transformer_course.fast.speculative import (
    DraftModel,
    Speculation,
    prompt_lookup,
    speculative_search,
)
from transformer_course.inference.chat import Message, chat_text

EVERYDAY, WORDS, ANSWER = 16, 6, 20
"""Sentences of the corpus to translate, the most words that they have, and
most tokens of an answer."""
LONG = (
    "when my grandmother was young she walked to school every morning , even "
    "when the snow was so deep that nobody else went out .",
    "the doctor told him that he should drink less coffee , sleep longer at "
    "night and take a walk before he starts to work .",
    "if you had told me yesterday that the shop closes at noon , i would have "
    "bought the bread and the milk on my way home .",
    "although the train was late and it was raining , the children laughed "
    "and sang all the way to the house of their uncle .",
    "she put the letter that her brother had written from america into a "
    "small box and never showed it to any of her friends .",
    "the teacher who came to our school last spring speaks three languages "
    "and plays the piano better than anyone i know .",
    "we wanted to climb the mountain before breakfast , but the old man at "
    "the hotel said that there was too much ice on the path .",
    "my father says that people read fewer books than before because they "
    "look at their telephones as soon as they have a free minute .",
)
"""Longer than any sentence that en-ja has learned from."""
COUNTS = (1, 2, 3, 4, 6, 8)
PROMPTS, LOOKED_UP = 2, 6
"""Prompts of a kind, and guesses of prompt lookup."""
TASKS = (
    "Repeat this text word for word:",
    "Write this text again, and correct its spelling:",
)
IN_A_PROMPT = 4
"""Sentences of the corpus in a prompt that asks to repeat them."""
QUESTIONS = (
    "Why is the sky blue?",
    "What is a healthy breakfast?",
)


class Question(NamedTuple):
    """Who writes, and how many tokens are guessed; 0 is greedy search."""

    task: str
    count: int


@functools.cache
def translators():
    """The large one, the small one, and their tokenizer."""
    large, small = load_shipped("en-ja"), load_shipped("en-ja-draft")
    return optimize(large.model), optimize(small.model), large.tokenizer


smollm2 = functools.cache(lambda: load_gguf(smollm2_file()))
"""SmolLM2 and its tokenizer."""


def sentences(task: str) -> list[str]:
    """What is translated."""
    if task == "long":
        return list(LONG)
    lines = load_corpus("small_parallel_enja").test.src
    return [line for line in lines if len(line.split()) <= WORDS][:EVERYDAY]


def translations(task: str, count: int, number: int) -> Iterable[Callable]:
    """What translates each sentence."""
    model, draft, tokenizer = translators()
    for text in sentences(task)[:number]:
        src = torch.tensor([encode_source(tokenizer, text)])
        if count:
            yield lambda src=src: speculative_search(
                model, DraftModel(draft, src), src, count=count
            )
        else:
            yield lambda src=src: greedily(model, src)


def greedily(*given, **settings) -> Speculation:
    """Greedy search, which calls the model for each token."""
    [ids] = greedy_search(*given, **settings)
    return Speculation(ids, 0, 0, 0)


def prompts(task: str) -> list[str]:
    """Those of a kind."""
    if task == "open":
        return list(QUESTIONS)
    lines = load_corpus("small_parallel_enja").test.src
    return [
        f"{TASKS[i % len(TASKS)]} "
        + " ".join(lines[IN_A_PROMPT * i : IN_A_PROMPT * (i + 1)])
        for i in range(PROMPTS)
    ]


def answers(task: str, count: int, number: int) -> Iterable[Callable]:
    """What answers each prompt."""
    model, tokenizer = smollm2()
    for prompt in prompts(task)[:number]:
        ids = tokenizer.encode(chat_text([Message("user", prompt)]))
        settings = {
            "prefix": torch.tensor([ids[1:]]),
            "max_length": len(ids) + ANSWER - 1,
        }
        if count:
            yield lambda settings=settings: answered(
                speculative_search(
                    model, prompt_lookup, count=count, **settings
                ),
                settings,
            )
        else:
            yield lambda settings=settings: answered(
                greedily(model, **settings), settings
            )


def answered(found: Speculation, settings: Record) -> Speculation:
    """The same without the tokens of the prompt."""
    given = len(without_special(settings["prefix"][0].tolist()))
    return found._replace(ids=found.ids[given:])


@functools.cache
def prepared(asked: Question, context: RunContext) -> list[Callable]:
    """What writes each text; the first has been written once."""
    torch.set_num_threads(1)
    number = context.limit(EVERYDAY)
    kind = answers if asked.task in ("repeat", "open") else translations
    works = list(kind(asked.task, asked.count, number))
    works[0]()
    return works


def measure(asked: Question, seed: int, context: RunContext) -> Record:
    """Seconds, calls of the large model, and the fate of the guesses."""
    works = prepared(asked, context)
    about = undisturbed(context.smoke)
    start = time.process_time()
    found = [work() for work in works]
    taken = time.process_time() - start
    ids = [one.ids for one in found]
    return {
        **about,
        "seconds": float(f"{taken:.4g}"),
        "tokens": sum(map(len, ids)),
        "calls": sum(one.calls for one in found),
        "drafted": sum(one.drafted for one in found),
        "accepted": sum(one.accepted for one in found),
        "checksum": sum(
            (i + 1) * token for x in ids for i, token in enumerate(x)
        ),
    }


VARIANTS = {
    f"{task}/{count} guesses": Question(task, count)
    for task, counts in (
        ("everyday", (0, *COUNTS)),
        ("long", (0, *COUNTS)),
        ("repeat", (0, LOOKED_UP)),
        ("open", (0, LOOKED_UP)),
    )
    for count in counts
}

EXPERIMENT = Experiment(
    name="drafts",
    chapter="21_speed",
    variants=VARIANTS,
    measure=measure,
    seeds=(0, 1, 2, 3, 4),
    settings=lambda: {
        "everyday": EVERYDAY,
        "words": WORDS,
        "long": LONG,
        "prompts": PROMPTS,
        "answer": ANSWER,
    },
    smoke_variants=("long/2 guesses", "open/6 guesses"),
)
