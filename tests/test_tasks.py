"""Laws of tasks: all is asked of them by methods, so a new one just trains."""

import dataclasses
import json
from functools import partial
from typing import NamedTuple

import pytest
import torch
import torch.nn.functional as F
from tiny import (
    tiny_corpus,
    tiny_digits,
    tiny_labels,
    tiny_splits,
)
from tiny_runs import (
    other,
    records,
    tiny,
    tiny_books,
    tiny_images,
    tiny_library,
    tiny_masked,
    tiny_texts,
)
from torch import Tensor, nn

from experiments import store
from transformer_course.checkpoints import checkpoint
from transformer_course.checkpoints.find import chosen_checkpoint
from transformer_course.checkpoints.kinds import (
    MODEL_KINDS,
    TASK_KINDS,
    TaskKind,
)
from transformer_course.data.config import DataConfig
from transformer_course.data.corpora import CORPORA, Corpus
from transformer_course.errors import ConfigError
from transformer_course.models.config import (
    AnyModelConfig,
    LanguageModelConfig,
    ModelConfig,
    RecurrentConfig,
)
from transformer_course.training.config import (
    Experiment,
    LossConfig,
)
from transformer_course.training.loop import evaluate
from transformer_course.training.loss import LossSums
from transformer_course.training.presets import PRESETS
from transformer_course.training.report import Evaluation
from transformer_course.training.run.folder import settings_of
from transformer_course.training.run.prepare import complete, prepare
from transformer_course.training.run.recorder import format_sample
from transformer_course.training.run.training import run
from transformer_course.training.tasks.table import (
    TASKS,
    experiment_from_dict,
    experiment_to_dict,
    find_task,
    task_of,
)
from transformer_course.training.tasks.task import (
    Task,
    check,
    selection_value,
)

SOSEKI = {"corpus": "soseki", "src": "ja", "tgt": "ja"}
each_task = pytest.mark.parametrize("name", TASKS)

STORED = [
    path.parent
    for path in sorted(store.folder("").glob("*/run.json"))
    if "transformer-course train" in path.read_text("utf-8")
]


@pytest.fixture(autouse=True)
def small_corpora(monkeypatch):
    """A translated corpus, and one in Japanese with pairs and texts."""
    tiny_corpus(monkeypatch)
    tiny_digits(monkeypatch)
    tiny_labels(monkeypatch)
    both = {"pairs": tiny_splits, "texts": tiny_splits}
    monkeypatch.setitem(CORPORA, "soseki", Corpus("soseki", ("ja",), **both))
    tiny_books(monkeypatch)


def training(name: str) -> Experiment:
    """A tiny one that the task can do."""
    if name == "image_classification":
        return tiny_images()
    if name == "pre_training":
        return tiny_masked()
    if name == "text_classification":
        return tiny_texts()
    found = tiny("decoder-only" if name == "language_modelling" else "gru")
    if name == "next_sentence":
        found = other(found, **SOSEKI)
    return dataclasses.replace(found, task=name)


# --- what every task says ---------------------------------------------------


def test_a_sample_commands_no_terminal():
    odd = dict.fromkeys(("src", "tgt", "output"), "a\x1b[31m\nb")
    assert format_sample(odd) == "a\\x1b[31m\\nb\n→ a\\x1b[31m\\nb"


@each_task
def test_a_task_goes_from_settings_to_scores_and_samples(name):
    """On a model with its first weights, through every method."""
    settings = training(name)
    made = prepare(settings)
    task, text = made.task, (made.tokenizer, made.splits.dev)
    batch = next(iter(made.batches.epoch(0)))
    loss = task.loss(made.model, batch, settings.loss).loss
    loss.backward()
    assert loss > 0
    smoothed = partial(task.loss, config=settings.loss)
    means = evaluate(made.model, made.dev_batches, smoothed)
    metrics = means | task.metrics(made.model, *text, means)
    assert metrics["loss"] != metrics["nll"]  # smoothed
    assert isinstance(selection_value(task, metrics), float)
    samples = task.samples(made.model, *text)
    assert samples == task.samples(made.model, *text)
    assert all(format_sample(sample) for sample in samples)
    said = []
    evaluation = Evaluation(task, made.model, *text, made.splits.train, 1)
    written = evaluation.report("dev", said.append)
    assert said[0].startswith("dev: ")
    assert (written is None) == (name != "translation")
    assert written is None or len(written) == len(made.splits.dev)


