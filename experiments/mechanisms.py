"""Do five trainings of one translator find the pronoun in the same way?

In the built-in grammar *they* is 彼女 たち after women and 彼ら after men.
Five trainings of a translator half as wide as the shipped one, which differ in
their seed alone, are taken apart as chapter 20 takes that one apart. By seed:

- ``dev``: how well it translates;
- ``right``: of how many sentences it names the right pronoun;
- ``english``: the share of the logit difference that English about women
  brings, beside Japanese about men;
- ``heads``: of each, how much it looks at the noun (the encoder's from *they*,
  the others from the comma), and the shares of the difference that it restores
  (denoising) and that it destroys (noising) when it is patched;
- ``memory``: the same two shares when the encoder's output is patched at one
  position alone, by English position.
"""

import torch
from torch import Tensor

from experiments.lab import Experiment, Record, RunContext
from experiments.translators import Training, follow, inspect_dev
from transformer_course.batches.pairs import pad_rows
from transformer_course.data.tokenizer import BOS, Tokenizer
from transformer_course.decoding.translate import encode_source
from transformer_course.interpretation.hooks import (
    attention_maps,
    head_outputs,
    heads_of,
    patch_heads,
)
from transformer_course.interpretation.patching import patch_memory

STEPS = 300
WOMEN = {"women": "女性", "girls": "少女"}
MEN = {"men": "男性", "boys": "少年"}
DEEDS = """bought eat apple 買っ りんご
bought eat cake 買っ ケーキ
bought eat egg 買っ 卵
made eat cake 作っ ケーキ
bought read book 買っ 本
bought read novel 買っ 小説
wrote read letter 書い 手紙
wrote read novel 書い 小説
bought use camera 買っ カメラ
bought use umbrella 買っ 傘
bought wear shirt 買っ シャツ
washed wear shirt 洗っ シャツ"""
NOUN, THEY = 1, 7
"""Their positions in the English."""
Inputs = tuple[Tensor, Tensor]


def contrast(tokenizer: Tokenizer) -> tuple[Inputs, Inputs]:
    """Sentences about women and the same about men, up to the comma.

    All have the same number of tokens in each language.
    """
    both = []
    for nouns in (WOMEN, MEN):
        src, tgt = [], []
        for line in DEEDS.splitlines():
            did, do, thing, wrote, what = line.split()
            for noun, topic in nouns.items():
                english = (
                    f"the {noun} {did} the {thing} , "
                    f"but they did not {do} it ."
                )
                japanese = f"{topic} たち は {what} を {wrote} た が 、"
                src.append(encode_source(tokenizer, english))
                tgt.append([BOS, *tokenizer.encode(japanese)])
        both.append((pad_rows(src), pad_rows(tgt)))
    return tuple(both)


def measure(training: Training, seed: int, context: RunContext) -> Record:
    """Train, and take the translator apart."""
    end = follow(training, seed, context, steps=STEPS).end
    found = take_apart(end.prepared.model.eval(), end.prepared.tokenizer)
    return {"dev": inspect_dev(end), **found}


@torch.no_grad()
def take_apart(model, tokenizer: Tokenizer) -> Record:
    """What brings the pronoun, by patching."""
    women, men = contrast(tokenizer)
    hers, theirs = (tokenizer.encode(word)[0] for word in ("彼女", "彼ら"))

    def difference(logits: Tensor) -> float:
        return float((logits[:, -1, hers] - logits[:, -1, theirs]).mean())

    high, low = (difference(model(*inputs)) for inputs in (women, men))

    def restored(logits: Tensor) -> float:
        return (difference(logits) - low) / (high - low)

    def destroyed(logits: Tensor) -> float:
        return 1 - restored(logits)

    maps = attention_maps(model, *women)
    of_women, of_men = (head_outputs(model, *x) for x in (women, men))
    heads = {}
    for head in heads_of(model):
        asks = THEY if head.part.startswith("encoder") else -1
        look = float(maps[head.part][:, head.number, asks, NOUN].mean())
        with patch_heads(model, {head: of_women[head]}):
            brings = restored(model(*men))
        with patch_heads(model, {head: of_men[head]}):
            takes = destroyed(model(*women))
        heads[str(head)] = [round(x, 3) for x in (look, brings, takes)]
    best = [model(*inputs)[:, -1].argmax(dim=-1) for inputs in (women, men)]
    right = (best[0] == hers).sum() + (best[1] == theirs).sum()
    memory = (
        patch_memory(model, men, women, restored),
        patch_memory(model, women, men, destroyed),
    )
    return {
        "right": int(right),
        "of": 2 * len(women[0]),
        "english": round(restored(model(women[0], men[1])), 3),
        "heads": heads,
        "memory": [[round(float(x), 3) for x in row] for row in memory],
    }


EXPERIMENT = Experiment(
    name="mechanisms",
    chapter="20_reading_attention",
    variants={"half": Training("half as wide as the shipped one")},
    measure=measure,
    seeds=(0, 1, 2, 3, 4),
)
