"""Laws of translating: in order, line for line, whatever the batch."""

import pytest
from tiny import (
    decided,
    tiny_gru,
    tiny_splits,
    tiny_transformer,
)

from transformer_course.batches.pairs import encode_pairs
from transformer_course.data.grammar import grammar_pairs
from transformer_course.data.plain import to_plain
from transformer_course.data.tokenizer import EOS, Tokenizer
from transformer_course.decoding.search import Hypothesis
from transformer_course.decoding.translate import (
    BROKEN,
    TextStreamer,
    candidates,
    encode_source,
    too_long,
    translate,
)

TEXT = tiny_splits().test
SENTENCES = ["red cat", "", TEXT.src[0], "   ", "old", "fish fish fish fish"]


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    splits = tiny_splits()
    lines = [*splits.train.src, *splits.train.tgt]
    return Tokenizer.train(lines, 100, "word")


@pytest.fixture(params=["transformer", "gru"])
def model(request, tokenizer):
    sizes = {"vocab_size": tokenizer.vocab_size, "max_length": 12}
    if request.param == "gru":
        return decided(tiny_gru(**sizes))
    return decided(tiny_transformer(position="learned", **sizes))


@pytest.mark.parametrize("beam_size", [1, 3])
def test_each_sentence_is_translated_in_its_place(model, tokenizer, beam_size):
    together = translate(model, tokenizer, SENTENCES, beam_size)
    alone = [
        translate(model, tokenizer, [sentence], beam_size)[0]
        for sentence in SENTENCES
    ]
    assert together == alone
    assert len(set(together)) > 2


def test_a_long_sentence_is_cut_off_and_named(model, tokenizer):
    whole = "red cat old dog red cat old dog red cat old"  # 11, and eos
    longer = [whole, f"{whole} fish", f"{whole} fish dog . . ."]
    assert too_long(model, tokenizer, longer) == [1, 2]
    written = translate(model, tokenizer, longer)
    assert written == [written[0]] * 3


def test_words_never_seen_are_named_once(tokenizer):
    text = "red wombat 鬱 wombat cat"
    assert tokenizer.unknown(text) == ["wombat", "鬱"]
    assert all(tokenizer.unknown(seen) == [] for seen in TEXT.src + TEXT.tgt)
    assert tokenizer.unknown("") == tokenizer.unknown(" red  cat ") == []


def test_characters_that_only_bytes_can_spell_are_named(pieces):
    assert pieces.unknown("dogs 鬱🙂 dogs 🙂") == ["鬱", "🙂"]


def test_a_source_is_encoded_as_in_training(tokenizer):
    pairs = encode_pairs(tokenizer, TEXT, max_length=4)
    sources = [encode_source(tokenizer, text, 4) for text in TEXT.src]
    assert sources == [src for src, _ in pairs]
    assert all(len(src) == 4 and src[-1] == EOS for src in sources)


# --- candidates -------------------------------------------------------------


def test_the_best_candidate_is_the_translation(model, tokenizer):
    for beam_size in (1, 3):
        beams = candidates(model, tokenizer, SENTENCES, beam_size, 0.6)
        best = translate(model, tokenizer, SENTENCES, beam_size, 0.6)
        assert [beam[0].text for beam in beams] == best
        filled = [
            b for b, s in zip(beams, SENTENCES, strict=True) if s.strip()
        ]
        assert {len(beam) for beam in filled} == {beam_size}


def test_an_empty_sentence_has_one_candidate_which_is_certain(
    model, tokenizer
):
    given = model, tokenizer, ["", "red cat", " \t"]
    first, (best, *_), last = candidates(*given)
    assert first == last == [("", 0.0, 0.0)]
    assert translate(*given, beam_size=5) == ["", best.text, ""]
    assert translate(model, tokenizer, []) == []


# --- text that grows --------------------------------------------------------


