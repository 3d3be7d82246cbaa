"""What is measured of speed: the counts, and a process for each point."""

import os

import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from experiments import faster, growth
from experiments.growth import Size
from experiments.timing import apart, peak

SIZE = Size(length=6, batch=2, width=64, depth=2)


def counted(work) -> int:
    with FlopCounterMode(display=False) as counter:
        work()
    return counter.get_total_flops()


@pytest.fixture(autouse=True)
def products_of_torch(monkeypatch):
    """oneDNN's are not counted."""
    monkeypatch.setattr("transformer_course.speed.onednn_is_faster", bool)


def test_the_operations_of_a_step_are_those_that_are_done():
    """The fused kernel is not counted, so attention is written out."""
    expected = growth.operations("explicit", SIZE)
    assert counted(growth.explicit(SIZE)) == expected


def test_the_operations_of_writing_are_those_that_are_done():
    """A newest token is answered without the fused kernel."""
    expected = growth.operations("writing", SIZE)
    assert counted(growth.writing(SIZE)) == expected


def test_a_process_of_its_own_has_its_own_peak():
    assert apart(os.getpid) != os.getpid()
    assert 0 < apart(peak) < 2**20


@pytest.mark.parametrize("shapes", [True, False])
def test_batches_hold_what_they_should(shapes):
    made = faster.batches(shapes, 2)
    assert len(made) == 2
    assert all(b.src.max() < faster.VOCABULARY for b in made)


def test_an_operation_is_of_one_kind():
    kinds = {
        "aten::addmm": "matrix products",
        "mkldnn::_linear_pointwise": "matrix products",
        "aten::_scaled_dot_product_flash_attention_for_cpu": "attention",
        "aten::native_layer_norm_backward": "norms",
        "aten::linalg_vector_norm": "Adam, clipping",
        "aten::_fused_adam_": "Adam, clipping",
        "aten::bernoulli_": "dropout's draws",
        "aten::_log_softmax": "loss",
        "aten::mul": faster.REST,
        "Optimizer.step#Adam.step": faster.REST,
    }
    assert {name: faster.kind_of(name) for name in kinds} == kinds


@pytest.mark.parametrize(
    "way",
    [
        faster.Way(draws=True, onednn=True),
        faster.Way(fused=False),
        faster.Way(bf16=True),
    ],
)
def test_all_ways_compute_the_same_but_for_rounding(way):
    made = faster.batches(True, 1)[0]
    plain, other = (faster.translator(w).eval() for w in (faster.Way(), way))
    with torch.no_grad():
        expected = plain(made.src, made.tgt_in)
        with torch.autocast("cpu", torch.bfloat16, enabled=way.bf16):
            found = other(made.src, made.tgt_in)
    error = (found.float() - expected).abs().max() / expected.std()
    assert error < (0.2 if way.bf16 else 1e-4)
