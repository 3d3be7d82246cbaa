"""WordPiece: words as BERT sees them, and their pieces."""

import sys
import unicodedata

import pytest

from transformer_course.data import corpora
from transformer_course.data.wordpiece import SPECIAL, WordPiece, words_of
from transformer_course.errors import CorpusError, TokenizerError

WORDS = "un play ##aff ##able ##ing ##s # b ##b cafe a ##a"
PIECES = WordPiece([*SPECIAL, *WORDS.split()])

CORPORA = {
    "grammar": ("grammar",),
    "small_parallel_enja": ("small_parallel_enja",),
    "soseki": ("soseki", "ja", "ja"),
}
"""English, and Japanese with spaces and without."""

# --- words -------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Café, naïve!", "cafe , naive !"),
        ("don't", "don ' t"),
        ("US$5^2", "us $ 5 ^ 2"),
        ("猫はミルクを飲む。", "猫 はミルクを 飲 む 。"),
        ("が パ", "か ハ"),  # the marks of voicing are accents, in Unicode
        ("a\u00a0b\tc\n", "a b c"),
        ("a\u200bb\x00c\ufffdd", "abcd"),
        ("ΣΑΣ", "σασ"),  # letter by letter: no final ς
        ("«well»", "« well »"),
    ],
)
def test_words(text, words):
    assert words_of(text) == words.split()


def test_with_capitals_nothing_is_lowered_or_stripped():
    assert words_of("Café が", lower_case=False) == ["Café", "が"]


# --- pieces ------------------------------------------------------------------


@pytest.mark.parametrize(
    ("word", "pieces"),
    [
        ("unaffable", "un ##aff ##able"),
        ("unknown", "[UNK]"),  # as a whole, though "un" is a piece
        ("affable", "[UNK]"),  # a word does not begin with ##
        ("b" * 100, "b" + " ##b" * 99),
        ("b" * 101, "[UNK]"),
    ],
)
def test_the_longest_piece_that_fits(word, pieces):
    assert PIECES.cut(word) == pieces.split()


def test_no_text_becomes_a_special_piece():
    assert set(PIECES.pieces("[SEP] [PAD] [CLS]")) == {"[UNK]"}


def test_a_hidden_word_is():
    ids = PIECES.encode("play[MASK] un")
    assert ids.count(PIECES.mask_id) == 1
    assert PIECES.decode(ids) == "play un"


def test_what_cannot_be_spelt_is_named():
    assert PIECES.unknown("playing Zzz un zzz") == ["zzz"]


# --- vocab.txt ---------------------------------------------------------------


def test_lines_may_end_as_windows_ends_them(tmp_path):
    lines = [*SPECIAL, "a", "b"]
    (tmp_path / "vocab.txt").write_bytes("\r\n".join(lines).encode())
    read = WordPiece.load(tmp_path)
    assert [read.piece(i) for i in range(read.vocab_size)] == lines


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"\xff\xfe", "cannot be read as a vocabulary.*UTF-8"),
        (b"cats\ndogs\n", "these 2 pieces have no \\[PAD\\]"),
    ],
)
def test_a_file_that_is_no_vocabulary(tmp_path, content, said):
    path = tmp_path / "vocab.txt"
    path.write_bytes(content)
    with pytest.raises(TokenizerError, match=f"vocab.txt.*{said}"):
        WordPiece.load(tmp_path)


@pytest.mark.parametrize("lower_case", [True, False])
def test_save_and_load_are_inverse(tmp_path, lower_case):
    WordPiece([*SPECIAL, "a", "##é"], lower_case).save(tmp_path)
    read = WordPiece.load(tmp_path)
    pieces = ["a", "##é"] if not lower_case else ["[UNK]"]
    assert read.pieces("aé") == pieces


# --- the reference -----------------------------------------------------------


def lines_of(corpus: str) -> list[str]:
    """Some ten thousand lines of a corpus."""
    try:
        train = corpora.load_corpus(*CORPORA[corpus]).train
    except CorpusError as error:
        pytest.skip(f"the corpus {corpus} is not to be had: {error}")
    return [*train.src[:5000], *train.tgt[:5000]]


def reference(pieces: list[str], lower_case: bool):
    """What the library ``tokenizers`` makes of a text."""
    tokenizers = pytest.importorskip(
        "tokenizers", reason="transformers is absent: make test-peers"
    )
    vocabulary = {piece: i for i, piece in enumerate(pieces)}
    # the class splits off the special pieces wherever a text holds them
    return tokenizers.BertWordPieceTokenizer(vocabulary, lowercase=lower_case)


def is_old(character: str) -> bool:
    """Whether Unicode 3.2 had it, and it has not changed since.

    The library keeps tables of an older Unicode than Python's: of younger
    characters the two need not say the same.
    """
    then = unicodedata.ucd_3_2_0.category(character)
    return then == unicodedata.category(character) and then not in ("Cn", "Cs")


@pytest.mark.exhaustive
@pytest.mark.parametrize("lower_case", [True, False])
def test_words_are_the_references_character_by_character(lower_case):
    library = reference([*SPECIAL, "a"], lower_case)
    old = list(filter(is_old, map(chr, range(sys.maxunicode + 1))))
    assert len(old) > 90_000
    for start in range(0, len(old), 500):
        text = " ".join(f"A{c}B" for c in old[start : start + 500])
        normal = library.normalizer.normalize_str(text)
        split = library.pre_tokenizer.pre_tokenize_str(normal)
        assert words_of(text, lower_case) == [word for word, _ in split]


@pytest.mark.exhaustive
@pytest.mark.parametrize("corpus", CORPORA)
def test_ten_thousand_lines_are_cut_as_the_reference_cuts_them(corpus):
    lines = lines_of(corpus)
    library = reference([*SPECIAL], lower_case=True)
    library.train_from_iterator(
        lines, vocab_size=3000, special_tokens=[*SPECIAL], show_progress=False
    )
    size = library.get_vocab_size()
    ours = WordPiece([library.id_to_token(i) for i in range(size)])
    for line, cut in zip(lines, library.encode_batch(lines), strict=True):
        assert [ours.cls_id, *ours.encode(line), ours.sep_id] == cut.ids
