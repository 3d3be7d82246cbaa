"""Laws of attention: equal to torch's own, safe with empty rows."""

import pytest
import torch
import torch.nn.functional as F
from tiny import close, gradients, on_each_device
from torch import nn

from transformer_course.errors import ConfigError
from transformer_course.models.attention import (
    AdditiveScore,
    GeneralScore,
    MultiHeadAttention,
    dot_score,
    fused_attention,
    masked_softmax,
    scaled_dot_product_attention,
)
from transformer_course.models.masks import causal_mask
from transformer_course.models.positional_encoding import RotaryPosition

BATCH, HEADS, QUERIES, KEYS, WIDTH = 3, 2, 5, 7, 8


def heads(length: int, device="cpu", width: int = WIDTH):
    x = torch.randn(BATCH, HEADS, length, width, device=device)
    return x.requires_grad_()


def some_mask(device="cpu"):
    """A random mask in which each row may attend to key 0 at least."""
    mask = torch.rand(BATCH, 1, QUERIES, KEYS, device=device) < 0.5
    mask[..., 0] = True
    return mask


def gradients_of(output, inputs):
    weights = torch.linspace(-1, 1, output.numel(), device=output.device)
    return torch.autograd.grad((output.flatten() * weights).sum(), inputs)


# --- scores -----------------------------------------------------------------


def test_dot_score_is_a_dot_product_for_each_pair():
    query, key = torch.randn(2, 3, 4), torch.randn(2, 5, 4)
    scores = dot_score(query, key)
    assert scores.shape == (2, 3, 5)
    close(scores[1, 2, 4], query[1, 2] @ key[1, 4])


def test_general_score_is_a_bilinear_form():
    score = GeneralScore(d_query=4, d_key=6)
    query, key = torch.randn(2, 3, 4), torch.randn(2, 5, 6)
    by_hand = query[1, 2] @ score.project.weight.T @ key[1, 4]
    close(score(query, key)[1, 2, 4], by_hand)


def test_additive_score_is_a_small_network_on_each_pair():
    score = AdditiveScore(d_query=4, d_key=6, d_hidden=5)
    query, key = torch.randn(2, 3, 4), torch.randn(2, 5, 6)
    hidden = score.of_query(query[1, 2]) + score.of_key(key[1, 4])
    by_hand = score.to_score.weight[0] @ hidden.tanh()
    scores = score(query, key)
    assert scores.shape == (2, 3, 5)
    close(scores[1, 2, 4], by_hand)
    close(score.score_projected(query, score.of_key(key)), scores)


# --- scaled dot-product attention -------------------------------------------


@on_each_device
@pytest.mark.parametrize("masked", [False, True])
def test_equals_torchs_attention_and_its_gradients(device, masked):
    torch.manual_seed(0)
    inputs = [heads(n, device) for n in (QUERIES, KEYS, KEYS)]
    mask = some_mask(device) if masked else None
    ours, _ = scaled_dot_product_attention(*inputs, mask)
    torchs = F.scaled_dot_product_attention(*inputs, attn_mask=mask)
    close(ours, torchs)
    for one, other in zip(
        gradients_of(ours, inputs), gradients_of(torchs, inputs), strict=True
    ):
        close(one, other)


def test_a_masked_key_has_no_influence_however_large():
    """Multiplying by 0 after the softmax would fail this (chapter 06)."""
    scores = torch.tensor([[100.0, 0.0, 0.0]])
    weights = masked_softmax(scores, torch.tensor([[False, True, True]]))
    close(weights, torch.tensor([[0.0, 0.5, 0.5]]))


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


