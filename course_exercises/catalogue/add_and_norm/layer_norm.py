"""Layer normalisation."""

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn

from course_exercises.candidate.cases import Case
from course_exercises.candidate.draw import Draw
from course_exercises.engine.exercise import exercise_of, module_case, other


class LayerNorm(nn.Module):
    """Bring each word's vector to mean 0 and variance 1, then scale it.

    The variance divides by ``d_model``, as in the formula; ``epsilon`` is
    added to it under the root, and keeps a word without variance from being
    divided by 0. Write it from means and roots, without a ready-made norm.

    Args:
        d_model: width of a word's vector.
    """

    def __init__(self, d_model: int):
        super().__init__()
        self.gain = nn.Parameter(torch.ones(d_model))
        self.bias = nn.Parameter(torch.zeros(d_model))
        self.epsilon = 1e-5

    def forward(
        self, x: Float[Tensor, "batch length d_model"]
    ) -> Float[Tensor, "batch length d_model"]:
        """Normalise each word by itself.

        Args:
            x: a batch of sentences: a vector for each word.

        Returns:
            The normalised vectors, each component multiplied by its gain,
            with its bias then added.
        """
        ### BEGIN SOLUTION
        x = x - x.mean(dim=-1, keepdim=True)
        variance = x.square().mean(dim=-1, keepdim=True)
        return self.gain * x / (variance + self.epsilon).sqrt() + self.bias
        ### END SOLUTION


@other
class NormByTorch(LayerNorm):
    def forward(self, x):
        return F.layer_norm(
            x, self.gain.shape, self.gain, self.bias, self.epsilon
        )


@other
class NormByVarMean(LayerNorm):
    def forward(self, x):
        variance, mean = torch.var_mean(x, -1, correction=0, keepdim=True)
        normed = (x - mean) * torch.rsqrt(variance + self.epsilon)
        return torch.addcmul(self.bias, normed, self.gain)


@other
class NormWordByWord(LayerNorm):
    def forward(self, x):
        words = []
        for word in x.reshape(-1, x.size(-1)).unbind():
            mean = word.sum() / len(word)
            variance = ((word - mean) ** 2).sum() / len(word)
            words.append((word - mean) / (variance + self.epsilon) ** 0.5)
        return torch.stack(words).view(x.shape) * self.gain + self.bias


def norm_case(
    note: str,
    x: Tensor,
    gain: Tensor | None = None,
    bias: Tensor | None = None,
) -> Case:
    """A layer norm of given weights, or of those before training."""
    width = x.size(-1)
    weights = {
        "gain": torch.ones(width) if gain is None else gain,
        "bias": torch.zeros(width) if bias is None else bias,
    }
    return module_case(note, (width,), x, weights=weights)


def draw_words(draw: Draw) -> Case:
    width = draw.size(2, 6)
    x = draw.normal(draw.size(2, 3), draw.size(2, 4), width) + draw.normal(1)
    gain, bias = draw.normal(width), draw.normal(width)
    return norm_case("random words", x, gain, bias)


EXERCISE = exercise_of(
    LayerNorm,
    section="08_add_and_norm#layer-norm-by-hand",
    points=2,
    cases=[
        norm_case("one word: cats", torch.tensor([[[1.0, 1.0, 5.0, 5.0]]])),
        norm_case(
            "a gain and a bias",
            torch.tensor([[[2.0, 4.0]]]),
            torch.tensor([10.0, 20.0]),
            torch.tensor([1.0, 2.0]),
        ),
        norm_case("a word without variance", torch.full((1, 1, 3), 7.0)),
        norm_case("hardly any variance", torch.tensor([[[0.01, 0.03]]])),
        norm_case(
            "two words, one ten times the other",
            torch.tensor([[[0.0, 1.0, 5.0], [0.0, 10.0, 50.0]]]),
        ),
        norm_case(
            "as many words as components",
            torch.tensor([[[1.0, 3.0], [2.0, 8.0]]]),
        ),
        norm_case("a batch of one", Draw(1).normal(1, 3, 4) + 1),
        norm_case("two sentences", Draw(2).normal(2, 2, 3) * 2),
        norm_case(
            "any gain and bias",
            Draw(3).normal(1, 2, 4),
            Draw(4).normal(4),
            Draw(5).normal(4),
        ),
    ],
    draw=draw_words,
)
