import torch


def right_1(scores, dim=-1):
    """Takes the largest score along the axis off, in the scores' dtype."""
    shifted = scores - scores.amax(dim=dim, keepdim=True)
    powers = torch.exp(shifted)
    return powers / powers.sum(dim=dim, keepdim=True)


def right_2(scores, dim=-1):
    """Through the logarithm of the sum, in double precision."""
    s = scores.double()
    top = s.max(dim=dim, keepdim=True).values
    log_sum = top + (s - top).exp().sum(dim=dim, keepdim=True).log()
    return torch.exp(s - log_sum).to(scores.dtype)


def single_1(scores, dim=-1):
    """Takes the largest score of the whole tensor off."""
    e = torch.exp(scores - scores.max())
    return e / e.sum(dim=dim, keepdim=True)


def single_2(scores, dim=-1):
    """Always works along the last axis."""
    top = scores.max(-1, keepdim=True)[0]
    powers = (scores - top).exp()
    return powers / powers.sum(-1, keepdim=True)


def single_3(scores, dim=-1):
    """Takes the mean off to keep the powers small."""
    finite = torch.isfinite(scores)
    total = scores.masked_fill(~finite, 0).sum(dim=dim, keepdim=True)
    mean = total / finite.sum(dim=dim, keepdim=True)
    powers = torch.exp(scores - mean)
    return powers / powers.sum(dim=dim, keepdim=True)


def single_4(scores, dim=-1):
    """Computes in float32 for safety and stays there."""
    scores = scores.to(torch.float32)
    scores = scores - torch.amax(scores, dim, keepdim=True)
    exp = torch.exp(scores)
    return exp / torch.sum(exp, dim, keepdim=True)


def single_5(scores, dim=-1):
    """Cuts scores off at 10, so that no power gets too large."""
    powers = torch.exp(torch.clamp(scores.double(), max=10.0))
    return (powers / powers.sum(dim=dim, keepdim=True)).to(scores.dtype)


def double_1(scores, dim=-1):
    """1. Always works along the last axis; 2. has no care for overflow."""
    exps = torch.exp(scores)
    return exps / torch.sum(exps, dim=-1, keepdim=True)


def double_2(scores, dim=-1):
    """1. Divides by the sum of all; 2. stays in float32."""
    s = scores.float()
    powers = torch.exp(s - s.amax(dim=dim, keepdim=True))
    return powers / powers.sum()
