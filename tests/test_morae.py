"""Laws of the beat: what a kana counts, what repeats, when a line fits."""

import pytest

from transformer_course.data.aozora.morae import (
    count_morae,
    expand_repeats,
    form,
    lengths,
    readings,
    to_katakana,
    voice,
)

POEM = ("ふるいけや", "かわずとびこむ", "みずのおと")


@pytest.mark.parametrize(
    ("kana", "morae"),
    [
        ("ほん", 2),
        ("がっこう", 4),
        ("きょう", 2),
        ("ラーメン", 4),
        ("シャツ", 2),
        ("けふ", 2),
        ("", 0),
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
        ("たゞ", "ただ"),
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


def test_what_has_no_voice_stays():
    assert [voice(kana) for kana in "かはな"] == ["が", "ば", "な"]


def test_kana_are_read_as_they_stand_and_kanji_in_several_ways():
    assert readings("けふ") == {"ケフ"}
    assert {"ヨ", "ヨル"} <= readings("夜")
    assert lengths("夜") == {1, 2}


def test_an_unknown_word_is_as_long_as_its_characters_together():
    assert not readings("冬牡丹椿")
    expected = {
        a + b + c
        for a in lengths("冬")
        for b in lengths("牡丹")
        for c in lengths("椿")
    }
    assert expected <= lengths("冬牡丹椿")


def test_five_seven_five_is_so_in_kana_and_in_kanji():
    assert form("".join(POEM)) == "5-7-5"
    assert form("古池や蛙飛びこむ水の音") == "5-7-5"


@pytest.mark.parametrize("lost", range(3))
def test_a_line_that_has_lost_a_part_is_none(lost):
    parts = [part for i, part in enumerate(POEM) if i != lost]
    assert form("".join(parts)) == "other"


def test_a_word_of_kanji_must_not_lie_across_a_break():
    assert form("図書館の古い中には猫が居る") == "5-7-5"
    assert form("古い図書館の中には猫が居る") == "other"


def test_signs_count_for_nothing():
    assert form("古池や、蛙飛びこむ　水の音。") == "5-7-5"


def test_nobody_can_tell_where_a_sign_has_no_reading():
    assert form("古池や〓飛びこむ水の音") == "unknown"
