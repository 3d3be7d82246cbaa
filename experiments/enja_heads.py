"""What do a translator's heads look at, and is it the right word?

Asked of a checkpoint, on the development set, with the reference fed to it as
if it wrote it. ``experiments/results/enja-heads/`` has

- ``viewer.json``: a few sentences, and where every head looks in them;
- ``heads.json``: of each head, how often the source word that it looks at
  most, before a word is written and just after, is the one that an aligner
  links it to (IBM model 2, where both directions agree); and how much weight
  lies on the neighbours, the token itself, the first one, the full stop and
  eos, beside what equal weights would give;
- ``attribution.json``: how well maps over source tokens agree with what is
  lost when a token is hidden: Spearman's rank correlation, mean over targets
  of each sentence; and how much of the weight on a source token reaches the
  output, once it is multiplied by the length of what is handed on.
"""

from collections.abc import Iterator, Sequence

import torch
from torch import Tensor

from experiments import store
from experiments.enja_attention import by_words, word_starts
from experiments.lab import Record, RunContext, made_of
from experiments.translations import CREDIT, analysis_of_heads
from transformer_course.batches.pairs import pad_rows
from transformer_course.data.text import ParallelText, Splits
from transformer_course.data.tokenizer import BOS, EOS, Tokenizer
from transformer_course.decoding.translate import encode_source
from transformer_course.evaluation.alignment import Links, align_both_ways
from transformer_course.interpretation.attribution import (
    by_kind,
    leave_one_out,
    rank_correlation,
    source_relevance,
    source_rollout,
)
from transformer_course.interpretation.hooks import (
    attention_layers,
    attention_maps,
    kind_of,
    record,
)

SHOWN = (
    "i have some good news for you .",
    "i fail to see the reason .",
    "she made cookies for the children .",
)
"""Sentences of the viewer; the first of those in the development set where
they are not there."""
EVALUATED = 100
"""Sentences in which source tokens are hidden one by one."""
PATTERNS = ("itself", "before", "after", "first", "stop", "eos")
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


# --- alignments and patterns -------------------------------------------------


def reference_links(train: ParallelText, text: ParallelText) -> list[Links]:
    """Links of each pair of ``text``, by an aligner learned on both texts."""
    pairs = [
        (src.split(), tgt.split())
        for part in (train, text)
        for src, tgt in part
    ]
    return align_both_ways(pairs)[-len(text) :]


def alignments(
    model, tokenizer: Tokenizer, text: ParallelText, links: Sequence[Links]
) -> Record:
    """Shares of looks at the linked word: layer by head, two readings.

    ``place`` has what a rule without any model scores, which always names the
    same share of the way through the source.
    """
    hits: dict[str, list[Tensor]] = {"before": [], "after": [], "mean": []}
    by_place: list[bool] = []
    for pair, found in zip(text, links, strict=True):
        src, tgt_in, _ = ids_of(tokenizer, pair)
        cross = by_kind(attention_maps(model, src, tgt_in))["cross"][0]
        pieces = [tokenizer.pieces(side) for side in pair]
        cross = torch.cat([cross, cross.mean(dim=1, keepdim=True)], dim=1)
        words = torch.tensor(by_words(cross, *pieces)[..., :-1].astype(float))
        n, m = (len(word_starts(p)) - 1 for p in pieces)
        if (n, m) != tuple(len(side.split()) for side in pair):
            continue  # a word that is no piece by itself
        best = words.argmax(dim=-1)  # (layer, heads + mean, target + end)
        for s, t in found:
            hits["before"].append(best[..., t] == s)
            hits["after"].append(best[..., t + 1] == s)
            by_place.append(round((t + 0.5) / m * n - 0.5) == s)
    shares = {
        name: torch.stack(hits[name]).double().mean(dim=0)
        for name in ("before", "after")
    }
    return {
        "links": len(by_place),
        "sentences": len(text),
        "place": round(sum(by_place) / len(by_place), 4),
        **{
            name: {
                "heads": rounded(share[:, :-1]),
                "mean": rounded(share[:, -1]),
            }
            for name, share in shares.items()
        },
    }


def patterns(model, tokenizer: Tokenizer, text: ParallelText) -> Record:
    """Mean weight that heads of self-attention give to simple places.

    By kind: ``heads`` (layer, head, pattern), and ``equal``, what equal
    weights would give. The last two patterns are the encoder's.
    """
    found: dict[str, list[Tensor]] = {"encoder": [], "decoder": []}
    for pair in text:
        src, tgt_in, _ = ids_of(tokenizer, pair)
        kinds = by_kind(attention_maps(model, src, tgt_in))
        for kind, rows in found.items():
            weights = kinds[kind][0]  # (layer, head, query, key)
            equal = torch.ones(weights.shape[-2:])
            if kind == "decoder":
                equal = equal.tril()
            equal = equal / equal.sum(dim=-1, keepdim=True)
            layers, heads = weights.shape[:2]
            every = torch.cat([weights.flatten(0, 1), equal[None]])
            rows.append(places(every).mean(dim=1))  # (heads + 1, pattern)
    result = {}
    for kind, rows in found.items():
        shares = torch.stack(rows).mean(dim=0)
        by_head = shares[:-1].view(layers, heads, -1)
        result[kind] = {
            "heads": rounded(by_head),
            "equal": rounded(shares[-1]),
        }
    return result


