"""The judged translations are annotated, credited, and chosen by a rule."""

import json

import pytest

from experiments import translation_errors
from experiments.translation_errors import EVERY, KINDS, VERDICTS
from transformer_course import runs


@pytest.fixture
def stored() -> dict:
    path = runs.folder("translation-errors") / "judged.json"
    return json.loads(path.read_text("utf-8"))


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


def test_notes_stay_with_source_and_translation():
    judged = {"gloss": "a dog", "verdict": "wrong", "kind": "word"}
    output = {"text": "犬 だ", **judged}
    notes = translation_errors.notes_of(
        [{"src": "a cat", "outputs": {"a": output}}]
    )
    assert translation_errors.annotated("a cat", "犬 だ", notes) == output
    empty = {"text": "犬 だ", "gloss": "", "verdict": "", "kind": ""}
    assert translation_errors.annotated("a dog", "犬 だ", notes) == empty
