"""What do SFT, LoRA, DPO and GRPO buy on a real model, and break?

SmolLM2-135M-Instruct learns to follow instructions that a program can check.
It follows hardly any of them at first, and where all answers are wrong neither
DPO nor GRPO learns, so these two go on from what LoRA has learned. Scored are
greedy answers to held-out prompts, in other wordings and with other words, and
to plain questions, and the loss on a text. The model's own system message
stands before each prompt. No right answer to an instruction has 24 tokens, so
longer ones are cut there; plain questions have room for 80. ``asked`` puts the
plain questions to the untouched model in other wordings, and behind an empty
system message.
"""

import itertools
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import torch
import torch.nn.functional as F
from torch import nn

from experiments.lab import Experiment, Record, RunContext
from experiments.post_trainings import (
    PostTraining,
    dpo,
    grpo,
    lora,
    sft,
    taught,
)
from transformer_course.checkpoints.smollm2 import load_gguf, smollm2_file
from transformer_course.data.byte_bpe import ByteBPE, byte_signs
from transformer_course.data.instructions import KINDS, instructions
from transformer_course.data.tokenizer import EOS
from transformer_course.fast.chunked_loss import chunked_loss
from transformer_course.inference.chat import Message, chat_text
from transformer_course.models.modern import ModernLanguageModel
from transformer_course.models.modern_config import ModernConfig
from transformer_course.training.config import SequenceLossConfig
from transformer_course.training.loop import set_seed
from transformer_course.training.post_training import (
    Ids,
    greedy_answers,
    merge_lora,
)

SHOWN, DPO_PROMPTS, GRPO_PROMPTS = 240, 64, 240
"""Prompts of the methods: of SFT and LoRA, and of the two others."""
HELD_OUT = 204
"""Prompts that are scored."""
LONGEST, ROOM = 16, 24
"""Most tokens of a drawn answer, and of one to an instruction."""
LONG_ROOM = 80
"""Most tokens of an answer to a plain question."""
RATES = {"sft": 1e-4, "lora": 1e-3, "dpo": 2e-4, "grpo": 3e-4}
"""Highest learning rates."""
FACTS = {
    "What is the capital of France?": "paris",
    "What is the capital of Japan?": "tokyo",
    "What is the capital of Italy?": "rome",
    "What is the capital of Egypt?": "cairo",
    "What is the capital of Austria?": "vienna",
    "What is the capital of Norway?": "oslo",
    "What is the capital of Poland?": "warsaw",
    "What is the capital of Cuba?": "havana",
    "What do bees make?": "honey",
    "What colour is grass?": "green",
    "What is frozen water called?": "ice",
    "How many days does a week have?": "seven|7",
    "Which planet do we live on?": "earth",
    "What is the opposite of hot?": "cold",
    "How many legs does a spider have?": "eight|8",
    "Who wrote Romeo and Juliet?": "shakespeare",
    "What is the largest ocean?": "pacific",
    "Which animal barks?": "dog",
    "What do we call a baby cat?": "kitten",
    "Which star is closest to the earth?": "sun",
    "How many hours does a day have?": "24|twenty",
    "What do you use to cut paper?": "scissors",
    "What is the first month of the year?": "january",
    "Which language do people speak in Brazil?": "portuguese",
}
"""Plain questions, and what a right answer contains."""
TEXT = """The ferry left the harbour at half past six, when the sun stood just
above the hills. There were few passengers that morning: two women with baskets
of fish, a schoolboy who was late, and an old man in a grey coat who read the
newspaper of the day before. The sea was calm. From the deck one could see the
lighthouse on the island, which had been built in the last century and had not
been in use for thirty years. The captain, who had made this journey more than
ten thousand times, knew every rock and every current between the two shores,
and he liked to say that he could steer the boat with his eyes closed. Nobody
had ever asked him to prove it.

When they were about halfway, the engine began to make a noise that the old man
had never heard before. He folded his newspaper, put it into his pocket, and
went down to have a look. He had been a mechanic once, in a factory that made
tractors, and he still could not hear a machine in trouble without wanting to
help. In the engine room he found a young woman with a wrench in her hand. She
smiled at him, and together they looked for the fault, which turned out to be a
loose screw no longer than a finger."""
"""An ordinary English text, written for this purpose."""


def load(context: RunContext) -> tuple[nn.Module, ByteBPE]:
    """SmolLM2; in a smoke test a tiny model that spells in bytes."""
    if not context.smoke:
        return load_gguf(smollm2_file())
    special = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
    tokenizer = ByteBPE([*special, *byte_signs()], (), special)
    sizes = {"d_model": 16, "n_heads": 2, "d_ff": 32, "n_layers": 1}
    config = ModernConfig(vocab_size=tokenizer.vocab_size, **sizes)
    return ModernLanguageModel(config).eval(), tokenizer


@dataclass(frozen=True)
class Asked:
    """A way to ask the untouched model."""

    wording: str = "{}"
    """What is said, with a place for the question."""
    own: bool = True
    """Whether its own system message stands before that, or an empty one."""


ASKED = {
    "empty": Asked(own=False),
    "please": Asked("Please answer this question: {}"),
    "want": Asked("I want to know: {}"),
}


