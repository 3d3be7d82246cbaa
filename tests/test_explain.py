"""A record says what went in and out, and leaves the model as it was."""

import pytest
import torch
from tiny import close, random_ids, tiny_transformer, with_bos

from transformer_course.errors import ConfigError
from transformer_course.explain import cross_attention, record
from transformer_course.tokenizer import PAD


def src_and_tgt():
    return random_ids(3, 5, seed=1), with_bos(random_ids(3, 4, seed=2))


def test_the_record_is_of_this_call():
    model = tiny_transformer()
    src, tgt = src_and_tgt()
    given, gave = record(model, src, tgt)
    assert given[""] == (src, tgt)
    close(gave[""], model(src, tgt))
    close(gave["encoder"], model.encode(src))
    assert {name for name, _ in model.named_modules()} >= set(gave)


def test_a_part_called_again_gives_what_was_recorded():
    model = tiny_transformer()
    given, gave = record(model, *src_and_tgt())
    for name, part in model.named_modules():
        if name.endswith("feed_forward"):
            close(part(*given[name]), gave[name])
    name = "decoder.layers.1.cross_attention"
    query, memory = given[name]
    close(memory, gave["encoder"])
    assert gave[name].shape == query.shape


def test_no_hook_stays_and_no_gradient_is_kept():
    model = tiny_transformer().train()
    _, gave = record(model, *src_and_tgt())
    assert not gave[""].requires_grad
    assert model.training
    assert not any(part._forward_hooks for part in model.modules())


def test_no_hook_stays_after_an_error():
    model = tiny_transformer()
    with pytest.raises(ConfigError):
        record(model, torch.full((1, 2), 99), torch.ones(1, 2).long())
    assert not any(part._forward_hooks for part in model.modules())


def test_cross_attention_is_that_of_the_layers_and_blind_to_padding():
    model = tiny_transformer()
    src, tgt = src_and_tgt()
    src[0, 3:] = PAD
    weights = cross_attention(model, src, tgt)
    config = model.config
    assert weights.shape == (3, config.n_layers, config.n_heads, 5, 5)
    close(weights.sum(dim=-1), torch.ones(weights.shape[:-1]))
    assert not weights[0, ..., 3:].any()
    alone = cross_attention(model, src[:1, :3], tgt[:1])
    close(weights[:1, ..., :3], alone)

    given, gave = record(model, src, tgt)
    name = "decoder.layers.1.cross_attention"
    layer, memory = model.get_submodule(name), given[name][1]
    value = layer.to_value(memory).view(3, 5, config.n_heads, -1)
    mixed = torch.einsum("bhts,bshd->bthd", weights[:, 1], value)
    close(layer.to_output(mixed.flatten(2)), gave[name])


def test_a_step_s_row_does_not_depend_on_what_comes_after_it():
    model = tiny_transformer()
    src, tgt = src_and_tgt()
    whole = cross_attention(model, src, tgt)
    close(whole[..., :2, :], cross_attention(model, src, tgt[:, :2]))
