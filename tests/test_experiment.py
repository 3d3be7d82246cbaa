"""Laws of a training in a folder: whole, repeatable, resumable."""

import contextlib
import dataclasses
import errno
import json
import math
import os
import shutil
import signal
from pathlib import Path

import pytest
import torch
from tiny import Killed, dies_at, tiny_splits

from transformer_course import checkpoint, experiment
from transformer_course.config import (
    PRESETS,
    DataConfig,
    Experiment,
    ModelConfig,
    RecurrentConfig,
    TrainConfig,
)
from transformer_course.data.grammar import grammar_corpus
from transformer_course.data.text import ParallelText, Splits
from transformer_course.errors import (
    CheckpointError,
    ConfigError,
    CorpusError,
    CourseError,
)
from transformer_course.experiment import (
    Interrupted,
    chosen_checkpoint,
    forget_after,
    run,
)
from transformer_course.train import Progress, evaluate

SIZES = {"d_model": 16, "n_heads": 2, "d_ff": 32, "n_layers": 1}
MODELS = {
    "transformer": ModelConfig(vocab_size=30, dropout=0.2, **SIZES),
    "decoder-only": ModelConfig(vocab_size=30, decoder_only=True, **SIZES),
    "learned": ModelConfig(
        vocab_size=30, position="learned", max_length=8, **SIZES
    ),
    "gru": RecurrentConfig(vocab_size=30, d_model=12, d_hidden=16),
}


@pytest.fixture(autouse=True)
def small_corpus(monkeypatch):
    monkeypatch.setattr(
        experiment, "load_corpus", lambda name, src, tgt: tiny_splits()
    )


def tiny(model: str = "transformer", **train) -> Experiment:
    settings = {
        "epochs": 3,
        "warmup": 4,
        "peak_rate": 0.02,
        "average_last": 2,
        "save_every": 2,
        "device": "cpu",
    }
    return Experiment(
        "tiny",
        DataConfig(pieces="word", token_budget=64),
        MODELS[model],
        TrainConfig(**settings | train),
    )


def records(folder, kind: str | None = None) -> list[dict]:
    lines = (folder / "metrics.jsonl").read_text("utf-8").splitlines()
    every = [json.loads(line) for line in lines]
    return [r for r in every if kind is None or r["kind"] == kind]


def losses(folder) -> list[float]:
    return [record["loss"] for record in records(folder, "step")]


def weights(folder) -> dict[str, torch.Tensor]:
    model = checkpoint.load(folder).model
    return {n: p.detach() for n, p in model.named_parameters()}