def prompt_ids(tokenizer: ByteBPE, said: str, own: bool = True) -> Ids:
    """A message as the model reads it, behind its own system message or an
    empty one."""
    before = [] if own else [Message("system", "")]
    return tokenizer.encode(chat_text([*before, Message("user", said)]))


def lora_dpo(run: PostTraining) -> None:
    """DPO, from what LoRA has learned."""
    first_lora(run)
    dpo(run)


def lora_grpo(run: PostTraining) -> None:
    """GRPO, from what LoRA has learned."""
    first_lora(run)
    grpo(run)


def first_lora(run: PostTraining) -> None:
    """Teach by LoRA, and merge it."""
    lora(run)
    merge_lora(run.model)
    run.curve.clear()


def measure(
    method: Callable[[PostTraining], None] | Asked | None,
    seed: int,
    context: RunContext,
) -> Record:
    """Teach the model, and score it; or only ask it."""
    set_seed(seed)
    model, tokenizer = load(context)
    if isinstance(method, Asked):
        return questions(model, tokenizer, context, method)
    drawn_to = GRPO_PROMPTS if method is lora_grpo else DPO_PROMPTS
    counts = [context.limit(n, 8) for n in (SHOWN, drawn_to)]
    given = instructions(seed, sum(counts))
    shown, asked = given[: counts[0]], given[counts[0] :]

    def is_right(number: int, answer: Ids) -> bool:
        if context.smoke:  # so that a group has both
            return len(answer) % 2 == 0
        complete = answer[-1:] == [EOS]
        return complete and asked[number].is_right(tokenizer.decode(answer))

    run = PostTraining(
        model,
        seed,
        [
            (
                prompt_ids(tokenizer, one.prompt),
                [*tokenizer.encode(one.answer), EOS],
            )
            for one in shown
        ],
        [prompt_ids(tokenizer, one.prompt) for one in asked],
        is_right,
        RATES,
        rows=8,
        groups=2,
        longest=LONGEST,
        loss_fn=partial(
            chunked_loss, config=SequenceLossConfig(label_smoothing=0.0)
        ),
    )
    return {**taught(method, run), **scores(model, tokenizer, context)}


def scores(
    model: nn.Module, tokenizer: ByteBPE, context: RunContext
) -> Record:
    """What a model answers right, and its loss on a text."""

    asked = instructions(1_000, context.limit(HELD_OUT, 6), held_out=True)
    prompts = [prompt_ids(tokenizer, one.prompt) for one in asked]
    written = greedy_answers(model, prompts, ROOM)
    texts = [tokenizer.decode(ids) for ids in written]
    right = dict.fromkeys(KINDS, 0)
    for one, ids, text in zip(asked, written, texts, strict=True):
        right[one.kind] += ids[-1:] == [EOS] and one.is_right(text)
    ids = torch.tensor([tokenizer.encode(TEXT.replace("\n", " "))])
    with torch.no_grad():
        logits = model(ids[:, :-1])[0]
    return {
        "held_out": {
            "prompts": len(asked),
            "right": right,
            "samples": [
                (one.prompt, text)  # one of each kind
                for one, text in zip(asked, texts, strict=True)
            ][: len(KINDS)],
        },
        "facts": questions(model, tokenizer, context, Asked()),
        "text_nll": F.cross_entropy(logits, ids[0, 1:]).item(),
    }


def questions(
    model: nn.Module, tokenizer: ByteBPE, context: RunContext, asked: Asked
) -> Record:
    """How many plain questions are answered right, how long the answers are,
    and how many are cut."""
    facts = dict(itertools.islice(FACTS.items(), context.limit(len(FACTS))))
    said = [asked.wording.format(question) for question in facts]
    prompts = [prompt_ids(tokenizer, one, asked.own) for one in said]
    written = greedy_answers(model, prompts, LONG_ROOM)
    texts = [tokenizer.decode(ids) for ids in written]
    known = [
        any(word in text.lower() for word in wanted.split("|"))
        for text, wanted in zip(texts, facts.values(), strict=True)
    ]
    return {
        "prompts": len(facts),
        "right": sum(known),
        "words": sum(len(text.split()) for text in texts) / len(texts),
        "cut": sum(ids[-1:] != [EOS] for ids in written),
        "asked": asked.wording,
        "samples": list(zip(said, texts, strict=True))[::8],
    }


EXPERIMENT = Experiment(
    name="answers",
    chapter="23_from_text_to_answers",
    variants={
        "untouched": None,
        "sft": sft,
        "lora": lora,
        "dpo": lora_dpo,
        "grpo": lora_grpo,
        **{f"asked/{name}": asked for name, asked in ASKED.items()},
    },
    measure=measure,
    settings=lambda: {
        "rates": RATES,
        "shown": SHOWN,
        "drawn to": {"dpo": DPO_PROMPTS, "grpo": GRPO_PROMPTS},
        "temperature": 1.0,
    },
    seeds_of={"untouched": (0,), "asked": (0,)},
    smoke_variants=("untouched", "dpo", "grpo", "asked/please"),
)
