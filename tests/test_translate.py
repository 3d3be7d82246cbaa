"""Laws of translating: in order, line for line, whatever the batch."""

import pytest
from tiny import decided, tiny_gru, tiny_splits, tiny_transformer

from transformer_course.data.batches import encode_pairs
from transformer_course.errors import ConfigError
from transformer_course.tokenizer import EOS, Tokenizer
from transformer_course.translate import (
    encode_source,
    too_long,
    translate,
    unknown,
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


@pytest.mark.parametrize("batch_size", [1, 2])
def test_the_size_of_batches_does_not_matter(model, tokenizer, batch_size):
    by_default = translate(model, tokenizer, SENTENCES)
    assert by_default == translate(
        model, tokenizer, SENTENCES, batch_size=batch_size
    )


def test_an_empty_sentence_gives_an_empty_translation(model, tokenizer):
    written = translate(model, tokenizer, ["", "red cat", " \t"])
    assert [bool(text) for text in written] == [False, True, False]
    assert translate(model, tokenizer, ["", ""]) == ["", ""]
    assert translate(model, tokenizer, []) == []


def test_a_long_sentence_is_cut_off_and_named(model, tokenizer):
    whole = "red cat old dog red cat old dog red cat old"  # 11, and eos
    longer = [whole, f"{whole} fish", f"{whole} fish dog . . ."]
    assert too_long(model, tokenizer, longer) == [1, 2]
    written = translate(model, tokenizer, longer)
    assert written == [written[0]] * 3


def test_characters_never_seen_are_translated_somehow(model, tokenizer):
    written = translate(model, tokenizer, ["鬱 🙂 cat", "龘"])
    assert len(written) == 2


def test_words_never_seen_are_named_once(tokenizer):
    text = "red wombat 鬱 wombat cat"
    assert unknown(tokenizer, text) == ["wombat", "鬱"]
    assert all(unknown(tokenizer, seen) == [] for seen in TEXT.src + TEXT.tgt)
    assert unknown(tokenizer, "") == unknown(tokenizer, " red  cat ") == []


def test_characters_that_only_bytes_can_spell_are_named():
    splits = tiny_splits()
    lines = [*splits.train.src, *splits.train.tgt]
    pieces = Tokenizer.train(lines, 283, "unigram")
    assert unknown(pieces, "red 鬱🙂 dog 🙂") == ["鬱", "🙂"]
    assert all(unknown(pieces, seen) == [] for seen in lines)


def test_a_source_is_encoded_as_in_training(tokenizer):
    pairs = encode_pairs(tokenizer, TEXT, max_length=4)
    sources = [encode_source(tokenizer, text, 4) for text in TEXT.src]
    assert sources == [src for src, _ in pairs]
    assert all(len(src) == 4 and src[-1] == EOS for src in sources)


@pytest.mark.parametrize("training", [True, False])
def test_the_models_mode_is_left_as_it_was(tokenizer, training):
    model = tiny_transformer(vocab_size=tokenizer.vocab_size, dropout=0.9)
    model.train(training)
    first, second = (translate(model, tokenizer, TEXT.src) for _ in range(2))
    assert first == second
    assert model.training is training


@pytest.mark.parametrize("wrong", [{"batch_size": 0}, {"beam_size": 0}])
def test_sizes_below_one_are_refused(model, tokenizer, wrong):
    name = next(iter(wrong))
    with pytest.raises(ConfigError, match=f"{name} is 0"):
        translate(model, tokenizer, TEXT.src, **wrong)


def test_a_language_model_does_not_translate(tokenizer):
    model = tiny_transformer(
        vocab_size=tokenizer.vocab_size, decoder_only=True
    )
    with pytest.raises(ConfigError, match="decoder-only"):
        translate(model, tokenizer, ["red cat"])
