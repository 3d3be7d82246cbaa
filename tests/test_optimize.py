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
    OneDNNLinear,
    OneDNNProduct,
    ShortAttention,
    has_onednn,
    optimize,
    padded_size,
    product,
)
from transformer_course.inference.model import TrainedModel
from transformer_course.models.attention import MultiHeadAttention
from transformer_course.training.config import LoopConfig
from transformer_course.training.loop import make_optimizer

needs_onednn = pytest.mark.skipif(
    not has_onednn(torch.float32), reason="needs oneDNN"
)


@pytest.fixture
def onednn(monkeypatch):
    """A processor on which oneDNN is faster."""
    if not has_onednn(torch.float32):
        pytest.skip("needs oneDNN")
    monkeypatch.setattr(
        module,
        "onednn_is_faster",
        lambda dtype, packed=None: has_onednn(dtype),
    )


@pytest.fixture
def calls(onednn, monkeypatch):
    """The first argument of each product that oneDNN is given."""
    found, way = [], module._onednn

    def noted(a, b, bias=None):
        found.append(a)
        return way(a, b, bias)

    monkeypatch.setattr(module, "_onednn", noted)
    return found


def two_layers() -> nn.Module:
    wide, narrow = nn.Linear(8, 16), nn.Linear(16, 8, bias=False)
    return nn.Sequential(wide, nn.Dropout(0.5), narrow)


def gradients(way, *tensors):
    """The output, and the gradients of a weighted sum of it."""
    own = [t.clone().requires_grad_() for t in tensors if t is not None]
    output = way(*own)
    weights = torch.linspace(-1, 1, output.numel()).view(output.shape)
    (output * weights).sum().backward()
    return output, *(tensor.grad for tensor in own)


def by_onednn(x, weight, bias=None):
    return OneDNNProduct.apply(x, weight, bias)


def same_gradients(ours, theirs, *tensors):
    found, wanted = gradients(ours, *tensors), gradients(theirs, *tensors)
    for one, other in zip(found, wanted, strict=True):
        close(one, other)


# --- the model ---------------------------------------------------------------


@pytest.mark.usefixtures("onednn")
def test_a_model_and_its_gradients_are_those_of_the_plain_model():
    plain = tiny_transformer(seed=1).eval()
    fast = optimize(copy.deepcopy(plain))
    kinds = {type(layer) for layer in fast.modules()}
    assert {OneDNNLinear, Dropout16, ShortAttention} <= kinds
    assert not {nn.Linear, nn.Dropout, MultiHeadAttention} & kinds
    src, tgt = random_ids(2, 5), with_bos(random_ids(2, 4))
    for model in (plain, fast):
        model(src, tgt).square().sum().backward()
    found, wanted = (dict(m.named_parameters()) for m in (fast, plain))
    assert list(found) == list(wanted)
    for name, parameter in wanted.items():
        close(found[name].grad, parameter.grad, 1e-4)
    with torch.inference_mode():
        close(fast(src, tgt), plain(src, tgt))


@pytest.mark.usefixtures("onednn")
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


@pytest.mark.usefixtures("onednn")
def test_a_layer_that_two_share_is_still_shared():
    layer = nn.Linear(8, 8)
    model = optimize(nn.Sequential(layer, nn.Sequential(layer)))
    assert model[0] is model[1][0] and type(model[0]) is OneDNNLinear


@pytest.mark.usefixtures("onednn")
def test_a_layer_alone_is_swapped_and_a_subclass_is_not():
    class Own(nn.Linear):
        """A reader's own layer."""

    assert type(optimize(nn.Linear(8, 8))) is OneDNNLinear
    assert type(optimize(nn.Sequential(Own(8, 8)))[0]) is Own


@pytest.mark.usefixtures("onednn")
def test_a_copy_has_parameters_of_its_own():
    model, x = optimize(two_layers()).eval(), torch.randn(4, 8)
    with torch.inference_mode():
        expected = model(x)  # packs
    other = copy.deepcopy(model)
    nn.init.zeros_(model[0].weight)
    close(other(x), expected)
    other(x).sum().backward()
    assert other[0].weight.grad is not None and model[0].weight.grad is None


@pytest.mark.parametrize("operator", module.OPERATORS)
def test_without_an_operator_linear_layers_stay(operator, monkeypatch):
    class Operators:
        """Those of a later torch."""

    for name in set(module.OPERATORS) - {operator}:
        setattr(Operators, name, lambda *_: True)
    monkeypatch.setattr(torch.ops, "mkldnn", Operators)
    module.onednn_is_faster.cache_clear()
    model = optimize(two_layers()).eval()
    assert type(model[0]) is nn.Linear and type(model[1]) is Dropout16
    a, b = torch.randn(3, 8), torch.randn(5, 8)
    assert torch.equal(product(a, b), a @ b.t())
    module.onednn_is_faster.cache_clear()


@needs_onednn
def test_what_is_faster_is_timed_once(monkeypatch):
    module.onednn_is_faster.cache_clear()
    state, threads = torch.get_rng_state(), torch.get_num_threads()
    ticks = iter([0, 3, 3, 5] * 10)
    monkeypatch.setattr(module.time, "thread_time", lambda: next(ticks))
    assert module.onednn_is_faster(torch.float32)
    assert module.onednn_is_faster(torch.float32)
    ticks = iter([0, 2, 2, 4] * 10)
    assert not module.onednn_is_faster(torch.float32, packed=(4, 8))
    assert torch.equal(torch.get_rng_state(), state)
    assert torch.get_num_threads() == threads
    module.onednn_is_faster.cache_clear()


