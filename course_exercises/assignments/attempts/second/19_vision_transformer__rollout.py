from functools import reduce

import torch


def right_1(attention):
    """From below: each layer stands to the left of what was there."""
    tokens = attention.shape[-1]
    one = torch.eye(tokens, dtype=attention.dtype, device=attention.device)
    result = one.expand(len(attention), tokens, tokens)
    for layer in attention.mean(dim=2).unbind(dim=1):
        result = (0.5 * layer + 0.5 * one) @ result
    return result


def right_2(attention):
    """From above: follows each output down, half straight, half by heads."""
    batch, layers, heads, length, _ = attention.shape
    flow = torch.eye(length).to(attention).repeat(batch, 1, 1)
    for number in reversed(range(layers)):
        read = (
            torch.einsum("bqm,bhmk->bqk", flow, attention[:, number]) / heads
        )
        flow = (flow + read) / 2
    return flow


def single_1(attention):
    """Multiplies in the order of the layers, the lowest on the left."""
    layers = attention.mean(2)
    layers = (layers + torch.eye(layers.shape[-1])) / 2
    result = layers[:, 0]
    for i in range(1, layers.shape[1]):
        result = torch.bmm(result, layers[:, i])
    return result


def single_2(attention):
    """Forgets the residual connection."""
    mean = attention.mean(dim=2)
    return reduce(lambda below, above: above @ below, mean.unbind(1))


def single_3(attention):
    """Adds what was there whole, not half and half."""
    result = torch.eye(attention.shape[-1])
    for i in range(attention.shape[1]):
        layer = attention[:, i].mean(1)
        result = layer @ result + result
    return result


def single_4(attention):
    """Takes the mean over the layers, too, in place of a product."""
    mean = attention.mean(dim=(1, 2))
    return 0.5 * mean + 0.5 * torch.eye(mean.shape[-1])


def single_5(attention):
    """Follows each head by itself through all layers; the mean comes last."""
    steps = (attention + torch.eye(attention.shape[-1])) / 2
    paths = steps[:, 0]
    for number in range(1, steps.shape[1]):
        paths = torch.einsum("bhqm,bhmk->bhqk", steps[:, number], paths)
    return paths.mean(dim=1)


def double_1(attention):
    """1. Takes the strongest head at each place; 2. multiplies number by
    number, not as matrices."""
    one = torch.eye(attention.shape[-1])
    layers = (attention.amax(dim=2) + one) / 2
    return layers.prod(dim=1)


def double_2(attention):
    """1. The residual connection counts once, at the very end; 2. the lowest
    layer stands on the left."""
    mean = attention.mean(2)
    result = mean[:, 0]
    for layer in mean.unbind(1)[1:]:
        result = result @ layer
    return 0.5 * result + 0.5 * torch.eye(result.shape[-1])
