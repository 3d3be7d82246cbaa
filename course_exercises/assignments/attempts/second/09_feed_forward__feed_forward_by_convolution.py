import torch
import torch.nn.functional as F


def right_1(x, kernel_1, b_1, kernel_2, b_2):
    """Turns the axes, convolves twice, turns them back."""
    channels_first = x.transpose(1, 2)
    h = F.relu(F.conv1d(channels_first, kernel_1, b_1))
    return F.conv1d(h, kernel_2, b_2).transpose(1, 2)


def right_2(x, kernel_1, b_1, kernel_2, b_2):
    """Drops the width of the kernels and computes two linear maps."""
    W_1 = kernel_1[:, :, 0]
    W_2 = kernel_2[:, :, 0]
    h = torch.einsum("bld,fd->blf", x, W_1) + b_1
    return torch.einsum("blf,df->bld", torch.relu(h), W_2) + b_2


def single_1(x, kernel_1, b_1, kernel_2, b_2):
    """Believes that reshape swaps axes, on the way in."""
    batch, length, d_model = x.shape
    h = x.reshape(batch, d_model, length)
    h = F.relu(F.conv1d(h, kernel_1, b_1))
    return F.conv1d(h, kernel_2, b_2).permute(0, 2, 1)


def single_2(x, kernel_1, b_1, kernel_2, b_2):
    """Gives both convolutions a ReLU, as Conv1D(activation='relu') does."""

    def layer(inputs, kernel, bias):
        return torch.relu(F.conv1d(inputs, kernel, bias))

    h = layer(x.mT, kernel_1, b_1)
    return layer(h, kernel_2, b_2).mT


def single_3(x, kernel_1, b_1, kernel_2, b_2):
    """Leaves the channels in the middle: does not turn the result back."""
    h = torch.relu(F.conv1d(x.permute(0, 2, 1), kernel_1, b_1))
    return F.conv1d(h, kernel_2, b_2)


def single_4(x, kernel_1, b_1, kernel_2, b_2):
    """Narrows with the transposed first kernel, like an autoencoder."""
    h = F.conv1d(x.transpose(1, 2), kernel_1, b_1).relu()
    y = F.conv_transpose1d(h, kernel_1, b_2)
    return y.transpose(1, 2)


def single_5(x, kernel_1, b_1, kernel_2, b_2):
    """Makes the second one causal by a step of padding on the left."""
    h = F.relu(F.conv1d(x.transpose(1, 2), kernel_1, b_1))
    h = F.pad(h, (1, 0))
    y = F.conv1d(h, kernel_2, b_2)
    y = y[:, :, : x.shape[1]]
    return y.transpose(1, 2)


def double_1(x, kernel_1, b_1, kernel_2, b_2):
    """1. Convolutions need no ReLU between; 2. reshapes the result back."""
    h = F.conv1d(x.transpose(-1, -2), kernel_1, b_1)
    h = F.conv1d(h, kernel_2, b_2)
    return h.reshape(x.shape)


def double_2(x, kernel_1, b_1, kernel_2, b_2):
    """1. Leaves out the second bias; 2. adds the stream."""
    stream = x.transpose(1, 2)
    hidden = torch.clamp(F.conv1d(stream, kernel_1, b_1), min=0)
    answer = F.conv1d(hidden, kernel_2)
    return (stream + answer).transpose(1, 2)
