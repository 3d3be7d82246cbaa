"""Do maps over source tokens say which of them a translation needs?

Asked of the translators that come with the course, on development sentences,
with the reference fed to them as if they wrote it.
``experiments/results/enja-heads/`` has

- ``viewer.json``: a few sentences, and where every head of the first
  translator looks in them;
- ``attribution.json``: for each translator, by the sha256 of its weights, how
  well maps over source tokens agree with what is lost when a token is hidden:
  Spearman's rank correlation, mean over targets of each sentence.
"""

from collections import Counter
from collections.abc import Iterator

import torch
from torch import Tensor

from experiments import store
from experiments.lab import (
    Analysis,
    Record,
    RunContext,
    made_of,
    splits_for,
    weights_of,
)
from experiments.translations import CREDIT, smoke_inputs
from transformer_course.batches.pairs import pad_rows
from transformer_course.checkpoints import checkpoint
from transformer_course.data.text import ParallelText
from transformer_course.data.tokenizer import BOS, EOS, Tokenizer
from transformer_course.decoding.translate import encode_source
from transformer_course.interpretation.attribution import (
    by_kind,
    leave_one_out,
    rank_correlation,
    source_gradient,
    source_relevance,
    source_rollout,
    weighted_lengths,
)
from transformer_course.interpretation.hooks import attention_maps

SHOWN = (
    "i have some good news for you .",
    "i fail to see the reason .",
    "she made cookies for the children .",
)
"""Sentences of the viewer; the first of those in the development set where
they are not there."""
EVALUATED = 60
"""Sentences in which source tokens are hidden one by one."""
SEED = 0


def ids_of(tokenizer: Tokenizer, pair: tuple[str, str]) -> tuple[Tensor, ...]:
    """Source, what is read of the target, and what is asked for."""
    ids = tokenizer.encode(pair[1])
    src = pad_rows([encode_source(tokenizer, pair[0])])
    return src, pad_rows([[BOS, *ids]]), pad_rows([[*ids, EOS]])


# --- for the viewer ----------------------------------------------------------


def viewed(model, tokenizer: Tokenizer, pair: tuple[str, str]) -> Record:
    """A sentence, and every head's weights in hundredths."""
    src, tgt_in, _ = ids_of(tokenizer, pair)
    source, target = map(tokenizer.pieces, pair)
    maps = attention_maps(model, src, tgt_in)
    return {
        "source": [*source, "</s>"],
        "read": ["<s>", *target],
        "written": [*target, "</s>"],
        "maps": {
            kind: (100 * weights[0]).round().int().tolist()
            for kind, weights in by_kind(maps).items()
        },
    }


# --- what maps are worth -----------------------------------------------------


def source_maps(
    model,
    ids: tuple[Tensor, ...],
    counts: Counter,
    generator: torch.Generator,
) -> dict[str, Tensor]:
    """Maps over source tokens, (target, source) each, by name.

    The last three look at nothing: the token that lies as far into the
    source as the target into its sentence; the rarest token; any token.

    Args:
        model: a translator.
        ids: source, what is read of the target, and what is asked for.
        counts: of each source token in the training text.
        generator: of random numbers.
    """
    src, tgt_in, _ = ids
    maps = attention_maps(model, src, tgt_in)
    last = by_kind(maps)["cross"][0, -1].mean(dim=0)
    targets, sources = last.shape
    far = torch.arange(targets)[:, None] / targets
    rare = torch.tensor([-float(counts[int(token)]) for token in src[0]])
    return {
        "attention": last,
        "weight × length": weighted_lengths(model, src, tgt_in)[0],
        "rollout": source_rollout(maps)[0],
        "gradient × attention": source_relevance(model, *ids)[0],
        "gradient × input": source_gradient(model, *ids)[0],
        "position": -(far - torch.arange(sources) / sources).abs(),
        "rarity": rare.expand(targets, -1),
        "random": torch.rand(last.shape, generator=generator),
    }


def agreement(
    model, tokenizer: Tokenizer, text: ParallelText, train: ParallelText
) -> Record:
    """Rank correlations with what hiding loses: a number a sentence."""
    generator = torch.Generator().manual_seed(SEED)
    counts = Counter(
        token for line in train.src for token in encode_source(tokenizer, line)
    )
    found: dict[str, list[float]] = {}
    for pair in text:
        ids = ids_of(tokenizer, pair)
        lost = leave_one_out(model, *ids)[0]
        for name, one in source_maps(model, ids, counts, generator).items():
            alike = float(rank_correlation(one, lost).mean())
            found.setdefault(name, []).append(round(alike, 4))
    return found


# --- all of it ---------------------------------------------------------------


def chosen(text: ParallelText) -> list[tuple[str, str]]:
    """The viewer's sentences."""
    pairs = {src: (src, tgt) for src, tgt in text}
    named = [pairs[src] for src in SHOWN if src in pairs]
    return named or list(text)[: len(SHOWN)]


def analyse(context: RunContext) -> Iterator[str]:
    """Ask each translator; show where the first one's heads look."""
    about = made_of("enja-heads", context)
    worth: Record = {**about, "split": "dev", "translators": {}}
    for i, path in enumerate(context.inputs):
        loaded = checkpoint.load(path)
        model, tokenizer = loaded.model.cpu().eval(), loaded.tokenizer
        splits = splits_for(loaded.details, context)
        if i == 0:
            shown = {
                **about,
                "weights": weights_of(path),
                "credit": CREDIT,
                "sentences": [
                    viewed(model, tokenizer, pair)
                    for pair in chosen(splits.dev)
                ],
            }
            store.write_json(context.folder / "viewer.json", shown)
        size = context.limit(min(EVALUATED, len(splits.dev)))
        judged = splits.dev.take(range(size))
        worth["translators"][path.name] = {
            "weights": weights_of(path),
            "agreement": agreement(model, tokenizer, judged, splits.train),
        }
        store.write_json(context.folder / "attribution.json", worth, indent=1)
        yield f"{path.name}: {size} sentences"


EXPERIMENT = Analysis(
    name="enja-heads",
    chapter="20_reading_attention",
    analyse=analyse,
    inputs=(
        "transformer_course/shipped/en-ja",
        "transformer_course/shipped/ja-en",
    ),
    smoke_inputs=lambda scratch: [
        path / "checkpoints" / "best" for path in smoke_inputs(scratch)
    ],
)
