"""``translate``, ``generate``, ``score``, ``score-files``: text in and out."""

import csv
import sys
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import tyro

from transformer_course import checks
from transformer_course.cli.lines import (
    CHUNK,
    check_writable,
    chunks,
    piped,
    typed,
    warn,
    write,
    write_lines,
)
from transformer_course.cli.options import (
    Alpha,
    BeamSize,
    Device,
    MaxLength,
    Model,
    Others,
    Output,
    Raw,
    Text,
    load,
)
from transformer_course.console import visible
from transformer_course.errors import ConfigError, MissingPackage

if TYPE_CHECKING:
    from torch import Tensor

Hypotheses = Annotated[int, checks.between(1, 200)]
"""Beam sizes; all hypotheses of a batch are in memory together."""
Number = Annotated[int, checks.between(1, 10**6)]
"""Numbers of texts to sample, and of tokens in one."""
TABLE = ".csv"
PICTURES = (".svg", ".png", ".pdf")
"""How the name of a confusion matrix may end."""


def translate(
    model: Model,
    file: Annotated[
        Path | None, tyro.conf.Positional, tyro.conf.arg(metavar="[FILE]")
    ] = None,
    output: Output = None,
    beam_size: BeamSize = 5,
    alpha: Alpha = None,
    max_length: MaxLength = None,
    n_best: int = 0,
    stream: bool = False,
    raw: Raw = False,
    others: Others = (),
    device: Device = "auto",
) -> None:
    """Translate a file, or what comes from the keyboard or a pipe.

    One sentence: echo "i like dogs ." | transformer-course translate MODEL

    Args:
        file: text in UTF-8, one sentence a line; if left out, what is typed
            or comes from a pipe.
        n_best: write the N best of each beam, one a line, with tabs between
            number of the sentence, rank, score (log-probability over length
            penalty), log-probability in nats, and text; 0 writes the best
            translation alone.
        stream: write words as they are decided, with --beam-size 1; on a
            terminal that is so without this option.
    """
    from transformer_course.fast.parallel import n_workers

    _check_search(beam_size, alpha, max_length)
    ranks = Annotated[int, checks.between(0, beam_size)]
    checks.require_fits("n_best", n_best, ranks)
    greedy = beam_size == 1 and not n_best and output is None
    if stream and not greedy:
        raise ConfigError(
            "--stream writes words as they are decided, and a beam is only "
            "decided at its end: add --beam-size 1, and leave out --n-best "
            "and --output."
        )
    by_hand = file is None and typed()
    stream = stream or (greedy and by_hand and sys.stdout.isatty())
    size = 1 if by_hand or stream else CHUNK * n_workers()
    used = load(model, device, raw, others)
    used.require_output("translation", "text", prompt_side="src")
    used = replace(used, max_length=max_length)
    alpha = used.alpha if alpha is None else alpha
    check_writable(output, model, used.path, *others, file)

    def translations() -> Iterator[list[str]]:
        for first, lines in chunks(file, size, "translate"):
            warn(used.warnings(lines, first=first))
            cut: list[int] = []
            how = {"beam_size": beam_size, "alpha": alpha}
            how["on_cut"] = cut.extend
            if stream:
                for line in lines:  # a chunk of one
                    used.stream(line, write, cut.extend)
                    print(flush=True)
            elif n_best:
                beams = used.n_best(lines, **how)
                yield [
                    f"{number}\t{rank}\t{one.score:.4f}\t{one.log_prob:.4f}"
                    f"\t{visible(one.text)}"
                    for number, beam in enumerate(beams, first)
                    for rank, one in enumerate(beam[:n_best], 1)
                ]
            else:
                yield used.translate(lines, **how)
            warn(
                f"the translation of line {first + i} was cut off before its "
                "end: see --max-length."
                for i in sorted(cut)
            )

    write_lines(output, translations())


def generate(
    model: Model,
    prompt: Text = "",
    count: int = 3,
    temperature: float = 1.0,
    top_k: int = 0,
    top_p: float = 1.0,
    min_p: float = 0.0,
    max_length: int = 50,
    seed: int = 0,
    stream: bool = False,
    raw: Raw = False,
    device: Device = "auto",
) -> None:
    """Sample texts: what follows a prompt, or translations of a sentence.

    Each text is a line: the end of one in it is written as \\n.

    Args:
        prompt: the sentence to translate; for a language model the beginning
            of the text, which may be left out. What comes from a pipe is
            taken if it is.
        count: number of texts.
        temperature: below 1 sharper, above 1 wilder.
        top_k: sample from the k most probable tokens; 0 takes all.
        top_p: sample from the most probable tokens that hold this share.
        min_p: sample from tokens at least this share as probable as the
            likeliest.
        max_length: most tokens of a text.
        seed: fixes the texts.
        stream: write words as they are sampled, as on a terminal; the texts
            are the same.
    """
    checks.require_fits("prompt", prompt, str)
    prompt = prompt or piped()
    checks.require_fits("count", count, Number)
    checks.require_fits("max_length", max_length, Number)
    checks.require_fits("seed", seed, checks.Seed)
    used = load(model, device, raw)
    used.require_output("text", "translation")
    from transformer_course.fast.four_bits import keep_packed

    keep_packed(used.model)
    warn(used.warnings([prompt], used.task.prompt_side))
    stream = stream or sys.stdout.isatty()
    texts = used.sample(
        prompt,
        seed,
        write if stream else None,
        temperature=temperature,
        top_k=top_k,
        top_p=top_p,
        min_p=min_p,
        max_length=max_length,
    )
    for text in islice(texts, count):
        print("" if stream else visible(text), flush=True)


