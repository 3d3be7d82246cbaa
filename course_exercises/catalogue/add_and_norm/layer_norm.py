"""Layer normalisation."""

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor

from course_exercises.engine.draw import Draw
from course_exercises.engine.exercise import Case, case, exercise_of, other


def layer_norm(
    x: Float[Tensor, "batch length d_model"],
    gain: Float[Tensor, " d_model"],
    bias: Float[Tensor, " d_model"],
    epsilon: float = 1e-5,
) -> Float[Tensor, "batch length d_model"]:
    """Bring each word's vector to mean 0 and variance 1, then scale it.

    The variance divides by ``d_model``, as in the formula; ``epsilon`` is
    added to it under the root. Write it from means and roots, without a
    ready-made norm.

    Args:
        x: a batch of sentences: a vector for each word.
        gain: what each component is multiplied by in the end.
        bias: what is then added to it.
        epsilon: keeps a word without variance from being divided by 0.
    """
    ### BEGIN SOLUTION
    mean = torch.mean(x, dim=-1, keepdim=True)
    variance = torch.mean((x - mean).square(), dim=-1, keepdim=True)
    normed = (x - mean) / (variance + epsilon).sqrt()
    return gain * normed + bias
    ### END SOLUTION


@other
def norm_by_torch(x, gain, bias, epsilon=1e-5):
    return F.layer_norm(x, gain.shape, gain, bias, epsilon)


@other
def norm_by_var_mean(x, gain, bias, epsilon=1e-5):
    variance, mean = torch.var_mean(x, -1, correction=0, keepdim=True)
    return (x - mean) * torch.rsqrt(variance + epsilon) * gain + bias


@other
def norm_word_by_word(x, gain, bias, epsilon=1e-5):
    words = []
    for word in x.reshape(-1, x.size(-1)).unbind():
        mean = word.sum() / len(word)
        variance = ((word - mean) ** 2).sum() / len(word)
        words.append((word - mean) / (variance + epsilon) ** 0.5)
    return torch.stack(words).view(x.shape) * gain + bias


def draw_words(draw: Draw) -> Case:
    width = draw.size(2, 6)
    x = draw.normal(draw.size(2, 3), draw.size(2, 4), width) + draw.normal(1)
    gain, bias = draw.normal(width), draw.normal(width)
    return case("random words", x, gain, bias, draw.choice([1e-5, 0.1]))


def plain(width: int) -> tuple[Tensor, Tensor]:
    """The gain and the bias before training."""
    return torch.ones(width), torch.zeros(width)


EXERCISE = exercise_of(
    layer_norm,
    section="08_add_and_norm#layer-norm-by-hand",
    points=2,
    cases=[
        case(
            "one word: cats", torch.tensor([[[1.0, 1.0, 5.0, 5.0]]]), *plain(4)
        ),
        case(
            "a gain and a bias",
            torch.tensor([[[2.0, 4.0]]]),
            torch.tensor([10.0, 20.0]),
            torch.tensor([1.0, 2.0]),
        ),
        case("a word without variance", torch.full((1, 1, 3), 7.0), *plain(3)),
        case("hardly any variance", torch.tensor([[[0.01, 0.03]]]), *plain(2)),
        case("another epsilon", torch.tensor([[[1.0, 3.0]]]), *plain(2), 3.0),
        case(
            "two words, one ten times the other",
            torch.tensor([[[0.0, 1.0, 5.0], [0.0, 10.0, 50.0]]]),
            *plain(3),
        ),
        case(
            "as many words as components",
            torch.tensor([[[1.0, 3.0], [2.0, 8.0]]]),
            *plain(2),
        ),
        case("a batch of one", Draw(1).normal(1, 3, 4) + 1, *plain(4)),
        case("two sentences", Draw(2).normal(2, 2, 3) * 2, *plain(3)),
        case(
            "float64",
            Draw(3).normal(1, 2, 4).double(),
            Draw(4).normal(4).double(),
            Draw(5).normal(4).double(),
        ),
    ],
    draw=draw_words,
)
