"""What do maps over images show, and do they hang on what was learned?

Four maps of a Vision Transformer and of the convolutional network beside it:
Grad-CAM of both, rollout, gradient × attention. The Vision Transformer has
patches of 4, for finer maps: ``transformer-course train fashion-vit
--model.patch-size 4 --name fashion-vit-4``. Asked about each image's
likeliest class, they are

- kept for a few images;
- compared with the maps of the same model after more and more of its weights
  are shuffled, from the last map down (Adebayo et al. 2018, section 3, the
  cascading randomisation; there they are drawn anew): by Spearman's rank
  correlation, mean over images, 0 where a map is the same everywhere;
- put to use: the hottest places are blackened, among those that are not black
  already. What is left of the class's probability is compared with blackening
  the brightest of these places, and random ones.
"""

from collections.abc import Callable, Iterator
from pathlib import Path

import torch
from torch import Tensor, nn

from experiments import store
from experiments.image_runs import CREDIT, smoke_inputs, test_of
from experiments.lab import (
    Analysis,
    Record,
    RunContext,
    checkpoint_of,
    made_of,
)
from transformer_course.batches.images import scaled
from transformer_course.checkpoints import checkpoint
from transformer_course.interpretation.attribution import rank_correlation
from transformer_course.interpretation.explain import (
    encoder_attention,
    grad_cam,
    gradient_attention,
    patch_map,
    rollout,
)

EVALUATED = 300
"""Test images that maps are judged by: the first ones."""
RIGHT, WRONG = 6, 2
"""Images shown that both models get right, each of another class, and that
both get wrong: the first ones."""
BLACKENED = (2, 5, 10, 20)
"""Places, of 49."""
SHUFFLES = 3
"""Times that the weights are shuffled."""
DRAWS = 5
"""Times that random places are drawn."""
SEED = 0

Mapped = Callable[[nn.Module, Tensor, Tensor], Tensor]
"""From a model, images and classes to a map of each."""

MAPS: dict[str, dict[str, Mapped]] = {
    "vit": {
        "rollout": lambda model, images, classes: patch_map(
            rollout(encoder_attention(model, images))[:, 0]
        ),
        "gradient × attention": lambda model, images, classes: patch_map(
            gradient_attention(model, images, classes=classes)[:, 0]
        ),
        "Grad-CAM": grad_cam,
    },
    "cnn": {"Grad-CAM": grad_cam},
}


def maps_of(
    kind: str, model: nn.Module, images: Tensor, classes: Tensor
) -> dict[str, Tensor]:
    """All maps of a model, (images, rows, columns) each."""
    return {
        name: mapped(model, images, classes)
        for name, mapped in MAPS[kind].items()
    }


# --- do they hang on what was learned? ---------------------------------------


def stages(model: nn.Module) -> dict[str, nn.Module]:
    """The model's parts with weights, from the last one down."""
    layers = getattr(model, "blocks", None)
    if layers is None:
        layers = model.encoder.layers
    found = {"last map": model.to_logits}
    for number in reversed(range(len(layers))):
        found[f"layer {number + 1}"] = layers[number]
    if hasattr(model, "patches"):
        found["patches"] = model.patches
    return found


@torch.no_grad()
def shuffle(part: nn.Module, generator: torch.Generator) -> None:
    """Put the numbers of each weight into another order, in place."""
    for weight in part.parameters():
        order = torch.randperm(weight.numel(), generator=generator)
        weight.copy_(weight.flatten()[order].view_as(weight))


def sanity(
    path: Path, kind: str, images: Tensor, classes: Tensor
) -> dict[str, dict[str, Record]]:
    """By map and stage: how like the trained model's map, of each shuffle."""
    generator = torch.Generator().manual_seed(SEED)
    found: dict[str, dict[str, Record]] = {name: {} for name in MAPS[kind]}
    for _ in range(SHUFFLES):
        model = checkpoint.load(path).model.cpu()
        trained = maps_of(kind, model, images, classes)
        for stage, part in stages(model).items():
            shuffle(part, generator)
            for name, heat in maps_of(kind, model, images, classes).items():
                now, was = heat.flatten(1), trained[name].flatten(1)
                alike = float(rank_correlation(was, now).mean())
                at = found[name].setdefault(stage, {"alike": []})
                at["alike"].append(round(alike, 4))
    return found


# --- do they point at what counts? -------------------------------------------


def blackened(images: Tensor, heat: Tensor, count: int) -> Tensor:
    """Images whose hottest places are black (-1)."""
    hottest = heat.flatten(1).topk(count).indices
    hidden = torch.zeros_like(heat.flatten(1)).scatter(1, hottest, 1.0)
    side = images.size(-1) // heat.size(-1)
    hidden = hidden.view_as(heat).repeat_interleave(side, 1)
    hidden = hidden.repeat_interleave(side, 2)[:, None].bool()
    return images.masked_fill(hidden, -1.0)


def brightness(images: Tensor, like_map: Tensor) -> Tensor:
    """The mean of each place's pixels, with places as a map has them."""
    rows, columns = like_map.shape[1:]
    return nn.functional.adaptive_avg_pool2d(images, (rows, columns))[:, 0]


