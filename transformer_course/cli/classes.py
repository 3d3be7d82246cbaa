"""``classify``: lines of text or images in, classes out."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import tyro

from transformer_course.cli.images import classify_images
from transformer_course.cli.lines import (
    CHUNK,
    check_writable,
    chunks,
    typed,
    warn,
)
from transformer_course.cli.options import AsIs, Device, Explain, Model
from transformer_course.console import log
from transformer_course.errors import ConfigError
from transformer_course.files import write_atomic

if TYPE_CHECKING:
    from transformer_course.inference.text_model import TextModel
    from transformer_course.interpretation.explain_page import Item


def classify(
    model: Model,
    files: Annotated[
        tuple[Path, ...],
        tyro.conf.Positional,
        tyro.conf.arg(
            metavar="[FILE ...]",
            help="images; or a text in UTF-8, one a line. If left out, text "
            "that is typed or comes from a pipe.",
        ),
    ] = (),
    top: int = 1,
    fit: Annotated[
        bool,
        tyro.conf.arg(
            help="crop, scale and convert images of another size or other "
            "colours, in place of refusing them."
        ),
    ] = False,
    explain: Explain = None,
    as_is: AsIs = False,
    device: Device = "auto",
) -> None:
    """Say which class a line of text has, or what an image shows.

    Of an image: file, class, probability, with tabs between, a line for each
    class. Of a text: a line with class and probability, then the next.

    Args:
        top: so many classes for each, the likeliest first.
    """
    from transformer_course.inference.image_model import reads_images

    if reads_images(model):
        classify_images(model, files, top, fit, explain, device)
        return
    if len(files) > 1:
        raise ConfigError(
            f"{len(files)} files were given, and this model reads the lines "
            "of one: cat FILE ... | transformer-course classify MODEL"
        )
    if fit:
        raise ConfigError("--fit is for images: leave it out.")
    _classify_lines(model, *(files or [None]), top, explain, as_is, device)


def _classify_lines(
    model: Path,
    file: Path | None,
    top: int,
    explain: Path | None,
    as_is: bool,
    device: str,
) -> None:
    """A line of classes for each line of text; an empty one has none."""
    from transformer_course.inference.text_model import TextModel

    used = TextModel.load(model, device, as_is)
    used.classify([], top)  # what does not fit is said before the text is read
    check_writable(explain, model, used.path, file)
    if used.path != model:
        log(f"using {used.path}")
    size = 1 if file is None and typed() else CHUNK
    items: list[Item] = []
    for first, lines in chunks(file, size, "classify"):
        warn(used.warnings(lines, first=first))
        for number, line, guesses in zip(
            range(first, first + len(lines)),
            lines,
            used.classify(lines, top),
            strict=True,
        ):
            if not guesses:
                warn([f"line {number} is empty, and has no class."])
            columns = (f"{name}\t{share:.4f}" for name, share in guesses)
            print(*columns, sep="\t", flush=True)
            if explain and guesses:
                items.append(_explained(used, line, guesses))
    if explain:
        write_atomic(explain, _page(used, items))


def _explained(used: "TextModel", line: str, guesses: list) -> "Item":
    """A line in colour, by both ways."""
    from transformer_course.interpretation.explain_page import (
        Item,
        text_heatmap,
    )

    spoken = used.explain(line)
    said = ", ".join(f"{name} ({share:.2f})" for name, share in guesses)
    shown = (
        "<p>What the class token looks at:</p>",
        text_heatmap(spoken.pieces, spoken.attention),
        "<p>What speaks for the first class, by gradient × attention:</p>",
        text_heatmap(spoken.pieces, spoken.relevance),
    )
    return Item(line, said, "\n".join(shown))


def _page(used: "TextModel", items: list) -> str:
    from transformer_course.interpretation.explain_page import page

    return page(
        f"What {used.path} read",
        "The stronger the orange, the more of it; each line has its own "
        "scale. What a model looks at is not why it answers: the two maps of "
        "a line need not agree.",
        items,
    )