def grown(tokenizer, language, ids) -> list[str]:
    """What is shown after each token, and at the end."""
    stream = TextStreamer(tokenizer, language)
    return [*map(stream.add, ids), stream.end()]


@pytest.fixture(scope="module")
def pieces() -> Tokenizer:
    """Pieces of words, and bytes for characters it has never seen."""
    pairs = grammar_pairs(500)
    lines = [text for pair in pairs for text in (pair.src, pair.tgt)]
    return Tokenizer.train(lines, 600, "unigram")


@pytest.mark.parametrize("language", [None, "en", "ja"])
@pytest.mark.parametrize(
    "text",
    [
        "i 'm in , don 't go ( hi ) !",
        "私 は bob smith が 好き だ 。",
        "鬱 な 🙂 は 龘 。",
        "🙂",
        "",
    ],
)
def test_what_is_shown_bit_by_bit_is_the_text(pieces, language, text):
    shown = grown(pieces, language, pieces.encode(text))
    assert BROKEN not in "".join(shown)
    assert "".join(shown) == (to_plain(text, language) if language else text)


def test_a_character_is_shown_when_its_last_byte_is_there(pieces):
    ids = pieces.encode("鬱")
    assert len(ids) > 3  # a space and three bytes
    assert grown(pieces, None, ids) == [""] * (len(ids) - 1) + ["鬱", ""]


def test_bytes_that_make_no_character_are_shown_as_broken(pieces):
    byte = pieces.encode("鬱")[-3:-1]  # the last one is missing
    dog, *_ = pieces.encode("dog")
    assert "".join(grown(pieces, None, byte)) == pieces.decode(byte)
    shown = grown(pieces, None, [*byte, dog])
    assert shown[:2] == ["", ""]
    assert "".join(shown) == pieces.decode([*byte, dog])
    assert BROKEN in shown[2]


def test_english_is_shown_word_by_word_and_japanese_at_once(pieces):
    english = pieces.encode("i like dogs .")
    assert grown(pieces, "en", english)[0] == ""
    shown = [text for text in grown(pieces, "en", english) if text]
    assert shown == ["I", " like", " dogs", "."]
    japanese = pieces.encode("私 は 犬 が 好き だ 。")
    shown = grown(pieces, "ja", japanese)
    for count in range(1, len(japanese)):
        text = pieces.decode(japanese[:count])
        assert "".join(shown[:count]) == to_plain(text, "ja")


def test_the_mode_comes_back_when_a_search_fails(tokenizer, monkeypatch):
    model = tiny_transformer(vocab_size=tokenizer.vocab_size).train()
    monkeypatch.setattr(model, "encode", None)
    with pytest.raises(TypeError):
        translate(model, tokenizer, TEXT.src)
    assert model.training


@pytest.mark.parametrize("way", ["greedy", "beam", "candidates"])
@pytest.mark.parametrize(
    ("lengths", "max_length", "cut"),
    [
        ([53, 54], None, [1]),  # three words and eos in each source
        ([0, 3], None, []),
        ([6, 5], 6, [0]),
    ],
)
def test_translations_that_were_cut_off_are_reported(
    tokenizer, monkeypatch, way, lengths, max_length, cut
):
    rows = [[5] * length for length in lengths]
    beams = [[Hypothesis(ids, -1.0, -1.0)] for ids in rows]
    module = "transformer_course.decoding.translate."
    monkeypatch.setattr(module + "greedy_search", lambda *_, **how: rows)
    monkeypatch.setattr(module + "beam_search", lambda *_, **how: beams)
    model = tiny_transformer(vocab_size=tokenizer.vocab_size)
    found = []
    settings = {"max_length": max_length, "on_cut": found.extend}
    given = model, tokenizer, ["red cat old", "old dog red"]
    if way == "candidates":
        candidates(*given, **settings)
    else:
        translate(*given, 1 if way == "greedy" else 2, **settings)
    assert found == cut
