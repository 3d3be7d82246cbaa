"""``fill``: hidden words, guessed."""

from typing import Annotated

import tyro

from transformer_course.cli.lines import chunks, typed
from transformer_course.cli.options import Device, Model
from transformer_course.console import log
from transformer_course.errors import ConfigError


def fill(
    model: Model,
    text: Annotated[
        str,
        tyro.conf.Positional,
        tyro.conf.arg(
            metavar="[TEXT]",
            help="a text with [MASK] in it, once or more; if left out, what "
            "comes from a pipe, a text a line.",
            help_behavior_hint="",
        ),
    ] = "",
    top: int = 5,
    device: Device = "auto",
) -> None:
    """Guess hidden words: place, piece, probability, with tabs between.

    A place is the number of a [MASK] in its text, from 1.

    Args:
        top: so many guesses for each place, the likeliest first.
    """
    from transformer_course.decoding.fill import fill as guesses_of
    from transformer_course.inference.text_model import TextModel

    if not text and typed():
        raise ConfigError(
            "no text was given: fill MODEL 'a text with [MASK] in it'."
        )
    given = [(1, [text])] if text else chunks(None, 1, "fill")
    used = TextModel.load(model, device)
    if used.task.output_kind != "hidden words":
        raise ConfigError(
            f"{model} was not pre-trained on hidden words, and cannot fill "
            "any: train one with transformer-course train aozora-bert."
        )
    if used.path != model:
        log(f"using {used.path}")
    for _, [one] in given:
        found = guesses_of(used.model, used.tokenizer, one, top)
        for place, guesses in enumerate(found, start=1):
            for piece, probability in guesses:
                print(place, piece, f"{probability:.4f}", sep="\t", flush=True)
