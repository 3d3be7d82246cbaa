"""What is measured of next sentences: other sources, quotations."""

from experiments import text_runs
from transformer_course.data.text import ParallelText


def test_another_pairs_source_stands_before_every_target():
    text = ParallelText(
        [f"s{i}" for i in range(9)], [f"t{i}" for i in "abcdefghi"]
    )
    other = text_runs.other_sources(text)
    assert other.tgt == text.tgt
    assert sorted(other.src) == text.src
    pairs = zip(other.src, text.src, strict=True)
    assert all(one != own for one, own in pairs)
    assert other == text_runs.other_sources(text)


def test_answers_are_counted_and_quotations_found():
    known = {"ええ", "彼は黙って下を向いた。"}
    answers = ["ええ", "ええ", "彼は黙って下を向いた。", "別の事を云った。"]
    found = text_runs.about_answers(answers, known)
    assert (found["answers"], found["different"]) == (4, 3)
    assert found["most_common"][0] == ("ええ", 2)
    assert (found["copied"], found["copied_over_10_characters"]) == (3, 1)
    assert found["longest_copies"] == ["ええ", "彼は黙って下を向いた。"]
    assert found["mean_characters"] == 5.75
