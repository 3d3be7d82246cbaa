"""Words that agree, pronouns that are exchanged, and a second aligner."""

import importlib.util

import pytest
import torch
from tiny import tiny_transformer

from experiments import agreeing, enja_agreement, enja_aligners, enja_pronouns
from transformer_course.data.grammar import grammar_splits
from transformer_course.data.text import ParallelText
from transformer_course.errors import CourseError
from transformer_course.tokenizer import Tokenizer


@pytest.mark.parametrize(
    ("sentence", "found"),
    [
        ("she is kind .", [("is", "she")]),
        ("the old man was tired .", [("was", "man")]),
        ("the life of a person is short .", [("is", "life")]),
        ("there are many theaters in this city .", [("are", "theaters")]),
        ("where is the information counter ?", [("is", "counter")]),
        ("how tall are you ?", [("are", "you")]),
        ("are those your books ?", []),  # a noun for "those", but which?
        ("there are a lot of people in the room .", []),
        ("washing clothes is my work .", []),
    ],
)
def test_subjects_are_found_or_left_out(sentence, found):
    words = sentence.split()
    pairs = agreeing.subjects(words)
    assert [(words[a], words[b]) for a, b in pairs] == found


@pytest.mark.parametrize(
    ("sentence", "found"),
    [
        ("these old books are mine .", [("these", "books")]),
        ("i like that book .", []),  # "that" may be a conjunction here
        ("i went to that school .", [("that", "school")]),
        ("this is a book .", []),
    ],
)
def test_demonstratives_are_found_with_their_noun(sentence, found):
    words = sentence.split()
    pairs = agreeing.demonstrated(words)
    assert [(words[a], words[b]) for a, b in pairs] == found


def test_a_relation_can_be_asked_from_either_side():
    words = "there is a park .".split()
    for name, back in (("verb to subject", "subject to verb"),):
        there = agreeing.KINDS[name](words)
        assert agreeing.KINDS[back](words) == [(b, a) for a, b in there]


def test_the_offset_is_chosen_where_heads_are_chosen():
    def look(offset, hits):
        return enja_agreement.Look(offset, torch.tensor([hits]), 0.2)

    before, behind = look(-1, [True, False]), look(2, [False, True])
    found = enja_agreement.judged(
        [before, before, behind], [before, behind, behind]
    )
    assert found["offset"] == -1
    assert found["held_out"]["by_offset"] == pytest.approx(1 / 3, abs=1e-3)
    assert "elsewhere" not in enja_agreement.judged([before], [before])


def test_where_the_offset_fails_another_one_is_the_rule_to_beat():
    def look(offset, hits):
        return enja_agreement.Look(offset, torch.tensor([hits]), 0.2)

    before, behind = look(-1, [True, False]), look(2, [False, True])
    far = look(5, [True, True])
    found = enja_agreement.judged(
        [before] * 4 + [behind] * 2 + [far], [before, behind, far]
    )["elsewhere"]
    assert found["offset"] == 2
    assert found["chosen_on"]["found"] == 3
    assert found["held_out"]["found"] == 2
    assert found["held_out"]["by_offset"] == 0.5
    assert found["held_out"]["heads"] == [[0.5, 1]]


def test_he_and_she_are_exchanged_by_their_case():
    def other(sentence):
        return " ".join(enja_pronouns.exchanged(sentence.split()))

    assert other("he saw himself .") == "she saw herself ."
    assert other("i like her .") == "i like him ."
    assert other("she likes her book .") == "he likes his book ."
    assert other(other("he likes his book .")) == "he likes his book ."


def test_sentences_about_one_person_are_kept():
    kept = enja_pronouns.cases(
        [
            ("she likes her book .", "彼女 は 彼女 の 本 が 好き 。"),
            ("she likes him .", "彼女 は 彼 が 好き 。"),
            ("he likes them .", "彼 は 彼 ら が 好き 。"),
            ("he said no .", "彼女 は 断 っ た 。"),
        ]
    )
    assert [case.places for case in kept] == [(0, 2), (0,)]
    texts = enja_pronouns.choices(kept[0], 2, reverse=True)
    assert texts == ["彼 は 彼女 の", "彼 は 彼 の"]
    counted = enja_pronouns.counted(kept)
    assert counted["彼女"]["twice"] == 1 and counted["彼"]["sentences"] == 1


def test_a_likely_text_is_likely_token_by_token():
    tokenizer = Tokenizer.train(["a b c d e f g h"] * 9, 12, "word")
    model = tiny_transformer(vocab_size=tokenizer.vocab_size)
    pairs = [("a b", "a b c"), ("a", "a b"), ("c d", "c")]
    together = enja_pronouns.log_ps(model.eval(), tokenizer, pairs)
    alone = [enja_pronouns.log_ps(model, tokenizer, [p])[0] for p in pairs]
    assert together == pytest.approx(alone, abs=1e-4)
    assert max(together) < 0
    assert (
        together[1]
        > enja_pronouns.log_ps(model, tokenizer, [("a", "a b c")])[0]
    )


def test_links_are_read_as_aligners_write_them(tmp_path):
    file = tmp_path / "links"
    file.write_text("0-0 2-1\n\n1-0\n")
    assert enja_aligners.links_of(file) == [{(0, 0), (2, 1)}, set(), {(1, 0)}]


def test_the_last_words_of_both_sides_do_not_count():
    text = ParallelText(["a b .", "a"], ["x y z 。", "x"])
    found = [{(0, 0), (2, 3)}, {(0, 0)}]
    assert enja_aligners.without_stops(found, text) == [{(0, 0)}, set()]


def test_gold_links_are_those_that_an_ideal_aligner_finds():
    train, _, test = grammar_splits(5, 0, 5)

    def ideal(pairs):
        return [set(pair.alignment) for pair in [*train, *test]]

    found = enja_aligners.against_gold(ideal, train, test)
    assert found["right"] == 1
    assert found["missed"] == found["error_rate"] == 0
    none = enja_aligners.against_gold(lambda p: [set()] * 10, train, test)
    assert none["missed"] == none["error_rate"] == 1


def test_what_is_optional_is_asked_for(monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(CourseError, match="requirements-eflomal.txt"):
        enja_aligners.eflomal_both_ways([(["a"], ["b"])])


@pytest.mark.skipif(
    importlib.util.find_spec("eflomal") is None,
    reason="eflomal is not installed: requirements-eflomal.txt",
)
def test_eflomal_finds_words_that_always_go_together():
    pairs = [(["a", "b"], ["x", "y"]), (["b", "c"], ["y", "z"])] * 50
    found = enja_aligners.eflomal_both_ways(pairs)
    assert found[0] == {(0, 0), (1, 1)}