def places(weights: Tensor) -> Tensor:
    """Weight on each pattern, (head, query, 6), of (head, query, key)."""

    def along(offset):
        line = weights.diagonal(offset, 1, 2)
        pad = (max(-offset, 0), max(offset, 0))
        return torch.nn.functional.pad(line, pad)

    shares = [along(0), along(-1), along(1), weights[..., 0]]
    return torch.stack([*shares, weights[..., -2], weights[..., -1]], dim=-1)


def rounded(values: Tensor) -> list:
    """To four digits."""
    return torch.round(values.double(), decimals=4).tolist()


# --- what maps are worth -----------------------------------------------------


def source_maps(
    model, ids: tuple[Tensor, ...], generator: torch.Generator
) -> dict[str, Tensor]:
    """Maps over source tokens, (target, source) each, by name."""
    src, tgt_in, _ = ids
    maps = attention_maps(model, src, tgt_in)
    cross = by_kind(maps)["cross"][0].mean(dim=1)
    shape = cross[0].shape
    found = {
        f"attention, layer {i + 1}": layer for i, layer in enumerate(cross)
    }
    return found | {
        "rollout": source_rollout(maps)[0],
        "gradient × attention": source_relevance(model, *ids)[0],
        "random": torch.rand(shape, generator=generator),
    }


def agreement(model, tokenizer: Tokenizer, text: ParallelText) -> Record:
    """Rank correlations with what hiding loses: a number a sentence."""
    generator = torch.Generator().manual_seed(SEED)
    found: dict[str, list[float]] = {}
    for pair in text:
        ids = ids_of(tokenizer, pair)
        lost = leave_one_out(model, *ids)[0]
        for name, one in source_maps(model, ids, generator).items():
            alike = float(rank_correlation(one, lost).mean())
            found.setdefault(name, []).append(round(alike, 4))
    return found


def weight_and_length(
    model, tokenizer: Tokenizer, text: ParallelText
) -> Record:
    """Share of ``eos`` and the full stop in cross-attention, twice.

    Once of the weights, and once of the weights times the length of the value
    that each head hands on through its rows of W^O (Kobayashi et al. 2020).
    By layer, mean over heads, targets and sentences.
    """
    shares: dict[str, list[list[float]]] = {"weight": [], "length": []}
    for pair in text:
        src, tgt_in, _ = ids_of(tokenizer, pair)
        maps = attention_maps(model, src, tgt_in)
        given, _ = record(model, src, tgt_in)
        layers: dict[str, list[float]] = {"weight": [], "length": []}
        for name, part in attention_layers(model).items():
            if kind_of(name) != "cross":
                continue
            weights = maps[name][0]  # (head, target, source)
            memory = given[name][1]
            with torch.no_grad():
                values = part.to_value(memory)[0].unflatten(
                    -1, (part.n_heads, -1)
                )
                matrix = part.to_output.weight.unflatten(
                    -1, (part.n_heads, -1)
                )
                handed = torch.einsum("shd,ohd->hso", values, matrix)
            long = weights * handed.norm(dim=-1)[:, None]
            long = long / long.sum(dim=-1, keepdim=True)
            for key, one in (("weight", weights), ("length", long)):
                layers[key].append(float(one[..., -2:].sum(-1).mean()))
        for key, one in layers.items():
            shares[key].append(one)
    return {k: rounded(torch.tensor(v).mean(dim=0)) for k, v in shares.items()}


# --- all of it ---------------------------------------------------------------


def chosen(text: ParallelText) -> list[tuple[str, str]]:
    """The viewer's sentences."""
    pairs = {src: (src, tgt) for src, tgt in text}
    named = [pairs[src] for src in SHOWN if src in pairs]
    return named or list(text)[: len(SHOWN)]


def analyse(
    model, tokenizer: Tokenizer, splits: Splits, context: RunContext
) -> Iterator[str]:
    """Ask one checkpoint, and store what its heads do."""
    dev, about = splits.dev, made_of("enja-heads", context)
    shown = {
        **about,
        "credit": CREDIT,
        "sentences": [viewed(model, tokenizer, p) for p in chosen(dev)],
    }
    store.write_json(context.folder / "viewer.json", shown)
    yield f"{len(shown['sentences'])} sentences to look at"
    links = reference_links(splits.train, dev)
    scores = {
        **about,
        "split": "dev",
        "alignment": alignments(model, tokenizer, dev, links),
        "patterns": patterns(model, tokenizer, dev),
        "pattern_names": PATTERNS,
    }
    store.write_json(context.folder / "heads.json", scores, indent=1)
    yield f"alignment {scores['alignment']}"
    judged = dev.take(range(context.limit(min(EVALUATED, len(dev)))))
    worth = {
        **about,
        "split": "dev",
        "sentences": len(judged),
        "agreement": agreement(model, tokenizer, judged),
        "stop_and_eos": weight_and_length(model, tokenizer, judged),
    }
    store.write_json(context.folder / "attribution.json", worth, indent=1)
    yield f"stop and eos {worth['stop_and_eos']}"


EXPERIMENT = analysis_of_heads("enja-heads", analyse)
