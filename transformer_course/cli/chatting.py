"""``chat``: a conversation with a published model that answers."""

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from transformer_course import checks
from transformer_course.cli.lines import chunks, warn, write
from transformer_course.cli.options import Device, Model, load
from transformer_course.cli.texts import Number
from transformer_course.errors import ConfigError

if TYPE_CHECKING:
    from transformer_course.inference.model import TrainedModel


def chat(
    model: Model,
    system: str = "",
    temperature: float = 0.7,
    top_k: int = 0,
    top_p: float = 1.0,
    min_p: float = 0.1,
    max_length: int = 500,
    seed: int = 0,
    device: Device = "auto",
    decoder: Path | None = None,
) -> None:
    """Talk with a model that was trained to answer, such as smollm2.

    Type a line, and read the answer as it is written; Ctrl-C stops an
    answer, Ctrl-D ends the conversation. Lines can be piped in, too; blank
    ones are passed over. When the model's context is full, the oldest turns
    are dropped; the system's message stays.

    smollm2 invents facts, and its model card names no training that would
    teach it to refuse: asked for something harmful, it answers. Give it to
    nobody as an adviser.

    Args:
        system: what the model is told beforehand; if left out, what it was
            told in its training.
        temperature: below 1 sharper, above 1 wilder.
        top_k: sample from the k most probable tokens; 0 takes all, 1 only
            the likeliest.
        top_p: sample from the most probable tokens that hold this share.
        min_p: sample from tokens at least this share as probable as the
            likeliest.
        max_length: most tokens of an answer.
        seed: fixes the answers.
        decoder: a file of your own, such as my_transformer.py, whose class
            MyDecoder takes the model's weights and computes in its place. It
            knows no cache: each token takes about a second.
    """
    import torch

    from transformer_course.fast.four_bits import keep_packed
    from transformer_course.inference.chat import (
        SYSTEM,
        Conversation,
        TooLong,
    )

    checks.require_fits("system", system, str)
    checks.require_fits("max_length", max_length, Number)
    checks.require_fits("seed", seed, checks.Seed)
    used = load(model, device)
    if decoder:
        used = _computed_by(decoder, used)
    else:
        keep_packed(used.model)
    talk = Conversation(used, system or SYSTEM, _dropped)
    place = next(used.model.parameters()).device
    generator = torch.Generator(place).manual_seed(seed)
    for _, [said] in chunks(None, 1, "chat", prompt="> "):
        if not said.strip():
            continue
        try:
            talk.answer(
                said.strip(),
                partial(write, keep="\n\t"),
                max_length,
                generator=generator,
                temperature=temperature,
                top_k=top_k,
                top_p=top_p,
                min_p=min_p,
            )
        except KeyboardInterrupt:
            write(" …")
        except TooLong as error:
            warn([str(error)])
            continue
        print(flush=True)
        if talk.cut:
            warn(
                [
                    "the answer was cut off before its end, at --max-length "
                    "or where the model's context ends."
                ]
            )


def _computed_by(file: Path, used: "TrainedModel") -> "TrainedModel":
    """The same model, computed by the decoder of a user's file.

    Raises:
        ConfigError: the model is of another kind.
        CourseError: the file cannot be used.
    """
    from transformer_course.cli.own import code_of
    from transformer_course.models.custom import DECODER, CustomDecoder
    from transformer_course.models.modern import ModernLanguageModel

    if not isinstance(used.model, ModernLanguageModel):
        raise ConfigError(
            f"{used.path} is no decoder of chapter 22's kind, so {DECODER} "
            "cannot take its weights: chat with smollm2."
        )
    code = code_of(file, DECODER)
    return replace(used, model=CustomDecoder(code, used.model))


def _dropped(turns: int) -> None:
    what = "turn is" if turns == 1 else f"{turns} turns are"
    warn([f"the context is full: the oldest {what} dropped, the rest read."])