def torchs_twin(ours: MultiHeadAttention) -> nn.MultiheadAttention:
    """nn.MultiheadAttention with the same weights."""
    d_model = ours.n_heads * ours.d_head
    bias = ours.to_query.bias is not None
    twin = nn.MultiheadAttention(
        d_model, ours.n_heads, bias=bias, batch_first=True
    ).to(ours.to_query.weight)
    three = [ours.to_query, ours.to_key, ours.to_value]
    with torch.no_grad():
        twin.in_proj_weight.copy_(torch.cat([p.weight for p in three]))
        twin.out_proj.weight.copy_(ours.to_output.weight)
        if bias:
            twin.in_proj_bias.copy_(torch.cat([p.bias for p in three]))
            twin.out_proj.bias.copy_(ours.to_output.bias)
    return twin


def as_torch_names(ours: dict) -> dict:
    """Gradients of our parameters under torch's names."""
    named = {}
    for kind in {name.split(".")[1] for name in ours}:
        three = [ours[f"to_{p}.{kind}"] for p in ("query", "key", "value")]
        named[f"in_proj_{kind}"] = torch.cat(three)
        named[f"out_proj.{kind}"] = ours[f"to_output.{kind}"]
    return named


@on_each_device
@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("cross", [False, True])
def test_equals_torchs_multi_head_attention(device, bias, masked, cross):
    torch.manual_seed(0)
    ours = MultiHeadAttention(12, 3, bias=bias).to(device)
    for parameter in ours.parameters():
        nn.init.normal_(parameter, std=0.5)
    twin = torchs_twin(ours)
    query = torch.randn(BATCH, QUERIES, 12, device=device)
    memory = torch.randn(BATCH, KEYS, 12, device=device) if cross else query
    keys = memory.size(1)
    mask, hidden = None, None
    if masked:
        mask = torch.rand(BATCH, 1, QUERIES, keys, device=device) < 0.6
        mask[..., 0] = True
        hidden = ~mask.expand(-1, 3, -1, -1).flatten(0, 1)

    output, weights = ours(
        query, memory if cross else None, mask=mask, return_weights=True
    )
    expected, expected_weights = twin(
        query, memory, memory, attn_mask=hidden, average_attn_weights=False
    )
    close(output, expected)
    close(weights, expected_weights)
    output.square().sum().backward()
    expected.square().sum().backward()
    theirs = gradients(twin)
    ours_renamed = as_torch_names(gradients(ours))
    assert ours_renamed.keys() == theirs.keys()
    for name, gradient in theirs.items():
        close(ours_renamed[name], gradient, tolerance=1e-4)


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
    ("sentences", "shape"),
    [
        (2, (2, 1, 1, KEYS)),  # one for each memory
        (2, (8, 1, 1, KEYS)),  # one for each row
        (2, (8, 3, QUERIES, KEYS)),
        (2, (1, 3, QUERIES, KEYS)),
        (1, (1, 3, QUERIES, KEYS)),
        (2, (QUERIES, KEYS)),
        (2, (KEYS,)),
        (2, ()),
    ],
)
def test_rows_that_share_a_memory_equal_rows_with_a_copy_each(
    sentences, shape
):
    """Beams of a sentence look at one memory, whatever the mask."""
    attention = MultiHeadAttention(12, 3)
    beams = 8 // sentences
    query = torch.randn(sentences * beams, QUERIES, 12)
    memory = torch.randn(sentences, KEYS, 12)
    mask = torch.rand(shape) < 0.7
    own = mask
    if shape[:1] == (sentences,):
        own = mask.repeat_interleave(beams, 0)
    copies = memory.repeat_interleave(beams, 0)
    for weights in (True, False):
        shared, copied = (
            attention(query, keys, mask=one, return_weights=weights)
            for keys, one in ((memory, mask), (copies, own))
        )
        close(shared, copied)


@pytest.mark.parametrize("batch", [0, 1])
def test_an_empty_batch_stays_empty(batch):
    """As nothing of a batch depends on the rest of it."""
    attention = MultiHeadAttention(12, 3)
    query, memory = torch.randn(2, QUERIES, 12), torch.randn(2, KEYS, 12)
    whole = attention(query, memory)
    close(attention(query[:batch], memory[:batch]), whole[:batch])


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
