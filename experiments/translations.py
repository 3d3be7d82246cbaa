"""How good are a training's translations?

Both the best epoch's weights and the average are scored, greedy and with a
beam of 5, on all test sentences and on those whose source side is unseen. The
length penalty is the one that does best on the development set; the scores of
all that were tried there are kept. What BLEU counts in each sentence is
stored too, with the text cut up in several ways, so that intervals and
comparisons can be made without the corpus.
"""

from pathlib import Path
from typing import NamedTuple

import numpy as np

from experiments import store
from experiments.lab import (
    Analysis,
    Record,
    RunContext,
    made_of,
    splits_for,
    store_each,
    tiny_run,
)
from transformer_course.checkpoints import checkpoint
from transformer_course.data.corpora import load_corpus
from transformer_course.data.plain import from_plain
from transformer_course.data.text import (
    ParallelText,
    Splits,
    read_lines,
    unseen,
)
from transformer_course.data.tokenizer import Tokenizer
from transformer_course.decoding.translate import translate
from transformer_course.evaluation.bleu import (
    bleu_counts,
    corpus_bleu,
    corpus_chrf,
)
from transformer_course.training.run.folder import RunFolder

SAMPLES = 12
AT_A_TIME = 1000
"""Sentences that are translated and then written down."""
BEAMS = (1, 5)
ALPHAS = (0.6, 1.0, 1.4, 1.8)
CREDIT = "Sentences: Tanaka Corpus / Tatoeba (CC BY 2.0 FR), as cut up in "
CREDIT += "odashi/small_parallel_enja."
OWN = "Sentences: messages of programs of Debian 12, under their licences."


def dev_bleu(model, tokenizer, dev: ParallelText) -> dict[float, float]:
    """The beam's BLEU on the development set, by length penalty."""
    found = {}
    for alpha in ALPHAS:
        written = translate(model, tokenizer, dev.src, BEAMS[-1], alpha)
        found[alpha] = round(corpus_bleu(written, dev.tgt).value, 2)
    return found


def score_rows(
    name: str, beam: int, written: list[str], text: ParallelText, new
) -> list[dict]:
    """BLEU and chrF of one way of decoding: all, and unseen sentences."""
    rows = []
    for sentences, places in (("all", range(len(text))), ("unseen", new)):
        hypotheses = [written[i] for i in places]
        references = [text.tgt[i] for i in places]
        bleu = corpus_bleu(hypotheses, references)
        row = {
            "weights": name,
            "beam": beam,
            "sentences": sentences,
            "count": len(hypotheses),
            "bleu": round(bleu.value, 2),
            "chrf": round(corpus_chrf(hypotheses, references).value, 2),
            "details": bleu.details,
            "signature": bleu.signature,
        }
        rows.append(row)
    return rows


def without_spaces(lines: list[str]) -> list[str]:
    """Japanese as people write it."""
    return ["".join(line.split()) for line in lines]


def dictionary_words(lines: list[str]) -> list[str]:
    """Japanese cut up by janome, whose dictionary is MeCab's IPADIC."""
    return [from_plain(line, "ja") for line in without_spaces(lines)]


CUTS = {
    "words": (list, "none"),
    "words-13a": (list, "13a"),
    "dictionary": (dictionary_words, "none"),
    "characters": (without_spaces, "char"),
    "unspaced-13a": (without_spaces, "13a"),
    "unspaced-zh": (without_spaces, "zh"),
}
"""Ways to cut up the text before counting: how it is written, and then
sacreBLEU's tokeniser. ``words`` are the corpus's own, cut by KyTea."""
SPACED = ("words", "words-13a")
"""Cuts that make sense in a language with spaces."""


def counts_of(
    weights: str, beam: int, written: list[str], text: ParallelText, tgt: str
) -> dict[str, np.ndarray]:
    """BLEU's counts of each sentence, for each way to cut it up."""
    found = {}
    for cut in CUTS if tgt == "ja" else SPACED:
        form, tokenize = CUTS[cut]
        counts = bleu_counts(form(written), form(text.tgt), tokenize)
        found[f"{weights}-{beam}-{cut}"] = counts.astype(np.uint16)
    return found


def sizes(tokenizer: Tokenizer, lines: list[str]) -> dict[str, int]:
    """Length of a text: its cross entropy counts tokens, eos included."""
    return {
        "sentences": len(lines),
        "tokens": sum(len(tokenizer.encode(line)) + 1 for line in lines),
        "characters": sum(map(len, without_spaces(lines))),
    }


class Scored(NamedTuple):
    """Record of a translator."""

    rows: list[dict]
    """Scores of the test set: greedy and beam, all and unseen."""
    counts: dict[str, np.ndarray]
    """For :func:`transformer_course.store.read_counts`."""
    dev_bleu: dict[float, float]
    """The beam's on the development set, by length penalty."""
    samples: list[dict]
    """The beam's first few translations of unseen sentences."""


def scored(
    weights: str, model, tokenizer: Tokenizer, splits: Splits, tgt: str
) -> Scored:
    """Choose a length penalty by the development set, score on the test set.

    Args:
        weights: what rows and counts are called.
        model: anything that can be searched.
        tokenizer: its own.
        splits: of its corpus.
        tgt: the language that it writes.
    """
    text, new = splits.test, unseen(splits.test, splits.train)
    choices = dev_bleu(model, tokenizer, splits.dev)
    alpha = max(ALPHAS, key=choices.get)
    rows, counts = [], {"unseen": np.isin(np.arange(len(text)), new)}
    for beam in BEAMS:
        written = translate(model, tokenizer, text.src, beam, alpha)
        found = score_rows(weights, beam, written, text, new)
        rows += [{**row, "alpha": alpha} for row in found]
        counts |= counts_of(weights, beam, written, text, tgt)
    samples = [
        {"src": text.src[i], "tgt": text.tgt[i], "out": written[i]}
        for i in new[:SAMPLES]
    ]
    return Scored(rows, counts, choices, samples)


