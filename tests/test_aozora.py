"""Aozora Bunko: every rule of its format, and the counts of the corpora."""

import random
import re

import pytest
from corpus_here import needs

from transformer_course.data import aozora
from transformer_course.data.aozora import (
    Chapter,
    Work,
    is_heading,
    parse,
    read_head,
    split_chapters,
    split_lines,
    split_sentences,
)
from transformer_course.data.aozora.markup import pieces, plain
from transformer_course.data.download import fetch, find_corpus

RULER = 55 * "-"
HEAD = ["猫", "夏目漱石", ""]
LEGEND = [
    RULER,
    "【テキスト中に現れる記号について】",
    "",
    "《》：ルビ",
    "（例）吾輩《わがはい》",
    "［＃］：入力者注",
    "（例）※［＃「目＋匡」、第3水準1-88-81］",
    RULER,
]
FOOTER = ["", "", "底本：「全集1」筑摩書房", "入力：柴田卓治", ""]


def book(*body, legend=LEGEND, footer=FOOTER):
    """The bytes of a file with this body."""
    lines = [*HEAD, *legend, *body, *footer]
    return "\r\n".join(lines).encode("cp932")


def body_of(path):
    """The raw text of a file's body."""
    lines = split_lines(path.read_bytes().decode("cp932"))
    _, start, footer = aozora.split_file(lines)
    return "\n".join(lines[start:footer])


# --- inside a line -----------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "text"),
    [
        # ruby, with and without the mark of where its word begins
        ("左足《さそく》が、仕損《しそん》じの", "左足が、仕損じの"),
        ("一｜合《ごう》と七｜分芸《ぶげい》", "一合と七分芸"),
        ("独《ひとり》坐《ざす》《さ》", "独坐"),
        # a bar that no ruby follows is the author's
        ("縦｜棒｜漢字《かんじ》", "縦｜棒漢字"),
        # notes
        ("御［＃「御」に傍点］飯《はん》", "御飯"),
        ("｜入［＃レ］道《みちにいる》", "入道"),
        ("銀水《ぎん》［＃「銀水《ぎん》」はママ］の", "銀水の"),
        ("表題は［＃底本では「［＃割り注］自選」］", "表題は"),
        ("［中学時代］※印", "［中学時代］※印"),
        # gaiji: in ruby's word, and a bracket that is one is no ruby
        ("｜大気※［＃「陷」、第3水準1-87-64］《だいきえん》", "大気燄"),
        ("※［＃始め二重山括弧、1-1-52］花", "《花"),
        # nothing else is touched
        ("  We look before　and after; ", "  We look before　and after; "),
        # accents
        ("C'est la mer 〔me^le'e〕 au soleil", "C'est la mer mêlée au soleil"),
        ("〔Keine Bru:cke fu:hrt〕", "Keine Brücke führt"),
        ("〔Quid amicitiae& inimica〕", "Quid amicitiæ inimica"),
        ("〔gro/s Stras&e go?〕", "grøs Straße go?"),
        ("〔garc,on〕と〔n~andu'〕", "garçonとñandú"),
        ("〔?@que'?〕", "¿qué?"),
        ("〔don't〕", "dońt"),  # inside, ' is always an accent
        # no accent in it: the author's brackets
        ("鳴雪〔作〕〔", "鳴雪〔作〕〔"),
        # a note inside accents, and commas after ruby that are no cedillas
        ("〔mer me^le'e［＃「mer」はママ］〕", "mer mêlée"),
        ("〔The^atron《テ》, s〕", "Thêatron, s"),
        ("いよ／＼、しみ／″＼", "いよ〳〵、しみ〴〵"),
    ],
)
def test_markup(line, text):
    assert plain(line) == text


@pytest.mark.parametrize(
    ("note", "character"),
    [
        ("「王＋膠のつくり」、第3水準1-88-22", "璆"),
        ("「てへん＋毟」、第4水準2-78-12、153-13", "毮"),
        ("感嘆符疑問符、1-8-78", "⁉"),
        ("「木＋于」、U+6745、10-7", "杅"),
        ("「口＋迷」、U+20E97、174-17", "\U00020e97"),
        # a page and a line are no code
        ("「にんべん＋孱」、51-3", "〓"),
        ("感嘆符三つ、320-13", "〓"),
        # nor are these
        ("「何か」、第4水準2-2-1", "〓"),
        ("「何か」、1-99-99", "〓"),
    ],
)
def test_gaiji(note, character):
    assert plain(f"前※［＃{note}］後") == f"前{character}後"


# --- every character is accounted for ----------------------------------------

SCRAPS = [
    *"猫山。？「」『』（）　※［］｜、a'",
    "《ルビ》",
    "｜漢《かん》",
    "［＃傍点］",
    "［＃「［＃割り注］」は底本では］",
    "※［＃「目＋匡」、第3水準1-88-81］",
    "※［＃「甘＋舌」、72-14］",
]


def scrap_lines():
    """Lines put together at random from text and markup."""
    chance = random.Random(0)
    for _ in range(2000):
        yield "".join(chance.choices(SCRAPS, k=chance.randint(0, 12)))


def test_pieces_are_the_line_again():
    for line in scrap_lines():
        assert "".join(piece for _, piece in pieces(line)) == line


def test_sentences_lose_nothing_but_space_at_their_ends():
    for line in scrap_lines():
        joined = "".join(split_sentences(line))
        assert re.sub(r"\s", "", joined) == re.sub(r"\s", "", line)
        assert all(s and s == s.strip() for s in split_sentences(line))


