"""Layers other than attention.

Embeddings (chapter 02), layer normalisation and residual connections (08), and
the position-wise feed-forward network (09).
"""

import math
from collections.abc import Callable

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor, nn

from transformer_course.errors import ConfigError
from transformer_course.models.config import Activation

HiddenStates = Float[Tensor, "batch length d_model"]


def check_ids(ids: Int[Tensor, "batch length"], vocab_size: int) -> None:
    """Make sure that there is a vector for each id.

    Raises:
        ConfigError: an id outside the vocabulary. On the CPU only: the check
            would make a GPU wait at every step. A program that
            ``torch.export`` or ``torch.compile`` makes has no check.
    """
    on_gpu = ids.device.type != "cpu"
    if torch.compiler.is_compiling() or on_gpu or not ids.numel():
        return
    wrong = [i for i in map(int, ids.aminmax()) if not 0 <= i < vocab_size]
    if wrong:
        raise ConfigError(
            f"id {wrong[0]} is outside the vocabulary of {vocab_size} tokens: "
            "were the ids made with another tokenizer?"
        )


class TokenEmbedding(nn.Module):
    """One vector for each token of the vocabulary, times √d_model.

    Weights start from N(0, 1/d_model), the right scale for the output matrix
    that shares them; the factor √d_model brings the embeddings to the size of
    the positions added to them (Vaswani et al. 2017, section 3.4).

    Args:
        vocab_size: number of tokens.
        d_model: width of a vector.
        pad_id: the token whose vector starts at zero, and gets no gradient
            from here; a tied output matrix still moves it.
    """

    def __init__(self, vocab_size: int, d_model: int, pad_id: int = 0):
        super().__init__()
        self.vocab_size = vocab_size
        self.scale = math.sqrt(d_model)
        self.pad_id = pad_id
        self.weight = nn.Parameter(torch.empty(vocab_size, d_model))
        nn.init.normal_(self.weight, std=d_model**-0.5)
        with torch.no_grad():
            self.weight[pad_id].zero_()

    def forward(self, ids: Int[Tensor, "batch length"]) -> HiddenStates:
        """The vectors of ``ids``.

        Raises:
            ConfigError: an id outside the vocabulary (on the CPU).
        """
        check_ids(ids, self.vocab_size)
        vectors = F.embedding(ids, self.weight, padding_idx=self.pad_id)
        return vectors * self.scale


def layer_norm(
    x: Float[Tensor, "*batch d_model"],
    weight: Float[Tensor, " d_model"],
    bias: Float[Tensor, " d_model"],
    epsilon: float = 1e-5,
) -> Float[Tensor, "*batch d_model"]:
    """Layer normalisation written out: what :class:`LayerNorm` computes.

    Each position is brought to mean 0 and variance 1 over its own numbers,
    then scaled and shifted. The variance divides by d_model, not d_model - 1,
    and ε stands inside the root (Ba et al. 2016, section 3; chapter 08).
    """
    mean = x.mean(dim=-1, keepdim=True)
    variance = (x - mean).square().mean(dim=-1, keepdim=True)
    return (x - mean) / (variance + epsilon).sqrt() * weight + bias


class LayerNorm(nn.Module):
    """:func:`layer_norm` with its weights, by torch's fused kernel.

    Args:
        d_model: width of a position.
        epsilon: added to the variance.
    """

    def __init__(self, d_model: int, epsilon: float = 1e-5):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(d_model))
        self.bias = nn.Parameter(torch.zeros(d_model))
        self.epsilon = epsilon

    def forward(
        self, x: Float[Tensor, "*batch d_model"]
    ) -> Float[Tensor, "*batch d_model"]:
        """Each position of ``x``, normalised."""
        shape = self.weight.shape
        return F.layer_norm(x, shape, self.weight, self.bias, self.epsilon)


class AddNorm(nn.Module):
    """A residual connection with layer normalisation, post or pre.

    Post-norm is the paper's LayerNorm(x + Sublayer(x)) (Vaswani et al. 2017,
    section 3.1); pre-norm is x + Sublayer(LayerNorm(x)) (Xiong et al. 2020),
    whose stack needs one more norm at its end. Chapter 08.

    Args:
        d_model: width of the stream.
        dropout: share of the sub-layer's output dropped in training.
        norm_first: pre-norm.
    """

    def __init__(
        self, d_model: int, dropout: float = 0.0, norm_first: bool = False
    ):
        super().__init__()
        self.norm = LayerNorm(d_model)
        self.dropout = nn.Dropout(dropout)
        self.norm_first = norm_first

    def forward(
        self, x: HiddenStates, sublayer: Callable[[HiddenStates], HiddenStates]
    ) -> HiddenStates:
        """``x`` with what the sub-layer adds to it."""
        if self.norm_first:
            return x + self.dropout(sublayer(self.norm(x)))
        return self.norm(x + self.dropout(sublayer(x)))


class FeedForward(nn.Module):
    """max(0, x W₁ + b₁) W₂ + b₂, the same at every position.

    Vaswani et al. 2017, section 3.3; chapter 09. The paper has no dropout
    inside; ``nn.Transformer`` has.

    Args:
        d_model: width of input and output.
        d_ff: width inside, usually 4 × d_model.
        dropout: share of the inner numbers dropped in training.
        activation: ``"relu"`` or ``"gelu"``.
    """

    def __init__(
        self,
        d_model: int,
        d_ff: int,
        dropout: float = 0.0,
        activation: Activation = "relu",
    ):
        super().__init__()
        self.up_proj = nn.Linear(d_model, d_ff)
        self.activation = {"relu": nn.ReLU, "gelu": nn.GELU}[activation]()
        self.dropout = nn.Dropout(dropout)
        self.down_proj = nn.Linear(d_ff, d_model)

    def forward(
        self, x: Float[Tensor, "*batch d_model"]
    ) -> Float[Tensor, "*batch d_model"]:
        """Each position, through the two linear maps."""
        inner = self.activation(self.up_proj(x))  # (..., d_ff)
        return self.down_proj(self.dropout(inner))
