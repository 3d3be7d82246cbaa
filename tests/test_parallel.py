"""Batches searched in parallel: the same results, in the same order."""

import threading

import pytest
import torch
from tiny import tiny_splits

from transformer_course.cli import main
from transformer_course.cli.options import load
from transformer_course.decoding.translate import translate
from transformer_course.errors import ConfigError
from transformer_course.fast.parallel import parallel_map
from transformer_course.inference import model
from transformer_course.inference.model import TrainedModel


@pytest.fixture
def two_threads():
    """torch on two threads, wherever this runs."""
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    yield
    torch.set_num_threads(before)


@pytest.mark.parametrize("batches", range(6))
def test_results_come_in_the_order_of_the_batches(two_threads, batches):
    sources = [torch.tensor([[i]]) for i in range(batches)]
    found = list(parallel_map(lambda src: int(src) ** 2, sources))
    assert found == [i**2 for i in range(batches)]
    assert torch.get_num_threads() == 2


def test_batches_are_searched_at_the_same_time(two_threads):
    meeting = threading.Barrier(2)

    def search(src):
        if int(src) < 2:  # what has a thread of its own waits for the other
            meeting.wait(timeout=60)
        return torch.get_num_threads()

    sources = [torch.tensor(i) for i in range(3)]
    assert list(parallel_map(search, sources)) == [1, 1, 2]


def test_an_error_is_raised_and_ends_the_others(two_threads):
    begun, raised = [], threading.Event()

    def search(src):
        begun.append(int(src))
        if int(src) == 0:
            raise ConfigError("no")
        raised.wait(timeout=60)  # the others take until the error is raised

    pool = parallel_map(search, [torch.tensor(i) for i in range(40)])
    later = threading.Timer(0.5, raised.set)
    later.start()
    with pytest.raises(ConfigError, match="^no$"):
        list(pool)
    later.join()
    assert len(begun) <= 3  # the wrong one, and one on each thread
    assert torch.get_num_threads() == 2
    new = []  # a thread that starts later has the number of before, too
    thread = threading.Thread(
        target=lambda: new.append(torch.get_num_threads())
    )
    thread.start()
    thread.join()
    assert new == [2]


@pytest.mark.parametrize("beam_size", [1, 3])
def test_translations_in_parallel_are_those_of_map(
    finished, two_threads, beam_size
):
    used = TrainedModel.load(finished, "cpu", raw=True)
    lines = ["i like dogs .", "", "dogs .", "i like dogs and cats .", "i ."]
    threads = []

    def watched(search, batches):
        def noted(src):
            threads.append(threading.current_thread())
            return search(src)

        return parallel_map(noted, batches)

    found = [
        translate(
            used.model,
            used.tokenizer,
            lines * 3,
            beam_size,
            batch_size=3,
            map_batches=over,
        )
        for over in (map, watched)
    ]
    assert found[0] == found[1]
    assert len(threads) == 4
    assert threading.current_thread() not in threads


def test_the_command_searches_in_parallel_on_a_cpu(finished):
    used = load(finished, "cpu", raw=True)
    assert used.map_batches is parallel_map


@pytest.mark.usefixtures("small_corpus")
def test_a_score_is_searched_as_translations_are(finished, monkeypatch):
    batches = []

    def over(search, sources):
        batches.extend(sources)
        return map(search, sources)

    monkeypatch.setattr(model, "parallel_map", over)
    main(["score", str(finished), "--device", "cpu"])
    assert sum(map(len, batches)) == len(tiny_splits().test)