def results(
    output: Path, context: RunContext, reverse: bool = False
) -> tuple[dict, dict[str, np.ndarray]]:
    """Scores, samples and counts of every kind of weights in the folder.

    Args:
        output: of a training.
        context: how many sentences.
        reverse: translate the other way, which a model learns that was
            trained both ways.
    """
    rows, samples, counts, choices = [], [], {}, {}
    for name in ("best", "average"):
        folder = output / "checkpoints" / name
        if not folder.is_dir():
            continue
        loaded = checkpoint.load(folder)
        model, tokenizer = loaded.model, loaded.tokenizer
        src, tgt = map(loaded.details.get, ("src", "tgt"))
        if reverse:
            src, tgt = tgt, src
        about = loaded.details | {"src": src, "tgt": tgt}
        splits = splits_for(about, context)
        found = scored(name, model, tokenizer, splits, tgt)
        rows += found.rows
        counts |= found.counts
        choices[name], samples = found.dev_bleu, found.samples
    found = {
        "dev": sizes(tokenizer, splits.dev.tgt),
        "dev_bleu_of_the_beam": choices,
        "split": "test",
        "rows": rows,
        "samples": samples,
        "credit": OWN if about.get("files") else CREDIT,
        "parameters": sum(p.numel() for p in model.parameters()),
    }
    return found, counts


def describe_row(row: Record) -> str:
    """A row in words."""
    return (
        f"{row['weights']:8} beam {row['beam']} {row['sentences']:6} "
        f"({row['count']}) BLEU {row['bleu']:.2f} chrF {row['chrf']:.2f}"
    )


analyse = store_each(
    results, lambda found: "\n".join(map(describe_row, found["rows"]))
)
"""Score and store each training."""


def store_made_of_models(
    context: RunContext,
    name: str,
    found: Record,
    counts: dict[str, np.ndarray],
) -> None:
    """Store a translator that is made of trained ones, as a training is."""
    about = {
        "settings": {"models": list(map(str, context.inputs))},
        **made_of(name, context),
        "results": found,
    }
    store.write_json(context.folder / "run.json", about, indent=1)
    store.write_arrays(context.folder / "counts.npz", counts)
    for record in ("epochs", "steps"):  # it was not trained itself
        store.write_lines(context.folder / f"{record}.jsonl", [])


def smoke_inputs(scratch: Path) -> list[Path]:
    """A tiny training, stored as others are."""
    output = tiny_run(scratch, "tiny")
    context = RunContext(
        scratch.parent / "translations", (), (), (output,), True
    )
    list(analyse(context))
    return [output]


def written(
    model, tokenizer: Tokenizer, src: list[str], path: Path, *how
) -> list[str]:
    """Translations, which a file keeps; those that are missing are made.

    Args:
        model: anything that can be searched.
        tokenizer: its own.
        src: sentences.
        path: of the file.
        how: size and length penalty of the beam, if there is any.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    done = read_lines(path) if path.exists() else []
    for start in range(len(done), len(src), AT_A_TIME):
        some = src[start : start + AT_A_TIME]
        made = translate(model, tokenizer, some, *how)
        with path.open("a", encoding="utf-8") as file:
            file.writelines(f"{line}\n" for line in made)
        done += made
    return done


def decoded(
    output: Path, context: RunContext, text: ParallelText
) -> tuple[Record, list[str]]:
    """A training's weights and beam, and its translations.

    The best epoch's weights or, where there is one, the average.
    """
    path = context.stored(output.name) / "run.json"
    rows = store.read_json(path)["results"]["rows"]
    row = next(r for r in reversed(rows) if r["beam"] == BEAMS[-1])
    loaded = checkpoint.load(output / "checkpoints" / row["weights"])
    written = translate(
        loaded.model, loaded.tokenizer, text.src, row["beam"], row["alpha"]
    )
    return {key: row[key] for key in ("weights", "beam", "alpha")}, written


def decoded_by_all(
    context: RunContext, text: ParallelText
) -> tuple[dict[str, Record], dict[str, list[str]]]:
    """Beams and translations of each given training, by its name."""
    found = {
        output.name: decoded(output, context, text)
        for output in context.inputs
    }
    settings = {name: about for name, (about, _) in found.items()}
    return settings, {name: lines for name, (_, lines) in found.items()}


def dev_of(output: Path) -> ParallelText:
    """The development set of a training's corpus, as it was translated."""
    data = RunFolder(output).settings()["data"]
    return load_corpus(data["corpus"], src=data["src"], tgt=data["tgt"]).dev


NAMES = (
    "enja",
    "enja-seed-1",
    "enja-post-norm",
    "enja-gru",
    "enja-gru-longer",
    "enja-longer",
    "enja-sampled",
    "enja-r-drop",
    "enja-both",
    "enja-wide-first",
    "enja-wide",
    "enja-more",
    "enja-more-seed-1",
    "jaen",
    "jaen-wide",
    "jaen-wide-seed-1",
    "my-enja",
    "messages-de",
)
EXPERIMENT = Analysis(
    name="translations",
    chapter="15_translation",
    analyse=analyse,
    inputs=tuple(f"outputs/{name}" for name in NAMES),
    smoke_inputs=smoke_inputs,
    writes=NAMES,
)
