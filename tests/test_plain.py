"""Laws of the rules between text as people write it and text cut up."""

import pytest

from transformer_course.data.grammar import grammar_pairs
from transformer_course.data.plain import from_plain, settled, to_plain

ENGLISH = [
    "i 'm here , and i don 't know ( yet ) .",
    "hi , said taxi driver mi .",
    "does he ? no !",
    "'' it 's ten o 'clock , '' he said . '' is it ? ''",
    "' stop , ' he said , ' let 's wait for the teachers ' cars . '",
    "mr. and mrs. smith give 'em rock 'n' roll .",
    "she said '' hello '' to mr. brown of the u.s. at 10:30 ...",
]


@pytest.mark.parametrize(
    ("cut", "written"),
    [
        ("i think so .", "I think so."),
        ("hi , i am in .", "Hi, I am in."),  # neither HI nor In
        ("so am i", "So am I"),
        ("is it ? i think so .", "Is it? I think so."),
        ("i", "I"),
        ("", ""),
    ],
)
def test_english_is_written_with_capitals_where_they_belong(cut, written):
    assert to_plain(cut, "en") == written


def test_english_that_is_cut_up_again_is_as_it_was():
    texts = [pair.src for pair in grammar_pairs(200)]
    for text in [*texts, *ENGLISH]:
        assert from_plain(to_plain(text, "en"), "en") == text


@pytest.mark.parametrize(
    "text",
    [
        '"Hello," she said.',
        "He said, \"It's nine o'clock.\"",
        'She wrote "the end".',
        "He said to me, 'Let's go.'",
        '("Yes," he said.)',
        "I (really) mean it (yes).",
        "The teachers' cars cost $5.50, or 50%!",
        "At 10:30 p.m. he wrote to tom@example.com.",
        "Is it? (I don't know.)",
        "Wait... what?!",
        "Mr. and Mrs. Smith met Dr. Brown. Then Ms. White came.",
        "I like rock 'n' roll.",
        "'Tis the '90s: give 'em drum'n'bass, or the teachers' cars.",
        '"Stop',
        "",
    ],
)
def test_english_that_is_joined_again_is_as_it_was(text):
    assert to_plain(from_plain(text, "en"), "en") == text


def test_curly_marks_are_cut_as_straight_ones():
    assert from_plain("“Don’t!”", "en") == "'' don 't ! ''"


@pytest.mark.parametrize(
    "text",
    [
        "トム は昨日から学校を休んでいる。",
        "　トムは　昨日から学校を 休んでいる。 ",
        "トムは きのうから がっこうを やすんでいる。",
        "彼は\t学生です。",
    ],
)
def test_a_stray_space_does_not_stand_for_all_others(text):
    whole = "".join(text.split())
    assert from_plain(text, "ja") == from_plain(whole, "ja") != whole
    assert to_plain(from_plain(text, "ja"), "ja") == whole


@pytest.mark.parametrize(
    "text",
    ["プレゼント を ありがとう 。", "何 は ともあれ ありがとう 。", "はい 。"],
)
def test_japanese_in_words_is_left_as_it_is(text):
    assert from_plain(f" {text.replace(' ', '　')}", "ja") == text


@pytest.mark.parametrize("language", ["en", "ja"])
def test_what_is_settled_stays_as_it_is(language):
    pairs = grammar_pairs(200)
    texts = [p.src if language == "en" else p.tgt for p in pairs]
    for text in [*texts, *ENGLISH]:
        whole = to_plain(text, language)
        for end in range(len(text)):
            begun = to_plain(settled(text[:end], language), language)
            assert whole.startswith(begun)


def test_kana_of_half_width_are_read_as_others_are():
    assert from_plain("ﾄﾑは休んでいる｡", "ja") == from_plain(
        "トムは休んでいる。", "ja"
    )
