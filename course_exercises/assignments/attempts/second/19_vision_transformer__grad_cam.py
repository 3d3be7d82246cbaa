import torch
import torch.nn.functional as F


def right_1(features, gradient):
    """Weights with axes of size 1, a sum over channels, no minus."""
    weights = gradient.mean(dim=(2, 3), keepdim=True)
    return (weights * features).sum(dim=1).clamp(min=0)


def right_2(features, gradient):
    """Adds channel to channel, image by image."""
    out = torch.zeros_like(features[:, 0])
    for b, (maps, slopes) in enumerate(zip(features, gradient)):
        for channel, slope in zip(maps, slopes):
            out[b] += channel * (slope.sum() / slope.numel())
    return F.relu(out)


def single_1(features, gradient):
    """The weights are the sums of the gradient."""
    weights = gradient.sum(dim=(-2, -1))
    return torch.relu(torch.einsum("bc,bcij->bij", weights, features))


def single_2(features, gradient):
    """Leaves what is below zero: it speaks against the class."""
    weights = gradient.flatten(2).mean(-1)
    return torch.einsum("bchw,bc->bhw", features, weights)


def single_3(features, gradient):
    """Gradient times features, place by place, without a mean."""
    product = torch.mul(features, gradient)
    return F.relu(product.sum(1))


def single_4(features, gradient):
    """Takes the mean over the channels, in place of the sum."""
    weights = gradient.mean((2, 3))[:, :, None, None]
    return (features * weights).mean(1).relu()


def single_5(features, gradient):
    """Makes each channel's map zero below zero, then adds up."""
    weights = gradient.mean((2, 3))
    total = 0
    for c in range(features.shape[1]):
        total = total + F.relu(features[:, c] * weights[:, c, None, None])
    return total


def double_1(features, gradient):
    """1. Only channels with a weight above zero count, and the map is left;
    2. the greatest number of each map becomes 1."""
    weights = F.relu(gradient.mean(dim=(2, 3), keepdim=True))
    heat = (weights * features).sum(1)
    top = heat.amax(dim=(1, 2), keepdim=True).clamp(min=1e-8)
    return heat / top


def double_2(features, gradient):
    """1. Takes the gradient's mean over the channels, at each place; 2. takes
    the size, whatever the sign."""
    weights = gradient.mean(dim=1, keepdim=True)
    return (features * weights).sum(dim=1).abs()
