"""Positional encodings: sinusoidal, learned, rotary.

Attention alone cannot tell one order of its keys from another (chapter 03).
Sinusoidal and learned positions are added to the embeddings; rotary positions
turn the queries and keys inside attention.
"""

import math
from typing import Literal

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from transformer_course.errors import ConfigError
from transformer_course.models.config import Position, RopeScaling

Layout = Literal["interleaved", "concatenated"]
Rotation = tuple[Float[Tensor, "length half"], Float[Tensor, "length half"]]
"""Cosines and sines of the angles of each position."""


def _angles(
    positions: Int[Tensor, " length"], d_model: int, base: float = 10_000.0
) -> Float[Tensor, "length half"]:
    """Angle of position p in pair i: p / base^(2i / d_model), in radians."""
    if d_model % 2:
        raise ConfigError(
            f"d_model is {d_model}, but sines and cosines come in pairs: "
            "choose an even number."
        )
    pair = torch.arange(0, d_model, 2, device=positions.device)
    frequency = torch.exp(-math.log(base) * pair / d_model)
    return positions[:, None] * frequency[None, :]


def sinusoidal_encoding(
    length: int,
    d_model: int,
    layout: Layout = "interleaved",
    offset: int = 0,
) -> Float[Tensor, "length d_model"]:
    """The fixed positional encoding of the paper.

    ``PE(p, 2i) = sin(p / 10000^(2i/d_model))`` and ``PE(p, 2i+1)`` the cosine
    of the same angle (Vaswani et al. 2017, section 3.5; chapter 03).

    Args:
        length: number of positions.
        d_model: width of the encoding; even.
        layout: ``"interleaved"`` puts each cosine beside its sine, as the
            paper writes it; ``"concatenated"`` puts all sines first, as the
            authors' own code does (which spaces the speeds a little
            differently besides). The two differ by a permutation of columns.
        offset: the first position.

    Raises:
        ConfigError: ``d_model`` is odd.
    """
    angles = _angles(torch.arange(offset, offset + length), d_model)
    if layout == "concatenated":
        return torch.cat([angles.sin(), angles.cos()], dim=-1)
    return torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(-2)


class SinusoidalPosition(nn.Module):
    """Adds the sinusoidal encoding to embeddings; has no weights.

    Args:
        max_length: positions prepared in advance; those beyond are computed
            whenever they are needed.
        d_model: width of the embeddings; even.
    """

    def __init__(self, max_length: int, d_model: int):
        super().__init__()
        table = sinusoidal_encoding(max_length, d_model)
        self.register_buffer("table", table, persistent=False)

    def forward(
        self, x: Float[Tensor, "batch length d_model"], offset: int = 0
    ) -> Float[Tensor, "batch length d_model"]:
        """``x`` plus the encodings of positions offset, offset + 1, ..."""
        length, d_model = x.shape[1:]
        rows = self.table[offset : offset + length]
        if offset + length > self.table.size(0):
            rows = sinusoidal_encoding(length, d_model, offset=offset)
        return x + rows.to(self.table)


class LearnedPosition(nn.Module):
    """Adds one learned vector per position, as BERT does.

    They start from N(0, 1), as large as the embeddings that they are added
    to. BERT's start from N(0, 0.02²), and so do its words, without the factor
    √d_model; beside ours, such vectors are learned late (chapter 03).

    Args:
        max_length: number of positions there are weights for.
        d_model: width of the embeddings.
    """

    def __init__(self, max_length: int, d_model: int):
        super().__init__()
        self.table = nn.Parameter(torch.empty(max_length, d_model))
        nn.init.normal_(self.table)

    def forward(
        self, x: Float[Tensor, "batch length d_model"], offset: int = 0
    ) -> Float[Tensor, "batch length d_model"]:
        """``x`` plus the vectors of positions offset, offset + 1, ...

        Raises:
            ConfigError: a position has no weights.
        """
        end = offset + x.size(1)
        if end > self.table.size(0):
            raise ConfigError(
                f"the sequence reaches position {end}, but learned positions "
                f"end at {self.table.size(0)}: shorten it, or train with a "
                "larger max_length."
            )
        return x + self.table[offset:end]


