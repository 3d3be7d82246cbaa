"""A layer of a decoder of today."""

from jaxtyping import Float
from torch import Tensor, nn

from course_exercises.candidate.cases import Case
from course_exercises.candidate.draw import Draw
from course_exercises.engine.exercise import exercise_of, module_case, other

from .gated_feed_forward import GatedFeedForward
from .grouped_heads import GroupedHeads
from .rms_norm import RMSNorm


class MyModernLayer(nn.Module):
    """Attention, then feed-forward, each behind a norm of its own.

    In pre-norm: a part reads the normalised stream, and its answer is added
    to the stream itself, which is never normalised. The parts are there, and
    each is called with one tensor. There is no dropout.

    Args:
        d_model: width of the stream.
        n_heads: heads of queries.
        n_kv_heads: heads of keys and values.
        d_ff: width inside the feed-forward part.
        base: of the rotary positions.
        epsilon: of the norms.
    """

    def __init__(
        self,
        d_model: int,
        n_heads: int,
        n_kv_heads: int,
        d_ff: int,
        base: float,
        epsilon: float,
    ):
        super().__init__()
        self.norm_1 = RMSNorm(d_model, epsilon)
        self.attention = GroupedHeads(d_model, n_heads, n_kv_heads, base)
        self.norm_2 = RMSNorm(d_model, epsilon)
        self.feed_forward = GatedFeedForward(d_model, d_ff)

    def forward(
        self, x: Float[Tensor, "batch length d_model"]
    ) -> Float[Tensor, "batch length d_model"]:
        """One step of the stream.

        Args:
            x: the stream.

        Returns:
            The stream after both parts.
        """
        ### BEGIN SOLUTION
        x = x + self.attention(self.norm_1(x))
        return x + self.feed_forward(self.norm_2(x))
        ### END SOLUTION


@other
class LayerByLoop(MyModernLayer):
    def forward(self, x):
        for norm, part in (
            (self.norm_1, self.attention),
            (self.norm_2, self.feed_forward),
        ):
            x = part(norm(x)) + x
        return x


@other
class LayerWithNames(MyModernLayer):
    def forward(self, x):
        residual = x
        hidden = self.attention(self.norm_1(x))
        hidden = residual + hidden
        residual = hidden
        return residual + self.feed_forward(self.norm_2(hidden))


@other
class LayerAsOneSum(MyModernLayer):
    def forward(self, x):
        heard = self.attention(self.norm_1(x))
        return x + heard + self.feed_forward(self.norm_2(x + heard))


def layer_case(
    note: str, *shape: int, groups: int = 1, epsilon: float = 1e-5
) -> Case:
    """A drawn stream for a layer of width 4 with two heads."""
    x = Draw(sum(shape)).normal(*shape, 4)
    return module_case(note, (4, 2, groups, 6, 100.0, epsilon), x)


def draw_stream(draw: Draw) -> Case:
    build = 8, 4, draw.choice([1, 2, 4]), 12, 100.0, 1e-5
    x = draw.normal(draw.size(1, 3), draw.size(2, 5), 8)
    return module_case("a random stream", build, x)


EXERCISE = exercise_of(
    MyModernLayer,
    section="22_since_2017#a-model-of-today",
    points=1,
    cases=[
        layer_case("one word", 1, 1),
        layer_case("two words", 1, 2),
        layer_case("two groups", 1, 3, groups=2),
        layer_case("a larger epsilon", 1, 3, epsilon=0.5),
        layer_case("two texts", 2, 4),
    ],
    draw=draw_stream,
    tolerance=1e-4,
)
