"""Everything follows the device that a notebook chooses.

That is a GPU; without one, a pretended one, whose tensors the CPU computes.
An operation that would mix devices fails, and where nothing is mixed, results
are those of the CPU.
"""

import time

import matplotlib.pyplot as plt
import numpy as np
import pytest
import torch
from pretended_cuda import cuda
from test_modern import tiny_modern
from tiny import (
    close,
    decided,
    ragged_ids,
    tiny_corpus,
    tiny_transformer,
)
from tiny_runs import other, records, tiny
from torch import nn

from transformer_course.batches.pairs import Batch
from transformer_course.checkpoints import checkpoint
from transformer_course.decoding.generate import (
    beam_search,
    greedy_search,
    sample,
)
from transformer_course.device import clock, use_device
from transformer_course.fast.speculative import DraftModel, speculative_search
from transformer_course.figures.viz import heatmap
from transformer_course.interpretation.attribution import source_relevance
from transformer_course.interpretation.hooks import attention_maps
from transformer_course.training.config import LoopConfig
from transformer_course.training.loop import make_optimizer, train_step
from transformer_course.training.post_training import add_lora, merge_lora
from transformer_course.training.run.training import run

pytestmark = pytest.mark.gpu


@pytest.fixture
def gpu():
    """There is one, if only a pretended one."""
    with cuda():
        yield
        use_device("cpu")


def on_both(gpu, work):
    """The results of some work on the CPU, and on the device."""
    found = {}
    for name in ("cpu", "cuda"):
        assert use_device(name).type == name
        torch.manual_seed(0)
        found[name] = work()
    use_device("cpu")
    return found["cpu"], found["cuda"]


# --- the device --------------------------------------------------------------


@pytest.mark.parametrize(
    "work",
    [
        lambda there, here: there + here,
        lambda there, here: torch.stack([there[0], here[0]]),
        lambda there, here: here[there.long()],
        lambda there, here: there.numpy(),
        lambda there, here: there.normal_(generator=torch.Generator()),
    ],
    ids=["sum", "stack", "choice", "numpy", "generator"],
)
def test_it_refuses_what_a_gpu_refuses(gpu, work):
    here = torch.zeros(3)
    with pytest.raises((RuntimeError, TypeError)):
        work(here.to("cuda"), here)


# --- what a notebook takes for granted ---------------------------------------


def test_on_the_cpu_nothing_is_installed():
    depth = torch._C._len_torch_function_stack()
    assert use_device("cpu") == torch.device("cpu")
    assert torch._C._len_torch_function_stack() == depth


def test_chosen_twice_it_is_installed_once(gpu):
    depth = torch._C._len_torch_function_stack()
    for name in ("auto", "cuda"):
        assert use_device(name).type == "cuda"
        assert torch._C._len_torch_function_stack() == depth + 2
    use_device("cpu")
    assert torch._C._len_torch_function_stack() == depth


def draws():
    generator = torch.Generator().manual_seed(1)
    probabilities = torch.tensor([0.2, 0.3, 0.5])
    return [
        torch.rand(2, 3),
        torch.randn(4, generator=generator),
        torch.randn(2, requires_grad=True),
        torch.randint(3, 99, (5,), generator=generator),
        torch.randperm(9),
        torch.normal(1.0, 2.0, (3,)),
        torch.normal(probabilities, probabilities),
        torch.randn_like(probabilities),
        torch.bernoulli(probabilities),
        torch.multinomial(probabilities, 2, generator=generator),
        probabilities.multinomial(1),
        torch.empty(3).uniform_(),
        torch.empty(3, 2).T.normal_(generator=generator),
        nn.init.xavier_uniform_(torch.empty(2, 3)),
        *nn.Linear(3, 2).parameters(),
        *nn.Conv2d(1, 2, 3).parameters(),
        *nn.GRU(2, 3).parameters(),
        nn.Embedding(3, 2).weight,
        *tiny_transformer().parameters(),
    ]


def test_random_numbers_are_those_of_the_cpu(gpu):
    for here, there in zip(*on_both(gpu, draws), strict=True):
        assert there.is_cuda and torch.equal(here, there.cpu())
        assert (here.requires_grad, here.is_leaf) == (
            there.requires_grad,
            there.is_leaf,
        )


