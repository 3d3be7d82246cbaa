import torch


def right_1(attention):
    """Mean over heads, half identity, the newer layer on the left."""
    tokens = attention.shape[-1]
    eye = torch.eye(tokens, dtype=attention.dtype, device=attention.device)
    flow = eye.expand(attention.shape[0], tokens, tokens)
    for layer in attention.mean(dim=2).unbind(dim=1):
        flow = 0.5 * (layer + eye) @ flow
    return flow


def right_2(attention):
    """Starts at the last layer and goes down, the older on the right."""
    batch, layers, _, tokens, _ = attention.shape
    made_of = attention.new_zeros(batch, tokens, tokens)
    made_of.diagonal(dim1=1, dim2=2).fill_(1)
    for index in reversed(range(layers)):
        read = attention[:, index].sum(dim=1) / attention.shape[2]
        # what stays is one half; what was read comes through `read`
        made_of = made_of / 2 + torch.einsum("bqm,bmk->bqk", made_of, read) / 2
    return made_of


def single_1(attention):
    """Multiplies in reading order: first layer on the left."""
    eye = torch.eye(attention.shape[-1])
    flow = eye.expand(attention.shape[0], -1, -1)
    for layer in attention.mean(dim=2).unbind(dim=1):
        flow = flow @ ((layer + eye) / 2)
    return flow


def single_2(attention):
    """Multiplies the attention alone; forgets the residual connection."""
    mean = attention.mean(dim=2)
    flow = mean[:, 0]
    for index in range(1, mean.shape[1]):
        flow = mean[:, index] @ flow
    return flow


def single_3(attention):
    """Takes the strongest head in place of the mean."""
    eye = torch.eye(attention.shape[-1])
    flow = eye.expand(attention.shape[0], -1, -1)
    for layer in attention.max(dim=2).values.unbind(dim=1):
        flow = (layer + eye) / 2 @ flow
    return flow


def single_4(attention):
    """Adds the identity as the residual does, and does not halve."""
    eye = torch.eye(attention.shape[-1])
    flow = eye.expand(attention.shape[0], -1, -1)
    for layer in attention.mean(dim=2).unbind(dim=1):
        flow = (layer + eye) @ flow
    return flow


def single_5(attention):
    """Averages the layers as well, in place of multiplying them."""
    eye = torch.eye(attention.shape[-1])
    return (attention.mean(dim=(1, 2)) + eye) / 2


def double_1(attention):
    """1. No residual; 2. the first layer on the left."""
    mean = attention.mean(dim=2)
    flow = mean[:, 0]
    for index in range(1, mean.shape[1]):
        flow = flow @ mean[:, index]
    return flow


def double_2(attention):
    """1. Strongest head; 2. identity added without the half."""
    eye = torch.eye(attention.shape[-1])
    flow = eye.expand(attention.shape[0], -1, -1)
    for index in range(attention.shape[1]):
        strongest = attention[:, index].amax(dim=1)
        flow = torch.bmm(strongest + eye, flow)
    return flow
