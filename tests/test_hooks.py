"""Hooks record, replace and are removed; the model is unchanged."""

import pytest
import torch
from test_modern import tiny_modern
from tiny import (
    close,
    random_ids,
    tiny_language_model,
    tiny_transformer,
    with_bos,
)
from torch import nn

from transformer_course.data.tokenizer import PAD
from transformer_course.errors import ConfigError
from transformer_course.fast.optimize import optimize
from transformer_course.interpretation.hooks import (
    Head,
    attention_layers,
    attention_maps,
    capture_attention,
    cheapest_first,
    head_outputs,
    heads_of,
    kind_of,
    mean_outputs,
    patch_heads,
    patch_weights,
    record,
)

CROSS = "decoder.layers.1.cross_attention"


def inputs(rows=3, source=5, target=4):
    return (
        random_ids(rows, source, seed=1),
        with_bos(random_ids(rows, target, seed=2)),
    )


def hooks_of(model):
    return [
        hook
        for part in model.modules()
        for hooks in (part._forward_hooks, part._forward_pre_hooks)
        for hook in hooks
    ]


def test_a_record_is_of_this_call_and_leaves_nothing_behind():
    model, asked = tiny_transformer(), inputs()
    given, gave = record(model, *asked)
    assert given[""] == asked and not gave[""].requires_grad
    close(gave[""], model(*asked))
    close(gave["encoder"], model.encode(asked[0]))
    close(given[CROSS][1], gave["encoder"])
    for name, part in model.named_modules():
        if name.endswith("feed_forward"):
            close(part(*given[name]), gave[name])
    assert not hooks_of(model)


def test_heads_have_names_and_kinds():
    model = tiny_transformer()
    assert len(heads_of(model)) == 2 * 3 * 2
    first, last = heads_of(model)[0], Head(CROSS, 1)
    assert str(first) == "encoder 1.1" and str(last) == "cross 2.2"
    assert last in heads_of(model)
    kinds = [kind_of(part) for part in attention_layers(model)]
    assert kinds[:2] == ["encoder", "encoder"] and "cross" in kinds
    assert {kind_of(h.part) for h in heads_of(tiny_language_model())} == {
        "decoder"
    }
    with pytest.raises(ConfigError, match="Linear has no attention layer"):
        heads_of(nn.Linear(2, 2))


def test_maps_are_those_of_the_layers_and_hide_padding_and_the_future():
    model = tiny_transformer()
    src, tgt = inputs()
    src[0, 3:] = PAD
    maps = attention_maps(model, src, tgt)
    assert list(maps) == list(attention_layers(model))
    given, gave = record(model, src, tgt)
    for name, weights in maps.items():
        layer, values = model.get_submodule(name), given[name][-1]
        close(weights.sum(dim=-1), torch.ones(weights.shape[:-1]))
        value = layer._split(layer.to_value(values))
        close(layer.to_output(layer._merge(weights @ value)), gave[name])
    assert not maps[CROSS][0, ..., 3:].any()
    assert not maps["decoder.layers.0.self_attention"].triu(1).any()
    alone = attention_maps(model, src[:1, :3], tgt[:1])
    close(maps[CROSS][:1, ..., :3], alone[CROSS])
    assert not hooks_of(model)


@pytest.mark.parametrize("sinks", [False, True])
def test_maps_of_a_decoder_of_today_give_its_own_outputs(sinks):
    model = tiny_modern(n_layers=2, window=3, sinks=sinks)
    ids = random_ids(2, 7, seed=1)
    given, gave = record(model, ids)
    maps = attention_maps(model, ids)
    assert list(maps) == [f"layers.{i}.attention" for i in range(2)]
    for name, weights in maps.items():
        part = model.get_submodule(name)
        value = part._heads(part.to_value(given[name][0]))
        value = value.repeat_interleave(2, dim=1)
        weights = weights[..., :7]  # without a sink
        merged = (weights @ value).transpose(1, 2).flatten(2)
        close(part.to_output(merged), gave[name], 1e-4)
    assert not maps["layers.0.attention"][..., 5, :3].any()  # its window
    own = head_outputs(model, ids)
    assert own.keys() == {Head(n, i) for n in maps for i in range(4)}
    before = model(ids)
    with patch_heads(model, own):
        close(model(ids), before)
    with patch_heads(model, {Head("layers.1.attention", 3): 0.0}):
        assert (model(ids) - before).abs().max() > 1e-4


