"""The translators in the page write what they write in Python.

The reference is float32 on the exported eight-bit weights. A token may differ
only where Python's two best logits lie within ``CLOSE``.
"""

import functools
import warnings
from dataclasses import asdict
from types import SimpleNamespace

import pytest
import torch
from browsing import FEWER
from course_parts import OnlyAdd, OnlyNorm
from torch import nn

from transformer_course.checkpoints import int8
from transformer_course.checkpoints.shipped import load_shipped
from transformer_course.data.corpora import load_corpus
from transformer_course.data.tokenizer import BOS, EOS, PAD
from transformer_course.decoding.generate import beam_search, greedy_search
from transformer_course.interpretation.hooks import heads_of, patch_heads
from transformer_course.models import transformer
from transformer_course.models.layers import AddNorm
from transformer_course.models.transformer import Transformer

CLOSE = 1e-4
PLACES = 12
FEW = 5 if FEWER else 30
ALL = 500
CORPORA = {
    "grammar": ("grammar",),
    "en-ja": ("small_parallel_enja", "en", "ja"),
    "ja-en": ("small_parallel_enja", "ja", "en"),
}


def counts(few):
    """Of sentences, by day and by night."""
    every = pytest.param(ALL, marks=pytest.mark.exhaustive)
    return pytest.mark.parametrize("count", [few, every])


each_count = counts(FEW)


@functools.cache
def loaded(name):
    """A model in evaluation mode, on the weights that the page has."""
    found = load_shipped(name)
    with torch.no_grad():
        for parameter in found.model.parameters():
            if parameter.ndim > 1:
                values = int8.dequantized(*int8.quantized(parameter))
                parameter.copy_(values)
    return found


def sentences(name, count):
    return load_corpus(*CORPORA[name]).test.src[:count]


def source(name, texts, places=0):
    """Ids, padded to the longest, or to so many places."""
    rows = [[*loaded(name).tokenizer.encode(text), EOS] for text in texts]
    width = max(places, *map(len, rows))
    return torch.tensor([row + [PAD] * (width - len(row)) for row in rows])


def batches(texts, size=50):
    return [texts[at : at + size] for at in range(0, len(texts), size)]


@pytest.fixture(scope="module")
def live(tab, address_of):
    """How to ask the models of chapter 00, which has all."""
    tab.open(address_of("00_watch_it_translate"))
    return lambda name, call, requests: tab.page.evaluate(
        """async ([name, call, requests]) => {
          const folder = "_static/live/models";
          const model = course.ui.translator(name, folder);
          await model.load();
          const found = [];
          for (const one of requests)
            found.push(await model.ask(call, one));
          return found;
        }""",
        [name, call, requests],
    )


def closest(model, src, ids):
    """Difference of the two best logits at the first place that matters."""
    tgt = torch.tensor([[BOS, *ids]])
    logits = model(src, tgt)[0, -1]
    logits[[PAD, BOS]] = -torch.inf
    first, second = logits.topk(2).values.tolist()
    return first - second


def check_same(name, texts, written, expected, model, places=0):
    """Every token is the same, or the choice was a close one."""
    close = 0
    for text, ids, own in zip(texts, written, expected, strict=True):
        if ids == own:
            continue
        pairs = zip([*ids, EOS], [*own, EOS], strict=False)
        at = next(i for i, (one, other) in enumerate(pairs) if one != other)
        src = source(name, [text], places)
        difference = closest(model, src, own[:at])
        assert difference < CLOSE, f"{text}: {ids} in the page, {own} here"
        close += 1
    if close:
        warnings.warn(f"{name}: {close} close choices differ", stacklevel=2)


@torch.inference_mode()
def greedy(name, texts, model, places=0, cached=True):
    found = []
    for some in batches(texts, 1 if places else 50):
        src = source(name, some, places)
        found += greedy_search(model, src, cached=cached)
    return found


@pytest.mark.parametrize("name", CORPORA)
@each_count
@torch.inference_mode()
def test_greedy_search_writes_the_same_tokens(live, name, count):
    """Padding changes nothing."""
    texts, model = sentences(name, count), loaded(name).model
    asked = [{"text": text, "places": PLACES} for text in texts]
    written = [one["ids"] for one in live(name, "translate", asked)]
    check_same(name, texts, written, greedy(name, texts, model), model)


