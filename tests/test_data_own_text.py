"""Laws of two files of one's own: what is held out, and what is refused."""

import itertools
import random

import pytest

from transformer_course.data import own_text
from transformer_course.data.config import DataConfig
from transformer_course.data.corpora import of_files, pairs_of
from transformer_course.data.grammar import grammar_pairs, parallel_text
from transformer_course.data.text import ParallelText
from transformer_course.errors import CorpusError

LANGUAGES = ("en", "ja")
TEXT = parallel_text(grammar_pairs(400, seed=9))


@pytest.fixture
def write(tmp_path, monkeypatch):
    """Puts lines into files a.en and b.ja, in a folder of their own."""
    monkeypatch.chdir(tmp_path)

    def write(src=TEXT.src, tgt=TEXT.tgt):
        for name, lines in (("a.en", src), ("b.ja", tgt)):
            text = "".join(f"{line}\n" for line in lines)
            (tmp_path / name).write_text(text, encoding="utf-8")
        return "a.en", "b.ja"

    return write


def load(files, languages=LANGUAGES, spaced=True, sha256=None):
    return own_text.load(files, sha256, languages, spaced)


def parts(splits) -> list[ParallelText]:
    return [splits.train, splits.dev, splits.test]


def sentences(text: ParallelText) -> set[str]:
    return {*text.src, *text.tgt}


def refused(*args, **options) -> str:
    with pytest.raises(CorpusError) as error:
        load(*args, **options)
    assert "\n" not in str(error.value)
    return str(error.value)


# --- what is held out -------------------------------------------------------


def test_every_pair_is_in_one_part_in_the_order_of_the_files(write, capsys):
    splits = load(write())
    assert capsys.readouterr().err == f"{splits.how}\n"
    assert [len(part) for part in parts(splits)] == [360, 20, 20]
    pairs = list(TEXT)
    places = [[pairs.index(pair) for pair in part] for part in parts(splits)]
    assert all(place == sorted(place) for place in places)
    assert sorted(itertools.chain(*places)) == list(range(len(pairs)))


def many_to_many() -> ParallelText:
    """Sentences with several translations, on both sides."""
    draw = random.Random(4)
    rows = range(600)
    src = [f"s {draw.randrange(400)}" for _ in rows]
    return ParallelText(src, [f"訳 {draw.randrange(400)}" for _ in rows])


def test_no_sentence_stands_in_two_parts():
    text = many_to_many()
    splits = own_text.split(text, "a and b")
    for one, other in itertools.combinations(parts(splits), 2):
        assert sentences(one).isdisjoint(sentences(other))
        assert sentences(one)
    assert sum(map(len, parts(splits))) == len(text)
    assert 0 < max(len(splits.dev), len(splits.test)) <= len(text) // 20


def test_both_directions_hold_out_the_same_pairs():
    """What one of them learns can be what the other begins with."""
    text = many_to_many()
    there = own_text.split(text, "a and b")
    back = own_text.split(text.swap(), "b and a")
    assert parts(back) == parts(there.swap())


def test_no_more_is_held_out_than_needed():
    src = [f"s {i}" for i in range(20_000)]
    splits = own_text.split(ParallelText(src, src[::-1]), "a and b")
    held_out = own_text.MAX_HELD_OUT
    assert len(splits.dev) == len(splits.test) == held_out
    assert f"{20_000 - 2 * held_out:,} pairs" in splits.how


# --- blank lines, white space -----------------------------------------------


def test_pairs_with_a_blank_side_are_left_out_and_counted(write, capsys):
    src, tgt = list(TEXT.src), list(TEXT.tgt)
    src[0], src[5], tgt[5], tgt[9] = "", " \u3000", "\t", ""
    splits = load(write(src, tgt))
    assert sum(map(len, parts(splits))) == len(TEXT) - 3
    for part in parts(splits):
        assert "" not in sentences(part)
    told = capsys.readouterr().err
    assert "warning: 3 pairs with a blank line" in told


def test_white_space_around_a_line_is_none_of_its_text(write):
    plain = load(write())
    src = [f" {line}\t\r" for line in TEXT.src]
    assert load(write(src, [f"\u3000{line}" for line in TEXT.tgt])) == plain


# --- how words are counted --------------------------------------------------


