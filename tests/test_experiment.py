"""Laws of a training in a folder: whole, repeatable, resumable."""

import json
import math
import os
import shutil
import signal

import pytest
import torch
from tiny import Killed, dies_at, tiny_corpus, tiny_splits
from tiny_runs import (
    assert_same_runs,
    losses,
    records,
    tiny,
    weights,
)

from transformer_course.checkpoints import checkpoint
from transformer_course.checkpoints.find import chosen_checkpoint
from transformer_course.data.text import ParallelText, Splits
from transformer_course.device import machine
from transformer_course.errors import (
    CheckpointError,
    ConfigError,
    DivergedError,
    Interrupted,
)
from transformer_course.training import loop as train
from transformer_course.training.config import changed_experiment
from transformer_course.training.loop import Progress, make_optimizer
from transformer_course.training.run import folder as module
from transformer_course.training.run import training
from transformer_course.training.run.checkpoints import Checkpoints
from transformer_course.training.run.folder import RunFolder
from transformer_course.training.run.prepare import complete, prepare
from transformer_course.training.run.recorder import Recorder
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
    assert [r["step"] for r in steps] == list(range(1, len(steps) + 1))
    for record in steps:
        assert record["loss"] >= record["nll"] * 0.5 > 0
        assert record["tokens"] > 0 and record["lr"] > 0


def test_every_epoch_is_recorded_with_scores_and_samples(finished):
    epochs = records(finished, "epoch")
    assert [r["epoch"] for r in epochs] == [1, 2, 3]
    assert epochs[-1]["dev_loss"] < epochs[0]["dev_loss"]
    record, dev = epochs[-1], tiny_splits().dev
    assert {"dev_accuracy", "train_loss", "padding_share"} <= record.keys()
    assert [s["src"] for s in record["samples"]] == dev.src
    assert [s["tgt"] for s in record["samples"]] == dev.tgt
    for sample in record["samples"]:
        assert {"greedy", "beam", "sampled"} <= set(sample)


def test_tensorboard_can_read_what_is_written(finished):
    from tensorboard.backend.event_processing.event_accumulator import (
        EventAccumulator,
    )

    board = EventAccumulator(str(finished / "tensorboard")).Reload()
    for kind in ("epoch", "average"):
        made = records(finished, kind)
        curve = board.Scalars(f"{kind}/dev_bleu")
        assert [event.step for event in curve] == [r["step"] for r in made]
        values = [event.value for event in curve]
        assert values == pytest.approx([r["dev_bleu"] for r in made])
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
    about = ("translation", "en", "ja", "grammar")
    keys = ("task", "src", "tgt", "corpus")
    assert tuple(loaded.details[key] for key in keys) == about
    assert loaded.tokenizer.vocab_size == loaded.model.config.vocab_size


