"""Laws of the rules between text as people write it and text cut up."""

import pytest

from transformer_course.data.grammar import grammar_pairs
from transformer_course.data.plain import from_plain, settled, to_plain

ENGLISH = [
    "i 'm here , and i don 't know ( yet ) .",
    "hi , said taxi driver mi .",
    "does he ? no !",
]


@pytest.mark.parametrize(
    ("cut", "written"),
    [
        ("i think so .", "I think so."),
        ("hi , i am in .", "Hi, I am in."),  # neither HI nor In
        ("so am i", "So am I"),
        ("i", "I"),
        ("", ""),
    ],
)
def test_english_is_written_with_capitals_where_they_belong(cut, written):
    assert to_plain(cut, "en") == written


def test_english_that_is_cut_up_again_is_as_it_was():
    texts = [pair.src for pair in grammar_pairs(200)]
    for text in [*texts, "i 'm here , and i don 't know ."]:
        assert from_plain(to_plain(text, "en"), "en") == text


@pytest.mark.parametrize("language", ["en", "ja"])
def test_what_is_settled_stays_as_it_is(language):
    pairs = grammar_pairs(200)
    texts = [p.src if language == "en" else p.tgt for p in pairs]
    for text in [*texts, *ENGLISH]:
        whole = to_plain(text, language)
        for end in range(len(text)):
            begun = to_plain(settled(text[:end], language), language)
            assert whole.startswith(begun)