# --- sentences ---------------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "sentences"),
    [
        ("　　", []),
        ("　吾輩は猫。名前は無い。", ["吾輩は猫。", "名前は無い。"]),
        # a speech is one with what reports it
        (
            "「行こう。早く。」と云う。次。",
            ["「行こう。早く。」と云う。", "次。"],
        ),
        ("「『ああ。』と彼が。」と私。", ["「『ああ。』と彼が。」と私。"]),
        ("猫（名はない。）である。", ["猫（名はない。）である。"]),
        # no 。 is invented, after a quotation or at the end of a line
        ("「そうか」", ["「そうか」"]),
        ("来るか？来ない", ["来るか？", "来ない"]),
        # a bracket may be closed on another line, or never opened
        ("「始めの段。続く。", ["「始めの段。続く。"]),
        ("終り」と云う。次「人。」。", ["終り」と云う。", "次「人。」。"]),
        # ？ and ！ in a row are one end, 。 is always one
        ("何だ？！走れ！！", ["何だ？！", "走れ！！"]),
        ("自白？。彼女は", ["自白？", "。", "彼女は"]),
        # other signs end nothing
        ("え…… それは、ね．そうか?", ["え…… それは、ね．そうか?"]),
    ],
)
def test_sentences(line, sentences):
    assert split_sentences(line) == sentences


# --- chapters ----------------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "before", "after", "heading"),
    [
        ("一［＃「一」は大見出し］", "本文。", "本文。", True),
        ("［＃中見出し］一［＃中見出し終わり］", "", "", True),
        ("　今日の見出しを読む。", "本文。", "", False),
        # not marked, but set apart
        ("　　　　　友達", "", "　", True),
        ("　　　　一", "本文。", "", False),
        ("　　　　一", "", "本文。", False),
        ("　　一", "", "", False),
        ("　　　　", "", "", False),
    ],
)
def test_headings(line, before, after, heading):
    assert is_heading(line, before, after) is heading


def test_chapters():
    chapters = split_chapters(
        [
            "",
            "　前書《まえがき》。",
            "",
            "［＃２字下げ］上　先生と私［＃「上　先生と私」は大見出し］",
            "",
            "［＃５字下げ］一［＃「一」は中見出し］",
            "　最初の段。二文目。",
            "",
            "「会話」",
            "",
            "　　　　　二",
            "［＃改ページ］",
            "　最後の段。",
        ]
    )
    assert chapters == (
        Chapter("", ("前書。",)),
        Chapter("上　先生と私", ()),
        Chapter("一", ("最初の段。二文目。", "「会話」")),
        Chapter("二", ("最後の段。",)),
    )
    assert chapters[2].sentences == ["最初の段。", "二文目。", "「会話」"]


# --- files -------------------------------------------------------------------


def test_a_file():
    work = parse(
        book("", "　　　　　一", "", "　吾輩《わがはい》は猫。無い。")
    )
    assert work == Work(
        "猫",
        "夏目漱石",
        (Chapter("一", ("吾輩は猫。無い。",)),),
        "底本：「全集1」筑摩書房\n入力：柴田卓治",
    )


def test_a_file_without_a_legend_or_with_other_ends_of_lines():
    work = parse(book("　本文。", legend=[]))
    assert work.chapters == (Chapter("", ("本文。",)),)
    content = book("一。", RULER, "二。")
    for ends in (content, content.replace(b"\r\n", b"\n")):
        assert parse(ends).sentences == ["一。", RULER, "二。"]


@pytest.mark.parametrize(
    ("lines", "title", "author"),
    [
        (["南島譚", "夫婦", "中島敦"], "南島譚　夫婦", "中島敦"),
        (["句集", "藤野古白", "藤井英男編"], "句集", "藤野古白"),
        (["※［＃「奚」、第3水準1-93-66］《けい》", "敦"], "雞", "敦"),
        ([], "", ""),
    ],
)
def test_head(lines, title, author):
    assert read_head(lines) == (title, author)


# --- the corpora -------------------------------------------------------------


@pytest.fixture(scope="module")
def works():
    return aozora.soseki(progress=False)


def nothing_is_lost(work, body):
    """Each character of the body is in the work, or in a piece of markup."""
    assert "".join(piece for _, piece in pieces(body)) == body
    lines = [x for c in work.chapters for x in (c.title, *c.lines)]
    kept = "".join("".join(line.split()) for line in lines)
    assert kept == "".join(plain(body).split())
    assert not re.search("［＃|｜[^｜]*《", kept)


@needs("soseki")
def test_twenty_works_of_soseki(works):
    assert {work.author for work in works} == {"夏目漱石"}
    notes = [file.note for file in find_corpus("soseki").files]
    assert [w.title for w in works] == [n.split(" / ")[0] for n in notes]
    assert works[0].chapters[0].lines[0].startswith("吾輩は猫である。名前は")
    assert works[0].source.startswith("底本：「夏目漱石全集1」ちくま文庫")


@needs("soseki")
def test_nothing_of_soseki_is_lost(works):
    paths = fetch("soseki", progress=False).values()
    for work, path in zip(works, paths, strict=True):
        nothing_is_lost(work, body_of(path))


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    ("corpus", "gaijis"),
    [
        pytest.param("authors", 267, marks=needs("authors")),
        pytest.param("haiku", 29, marks=needs("haiku")),
    ],
)
def test_the_other_corpora_are_read_without_loss(corpus, gaijis):
    works = aozora.load(corpus, progress=False)
    files = find_corpus(corpus).files
    paths = fetch(corpus, progress=False)
    found = 0
    for work, file in zip(works, files, strict=True):
        body = body_of(paths[file.file])
        nothing_is_lost(work, body)
        found += sum(kind == "gaiji" for kind, _ in pieces(body))
        assert work.title
        assert work.author == (file.label or work.author) != ""
    assert found == gaijis