@pytest.mark.parametrize(
    ("model", "bf16"),
    [("gru", False), ("decoder-only", False), ("transformer", True)],
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
    run(tiny(epochs=1, warmup=99), tmp_path / "short")
    assert "that is never" in capsys.readouterr().out
    assert "that is never" not in first


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


def test_a_pair_without_words_is_learned_from(tmp_path, monkeypatch):
    normal = tiny_splits()
    train = ParallelText([*normal.train.src, ""], [*normal.train.tgt, ""])
    splits = Splits(train, normal.dev, normal.test)
    tiny_corpus(monkeypatch, pairs=lambda: splits)
    folder = run(tiny("learned", epochs=1), tmp_path, quiet=True)
    assert torch.tensor(losses(folder)).isfinite().all()


# --- stopped in the middle --------------------------------------------------


KILLS = [
    *[(checkpoint, "_replace", n) for n in (1, 4, 6)],
    (checkpoint.Path, "rename", 7),
    (training, "evaluate", 2),
    (RunFolder, "begin", 1),
    (checkpoint.Path, "replace", 1),
    (checkpoint, "average", 1),
]


@pytest.mark.parametrize(
    ("target", "name", "call"), KILLS, ids=lambda x: getattr(x, "__name__", x)
)
def test_a_run_killed_anywhere_goes_on_as_if_it_had_not_been(
    finished, tmp_path, monkeypatch, target, name, call
):
    with monkeypatch.context() as patch:
        dies_at(patch, target, name, call)
        with pytest.raises(Killed):
            run(tiny(), tmp_path, quiet=True)
    begun = (tmp_path / "tiny" / "experiment.json").exists()
    folder = run(tiny(), tmp_path, resume=begun, quiet=True)
    assert_same_runs(folder, finished)


def test_now_and_then_there_is_a_checkpoint_to_go_on_from(
    tmp_path, monkeypatch
):
    """Not at an epoch's end alone: here after each second step."""
    dies_at(monkeypatch, train, "train_step", 4)
    with pytest.raises(Killed):
        run(tiny(), tmp_path, quiet=True)
    last = checkpoint.load(tmp_path / "tiny" / "checkpoints" / "last")
    assert last.resume.values["step"] == 2


def test_ctrl_c_saves_and_says_how_to_go_on(finished, tmp_path, monkeypatch):
    original, steps = Recorder._write, []

    def press_ctrl_c(self, record):
        original(self, record)
        steps.append(record)
        if len(steps) == 3:
            os.kill(os.getpid(), signal.SIGINT)

    before = signal.getsignal(signal.SIGINT)
    with monkeypatch.context() as patch:
        patch.setattr(Recorder, "_write", press_ctrl_c)
        with pytest.raises(Interrupted, match=r"after step 3.*--resume"):
            run(tiny(save_every=500), tmp_path, quiet=True)
    assert signal.getsignal(signal.SIGINT) is before
    assert len(losses(tmp_path / "tiny")) == 3
    folder = run(tiny(), tmp_path, resume=True, quiet=True)
    assert_same_runs(folder, finished)


# --- faults -----------------------------------------------------------------


def poisoned_after(monkeypatch, last: int) -> None:
    """The last-th update leaves a weight that is no number."""
    step, made = train.train_step, []

    def poisoned(model, *args):
        sums = step(model, *args)
        made.append(sums)
        if len(made) == last:
            with torch.no_grad():
                next(model.parameters()).fill_(math.nan)
        return sums

    monkeypatch.setattr(train, "train_step", poisoned)


@pytest.mark.parametrize("save_every", [500, 1])
def test_weights_that_are_no_numbers_are_never_saved(
    finished, tmp_path, monkeypatch, save_every
):
    """After the last update of an epoch, when no loss shows it any more."""
    per_epoch = len(losses(finished)) // 3
    poisoned_after(monkeypatch, 2 * per_epoch)
    with pytest.raises(DivergedError, match="not finite"):
        run(tiny(save_every=save_every), tmp_path, quiet=True)
    kept = sorted((tmp_path / "tiny" / "checkpoints").iterdir())
    assert {"best", "last", "epoch-001"} <= {folder.name for folder in kept}
    for folder in kept:
        assert all(w.isfinite().all() for w in weights(folder).values())
    assert len(records(tmp_path / "tiny", "epoch")) == 1


# --- which checkpoint is used -----------------------------------------------


def with_metrics(folder, *lines):
    """A run with all three checkpoints, and these records."""
    for name in ("last", "best", "average"):
        (folder / "checkpoints" / name).mkdir(parents=True)
        (folder / "checkpoints" / name / "config.json").write_text("{}")
    text = "".join(f"{json.dumps(line)}\n" for line in lines)
    (folder / "metrics.jsonl").write_text(text)
    return folder


def epoch(value: float) -> dict:
    return {"kind": "epoch", "selection_metric": value}


@pytest.mark.parametrize(
    ("average", "name"), [(29.0, "best"), (30.0, "average"), (31.0, "average")]
)
def test_the_better_of_average_and_best_is_taken(tmp_path, average, name):
    lines = [epoch(20.0), epoch(30.0), epoch(10.0)]
    last = epoch(average) | {"kind": "average"}
    folder = with_metrics(tmp_path, *lines, last)
    assert chosen_checkpoint(folder) == folder / "checkpoints" / name


def test_an_average_of_an_earlier_training_does_not_count(tmp_path):
    """The run has gone on since: its new average is yet to be measured."""
    assert chosen_checkpoint(with_metrics(tmp_path, epoch(5.0))).name == "best"


def test_a_training_under_way_can_be_used(tmp_path):
    folder = with_metrics(tmp_path, epoch(5.0))
    with (folder / "metrics.jsonl").open("ab") as file:
        file.write('{"kind": "epoch", "samples": "猫'.encode()[:-1])
    assert chosen_checkpoint(folder).name == "best"


def test_only_a_line_feed_ends_a_record(tmp_path):
    odd = epoch(5.0) | {"samples": "a\u2028b\x85c"}
    folder = with_metrics(tmp_path, odd)
    assert RunFolder(folder).records() == [odd]


def test_what_a_kill_left_beyond_the_checkpoint_is_forgotten(tmp_path):
    path = tmp_path / "metrics.jsonl"
    lines = [
        '{"kind": "step", "step": 1}',
        '{"kind": "epoch", "epoch": 1, "step": 1}',
        '{"kind": "step", "step": 2}',
        '{"kind": "step", "step": 3}',
        '{"kind": "epoch", "epoch": 2, "step": 3}',
        '{"kind": "st',
    ]
    path.write_text("\n".join(lines), encoding="utf-8")
    RunFolder(tmp_path).drop_records_after(step=2, epoch=1)
    assert path.read_text("utf-8").splitlines() == lines[:3]
    assert list(tmp_path.iterdir()) == [path]
    RunFolder(tmp_path / "none").drop_records_after(step=0, epoch=0)


# --- refused ----------------------------------------------------------------


def test_a_run_is_not_written_over(finished):
    before = (finished / "metrics.jsonl").read_bytes()
    with pytest.raises(ConfigError, match=r"holds a run already.*--resume"):
        run(tiny(), finished.parent, quiet=True)
    assert (finished / "metrics.jsonl").read_bytes() == before


@pytest.mark.parametrize("resume", [False, True])
def test_two_processes_do_not_train_in_one_folder(finished, tmp_path, resume):
    place = finished.parent if resume else tmp_path
    locked = RunFolder(place / finished.name).locked()
    with locked, pytest.raises(ConfigError, match="another process"):
        run(tiny(), place, resume=resume, quiet=True)
    run(tiny(), place, resume=resume, quiet=True)


@pytest.mark.parametrize("resume", [False, True])
@pytest.mark.parametrize(
    ("setting", "value"), [("train.seed", 3), ("model.d_model", 32)]
)
def test_going_on_with_other_settings_is_refused(
    finished, setting, value, resume
):
    changed = changed_experiment(tiny(), {setting: value})
    with pytest.raises(ConfigError, match=setting) as error:
        run(changed, finished.parent, resume, quiet=True)
    assert "another --name" in str(error.value)
    assert "--resume" not in str(error.value)


@pytest.mark.parametrize("content", ["", "{}", "[1]"])
def test_damaged_settings_are_named(tmp_path, content):
    (tmp_path / "tiny").mkdir()
    (tmp_path / "tiny" / "experiment.json").write_text(content)
    with pytest.raises(CheckpointError, match=r"experiment\.json is damaged"):
        run(tiny(), tmp_path, resume=True, quiet=True)


@pytest.mark.parametrize(
    "name", ["checkpoints/best/model.safetensors", "metrics.jsonl", "mine.txt"]
)
def test_files_that_are_no_run_are_left_alone(tmp_path, name):
    path = tmp_path / "tiny" / name
    path.parent.mkdir(parents=True)
    path.write_text("mine", "utf-8")
    with pytest.raises(ConfigError, match="holds files, and is no run"):
        run(tiny(), tmp_path, quiet=True)
    assert [p for p in (tmp_path / "tiny").rglob("*") if p.is_file()] == [path]
    assert path.read_text("utf-8") == "mine"


def test_a_line_of_the_metrics_cut_short_costs_no_other(finished, tmp_path):
    folder = shutil.copytree(finished, tmp_path / "tiny")
    path = folder / "metrics.jsonl"
    lines = path.read_text("utf-8").splitlines()
    lines[3] = lines[3][:20]
    path.write_text("\n".join(lines) + "\n", "utf-8")
    expected = records(finished)
    del expected[3]
    run(tiny(), tmp_path, resume=True, quiet=True)
    assert records(folder) == expected


def test_a_run_names_every_machine_that_it_was_on(
    finished, tmp_path, monkeypatch
):
    path = shutil.copytree(finished, tmp_path / "tiny") / "experiment.json"
    for _ in range(2):
        with monkeypatch.context() as patch:
            patch.setattr(module, "machine", lambda: "an abacus")
            run(tiny(), tmp_path, resume=True, quiet=True)
    settings = json.loads(path.read_text("utf-8"))
    assert settings["machine"] == f"{machine()}; then an abacus"
