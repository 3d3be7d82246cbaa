"""``translate``, ``generate``, ``score``, ``score-files``: text in and out."""

import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import tyro

from transformer_course import checks
from transformer_course.cli.images import score_images
from transformer_course.cli.lines import (
    CHUNK,
    check_writable,
    chunks,
    typed,
    warn,
    write_lines,
)
from transformer_course.cli.options import (
    Alpha,
    AsIs,
    BeamSize,
    Bf16,
    Device,
    Engine,
    Model,
    NBest,
    Others,
    Output,
    Stream,
)
from transformer_course.console import log
from transformer_course.data.text import read_parallel
from transformer_course.errors import ConfigError

if TYPE_CHECKING:
    from transformer_course.inference.text_model import TextModel

Hypotheses = Annotated[int, checks.between(1, 200)]
"""Beam sizes; all hypotheses of a batch are in memory together."""
Number = Annotated[int, checks.between(1, 10**6)]
"""Numbers of texts to draw, and of tokens in one."""


def translate(
    model: Model,
    file: Annotated[
        Path | None,
        tyro.conf.Positional,
        tyro.conf.arg(
            metavar="[FILE]",
            help="text in UTF-8, one sentence a line; if left out, what is "
            "typed or comes from a pipe.",
            help_behavior_hint="",
        ),
    ] = None,
    output: Output = None,
    beam_size: BeamSize = 5,
    alpha: Alpha = None,
    n_best: NBest = 0,
    stream: Stream = False,
    as_is: AsIs = False,
    bf16: Bf16 = False,
    others: Others = (),
    engine: Engine = "torch",
    device: Device = "auto",
) -> None:
    """Translate a file, or what comes from the keyboard or a pipe.

    One sentence: echo "i like dogs ." | transformer-course translate MODEL
    """
    _check_search(beam_size, alpha)
    _check_n_best(n_best, beam_size)
    greedy = beam_size == 1 and not n_best and output is None
    if stream and not greedy:
        raise ConfigError(
            "--stream writes words as they are decided, and a beam is only "
            "decided at its end: add --beam-size 1, and leave out --n-best "
            "and --output."
        )
    by_hand = file is None and typed()
    stream = stream or (greedy and by_hand and sys.stdout.isatty())
    if engine == "ctranslate2":
        used = _load_converted(model, others, device, as_is, bf16)
    else:
        used = _load(model, others, device, as_is, bf16)
    used.require_writing(translates=True)
    alpha = _alpha(used) if alpha is None else alpha
    check_writable(output, model, used.path, *others, file)
    size = 1 if by_hand or stream else _lines_at_once(used)

    def translations() -> Iterator[list[str]]:
        for first, lines in chunks(file, size, "translate"):
            warn(used.warnings(lines, first=first))
            if n_best:
                beams = used.ranked(lines, beam_size, alpha)
                yield list(_rows(beams, n_best, first))
            elif stream:
                _stream(used, lines)
            else:
                yield used.translate(lines, beam_size, alpha)

    write_lines(output, translations())


def generate(
    model: Model,
    prompt: Annotated[
        str,
        tyro.conf.Positional,
        tyro.conf.arg(
            metavar="[TEXT]",
            help="the sentence to translate; for a language model the "
            "beginning of the text, which may be left out.",
            help_behavior_hint="",
        ),
    ] = "",
    count: int = 3,
    temperature: float = 1.0,
    top_k: int = 0,
    top_p: float = 1.0,
    max_length: int = 50,
    seed: int = 0,
    stream: Annotated[
        bool,
        tyro.conf.arg(
            help="write words as they are drawn; on a terminal it is so "
            "anyway. What is drawn is the same."
        ),
    ] = False,
    as_is: AsIs = False,
    device: Device = "auto",
) -> None:
    """Draw texts: what follows a prompt, or translations of a sentence.

    Args:
        count: how many to draw, one after another.
        temperature: below 1 sharper, above 1 wilder.
        top_k: draw from the k most probable tokens; 0 takes all.
        top_p: draw from the most probable tokens that hold this share.
        max_length: tokens at the most.
        seed: fixes what is drawn.
    """
    checks.require_fits("count", count, Number)
    checks.require_fits("max_length", max_length, Number)
    checks.require_fits("seed", seed, checks.Seed)
    used = _load(model, (), device, as_is)
    drawing = used.drawing(
        prompt,
        seed,
        temperature=temperature,
        top_k=top_k,
        top_p=top_p,
        max_length=max_length,
    )
    warn(used.warnings([prompt], used.task.prompt_side))
    for _ in range(count):
        if stream or sys.stdout.isatty():
            drawing.stream(_say)
            print(flush=True)
        else:
            print(drawing.text(), flush=True)