def assert_same_runs(one, other):
    """Metrics and every checkpoint's weights, to the last bit."""
    assert records(one) == records(other)
    kept = sorted(p.name for p in (one / "checkpoints").iterdir())
    assert kept == sorted(p.name for p in (other / "checkpoints").iterdir())
    for name in kept:
        mine, yours = (weights(f / "checkpoints" / name) for f in (one, other))
        for parameter, tensor in mine.items():
            assert torch.equal(tensor, yours[parameter]), (name, parameter)


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """A run that nothing has disturbed."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            experiment, "load_corpus", lambda name, src, tgt: tiny_splits()
        )
        return run(tiny(), tmp_path_factory.mktemp("whole"), quiet=True)


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
    assert settings == dataclasses.asdict(tiny())


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


def test_the_first_loss_is_near_a_uniform_guess(finished):
    vocab = checkpoint.load(finished / "checkpoints" / "last")
    size = vocab.tokenizer.vocab_size
    assert abs(losses(finished)[0] - torch.tensor(size).log()) < 1.5


def test_tensorboard_can_read_what_is_written(finished):
    from tensorboard.backend.event_processing.event_accumulator import (
        EventAccumulator,
    )

    board = EventAccumulator(str(finished / "tensorboard")).Reload()
    scalars = board.Tags()["scalars"]
    assert {"epoch/dev_loss", "epoch/dev_bleu"} <= set(scalars)
    assert "epoch/dev_accuracy" in scalars
    bleu = [event.value for event in board.Scalars("epoch/dev_bleu")]
    expected = [r["dev_bleu"] for r in records(finished, "epoch")]
    assert bleu[:3] == pytest.approx(expected)
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


def test_a_checkpoint_says_what_it_was_trained_on(finished):
    loaded = checkpoint.load(finished / "checkpoints" / "best")
    assert loaded.details["src"] == "en"
    assert loaded.details["tgt"] == "ja"
    assert loaded.details["corpus"] == "grammar"
    assert loaded.tokenizer.vocab_size == loaded.model.config.vocab_size


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("bf16", [False, True])
def test_every_kind_of_model_trains(tmp_path, model, bf16):
    folder = run(tiny(model, epochs=1, bf16=bf16), tmp_path, quiet=True)
    (epoch,) = records(folder, "epoch")
    assert epoch["dev_perplexity"] > 1
    assert ("dev_bleu" in epoch) == (model != "decoder-only")


def test_fixed_sentences_are_spread_over_the_development_set(
    tmp_path, monkeypatch
):
    monkeypatch.setattr(experiment, "SAMPLES", 3)
    folder = run(tiny(epochs=1), tmp_path, quiet=True)
    [record] = records(folder, "epoch")
    asked = [sample["src"] for sample in record["samples"]]
    assert asked == tiny_splits().dev.src[::2]


# --- other texts, other beginnings ------------------------------------------


def other(settings: Experiment, **data) -> Experiment:
    data = dataclasses.replace(settings.data, **data)
    return dataclasses.replace(settings, data=data)


@pytest.fixture
def next_words(monkeypatch):
    """A corpus whose targets go on with their sources."""
    monkeypatch.setattr(
        experiment, "load_corpus", lambda name, src, tgt: tiny_splits()
    )
    return {"corpus": "soseki", "src": "ja", "tgt": "ja"}


def test_what_goes_on_with_a_text_is_not_judged_by_bleu(tmp_path, next_words):
    folder = run(other(tiny(), **next_words), tmp_path, quiet=True)
    epochs = records(folder, "epoch")
    assert all("dev_bleu" not in record for record in epochs)
    best = checkpoint.load(folder / "checkpoints" / "best").model
    dev = experiment.scored_batches(
        checkpoint.load(folder / "checkpoints" / "best").tokenizer,
        tiny_splits().dev,
        best.config,
    )
    lowest = min(record["dev_nll"] for record in epochs)
    assert evaluate(best, dev)["nll"] == pytest.approx(lowest, rel=1e-4)


def test_a_language_model_learns_from_all_of_a_long_text(
    tmp_path, monkeypatch
):
    words = "猫 犬 魚 赤い 古い".split()
    text = "\n".join(" ".join(words) for _ in range(30))
    splits = Splits(*(ParallelText([""], [text]) for _ in range(3)))
    monkeypatch.setattr(
        experiment, "load_corpus", lambda name, src, tgt: splits
    )
    settings = tiny("decoder-only", epochs=1)
    model = dataclasses.replace(settings.model, max_length=8)
    settings = dataclasses.replace(settings, model=model)
    settings = other(
        settings, corpus="soseki_text", src="ja", tgt="ja", pieces="word"
    )
    prepared = experiment.prepare(settings)
    seen = sum(
        int((batch.tgt_out != 0).sum()) for batch in prepared.batches.epoch(0)
    )
    ids = prepared.tokenizer.encode(text)
    assert seen == len(ids) + 1  # eos
    score = experiment.score_text(
        prepared.model, prepared.tokenizer, splits.dev
    )
    assert score.tokens == seen
    assert score.nll_per_character * score.characters == pytest.approx(
        score.nll * score.tokens
    )
    folder = run(settings, tmp_path, quiet=True)
    assert all(s["src"] == "" for s in records(folder, "epoch")[0]["samples"])


UNIGRAM = {"pieces": "unigram", "subword_sampling": 0.2}


@pytest.fixture
def unigram(monkeypatch) -> Experiment:
    """Pieces that can be put together in several ways."""
    splits = grammar_corpus(train=60, dev=6, test=6)
    monkeypatch.setattr(
        experiment, "load_corpus", lambda name, src, tgt: splits
    )
    settings = other(tiny(epochs=2), **UNIGRAM, token_budget=256)
    model = dataclasses.replace(settings.model, vocab_size=520)
    return dataclasses.replace(settings, model=model)


def test_pieces_are_drawn_anew_in_each_epoch_and_the_same_again(unigram):
    batches, again = (experiment.prepare(unigram).batches for _ in "12")
    first, second = (list(batches.epoch(n)) for n in (0, 1))
    lengths = [
        sum(int((b.tgt != 0).sum()) for b in e) for e in (first, second)
    ]
    assert lengths[0] != lengths[1]
    for number, expected in ((1, second), (0, first)):
        for batch, other_batch in zip(
            again.epoch(number), expected, strict=True
        ):
            assert torch.equal(batch.src, other_batch.src)
            assert torch.equal(batch.tgt, other_batch.tgt)


def test_a_run_with_drawn_pieces_killed_goes_on_as_if_it_had_not_been(
    unigram, tmp_path, monkeypatch
):
    whole = run(unigram, tmp_path / "whole", quiet=True)
    with monkeypatch.context() as patch:
        dies_at(patch, checkpoint, "_put_in_place", 4)
        with pytest.raises(Killed):
            run(unigram, tmp_path, quiet=True)
    folder = run(unigram, tmp_path, resume=True, quiet=True)
    assert_same_runs(whole, folder)


def test_both_ways_of_each_pair_are_learned_and_one_is_scored():
    splits = tiny_splits()
    prepared = experiment.prepare(other(tiny(), both_ways=True))
    train = set(splits.train)
    assert set(prepared.splits.train) == train | set(splits.train.swap())
    assert len(prepared.splits.train) == 2 * len(train)
    assert prepared.splits.dev == splits.dev


def test_a_training_starts_from_another_ones_weights(finished, tmp_path):
    settings = tiny(start_from=str(finished))
    start = experiment.prepare(settings)
    chosen = checkpoint.load(chosen_checkpoint(finished))
    assert start.tokenizer.model_proto == chosen.tokenizer.model_proto
    for name, weight in chosen.model.state_dict().items():
        assert torch.equal(weight, start.model.state_dict()[name]), name
    folder = run(settings, tmp_path, quiet=True)
    assert losses(folder)[0] < losses(finished)[0] * 0.8


def test_a_start_of_other_sizes_is_refused(finished):
    settings = tiny("learned", start_from=str(finished))
    with pytest.raises(ConfigError, match="do not fit"):
        experiment.prepare(settings)


def test_a_start_that_is_not_there_is_refused(tmp_path):
    with pytest.raises(CheckpointError, match="no checkpoint") as told:
        experiment.prepare(tiny(start_from=str(tmp_path / "none")))
    assert "train that model first, name" in str(told.value)
    preset = str(tmp_path / "soseki-cpu")
    with pytest.raises(CheckpointError, match="train soseki-cpu"):
        experiment.prepare(tiny(start_from=preset))


def test_the_haiku_preset_has_the_sizes_of_what_it_starts_from():
    haiku = PRESETS["haiku"]
    start = PRESETS[Path(haiku.train.start_from).name]
    sizes = dataclasses.replace(haiku.model, dropout=start.model.dropout)
    assert sizes == start.model


def test_no_averaging_when_not_asked_for(tmp_path):
    folder = run(tiny(epochs=2, average_last=0), tmp_path, quiet=True)
    names = {path.name for path in (folder / "checkpoints").iterdir()}
    assert names == {"last", "best"}
    assert not records(folder, "average")


# --- which checkpoint is used -----------------------------------------------


def with_metrics(folder, *lines):
    """A run with all three checkpoints, and these records."""
    for name in ("last", "best", "average"):
        (folder / "checkpoints" / name).mkdir(parents=True)
        (folder / "checkpoints" / name / "config.json").write_text("{}")
    text = "".join(f"{json.dumps(line)}\n" for line in lines)
    (folder / "metrics.jsonl").write_text(text)
    return folder


def epoch(bleu: float) -> dict:
    return {"kind": "epoch", "dev_bleu": bleu, "dev_nll": 1.0}


@pytest.mark.parametrize(
    ("average", "name"), [(29.0, "best"), (30.0, "average"), (31.0, "average")]
)
def test_the_better_of_average_and_best_is_taken(tmp_path, average, name):
    lines = [epoch(20.0), epoch(30.0), epoch(10.0)]
    last = epoch(average) | {"kind": "average"}
    folder = with_metrics(tmp_path, *lines, last)
    assert chosen_checkpoint(folder) == folder / "checkpoints" / name


def test_of_language_models_the_less_surprised_is_taken(tmp_path):
    lines = [
        {"kind": k, "dev_nll": n}
        for k, n in zip(("epoch", "average"), (2.0, 3.0), strict=True)
    ]
    assert chosen_checkpoint(with_metrics(tmp_path, *lines)).name == "best"


def test_an_average_of_an_earlier_training_does_not_count(tmp_path):
    """The run has gone on since: its new average is yet to be measured."""
    assert chosen_checkpoint(with_metrics(tmp_path, epoch(5.0))).name == "best"


def test_a_training_under_way_can_be_used(tmp_path):
    folder = with_metrics(tmp_path, epoch(5.0))
    with (folder / "metrics.jsonl").open("ab") as file:
        file.write('{"kind": "epoch", "samples": "猫'.encode()[:-1])
    assert chosen_checkpoint(folder).name == "best"


def test_what_was_chosen_is_what_was_recorded_as_best(finished):
    best = max(r["dev_bleu"] for r in records(finished, "epoch"))
    (average,) = records(finished, "average")
    name = "average" if average["dev_bleu"] >= best else "best"
    assert chosen_checkpoint(finished).name == name


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
    assert_same_runs(run(tiny(), tmp_path, quiet=True), finished)


def test_another_seed_gives_another_run(finished, tmp_path):
    other = run(tiny(seed=1, epochs=1), tmp_path, quiet=True)
    assert losses(other)[0] != losses(finished)[0]


def test_more_epochs_later_equal_more_epochs_at_once(finished, tmp_path):
    run(tiny(epochs=1), tmp_path, quiet=True)
    folder = run(tiny(epochs=3), tmp_path, resume=True, quiet=True)
    assert_same_runs(folder, finished)


def test_resuming_a_finished_run_changes_nothing(finished, tmp_path):
    folder = run(tiny(), tmp_path, quiet=True)
    run(tiny(), tmp_path, resume=True, quiet=True)
    assert_same_runs(folder, finished)


# --- stopped in the middle --------------------------------------------------


KILLS = [
    (checkpoint, "_put_in_place", 1),
    (checkpoint, "_put_in_place", 3),
    *[(checkpoint, "_put_in_place", n) for n in range(4, 9)],
    (checkpoint.Path, "rename", 7),
    (checkpoint.Path, "rename", 8),
    (experiment, "evaluate", 2),
    (experiment, "translate", 3),
    (experiment, "_begin_folder", 1),
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


def test_killed_again_and_again(finished, tmp_path, monkeypatch):
    """Each life makes a checkpoint or two, and then dies in the next."""
    for life in range(30):
        with monkeypatch.context() as patch:
            dies_at(patch, checkpoint, "_put_in_place", 4)
            with contextlib.suppress(Killed):
                run(tiny(), tmp_path, resume=life > 0, quiet=True)
                break
    assert life > 3
    assert_same_runs(tmp_path / "tiny", finished)


def test_ctrl_c_saves_and_says_how_to_go_on(finished, tmp_path, monkeypatch):
    original, steps = experiment.Recorder._write, []

    def press_ctrl_c(self, **record):
        original(self, **record)
        steps.append(record)
        if len(steps) == 3:
            os.kill(os.getpid(), signal.SIGINT)

    before = signal.getsignal(signal.SIGINT)
    with monkeypatch.context() as patch:
        patch.setattr(experiment.Recorder, "_write", press_ctrl_c)
        with pytest.raises(Interrupted, match=r"after step 3.*--resume"):
            run(tiny(save_every=500), tmp_path, quiet=True)
    assert signal.getsignal(signal.SIGINT) is before
    assert len(losses(tmp_path / "tiny")) == 3
    folder = run(tiny(), tmp_path, resume=True, quiet=True)
    assert_same_runs(folder, finished)


@pytest.mark.parametrize("write", [1, 2, 5])
def test_a_full_disk_leaves_the_last_checkpoint(
    finished, tmp_path, monkeypatch, write
):
    calls = []
    original = checkpoint._write_tensors

    def fills_up(path, tensors):
        calls.append(path)
        if len(calls) >= write:
            path.write_bytes(b"half")
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        original(path, tensors)

    with monkeypatch.context() as patch:
        patch.setattr(checkpoint, "_write_tensors", fills_up)
        with pytest.raises(CheckpointError, match="No space left"):
            run(tiny(), tmp_path, quiet=True)
    folder = run(tiny(), tmp_path, resume=True, quiet=True)
    assert_same_runs(folder, finished)


def test_a_full_disk_while_writing_metrics_is_one_line(tmp_path, monkeypatch):
    def fills_up(*_, **__):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(experiment.Recorder, "_write", fills_up)
    with pytest.raises(CourseError, match=r"No space left.*--resume"):
        run(tiny(), tmp_path, quiet=True)


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
    forget_after(path, Progress(step=2, epoch=1))
    assert path.read_text("utf-8").splitlines() == lines[:3]
    assert list(tmp_path.iterdir()) == [path]
    forget_after(tmp_path / "none.jsonl", Progress())


# --- refused ----------------------------------------------------------------


def test_a_run_is_not_written_over(finished):
    before = (finished / "metrics.jsonl").read_bytes()
    with pytest.raises(ConfigError, match=r"holds a run already.*--resume"):
        run(tiny(), finished.parent, quiet=True)
    assert (finished / "metrics.jsonl").read_bytes() == before


def test_other_settings_are_not_advised_to_go_on(finished):
    deeper = dataclasses.replace(MODELS["transformer"], n_layers=3)
    other = dataclasses.replace(tiny(), model=deeper)
    with pytest.raises(ConfigError, match=r"model\.n_layers") as error:
        run(other, finished.parent, quiet=True)
    assert "another --name" in str(error.value)
    assert "--resume" not in str(error.value)


def test_a_damaged_last_checkpoint_says_what_can_be_done(finished, tmp_path):
    shutil.copytree(finished, tmp_path / "tiny")
    weights = tmp_path / "tiny/checkpoints/last/model.safetensors"
    weights.write_bytes(weights.read_bytes()[:50])
    with pytest.raises(CheckpointError, match="damaged.*another --name"):
        run(tiny(), tmp_path, resume=True, quiet=True)


def test_there_must_be_something_to_go_on_with(tmp_path):
    with pytest.raises(CheckpointError, match=r"no run in .*leave out"):
        run(tiny(), tmp_path, resume=True, quiet=True)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("part", "change"),
    [
        ("train", {"peak_rate": 0.5}),
        ("train", {"seed": 3}),
        ("data", {"token_budget": 32}),
        ("model", {"d_model": 32}),
    ],
)
def test_going_on_with_other_settings_is_refused(finished, part, change):
    changed = dataclasses.replace(getattr(tiny(), part), **change)
    other = dataclasses.replace(tiny(), **{part: changed})
    name = next(iter(change))
    with pytest.raises(ConfigError, match=f"{part}.{name}"):
        run(other, finished.parent, resume=True, quiet=True)


def test_a_setting_younger_than_the_run_had_its_default(finished, tmp_path):
    """A run that was begun before a setting existed can go on."""
    path = shutil.copytree(finished, tmp_path / "tiny") / "experiment.json"
    settings = json.loads(path.read_text("utf-8"))
    assert settings["train"].pop("r_drop") == 0
    path.write_text(json.dumps(settings), "utf-8")
    run(tiny(), tmp_path, resume=True, quiet=True)
    changed = dataclasses.replace(tiny().train, r_drop=5.0)
    other = dataclasses.replace(tiny(), train=changed)
    with pytest.raises(ConfigError, match=r"r_drop 0\.0, but 5\.0 is given"):
        run(other, tmp_path, resume=True, quiet=True)


def test_going_on_with_another_kind_of_model_is_refused(finished):
    with pytest.raises(ConfigError, match=r"the run began with model\."):
        run(tiny("gru"), finished.parent, resume=True, quiet=True)


@pytest.mark.parametrize("content", ["", "{}", "[1]"])
def test_damaged_settings_are_named(tmp_path, content):
    (tmp_path / "tiny").mkdir()
    (tmp_path / "tiny" / "experiment.json").write_text(content)
    with pytest.raises(CheckpointError, match=r"experiment\.json is damaged"):
        run(tiny(), tmp_path, resume=True, quiet=True)


def test_a_missing_corpus_leaves_no_folder(tmp_path, monkeypatch):
    def missing(name, src, tgt):
        raise CorpusError("not here: fetch it first.")

    monkeypatch.setattr(experiment, "load_corpus", missing)
    with pytest.raises(CorpusError):
        run(tiny(), tmp_path, quiet=True)
    assert not list(tmp_path.iterdir())


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_a_gpu_that_is_not_there_leaves_no_folder(tmp_path):
    with pytest.raises(ConfigError, match="'cuda' was asked for"):
        run(tiny(device="cuda"), tmp_path, quiet=True)
    assert not list(tmp_path.iterdir())


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
    monkeypatch.setattr(experiment, "load_corpus", lambda *_, **__: splits)
    folder = run(tiny("learned", epochs=1), tmp_path, quiet=True)
    assert torch.tensor(losses(folder)).isfinite().all()
    warning = capsys.readouterr().err
    assert warning.count("\n") == 1
    assert "warning: 2 of 43 training pairs are longer than 8" in warning


def test_nothing_is_said_when_nothing_is_cut(tmp_path, capsys):
    run(tiny(epochs=1), tmp_path, quiet=True)
    assert capsys.readouterr().err == ""


# --- chapters' models -------------------------------------------------------


def test_a_chapters_model_is_trained_once_and_kept(tmp_path, monkeypatch):
    monkeypatch.setenv("TRANSFORMER_COURSE_CACHE", str(tmp_path))
    first = experiment.trained(tiny(epochs=1))
    monkeypatch.setattr(experiment, "run", None)  # a second would fail
    again = experiment.trained(tiny(epochs=1))
    for one, other in zip(
        first.model.parameters(), again.model.parameters(), strict=True
    ):
        assert torch.equal(one, other)
    assert not again.model.training
