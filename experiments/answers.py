"""What do SFT, LoRA, DPO and GRPO buy on a real model, and break?

SmolLM2-135M-Instruct learns to follow instructions that a program can check.
It follows hardly any of them at first, and where all answers are wrong neither
DPO nor GRPO learns, so these two go on from what LoRA has learned. Scored are
greedy answers to held-out prompts, in other wordings and with other words, and
to plain questions, and the loss on a text. The untouched model is also scored
behind its own system message, and with the questions in three wordings.
"""

import itertools
from collections.abc import Callable
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
from transformer_course.data.instructions import (
    KINDS,
    instructions,
)
from transformer_course.data.tokenizer import EOS
from transformer_course.decoding.generate import greedy_search
from transformer_course.decoding.search import without_special
from transformer_course.fast.chunked_loss import chunked_loss
from transformer_course.inference.chat import Message, chat_text
from transformer_course.models.modern import ModernLanguageModel
from transformer_course.models.modern_config import ModernConfig
from transformer_course.training.config import SequenceLossConfig
from transformer_course.training.loop import set_seed
from transformer_course.training.post_training import Ids, merge_lora

SHOWN, DPO_PROMPTS, GRPO_PROMPTS = 240, 64, 240
"""Prompts of the methods: of SFT and LoRA, and of the two others."""
HELD_OUT = 204
"""Prompts that are scored."""
LONGEST, ROOM = 16, 80
"""Most tokens of a drawn answer, and of one that is scored."""
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
WORDINGS = ("{}", "Please answer this question: {}", "I want to know: {}")
"""Ways to ask them."""
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


def prompt_ids(tokenizer: ByteBPE, said: str, own: bool = False) -> Ids:
    """A message as the model reads it: behind an empty system message, or
    behind the one that SmolLM2 knows from its own training."""
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
    method: Callable[[PostTraining], None] | None,
    seed: int,
    context: RunContext,
) -> Record:
    """Teach the model, and score it."""
    set_seed(seed)
    model, tokenizer = load(context)
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
    found = {**taught(method, run), **scores(model, tokenizer, context)}
    if method is None:
        used = model, tokenizer, context, True
        found["own"] = {
            "held_out": held_out_scores(*used),
            "facts": [facts_scores(*used, wording) for wording in WORDINGS],
        }
    return found


def scores(
    model: nn.Module, tokenizer: ByteBPE, context: RunContext
) -> Record:
    """What a model answers right, and its loss on a text."""
    ids = torch.tensor([tokenizer.encode(TEXT.replace("\n", " "))])
    with torch.no_grad():
        logits = model(ids[:, :-1])[0]
    used = model, tokenizer, context
    return {
        "room": ROOM,
        "held_out": held_out_scores(*used),
        "facts": facts_scores(*used),
        "text_nll": F.cross_entropy(logits, ids[0, 1:]).item(),
    }


def held_out_scores(model, tokenizer, context, own: bool = False) -> Record:
    """How many held-out instructions are followed, of each kind.

    ``cut`` counts answers without an end after ROOM tokens: they are wrong.
    """
    asked = instructions(1_000, context.limit(HELD_OUT, 6), held_out=True)
    said = [one.prompt for one in asked]
    given = answers(model, tokenizer, said, own)
    right = dict.fromkeys(KINDS, 0)
    for one, (text, ended) in zip(asked, given, strict=True):
        right[one.kind] += ended and one.is_right(text)
    texts = [text for text, _ in given]
    return {
        "prompts": len(asked),
        "right": right,
        "cut": sum(not ended for _, ended in given),
        # one of each kind
        "samples": list(zip(said, texts, strict=True))[: len(KINDS)],
    }


def facts_scores(
    model, tokenizer, context, own: bool = False, wording: str = "{}"
) -> Record:
    """How many plain questions are answered right."""
    facts = dict(itertools.islice(FACTS.items(), context.limit(len(FACTS))))
    said = [wording.format(question) for question in facts]
    given = answers(model, tokenizer, said, own)
    texts = [text for text, _ in given]
    known = [
        any(word in text.lower() for word in wanted.split("|"))
        for text, wanted in zip(texts, facts.values(), strict=True)
    ]
    return {
        "prompts": len(facts),
        "right": sum(known),
        "cut": sum(not ended for _, ended in given),
        "words": sum(len(text.split()) for text in texts) / len(texts),
        "samples": list(zip(said, texts, strict=True))[::8],
    }


def answers(model, tokenizer, said: list[str], own: bool):
    """The answer to each message, and whether it ended within ROOM tokens."""
    prompts = [prompt_ids(tokenizer, one, own) for one in said]
    written = greedy_answers(model, prompts)
    return [(tokenizer.decode(ids), len(ids) < ROOM) for ids in written]


def greedy_answers(model: nn.Module, prompts: list[Ids]) -> list[Ids]:
    """Greedy answers; prompts of one length are read together.

    :func:`~.generate.greedy_search` returns a text without its special
    tokens, so those of the prompt are not counted.
    """
    written: dict[int, Ids] = {}
    by_length = sorted(range(len(prompts)), key=lambda i: len(prompts[i]))
    for length, group in itertools.groupby(
        by_length, key=lambda i: len(prompts[i])
    ):
        numbers = list(group)
        rows = torch.tensor([prompts[i] for i in numbers])
        found = greedy_search(
            model, prefix=rows[:, 1:], max_length=length - 1 + ROOM
        )
        for i, ids in zip(numbers, found, strict=True):
            written[i] = ids[len(without_special(prompts[i])) :]
    return [written[i] for i in range(len(prompts))]


EXPERIMENT = Experiment(
    name="answers",
    chapter="23_from_text_to_answers",
    variants={
        "untouched": None,
        "sft": sft,
        "lora": lora,
        "dpo": lora_dpo,
        "grpo": lora_grpo,
    },
    measure=measure,
    settings=lambda: {
        "rates": RATES,
        "shown": SHOWN,
        "drawn to": {"dpo": DPO_PROMPTS, "grpo": GRPO_PROMPTS},
        "temperature": 1.0,
        "wordings": WORDINGS,
    },
    seeds_of={"untouched": (0,)},
    smoke_variants=("untouched", "dpo", "grpo"),
)