# --- products ----------------------------------------------------------------


@needs_onednn
@pytest.mark.parametrize("biased", [True, False])
@pytest.mark.parametrize("shape", [(5, 8), (8,), (3, 7, 8), (1, 1, 8)])
def test_a_product_and_its_gradients_are_those_of_torch(shape, biased):
    bias = torch.randn(6) if biased else None
    given = torch.randn(shape), torch.randn(6, 8), bias
    same_gradients(by_onednn, F.linear, *given)


def test_a_products_rows_are_padded_to_few_numbers(calls):
    layer = optimize(nn.Linear(8, 6))
    for rows in range(129, 257):
        layer(torch.randn(rows, 8)).sum().backward()
    sizes = {len(a) for a in calls if a.size(1) == 8}
    assert sizes == {160, 192, 224, 256}


def test_padded_sizes_waste_at_most_a_quarter():
    sizes = [padded_size(rows) for rows in (1, 7, 8, 9, 1025)]
    assert sizes == [1, 7, 8, 10, 1280]
    for rows in range(1, 3000):
        assert rows <= padded_size(rows) <= 1.25 * rows


def test_products_in_other_precisions_are_left_to_torch(calls):
    layer, x = optimize(nn.Linear(8, 6)), torch.randn(3, 8)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert layer(x).dtype == torch.bfloat16
    assert layer.double()(x.double()).dtype == torch.float64
    assert not calls


@pytest.mark.parametrize("mode", [torch.enable_grad, torch.no_grad])
def test_no_rows_have_gradients_of_zero(mode, calls):
    """An expert may get no token."""
    layer = optimize(nn.Linear(8, 6)).eval()
    with mode():
        assert layer(torch.randn(0, 8)).shape == (0, 6)
    layer(torch.randn(0, 8)).sum().backward()
    assert not layer.weight.grad.any() and not calls


@pytest.mark.usefixtures("onednn")
def test_weights_made_in_inference_mode_are_left_to_torch():
    with torch.inference_mode():
        layer, x = optimize(nn.Linear(8, 6)).eval(), torch.randn(3, 8)
        close(layer(x), F.linear(x, layer.weight, layer.bias))


@needs_onednn
def test_a_products_gradient_has_no_gradient():
    x, weight = torch.randn(3, 8), torch.randn(6, 8, requires_grad=True)
    [slope] = torch.autograd.grad(
        OneDNNProduct.apply(x, weight, None).square().sum(),
        weight,
        create_graph=True,
    )
    with pytest.raises(RuntimeError, match="once_differentiable"):
        slope.sum().backward()


# --- packed matrices ---------------------------------------------------------


@pytest.mark.usefixtures("onednn")
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("rows", [1, 5, module.INFERENCE_ROWS, 300])
def test_packed_weights_give_what_plain_ones_give(rows, dtype):
    if not has_onednn(dtype):
        pytest.skip("needs products in bf16")
    plain = two_layers().eval().to(dtype)
    fast, x = optimize(copy.deepcopy(plain)), torch.randn(rows, 8).to(dtype)
    within = 1e-5 if dtype == torch.float32 else 2**-6
    with torch.inference_mode():
        close(fast(x), plain(x), within)
        close(fast(x[:, None]), plain(x)[:, None], within)


def trained(layer):
    layer.train()
    layer(torch.ones(2, 8)).sum().backward()
    torch.optim.Adam(layer.parameters(), 0.1, fused=True).step()
    layer.eval()


def replaced(layer):
    layer.weight = nn.Parameter(torch.randn(6, 8))


def loaded(layer):
    layer.load_state_dict(nn.Linear(8, 6).state_dict())


def moved(layer):
    layer.weight.data = torch.randn(6, 8)


def in_place(layer):
    with torch.no_grad():
        layer.weight.mul_(2)


@pytest.mark.usefixtures("onednn")
@pytest.mark.parametrize(
    "change", [trained, replaced, loaded, moved, in_place]
)
def test_a_changed_weight_is_packed_anew(change):
    layer, x = optimize(nn.Linear(8, 6)).eval(), torch.randn(4, 8)
    with torch.no_grad():
        before = layer(x)
    change(layer)
    with torch.no_grad():
        after = layer(x)
    assert not torch.allclose(after, before)
    close(after, F.linear(x, layer.weight, layer.bias))


def test_weights_are_packed_once_and_for_evaluation_alone(monkeypatch, onednn):
    packed, way = [], module._pack
    monkeypatch.setattr(
        module, "_pack", lambda weight: packed.append(weight) or way(weight)
    )
    layer, x = optimize(nn.Linear(8, 6)), torch.randn(4, 8)
    layer(x)
    layer.eval()(x)
    with torch.no_grad():
        layer.train()(x)
        assert not packed
        layer.eval()(x)
        layer(x)
    assert len(packed) == 1
    assert layer._packed and not layer.train()._packed


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


def test_a_model_in_bf16_translates_nearly_alike(finished):
    used = TrainedModel.load(finished, "cpu", raw=True, bf16=True)
    plain = TrainedModel.load(finished, "cpu", raw=True)
    assert {p.dtype for p in used.model.parameters()} == {torch.bfloat16}
    src, tgt = torch.tensor([[5, 6, 7, 3]]), torch.tensor([[2, 5, 6]])
    with torch.inference_mode():
        rounded = used.model(src, tgt).float().softmax(dim=-1)
        close(rounded, plain.model(src, tgt).softmax(dim=-1), 0.05)
    assert len(used.translate(["i like dogs ."], beam_size=2)) == 1