def test_other_weights_mix_the_values():
    model = tiny_transformer()
    before = model(*inputs())
    part = model.decoder.layers[1].cross_attention
    with patch_weights(part, lambda weights: weights):
        close(model(*inputs()), before, tolerance=1e-4)
    with patch_weights(part, torch.zeros_like):
        without = model(*inputs())
    zeros = {Head(CROSS, number): 0.0 for number in (0, 1)}
    with patch_heads(model, zeros):
        close(model(*inputs()), without, tolerance=1e-4)
    close(model(*inputs()), before)


def test_its_own_output_changes_nothing_and_that_of_another_input_does():
    model = tiny_transformer()
    one, other = inputs(), (random_ids(3, 5, seed=7), inputs()[1])
    before = model(*one)
    own, foreign = head_outputs(model, *one), head_outputs(model, *other)
    assert own.keys() == set(heads_of(model))
    with patch_heads(model, own):
        close(model(*one), before, tolerance=1e-4)
    head = heads_of(model)[0]
    with patch_heads(model, {head: foreign[head]}):
        changed = model(*one)
    assert (changed - before).abs().max() > 1e-4
    assert not hooks_of(model)


def test_a_mean_is_over_real_tokens():
    model = tiny_transformer()
    src, tgt = inputs()
    src[0, 3:] = PAD
    tgt[1, 2:] = PAD
    together = mean_outputs(model, [(src, tgt)])
    apart = mean_outputs(model, [(src[:1, :3], tgt[:1]), (src[1:], tgt[1:])])
    head = Head(CROSS, 1)
    output = head_outputs(model, src, tgt)[head]
    close(together[head], output[tgt != PAD].mean(dim=0))
    own = heads_of(model)[0]
    output = head_outputs(model, src, tgt)[own]
    close(together[own], output[src != PAD].mean(dim=0))
    for name, mean in apart.items():
        close(mean, together[name], tolerance=1e-4)


def test_who_asks_for_changed_weights_is_told_those():
    model = tiny_transformer()
    part = model.decoder.layers[1].cross_attention
    with patch_weights(part, torch.zeros_like):
        plain = model(*inputs())
        with capture_attention(model) as maps:
            close(model(*inputs()), plain, tolerance=1e-4)
    assert not maps[CROSS].any()


def test_changes_can_stand_within_one_another():
    model = optimize(tiny_transformer())
    part = model.decoder.layers[1].cross_attention
    before = model(*inputs())
    with patch_weights(part, torch.zeros_like):
        without = model(*inputs())
        with patch_weights(part, lambda weights: weights):
            close(model(*inputs()), before, tolerance=1e-4)
        close(model(*inputs()), without)
    close(model(*inputs()), before, tolerance=1e-4)
    assert not {"attend", "_explicit"} & vars(part).keys()


def test_a_head_that_there_is_not_is_told():
    model = tiny_transformer()
    for head in (Head(CROSS, 2), Head("nowhere", 0)):
        wanted = f"there is no head {head.number} in '{head.part}'"
        with (
            pytest.raises(ConfigError, match=wanted),
            patch_heads(model, {head: 0.0}),
        ):
            pass


def test_the_cheapest_goes_first_and_costs_are_asked_anew():
    """Two heads stand in for each other: alone they seem to be free."""
    first, twin, other = (Head("part", number) for number in range(3))

    def loss(gone):
        twins = 5.0 * ({first, twin} <= set(gone))
        return twins + 1.0 * (other in gone)

    order = cheapest_first([first, twin, other], loss)
    assert order == [(first, 0.0), (other, 1.0), (twin, 6.0)]
    assert cheapest_first([first, twin, other], loss, steps=1) == order[:1]
