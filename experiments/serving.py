"""What does a server gain by batches, and by what texts share?

Chats arrive by chance at SmolLM2, at times of a Poisson process, and wait for
their turn. Time is the processor's: the clock goes on by what each step takes
on one thread, and where nobody waits, it jumps to the next arrival. *one by
one* writes a text at a time; *static* takes up to eight texts when all others
have ended; *continuous* takes each as soon as there is room; *nothing shared*
is the same, and reads the system message anew for each. *floats* multiplies by
unpacked weights, all others by those of four bits. All write the same tokens,
but for *floats*.

*decode* is one text alone, as ``chat`` writes it, in floats and in four bits.
"""

import functools
import random
import time
from typing import NamedTuple

import torch

from experiments.lab import Experiment, Record, RunContext
from experiments.timing import undisturbed
from transformer_course.checkpoints.smollm2 import load_gguf, smollm2_file
from transformer_course.data.byte_bpe import ByteBPE
from transformer_course.decoding.generate import greedy_search
from transformer_course.fast.four_bits import keep_packed
from transformer_course.fast.paged import Blocks, Server, Text
from transformer_course.inference.chat import Message, chat_text
from transformer_course.models.modern import ModernLanguageModel

CHATS, EVERY = 24, 0.5
"""Texts, and the mean time between two arrivals, in seconds."""
LENGTHS = 8, 64
"""Least and most tokens that are asked for."""
ROWS, ALONE = 8, 60
"""Texts of a batch; tokens of *decode*."""
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


class Alone(NamedTuple):
    """One text, by greedy search."""

    packed: bool


@functools.cache
def smollm2(packed: bool) -> tuple[ModernLanguageModel, ByteBPE]:
    """The model, in floats or in four bits."""
    torch.set_num_threads(1)
    model, tokenizer = load_gguf(smollm2_file())
    if packed:
        keep_packed(model, smollm2_file())
    return model, tokenizer


class Unshared(Blocks):
    """Each text is read whole."""

    def share(self, ids: list[int]) -> list[int]:
        return []


def served(way: Way, seed: int, count: int) -> Record:
    """How long each text took from its arrival to its end, and all together.

    Seconds; *first* until a text's first token.
    """
    model, tokenizer = smollm2(way.packed)
    server = Server(model, way.rows, continuous=way.continuous)
    if not way.shared:
        blocks = server.blocks
        server.blocks = Unshared(
            model.config, len(blocks.users), blocks.size, blocks.key.device
        )
    draw, now, due = random.Random(seed), 0.0, []
    for i in range(count):
        now += draw.expovariate(1 / EVERY)
        said = QUESTIONS[i % len(QUESTIONS)]
        chat = [Message("system", SYSTEM), Message("user", said)]
        ids = tokenizer.encode(chat_text(chat))
        longest = LENGTHS[0] + int(draw.random() * (LENGTHS[1] - LENGTHS[0]))
        due.append((now, Text(ids, longest)))
    arrivals = {text: arrived for arrived, text in due}
    first: dict[Text, float] = {}
    ends: dict[Text, float] = {}
    now = 0.0
    while len(ends) < count:
        if not (server.running or server.waiting):
            now = max(now, due[0][0])
        while due and due[0][0] <= now:
            server.add(due.pop(0)[1])
        start = time.process_time()
        server.step()
        now += time.process_time() - start
        for text in arrivals:
            if len(text.ids) > text.prompt:
                first.setdefault(text, now)
            if text.ended:
                ends.setdefault(text, now)
    texts = list(arrivals)
    return {
        "tokens": sum(len(text.ids) - text.prompt for text in texts),
        "seconds": now,
        "waited": [round(ends[t] - arrivals[t], 3) for t in texts],
        "first": [round(first[t] - arrivals[t], 3) for t in texts],
        "checksum": sum(
            (i + 1) * token
            for text in texts
            for i, token in enumerate(text.written)
        ),
    }


def alone(packed: bool, length: int) -> Record:
    """Seconds of a prompt and of what is written after it."""
    model, tokenizer = smollm2(packed)
    ids = tokenizer.encode(chat_text([Message("user", "Tell me a story.")]))
    times = []

    def note(_):
        times.append(time.process_time())

    greedy_search(
        model,
        prefix=torch.tensor([ids[1:]]),
        max_length=len(ids) - 1 + length,
        on_token=note,
    )
    return {"tokens": len(times) - 1, "seconds": times[-1] - times[0]}


def measure(asked: Way | Alone, seed: int, context: RunContext) -> Record:
    """Serve, or write alone, on a quiet machine."""
    smollm2(asked.packed)
    about = undisturbed(context.smoke)
    if isinstance(asked, Alone):
        return about | alone(asked.packed, context.limit(ALONE, 4))
    return about | served(asked, seed, context.limit(CHATS, 3))


EXPERIMENT = Experiment(
    name="serving",
    chapter="21_speed",
    variants={
        "decode/floats": Alone(packed=False),
        "decode/four bits": Alone(packed=True),
        "server/one by one": Way(rows=1),
        "server/static": Way(continuous=False),
        "server/continuous": Way(),
        "server/nothing shared": Way(shared=False),
        "server/floats": Way(packed=False),
    },
    measure=measure,
    seeds=(0, 1, 2, 3, 4),
    settings=lambda: {
        "chats": CHATS,
        "every": EVERY,
        "lengths": LENGTHS,
        "rows": ROWS,
    },
    smoke_variants=("decode/four bits", "server/static"),
)
