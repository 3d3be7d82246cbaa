"""Laws of classifying texts: batches, baselines, starts, the command line."""

import dataclasses
from unittest.mock import Mock

import pytest
import torch
from sklearn.metrics import confusion_matrix, f1_score
from tiny import (
    close,
    ragged_ids,
    random_ids,
    tiny_labelled,
    tiny_labels,
)
from tiny_runs import other, tiny_texts

from transformer_course.batches.labelled import (
    LabelledBatches,
    text_rows,
)
from transformer_course.checkpoints import checkpoint
from transformer_course.data.tokenizer import PAD, Tokenizer
from transformer_course.decoding.classify import (
    confusion,
    f1_by_class,
    interval_of_groups,
    macro_f1,
    probabilities,
)
from transformer_course.errors import ConfigError
from transformer_course.inference.model import TrainedModel
from transformer_course.interpretation.explain import encoder_attention
from transformer_course.models.bert_config import (
    RecurrentClassifierConfig,
)
from transformer_course.models.recurrent import RecurrentClassifier
from transformer_course.training.loop import evaluate
from transformer_course.training.run import checkpoints
from transformer_course.training.run.prepare import prepare
from transformer_course.training.tasks import classification


@pytest.fixture(autouse=True)
def labels(monkeypatch):
    tiny_labels(monkeypatch)


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    return Tokenizer.train(tiny_labelled().train.texts, 30, "word")


def gru(**changes) -> RecurrentClassifier:
    """Untrained, in evaluation mode."""
    torch.manual_seed(0)
    settings = {"vocab_size": 17, "d_model": 12, "d_hidden": 16}
    config = RecurrentClassifierConfig(**settings | changes)
    return RecurrentClassifier(config).eval()


# --- batches -----------------------------------------------------------------


def test_an_epoch_holds_every_text_once_with_its_label(tokenizer):
    text = tiny_labelled().train
    batches = LabelledBatches(tokenizer, text, 128, token_budget=40)
    found = list(batches.epoch(3))
    assert len(found) == len(batches)
    rows = [
        (tuple(row[row != PAD].tolist()), int(label))
        for batch in found
        for row, label in zip(batch.ids, batch.labels, strict=True)
    ]
    wanted = map(tuple, text_rows(tokenizer, text.texts, 128))
    assert sorted(rows) == sorted(zip(wanted, text.labels, strict=True))
    assert all(batch.ids.numel() <= 40 for batch in found)


def test_a_long_text_is_cut_before_its_end_sign(tokenizer):
    [row] = text_rows(tokenizer, ["red old cat dog fish"], 4)
    ends = tokenizer.cls_id, tokenizer.sep_id
    assert (row[0], row[-1], len(row)) == (*ends, 4)
    with pytest.raises(ConfigError, match="max_length is 2.*at least 3"):
        text_rows(tokenizer, ["red"], 2)


# --- the recurrent classifier ------------------------------------------------


def test_padding_changes_nothing_for_the_gru():
    model, ids = gru(), ragged_ids([7, 3, 1])
    together = model(ids)
    for row, found in zip(ids, together, strict=True):
        close(model(row[row != PAD][None])[0], found)


def test_the_gru_reads_both_ways():
    """A change of the first word, and of the last, changes the answer."""
    model, ids = gru(), random_ids(1, 6)
    before = model(ids)
    for place in (0, 5):
        changed = ids.clone()
        changed[0, place] = 4 + (changed[0, place] - 3) % 13
        assert not torch.allclose(model(changed), before)


# --- how good answers are ----------------------------------------------------


def test_f1_is_that_of_scikit_learn():
    generator = torch.Generator().manual_seed(0)
    right = torch.randint(4, (200,), generator=generator)
    guesses = torch.randint(4, (200,), generator=generator)
    wanted = f1_score(right, guesses, average=None)
    confused = confusion(right, guesses, 4)
    assert (confused.numpy() == confusion_matrix(right, guesses)).all()
    close(f1_by_class(confused).double(), torch.tensor(wanted))
    assert macro_f1(right, guesses, 4) == pytest.approx(wanted.mean())


@pytest.mark.parametrize("kind", ["classifier", "gru-classifier"])
def test_probabilities_come_in_the_order_of_the_texts(kind, tokenizer):
    made = prepare(tiny_texts(kind))
    texts = ["red cat .", "old dog fish red old cat .", "dog ."]
    found = probabilities(made.model, made.tokenizer, texts)
    close(found.sum(dim=-1), torch.ones(3))
    for text, row in zip(texts, found, strict=True):
        close(probabilities(made.model, made.tokenizer, [text])[0], row)


def test_an_interval_of_works_is_wider_than_one_of_texts():
    """Ten works, all right or all wrong: as if there were ten texts."""
    hits = torch.arange(200) % 10 < 7
    works = [str(i % 10) for i in range(200)]
    low, high = interval_of_groups(hits, list(map(str, range(200))))
    lower, higher = interval_of_groups(hits, works)
    assert lower < low < 0.7 < high < higher
    assert high - low < (higher - lower) / 3


