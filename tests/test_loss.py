"""Laws of the loss: F.cross_entropy over real tokens, summed."""

import pytest
import torch
import torch.nn.functional as F
from tiny import close, on_each_device

from transformer_course.fast import chunked_loss
from transformer_course.training.loss import (
    classification_loss,
    label_smoothed_loss,
    symmetric_kl,
)

RIGHT = torch.tensor([[5, 3, 0], [2, 0, 0]])


def random_logits(device="cpu"):
    torch.manual_seed(0)
    return torch.randn(2, 3, 7, device=device, requires_grad=True)


@on_each_device
@pytest.mark.parametrize("smoothing", [0.0, 0.1, 0.5])
def test_equals_torchs_cross_entropy_and_its_gradient(device, smoothing):
    logits, right = random_logits(device), RIGHT.to(device)
    ours = label_smoothed_loss(logits, right, smoothing).loss
    torchs = F.cross_entropy(
        logits.flatten(0, 1),
        right.flatten(),
        label_smoothing=smoothing,
        ignore_index=0,
        reduction="sum",
    )
    close(ours, torchs)
    (one,) = torch.autograd.grad(ours, logits)
    (other,) = torch.autograd.grad(torchs, logits)
    close(one, other)


@pytest.mark.parametrize("far", [-torch.inf, -3e38])
@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_a_barred_word_is_as_in_torchs_cross_entropy(far, smoothing):
    logits, right = torch.tensor([[[3e38, 3e38, far]]]), torch.tensor([[1]])
    theirs = F.cross_entropy(logits[0], right[0], label_smoothing=smoothing)
    assert label_smoothed_loss(logits, right, smoothing).loss == theirs
    assert chunked_loss._rows(logits[0], right[0], smoothing)[0][0] == theirs
    assert classification_loss(logits[0], right[0], smoothing).loss == theirs


def test_a_word_that_both_predictions_bar_does_not_set_them_apart():
    logits = random_logits().detach()
    others = logits.flip(-1)
    near = symmetric_kl(logits[..., :6], others[..., :6], RIGHT)
    logits[..., 6] = others[..., 6] = -torch.inf
    close(symmetric_kl(logits, others, RIGHT), near)


def test_nll_is_the_loss_without_smoothing():
    smooth = label_smoothed_loss(random_logits(), RIGHT, 0.3)
    plain = label_smoothed_loss(random_logits(), RIGHT, 0.0)
    close(smooth.nll, plain.nll)
    close(plain.nll, plain.loss)
    assert smooth.loss > smooth.nll


def test_another_pad_id():
    sums = label_smoothed_loss(random_logits(), RIGHT, pad_id=3)
    assert int(sums.tokens) == 5


def test_accuracy_counts_real_tokens_only():
    logits = torch.full((2, 3, 7), -5.0)
    logits[0, 0, 5] = logits[0, 1, 4] = logits[1, 0, 2] = 5.0
    logits[:, 2, 0] = 5.0  # padding "predicted" as padding
    sums = label_smoothed_loss(logits, RIGHT)
    assert int(sums.correct) == 2
    assert sums.means()["accuracy"] == pytest.approx(2 / 3)


def test_nothing_but_padding_scores_zero():
    sums = label_smoothed_loss(random_logits(), torch.zeros_like(RIGHT))
    assert sums.means() == {"loss": 0.0, "nll": 0.0, "accuracy": 0.0}


def test_bf16_logits_are_summed_in_fp32():
    logits = random_logits().to(torch.bfloat16)
    sums = label_smoothed_loss(logits, RIGHT, 0.1)
    exact = label_smoothed_loss(logits.float(), RIGHT, 0.1)
    assert sums.loss.dtype == torch.float32
    close(sums.loss, exact.loss)


@on_each_device
def test_disagreement_is_the_mean_of_torchs_two_divergences(device):
    logits, right = random_logits(device), RIGHT.to(device)
    others = logits.detach().flip(0)
    ours = symmetric_kl(logits, others, right)
    real = right != 0
    one, two = (x[real].log_softmax(dim=-1) for x in (logits, others))
    there = F.kl_div(one, two, reduction="sum", log_target=True)
    back = F.kl_div(two, one, reduction="sum", log_target=True)
    close(ours, (there + back) / 2)
    close(symmetric_kl(others, logits, right), ours)
    (ours_gradient,) = torch.autograd.grad(ours, logits, retain_graph=True)
    (gradient,) = torch.autograd.grad((there + back) / 2, logits)
    close(ours_gradient, gradient)
