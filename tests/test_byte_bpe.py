"""Byte-level BPE: laws, and the same ids as Hugging Face's library."""

import random

import pytest

from transformer_course.data.byte_bpe import ByteBPE, byte_signs

MERGES = [
    ("c", "a"),
    ("ca", "t"),
    ("Ġ", "cat"),
    ("a", "t"),
    ("Ġ", "Ġ"),
    ("ç", "Į"),
    ("çĮ", "«"),
]
SPECIAL = ["<|im_start|>", "<|im_end|>"]
LOST = "\x1d"
"""A character that has no piece here, as in SmolLM2's vocabulary."""


@pytest.fixture
def bpe() -> ByteBPE:
    bytes_ = [sign for sign in byte_signs() if sign != byte_signs()[0x1D]]
    pieces = [*SPECIAL, *bytes_, *map("".join, MERGES)]
    return ByteBPE(pieces, MERGES, SPECIAL)


@pytest.mark.parametrize(
    ("text", "pieces"),
    [
        ("cat", "cat"),
        ("cats at", "cat s Ġ at"),
        ("a  cat", "a Ġ Ġcat"),
        ("a  7", "a ĠĠ 7"),  # a digit takes no space
        ("1917", "1 9 1 7"),
        ("it's", "i t ' s"),
        ("猫", "çĮ«"),
        ("<|im_start|>cat<|im_end|>", "<|im_start|> cat <|im_end|>"),
    ],
)
def test_pieces(bpe, text, pieces):
    assert bpe.pieces(text) == pieces.split()


def test_merges_go_in_the_order_of_training():
    early = ByteBPE(["a", "t", "c", "ca", "at"], [("a", "t"), ("c", "a")])
    assert early.pieces("cat") == ["c", "at"]


def test_a_long_word_takes_no_more_for_each_letter(bpe):
    class Counting(dict):
        asked = 0

        def get(self, *given):
            self.asked += 1
            return super().get(*given)

    counts = []
    for length in (100, 3000):
        bpe._ranks = Counting(bpe._ranks)
        word = "".join(random.Random(0).choices("cat", k=length))
        assert "".join(bpe.pieces(word)) == word
        counts.append(bpe._ranks.asked / length)
    assert counts[1] < 2 * counts[0]


def test_what_has_a_piece_comes_back(bpe):
    text = "Cats, 猫 & ねこ\n\t 3.14 — naïve 🐈 \u00a0 end "
    assert bpe.decode(bpe.encode(text)) == text
    assert bpe.encode(LOST) == [] and bpe.unknown(f"a{LOST}b") == [LOST]


def test_special_pieces_are_no_text_and_half_a_character_is_marked(bpe):
    ids = bpe.encode("<|im_start|>猫<|im_end|>")
    assert bpe.decode(ids) == "猫"
    first_byte = bpe.encode("é")[:1]
    assert bpe.decode(first_byte) == "\ufffd"


def hard_text(rng: random.Random) -> str:
    """A text of many scripts, signs, spaces and digits."""
    blocks = [
        (0x20, 0x7F), (0xA0, 0x250), (0x300, 0x370), (0x3040, 0x3100),
        (0x4E00, 0x9FFF), (0x1F300, 0x1F650), (0, 0x20), (0x2000, 0x2070),
        (0x600, 0x700), (0xAC00, 0xD7A0), (0x30, 0x3A), (0x2460, 0x2500),
        (0xE000, 0xE010), (0x10400, 0x10450), (0x900, 0x980),
    ]  # fmt: skip
    between = ["", "", " ", "  ", "\n\n", "\u3000", "'s", "'LL", *SPECIAL]
    parts = []
    for _ in range(rng.randint(1, 40)):
        first, last = rng.choice(blocks)
        signs = (rng.randrange(first, last) for _ in range(rng.randint(1, 4)))
        parts += [*map(chr, signs), rng.choice(between)]
    return "".join(parts)


def as_hugging_face(bpe: ByteBPE, merges, special):
    """Its library's tokenizer, with SmolLM2's way of cutting words."""
    tokenizers = pytest.importorskip("tokenizers")
    before = tokenizers.pre_tokenizers
    vocabulary = {bpe.piece(i): i for i in range(bpe.vocab_size)}
    model = tokenizers.models.BPE(vocab=vocabulary, merges=merges)
    theirs = tokenizers.Tokenizer(model)
    theirs.pre_tokenizer = before.Sequence(
        [
            before.Digits(individual_digits=True),
            before.ByteLevel(add_prefix_space=False),
        ]
    )
    theirs.add_special_tokens(special)
    return theirs


def test_ids_are_those_of_hugging_faces_library(bpe):
    theirs = as_hugging_face(bpe, MERGES, SPECIAL)
    rng = random.Random(0)
    for _ in range(300):
        text = hard_text(rng)
        expected = theirs.encode(text, add_special_tokens=False).ids
        assert bpe.encode(text) == expected, repr(text)
