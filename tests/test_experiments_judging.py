"""The sentences to judge are annotated, and say what they come from."""

import json

import pytest

from experiments import judging
from transformer_course import runs

VERDICTS = {"right", "partly", "wrong"}


@pytest.fixture
def stored() -> dict:
    path = runs.folder("judging") / "samples.json"
    return json.loads(path.read_text("utf-8"))


def test_every_translation_has_a_gloss_and_a_verdict(stored):
    for sample in stored["samples"]:
        assert sample["ref"]["gloss"]
        assert set(sample["outputs"]) == set(stored["systems"])
        for output in sample["outputs"].values():
            assert output["gloss"], output["text"]
            assert output["verdict"] in VERDICTS, output["text"]


def test_they_are_few_and_credited_and_not_from_the_test_set(stored):
    assert len(stored["samples"]) <= 12
    assert "Tatoeba" in stored["credit"]
    assert stored["split"] == "dev"


def test_notes_stay_with_the_japanese_they_are_about():
    old = [
        {
            "ref": {"text": "猫 だ", "gloss": "a cat"},
            "outputs": {
                "a": {"text": "犬 だ", "gloss": "a dog", "verdict": "wrong"}
            },
        }
    ]
    notes = judging.notes_of(old)
    kept = judging.annotated("犬 だ", notes)
    assert kept == {"text": "犬 だ", "gloss": "a dog", "verdict": "wrong"}
    fresh = judging.annotated("鳥 だ", notes)
    assert fresh == {"text": "鳥 だ", "gloss": "", "verdict": ""}
    reference = judging.annotated("猫 だ", notes, verdict=False)
    assert reference == {"text": "猫 だ", "gloss": "a cat"}
