"""SwiGLU feed-forward network."""

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn

from course_exercises.candidate.cases import Case
from course_exercises.candidate.draw import Draw
from course_exercises.engine.exercise import exercise_of, module_case, other


class GatedFeedForward(nn.Module):
    """A feed-forward part with a gate, SwiGLU, for each word by itself.

    Shazeer 2020. SiLU(z) is z times its sigmoid. There are no biases, and no
    sum with the input.

    Args:
        d_model: width of a word's vector.
        d_ff: the number of units, which is the width inside.
    """

    def __init__(self, d_model: int, d_ff: int):
        super().__init__()
        self.gate_proj = nn.Linear(d_model, d_ff, bias=False)
        self.up_proj = nn.Linear(d_model, d_ff, bias=False)
        self.down_proj = nn.Linear(d_ff, d_model, bias=False)

    def forward(
        self, x: Float[Tensor, "batch length d_model"]
    ) -> Float[Tensor, "batch length d_model"]:
        """Widen twice, multiply, narrow.

        Args:
            x: the stream. ``gate_proj`` makes the gate, which the SiLU is
                applied to; ``up_proj`` makes what the gate is multiplied
                with, unit by unit; ``down_proj`` makes the product as narrow
                as the stream.

        Returns:
            What the part answers; the stream is not yet added to it.
        """
        ### BEGIN SOLUTION
        sums = self.gate_proj(x)
        gate = sums * sums.sigmoid()
        return self.down_proj(gate * self.up_proj(x))
        ### END SOLUTION


@other
class GatedBySilu(GatedFeedForward):
    def forward(self, x):
        return self.down_proj(F.silu(self.gate_proj(x)) * self.up_proj(x))


@other
class GatedByProducts(GatedFeedForward):
    def forward(self, x):
        G, W, V = (p.weight for p in self.children())
        sums = torch.einsum("bld,fd->blf", x, G)
        units = sums / (1 + (-sums).exp()) * torch.einsum("bld,fd->blf", x, W)
        return units @ V.mT


@other
class GatedUnitByUnit(GatedFeedForward):
    def forward(self, x):
        answer = torch.zeros_like(x)
        for g, w, v in zip(
            self.gate_proj.weight,
            self.up_proj.weight,
            self.down_proj.weight.T,
            strict=True,
        ):
            unit = F.silu((x * g).sum(-1)) * (x * w).sum(-1)
            answer = answer + unit[..., None] * v
        return answer


def part_case(note: str, x: Tensor, G: Tensor, W: Tensor, V: Tensor) -> Case:
    """The weights of the formula, as ``nn.Linear`` keeps them."""
    weights = {
        "gate_proj.weight": G.T,
        "up_proj.weight": W.T,
        "down_proj.weight": V.T,
    }
    return module_case(note, tuple(G.shape), x, weights=weights)


def draw_part(draw: Draw) -> Case:
    width, inside = draw.size(2, 4), draw.size(5, 8)
    return part_case(
        "random weights",
        draw.normal(draw.size(1, 3), draw.size(2, 4), width),
        draw.normal(width, inside),
        draw.normal(width, inside),
        draw.normal(inside, width),
    )


SHARP = Draw(22)

EXERCISE = exercise_of(
    GatedFeedForward,
    section="22_since_2017#a-model-of-today",
    points=2,
    cases=[
        part_case(
            "one word, two units",
            torch.tensor([[[1.0]]]),
            torch.tensor([[2.0, -3.0]]),
            torch.tensor([[0.5, 1.0]]),
            torch.tensor([[10.0], [100.0]]),
        ),
        part_case(
            "a gate of zero",
            torch.tensor([[[1.0, -1.0]]]),
            torch.tensor([[1.0, 2.0], [1.0, 3.0]]),
            torch.tensor([[1.0, 1.0], [0.0, 1.0]]),
            torch.tensor([[1.0, 2.0], [3.0, 4.0]]),
        ),
        part_case(
            "two words",
            torch.tensor([[[1.0, 0.5], [-2.0, 1.0]]]),
            torch.tensor([[1.0, -1.0, 0.5], [2.0, 0.0, 1.0]]),
            torch.tensor([[0.5, 1.0, -1.0], [1.0, 1.0, 2.0]]),
            torch.tensor([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]),
        ),
        part_case(
            "large numbers",
            10 * SHARP.normal(2, 3, 4),
            SHARP.normal(4, 6),
            SHARP.normal(4, 6),
            SHARP.normal(6, 4),
        ),
    ],
    draw=draw_part,
    tolerance=1e-4,
)
