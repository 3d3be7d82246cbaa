"""RMSNorm."""

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn

from course_exercises.candidate.cases import Case
from course_exercises.candidate.draw import Draw
from course_exercises.engine.exercise import exercise_of, module_case, other


class RMSNorm(nn.Module):
    """Divide each word's vector by the root of its mean square, then scale it.

    Zhang and Sennrich 2019. No mean is subtracted, and there is no bias.
    Write it from means and roots, without a ready-made norm.

    Args:
        d_model: width of a word's vector.
        epsilon: added to the mean square, under the root.
    """

    def __init__(self, d_model: int, epsilon: float = 1e-5):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(d_model))
        self.epsilon = epsilon

    def forward(
        self, x: Float[Tensor, "batch length d_model"]
    ) -> Float[Tensor, "batch length d_model"]:
        """Normalise each word by itself.

        Args:
            x: a batch of texts: a vector for each word.

        Returns:
            The normalised vectors, each component multiplied by its
            ``weight``, the gain.
        """
        ### BEGIN SOLUTION
        mean_square = x.square().mean(dim=-1, keepdim=True)
        return self.weight * x / (mean_square + self.epsilon).sqrt()
        ### END SOLUTION


@other
class NormByTorch(RMSNorm):
    def forward(self, x):
        return F.rms_norm(x, self.weight.shape, self.weight, self.epsilon)


@other
class NormByReciprocal(RMSNorm):
    def forward(self, x):
        square = (x * x).sum(-1, keepdim=True) / x.size(-1)
        return x * torch.rsqrt(square + self.epsilon) * self.weight


@other
class NormByLength(RMSNorm):
    def forward(self, x):
        words = []
        for word in x.reshape(-1, x.size(-1)):
            square = torch.dot(word, word) / len(word)
            words.append(self.weight * word / (square + self.epsilon) ** 0.5)
        return torch.stack(words).view(x.shape)


def norm_case(
    note: str,
    x: Tensor,
    gain: Tensor | None = None,
    epsilon: float = 1e-5,
) -> Case:
    """A norm with a given gain, or that before training."""
    width = x.size(-1)
    weights = {"weight": torch.ones(width) if gain is None else gain}
    return module_case(note, (width, epsilon), x, weights=weights)


def draw_words(draw: Draw) -> Case:
    width = draw.size(2, 6)
    x = draw.normal(draw.size(2, 3), draw.size(2, 4), width) + draw.normal(1)
    epsilon = draw.choice([1e-5, 1e-2])
    return norm_case("random words", x, draw.normal(width), epsilon)


EXERCISE = exercise_of(
    RMSNorm,
    section="22_since_2017#a-model-of-today",
    points=1,
    cases=[
        norm_case("one word", torch.tensor([[[1.0, 7.0]]])),
        norm_case(
            "a gain", torch.tensor([[[2.0, 4.0]]]), torch.tensor([10.0, 20.0])
        ),
        norm_case("a word of zeros", torch.zeros(1, 1, 3)),
        norm_case("small numbers", torch.tensor([[[0.001, 0.003]]])),
        norm_case(
            "a larger epsilon",
            torch.tensor([[[0.1, 0.3, 0.2]]]),
            epsilon=0.01,
        ),
        norm_case(
            "two words, one ten times the other",
            torch.tensor([[[0.0, 1.0, 5.0], [0.0, 10.0, 50.0]]]),
        ),
        norm_case(
            "as many words as components",
            torch.tensor([[[1.0, 3.0], [2.0, 8.0]]]),
        ),
        norm_case("two texts", 2 * Draw(2).normal(2, 2, 3)),
        norm_case("any gain", Draw(3).normal(1, 2, 4), Draw(4).normal(4)),
    ],
    draw=draw_words,
)
