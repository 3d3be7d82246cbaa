"""``start``, ``check``, ``watch``: the reader's own Transformer.

The command line is where the package and its exercises meet: these commands
alone import the exercises.
"""

import html
import os
import re
import shutil
import sys
import time
import webbrowser
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal
from urllib.parse import quote

import tyro

from transformer_course import files
from transformer_course.cli.options import PROGRAM, Model
from transformer_course.console import log, visible
from transformer_course.errors import (
    ConfigError,
    CourseError,
    MissingPackage,
)

if TYPE_CHECKING:
    from course_exercises.path.checking import Checker

File = Annotated[
    Path,
    tyro.conf.Positional,
    tyro.conf.arg(metavar="[FILE]", help="the file with your Transformer."),
]
Language = Annotated[
    Literal["en", "ja"] | None,
    tyro.conf.arg(help="of the texts; without it, as the environment says."),
]
FILE = Path("my_transformer.py")
PAUSE = 0.5
"""Seconds between two looks at a file that is watched."""
BOOK = Path(__file__).parents[2] / "_build/en/_build/html"
"""The built book.

:meta hide-value:
"""
WATCHED = "00_watch_it_translate.html"
SENTENCES = [
    "cats drink milk .",
    "i am wiser than you .",
    "where did emi buy this hat ?",
    "the boy will not ride the bicycle because it is raining .",
]
"""What a model that the page cannot compute translates."""
MODELS = "_static/live/models"
"""Where the book's pages find the weights of the course's models."""


def start(file: File = FILE, language: Language = None) -> None:
    """Begin a Transformer of your own: a file with a stub for each part.

    A file that is there already is left as it is; parts that it does not have
    are printed.
    """
    from course_exercises.path.file import begin

    _speak(language)
    new = not file.exists()
    missing = begin(file)
    if new:
        log(
            f"{file} is written. Fill in a part, then: transformer-course "
            f"check {file}"
        )
    elif missing:
        log(f"{file} was left as it is. Missing parts: {len(missing)}")
        print("\n\n\n".join(missing))
    else:
        log(f"{file} was left as it is. It has all parts.")


def check(
    file: File = FILE,
    laws: bool = False,
    watch: bool = False,
    language: Language = None,
    page: Annotated[
        Path | None, tyro.conf.arg(name="html", metavar="PAGE")
    ] = None,
) -> None:
    """Say of each part of your Transformer whether it is right.

    A part that is wrong gets the mistake's name, where it is known, and the
    smallest input that shows it. The course's stand in for parts that are not
    right, so one mistake counts once. Your code runs in a process of its own.
    The exit status is 1 if a part is wrong, or a law broken.

    Args:
        laws: also try what must be true of every Transformer (chapter 10).
        watch: check again whenever the file is saved, until Ctrl-C.
        page: also write the answer, with the picture, as a page.
    """
    try:
        from course_exercises.path.checking import Checker
    except ModuleNotFoundError as error:
        raise MissingPackage(error, "exercises") from error

    _speak(language)
    checker, right, seen = Checker(), False, ""
    if watch:
        log(f"watching {file}: save it to check it again; Ctrl-C ends.")
    while True:
        changed = str(file.stat().st_mtime_ns) if file.exists() else "absent"
        if changed != seen:
            seen = changed
            try:
                right = _check_once(checker, file, laws, page)
            except CourseError as error:
                if not watch:
                    raise
                log(f"error: {error}")
        if not watch:
            sys.exit(0 if right else 1)
        time.sleep(PAUSE)


def _speak(language: str | None) -> None:
    """Let the exercises speak a language, here and in the processes."""
    from course_exercises.language import VARIABLE

    if language:
        os.environ[VARIABLE] = language