def test_translations_are_judged_by_bleu_and_other_text_by_its_nll():
    metrics = {"bleu": 12.0, "nll": 2.0, "accuracy": 0.5}
    values = {n: selection_value(task, metrics) for n, task in TASKS.items()}
    assert values.pop("translation") == 12.0
    assert values.pop("image_classification") == 0.5
    assert values.pop("text_classification") == 0.5
    assert set(values.values()) == {-2.0}


# --- what does not fit ------------------------------------------------------


@pytest.mark.parametrize(
    ("task", "model"),
    [
        ("translation", LanguageModelConfig),
        ("language_modelling", ModelConfig),
    ],
)
def test_a_model_that_does_not_fit_is_refused(task, model):
    settings = dataclasses.replace(training(task), model=model())
    with pytest.raises(ConfigError, match=f"{task} trains a ") as error:
        prepare(settings)
    for fits in find_task(task).kind.models:
        assert fits in str(error.value)


@pytest.mark.parametrize(
    ("task", "corpus", "fits"),
    [
        ("translation", "soseki", {"grammar", "small_parallel_enja"}),
        ("next_sentence", "grammar", {"soseki", "haiku"}),
        ("language_modelling", "fashion_mnist", {"grammar", "soseki"}),
    ],
)
def test_a_corpus_that_does_not_fit_is_refused(task, corpus, fits):
    with pytest.raises(ConfigError, match=f"{corpus} has nothing") as error:
        prepare(other(training(task), corpus=corpus))
    named = str(error.value).rpartition(": ")[2].rstrip(".").split(", ")
    assert fits <= set(named) and corpus not in named


@pytest.mark.parametrize(
    ("task", "data", "said"),
    [
        ("translation", {"src": "en", "tgt": "en"}, "src and tgt are both"),
        ("next_sentence", {"both_ways": True}, "both_ways is True"),
        ("language_modelling", {"subword_sampling": 0.2}, "sampling is 0.2"),
    ],
)
def test_a_setting_that_a_task_cannot_follow_is_refused(task, data, said):
    pieces = {"pieces": "unigram"} | data
    with pytest.raises(ConfigError, match=said):
        prepare(other(training(task), **pieces))


@pytest.mark.parametrize(
    ("config", "details", "task"),
    [
        (ModelConfig(), {"task": "next_sentence"}, "next_sentence"),
        (RecurrentConfig(), None, "translation"),
        (LanguageModelConfig(), {}, "language_modelling"),
    ],
)
def test_a_checkpoint_is_of_a_task_even_if_it_does_not_say(
    config, details, task
):
    assert task_of(config, details).name == task


def test_a_checkpoint_that_no_task_would_have_made_is_refused(monkeypatch):
    monkeypatch.setitem(MODEL_KINDS, "line", (LineConfig, ""))
    with pytest.raises(ConfigError, match="no task trains a LineConfig"):
        task_of(LineConfig())
    with pytest.raises(ConfigError, match="made from a DataConfig"):
        task_of(DataConfig())


# --- a task of another kind -------------------------------------------------


class Labelled(NamedTuple):
    """A batch: points, and on which side of a line each lies."""

    points: Tensor
    labels: Tensor

    def to(self, device) -> "Labelled":
        return Labelled(self.points.to(device), self.labels.to(device))


class LabelledBatches(list):
    """A few batches, in the same order in each epoch."""

    def epoch(self, number: int):
        return iter(self)


class Splits(NamedTuple):
    train: Labelled
    dev: Labelled


def points(seed: int) -> Labelled:
    generator = torch.Generator().manual_seed(seed)
    found = torch.randn(40, 2, generator=generator)
    return Labelled(found, (found.sum(dim=1) > 0).long())


@dataclasses.dataclass(frozen=True)
class LineConfig(AnyModelConfig):
    width: int = 4


class Line(nn.Module):
    def __init__(self, config: LineConfig):
        super().__init__()
        self.config = config
        self.up_proj = nn.Linear(2, config.width)
        self.drop = nn.Dropout(0.2)
        self.decide = nn.Linear(config.width, 2)

    def forward(self, found: Tensor) -> Tensor:
        return self.decide(self.drop(self.up_proj(found).relu()))


