"""Laws of the beat: what a kana counts, what repeats, when a line fits."""

from itertools import product

import pytest

from transformer_course.data.aozora.morae import (
    count_morae,
    expand_repeats,
    form,
    lengths,
    readings,
    to_katakana,
)


@pytest.mark.parametrize(
    ("kana", "morae"),
    [
        ("がっこう", 4),
        ("きょう", 2),
        ("ラーメン", 4),
        ("シャツ", 2),
    ],
)
def test_small_kana_are_part_of_the_one_before_and_all_else_counts(
    kana, morae
):
    assert count_morae(kana) == morae
    assert count_morae(to_katakana(kana)) == morae


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("たゞなゞ", "ただなな"),
        ("こゝろ", "こころ"),
        ("ホトヽギス", "ホトトギス"),
        ("いよ〳〵", "いよいよ"),
        ("とき〴〵", "ときどき"),
        ("踏み越え〳〵", "踏み越え越え"),
        ("人々", "人々"),
    ],
)
def test_signs_of_repetition_are_written_out(written, meant):
    assert expand_repeats(written) == meant
    assert expand_repeats(meant) == meant


def test_kana_are_read_as_they_stand_and_kanji_in_several_ways():
    assert readings("けふ") == {"ケフ"}
    assert {"ヨ", "ヨル"} <= readings("夜")
    assert lengths("夜") == {1, 2}


def test_an_unknown_word_is_as_long_as_its_characters_together():
    assert not readings("冬牡丹椿")
    characters = product(*map(lengths, "冬牡丹椿"))
    assert lengths("冬牡丹椿") == set(map(sum, characters))


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("ふるいけやかわずとびこむみずのおと", "5-7-5"),
        ("古池や蛙飛びこむ水の音", "5-7-5"),
        ("蛙飛びこむ水の音", "other"),
        # a word of kanji must not lie across a break
        ("図書館の古い中には猫が居る", "5-7-5"),
        ("古い図書館の中には猫が居る", "other"),
        # signs count for nothing, but one without a reading
        ("古池や、蛙飛びこむ　水の音。", "5-7-5"),
        ("古池や〓飛びこむ水の音", "unknown"),
    ],
)
def test_five_seven_five(line, found):
    assert form(line) == found