def code_of(file: Path, name: str) -> str:
    """The text of a file, to run its class ``name`` with.

    The course's parts stand in for those that are not written yet.

    Raises:
        CourseError: the file cannot be used.
    """
    from course_exercises.path.file import read
    from course_exercises.path.parts import needs

    own = read(file)
    for problem in own.broken.values():
        raise CourseError(f"{file}, {' '.join(problem.split())}")
    log(
        f"{file} is taken as it is: {PROGRAM} check {file} says whether its "
        "parts are right."
    )
    code, absent = own.completed()
    used = [part for part in (*needs(name), name) if part in absent]
    if used:
        log(
            f"the course's stand in for parts of {file} that are not written "
            f"yet: {', '.join(used)}"
        )
    return code


def _check_once(
    checker: "Checker", file: Path, laws: bool, page: Path | None
) -> bool:
    """Check a file as it is now; whether nothing in it is wrong."""
    from course_exercises.path import report
    from course_exercises.path.checking import broken_laws
    from course_exercises.path.file import read
    from course_exercises.path.laws import LAWS

    own, colours = read(file), sys.stdout.isatty()
    verdicts = checker.check(own, _progress if colours else lambda name: None)
    print(report.text(own, verdicts, colours), flush=True)
    if page:
        files.write_atomic(page, report.page(own, verdicts))
    broken = broken_laws(own) if laws else {}
    if laws:
        print()
        print(report.laws_text(broken, len(LAWS)), flush=True)
    states = set(map(report.state_of, verdicts.values()))
    return not broken and "wrong" not in states


def _progress(name: str) -> None:
    """A line that the next one overwrites."""
    print(f"\r\x1b[Kchecking {name} ...", end="\r", file=sys.stderr)


def watch(model: Model, show: bool = True) -> None:
    """Watch your Transformer translate, in the book's page.

    It writes chapter 00's page with your weights beside the built book, and
    opens it: everything there is computed by your model, and the course's
    stands beside it. It takes a model of the built-in corpus, as train grammar
    makes one. Of an architecture that the page cannot compute, translations
    are printed.

    Args:
        show: open the page; else only say where it is.
    """
    from transformer_course.checkpoints import checkpoint, web_export
    from transformer_course.checkpoints.find import find_trained
    from transformer_course.decoding.translate import translate

    page = BOOK / WATCHED
    if not page.exists():
        raise CourseError(
            f"{page} is not there: watch needs the built book. Type make book "
            "in the course's folder."
        )
    loaded = checkpoint.load(find_trained(model))
    if loaded.details.get("corpus") != "grammar":
        raise CourseError(
            f"{model} has learned {loaded.details.get('corpus')!r}, and the "
            "page's sentences are of the built-in corpus: train grammar makes "
            "such a model."
        )
    name = model.resolve().name
    folder = BOOK / "_static/live/yours" / name / "grammar"
    shutil.rmtree(folder.parent, ignore_errors=True)
    try:
        web_export.save(folder, loaded.model, loaded.tokenizer, loaded.details)
    except ConfigError as error:
        log(f"the page cannot compute this model: {error} It writes:")
        written = translate(loaded.model, loaded.tokenizer, SENTENCES)
        for pair in zip(SENTENCES, written, strict=True):
            print(*map(visible, pair), sep="  →  ")
        return
    yours = BOOK / f"yours-{name}.html"
    files.write_atomic(yours, _with_yours(page.read_text("utf-8"), name))
    log(f"yours, beside the course's: {yours.as_uri()}")
    if show:
        webbrowser.open(yours.as_uri())


def _with_yours(page: str, name: str) -> str:
    """Chapter 00's page, with the weights and the title of a model."""
    folder = quote(f"_static/live/yours/{name}")
    page = re.sub(
        f'"folder": ?"{MODELS}"',
        f'"folder": "{folder}", "beside": "{MODELS}"',
        page,
    )
    title = rf"\1{html.escape(f'Yours: {name}')}"
    return re.sub(r"(<(?:title|h1)>)00 · Watch it translate", title, page)
