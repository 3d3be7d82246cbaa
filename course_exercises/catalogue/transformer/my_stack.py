"""Stack of layers."""

import itertools
from collections.abc import Callable

import torch
from jaxtyping import Float
from torch import Tensor, nn

from course_exercises.engine.draw import Draw
from course_exercises.engine.exercise import (
    Case,
    exercise_of,
    module_case,
    other,
)


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
        layers = [make_layer() for _ in range(n_layers)]
        self.layers = nn.ModuleList(layers)
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


EDITS = """
# OneLayerNTimes (#must-each-layer-have-its-own-weights)
- [make_layer() for _ in range(n_layers)] -> [make_layer()] * n_layers
Your stack is one layer, used again and again.

You call `make_layer` once. A list that repeats its result holds the same
object each time, so all steps share one set of weights. (Universal
Transformers do that on purpose.)

# LayersInAPlainList (#which-mistakes-the-laws-notice)
- nn.ModuleList(layers) -> layers
You keep the layers in a plain Python list: the module does not know them.

The list alone does not change the output. But `parameters()` is empty, so the
optimiser trains nothing, `to(device)` moves nothing, and a saved file holds
nothing.

# OneLayerInAPlainList (#which-mistakes-the-laws-notice)
- [make_layer() for _ in range(n_layers)] -> [make_layer()] * n_layers
- nn.ModuleList(layers) -> layers
Your stack is one layer, used again and again, in a plain Python list.

Two things are wrong. You call `make_layer` once, so all steps share one set of
weights. And the module does not know what is in a plain list: `parameters()`
is empty, and nothing is trained.

# LayersNeverMade
- make_layer() -> make_layer
Your list holds `make_layer` itself instead of layers.

It is a function: you have to *call* it to make a layer.

# LayersGivenANumber
- make_layer() for _ in -> make_layer(i) for i in
You give `make_layer` a number.

It takes no arguments: each call makes the next layer.

# SequentialWithOthers
- ModuleList(layers) -> Sequential(*layers)
- for layer in self.layers:
-     x = layer(x, *others)
- return x
+ return self.layers(x, *others)
You call an `nn.Sequential` with several arguments.

It passes only one value from layer to layer. With a mask or a memory it raises
an error.

# ListCalled
- for layer in self.layers:
-     x = layer(x, *others)
- return x
+ return self.layers(x, *others)
You call the list of layers as if it were a layer.

An `nn.ModuleList` only registers modules. Your `forward` has to call each of
them.

# CopiesOfOneLayer (#must-each-layer-have-its-own-weights)
- layers = [make_layer() for _ in range(n_layers)]
+ import copy
+ layer = make_layer()
+ layers = [copy.deepcopy(layer) for _ in range(n_layers)]
Your layers are copies of one: they start with the same weights.

You call `make_layer` only once. Such a stack can still learn, as the copies
are separate objects; PyTorch's own stacks are made that way. But the exercise
asks for layers that each start with weights of their own.

# LayersMadeAnew
- layers = [make_layer() for _ in range(n_layers)]
- self.layers = nn.ModuleList(layers)
+ self.make_layer, self.n_layers = make_layer, n_layers
- for layer in self.layers:
+ for layer in [self.make_layer() for _ in range(self.n_layers)]:
You make new layers in `forward`, at each call.

Each call then has other weights, and nothing that was learned is kept. Make
the layers once, in `__init__`.

# StopsAfterOneLayer
- x = layer -> return layer
You return the first layer's result: the others are never called.

Does the `return` stand inside the loop?

# ReturnsWhatEntered
- x = layer -> layer
You return what entered the stack: no layer's result is kept.

You call the layers, but `x` stays as it was. Replace it by each layer's
result.

# EachReadsTheFirstX (#which-mistakes-the-laws-notice)
- x = layer -> y = layer
- return x -> return y
Each of your layers reads what entered the stack, and you return the last one's
result.

The results of the others are thrown away. Each layer has to read the result of
the one below it.

# SumOfLayers
- for layer in self.layers:
-     x = layer(x, *others)
- return x
+ return sum(layer(x, *others) for layer in self.layers)
You add up the results of layers that all read what entered the stack.

Each layer has to read the result of the one below it.

# AllOutputsReturned
- for layer
+ outputs = []
+ for layer
- x = layer(x, *others)
+ x = layer(x, *others)
+     outputs.append(x)
- return x -> return outputs
or
- for layer
+ outputs = []
+ for layer
- x = layer(x, *others)
+ x = layer(x, *others)
+     outputs.append(x)
- return x -> return tuple(outputs)
or
- for layer
+ import torch
+ outputs = []
+ for layer
- x = layer(x, *others)
+ x = layer(x, *others)
+     outputs.append(x)
- return x -> return torch.stack(outputs)
You return the results of all layers.

The exercise asks for one: that of the highest layer.

# OthersInOneTuple
- *others -> others
Your layers get `others` as one tuple.

Inside `forward` it is a tuple: unpack it again with a star. A layer expects a
mask and a memory as separate arguments.

# OthersNotHandedOn
- , *others ->
Your layers do not get `others`: they have neither mask nor memory.

Without a mask they see padding or the future; without a memory a decoder knows
nothing of the source.

# OthersForTheFirstLayer
- x = layer(x, *others)
+ x = layer(x, *others)
+     others = ()
Only your first layer gets `others`.

Every layer needs them: they are the same for all.

# StackUpsideDown
- in self.layers -> in reversed(self.layers)
Your stream goes through the last layer first.

The layer that was made first is the lowest: it has to read `x`.

# StackAddsOnceMore
- x = layer -> x = x + layer
You add the stream to each layer's result.

The layers have residual connections of their own, inside. A stack only passes
the stream on.

# StackAddsAtTheEnd (08_add_and_norm#add-keep-the-word-itself)
- for layer
+ entered = x
+ for layer
- return x -> return entered + x
You add what entered the stack to what leaves it.

The layers have residual connections of their own, inside. A stack only passes
the stream on.

# OneLayerTooFew
- range(n_layers) -> range(1, n_layers)
Your stack has one layer too few.

A `range` that starts at 1 still stops before its end.

# OneLayerTooMany
- range(n_layers) -> range(n_layers + 1)
Your stack has one layer too many.

`n_layers` counts all of them, the lowest included.

# OneLayerOnly
- range(n_layers) -> range(1)
Your stack has a single layer, whatever `n_layers` says.

A stack of six has six layers, each made by a call of its own.

# SequentialOfAList
- ModuleList(layers) -> Sequential(layers)
You give `nn.Sequential` a list.

It takes modules as separate arguments: unpack the list with a star. But it
passes only one value from layer to layer, so it cannot pass on a mask.

# ListUnpacked
- ModuleList(layers) -> ModuleList(*layers)
You unpack the list for `nn.ModuleList`.

It takes the list itself. (`nn.Sequential` takes modules as separate
arguments.)

# OnlyOneOther
- *others -> *others[:1]
Your layers get only the first of `others`.

There can be a memory and a mask: pass all of them on.

# LastLayerNotAsked
- in self.layers -> in self.layers[:-1]
You leave out the last layer.

You make it, but the stream never goes through it.

# FirstLayerNotAsked
- in self.layers -> in self.layers[1:]
You leave out the first layer.

You make it, but the stream never goes through it.

# OneOfTheLayersAlways
- x = layer -> x = self.layers[0]
or
- x = layer -> x = self.layers[-1]
You call the same layer again and again.

You make all of them, but the stream goes through only one.

# SixLayersAlways
- range(n_layers) -> range(6)
You make six layers, whatever `n_layers` says.

Six is the paper's choice.

# LayersMadeTwice
- layers = [make_layer()
+ make_layer()
+ layers = [make_layer()
or
- layers = [make_layer() for _ in range(n_layers)]
+ layers = [make_layer() for _ in range(n_layers)]
+ layers = [make_layer() for _ in range(n_layers)]
You make more layers than the stack has, and throw some away.

Call `make_layer` just once for each layer.

# StackNormed (08_add_and_norm#post-norm-and-pre-norm)
- return x -> return nn.functional.layer_norm(x, x.shape[-1:])
You normalise what leaves the stack.

The exercise asks for the highest layer's result as it is. In post-norm each
layer has normalised it already.

# StackAverages
- for layer in self.layers:
-     x = layer(x, *others)
- return x
+ outputs = [layer(x, *others) for layer in self.layers]
+ return sum(outputs) / len(outputs)
You take the mean of the results of layers that all read what entered the
stack.

Each layer has to read the result of the one below it.

# AllOutputsAdded
- for layer
+ outputs = []
+ for layer
- x = layer(x, *others)
+ x = layer(x, *others)
+     outputs.append(x)
- return x -> return sum(outputs)
You add up the results of all layers.

The exercise asks for one: that of the highest layer.

# OthersAsStream
- x = layer(x, *others)
+ x = layer(x, *others)
+     others = (x, *others[1:]) if others else ()
You replace the first of `others` by the stream, from the second layer on.

Give all layers the same masks and memory.
"""


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
    hints=(
        "Two questions: how many times is `make_layer` called, and when? And "
        "how does a module learn that the things in a list are its own?",
        "PyTorch has a list for modules, which registers what is in it. In "
        "`forward`, loop over it with one name for the stream, and give every "
        "layer all that comes after `x`.",
    ),
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
