"""What is measured of a memory, and of a decoder that is told its mean."""

import json

import pytest
import torch
from tiny import close, decided, random_ids, tiny_transformer, with_bos
from torch import nn

from experiments import memory_spread
from experiments.lab import Bench, tiny_run
from experiments.memory_spread import score_of_means, spread_of
from transformer_course.batches import Batch
from transformer_course.errors import CourseError
from transformer_course.objective import score_batch
from transformer_course.tokenizer import EOS, PAD


class Said(nn.Module):
    """An encoder that says what it is told to."""

    def __init__(self, memory):
        super().__init__()
        self.memory = memory

    def encode(self, src):
        return self.memory


SRC = torch.tensor([[5, 6, EOS, PAD], [7, 8, 9, EOS]])


def of(memory):
    return spread_of(Said(memory), [SRC])


def test_words_that_are_all_alike_have_no_spread():
    memory = torch.randn(2, 1, 16).expand(2, 4, 16)
    assert of(memory).share == 0


def test_words_that_have_nothing_in_common_have_a_share_near_one():
    torch.manual_seed(0)
    memory = torch.randn(2, 4, 4096)
    assert 0.8 < of(memory).share < 1.1


def test_a_share_does_not_depend_on_the_size_and_a_deviation_does():
    torch.manual_seed(0)
    memory = torch.randn(2, 4, 16) + 1
    small, large = of(memory), of(10 * memory)
    assert large.share == pytest.approx(small.share)
    assert large.deviation == pytest.approx(10 * small.deviation)


def test_padding_and_batches_do_not_count():
    torch.manual_seed(0)
    memory = torch.randn(2, 4, 16)
    other = memory.clone()
    other[0, 3] = 1000  # padding
    assert of(memory) == of(other)
    model = tiny_transformer()
    rows = SRC[:1, :3], SRC[1:]
    apart, together = spread_of(model, rows), spread_of(model, [SRC])
    assert apart == pytest.approx(together, rel=1e-5)


def batch_of(src) -> Batch:
    tgt = with_bos(random_ids(len(src), 5, seed=2))
    return Batch(src, tgt)


def test_the_mean_of_one_word_is_that_word():
    model = decided(tiny_transformer(tied=False))
    batch = batch_of(torch.tensor([[5, PAD], [7, PAD]]))
    one, other = score_of_means(model, batch), score_batch(model, batch)
    close(one.loss, other.loss)


def test_where_words_differ_a_decoder_misses_them():
    model = decided(tiny_transformer(tied=False))
    one, other = (
        f(model, batch_of(SRC)) for f in (score_of_means, score_batch)
    )
    assert abs(one.nll - other.nll) > 1e-3


def test_where_words_are_alike_it_misses_nothing(monkeypatch):
    model = decided(tiny_transformer(tied=False))
    memory = torch.randn(2, 1, 16).expand(2, 4, 16)
    monkeypatch.setattr(model, "encode", lambda src: memory)
    one, other = (
        f(model, batch_of(SRC)) for f in (score_of_means, score_batch)
    )
    close(one.nll, other.nll)


def test_a_training_is_looked_into(tmp_path):
    folder = tiny_run(tmp_path, "tiny")
    bench = Bench(tmp_path / "spread", inputs=(folder,))
    list(memory_spread.read(bench))
    found = json.loads((bench.folder / "tiny.json").read_text())
    lines = (folder / "metrics.jsonl").read_text().splitlines()
    epochs = [r for r in map(json.loads, lines) if r["kind"] == "epoch"]
    assert found["dev_nll"] == pytest.approx(epochs[-1]["dev_nll"], abs=1e-3)
    assert found["sentences"] == 500 and 0 < found["share"] < 2


def test_a_folder_without_a_checkpoint_is_refused(tmp_path):
    bench = Bench(tmp_path / "spread", inputs=(tmp_path,))
    with pytest.raises(CourseError, match="no checkpoint"):
        list(memory_spread.read(bench))