def score(
    model: Model,
    split: Literal["dev", "test"] = "test",
    beam_size: BeamSize = 5,
    alpha: Alpha = None,
    max_length: MaxLength = None,
    output: Output = None,
    files: Annotated[
        tuple[str, ...] | None, tyro.conf.arg(metavar="FILE [FILE]")
    ] = None,
    confusion: Annotated[
        tuple[Path, ...], tyro.conf.arg(metavar="FILE [FILE]")
    ] = (),
    others: Others = (),
    device: Device = "auto",
) -> None:
    """Score a model on its corpus.

    Translators by BLEU and chrF, on all sentences and on those unseen in
    training; language models and the like by the nll; classifiers by
    accuracy and F1.

    Args:
        split: part of the corpus.
        files: the files that the model was trained on, if they were moved.
        confusion: write what a classifier takes for what: a table where the
            file's name ends in .csv, a picture for .svg, .png or .pdf.
    """
    from transformer_course.checkpoints.find import find_trained
    from transformer_course.data.corpora import corpus_of
    from transformer_course.training.report import Evaluation
    from transformer_course.training.tasks.table import find_task

    _check_search(beam_size, alpha, max_length)
    for path in (model, *others):
        find_trained(path)
    used = load(model, device, True, others)
    if files is not None:
        used = replace(used, details=used.details | {"files": files})
    if output is not None:
        used.require_output("translation")
    if confusion:
        used.require_output("classes")
    text = map(Path, used.details.get("files") or ())
    check_writable(output, model, used.path, *others, *text)
    for file in confusion:
        check_writable(file, model, used.path, *text)
        _check_suffix(file)
    title = ", ".join(map(str, (used.path, *others)))
    task, data = find_task(used.task.name), used.data
    splits = task.load(data)
    evaluation = Evaluation(
        task,
        used.model,
        used.tokenizer,
        getattr(splits, split),
        splits.train,
        beam_size,
        used.alpha if alpha is None else alpha,
        max_length,
        used.map_batches,
    )
    title = f"{title} on {corpus_of(data).name}, {split}"
    written = evaluation.report(title, partial(print, flush=True))
    if output is not None:
        write_lines(output, [written])
    for file in confusion:
        _write_confusion(file, evaluation.confusion(), evaluation.text.names)


def _check_suffix(file: Path) -> None:
    if file.suffix.lower() not in (TABLE, *PICTURES):
        raise ConfigError(
            f"--confusion {file}: expected a name that ends in {TABLE} for a "
            f"table, or in {', '.join(PICTURES)} for a picture."
        )


def _write_confusion(
    file: Path, counts: "Tensor", names: tuple[str, ...]
) -> None:
    """Write a confusion matrix as a table, or as a picture."""
    if file.suffix.lower() == TABLE:
        rows = [["class", *(f"as {name}" for name in names)]]
        rows += [
            [name, *row]
            for name, row in zip(names, counts.tolist(), strict=True)
        ]
        with file.open("w", encoding="utf-8", newline="") as stream:
            csv.writer(stream).writerows(rows)
        return
    from transformer_course.figures.viz import use_style

    try:
        from sklearn.metrics import ConfusionMatrixDisplay
    except ModuleNotFoundError as error:
        raise MissingPackage(error, "book") from error
    use_style()  # it has letters for Japanese names
    shown = ConfusionMatrixDisplay(counts.numpy(), display_labels=names)
    shown.plot(cmap="Blues", xticks_rotation="vertical", colorbar=False)
    shown.figure_.savefig(file)


def score_files(
    hypotheses: Annotated[
        Path, tyro.conf.Positional, tyro.conf.arg(metavar="HYPOTHESES")
    ],
    references: Annotated[
        Path, tyro.conf.Positional, tyro.conf.arg(metavar="REFERENCES")
    ],
    tokenize: str = "none",
) -> None:
    """Score a file of translations against one of references.

    Args:
        hypotheses: a system's translations, one sentence a line.
        references: the right translations, line by line.
        tokenize: sacreBLEU's tokeniser: none (words are separated by spaces,
            as in the corpora and by translate --as-is), 13a (raw English),
            char (raw Japanese), ...
    """
    from transformer_course.data.text import read_parallel
    from transformer_course.evaluation.bleu import score_lines

    text = read_parallel(hypotheses, references)
    title = f"{len(text)} sentences"
    print(score_lines(title, text.src, text.tgt, tokenize))


def _check_search(
    beam_size: int, alpha: float | None, max_length: int | None
) -> None:
    checks.require_fits("beam_size", beam_size, Hypotheses)
    checks.require_fits("alpha", alpha, checks.Alpha | None)
    checks.require_fits("max_length", max_length, Number | None)
