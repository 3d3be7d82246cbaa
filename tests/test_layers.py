"""Laws of embeddings and of dropout; chapters 08 and 09 compare the rest."""

import math

import pytest
import torch
from tiny import close, on_each_device

from transformer_course.errors import ConfigError
from transformer_course.models.layers import (
    AddNorm,
    FeedForward,
    TokenEmbedding,
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


# --- residuals --------------------------------------------------------------


@pytest.mark.parametrize("norm_first", [False, True])
def test_dropout_falls_on_the_sublayers_output_in_training_only(norm_first):
    x = torch.randn(2, 3, 8)
    silent = AddNorm(8, dropout=0.999_999, norm_first=norm_first)
    expected = x if norm_first else silent.norm(x)
    close(silent(x, torch.square), expected)
    silent.eval()
    assert not torch.allclose(silent(x, torch.square), expected)


# --- feed-forward -----------------------------------------------------------


def test_feed_forward_dropout_acts_in_training_only():
    layer = FeedForward(8, 32, dropout=0.999_999)
    x = torch.randn(2, 3, 8)
    close(layer(x), layer.down_proj.bias.expand(2, 3, 8))
    layer.eval()
    assert not torch.allclose(layer(x), layer.down_proj.bias.expand(2, 3, 8))