@torch.inference_mode()
def left_of(model: nn.Module, images: Tensor, classes: Tensor) -> Tensor:
    """The probability of each image's class."""
    return model(images).softmax(dim=-1).gather(1, classes[:, None])[:, 0]


def deletion(
    model: nn.Module, maps: dict[str, Tensor], images: Tensor, classes: Tensor
) -> Record:
    """Probability left, by what is blackened and how much of it.

    Only places that are not black count as hot. ``left`` has means over
    images, the first with nothing blackened; ``beside_random`` and
    ``beside_brightest`` how much more is left than with those places, and the
    half of its 95 % interval, over images; ``places`` how many of an image's
    places are not black.
    """
    bright = brightness(images, next(iter(maps.values())))
    counts = [n for n in BLACKENED if n <= bright[0].numel()]

    def left(heat: Tensor) -> Tensor:  # (counts, images)
        heat = heat.masked_fill(bright <= -1, -torch.inf)
        each = [blackened(images, heat, n) for n in counts]
        return torch.stack([left_of(model, one, classes) for one in each])

    generator = torch.Generator().manual_seed(SEED)
    drawn = torch.rand((DRAWS, *bright.shape), generator=generator)
    random = torch.stack([left(one) for one in drawn]).mean(dim=0)
    by = {name: left(heat) for name, heat in maps.items()}
    by |= {"brightest": left(bright), "random": random}
    untouched = float(left_of(model, images, classes).mean())
    return {
        "left": {
            name: [round(x, 4) for x in (untouched, *one.mean(1).tolist())]
            for name, one in by.items()
        },
        **{
            f"beside_{other}": {
                name: [interval(x) for x in by[name] - by[other]]
                for name in maps
            }
            for other in ("random", "brightest")
        },
        "places": round(float((bright > -1).sum()) / len(images), 1),
    }


def interval(values: Tensor) -> tuple[float, float]:
    """The mean, and the half of its 95 % interval."""
    half = 1.96 * values.std() / len(values) ** 0.5
    return round(float(values.mean()), 4), round(float(half), 4)


# --- what is kept ------------------------------------------------------------


def shown(labels: Tensor, guesses: list[Tensor]) -> list[int]:
    """Places of the images that are kept."""
    right = torch.stack([g == labels for g in guesses])
    found: dict[int, int] = {}
    for place in right.all(dim=0).nonzero().flatten().tolist():
        found.setdefault(int(labels[place]), place)
    wrong = (~right).all(dim=0).nonzero().flatten().tolist()
    return [*list(found.values())[:RIGHT], *wrong[:WRONG]]


def rounded(heat: Tensor) -> list[list[float]]:
    """A map whose largest number is 1, to three digits."""
    shares = heat / heat.max().clamp(min=1e-12)
    return [[round(x, 3) for x in row] for row in shares.tolist()]


def analyse(context: RunContext) -> Iterator[str]:
    """Ask both models, and store what they show."""
    paths = {
        kind: checkpoint_of(output)
        for kind, output in zip(("vit", "cnn"), context.inputs, strict=True)
    }
    loaded = {kind: checkpoint.load(path) for kind, path in paths.items()}
    models = {kind: one.model.cpu().eval() for kind, one in loaded.items()}
    test = test_of(loaded["vit"].details["corpus"], context)
    test = test.take(slice(EVALUATED))
    images = scaled(test.images)
    found: Record = {**made_of("fashion-maps", context), "credit": CREDIT}
    found |= {"images": len(test), "blackened": BLACKENED}
    with torch.inference_mode():
        shares = {k: m(images).softmax(dim=-1) for k, m in models.items()}
    guesses = {kind: share.argmax(dim=-1) for kind, share in shares.items()}
    found["right"] = {
        kind: round(float((guess == test.labels).float().mean()), 4)
        for kind, guess in guesses.items()
    }
    maps = {
        kind: maps_of(kind, model, images, guesses[kind])
        for kind, model in models.items()
    }
    found["sanity"], found["deletion"] = {}, {}
    for kind, model in models.items():
        asked = images, guesses[kind]
        found["sanity"][kind] = sanity(paths[kind], kind, *asked)
        found["deletion"][kind] = deletion(model, maps[kind], *asked)
        yield f"{kind}: {found['sanity'][kind]} {found['deletion'][kind]}"
    found["shown"] = [
        {
            "place": i,
            "label": test.names[test.labels[i]],
            "pixels": test.images[i, 0].tolist(),
            "said": {
                kind: [
                    test.names[guesses[kind][i]],
                    round(float(shares[kind][i].max()), 2),
                ]
                for kind in models
            },
            "maps": {
                kind: {name: rounded(heat[i]) for name, heat in of.items()}
                for kind, of in maps.items()
            },
        }
        for i in shown(test.labels, list(guesses.values()))
    ]
    store.write_json(context.folder / "maps.json", found)


EXPERIMENT = Analysis(
    name="fashion-maps",
    chapter="19_vision_transformer",
    analyse=analyse,
    inputs=("outputs/fashion-vit-4", "outputs/fashion-cnn"),
    smoke_inputs=smoke_inputs,
)