@pytest.mark.parametrize(
    ("languages", "spaced", "words"),
    [
        (("en", "ja"), True, "none"),
        (("en", "ja"), False, "char"),
        (("ja", "fr"), False, "13a"),
    ],
)
def test_bleu_finds_the_words_as_the_target_is_written(
    write, languages, spaced, words
):
    files = write()
    if languages[0] == "ja":
        files = files[::-1]
    splits = load(files, languages, spaced)
    assert {part.tokenize[1] for part in parts(splits)} == {words}


def test_a_text_that_seems_cut_up_is_a_warning(write, capsys):
    load(write(), spaced=False)
    told = capsys.readouterr().err
    assert "warning: a.en " in told and "warning: b.ja " in told
    assert "--data.spaced" in told
    plain = [line.removesuffix(" .") for line in TEXT.src]
    load(write(plain, map(unspaced, TEXT.tgt)), spaced=False)
    assert "warning" not in capsys.readouterr().err


def unspaced(line: str) -> str:
    return "".join(line.split())


# --- what is refused --------------------------------------------------------


def test_text_that_is_not_spaced_as_said(write):
    said = refused(write(tgt=map(unspaced, TEXT.tgt)))
    assert "b.ja" in said and "--data.spaced" in said


def test_files_in_the_wrong_order(write):
    said = refused(write()[::-1])
    assert "b.ja is to be in 'en'" in said
    assert "most of its lines have Japanese" in said and "--data.src" in said
    said = refused(write(TEXT.src, [f"{line} !" for line in TEXT.src]))
    assert "b.ja is to be in 'ja'" in said and "no Japanese" in said


def test_a_text_and_itself_are_no_pair(write):
    write()
    said = refused(("a.en", "a.en"))
    assert "a.en and a.en: source and target are the same" in said


def test_too_few_pairs(write):
    few = own_text.MIN_PAIRS - 1
    said = refused(write(TEXT.src[:few], TEXT.tgt[:few]))
    assert f"have {few} pairs" in said and f"at least {few + 1}" in said
    load(write(TEXT.src[: few + 1], TEXT.tgt[: few + 1]))


def test_pairs_that_all_hang_together(write):
    assert "share sentences" in refused(write(TEXT.src[:1] * len(TEXT)))


def test_a_text_that_has_changed_is_refused(write, tmp_path):
    files = write()
    sha256 = own_text.digests(files)
    whole = load(files, sha256=sha256)
    assert whole == load(files)
    (tmp_path / "b.ja").write_text("\n".join(TEXT.tgt), encoding="utf-8")
    said = refused(files, sha256=sha256)
    assert "b.ja is not what was learned" in said and sha256[1][:12] in said


@pytest.mark.parametrize("spaced", [False, True])
def test_two_files_are_a_corpus(write, spaced):
    files = write()
    corpus = of_files(DataConfig(files=files, spaced=spaced))
    assert (corpus.name, corpus.spaced) == ("a.en and b.ja", spaced)
    assert pairs_of(corpus, *LANGUAGES) == load(files, spaced=spaced)


def test_one_file_of_two_columns_is_read_as_two_files_are(write, tmp_path):
    two = load(write())
    rows = "".join(f"{src}\t{tgt}\n" for src, tgt in TEXT)
    (tmp_path / "a.tsv").write_text(rows, encoding="utf-8")
    one = load(("a.tsv",), sha256=own_text.digests(("a.tsv",)))
    assert [list(part) for part in parts(one)] == [
        list(part) for part in parts(two)
    ]
    said = refused(("a.tsv",), ("ja", "en"))
    assert "column 1 of a.tsv is to be in 'ja'" in said


@pytest.mark.parametrize(
    ("language", "line"),
    [
        ("ja", "5ﾊﾞﾝﾉﾈｺｶﾞｳﾀｳ｡"),
        ("ja", "々仝"),
        ("zh", "我不知道"),
        ("yue", "我唔知"),
        ("ain", "イランカラㇷ゚テ"),
        ("fr", "je ne sais pas"),
    ],
)
def test_a_language_is_known_by_its_writing(language, line, write):
    src, tgt = ([f"{x} {n}" for n in range(150)] for x in ("sentence", line))
    load(write(src, tgt), ("en", language), spaced=False)
