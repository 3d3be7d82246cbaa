"""How much faster does a text come with guesses that are checked?

Greedy search, one text at a time, on one thread, in seconds of the processor.
*en-ja*: the shipped translator writes test sentences, and ``en-ja-draft``
guesses one to eight tokens before each of its calls. *repeat* and *open*:
SmolLM2 answers prompts, and guesses are looked up in the text so far
(prompt lookup). An answer to the first kind repeats much of its prompt, to
the second little. All ways write the same tokens.
"""

import time
from collections.abc import Callable, Iterable
from typing import NamedTuple

import torch

from experiments.lab import Experiment, Record, RunContext
from experiments.timing import measured_alone
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

SENTENCES, ANSWER = 100, 32
"""Sentences to translate, and most tokens of an answer."""
COUNTS = (1, 2, 3, 4, 6, 8)
LOOKED_UP = 6
"""Guesses of prompt lookup."""
TASKS = (
    "Repeat this text word for word:",
    "Copy this text, each sentence on a line of its own:",
    "Write this text again, and correct its spelling:",
)
IN_A_PROMPT = 4
"""Sentences of the corpus in a prompt that asks to repeat them."""
QUESTIONS = (
    "Why is the sky blue?",
    "What is a healthy breakfast?",
    "How do I learn to swim?",
    "Tell me a story about a fox.",
    "What does a doctor do all day?",
    "How does a bicycle stay upright?",
    "Name three things to do on a rainy day.",
    "What makes bread rise?",
    "Why do leaves fall in autumn?",
    "How should I prepare for an exam?",
)


class Question(NamedTuple):
    """Who writes, and how many tokens are guessed; 0 is greedy search."""

    task: str
    count: int


def translations(count: int, number: int) -> Iterable[Callable]:
    """What translates each sentence."""
    large, small = load_shipped("en-ja"), load_shipped("en-ja-draft")
    model, draft = optimize(large.model), optimize(small.model)
    texts = load_corpus("small_parallel_enja").test.src[:number]
    for text in texts:
        src = torch.tensor([encode_source(large.tokenizer, text)])
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
    """Ten of each kind."""
    if task == "open":
        return list(QUESTIONS)
    lines = load_corpus("small_parallel_enja").test.src
    return [
        f"{TASKS[i % len(TASKS)]} "
        + " ".join(lines[IN_A_PROMPT * i : IN_A_PROMPT * (i + 1)])
        for i in range(len(QUESTIONS))
    ]


def answers(task: str, count: int, number: int) -> Iterable[Callable]:
    """What answers each prompt."""
    model, tokenizer = load_gguf(smollm2_file())
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


def measured(asked: Question, number: int) -> Record:
    """Seconds, calls of the large model, and the fate of the guesses."""
    torch.set_num_threads(1)
    if asked.task == "en-ja":
        works = translations(asked.count, number)
    else:
        works = answers(asked.task, asked.count, number)
    found, taken = [], 0.0
    for i, work in enumerate(works):
        if not i:
            work()  # what is prepared at first use
        start = time.process_time()
        found.append(work())
        taken += time.process_time() - start
    ids = [one.ids for one in found]
    return {
        "seconds": float(f"{taken:.4g}"),
        "tokens": sum(map(len, ids)),
        "calls": sum(one.calls for one in found),
        "drafted": sum(one.drafted for one in found),
        "accepted": sum(one.accepted for one in found),
        "checksum": sum(
            (i + 1) * token for x in ids for i, token in enumerate(x)
        ),
    }


def measure(asked: Question, seed: int, context: RunContext) -> Record:
    """One way, once, in a process of its own."""
    number = len(QUESTIONS) if asked.task != "en-ja" else SENTENCES
    return measured_alone(measured, asked, context.limit(number))


VARIANTS = {
    f"{task}/{count} guesses": Question(task, count)
    for task, counts in (
        ("en-ja", (0, *COUNTS)),
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
    seeds=(0,),
    settings=lambda: {
        "sentences": SENTENCES,
        "prompts": len(QUESTIONS),
        "answer": ANSWER,
    },
    smoke_variants=("en-ja/2 guesses",),
)