class Sides(Task):
    """On which side of a line a point lies: no text and no tokenizer."""

    kind = TaskKind("sides", ("line",), "classes", "score {}")
    examples = "points"
    corpora = ("works",)
    selection_metric = "accuracy"
    data_settings = ()

    def load(self, data):
        return Splits(points(0), points(1))

    def prepare(self, experiment, train, tokenizer=None):
        parts = zip(*(part.chunk(4) for part in train), strict=True)
        return None, LabelledBatches(Labelled(*part) for part in parts)

    def eval_batches(self, config, tokenizer, text):
        return [text]

    def loss(self, model, batch, config):
        logits = model(batch.points)
        right = logits.argmax(dim=-1) == batch.labels
        nll = F.cross_entropy(logits, batch.labels, reduction="sum")
        count = torch.tensor(len(right))
        return LossSums(nll, nll.detach(), right.sum(), count)

    def metrics(self, model, tokenizer, dev, means):
        return {"error": 1 - means["accuracy"]}

    def samples(self, model, tokenizer, dev):
        side = model(dev.points[:1]).argmax(dim=-1)
        return [{"src": "0", "tgt": "?", "side": str(int(side))}]


def test_a_made_up_task_is_trained_and_recorded(tmp_path, monkeypatch, capsys):
    """All that it needs stands in tables."""
    monkeypatch.setitem(TASKS, "sides", Sides())
    monkeypatch.setitem(TASK_KINDS, "sides", Sides.kind)
    place = f"{__name__}:Line"
    monkeypatch.setitem(MODEL_KINDS, "line", (LineConfig, place))
    plane = Corpus("plane", (), works=tiny_library)
    monkeypatch.setitem(CORPORA, "plane", plane)
    train = tiny(epochs=4, peak_rate=0.1).train
    data, loss = DataConfig(corpus="plane"), LossConfig()
    settings = Experiment("sides", data, LineConfig(), train, "sides", loss)
    folder = run(settings, tmp_path)
    said = capsys.readouterr().out
    assert " points, " in said and "0\n→ " in said and "accuracy" in said
    epochs = records(folder, "epoch")
    assert [record["epoch"] for record in epochs] == [1, 2, 3, 4]
    assert epochs[-1]["selection_metric"] == epochs[-1]["dev_accuracy"] > 0.8
    assert epochs[-1]["dev_error"] == 1 - epochs[-1]["dev_accuracy"]
    assert len(epochs[-1]["samples"]) == 1
    assert "padding_share" not in epochs[-1]
    assert records(folder, "step")[0]["tokens"] == 10
    assert not (folder / "tokenizer.model").exists()
    chosen = checkpoint.load(chosen_checkpoint(folder))
    assert chosen.tokenizer is None
    assert chosen.details["task"] == "sides"


# --- settings that were stored ----------------------------------------------


@pytest.mark.parametrize("name", PRESETS)
def test_an_experiment_is_what_its_settings_say(name):
    preset = PRESETS[name]
    assert experiment_from_dict(experiment_to_dict(preset)) == preset


@pytest.mark.parametrize("name", MODEL_KINDS)
def test_a_config_is_read_back_as_its_own_kind(name):
    """Configs of two kinds may have the same settings."""
    config = MODEL_KINDS[name][0]()
    values = json.loads(json.dumps(checkpoint.config_to_dict(config)))
    assert values["model_type"] == name
    found = checkpoint.config_from_dict(values)
    assert (type(found), found) == (type(config), config)


@pytest.mark.parametrize("path", STORED, ids=lambda path: path.name)
def test_a_stored_run_can_be_trained_again(path):
    """By its preset's settings, where it has one."""
    found = experiment_from_dict(settings_of(path))
    check(find_task(found.task), found)
    with torch.device("meta"):  # the sizes go together
        checkpoint.build(found.model)
    if path.name in PRESETS:
        assert found == complete(PRESETS[path.name])


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"data": None}, "data is not there"),
        ({"task": None}, "task is not there"),
        (
            {"model": {"model_type": "transformer", "depth": 1}},
            "no setting depth; .*n_layers",
        ),
        ({"model": {"n_layers": 1}}, "model_type is None: expected transf"),
        ({"model": {"model_type": ["gru"]}}, "model_type is .*: expected"),
        ({"train": {"epochs": "two"}}, "epochs is 'two'"),
        ({"task": "juggling"}, "no task 'juggling'"),
    ],
)
def test_settings_that_are_none_of_a_training_are_refused(changes, words):
    settings = experiment_to_dict(PRESETS["grammar"]) | changes
    kept = {k: v for k, v in settings.items() if v is not None}
    with pytest.raises(ConfigError, match=words):
        experiment_from_dict(kept)
