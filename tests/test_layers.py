"""Laws of embeddings, layer norm, residuals and feed-forward."""

import math

import pytest
import torch
from tiny import close, on_each_device
from torch import nn

from transformer_course.errors import ConfigError
from transformer_course.models.layers import (
    AddNorm,
    FeedForward,
    LayerNorm,
    TokenEmbedding,
    layer_norm,
)

# --- embeddings -------------------------------------------------------------


@on_each_device
def test_embedding_is_a_row_times_the_root_of_the_width(device):
    embedding = TokenEmbedding(10, 16).to(device)
    ids = torch.tensor([[3, 9]], device=device)
    close(embedding(ids)[0], embedding.weight[[3, 9]] * 4)


def test_embedding_starts_with_variance_one_over_the_width():
    torch.manual_seed(0)
    weight = TokenEmbedding(2000, 64).weight[1:].detach()
    assert math.isclose(weight.std() * 8, 1, rel_tol=0.02)
    assert abs(weight.mean()) < 1e-3


def test_padding_starts_at_zero_and_gets_no_gradient():
    embedding = TokenEmbedding(10, 16, pad_id=2)
    embedding(torch.tensor([[2, 3]])).sum().backward()
    assert (embedding.weight[2] == 0).all()
    assert (embedding.weight.grad[2] == 0).all()
    assert (embedding.weight.grad[3] != 0).all()


@pytest.mark.parametrize("wrong", [-1, 10])
def test_an_id_outside_the_vocabulary_is_named(wrong):
    embedding = TokenEmbedding(10, 16)
    with pytest.raises(ConfigError, match=f"id {wrong} is outside.* 10"):
        embedding(torch.tensor([[4, wrong]]))


# --- layer norm -------------------------------------------------------------


@on_each_device
@pytest.mark.parametrize("epsilon", [1e-5, 1e-2])
def test_layer_norm_also_written_out_equals_torchs(device, epsilon):
    torch.manual_seed(0)
    x = torch.randn(2, 3, 8, device=device) * 0.1
    ours = LayerNorm(8, epsilon).to(device)
    torchs = nn.LayerNorm(8, eps=epsilon).to(device)
    for parameter in ours.parameters():
        nn.init.normal_(parameter)
    torchs.load_state_dict(ours.state_dict())
    close(ours(x), torchs(x))
    close(layer_norm(x, ours.weight, ours.bias, epsilon), torchs(x))


# --- residuals --------------------------------------------------------------


def test_post_norm_normalises_the_sum():
    x, double = torch.randn(2, 3, 8), lambda y: 2 * y
    add_norm = AddNorm(8)
    close(add_norm(x, double), add_norm.norm(x + 2 * x))


def test_pre_norm_leaves_the_stream_itself_alone():
    x, double = torch.randn(2, 3, 8), lambda y: 2 * y
    add_norm = AddNorm(8, norm_first=True)
    close(add_norm(x, double), x + 2 * add_norm.norm(x))


@pytest.mark.parametrize("norm_first", [False, True])
def test_dropout_falls_on_the_sublayers_output_in_training_only(norm_first):
    x = torch.randn(2, 3, 8)
    silent = AddNorm(8, dropout=0.999_999, norm_first=norm_first)
    expected = x if norm_first else silent.norm(x)
    close(silent(x, torch.square), expected)
    silent.eval()
    assert not torch.allclose(silent(x, torch.square), expected)


# --- feed-forward -----------------------------------------------------------


@pytest.mark.parametrize("activation", ["relu", "gelu"])
def test_feed_forward_is_the_formula(activation):
    layer = FeedForward(8, 32, activation=activation)
    x = torch.randn(2, 3, 8)
    inner = getattr(nn.functional, activation)(
        x @ layer.up_proj.weight.T + layer.up_proj.bias
    )
    close(layer(x), inner @ layer.down_proj.weight.T + layer.down_proj.bias)


def test_feed_forward_dropout_acts_in_training_only():
    layer = FeedForward(8, 32, dropout=0.999_999)
    x = torch.randn(2, 3, 8)
    close(layer(x), layer.down_proj.bias.expand(2, 3, 8))
    layer.eval()
    assert not torch.allclose(layer(x), layer.down_proj.bias.expand(2, 3, 8))
