import copy

from torch import nn


class Right1(nn.Module):
    """A ModuleList and a loop."""

    def __init__(self, make_layer, n_layers):
        super().__init__()
        self.layers = nn.ModuleList(make_layer() for _ in range(n_layers))

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
        for i in range(self.n_layers):
            layer = getattr(self, f"layer_{i}")
            x = layer(x, *others)
        return x


class Single1(nn.Module):
    """Keeps the layers in a plain list."""

    def __init__(self, make_layer, n_layers):
        super().__init__()
        self.layers = [make_layer() for _ in range(n_layers)]

    def forward(self, x, *others):
        for layer in self.layers:
            x = layer(x, *others)
        return x


class Single2(nn.Module):
    """Multiplies a list with one layer in it."""

    def __init__(self, make_layer, n_layers):
        super().__init__()
        self.layers = nn.ModuleList([make_layer()] * n_layers)

    def forward(self, x, *others):
        for layer in self.layers:
            x = layer(x, *others)
        return x


class Single3(nn.Module):
    """Makes one layer and clones it, as in the Annotated Transformer."""

    def __init__(self, make_layer, n_layers):
        super().__init__()
        layer = make_layer()
        self.layers = nn.ModuleList(
            [copy.deepcopy(layer) for _ in range(n_layers)]
        )

    def forward(self, x, *others):
        for layer in self.layers:
            x = layer(x, *others)
        return x


class Single4(nn.Module):
    """Gives the masks to the lowest layer only."""

    def __init__(self, make_layer, n_layers):
        super().__init__()
        self.layers = nn.ModuleList()
        for _ in range(n_layers):
            self.layers.append(make_layer())

    def forward(self, x, *others):
        x = self.layers[0](x, *others)
        for layer in self.layers[1:]:
            x = layer(x)
        return x


class Single5(nn.Module):
    """Adds a residual around each layer."""

    def __init__(self, make_layer, n_layers):
        super().__init__()
        self.layers = nn.ModuleList([make_layer() for _ in range(n_layers)])

    def forward(self, x, *others):
        out = x
        for layer in self.layers:
            out = out + layer(out, *others)
        return out


class Double1(nn.Module):
    """1. A plain list; 2. goes from the last layer to the first."""

    def __init__(self, make_layer, n_layers):
        super().__init__()
        self.stack = []
        for _ in range(n_layers):
            self.stack.append(make_layer())

    def forward(self, x, *others):
        for layer in reversed(self.stack):
            x = layer(x, *others)
        return x


class Double2(nn.Module):
    """1. Every layer reads the input; 2. forgets to hand the others on."""

    def __init__(self, make_layer, n_layers):
        super().__init__()
        self.layers = nn.ModuleList([make_layer() for _ in range(n_layers)])

    def forward(self, x, *others):
        for layer in self.layers:
            y = layer(x)
        return y
