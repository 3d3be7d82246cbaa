"""What does a server gain by batches, and by what texts share?

Chats arrive by chance at SmolLM2, at times of a Poisson process, and wait for
their turn. Time is the processor's: the clock goes on by what each step takes
on one thread, and where nobody waits, it jumps to the next arrival. *one by
one* writes a text at a time; *static* takes up to eight texts when all others
have ended; *continuous* takes each as soon as there is room; *nothing shared*
is the same, and reads the system message anew for each. *floats* multiplies by
unpacked weights, all others by those of four bits.

*answers* says how far the two weights agree about what floats write.
"""

import functools
import random
import time
from typing import NamedTuple

import torch

from experiments.lab import Experiment, Record, RunContext
from experiments.timing import conditions
from transformer_course.checkpoints.smollm2 import load_gguf, smollm2_file
from transformer_course.data.byte_bpe import ByteBPE
from transformer_course.fast.four_bits import keep_packed
from transformer_course.fast.paged import Server, Text
from transformer_course.inference.chat import Message, chat_text
from transformer_course.models.modern import ModernLanguageModel

CHATS, EVERY = 24, 0.25
"""Texts, and the mean time between two arrivals, in seconds."""
LENGTHS = 8, 64
"""Least and most tokens that are asked for."""
ROWS, ANSWER = 8, 40
"""Texts of a batch; tokens of each of *answers*."""
SYSTEM = (
    "You are a helpful assistant in a shop for bicycles. It is open from "
    "nine to six, except on Sundays. A repair takes two days. Answer in one "
    "or two sentences, be polite, and say that you do not know where you do "
    "not know. Never speak about prices."
)
QUESTIONS = (
    "When do you open?",
    "My chain is broken. Can you mend it by tomorrow?",
    "Do you sell helmets for children?",
    "How do I pump up a tyre?",
    "Are you open on Sunday?",
    "Which bicycle is good for long journeys?",
    "What does a new lamp cost?",
    "My brakes make a noise. Why?",
)


class Way(NamedTuple):
    """How the chats are served."""

    rows: int = ROWS
    continuous: bool = True
    shared: bool = True
    packed: bool = True


@functools.cache
def smollm2(packed: bool) -> tuple[ModernLanguageModel, ByteBPE]:
    """The model, in floats or in four bits."""
    torch.set_num_threads(1)
    model, tokenizer = load_gguf(smollm2_file())
    if packed:
        keep_packed(model)
    return model, tokenizer


def prompt(question: str) -> list[int]:
    """A chat behind the shop's system message."""
    chat = [Message("system", SYSTEM), Message("user", question)]
    return smollm2(packed=True)[1].encode(chat_text(chat))


def arrivals(seed: int, count: int) -> list[tuple[float, Text]]:
    """When each text comes, and the text, from first to last."""
    draw, now, found = random.Random(seed), 0.0, []
    for i in range(count):
        now += draw.expovariate(1 / EVERY)
        longest = LENGTHS[0] + int(draw.random() * (LENGTHS[1] - LENGTHS[0]))
        text = Text(prompt(QUESTIONS[i % len(QUESTIONS)]), longest)
        found.append((now, text))
    return found


def served(way: Way, seed: int, count: int) -> Record:
    """Seconds of each text from its arrival to its end, and of all.

    *first* is until a text's first token.
    """
    model, _ = smollm2(way.packed)
    server = Server(model, way.rows, continuous=way.continuous)
    if not way.shared:
        server.blocks.share = lambda ids: []
    due = arrivals(seed, count)
    came = {text: arrived for arrived, text in due}
    first, ends, now = {}, {}, 0.0
    while len(ends) < count:
        if not (server.running or server.waiting):
            now = max(now, due[0][0])
        while due and due[0][0] <= now:
            server.add(due.pop(0)[1])
        start = time.process_time()
        server.step()
        now += time.process_time() - start
        for text, arrived in came.items():
            if len(text.ids) > text.prompt:
                first.setdefault(text, round(now - arrived, 3))
            if text.ended:
                ends.setdefault(text, round(now - arrived, 3))
    return {
        "tokens": sum(len(text.ids) - text.prompt for text in came),
        "seconds": round(now, 3),
        "ended": [ends[text] for text in came],
        "first": [first[text] for text in came],
    }


@torch.inference_mode()
def agreement(questions: int, length: int) -> Record:
    """Floats answer; how alike do both predict each token of the answers?

    *same* is the share of tokens where the likeliest is the same one, and
    *divergence* the mean KL divergence of four bits from floats, in nats.
    """
    same, nats = [], []
    server = Server(smollm2(packed=False)[0])
    for question in QUESTIONS[:questions]:
        server.add(text := Text(prompt(question), length))
        while server.step():
            pass
        answer = slice(text.prompt - 1, len(text.ids) - 1)
        floats, packed = (
            smollm2(packed)[0](torch.tensor([text.ids])).float()[0, answer]
            for packed in (False, True)
        )
        floats, packed = floats.log_softmax(-1), packed.log_softmax(-1)
        same += (floats.argmax(-1) == packed.argmax(-1)).tolist()
        nats += (floats.exp() * (floats - packed)).sum(-1).tolist()
    return {
        "tokens": len(same),
        "same": round(sum(same) / len(same), 4),
        "divergence": round(sum(nats) / len(nats), 5),
    }


def measure(way: Way | None, seed: int, context: RunContext) -> Record:
    """Serve, or compare the two weights."""
    if way is None:
        return agreement(context.limit(len(QUESTIONS)), context.limit(ANSWER))
    smollm2(way.packed)  # loading is not timed
    return conditions() | served(way, seed, context.limit(CHATS, 3))


EXPERIMENT = Experiment(
    name="serving",
    chapter="21_speed",
    variants={
        "server/one by one": Way(rows=1),
        "server/static": Way(continuous=False),
        "server/continuous": Way(),
        "server/nothing shared": Way(shared=False),
        "server/floats": Way(packed=False),
        "answers": None,
    },
    measure=measure,
    seeds=(0, 1, 2, 3, 4),
    seeds_of={"answers": (0,)},
    settings=lambda: {
        "chats": CHATS,
        "every": EVERY,
        "lengths": LENGTHS,
        "rows": ROWS,
        "answer": ANSWER,
    },
    smoke_variants=("server/static", "answers"),
)
