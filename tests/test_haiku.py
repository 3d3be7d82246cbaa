"""Haiku out of books: each rule, all lines accounted for, poets apart."""

import pytest
from corpus_here import needs

from transformer_course.data import aozora
from transformer_course.data.aozora import Chapter, Work
from transformer_course.data.aozora.haiku import (
    DEV,
    FREE_VERSE,
    NUMBERING,
    TEST,
    collect,
    keyword,
    keyword_pairs,
    nouns,
    numbered,
    sift,
    sift_line,
    without_head_word,
)
from transformer_course.data.aozora.morae import expand_repeats
from transformer_course.data.corpora import load_corpus

OTHERS = ("高浜虚子", "内藤鳴雪")
LINES = (
    "初凪や大きな浪のときに来る",
    "春草を踏み越え〳〵鳩あるく",
    "古池や蛙飛びこむ水の音",
)


def book(author: str, *lines: str, title: str = "句集") -> Work:
    """A preface, then the lines."""
    preface = Chapter("序", ("これは序の句に似て候",))
    return Work(title, author, (preface, Chapter("春", lines)))


@pytest.mark.parametrize(
    ("line", "poem"),
    [
        ("春寒　　　柑子むく妹が爪先春寒し", "柑子むく妹が爪先春寒し"),
        ("木瓜の花　木瓜の花土手に喰ひ入る", "木瓜の花土手に喰ひ入る"),
        ("蛙　　　　古池や蛙飛びこむ水の音", "古池や蛙飛びこむ水の音"),
        ("古池や　蛙飛びこむ水の音", "古池や　蛙飛びこむ水の音"),
    ],
)
def test_a_head_word_fills_five_columns(line, poem):
    assert without_head_word(line) == poem


@pytest.mark.parametrize(
    ("line", "poem"),
    [
        ("大皿に肴哉　　（明21-9-23）※１／書簡", "大皿に肴哉"),
        ("＊橋涼みかな　　（明25）（同）※218／書簡", "橋涼みかな"),
        ("船来る夜哉※795夭折（短冊）", "船来る夜哉"),
        ("※39　「ひは」は琵琶湖を指すか。", ""),
        ("山門を出て", ""),
    ],
)
def test_a_numbered_line_gives_its_haiku_alone(line, poem):
    assert numbered(line) == poem


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("一月元日　由比ヶ浜散歩。", "signs"),
        ("船の酔船で醒まさん20TH'S月", "signs"),
        ("こぼれ萩露もこぼれて〓にけり", "signs"),
        ("妙本寺法輪の大海棠　二句", "space"),
        ("明治二十九年", "length"),
        ("大正十二年六月末", "note"),
        ("向嶋水神の茶屋にて", "note"),
        ("四谷怪談画賛四句", "note"),
        ("春暁や先づ釈迦牟尼に茶湯して", ""),
        ("大正の子等が唄へる手毬唄", ""),
    ],
)
def test_a_line_is_dropped_for_a_reason(line, reason):
    assert bool(sift_line(line)) == (not reason)


def test_prefaces_are_dropped_whole():
    work = book(OTHERS[0], *LINES, "明治二十九年")
    assert list(sift(work)) == list(LINES)


def test_in_the_numbered_book_a_line_needs_a_number():
    chapters = (
        Chapter("１．序", ("古池や蛙飛びこむ水の音※1／序",)),
        Chapter("・明治21年", ("【春】", f"＊{LINES[0]}※2／書簡")),
    )
    work = Work(NUMBERING, "藤野古白", chapters)
    assert list(sift(work)) == [LINES[0]]


def test_a_haiku_that_comes_again_is_one_and_free_verse_is_none():
    again = LINES[1].replace("越え〳〵", "越え越え")
    found = collect(
        [
            book(FREE_VERSE[0], "咳をしても一人でゐる夜"),
            book(OTHERS[0], *LINES),
            book(OTHERS[1], again, LINES[0]),
        ]
    )
    assert [haiku.text for haiku in found] == list(LINES)
    assert {haiku.author for haiku in found} == {OTHERS[0]}


@pytest.mark.parametrize(
    ("poem", "found"),
    [
        ("古池や蛙飛びこむ水の音", ["古池", "蛙", "水", "音"]),
        ("猿引きの猿に抜かする白髪哉", ["猿", "白髪"]),
        ("これは彼一人のことと思ひけり", []),
    ],
)
def test_nouns_are_what_a_keyword_can_be(poem, found):
    assert nouns(poem) == found
    assert keyword(poem) in (found or [""])


BOOKS = [
    book(OTHERS[0], *LINES),
    book(DEV[0], LINES[0], "麦車馬におくれて動き出づ"),
    book(TEST[0], LINES[1], "金剛の露ひとつぶや石の上"),
]


def test_poets_are_apart_and_the_held_out_keep_what_is_shared():
    splits = keyword_pairs(BOOKS)
    assert splits.train.tgt == [LINES[2]]
    assert splits.dev.tgt == [LINES[0], "麦車馬におくれて動き出づ"]
    assert splits.test.tgt == [LINES[1], "金剛の露ひとつぶや石の上"]
    for part in (splits.train, splits.dev, splits.test):
        assert all(word and word in poem for word, poem in part)


@needs("haiku")
def test_the_haiku_of_the_books():
    works = aozora.load("haiku", progress=False)
    books = [work for work in works if work.author not in FREE_VERSE]
    found = [text for work in books for text in sift(work)]
    assert (len(found), len(collect(works))) == (4375, 4374)


@pytest.mark.exhaustive
@needs("haiku")
def test_the_splits_of_the_corpus():
    splits = load_corpus("haiku", "ja", "ja")
    parts = [splits.train, splits.dev, splits.test]
    assert all(word and word in poem for part in parts for word, poem in part)
    poems = [expand_repeats(poem) for part in parts for poem in part.tgt]
    assert len({*poems}) == len(poems)
