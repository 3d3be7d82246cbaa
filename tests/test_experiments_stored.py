"""Stored runs have a maker and a reader, and what they say adds up."""

import json
import re

import numpy as np
import pytest

from experiments import recall, store
from experiments.__main__ import find_all
from experiments.index import makers, text_of
from experiments.since_2017 import RATED
from experiments.table_3 import PAPER, VARIANTS
from experiments.translation_errors import JUDGES, KINDS, VERDICTS

ROWS = store.read_json(PAPER)["rows"]
THERE = sorted(p.name for p in store.folder("").iterdir() if p.is_dir())


def read(run: str, name: str) -> dict:
    """A JSON file of a stored run."""
    return json.loads((store.folder(run) / f"{name}.json").read_text("utf-8"))


def arrays(run: str, name: str) -> dict[str, np.ndarray]:
    """A NumPy file of a stored run."""
    with np.load(store.folder(run) / f"{name}.npz") as found:
        return dict(found)


# --- the index ---------------------------------------------------------------


def test_all_that_is_made_is_stored_and_the_reverse():
    assert sorted(makers(find_all().values())) == THERE
    added = {run for one in find_all().values() for run in one.adds_to}
    assert added <= set(THERE)


def test_the_index_names_one_maker_and_a_reader_of_each_stored_run():
    text = store.folder("README.md").read_text("utf-8")
    assert text == text_of(find_all().values()), (
        "python -m experiments --index writes it anew"
    )
    rows = [line.split(" | ") for line in text.splitlines() if "| `" in line]
    assert [row[0] for row in rows] == [f"| `{run}`" for run in THERE]
    book = store.folder("").parents[1] / "book/en"
    for run, page, _, readers in rows:
        assert list(book.glob(f"{page}.*")), run
        assert readers.rstrip(" |"), run


# --- sums of what is stored of single texts ----------------------------------


@pytest.mark.parametrize("unit", ["pieces", "characters"])
def test_ngrams_of_single_texts_add_up_to_their_mean(unit):
    nats = arrays("soseki-ngrams", "texts")
    for row in read("soseki-ngrams", "ngrams")[unit]:
        for part in ("dev", "test"):
            kept = nats[f"{part}-{unit}-{row['order']}"]
            mean = kept.sum() / row[part]["tokens"]
            assert mean == pytest.approx(row[part]["nll"], abs=2e-4)


@pytest.mark.parametrize("name", ["soseki-cpu", "soseki-lm"])
def test_surprise_of_single_texts_adds_up_to_what_the_run_says(name):
    found = arrays(name, "surprise")
    results = store.read(name).results
    for part in ("dev", "test"):
        for unit, key in (
            ("tokens", "nll"),
            ("characters", "nll_per_character"),
        ):
            assert found[f"{part}-{unit}"].sum() == results[part][unit]
            mean = found[f"{part}-nll"].sum() / results[part][unit]
            assert mean == pytest.approx(results[part][key], abs=2e-4)


# --- what settings were chosen by --------------------------------------------


@pytest.mark.parametrize("name", RATED)
def test_rates_are_the_best_of_those_tried(name):
    tried = {
        record["rate"]: record["dev"]
        for variant, (record,) in store.records("since-2017", "rates").items()
        if re.fullmatch(rf"{name}-[\d.]+", variant)
    }
    decoder, rates = RATED[name]
    assert tried.keys() == set(rates)
    assert tried[decoder.rate] < min(tried.values()) + 0.001  # or a tie
    assert min(tried) < decoder.rate < max(tried)


@pytest.mark.parametrize("name", recall.WAYS)
def test_the_rate_of_a_recall_has_a_worse_one_on_either_side(name):
    stored = store.records("recall")
    tried = {
        rate: stored[f"rates/{name}-{rate:g}"][0]["right"]
        for rate in recall.WAYS[name].rates
    }
    (rate,) = {one["rate"] for one in stored[f"ways/{name}"]}
    assert tried[rate] == max(tried.values())
    assert min(tried) < rate < max(tried)


def test_the_paper_s_rows_name_variants_that_are_there():
    named = [row["ours"] for row in ROWS if row["ours"]]
    assert len(named) == len(set(named))
    assert set(named) <= set(VARIANTS)


# --- what people and models judged -------------------------------------------


def test_words_and_translations_of_the_figures_have_their_notes():
    for one in read("enja-attention", "words")["sentences"]:
        assert all(one["gloss"]) and len(one["gloss"]) == len(one["gold"])
    for sample in read("judging", "samples")["samples"]:
        for output in (sample["ref"], *sample["outputs"].values()):
            assert output["gloss"], output["text"]
            assert output.get("verdict", "right") in VERDICTS, output["text"]


def assert_judged(note: dict) -> None:
    """There is a verdict, and a kind if and only if something is wrong."""
    assert note["verdict"] in VERDICTS, note["text"]
    right = note["verdict"] == "right"
    assert (note["kind"] == "") if right else (note["kind"] in KINDS), note


def test_every_translation_has_one_verdict_whoever_wrote_it():
    stored = read("translation-errors", "judged")
    for sample in stored["samples"]:
        assert set(sample["outputs"]) == set(stored["systems"])
        verdicts: dict[str, tuple] = {}
        for output in sample["outputs"].values():
            assert_judged(output)
            judged = (output["gloss"], output["verdict"], output["kind"])
            assert output["gloss"], output["text"]
            assert verdicts.setdefault(output["text"], judged) == judged


def test_the_second_judge_saw_each_translation_once_and_is_named():
    stored = read("translation-errors", "judged")
    again = read("translation-errors", "judged-again")
    seen = [(note["src"], note["text"]) for note in again["verdicts"]]
    assert len(set(seen)) == len(seen)
    assert set(seen) == {
        (sample["src"], output["text"])
        for sample in stored["samples"]
        for output in sample["outputs"].values()
    }
    for note in again["verdicts"]:
        assert_judged(note)
    assert (stored["judge"], again["judge"]) == tuple(JUDGES.values())
