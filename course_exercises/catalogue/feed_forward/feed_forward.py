"""Position-wise feed-forward network."""

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn

from course_exercises.candidate.cases import Case
from course_exercises.candidate.draw import Draw
from course_exercises.catalogue.feed_forward import (
    ONE_WORD,
    draw_part,
    random_part,
)
from course_exercises.engine.exercise import exercise_of, module_case, other


class FeedForward(nn.Module):
    """Two linear maps with a ReLU between, for each word by itself.

    Both maps have a bias. There is no dropout, and no sum with the input.

    Args:
        d_model: width of a word's vector.
        d_ff: the number of units, which is the width inside.
    """

    def __init__(self, d_model: int, d_ff: int):
        super().__init__()
        self.up_proj = nn.Linear(d_model, d_ff)
        self.down_proj = nn.Linear(d_ff, d_model)

    def forward(
        self, x: Float[Tensor, "batch length d_model"]
    ) -> Float[Tensor, "batch length d_model"]:
        """Send each word through both maps.

        Args:
            x: the stream.

        Returns:
            What the part answers; the stream is not yet added to it.
        """
        ### BEGIN SOLUTION
        return self.down_proj(self.up_proj(x).relu())
        ### END SOLUTION


@other
class FeedForwardByProducts(FeedForward):
    def forward(self, x):
        up, down = self.up_proj, self.down_proj
        hidden = (x @ up.weight.T + up.bias).clamp(min=0)
        return hidden @ down.weight.T + down.bias


@other
class FeedForwardWordByWord(FeedForward):
    def forward(self, x):
        words = x.reshape(-1, x.size(-1))
        answers = [self.down_proj(F.relu(self.up_proj(w))) for w in words]
        return torch.stack(answers).view(x.shape)


@other
class FeedForwardAsMemory(FeedForward):
    def forward(self, x):
        answer = self.down_proj.bias.expand_as(x)
        keys, values = self.up_proj.weight, self.down_proj.weight.T
        for key, bias, value in zip(
            keys, self.up_proj.bias, values, strict=True
        ):
            match = torch.einsum("bld,d->bl", x, key) + bias
            fires = torch.maximum(match, match.new_zeros(()))
            answer = answer + fires[..., None] * value
        return answer


def part_case(
    note: str, x: Tensor, W_1: Tensor, b_1: Tensor, W_2: Tensor, b_2: Tensor
) -> Case:
    """The weights of the formula, as ``nn.Linear`` keeps them."""
    weights = {
        "up_proj.weight": W_1.T,
        "up_proj.bias": b_1,
        "down_proj.weight": W_2.T,
        "down_proj.bias": b_2,
    }
    return module_case(note, tuple(W_1.shape), x, weights=weights)


EXERCISE = exercise_of(
    FeedForward,
    section="09_feed_forward#the-formula",
    points=1,
    cases=[
        part_case(*ONE_WORD),
        part_case(
            "a negative word, and a negative answer",
            torch.tensor([[[-1.0]]]),
            torch.tensor([[2.0, -3.0]]),
            torch.tensor([0.5, 1.0]),
            torch.tensor([[10.0], [-100.0]]),
            torch.tensor([-1.0]),
        ),
        part_case(
            "subject and verb disagree",
            torch.tensor([[[0.5, 0.5], [0.5, 0.0]]]),
            torch.tensor([[2.0, -2.0], [-2.0, 2.0]]),
            torch.tensor([-0.5, -0.5]),
            torch.tensor([[1.0, 0.0], [1.0, 0.0]]),
            torch.zeros(2),
        ),
        part_case(
            "as wide inside as outside", *draw_part(Draw(1), 1, 1, 2, 2)
        ),
        part_case("as many words as numbers", *draw_part(Draw(2), 1, 3, 3, 4)),
        part_case("two sentences", *draw_part(Draw(3), 2, 3, 2, 8)),
    ],
    draw=lambda draw: part_case("random numbers", *random_part(draw)),
)
