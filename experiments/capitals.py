"""Which layer, and which head, brings a country's capital to the last word?

Chapter 20 patches five sentences of one form in SmolLM2. Here are up to 24
countries in three wordings; of each wording those count whose capital the
model names. A country's sentence gets a part of what the next one's computed:
the stream at the country or at the last word after each layer, or the output
of a head. Stored are the shares of the difference between the two capitals
that come with it.
"""

from collections.abc import Callable
from statistics import fmean

import torch
from torch import Tensor, nn

from experiments.lab import Experiment, Record, RunContext
from transformer_course.checkpoints.smollm2 import load_gguf, smollm2_file
from transformer_course.interpretation.hooks import (
    Head,
    head_outputs,
    heads_of,
    patch_heads,
    record,
)
from transformer_course.models.modern import ModernLanguageModel
from transformer_course.models.modern_config import ModernConfig

CAPITALS = dict(
    line.split()
    for line in """Austria Vienna
Belgium Brussels
China Beijing
Cuba Havana
Denmark Copenhagen
Egypt Cairo
Finland Helsinki
France Paris
Germany Berlin
Greece Athens
Hungary Budapest
Iran Tehran
Iraq Baghdad
Ireland Dublin
Italy Rome
Japan Tokyo
Kenya Nairobi
Norway Oslo
Peru Lima
Poland Warsaw
Portugal Lisbon
Russia Moscow
Spain Madrid
Syria Damascus""".splitlines()
)
"""Countries and towns whose names are one token each."""
FOUND = 23 * 9 + 4
"""The number of the head that chapter 20 found with five countries, 24.5."""
WORDINGS = {
    "of": "The capital of {} is",
    "in": "In {}, the capital is",
    "visit": "People who visit {} often see its capital,",
}


def measure(wording: str, seed: int, context: RunContext) -> Record:
    """Patch the sentences of one wording, each from the next."""
    model, countries, ids, towns = sentences(wording, context)
    at = int((ids[0] != ids[1]).nonzero())  # where the country stands
    row, then = torch.arange(len(ids)), towns.roll(-1)

    def toward_next(logits: Tensor) -> Tensor:
        return logits[row, then] - logits[row, towns]

    own = model(ids)[:, -1]
    low, high = toward_next(own), toward_next(own.roll(-1, dims=0))

    def share(logits: Tensor) -> list[float]:
        shares = (toward_next(logits) - low) / (high - low)
        return [round(x, 3) for x in shares.tolist()]

    outputs = head_outputs(model, ids)

    def with_head(head: Head) -> Tensor:
        with patch_heads(model, {head: outputs[head].roll(-1, dims=0)}):
            return model(ids)[:, -1]

    heads = heads_of(model)
    found = with_head(heads[context.limit(FOUND, 0)])
    if wording != "of":
        heads = []  # all are patched in one wording
    return {
        "wording": WORDINGS[wording],
        "countries": countries,
        "country": streams(model, ids, at, share),
        "last": streams(model, ids, -1, share),
        "found": share(found),
        "named": int((found.argmax(dim=-1) == then).sum()),
        "heads": [round(fmean(share(with_head(head))), 3) for head in heads],
    }


def sentences(
    wording: str, context: RunContext
) -> tuple[nn.Module, list[str], Tensor, Tensor]:
    """SmolLM2, the countries whose capital it names, the ids of their
    sentences and of the capitals; in a smoke test a tiny model and two."""
    if context.smoke:
        sizes = {"d_model": 16, "n_heads": 2, "d_ff": 32, "n_layers": 2}
        model = ModernLanguageModel(ModernConfig(vocab_size=9, **sizes))
        ids, towns = torch.tensor([[1, 2, 5], [1, 3, 5]]), torch.tensor([6, 7])
        return model.eval(), ["France", "Japan"], ids, towns
    model, pieces = load_gguf(smollm2_file())
    said = [WORDINGS[wording].format(country) for country in CAPITALS]
    ids = torch.tensor([pieces.encode(text) for text in said])
    towns = [pieces.encode(f" {town}") for town in CAPITALS.values()]
    towns = torch.tensor(towns).flatten()
    right = model(ids)[:, -1].argmax(dim=-1) == towns
    names = [c for c, named in zip(CAPITALS, right, strict=True) if named]
    return model, names, ids[right], towns[right]


def streams(
    model: nn.Module, ids: Tensor, at: int, share: Callable
) -> list[list[float]]:
    """Shares that come with the next sentence's stream at one position, after
    each layer."""
    given, gave = record(model, ids)
    turns = given["layers.0"][1]  # of the rotary positions
    found = []
    for i in range(len(model.layers)):
        x = gave[f"layers.{i}"].clone()
        x[:, at] = x[:, at].roll(-1, dims=0)
        for layer in model.layers[i + 1 :]:
            x = layer(x, turns)
        found.append(share(model.to_logits(model.norm(x[:, -1]))))
    return found


EXPERIMENT = Experiment(
    name="capitals",
    chapter="20_reading_attention",
    variants={name: name for name in WORDINGS},
    measure=torch.no_grad()(measure),
    seeds=(0,),
)