# --- training ----------------------------------------------------------------


def test_a_gru_learns_to_see_a_cat():
    settings = tiny_texts("gru-classifier")
    made = prepare(settings)
    adam = torch.optim.Adam(made.model.parameters(), 0.01)
    for number in range(20):
        for batch in made.batches.epoch(number):
            sums = made.task.loss(made.model, batch, settings.loss)
            adam.zero_grad()
            sums.loss.backward()
            adam.step()
    shown = made.splits.train
    batches = made.task.eval_batches(made.model.config, made.tokenizer, shown)
    means = evaluate(made.model, batches, made.task.unsmoothed_loss)
    assert means["accuracy"] == 1


def test_labels_are_limited_and_pieces_are_not(monkeypatch):
    """And the corpus, which may be large, is read once."""
    load = Mock(wraps=classification.labelled_of)
    monkeypatch.setattr(classification, "labelled_of", load)
    whole, few = (
        prepare(other(tiny_texts(), train_pairs=pairs)) for pairs in (None, 4)
    )
    assert load.call_count == 2
    assert len(few.splits.train) == 4 < len(whole.splits.train)
    assert few.tokenizer.cuts_like(whole.tokenizer)
    assert few.splits.dev == whole.splits.dev


def test_another_number_of_classes_is_refused():
    with pytest.raises(ConfigError, match="n_classes is 3.*is 2"):
        prepare(other(tiny_texts(), {"n_classes": 3}))


# --- the command line --------------------------------------------------------


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A checkpoint with its first weights."""
    with pytest.MonkeyPatch.context() as patch:
        tiny_labels(patch)
        settings = tiny_texts()
        made = prepare(settings)
    path = tmp_path_factory.mktemp("model") / "checkpoint"
    details = checkpoints.details(settings)
    checkpoint.save(path, made.model, made.tokenizer, details)
    return path


@pytest.fixture
def said(run, stdin):
    """Runs a command, with lines on standard input."""

    def run_it(*args, given: str = "") -> tuple[int, list[str], str]:
        stdin(given.encode())
        status, out, err = run(*args, "--device", "cpu")
        return status, out.splitlines(), err

    return run_it


def test_each_line_has_its_class(said, folder, tmp_path):
    status, lines, err = said("classify", folder, given="Red cat.\nold dog .")
    assert (status, err, len(lines)) == (0, "", 2)
    for line in lines:
        name, share = line.split("\t")
        assert name in ("no", "yes") and 0.5 <= float(share) <= 1
    file = tmp_path / "text.txt"
    file.write_text("Red cat.\nold dog .", encoding="utf-8")
    assert said("classify", folder, file) == (0, lines, "")


def test_top_names_more_classes_on_the_line(said, folder):
    _, [line], _ = said("classify", folder, "--top", 2, given="red cat .")
    one, share, other_one, rest = line.split("\t")
    assert {one, other_one} == {"no", "yes"}
    assert float(share) + float(rest) == pytest.approx(1, abs=2e-4)
    for top in (0, 3):
        status, lines, err = said("classify", folder, "--top", top)
        assert (status, lines) == (1, []) and f"top is {top}" in err


@pytest.mark.parametrize(("words", "warned"), [(126, False), (127, True)])
def test_a_text_that_is_cut_off_is_told(said, folder, words, warned):
    _, [_], err = said("classify", folder, given="red " * (words - 1) + "cat")
    assert ("longer than 128 tokens and is cut" in err) is warned


def test_a_page_shows_the_words_in_colour(said, folder, tmp_path):
    page = tmp_path / "page.html"
    given = "red cat .\n\nold dog .\n"
    said("classify", folder, "--explain", page, given=given)
    text = page.read_text("utf-8")
    assert text.count("<section>") == 2
    assert text.count("> cat</span>") == 2  # looked at, and speaking
    assert "red cat ." in text


def test_by_the_mean_of_tokens_every_row_is_explained(folder):
    """[CLS] is one of the rows then, and its own row says something else."""
    used = TrainedModel.load(folder, "cpu")
    by_class_token = used.explain("red cat .")
    config = dataclasses.replace(used.model.config, pooling="mean")
    used.model.config = config
    by_mean = used.explain("red cat .")
    rows = text_rows(used.tokenizer, ["red cat ."], config.max_length)
    weights = encoder_attention(used.model, torch.tensor(rows))
    each = weights[0, -1].mean(dim=(0, 1))[1:-1]
    torch.testing.assert_close(by_mean.attention, each)
    for mean, first in zip(by_mean[1:], by_class_token[1:], strict=True):
        assert mean.shape == first.shape
        assert not torch.allclose(mean, first)


def test_a_classifier_is_scored(said, folder):
    status, [first, *others], _ = said("score", folder, "--split", "dev")
    assert status == 0
    assert "sentence_polarity, dev: " in first and "macro F1" in first
    assert [line.split()[0] for line in others] == ["no", "yes"]
    status, _, err = said("score", folder, "--with", folder)
    assert status == 1 and "a model for text classification" in err