def test_a_generator_of_the_device_draws_there(gpu):
    use_device()
    drawn = [
        torch.rand(3, generator=torch.Generator(name).manual_seed(0))
        for name in ("cpu", "cuda")
    ]
    assert all(one.is_cuda for one in drawn)
    assert drawn[0].tolist() != drawn[1].tolist()


def test_shapes_alone_stay_shapes(gpu):
    use_device()
    with torch.device("meta"):
        assert torch.rand(3).is_meta
    assert torch.randn(3, device="cpu").device.type == "cpu"


def test_figures_and_numpy_read_its_tensors(gpu):
    use_device()
    values = torch.eye(2)
    assert np.asarray(values).tolist() == values.tolist()
    _, axes = plt.subplots(1, 2)
    heatmap(values, list("ab"), list("cd"), ax=axes[0])
    [line] = axes[1].plot(values[0], values[1])
    assert line.get_xdata().tolist() == [1, 0]
    plt.close()


def test_the_clock_waits_for_the_device(gpu, monkeypatch):
    waited = []
    monkeypatch.setattr(torch.cuda, "synchronize", lambda: waited.append(1))
    assert clock(lambda: 5.0) == 5.0 and not waited
    use_device()
    before = time.perf_counter()
    assert before <= clock() <= time.perf_counter() and waited


# --- models ------------------------------------------------------------------


def ids():
    return ragged_ids([5, 3, 7])


def model():
    return decided(tiny_transformer())


SHORT = {"max_length": 9}
WAYS = {
    "greedy": lambda: greedy_search(model(), ids(), **SHORT),
    "uncached": lambda: greedy_search(model(), ids(), cached=False, **SHORT),
    "beam": lambda: [
        beam[0].ids for beam in beam_search(model(), ids(), **SHORT)
    ],
    "sample": lambda: sample(
        model(), ids(), generator=torch.Generator().manual_seed(0), **SHORT
    ),
    "speculative": lambda: (
        speculative_search(
            model(), DraftModel(model(), ids()[:1]), ids()[:1], **SHORT
        ).ids
    ),
}


@pytest.mark.parametrize("way", WAYS)
def test_every_search_writes_what_it_writes_on_the_cpu(gpu, way):
    here, there = on_both(gpu, WAYS[way])
    assert here == there


def looked_into():
    inputs = ids(), ids().flip(0)
    maps = attention_maps(model(), *inputs)
    relevance = source_relevance(model(), ids()[:1], ids()[1:2], ids()[2:])
    return [*maps.values(), relevance]


def trained():
    """A step of a model with LoRA, and of one without."""
    found = []
    for learner, inputs, result in (
        (add_lora(tiny_modern()), None, merge_lora),
        (tiny_transformer(), ids(), nn.Module.eval),
    ):
        settings = LoopConfig(peak_rate=0.01, warmup=1)
        optimizer = make_optimizer(learner.train(), settings)
        batch = Batch(inputs, ids().clamp(max=16))
        train_step(learner, batch, optimizer, settings)
        found += result(learner).parameters()
    return found


@pytest.mark.parametrize("work", [looked_into, trained])
def test_looks_and_training_steps_are_those_of_the_cpu(gpu, work):
    for here, there in zip(*on_both(gpu, work), strict=True):
        assert there.is_cuda
        close(here, there.cpu(), 1e-4)


def test_models_are_loaded_to_where_tensors_are_made(gpu, tmp_path):
    checkpoint.save(tmp_path / "kept", tiny_transformer())
    use_device()
    loaded = checkpoint.load(tmp_path / "kept").model
    assert all(weight.is_cuda for weight in loaded.parameters())
    assert not next(
        checkpoint.load(tmp_path / "kept", "cpu").model.parameters()
    ).is_cuda


@pytest.mark.exhaustive
def test_a_command_trains_there_and_goes_on(gpu, monkeypatch, tmp_path):
    """Without a default device, as from the command line."""
    tiny_corpus(monkeypatch)
    for epochs in (1, 2):
        settings = other(tiny(device="cuda", epochs=epochs), train_pairs=20)
        folder = run(settings, tmp_path, resume=epochs > 1, quiet=True)
        assert len(records(folder, "epoch")) == epochs