def score(
    model: Model,
    split: Literal["dev", "test"] = "test",
    beam_size: BeamSize = 5,
    alpha: Alpha = None,
    output: Output = None,
    files: Annotated[
        tuple[str, str] | None,
        tyro.conf.arg(
            metavar="FILE FILE",
            help="where the two files stand now that the model was trained "
            "on, if they were moved.",
            help_behavior_hint="",
        ),
    ] = None,
    bf16: Bf16 = False,
    others: Others = (),
    device: Device = "auto",
) -> None:
    """Score a model on its corpus: all sentences, and those unseen.

    A translator is scored by BLEU and chrF. What goes on with a text is
    scored by the nll, since a text can go on in many ways; what classifies
    images by the share of right answers.

    Args:
        split: which part of the corpus.
    """
    from transformer_course.inference.image_model import reads_images

    if reads_images(model):
        score_images(model, split, output, others, device)
        return
    _check_search(beam_size, alpha)
    used = _load(model, others, device, as_is=True, bf16=bf16)
    if files is not None:
        used = replace(used, details=used.details | {"files": files})
    text = map(Path, used.details.get("files") or ())
    check_writable(output, model, used.path, *others, *text)
    named = ", ".join(map(str, (used.path, *others)))
    alpha = _alpha(used) if alpha is None else alpha
    say = partial(print, flush=True)
    written = used.report(named, split, beam_size, alpha, say)
    if output is None:
        return
    if written is None:
        raise ConfigError(
            f"--output {output}: there are no translations to write, since "
            "this model is scored by its nll. Leave --output out."
        )
    write_lines(output, [written])


def score_files(
    hypotheses: Annotated[
        Path, tyro.conf.Positional, tyro.conf.arg(metavar="HYPOTHESES")
    ],
    references: Annotated[
        Path, tyro.conf.Positional, tyro.conf.arg(metavar="REFERENCES")
    ],
    tokenize: Annotated[
        str,
        tyro.conf.arg(
            help="sacreBLEU's tokeniser: none (words are what stands between "
            "spaces, as the corpora and translate --as-is have it), 13a (raw "
            "English), char (raw Japanese), ..."
        ),
    ] = "none",
) -> None:
    """Score a file of translations against one of references.

    Args:
        hypotheses: what a system wrote, one sentence a line.
        references: what should have been written, line by line.
    """
    from transformer_course.evaluation.bleu import score_lines, spaces_differ

    text = read_parallel(hypotheses, references)
    if tokenize == "none":
        warn(spaces_differ(text.src, text.tgt))
    title = f"{len(text)} sentences"
    print(score_lines(title, text.src, text.tgt, tokenize))


def _load(
    model: Path,
    others: Sequence[Path],
    device: str,
    as_is: bool,
    bf16: bool = False,
) -> "TextModel":
    """A model, or several that work together; says which checkpoints."""
    from transformer_course.decoding.parallel import parallel_map
    from transformer_course.decoding.translate import Searches
    from transformer_course.inference.text_model import TextModel

    loaded = []
    for path in (model, *others):
        loaded.append(TextModel.load(path, device, as_is, bf16))
        if loaded[-1].path != path:
            log(f"using {loaded[-1].path}")
    used = loaded[0].beside(loaded[1:])
    if next(used.model.parameters()).device.type != "cpu":
        return used
    return replace(used, searches=Searches(map_batches=parallel_map))


def _lines_at_once(used: "TextModel") -> int:
    """A batch of lines, or one for each search that runs at the same time."""
    from transformer_course.decoding.parallel import n_workers, parallel_map

    if used.searches.map_batches is parallel_map:
        return CHUNK * n_workers()
    return CHUNK


def _load_converted(
    model: Path,
    others: Sequence[Path],
    device: str,
    as_is: bool,
    bf16: bool,
) -> "TextModel":
    """A model for CTranslate2; refuses what that does not do."""
    from transformer_course.inference.ctranslate2_engine import load_text_model

    if others or bf16 or device not in ("auto", "cpu"):
        raise ConfigError(
            "--engine ctranslate2 computes one model on the CPU, in the "
            "precision that it was exported in: leave out --with, --bf16 and "
            "--device, or leave out --engine."
        )
    return load_text_model(model, as_is)


def _say(text: str) -> None:
    print(text, end="", flush=True)


def _stream(used: "TextModel", lines: list[str]) -> None:
    for line in lines:
        used.stream(line, _say)
        print(flush=True)


def _rows(beams: list[list], n_best: int, first: int) -> Iterator[str]:
    """A line for each of the best, with tabs between its columns."""
    for number, beam in enumerate(beams, start=first):
        for rank, one in enumerate(beam[:n_best], start=1):
            values = f"{one.score:.4f}\t{one.log_prob:.4f}"
            yield f"{number}\t{rank}\t{values}\t{one.text}"


def _alpha(used: "TextModel") -> float:
    """The length penalty that a model was exported with, or the paper's."""
    from transformer_course.decoding.search import DEFAULT_ALPHA

    kept = used.details.get("alpha", DEFAULT_ALPHA)
    checks.require_fits(f"the alpha of {used.path}", kept, checks.Alpha)
    return kept


def _check_search(beam_size: int, alpha: float | None) -> None:
    """See that a search fits into memory, and its scores into numbers."""
    checks.require_fits("beam_size", beam_size, Hypotheses)
    checks.require_fits("alpha", alpha, checks.Alpha | None)


def _check_n_best(n_best: int, beam_size: int) -> None:
    if not 0 <= n_best <= beam_size:
        raise ConfigError(
            f"n_best is {n_best}: expected 0 (the translation alone) to "
            f"{beam_size}, the size of the beam; a larger --beam-size has "
            "more."
        )
