import torch


def right_1(scores, dim=-1):
    """Takes the largest score along the axis off each."""
    powers = torch.exp(scores - scores.amax(dim=dim, keepdim=True))
    return powers / powers.sum(dim=dim, keepdim=True)


def right_2(scores, dim=-1):
    """Brings the axis to the end, works in float64, and goes back."""
    s = scores.movedim(dim, -1).double()
    top, _ = s.max(dim=-1, keepdim=True)
    e = (s - top.detach()).exp()
    shares = e / e.sum(-1, keepdim=True)
    return shares.movedim(-1, dim).to(scores.dtype)


def single_1(scores, dim=-1):
    """Takes the mean off: the scores lie around 0 then."""
    centred = scores - scores.mean(dim=dim, keepdim=True)
    e = torch.exp(centred)
    return e / e.sum(dim=dim, keepdim=True)


def single_2(scores, dim=-1):
    """Takes off the largest score of the whole tensor."""
    e = torch.exp(scores - scores.max())
    return e / torch.sum(e, dim=dim, keepdim=True)


def single_3(scores, dim=-1):
    """Shares out along the last axis, whichever is asked for."""
    shifted = scores - scores.max(-1, keepdim=True)[0]
    exp = shifted.exp()
    return exp / exp.sum(-1, keepdim=True)


def single_4(scores, dim=-1):
    """Cuts large scores down to what exp can still take."""
    limit = 10.0 if scores.dtype == torch.float16 else 80.0
    powers = scores.clamp(max=limit).exp()
    return powers / powers.sum(dim=dim, keepdim=True)


def single_5(scores, dim=-1):
    """Takes off the largest absolute value."""
    biggest = scores.abs().amax(dim=dim, keepdim=True)
    e = torch.exp(scores - biggest)
    return e / e.sum(dim=dim, keepdim=True)


def double_1(scores, dim=-1):
    """1. The whole tensor's largest is taken off; 2. stays in float32."""
    s = scores.to(torch.float32)
    s = s - s.max()
    numerator = torch.exp(s)
    return numerator / numerator.sum(dim=dim, keepdim=True)


def double_2(scores, dim=-1):
    """1. Keeps differences above -5; 2. goes along the last axis always."""
    top = scores.amax(dim=-1, keepdim=True)
    difference = (scores - top).clamp(min=-5.0)
    powers = torch.exp(difference)
    return powers / powers.sum(dim=-1, keepdim=True)
