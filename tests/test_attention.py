"""Laws of attention: two paths alike, safe with empty rows.

Chapters 04 and 07 compare it with torch's own, weights and gradients.
"""

import pytest
import torch
from tiny import close, gradients, on_each_device

from transformer_course.errors import ConfigError
from transformer_course.models.attention import (
    MultiHeadAttention,
    fused_attention,
    scaled_dot_product_attention,
)
from transformer_course.models.masks import causal_mask
from transformer_course.models.positional_encoding import RotaryPosition

BATCH, HEADS, QUERIES, KEYS, WIDTH = 3, 2, 5, 7, 8


def heads(length: int, device="cpu"):
    x = torch.randn(BATCH, HEADS, length, WIDTH, device=device)
    return x.requires_grad_()


def some_mask(device="cpu"):
    """A random mask in which each row may attend to key 0 at least."""
    mask = torch.rand(BATCH, 1, QUERIES, KEYS, device=device) < 0.5
    mask[..., 0] = True
    return mask


def gradients_of(output, inputs):
    weights = torch.linspace(-1, 1, output.numel(), device=output.device)
    return torch.autograd.grad((output.flatten() * weights).sum(), inputs)


# --- scaled dot-product attention -------------------------------------------


@on_each_device
@pytest.mark.parametrize("path", ["explicit", "fused"])
def test_rows_that_may_attend_nowhere_give_zeros(device, path):
    inputs = [heads(n, device) for n in (QUERIES, KEYS, KEYS)]
    mask = some_mask(device)
    mask[1] = False  # a whole sentence of padding
    mask[2, :, 3] = False  # and one single query
    if path == "explicit":
        output, weights = scaled_dot_product_attention(*inputs, mask)
        assert (weights[1] == 0).all()
    else:
        output = fused_attention(*inputs, mask)
    assert output.isfinite().all()
    assert (output[1] == 0).all()
    assert (output[2, :, 3] == 0).all()
    assert (output[2, :, 2] != 0).any()
    for gradient in gradients_of(output, inputs):
        assert gradient.isfinite().all()
        assert (gradient[1] == 0).all()


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision_keeps_empty_rows_finite(dtype):
    inputs = [heads(n).to(dtype) for n in (QUERIES, KEYS, KEYS)]
    mask = torch.zeros(1, 1, QUERIES, KEYS, dtype=torch.bool)
    output, _ = scaled_dot_product_attention(*inputs, mask)
    assert (output == 0).all()
    assert (fused_attention(*inputs, mask) == 0).all()


@pytest.mark.parametrize("size", [30.0, 80.0])
def test_products_that_pass_fp16s_range_stay_finite(size):
    x = torch.full((1, 1, 2, 64), size, dtype=torch.float16)
    output, _ = scaled_dot_product_attention(x, x, x)
    close(output, fused_attention(x, x, x, None))


# --- multi-head attention ---------------------------------------------------


@on_each_device
@pytest.mark.parametrize("rotary", [False, True])
def test_explicit_path_equals_fused_path(device, rotary):
    turn = RotaryPosition(4) if rotary else None
    attention = MultiHeadAttention(12, 3, bias=True, rotary=turn).to(device)
    x = torch.randn(BATCH, QUERIES, 12, device=device)
    mask = causal_mask(QUERIES, x.device)
    fused = attention(x, mask=mask)
    fused.square().sum().backward()
    by_fused = {n: g.clone() for n, g in gradients(attention).items()}
    attention.zero_grad()
    explicit, _ = attention(x, mask=mask, return_weights=True)
    explicit.square().sum().backward()
    close(fused, explicit)
    for name, gradient in gradients(attention).items():
        close(by_fused[name], gradient, tolerance=1e-4)


@pytest.mark.parametrize("shape", [(), (1,), (4,), (4, 4), (1, 4, 4)])
@pytest.mark.parametrize("allowed", [True, False])
def test_both_paths_take_a_mask_of_any_dimension(shape, allowed):
    attention, x = MultiHeadAttention(8, 2), torch.randn(2, 4, 8)
    mask = torch.full(shape, allowed)
    if allowed and shape:
        mask[..., 1:] = False
    explicit, _ = attention(x, mask=mask, return_weights=True)
    close(attention(x, mask=mask), explicit)


@pytest.mark.parametrize(
    "shape",
    [
        (2, 1, 1, KEYS),  # one for each memory
        (8, 1, 1, KEYS),  # one for each row
        (8, 3, QUERIES, KEYS),
        (QUERIES, KEYS),
    ],
)
def test_rows_that_share_a_memory_equal_rows_with_a_copy_each(shape):
    """Four beams of a sentence look at one memory, whatever the mask."""
    attention = MultiHeadAttention(12, 3)
    query, memory = torch.randn(8, QUERIES, 12), torch.randn(2, KEYS, 12)
    mask = torch.rand(shape) < 0.7
    own = mask.repeat_interleave(4, 0) if shape[0] == 2 else mask
    copies = memory.repeat_interleave(4, 0)
    for weights in (True, False):
        shared, copied = (
            attention(query, keys, mask=one, return_weights=weights)
            for keys, one in ((memory, mask), (copies, own))
        )
        close(shared, copied)


def test_dropout_acts_in_training_only_and_on_the_weights():
    torch.manual_seed(0)
    attention = MultiHeadAttention(12, 3, dropout=0.5)
    x = torch.randn(BATCH, QUERIES, 12)
    assert not torch.allclose(attention(x), attention(x))
    attention.eval()
    assert torch.equal(attention(x), attention(x))
    plain = MultiHeadAttention(12, 3)
    plain.load_state_dict(attention.state_dict())
    close(attention(x), plain(x))


@pytest.mark.parametrize("n_heads", [0, 5])
def test_heads_that_do_not_divide_the_width_are_refused(n_heads):
    with pytest.raises(ConfigError, match=f"d_model 12.*{n_heads} heads"):
        MultiHeadAttention(12, n_heads)
