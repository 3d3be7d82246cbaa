"""Swapped layers compute what the plain ones compute."""

import copy

import pytest
import torch
import torch.nn.functional as F
from tiny import close, random_ids, tiny_transformer, with_bos
from torch import nn

from transformer_course.fast import optimize as module
from transformer_course.fast.optimize import (
    Dropout16,
    ShortAttention,
    optimize,
)
from transformer_course.models.attention import MultiHeadAttention
from transformer_course.training.config import LoopConfig
from transformer_course.training.loop import make_optimizer


def gradients(way, *tensors):
    """The output, and the gradients of a weighted sum of it."""
    own = [t.clone().requires_grad_() for t in tensors]
    output = way(*own)
    weights = torch.linspace(-1, 1, output.numel()).view(output.shape)
    (output * weights).sum().backward()
    return output, *(tensor.grad for tensor in own)


def same_gradients(ours, theirs, *tensors):
    found, wanted = gradients(ours, *tensors), gradients(theirs, *tensors)
    for one, other in zip(found, wanted, strict=True):
        close(one, other)


# --- the model ---------------------------------------------------------------


def test_a_model_and_its_gradients_are_those_of_the_plain_model():
    plain = tiny_transformer(seed=1).eval()
    fast = optimize(copy.deepcopy(plain))
    kinds = {type(layer) for layer in fast.modules()}
    assert {Dropout16, ShortAttention} <= kinds
    assert not {nn.Dropout, MultiHeadAttention} & kinds
    src, tgt = random_ids(2, 5), with_bos(random_ids(2, 4))
    for model in (plain, fast):
        model(src, tgt).square().sum().backward()
    found, wanted = (dict(m.named_parameters()) for m in (fast, plain))
    assert list(found) == list(wanted)
    for name, parameter in wanted.items():
        close(found[name].grad, parameter.grad, 1e-4)
    with torch.inference_mode():
        close(fast(src, tgt), plain(src, tgt))


def test_parameters_state_mode_and_an_earlier_optimizer_stay():
    model = tiny_transformer().eval()
    parameters, state = list(model.parameters()), model.state_dict()
    optimizer = make_optimizer(model, LoopConfig())
    assert optimize(model) is model
    for one, other in zip(model.parameters(), parameters, strict=True):
        assert one is other
    assert list(model.state_dict()) == list(state)
    assert not any(layer.training for layer in model.modules())
    table = model.to_logits.weight
    assert any(p is table for p in optimizer.param_groups[0]["params"])


def test_a_layer_that_two_share_is_still_shared():
    layer = nn.Dropout()
    model = optimize(nn.Sequential(layer, nn.Sequential(layer)))
    assert model[0] is model[1][0] and type(model[0]) is Dropout16


def test_a_layer_alone_is_swapped_and_a_subclass_is_not():
    class Own(nn.Dropout):
        """A reader's own layer."""

    assert type(optimize(nn.Dropout())) is Dropout16
    assert type(optimize(nn.Sequential(Own()))[0]) is Own


# --- dropout -----------------------------------------------------------------


@pytest.mark.parametrize("share", [0.1, 0.3, 0.5])
def test_dropout_drops_its_share_and_scales_the_rest(share):
    torch.manual_seed(0)
    count = 200_001  # not a multiple of four
    x = torch.ones(3, count // 3, requires_grad=True)
    y = Dropout16(share)(x)
    dropped = (y == 0).double().mean().item()
    spread = (share * (1 - share) / count) ** 0.5
    assert abs(dropped - share) < 5 * spread
    close(y[y != 0], torch.full_like(y[y != 0], 1 / (1 - share)), 1e-4)
    y.sum().backward()
    assert torch.equal(x.grad, y.detach())


def test_a_seed_fixes_what_is_dropped():
    x, layer = torch.ones(1000), Dropout16(0.5)
    torch.manual_seed(1)
    first, other = layer(x), layer(x)
    torch.manual_seed(1)
    assert torch.equal(layer(x), first)
    assert not torch.equal(first, other)
    assert torch.equal(layer.eval()(x), x)


def test_neighbours_are_dropped_independently():
    torch.manual_seed(0)
    kept = (Dropout16(0.5)(torch.ones(40_000)) > 0).double() - 0.5
    for step in (1, 2, 3, 4):  # four numbers come from one draw
        together = (kept[step:] * kept[:-step]).mean().item() * 4
        assert abs(together) < 5 / 40_000**0.5


@pytest.mark.parametrize("share", [0.0, 1.0, 1e-9])
def test_dropping_nothing_and_everything_is_torchs(share):
    x = torch.randn(7)
    close(Dropout16(share)(x), F.dropout(x, share))


# --- attention ---------------------------------------------------------------


def attend_both(*given):
    fast, plain = ShortAttention(8, 1), MultiHeadAttention(8, 1)
    return [
        lambda *tensors, layer=layer: layer.attend(*tensors, *given)
        for layer in (fast, plain)
    ]


def some_mask(queries: int, masked: bool):
    if not masked:
        return None
    mask = torch.rand(2, 1, queries, 9) > 0.3
    mask[0, 0, 0] = False  # a row that may attend nowhere
    return mask


@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("queries", [1, 16, 17, 33])
def test_attention_and_its_gradients_are_those_of_the_fused_kernel(
    queries, masked
):
    torch.manual_seed(0)
    tensors = [torch.randn(2, 3, n, 8) for n in (queries, 9, 9)]
    fast, plain = attend_both(some_mask(queries, masked))
    same_gradients(fast, plain, *tensors)
    with torch.inference_mode():
        close(fast(*tensors), plain(*tensors))


def test_in_bf16_attention_is_as_near_as_its_digits():
    torch.manual_seed(0)
    narrow = torch.randn(3, 2, 3, 20, 8).bfloat16()
    fast, plain = attend_both(None)
    found = gradients(fast, *narrow)
    wanted = gradients(plain, *narrow.float())
    for one, other in zip(found, wanted, strict=True):
        assert one.dtype == torch.bfloat16
        close(one.float(), other, 0.03)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_with_gradients_long_inputs_are_left_to_the_fused_kernel(
    dtype, monkeypatch
):
    monkeypatch.setattr(module, "fused_attention", lambda *_: "fused")
    layer, longest = ShortAttention(4, 1), module.MAX_LENGTH[dtype]
    short, long = (
        torch.zeros(1, 1, length, 4, dtype=dtype)
        for length in (longest, longest + 1)
    )
    assert torch.is_tensor(layer.attend(short, short, short, None))
    for query, key in ((short, long), (long, short)):
        assert layer.attend(query, key, key, None) == "fused"
