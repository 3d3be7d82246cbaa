import torch
import torch.nn.functional as F


def right_1(features, gradient):
    """The two equations, one line each."""
    alpha = gradient.mean(dim=(2, 3), keepdim=True)
    return (alpha * features).sum(dim=1).relu()


def right_2(features, gradient):
    """Weights by a flattened mean, and a product of matrices."""
    batch, channels, rows, columns = features.shape
    weights = gradient.flatten(2).sum(dim=2) / (rows * columns)
    total = torch.einsum("bc,bcn->bn", weights, features.flatten(2))
    return torch.clamp(total, min=0).view(batch, rows, columns)


def single_1(features, gradient):
    """Keeps what speaks for the class in each channel, then adds up."""
    alpha = gradient.mean(dim=(2, 3), keepdim=True)
    return F.relu(alpha * features).sum(dim=1)


def single_2(features, gradient):
    """Multiplies gradient and features place by place, with no mean."""
    return (gradient * features).sum(dim=1).relu()


def single_3(features, gradient):
    """Forgets to drop what speaks against the class."""
    alpha = gradient.mean(dim=(2, 3))
    return torch.einsum("bc,bcij->bij", alpha, features)


def single_4(features, gradient):
    """Adds the gradients of a channel up, and does not divide by Z."""
    alpha = gradient.sum(dim=(-2, -1), keepdim=True)
    return (alpha * features).sum(dim=1).relu()


def single_5(features, gradient):
    """Makes the map run from 0 to 1, as one draws it."""
    alpha = gradient.mean(dim=(2, 3), keepdim=True)
    heat = (alpha * features).sum(dim=1).relu()
    top = heat.amax(dim=(1, 2), keepdim=True)
    return heat / top.clamp(min=1e-8)


def double_1(features, gradient):
    """1. Sums for the weights, not means; 2. no ReLU."""
    alpha = gradient.sum(dim=(2, 3))
    return (alpha[:, :, None, None] * features).sum(dim=1)


def double_2(features, gradient):
    """1. ReLU within each channel; 2. the mean over channels, not the sum."""
    alpha = gradient.mean(dim=(2, 3), keepdim=True)
    return (alpha * features).clamp(min=0).mean(dim=1)
