"""What stands in a part's place is all that differs."""

import pytest
import torch
from tiny import tiny_corpus
from torch.testing import assert_close

from experiments import failures, feed_forward, norms, wrong_masks
from experiments.lab import Bench
from experiments.translators import (
    Training,
    causal_of,
    follow,
    padding_of,
    with_masks,
)
from transformer_course.attention import MultiHeadAttention
from transformer_course.batches import Batch
from transformer_course.config import ModelConfig
from transformer_course.masks import causal_mask, padding_mask
from transformer_course.transformer import Transformer

SMALL = ModelConfig(50, d_model=16, n_heads=2, d_ff=32, n_layers=3)
IDS = torch.tensor([[5, 6, 7, 2], [8, 2, 0, 0]])


def built(build=Transformer):
    torch.manual_seed(0)
    return build(SMALL).eval()


def test_the_parts_left_out_are_the_formulas():
    x, sublayer = torch.randn(2, 5, 16), torch.nn.Linear(16, 16)
    add, norm = norms.AddOnly(16), norms.NormOnly(16)
    assert_close(add(x, sublayer), x + sublayer(x))
    assert_close(norm(x, sublayer), norm.norm(sublayer(x)))


@pytest.mark.parametrize(
    ("build", "wanted"),
    [(norms.ADD_ONLY, norms.AddOnly), (norms.NORM_ONLY, norms.NormOnly)],
)
def test_a_part_is_left_out_in_encoder_and_decoder(build, wanted):
    model, usual = built(build), built()
    for layer in (*model.encoder.layers, *model.decoder.layers):
        assert type(layer.add_norm_1) is type(layer.add_norm_2) is wanted
    assert_close(dict(model.state_dict()), dict(usual.state_dict()))


def test_a_small_start_changes_the_last_matrix_of_each_sub_layer_only():
    usual = dict(built().named_parameters())
    for name, weight in built(norms.SmallStart).named_parameters():
        last = name.endswith(("to_output.weight", "narrow.weight"))
        factor = 6**-0.5 if last else 1  # three layers, two sub-layers each
        assert_close(weight, factor * usual[name])


def test_attention_alone_has_no_other_weights():
    names = [
        n for n, _ in built(feed_forward.AttentionOnly).named_parameters()
    ]
    assert not [n for n in names if "feed_forward" in n]
    assert not [n for n in names if n.endswith("decoder.layers.0.add_norm_3")]


def test_without_a_source_the_source_makes_no_difference():
    model, tgt = built(), torch.tensor([[1, 7, 8, 2]])
    scores = [
        norms.score_without_source(model, Batch(torch.tensor(src), tgt))
        for src in ([[5, 6, 2]], [[9, 2]])
    ]
    assert_close(scores[0].loss, scores[1].loss)


def test_a_mask_is_its_two_parts():
    mask = causal_mask(4) & padding_mask(IDS)
    assert_close(causal_of(mask), causal_mask(4))
    assert_close(padding_of(mask), padding_mask(IDS))
    assert_close(causal_of(mask[:, :, 2:]), causal_mask(4)[:, :, 2:])


def test_other_masks_reach_every_attention():
    seen = []
    built(with_masks(lambda m, whose: seen.append(whose) or m))(IDS, IDS)
    assert seen == ["encoder"] * 3 + ["own", "cross"] * 3


def test_masks_that_are_left_as_they_are_change_nothing():
    same = built(with_masks(lambda mask, whose: mask))
    assert_close(same(IDS, IDS), built()(IDS, IDS))


def test_an_inverted_padding_mask_lets_padding_alone_in():
    wrong = built(
        with_masks(failures.padding_inverted, failures.PaddingInverted)
    )
    longer = torch.nn.functional.pad(IDS, (0, 2))
    assert_close(built()(IDS, IDS)[:1], built()(longer, IDS)[:1])
    assert not torch.allclose(wrong(IDS, IDS), wrong(longer, IDS))


def test_an_inverted_causal_mask_shows_what_comes_after():
    model = built(with_masks(failures.causal_inverted))
    other = IDS.clone()
    other[0, 3] = 9
    assert not torch.allclose(model(IDS, IDS)[0, 0], model(IDS, other)[0, 0])


def test_a_training_is_looked_at_now_and_then(tmp_path, monkeypatch):
    tiny_corpus(monkeypatch)
    bench = Bench(tmp_path, smoke=True)
    moments = []
    curve = follow(
        Training(""), 0, bench, lambda m: moments.append(m) or {}, every=1
    )
    assert [m.step for m in moments] == [1, 2]
    assert [m.last for m in moments] == [False, True]
    assert len(curve.scores) == 2 and curve.stopped is None


def test_a_training_that_diverges_says_so(tmp_path, monkeypatch):
    tiny_corpus(monkeypatch)

    def nothing(model, batch, smoothing=0.0):
        found = norms.score_batch(model, batch)
        return found._replace(loss=found.loss * torch.nan)

    training = Training("", score=nothing)
    curve = follow(training, 0, Bench(tmp_path, smoke=True))
    assert curve.stopped.startswith("the loss is nan") and not curve.scores


def test_every_combination_of_the_norms_grid_is_there_once():
    for group, norm_first in (("post/", False), ("pre/", True)):
        cells = [v for k, v in norms.VARIANTS.items() if k.startswith(group)]
        kept = ("model.n_layers", "train.peak_rate")
        found = {
            (*(v.changes[key] for key in kept), v.schedule) for v in cells
        }
        assert len(found) == len(cells) == 3 * 3 * 2
        assert {v.changes["model.norm_first"] for v in cells} == {norm_first}


@pytest.mark.parametrize("columns", [1, 5])
def test_without_a_padding_mask_padding_changes_what_is_answered(columns):
    wider = torch.nn.functional.pad(IDS, (0, columns))
    for remask, hidden in ((wrong_masks.padding_open, False), (None, True)):
        model = built(with_masks(remask) if remask else Transformer)
        same = torch.allclose(model(IDS, IDS), model(wider, IDS), atol=1e-5)
        assert same == hidden


def test_without_a_causal_mask_the_future_is_seen_but_no_padding():
    model = built(with_masks(wrong_masks.future_open))
    other, wider = IDS.clone(), torch.nn.functional.pad(IDS, (0, 2))
    other[0, 3] = 9
    assert not torch.allclose(model(IDS, IDS)[0, 0], model(IDS, other)[0, 0])
    assert_close(model(IDS, IDS), model(IDS, wider)[:, :4])


@pytest.mark.parametrize(
    "kind", [wrong_masks.HiddenAfterSoftmax, wrong_masks.ZeroedBeforeSoftmax]
)
def test_masks_that_are_multiplied_hide_the_wrong_amount(kind):
    usual, wrong = built(), built(wrong_masks.attending_by(kind))
    assert_close(dict(usual.state_dict()), dict(wrong.state_dict()))
    assert not torch.allclose(usual(IDS, IDS), wrong(IDS, IDS))
    torch.manual_seed(0)
    query, key, value = torch.randn(3, 1, 1, 4, 8)
    everything = torch.ones(4, 4, dtype=torch.bool)
    found, expected = (
        layer.attend(query, key, value, everything)
        for layer in (kind(8, 1), MultiHeadAttention(8, 1))
    )
    assert_close(found, expected)  # nothing is hidden, nothing is wrong
