"""What each part of the Transformer is for: the laws that break without it.

A part is left out of chapter 10's build by hand, and the chapter's laws are
tried on what is left. The page leaves the same part out of its translator.
"""

import inspect
from functools import cache
from typing import Any, NamedTuple

from torch import nn

from course_exercises.path.laws import LAWS, broken_laws
from experiments import broken_builds
from transformer_course.models.layers import AddNorm

CHAPTER = LAWS[:9]
"""The laws that chapter 10 tells before its stop line."""


class OnlyNorm(AddNorm):
    """An add and norm that forgets to add."""

    def forward(self, x, sublayer):
        return self.norm(sublayer(x))


class OnlyAdd(AddNorm):
    """An add and norm that forgets to normalise."""

    def forward(self, x, sublayer):
        return x + sublayer(x)


class Part(NamedTuple):
    """A part that can be left out."""

    edits: dict[str, str]
    """In the text of the chapter's classes: what stands there, and what is
    put in its place."""
    switches: dict[str, Any]
    """The same in the page's Transformer."""


SELF = "x = self.add_norm_1(x, lambda y: self.self_attention(y, mask=mask))"
CROSS = """x = self.add_norm_2(
            x, lambda y: self.cross_attention(y, memory, mask=src_mask)
        )"""
PARTS = {
    "positions": Part(
        {" + sinusoidal_encoding(ids.size(1), self.d)": ""},
        {"positions": False},
    ),
    "self-attention": Part({SELF: "pass"}, {"without": ["self_attention"]}),
    "cross-attention": Part({CROSS: "pass"}, {"without": ["cross_attention"]}),
    "feed-forward": Part(
        {
            "return self.add_norm_2(x, self.feed_forward)": "return x",
            "return self.add_norm_3(x, self.feed_forward)": "return x",
        },
        {"without": ["feed_forward"]},
    ),
    "causal mask": Part(
        {"causal_mask(tgt.size(1)) & ": ""}, {"causalMask": False}
    ),
    "padding mask": Part(
        {
            "(src), src_mask": "(src), None",
            "memory, mask=src_mask": "memory",
        },
        {"paddingMask": False},
    ),
    "add": Part({"AddNorm(d)": "OnlyNorm(d)"}, {"residual": False}),
    "norm": Part({"AddNorm(d)": "OnlyAdd(d)"}, {"norm": False}),
}


def built_without(part: Part) -> type[nn.Module]:
    """The chapter's Transformer with the part left out."""
    text = broken_builds.TEXT
    for old, new in part.edits.items():
        if old not in text:
            raise ValueError(f"{old!r} is not in the chapter's build")
        text = text.replace(old, new)
    made = vars(broken_builds) | {"OnlyNorm": OnlyNorm, "OnlyAdd": OnlyAdd}
    exec(text, made)
    return made["MyTransformer"]


@cache
def parts_data() -> dict[str, Any]:
    """The laws, and of each part its switches and the laws that it breaks."""
    laws = {law.holds.__name__: inspect.getdoc(law.holds) for law in CHAPTER}
    parts = {}
    for name, part in PARTS.items():
        found = broken_laws(built_without(part))
        breaks = [law for law in laws if law in found]
        parts[name] = {"switches": part.switches, "breaks": breaks}
    return {"laws": laws, "parts": parts}
