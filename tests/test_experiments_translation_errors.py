"""The judged translations are annotated, credited, and chosen by a rule."""

import json

import pytest

from experiments import translation_errors
from experiments.translation_errors import EVERY, JUDGES, KINDS, VERDICTS
from transformer_course import runs


def file_of(name: str) -> dict:
    path = runs.folder("translation-errors") / f"{name}.json"
    return json.loads(path.read_text("utf-8"))


@pytest.fixture
def stored() -> dict:
    return file_of("judged")


@pytest.fixture
def again() -> dict:
    return file_of("judged-again")


def test_every_translation_is_judged_and_what_is_not_right_has_a_kind(stored):
    for sample in stored["samples"]:
        assert set(sample["outputs"]) == set(stored["systems"])
        for output in sample["outputs"].values():
            assert output["gloss"], output["text"]
            assert output["verdict"] in VERDICTS, output["text"]
            right = output["verdict"] == "right"
            assert right or output["kind"] in KINDS, output["text"]
            assert not (right and output["kind"]), output["text"]


def test_one_translation_has_one_verdict(stored):
    for sample in stored["samples"]:
        verdicts: dict[str, tuple] = {}
        for output in sample["outputs"].values():
            judged = (output["gloss"], output["verdict"], output["kind"])
            assert verdicts.setdefault(output["text"], judged) == judged


def test_they_are_chosen_by_place_from_the_development_set(stored):
    places = [sample["place"] for sample in stored["samples"]]
    assert places == list(range(0, 500, EVERY))
    assert stored["split"] == "dev"
    assert "Tatoeba" in stored["credit"]
    assert (stored["kinds"], stored["verdicts"]) == (KINDS, VERDICTS)


def test_the_second_judge_saw_each_translation_once(stored, again):
    seen = [(note["src"], note["text"]) for note in again["verdicts"]]
    assert len(set(seen)) == len(seen)
    assert set(seen) == set(translation_errors.notes_of(stored["samples"]))
    for note in again["verdicts"]:
        assert note["verdict"] in VERDICTS, note["text"]
        right = note["verdict"] == "right"
        assert right or note["kind"] in KINDS, note["text"]
        assert not (right and note["kind"]), note["text"]


def test_it_is_said_who_judged(stored, again):
    assert (stored["judge"], again["judge"]) == tuple(JUDGES.values())
    assert all("large language model" in judge for judge in JUDGES.values())
    assert again["credit"] == stored["credit"]


def test_the_second_judge_is_kept_where_the_text_is(tmp_path):
    note = {"verdict": "wrong", "kind": "word", "note": "a dog"}
    known = {"src": "a cat", "text": "犬 だ", **note}
    sheet = tmp_path / "judged-again.json"
    assert translation_errors.sheet_notes(sheet) == {}
    runs.write_json(sheet, {"verdicts": [known]})
    outputs = {n: {"text": t} for n, t in [("a", "犬 だ"), ("b", "猫 だ")]}
    outputs["c"] = outputs["a"]
    kept, new = translation_errors.judged_again(
        [{"src": "a cat", "outputs": outputs}],
        translation_errors.sheet_notes(sheet),
    )
    assert kept == known
    assert new == {"src": "a cat", "text": "猫 だ"} | dict.fromkeys(note, "")


def test_notes_stay_with_source_and_translation():
    judged = {"gloss": "a dog", "verdict": "wrong", "kind": "word"}
    output = {"text": "犬 だ", **judged}
    notes = translation_errors.notes_of(
        [{"src": "a cat", "outputs": {"a": output}}]
    )
    assert translation_errors.annotated("a cat", "犬 だ", notes) == output
    empty = {"text": "犬 だ", "gloss": "", "verdict": "", "kind": ""}
    assert translation_errors.annotated("a dog", "犬 だ", notes) == empty