def rotations(
    positions: Int[Tensor, " length"],
    d_head: int,
    base: float = 10_000.0,
    share: float = 1.0,
) -> Rotation:
    """Cosine and sine of position p / base^(2i / d_head), for each pair i.

    Su et al. 2021, section 3.2.2; there the base is 10,000. With a smaller
    ``share``, only so many of the pairs turn, the fastest ones, and the
    others are alike at all positions (p-RoPE, Barbero et al. 2024).
    """
    angles = _angles(positions, d_head, base)
    angles[:, round(share * d_head / 2) :] = 0
    return angles.cos(), angles.sin()


def scaled_rotations(
    positions: Int[Tensor, " length"],
    d_head: int,
    base: float,
    scaling: RopeScaling,
    factor: float,
    trained: float,
) -> Rotation:
    """Rotations for texts ``factor`` times as long as the trained ones.

    Args:
        positions: of the tokens, from 0.
        d_head: width of a head.
        base: as in :func:`rotations`.
        scaling: ``"linear"`` divides all angles (position interpolation, Chen
            et al. 2023); ``"ntk"`` enlarges the base, so that the slowest
            pair is divided and the fastest is not; ``"yarn"`` divides pairs
            that turn less than once within the trained length, not those that
            turn 32 times, and sharpens the softmax (Peng et al. 2023).
        factor: how many times as long.
        trained: positions of a text in the training.
    """
    if scaling == "ntk":
        base = base * factor ** (d_head / (d_head - 2))
    angles, sharper = _angles(positions, d_head, base), 1.0
    if scaling == "linear":
        angles = angles / factor
    if scaling == "yarn":
        first, last = (  # the pairs that turn 32 times and once
            d_head * math.log(trained / (2 * math.pi * n)) / math.log(base) / 2
            for n in (32, 1)
        )
        first, last = max(math.floor(first), 0), math.ceil(last)
        pair = torch.arange(d_head // 2, device=angles.device)
        slow = ((pair - first) / max(last - first, 1e-3)).clamp(0, 1)
        angles = angles * (1 - slow + slow / factor)
        sharper = 0.1 * math.log(factor) + 1
    return sharper * angles.cos(), sharper * angles.sin()


def rotate(
    x: Float[Tensor, "batch heads length d_head"], by: Rotation
) -> Float[Tensor, "batch heads length d_head"]:
    """Turn each pair of neighbouring numbers by its position's angle."""
    (cos, sin), even, odd = by, x[..., 0::2], x[..., 1::2]
    turned = [even * cos - odd * sin, even * sin + odd * cos]
    return torch.stack(turned, dim=-1).flatten(-2).to(x.dtype)


class RotaryPosition(nn.Module):
    """Turns queries and keys by an angle that grows with their position.

    The score of a turned query and a turned key depends on the distance
    between them only (Su et al. 2021, RoFormer, section 3.2; chapter 03).

    Args:
        d_head: width of one head; even.
    """

    def __init__(self, d_head: int):
        super().__init__()
        if d_head % 2:
            raise ConfigError(
                f"rotary positions turn pairs of numbers, but d_head is "
                f"{d_head}: choose d_model and n_heads so that it is even."
            )

    def forward(
        self, x: Float[Tensor, "batch heads length d_head"], offset: int = 0
    ) -> Float[Tensor, "batch heads length d_head"]:
        """``x`` with pair i of position p turned by p / 10000^(2i/d_head)."""
        length, d_head = x.shape[-2:]
        positions = torch.arange(offset, offset + length, device=x.device)
        return rotate(x, rotations(positions, d_head))


class NoPosition(nn.Module):
    """Adds nothing: for rotary positions, and for none at all."""

    def forward(
        self, x: Float[Tensor, "batch length d_model"], offset: int = 0
    ) -> Float[Tensor, "batch length d_model"]:
        """``x`` as it is."""
        return x


def position_module(
    kind: Position, max_length: int, d_model: int
) -> nn.Module:
    """The module that adds positions of this kind to embeddings."""
    if kind == "sinusoidal":
        return SinusoidalPosition(max_length, d_model)
    if kind == "learned":
        return LearnedPosition(max_length, d_model)
    return NoPosition()


def max_position_embeddings(model: nn.Module) -> int | None:
    """Tokens that a model has learned positions for.

    None where none of its parts has a table of learned positions: then it
    can be given longer texts than it was trained on.
    """
    tables = (m for m in model.modules() if isinstance(m, LearnedPosition))
    return min((len(part.table) for part in tables), default=None)