@pytest.mark.parametrize("name", ["grammar", "en-ja"])
@each_count
@torch.inference_mode()
def test_beam_search_finds_the_same_scores(live, name, count):
    texts, model = sentences(name, count), loaded(name).model
    asked = [{"text": t, "beamSize": 5, "alpha": 0.6} for t in texts]
    expected = []
    for some in batches(texts):
        src = source(name, some)
        expected += beam_search(model, src, beam_size=5, alpha=0.6)
    answers = live(name, "beam", asked)
    for text, found, own in zip(texts, answers, expected, strict=True):
        scores = [one["score"] for one in found["beam"]]
        assert scores == pytest.approx([one.score for one in own], abs=1e-3)
        if own[0].score - own[1].score > 1e-3:
            assert found["beam"][0]["ids"] == own[0].ids, text


class Left(nn.Module):
    """What is left of an embedding when no position is added."""

    def forward(self, x, *_, **__):
        return x


class Passed(nn.Module):
    """What is left of an add and norm when its sub-layer is skipped."""

    def forward(self, x, sublayer):
        return x


SUMS = {"residual": OnlyNorm, "norm": OnlyAdd}
LAST_CROSS = "decoder.layers.1.cross_attention"


def no_mask(length, device=None):
    """Every token may look at every other."""
    return torch.ones(1, 1, length, length, dtype=torch.bool)


class Unmasked(Transformer):
    """A model that attends to padding too."""

    def decode(self, tgt_in, memory=None, src_mask=None, cache=None):
        return super().decode(tgt_in, memory, None, cache)


SUBLAYERS = {
    "self_attention": ("add_norm_1", "add_norm_1"),
    "cross_attention": (None, "add_norm_2"),
    "feed_forward": ("add_norm_2", "add_norm_3"),
}
"""Where each stands in a layer of the encoder and of the decoder."""


def skip(layers, add_norm):
    """Let layers go on without the sub-layer in this add and norm."""
    for layer in layers:
        if add_norm:
            setattr(layer, add_norm, Passed())


def without(switch, value):
    """A copy of the small model in which one part is switched off."""
    model = loaded("grammar").model
    kind = Unmasked if switch == "paddingMask" else Transformer
    copy = kind(model.config)
    copy.load_state_dict(model.state_dict())
    copy.eval()
    if switch == "positions":
        copy.src_position = copy.tgt_position = Left()
    elif value == [LAST_CROSS]:
        skip(copy.decoder.layers[-1:], "add_norm_2")
    elif switch == "without":
        of_encoder, of_decoder = SUBLAYERS[value[0]]
        skip(copy.encoder.layers, of_encoder)
        skip(copy.decoder.layers, of_decoder)
    elif switch in SUMS:
        for part in copy.modules():
            if isinstance(part, AddNorm):
                part.__class__ = SUMS[switch]
    elif switch == "paddingMask":
        copy.config = SimpleNamespace(**asdict(model.config) | {"pad_id": -1})
    return copy


@counts(max(FEW, 15))  # a few see no mask
@pytest.mark.parametrize(
    ("switch", "value", "places"),
    [
        ("positions", False, 0),
        ("paddingMask", False, PLACES),
        ("without", [LAST_CROSS], 0),
        *(("without", [part], 0) for part in SUBLAYERS),
        ("residual", False, 0),
        ("norm", False, 0),
        ("causalMask", False, 0),
    ],
)
@torch.inference_mode()
def test_a_switch_does_what_the_change_does_in_python(
    live, monkeypatch, switch, value, places, count
):
    texts = sentences("grammar", count)
    asked = [
        {"text": text, "places": places, "switches": {switch: value}}
        for text in texts
    ]
    written = [one["ids"] for one in live("grammar", "translate", asked)]
    whole = greedy("grammar", texts, loaded("grammar").model)
    model = without(switch, value)
    if switch == "causalMask":
        monkeypatch.setattr(transformer, "causal_mask", no_mask)
    expected = greedy("grammar", texts, model, places, switch != "causalMask")
    check_same("grammar", texts, written, expected, model, places)
    assert written != whole


@each_count
@torch.inference_mode()
def test_heads_that_are_off_answer_zero_as_in_python(live, count):
    texts, model = sentences("grammar", count), loaded("grammar").model
    left = {"encoder.layers.1.self_attention": [0, 2], LAST_CROSS: [3]}
    asked = [{"text": text, "switches": {"heads": left}} for text in texts]
    written = [one["ids"] for one in live("grammar", "translate", asked)]
    gone = [
        head
        for head in heads_of(model)
        if head.number not in left.get(head.part, range(99))
    ]
    assert len(gone) == 5
    with patch_heads(model, dict.fromkeys(gone, 0.0)):
        expected = greedy("grammar", texts, model)
        check_same("grammar", texts, written, expected, model)
    assert written != greedy("grammar", texts, model)
