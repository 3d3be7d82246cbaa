import torch
import torch.nn.functional as F


def right_1(x, kernel_1, b_1, kernel_2, b_2):
    """Turns the axes, two conv1d, turns them back."""
    h = x.transpose(1, 2)
    h = F.conv1d(h, kernel_1, b_1)
    h = torch.relu(h)
    h = F.conv1d(h, kernel_2, b_2)
    return h.transpose(1, 2)


def right_2(x, kernel_1, b_1, kernel_2, b_2):
    """A helper that turns the axes before and after each convolution."""

    def conv(words, kernel, bias):
        turned = torch.einsum("blc->bcl", words)
        return torch.einsum("bcl->blc", F.conv1d(turned, kernel, bias))

    wide = conv(x, kernel_1, b_1).clamp(min=0)
    return conv(wide, kernel_2, b_2)


def single_1(x, kernel_1, b_1, kernel_2, b_2):
    """Gets (batch, channels, length) by a reshape."""
    batch, length, d_model = x.shape
    h = x.reshape(batch, d_model, length)
    h = F.relu(F.conv1d(h, kernel_1, b_1))
    h = F.conv1d(h, kernel_2, b_2)
    return h.transpose(1, 2)


def single_2(x, kernel_1, b_1, kernel_2, b_2):
    """Returns (batch, channels, length) and does not turn back."""
    h = x.permute(0, 2, 1)
    h = F.relu(F.conv1d(h, kernel_1, b_1))
    return F.conv1d(h, kernel_2, b_2)


def single_3(x, kernel_1, b_1, kernel_2, b_2):
    """Forgets the ReLU: the convolutions are the whole thing."""
    h = x.transpose(-1, -2)
    h = F.conv1d(h, kernel_1, b_1)
    h = F.conv1d(h, kernel_2, b_2)
    return h.transpose(-1, -2)


def single_4(x, kernel_1, b_1, kernel_2, b_2):
    """Goes back to the axes of x by a reshape."""
    turned = torch.swapaxes(x, 1, 2)
    wide = torch.relu(F.conv1d(turned, kernel_1, bias=b_1))
    narrow = F.conv1d(wide, kernel_2, bias=b_2)
    return narrow.reshape(x.shape)


def single_5(x, kernel_1, b_1, kernel_2, b_2):
    """ReLU after each convolution, as in a CNN."""
    out = x.transpose(1, 2)
    for kernel, bias in ((kernel_1, b_1), (kernel_2, b_2)):
        out = F.relu(F.conv1d(out, kernel, bias))
    return out.transpose(1, 2)


def double_1(x, kernel_1, b_1, kernel_2, b_2):
    """1. Leaves the second bias away; 2. adds the residual."""
    h = x.transpose(1, 2)
    h = F.conv1d(F.relu(F.conv1d(h, kernel_1, b_1)), kernel_2)
    return x + h.transpose(1, 2)


def double_2(x, kernel_1, b_1, kernel_2, b_2):
    """1. Reshapes instead of turning; 2. adds b_1 after the ReLU."""
    h = x.reshape(x.shape[0], x.shape[2], x.shape[1])
    h = torch.relu(F.conv1d(h, kernel_1)) + b_1[:, None]
    h = F.conv1d(h, kernel_2, b_2)
    return h.permute(0, 2, 1)
