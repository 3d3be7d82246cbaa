"""Laws of Muon, and of the schedules after the paper's."""

import pytest
import torch
from tiny import close, tiny_language_model
from torch import nn

from transformer_course.training.optimizers import (
    MuonAdamW,
    cosine,
    make_muon,
    orthogonalised,
    warmup_stable_decay,
)


@pytest.mark.parametrize("shape", [(8, 8), (6, 20), (20, 6)])
def test_singular_values_become_about_one_and_directions_stay(shape):
    torch.manual_seed(0)
    matrix = torch.randn(*shape)
    made = orthogonalised(matrix)
    values = torch.linalg.svdvals(made)
    assert made.shape == matrix.shape
    assert values.min() > 0.3 and values.max() < 1.3
    U, _, V = torch.linalg.svd(matrix, full_matrices=False)
    turned = U.T @ made @ V.T
    close(turned, turned.diagonal().diag(), 1e-4)


def test_every_weight_has_one_of_the_two_optimizers():
    model = tiny_language_model()
    optimizer = make_muon(model)
    matrices, others = (g["params"] for g in optimizer.param_groups)
    assert {id(p) for p in (*matrices, *others)} == {
        id(p) for p in model.parameters()
    }
    assert len(matrices) + len(others) == len(list(model.parameters()))
    assert all(p.dim() == 2 for p in matrices)
    assert id(model.embedding.weight) in {id(p) for p in others}


@pytest.mark.parametrize("shape", [(40, 60), (60, 40)])
def test_a_step_is_the_formula_of_the_papers(shape):
    """Momentum with Nesterov's look ahead, made orthogonal, as large as
    Adam's, and weights that decay (Liu et al. 2025, equation 4)."""
    torch.manual_seed(0)
    weight = nn.Parameter(torch.randn(shape))
    optimizer = MuonAdamW(
        [weight], [nn.Parameter(torch.zeros(1))], 0.1, 0.5, weight_decay=0.3
    )
    expected, momentum = weight.detach().clone(), torch.zeros(shape)
    for _ in range(2):
        weight.grad = torch.randn(shape)
        optimizer.step()
        momentum = 0.5 * momentum + 0.5 * weight.grad
        ahead = 0.5 * momentum + 0.5 * weight.grad
        step = 0.2 * 60**0.5 * orthogonalised(ahead)
        expected = expected - 0.1 * (step + 0.3 * expected)
        off = weight.detach() - expected  # torch iterates in bf16
        assert off.norm() < 0.06 * (0.1 * step).norm()


def test_the_rate_of_the_schedule_is_both_optimizers():
    weight, gain = nn.Parameter(torch.ones(3, 3)), nn.Parameter(torch.ones(3))
    optimizer = MuonAdamW([weight], [gain], lr=1.0)
    for group in optimizer.param_groups:
        group["lr"] = 0.0
    weight.grad, gain.grad = torch.randn(3, 3), torch.randn(3)
    optimizer.step()
    assert (weight == 1).all() and (gain == 1).all()


@pytest.mark.parametrize("schedule", [cosine(20), warmup_stable_decay(20)])
@pytest.mark.parametrize("warmup", [1, 7, 20, 21, 30])
def test_a_rate_does_not_rise_again_after_its_end(schedule, warmup):
    rates = [schedule(step, warmup, 1.0) for step in range(1, 60)]
    after = rates[warmup - 1 :]
    assert after == sorted(after, reverse=True)
    assert set(rates[max(20, warmup) :]) == {0.0}


@pytest.mark.parametrize("schedule", [cosine(100), warmup_stable_decay(100)])
def test_schedules_rise_to_the_peak_and_end_near_zero(schedule):
    rates = [schedule(step, 10, 2.0) for step in range(1, 101)]
    assert rates[4] == 1.0 and rates[9] == max(rates) == 2.0
    assert 0 < rates[99] < 0.1


def test_a_stable_rate_does_not_know_its_end_until_it_falls():
    short, long = warmup_stable_decay(100), warmup_stable_decay(1000)
    for step in range(1, 60):
        assert short(step, 10, 2.0) == long(step, 10, 2.0)
