"""What is said of classifiers is counted right, and changes no model."""

import dataclasses

import pytest
import torch
from tiny import close

from experiments.authors_curve import like
from experiments.authors_probe import Probe, ahead
from experiments.classifiers import (
    KEPT,
    ask,
    by_class,
    by_kind,
    by_passage,
    dealt_anew,
    kinds_of,
    looks,
    settings_for,
    smoke_splits,
    surest_mistakes,
    trained,
)
from experiments.lab import Bench
from transformer_course import checkpoint
from transformer_course.bert import BertPreTraining
from transformer_course.bert_config import BertConfig
from transformer_course.data.labelled import LabelledSplits, LabelledText
from transformer_course.labelled_batches import text_rows
from transformer_course.presets import PRESETS


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    bench = Bench(tmp_path_factory.mktemp("bench"), smoke=True)
    return trained(settings_for("polarity", 0, bench), smoke_splits())


@pytest.mark.parametrize(
    ("sentence", "kinds"),
    [
        ("a fine film .", ["1–10 words", "no negation"]),
        ("it isn't dull .", ["1–10 words", "negation"]),
        ("dull , but short .", ["1–10 words", "no negation", "a turn"]),
        (
            "if " + "a " * 11 + "film never ends",
            ["11–20 words", "negation", "what is not so"],
        ),
    ],
)
def test_a_sentence_is_of_kinds_by_its_words(sentence, kinds):
    assert kinds_of(sentence) == kinds


def test_right_answers_are_counted_by_kind():
    text = LabelledText(
        ["not good .", "never good .", "good ."],
        [0, 0, 1],
        ("n", "y"),
        ["g"] * 3,
    )
    found = torch.tensor([[0.9, 0.1], [0.2, 0.8], [0.3, 0.7]])
    counts = by_kind(text, found)
    assert counts["negation"] == [1, 2]
    assert counts["no negation"] == [1, 1]
    assert counts["1–10 words"] == [2, 3]


def test_a_class_is_found_and_named_in_shares():
    text = LabelledText(["x"] * 4, [0, 0, 1, 1], ("a", "b", "c"), ["g"] * 4)
    found = by_class(text, [0, 1, 1, 1])
    assert found == {"found": [0.5, 1.0, 0.0], "named": [0.25, 0.75, 0.0]}


def test_mistakes_are_the_wrong_ones_surest_first():
    labels = [0, 1] * 20
    lines = [f"line {i}" for i in range(40)]
    text = LabelledText(lines, labels, ("n", "y"), lines)
    share = torch.linspace(0.51, 0.9, 40)
    found = torch.stack([share, 1 - share], dim=1)  # always the first class
    mistakes = surest_mistakes(text, found)
    assert len(mistakes) == KEPT
    assert [m["text"] for m in mistakes[:2]] == ["line 39", "line 37"]
    assert all(m["is"] == "y" for m in mistakes)


def test_a_split_by_passage_has_the_same_sizes_and_works_in_all_parts():
    def part(first: int, size: int) -> LabelledText:
        places = range(first, first + size)
        return LabelledText(
            [f"passage {i}" for i in places],
            [i % 2 for i in places],
            ("a", "b"),
            [f"work {i // 30}" for i in places],
        )

    by_work = LabelledSplits(part(0, 60), part(60, 30), part(90, 30))
    found = by_passage(by_work)
    parts = found.train, found.dev, found.test
    assert list(map(len, parts)) == [60, 30, 30]
    assert len({text for p in parts for text in p.texts}) == 120
    assert set(found.test.groups) == set(found.train.groups)


def test_looks_that_are_left_alone_change_nothing(made):
    for line in ("a film is good .", "b is dull ."):
        [row] = text_rows(made.tokenizer, [line], 64)
        left_alone = ask(made.model, row, lambda weights: weights)
        with torch.no_grad():
            wanted = made.model(torch.tensor([row])).softmax(dim=-1)
        close(left_alone, wanted)


def test_other_looks_move_the_answer_and_not_the_model(made):
    [row] = text_rows(made.tokenizer, ["a film is good ."], 64)
    before = ask(made.model, row, lambda weights: weights)
    only_first = torch.zeros(made.model.config.n_heads, len(row))
    only_first[:, 0] = 1
    changed = ask(made.model, row, lambda weights: only_first)
    assert not torch.equal(changed, before)
    assert torch.equal(ask(made.model, row, lambda weights: weights), before)


def test_dealing_looks_anew_says_how_many_answers_stay(made):
    found = dealt_anew(made, smoke_splits().test)
    assert set(found) == {"permuted", "even"}
    for said in found.values():
        assert 0 <= said["same_answer"] <= 1
        assert 0 <= said["probability_moved"] <= 1


def test_a_look_has_a_number_for_each_piece(made):
    [found] = looks(made, ["a film is good ."])
    length = len(found["pieces"])
    assert length == len(found["attention"]) == len(found["gradient"])
    assert all(len(head) == length for head in found["each_head"])
    mean = torch.tensor(found["each_head"]).mean(dim=0)
    close(mean, torch.tensor(found["attention"]), 2e-4)
    assert sum(found["attention"]) < 1  # [CLS] and [SEP] have the rest


def test_a_start_gives_sizes_and_the_preset_its_dropout(made):
    body = BertConfig(vocab_size=40, d_model=24, n_layers=3, dropout=0.05)
    start = checkpoint.Checkpoint(
        BertPreTraining(body), made.tokenizer, {}, None
    )
    preset = PRESETS["authors"]
    model = like(preset, start).model
    assert (model.d_model, model.n_layers) == (24, 3)
    assert model.dropout == preset.model.dropout
    assert model.n_classes == preset.model.n_classes
    again = dataclasses.replace(
        preset.model, **dataclasses.asdict(body) | {"dropout": model.dropout}
    )
    assert model == again


def test_who_is_ahead_in_one_of_two_works_may_be_ahead_in_none_or_all():
    right, wrong = torch.ones(2), torch.zeros(2)
    one = Probe([], {("mean", 1.0): torch.cat([right, wrong])})
    other = Probe([], {("mean", 1.0): torch.zeros(4)})
    [found] = ahead(one, other, ["a", "a", "b", "b"])
    assert found["by"] == 0.5 and found["interval"] == [0.0, 1.0]
    [nothing] = ahead(one, one, ["a", "a", "b", "b"])
    assert nothing["by"] == 0 and nothing["interval"] == [0.0, 0.0]
