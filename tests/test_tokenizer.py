"""Laws of the tokenizer: text → pieces → ids → text is the identity."""

import io

import pytest
import sentencepiece

from transformer_course.data.tokenizer import (
    BOS,
    EOS,
    MASK_PIECE,
    PAD,
    UNK,
    Tokenizer,
)
from transformer_course.errors import TokenizerError

LINES = [
    f"{who} {does} {what} ."
    for who in ("the cat", "my friend", "a doctor", "she")
    for does in ("sees", "likes", "draws", "finds")
    for what in ("a fish", "the house", "two books", "green tea")
] + [
    f"{who} は {what} を {does} 。"
    for who in ("猫", "友だち", "医者", "彼女")
    for what in ("魚", "家", "二 冊 の 本", "緑茶")
    for does in ("見る", "好む", "描く", "見つける")
]
AWKWARD = [
    "",
    "the cat sees 猫 。",
    "吾輩は猫である。名前はまだ無い。",  # most of it never seen
    "鬱 龘 ☃ — “quotes” ’",
    "🙂 👨‍👩‍👧 emoji",
    "ＡＢＣ　１２３ ① ㌔ ｶﾅ",  # what NFKC would change
    "が (decomposed) e\u0301",
    "two  spaces,   three",
    " before and after ",
    "  ",
    "tab\there",
    "<pad> <s> </s> <unk> <0x41>",
    "\u200b zero width \ufeff",
]


@pytest.fixture(scope="module", params=["unigram", "bpe"])
def tokenizer(request) -> Tokenizer:
    return Tokenizer.train(LINES, 310, request.param)


@pytest.mark.parametrize("text", [*LINES[::8], *AWKWARD])
def test_every_text_survives_the_round_trip(tokenizer, text):
    ids = tokenizer.encode(text)
    assert all(0 <= i < tokenizer.vocab_size for i in ids)
    assert tokenizer.decode(ids) == text


def test_special_ids_give_no_text_and_come_from_none(tokenizer):
    ids = tokenizer.encode("a cat </s>")
    assert not {PAD, BOS, EOS} & set(ids)
    assert tokenizer.decode([BOS, *ids, EOS, PAD, PAD]) == "a cat </s>"


def test_pieces_are_the_words_of_the_ids(tokenizer):
    text = "the cat sees 魚"
    pieces = tokenizer.pieces(text)
    assert "".join(pieces).replace("▁", " ").strip() == text
    assert [tokenizer.piece(i) for i in tokenizer.encode(text)] == pieces


def test_whole_words_when_asked_for():
    tokenizer = Tokenizer.train(LINES, 400, "word")
    assert tokenizer.vocab_size < 400  # the text has no more words
    assert tokenizer.pieces("the cat 魚") == ["▁the", "▁cat", "▁魚"]
    assert tokenizer.encode("the zebra")[-1] == UNK
    for line in LINES:
        assert tokenizer.decode(tokenizer.encode(line)) == line


@pytest.mark.parametrize("kind", ["unigram", "bpe"])
def test_a_short_text_fills_fewer_pieces_than_asked(kind):
    assert 256 < Tokenizer.train(LINES, 90_000, kind).vocab_size < 1_000


# --- bad input --------------------------------------------------------------


def test_no_text_to_learn_from():
    with pytest.raises(TokenizerError, match="every line is empty"):
        Tokenizer.train(["", "   "], 300)


@pytest.mark.parametrize("size", [4, 100])
def test_a_vocabulary_that_cannot_be_made_names_its_size(size):
    with pytest.raises(TokenizerError, match=f"{size} pieces") as caught:
        Tokenizer.train(LINES, size)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("wrong", [-1, 310])
def test_an_id_outside_the_vocabulary_is_named(tokenizer, wrong):
    with pytest.raises(TokenizerError, match=f"id {wrong} is outside"):
        tokenizer.decode([5, wrong])


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(TokenizerError, match="no tokenizer at .*nothing"):
        Tokenizer.load(tmp_path / "nothing.model")


@pytest.mark.parametrize("content", [b"", b"not a model"])
def test_a_file_that_is_no_tokenizer_is_named(tmp_path, content):
    path = tmp_path / "no.model"
    path.write_bytes(content)
    with pytest.raises(TokenizerError, match=r"no\.model: "):
        Tokenizer.load(path)


def test_special_ids_of_another_convention_are_refused():
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(LINES),
        model_writer=model,
        vocab_size=80,
        model_type="bpe",
        minloglevel=2,
    )
    with pytest.raises(TokenizerError, match="0, 1, 2, 3 here"):
        Tokenizer(model.getvalue())


def test_tokenizers_are_compared_by_their_pieces_and_scores(tokenizer):
    """How one was trained stands in its file too, and changes nothing."""
    assert tokenizer.cuts_like(Tokenizer(tokenizer.model_proto))
    others = [line.replace("a", "o") for line in LINES]
    for kind in ("unigram", "bpe"):
        other = Tokenizer.train(others, 310, kind)
        assert not tokenizer.cuts_like(other)


@pytest.mark.parametrize(
    ("kind", "size"), [("unigram", 311), ("bpe", 311), ("word", 60)]
)
def test_the_mask_in_a_text_is_one_piece(kind, size):
    with_mask = Tokenizer.train(LINES, size, kind, masked=True)
    ids = with_mask.encode(f"the {MASK_PIECE} likes {MASK_PIECE} .")
    assert ids.count(with_mask.mask_id) == 2
    assert UNK not in ids


def test_pieces_without_a_mask_say_so(tokenizer):
    with pytest.raises(TokenizerError, match=r"have no \[MASK\]"):
        _ = tokenizer.mask_id
