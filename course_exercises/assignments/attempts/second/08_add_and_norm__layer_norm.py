import torch


def right_1(x, gain, bias, epsilon=1e-5):
    """Mean and variance of each word, then gain and bias."""
    mean = x.mean(dim=-1, keepdim=True)
    variance = ((x - mean) ** 2).mean(dim=-1, keepdim=True)
    return gain * (x - mean) / torch.sqrt(variance + epsilon) + bias


def right_2(x, gain, bias, epsilon=1e-5):
    """Word by word, with sums over d_model."""
    d_model = x.shape[-1]
    words = []
    for word in x.reshape(-1, d_model):
        deviation = word - word.sum() / d_model
        var = torch.dot(deviation, deviation) / d_model
        words.append(deviation * (var + epsilon) ** -0.5)
    normed = torch.stack(words).reshape(x.shape)
    return normed * gain + bias


def single_1(x, gain, bias, epsilon=1e-5):
    """Takes torch's variance as it is, which divides by d_model - 1."""
    mu = x.mean(-1, keepdim=True)
    var = x.var(-1, keepdim=True)
    return gain * ((x - mu) / torch.sqrt(var + epsilon)) + bias


def single_2(x, gain, bias, epsilon=1e-5):
    """Adds epsilon to the standard deviation, outside the root."""
    centred = x - x.mean(dim=-1, keepdim=True)
    std = torch.sqrt(centred.square().mean(dim=-1, keepdim=True))
    return centred / (std + epsilon) * gain + bias


def single_3(x, gain, bias, epsilon=1e-5):
    """Takes one mean and one variance for the whole sentence."""
    mean = x.mean(dim=(1, 2), keepdim=True)
    var = x.var(dim=(1, 2), correction=0, keepdim=True)
    return (x - mean) * torch.rsqrt(var + epsilon) * gain + bias


def single_4(x, gain, bias, epsilon=1e-5):
    """Norms each component over all words, as a batch norm does."""
    mean = x.mean(dim=(0, 1))
    var = ((x - mean) ** 2).mean(dim=(0, 1))
    x_hat = (x - mean) / torch.sqrt(var + epsilon)
    return gain * x_hat + bias


def single_5(x, gain, bias, epsilon=1e-5):
    """Divides by the root of the mean square and takes no mean off."""
    ms = x.pow(2).mean(-1, keepdim=True)
    return x * torch.rsqrt(ms + epsilon) * gain + bias


def double_1(x, gain, bias, epsilon=1e-5):
    """1. Adds the bias before the gain; 2. divides by d_model - 1."""
    d = x.size(-1)
    diff = x - x.mean(dim=-1, keepdim=True)
    var = diff.pow(2).sum(dim=-1, keepdim=True) / (d - 1)
    return gain * (diff / (var + epsilon).sqrt() + bias)


def double_2(x, gain, bias, epsilon=1e-5):
    """1. Divides by the variance, not its root; 2. has 1 + gain for gain."""
    m = x.mean(dim=-1, keepdim=True)
    v = torch.var(x, dim=-1, unbiased=False, keepdim=True)
    return (x - m) / (v + epsilon) * (1 + gain) + bias
