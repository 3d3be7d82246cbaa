"""A sum and a norm, as a module."""

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn

from course_exercises.candidate.cases import Case
from course_exercises.candidate.draw import Draw
from course_exercises.catalogue.add_and_norm.layer_norm import LayerNorm
from course_exercises.engine.exercise import exercise_of, module_case, other


class AddNorm(nn.Module):
    """The sum and the norm behind a sub-layer, in post-norm.

    That is the paper's way, LayerNorm(x + Sublayer(x)). There is no dropout.

    Args:
        d_model: width of the stream.
    """

    def __init__(self, d_model: int):
        super().__init__()
        self.norm = LayerNorm(d_model)

    def forward(
        self,
        x: Float[Tensor, "batch length d_model"],
        answer: Float[Tensor, "batch length d_model"],
    ) -> Float[Tensor, "batch length d_model"]:
        """Add a sub-layer's answer to what it has read, and normalise.

        Args:
            x: the stream, as the sub-layer has read it.
            answer: what the sub-layer made of it: a tensor, already computed.

        Returns:
            The stream as it goes on.
        """
        ### BEGIN SOLUTION
        return self.norm(x + answer)
        ### END SOLUTION


@other
class AddNormByStack(AddNorm):
    def forward(self, x, answer):
        return self.norm(torch.stack([answer, x]).sum(dim=0))


@other
class AddNormByTorch(AddNorm):
    def forward(self, x, answer):
        gain, bias = self.norm.gain, self.norm.bias
        return F.layer_norm(torch.add(x, answer), gain.shape, gain, bias)


@other
class AddNormWordByWord(AddNorm):
    def forward(self, x, answer):
        pairs = zip(x.unbind(1), answer.unbind(1), strict=True)
        words = [self.norm((a + b).unsqueeze(1)) for a, b in pairs]
        return torch.cat(words, dim=1)


def by_hand(note: str, x: Tensor, answer: Tensor) -> Case:
    """A norm with the weights that it has before training."""
    width = x.size(-1)
    weights = {"norm.gain": torch.ones(width), "norm.bias": torch.zeros(width)}
    return module_case(note, (width,), x, answer, weights=weights)


def draw_sum(draw: Draw) -> Case:
    shape = draw.size(1, 3), draw.size(1, 4), draw.size(3, 6)
    x, answer = draw.normal(*shape), draw.normal(*shape)
    return module_case("random numbers", shape[-1:], x, answer)


EXERCISE = exercise_of(
    AddNorm,
    section="08_add_and_norm#post-norm-and-pre-norm",
    points=1,
    cases=[
        by_hand(
            "cats, and an answer",
            torch.tensor([[[1.0, 1.0, 5.0, 5.0]]]),
            torch.tensor([[[0.0, 4.0, 0.0, -4.0]]]),
        ),
        by_hand(
            "an answer far smaller than the stream",
            torch.tensor([[[0.0, 10.0, 20.0]]]),
            torch.tensor([[[1.0, 0.0, -0.5]]]),
        ),
        by_hand(
            "an answer of zeros",
            torch.tensor([[[1.0, 3.0]]]),
            torch.zeros(1, 1, 2),
        ),
        module_case(
            "a norm with another gain and bias",
            (3,),
            Draw(1).normal(1, 1, 3),
            Draw(2).normal(1, 1, 3),
        ),
        module_case(
            "two sentences",
            (4,),
            Draw(3).normal(2, 3, 4),
            Draw(4).normal(2, 3, 4),
        ),
    ],
    draw=draw_sum,
)
