"""Laws of a training in a folder: whole, repeatable, resumable."""

import json
import math

import pytest
import torch
from tiny import tiny_corpus, tiny_splits
from tiny_runs import (
    MODELS,
    assert_same_runs,
    losses,
    records,
    tiny,
    weights,
)

from transformer_course.checkpoints import checkpoint
from transformer_course.data.text import ParallelText, Splits
from transformer_course.device import machine
from transformer_course.training.loop import Progress, make_optimizer
from transformer_course.training.run.checkpoints import Checkpoints
from transformer_course.training.run.prepare import complete, prepare
from transformer_course.training.run.training import run
from transformer_course.training.tasks import writing
from transformer_course.training.tasks.table import experiment_to_dict

pytestmark = pytest.mark.usefixtures("small_corpus")


# --- what is written --------------------------------------------------------


def test_a_run_leaves_settings_metrics_board_and_checkpoints(finished):
    assert {path.name for path in finished.iterdir()} == {
        "experiment.json",
        "tokenizer.model",
        "metrics.jsonl",
        "tensorboard",
        "checkpoints",
    }
    settings = json.loads((finished / "experiment.json").read_text("utf-8"))
    assert settings.pop("machine") == machine()
    assert settings == experiment_to_dict(complete(tiny()))


def test_checkpoints_kept_are_the_last_few_the_best_and_the_average(finished):
    names = {path.name for path in (finished / "checkpoints").iterdir()}
    assert names == {"last", "best", "average", "epoch-002", "epoch-003"}


def test_every_step_is_recorded(finished):
    steps = records(finished, "step")
    per_epoch = len(steps) // 3
    assert [r["step"] for r in steps] == list(range(1, 3 * per_epoch + 1))
    for record in steps:
        assert record["loss"] >= record["nll"] * 0.5 > 0
        assert 0 <= record["accuracy"] <= 1
        assert record["tokens"] > 0
        assert record["lr"] > 0


def test_every_epoch_is_recorded_with_scores_and_samples(finished):
    epochs = records(finished, "epoch")
    assert [r["epoch"] for r in epochs] == [1, 2, 3]
    for record in epochs:
        for name in ("dev_loss", "dev_nll", "dev_accuracy", "dev_bleu"):
            assert isinstance(record[name], float)
        assert record["train_loss"] > 0
        assert 0 <= record["padding_share"] < 1
        dev = tiny_splits().dev
        assert [s["src"] for s in record["samples"]] == dev.src
        assert [s["tgt"] for s in record["samples"]] == dev.tgt
        for sample in record["samples"]:
            assert {"greedy", "beam", "sampled"} <= set(sample)
    assert epochs[-1]["dev_loss"] < epochs[0]["dev_loss"]


def test_tensorboard_can_read_what_is_written(finished):
    from tensorboard.backend.event_processing.event_accumulator import (
        EventAccumulator,
    )

    board = EventAccumulator(str(finished / "tensorboard")).Reload()
    scalars = board.Tags()["scalars"]
    assert {"epoch/dev_loss", "epoch/dev_bleu"} <= set(scalars)
    assert "epoch/dev_accuracy" in scalars
    for kind in ("epoch", "average"):
        for name in ("dev_bleu", "dev_loss", "dev_accuracy"):
            curve = board.Scalars(f"{kind}/{name}")
            made = records(finished, kind)
            steps = [event.step for event in curve]
            assert steps == [record["step"] for record in made]
            assert len(set(steps)) == len(steps)
            values = [event.value for event in curve]
            assert values == pytest.approx([r[name] for r in made])
    assert "samples/text_summary" in board.Tags()["tensors"]


def test_the_average_is_the_mean_of_the_last_epochs(finished):
    folder = finished / "checkpoints"
    averaged = weights(folder / "average")
    one, other = (weights(folder / f"epoch-00{n}") for n in (2, 3))
    for name, tensor in averaged.items():
        torch.testing.assert_close(tensor, (one[name] + other[name]) / 2)
    (record,) = records(finished, "average")
    assert record["epochs"] == [2, 3]
    assert isinstance(record["dev_bleu"], float)


@pytest.mark.parametrize(
    ("keep", "done", "averaged"),
    [(2, 3, [2, 3]), (5, 3, [1, 2, 3]), (2, 1, []), (1, 3, []), (0, 3, [])],
)
def test_an_average_is_of_two_epochs_or_more(
    tmp_path, monkeypatch, keep, done, averaged
):
    seen = []
    monkeypatch.setattr(
        checkpoint, "average", lambda folders, model: seen.extend(folders)
    )
    settings = tiny(average_last=keep)
    kept = Checkpoints(tmp_path, settings, prepare(settings), None)
    assert kept.average(Progress(epoch=done)) == averaged
    assert seen == [tmp_path / f"epoch-00{n}" for n in averaged]


