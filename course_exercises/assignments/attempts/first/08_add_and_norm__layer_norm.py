import torch


def right_1(x, gain, bias, epsilon=1e-5):
    """Mean and squared deviations along the last axis, by hand."""
    mean = x.mean(dim=-1, keepdim=True)
    deviation = x - mean
    variance = (deviation**2).mean(dim=-1, keepdim=True)
    return gain * deviation / torch.sqrt(variance + epsilon) + bias


def right_2(x, gain, bias, epsilon=1e-5):
    """Word by word, with sums divided by d_model."""
    d_model = x.shape[-1]
    words = []
    for word in x.reshape(-1, d_model):
        centred = word - word.sum() / d_model
        variance = torch.dot(centred, centred) / d_model
        words.append(centred / (variance + epsilon) ** 0.5 * gain + bias)
    return torch.stack(words).reshape(x.shape)


def single_1(x, gain, bias, epsilon=1e-5):
    """Uses torch.var as it is, which divides by d_model - 1."""
    mean = x.mean(-1, keepdim=True)
    var = x.var(-1, keepdim=True)
    return gain * (x - mean) / torch.sqrt(var + epsilon) + bias


def single_2(x, gain, bias, epsilon=1e-5):
    """Adds epsilon to the deviation, outside the root."""
    mu = x.mean(dim=-1, keepdim=True)
    sigma = torch.sqrt(((x - mu) ** 2).mean(dim=-1, keepdim=True))
    return gain * ((x - mu) / (sigma + epsilon)) + bias


def single_3(x, gain, bias, epsilon=1e-5):
    """One mean and variance for a whole sentence."""
    mean = x.mean(dim=(1, 2), keepdim=True)
    var = ((x - mean) ** 2).mean(dim=(1, 2), keepdim=True)
    x_hat = (x - mean) / (var + epsilon).sqrt()
    return x_hat * gain + bias


def single_4(x, gain, bias, epsilon=1e-5):
    """Divides by the variance, without a root."""
    mean = torch.mean(x, dim=-1, keepdim=True)
    variance = torch.mean((x - mean).square(), dim=-1, keepdim=True)
    return (x - mean) / (variance + epsilon) * gain + bias


def single_5(x, gain, bias, epsilon=1e-5):
    """Divides by the root mean square and takes no mean off."""
    mean_square = x.pow(2).mean(dim=-1, keepdim=True)
    return x * torch.rsqrt(mean_square + epsilon) * gain + bias


def double_1(x, gain, bias, epsilon=1e-5):
    """1. std divides by d_model - 1; 2. epsilon outside the root."""
    mean = x.mean(-1, keepdim=True)
    std = x.std(-1, keepdim=True)
    return gain * (x - mean) / (std + epsilon) + bias


def double_2(x, gain, bias, epsilon=1e-5):
    """1. Statistics over batch and length; 2. no gradient through them."""
    with torch.no_grad():
        mean = x.mean(dim=(0, 1))
        var = x.var(dim=(0, 1), unbiased=False)
    return (x - mean) / torch.sqrt(var + epsilon) * gain + bias
