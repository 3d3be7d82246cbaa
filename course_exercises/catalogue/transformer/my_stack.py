"""Stack of layers."""

import itertools
from collections.abc import Callable

import torch
from jaxtyping import Float
from torch import Tensor, nn

from course_exercises.candidate.cases import Case
from course_exercises.candidate.draw import Draw
from course_exercises.engine.exercise import exercise_of, module_case, other


class MyStack(nn.Module):
    """Layers on top of each other, each with weights of its own.

    The stack makes all its layers when it is built, each by one call of
    ``make_layer``. They are parts of it: ``parameters()`` gives the weights
    of all.

    Args:
        make_layer: makes a new layer, with new weights, at each call. A layer
            is called as ``layer(x, *others)``.
        n_layers: how many layers the stack has; at least 1.
    """

    def __init__(self, make_layer: Callable[[], nn.Module], n_layers: int):
        super().__init__()
        ### BEGIN SOLUTION
        self.layers = nn.ModuleList(make_layer() for _ in range(n_layers))
        ### END SOLUTION

    def forward(
        self, x: Float[Tensor, "batch length d_model"], *others: Tensor
    ) -> Float[Tensor, "batch length d_model"]:
        """Lead a stream through all layers, the one made first being lowest.

        Args:
            x: what the lowest layer reads.
            others: masks, a memory, or nothing: each layer is given them as
                they are.

        Returns:
            What the highest layer gives.
        """
        ### BEGIN SOLUTION
        for layer in self.layers:
            x = layer(x, *others)
        return x
        ### END SOLUTION


@other
class StackOfAddedModules(MyStack):
    def __init__(self, make_layer, n_layers):
        nn.Module.__init__(self)
        for number in range(n_layers):
            self.add_module(f"layer_{number}", make_layer())

    def forward(self, x, *others):
        for layer in self.children():
            x = layer(x, *others)
        return x


@other
class StackByRecursion(MyStack):
    def __init__(self, make_layer, n_layers):
        nn.Module.__init__(self)
        self.lowest = make_layer()
        self.rest = None
        if n_layers > 1:
            self.rest = StackByRecursion(make_layer, n_layers - 1)

    def forward(self, x, *others):
        x = self.lowest(x, *others)
        return x if self.rest is None else self.rest(x, *others)


@other
class StackBySequential(MyStack):
    def __init__(self, make_layer, n_layers):
        nn.Module.__init__(self)
        made = (make_layer() for _ in range(n_layers))
        self.all = nn.Sequential(*made)

    def forward(self, x, *others):
        for i in range(len(self.all)):
            x = self.all[i](x, *others)
        return x


class NumberedLayer(nn.Module):
    """Layer i computes 2x + i, and adds its other arguments."""

    def __init__(self, number: int):
        super().__init__()
        self.number = nn.Parameter(torch.tensor(float(number)))

    def forward(self, x, *others):
        """Compute 2x + i."""
        return sum(others, 2 * x + self.number)


def numbered_layer() -> nn.Module:
    """Stands for ``run_stack``'s own factory of layers."""
    return NumberedLayer(1)


def run_stack(candidate, given: Case) -> dict:
    """Build and call a stack; return its output and its layers."""
    numbers = itertools.count(1)

    def make_layer():
        return NumberedLayer(next(numbers))

    stack = candidate(make_layer, given.build[1])
    output = stack(*given.args)
    stack(*given.args)
    return {
        "output": output,
        "layers made": next(numbers) - 1,
        "layers registered": sum(1 for _ in stack.parameters()),
    }


def stack_case(note: str, n_layers: int, *args: Tensor) -> Case:
    """A stack of numbered layers."""
    return module_case(note, (numbered_layer, n_layers), *args)


def draw_stack(draw: Draw) -> Case:
    x = draw.normal(draw.size(1, 2), draw.size(2, 3), 3)
    others = [draw.normal(*x.shape) for _ in range(draw.size(0, 2))]
    return stack_case("random numbers", draw.size(2, 6), x, *others)


ONE = torch.tensor([[[1.0]]])
EXERCISE = exercise_of(
    MyStack,
    section="10_transformer#build-it",
    points=2,
    cases=[
        stack_case("two layers, number i gives 2x + i", 2, ONE),
        stack_case("one layer, number i gives 2x + i", 1, ONE),
        stack_case("three layers, number i gives 2x + i", 3, ONE),
        stack_case("two layers and a mask: 2x + i + mask", 2, ONE, 100 * ONE),
        stack_case(
            "two layers, memory and mask: 2x + i + both",
            2,
            ONE,
            100 * ONE,
            1000 * ONE,
        ),
        stack_case("six layers, two sentences", 6, Draw(1).normal(2, 3, 4)),
    ],
    draw=draw_stack,
    run=run_stack,
)