def test_the_best_checkpoint_is_the_best_by_bleu(finished):
    epochs = records(finished, "epoch")
    best = max(epochs, key=lambda record: record["dev_bleu"])
    saved = checkpoint.load(finished / "checkpoints" / "last").resume
    assert saved.values["best"] == best["dev_bleu"]
    if best["epoch"] > 1:
        mine = weights(finished / "checkpoints" / "best")
        name = f"epoch-{best['epoch']:03d}"
        yours = weights(finished / "checkpoints" / name)
        assert all(torch.equal(mine[n], yours[n]) for n in mine)


def test_of_epochs_that_score_alike_the_first_is_the_best(
    tmp_path, monkeypatch
):
    saved = []
    monkeypatch.setattr(
        checkpoint, "save", lambda folder, *_, **__: saved.append(folder.name)
    )
    prepared = prepare(tiny())
    optimizer = make_optimizer(prepared.model, tiny().train)
    kept = Checkpoints(tmp_path, tiny(), prepared, optimizer)
    progress = Progress()
    for value in (1.0, 1.0, 2.0):
        progress.next_epoch()
        kept.save_epoch(progress, value)
    assert saved.count("best") == 2 and progress.best == 2.0


def test_a_checkpoint_says_what_it_was_trained_on(finished):
    loaded = checkpoint.load(finished / "checkpoints" / "best")
    assert loaded.details["task"] == "translation"
    assert loaded.details["src"] == "en"
    assert loaded.details["tgt"] == "ja"
    assert loaded.details["corpus"] == "grammar"
    assert loaded.tokenizer.vocab_size == loaded.model.config.vocab_size


@pytest.mark.parametrize(
    ("model", "bf16"),
    [*[(m, False) for m in MODELS if "class" not in m], ("transformer", True)],
)
def test_every_kind_of_writing_model_trains(tmp_path, model, bf16):
    folder = run(tiny(model, epochs=1, bf16=bf16), tmp_path, quiet=True)
    (epoch,) = records(folder, "epoch")
    assert not records(folder, "average")  # of one epoch there is none
    assert epoch["dev_perplexity"] > 1
    assert ("dev_bleu" in epoch) == (model != "decoder-only")


def test_fixed_sentences_are_spread_over_the_development_set(
    tmp_path, monkeypatch, capsys
):
    monkeypatch.setattr(writing, "SAMPLES", 3)
    folder = run(tiny(epochs=1), tmp_path, quiet=True)
    [record] = records(folder, "epoch")
    asked = [sample["src"] for sample in record["samples"]]
    assert asked == tiny_splits().dev.src[::2]
    assert capsys.readouterr().err == ""  # no sentence was cut off


def test_a_training_says_what_it_trains_and_from_where(tmp_path, capsys):
    run(tiny(epochs=1), tmp_path)
    first, *_ = capsys.readouterr().out.splitlines()
    assert str(tmp_path / "tiny") in first and "40 pairs" in first
    done = len(records(tmp_path / "tiny", "step"))
    run(tiny(epochs=2), tmp_path, resume=True)
    first, *lines = capsys.readouterr().out.splitlines()
    assert f"after step {done}" in first
    shown = next(line for line in lines if line.startswith("epoch 2: dev "))
    values = dict(part.split(" ") for part in shown[13:].split(", "))
    nll, perplexity = float(values["nll"]), float(values["perplexity"])
    assert math.isclose(math.exp(nll), perplexity, rel_tol=1e-2)
    run(tiny(epochs=2), tmp_path, resume=True)
    assert "all are done" in capsys.readouterr().out


# --- the same again ---------------------------------------------------------


def test_the_same_command_twice_gives_the_same_run(finished, tmp_path):
    folder = run(tiny(), tmp_path, quiet=True)
    assert_same_runs(folder, finished)
    run(tiny(), tmp_path, resume=True, quiet=True)  # all is done already
    assert_same_runs(folder, finished)


def test_more_epochs_later_equal_more_epochs_at_once(finished, tmp_path):
    run(tiny(epochs=1), tmp_path, quiet=True)
    folder = run(tiny(epochs=3), tmp_path, resume=True, quiet=True)
    assert_same_runs(folder, finished)


# --- awkward text -----------------------------------------------------------


def test_long_pairs_are_cut_with_a_warning_and_empty_ones_kept(
    tmp_path, monkeypatch, capsys
):
    normal = tiny_splits()
    train = ParallelText(
        [*normal.train.src, "", "red " * 50, "cat"],
        [*normal.train.tgt, "", "猫", "猫 " * 50],
    )
    splits = Splits(train, normal.dev, normal.test)
    tiny_corpus(monkeypatch, pairs=lambda: splits)
    folder = run(tiny("learned", epochs=1), tmp_path, quiet=True)
    assert torch.tensor(losses(folder)).isfinite().all()
    warning = capsys.readouterr().err
    assert warning.count("\n") == 1
    assert "warning: 2 of 43 training pairs are longer than 8" in warning
