"""The numbers on the page of corrections."""

import re

import torch
from built_book import BOOK

from transformer_course.models.config import ModelConfig
from transformer_course.models.layers import FeedForward
from transformer_course.models.transformer import (
    DecoderLayer,
    EncoderLayer,
    Transformer,
)
from transformer_course.training.loop import paper_peak_rate

PAGE = (BOOK / "en" / "corrections.md").read_text(encoding="utf-8")
ENTRIES = re.split(r"^(?=\((?:said|asked)-)", PAGE, flags=re.M)[1:]


def entry(label):
    """What stands under a label."""
    (found,) = [text for text in ENTRIES if text.startswith(f"({label})=")]
    return found


def count(model):
    """Weights of a model."""
    return sum(p.numel() for p in model.parameters())


# --- its numbers -------------------------------------------------------------


def test_peak_rate():
    rate = f"{paper_peak_rate(512, 4000):.2e}".replace("e-0", "e-")
    assert rate in entry("said-peak-rate")


def test_weights_of_a_layer_and_of_the_model():
    d = 64
    config = ModelConfig(d_model=d, n_heads=4, d_ff=4 * d)
    encoder, decoder = EncoderLayer(config), DecoderLayer(config)
    text = entry("said-nothing-but-attention")
    for layer, squares in ((encoder, 12), (decoder, 16)):
        matrices = [p for p in layer.parameters() if p.dim() == 2]
        assert sum(p.numel() for p in matrices) == squares * d**2
        assert f"{squares}d^2" in text
    with torch.device("meta"):
        base = Transformer(ModelConfig(37_000, 512, 8, 2048, 6))
        big = Transformer(ModelConfig(37_000, 1024, 16, 4096, 6))
    part = sum(count(m) for m in base.modules() if isinstance(m, FeedForward))
    assert f"{100 * part / count(base):.0f} %" in text
    text = entry("said-65-million")
    assert f"{count(base) / 1e6:.2f} million" in text
    assert f"{count(big) / 1e6:.2f} million" in text


def test_a_hidden_largest_score_spoils_what_is_divided_by_the_rest():
    scores = torch.tensor([100.0, 0.0, 0.0])
    seen = torch.tensor([0.0, 1.0, 1.0])
    powers = (scores - scores.max()).exp() * seen
    weights = powers / (powers.sum() + 1e-7)
    shown = ", ".join(f"{w:.0e}" if w else "0" for w in weights.tolist())
    assert f"[{shown}]" in entry("said-times-zero")
    right = scores.masked_fill(seen == 0, -torch.inf).softmax(0)
    torch.testing.assert_close(right, seen / 2)


def test_speeds_of_the_right_and_of_the_copied_table():
    d, i = 128, 2  # the script's i is a column; the second pair
    right = 10000 ** (-i / d)
    copied = [10000 ** (-2 * column / d) for column in (i, i + 1)]
    text = entry("said-heat-map")
    for speed in [right, *copied]:
        assert f"{speed:.3f}".removeprefix("0") in text
