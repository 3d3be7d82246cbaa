import copy

from torch import nn


class Right1(nn.Module):
    """A ModuleList from a comprehension."""

    def __init__(self, make_layer, n_layers):
        super().__init__()
        self.layers = nn.ModuleList([make_layer() for _ in range(n_layers)])

    def forward(self, x, *others):
        for layer in self.layers:
            x = layer(x, *others)
        return x


class Right2(nn.Module):
    """Registers each layer under a name of its own."""

    def __init__(self, make_layer, n_layers):
        super().__init__()
        self.n_layers = n_layers
        for i in range(n_layers):
            self.add_module(f"layer_{i}", make_layer())

    def forward(self, x, *others):
        out = x
        for i in range(self.n_layers):
            out = getattr(self, f"layer_{i}")(out, *others)
        return out


class Single1(nn.Module):
    """A Python list is enough to keep layers."""

    def __init__(self, make_layer, n_layers):
        super().__init__()
        self.layers = []
        for _ in range(n_layers):
            self.layers.append(make_layer())

    def forward(self, x, *others):
        for layer in self.layers:
            x = layer(x, *others)
        return x


class Single2(nn.Module):
    """Multiplies a list of one layer: believes it makes n layers."""

    def __init__(self, make_layer, n_layers):
        super().__init__()
        self.layers = nn.ModuleList([make_layer()] * n_layers)

    def forward(self, x, *others):
        h = x
        for layer in self.layers:
            h = layer(h, *others)
        return h


class Single3(nn.Module):
    """Gives masks and memory to the lowest layer only: the rest has read."""

    def __init__(self, make_layer, n_layers):
        super().__init__()
        self.first = make_layer()
        self.rest = nn.ModuleList(make_layer() for _ in range(n_layers - 1))

    def forward(self, x, *others):
        x = self.first(x, *others)
        for layer in self.rest:
            x = layer(x)
        return x


class Single4(nn.Module):
    """Adds the stream around each layer, as around each part of one."""

    def __init__(self, make_layer, n_layers):
        super().__init__()
        self.blocks = nn.ModuleList([make_layer() for _ in range(n_layers)])

    def forward(self, x, *others):
        for block in self.blocks:
            x = x + block(x, *others)
        return x


class Single5(nn.Module):
    """Each layer reads the stack's input; the last one's answer is given."""

    def __init__(self, make_layer, n_layers):
        super().__init__()
        self.layers = nn.ModuleList()
        for _ in range(n_layers):
            self.layers.append(make_layer())

    def forward(self, x, *others):
        for layer in self.layers:
            out = layer(x, *others)
        return out


class Double1(nn.Module):
    """1. Copies one made layer, as in a blog; 2. sums what all layers give."""

    def __init__(self, make_layer, n_layers):
        super().__init__()
        layer = make_layer()
        self.layers = nn.ModuleList(
            [copy.deepcopy(layer) for _ in range(n_layers)]
        )

    def forward(self, x, *others):
        collected = 0
        for layer in self.layers:
            x = layer(x, *others)
            collected = collected + x
        return collected


class Double2(nn.Module):
    """1. Layers in a plain list; 2. the one made first is on top."""

    def __init__(self, make_layer, n_layers):
        super().__init__()
        self.stack = [make_layer() for _ in range(n_layers)]

    def forward(self, x, *others):
        for layer in reversed(self.stack):
            x = layer(x, *others)
        return x
