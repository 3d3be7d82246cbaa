"""The built-in grammar: distinct pairs, right alignments, right Japanese."""

import dataclasses
import hashlib
import re
from collections import Counter

import pytest

from transformer_course.data import corpora, grammar
from transformer_course.data.grammar import (
    LONGEST,
    grammar_corpus,
    grammar_pairs,
    grammar_splits,
    lexicon,
    simple,
)
from transformer_course.data.grammar.predicates import Speaker
from transformer_course.errors import ConfigError


@pytest.fixture(scope="module")
def splits():
    """The first 6,000 pairs to learn from, and all others."""
    return grammar_splits(train=6000)


@pytest.fixture(scope="module")
def pairs(splits):
    train, _, _ = splits
    return train


def test_both_sides_are_distinct(splits):
    whole = [pair for part in splits for pair in part]
    assert len(whole) == 7000
    assert len({pair.src for pair in whole}) == 7000
    assert len({pair.tgt for pair in whole}) == 7000


def test_one_english_sentence_has_one_translation(splits):
    """Repetitions are left in here, which the corpus leaves out."""
    translations = {p.src: p.tgt for part in splits for p in part}
    speaker = Speaker(1)
    repeated = 0
    for _ in range(3000):
        pair = grammar.make_pair(speaker)
        repeated += pair.src in translations
        assert translations.setdefault(pair.src, pair.tgt) == pair.tgt
    assert repeated > 15


def test_the_seed_decides():
    assert grammar_pairs(100) != grammar_pairs(100, seed=1)


def test_the_sentences_are_the_same_everywhere(pairs):
    """On every system and version of Python; a change here is a new corpus."""
    text = "\n".join(f"{p.src}\t{p.tgt}\t{p.alignment}" for p in pairs)
    assert hashlib.sha256(text.encode()).hexdigest() == FINGERPRINT


FINGERPRINT = (
    "e7199e5092dd5489eff7ce22e0c0d175f3463a3a8bffe06e5f9bb679ea88907a"
)


def test_sentences_are_short_and_end_as_they_should(pairs):
    for pair in pairs:
        src, tgt = pair.src.split(), pair.tgt.split()
        assert 3 <= len(src) <= LONGEST
        assert 3 <= len(tgt) <= LONGEST
        assert (src[-1], tgt[-1]) in {(".", "。"), ("?", "？")}
        assert (len(src) - 1, len(tgt) - 1) in pair.alignment
        assert pair.src == " ".join(src) == pair.src.lower()
        assert pair.tgt == " ".join(tgt)


def test_content_words_are_aligned(pairs):
    free = set("a an the it there".split())
    free_ja = set("は が を に で へ 、".split())
    for pair in pairs:
        aligned = {i for i, _ in pair.alignment}
        aligned_ja = {j for _, j in pair.alignment}
        words, words_ja = pair.src.split(), pair.tgt.split()
        left = {w for i, w in enumerate(words) if i not in aligned}
        # the pronoun of a because clause is left out in Japanese
        if "because" in words:
            left -= {"he", "she", "they"}
        assert left <= free, pair
        left_ja = {w for j, w in enumerate(words_ja) if j not in aligned_ja}
        assert left_ja <= free_ja, pair


def test_the_corpus_is_the_aligned_pairs_without_alignments():
    splits = grammar_corpus(30, 20, 10)
    train, dev, test = grammar_splits(30, 20, 10)
    assert (len(train), len(dev), len(test)) == (30, 20, 10)
    for name, part in (("train", train), ("dev", dev), ("test", test)):
        text = [(pair.src, pair.tgt) for pair in part]
        assert list(getattr(splits, name)) == text


def test_test_and_dev_do_not_depend_on_the_size_of_train():
    small, large = grammar_corpus(10, 5, 5), grammar_corpus(50, 5, 5)
    assert (small.dev, small.test) == (large.dev, large.test)
    assert small.train.src == large.train.src[:10]


def test_every_word_of_the_lexicon_appears(pairs):
    english = Counter(word for pair in pairs for word in pair.src.split())
    words = [noun.en for noun in lexicon.NOUN.values()]
    words += [adjective.en for adjective in lexicon.ADJECTIVES]
    words += [form for verb in lexicon.VERBS for form in verb.forms[:3]]
    words += [name for name, *_ in lexicon.NAMES]
    assert not [word for word in words if english[word] < 2]


# What the grammar is for: something elsewhere in the sentence decides. An
# English pattern, and what every translation of it has (or has not).
RULES = [
    (r"\bplay\w* (the )?(piano|guitar)", r"弾", None),
    (r"\bplay\w* (tennis|soccer)", r"する|し", None),
    (r"\b(wear|wore)\w* [^.]*hat", r"かぶ", None),
    (r"\b(wear|wore)\w* [^.]*shoes", r"はい|はく|はか", None),
    (r"^[^,]*\bold (man|woman|men|women|friends?) ", r"年老い", None),
    (r"\bwith a pen\b", r"ペン で", None),
    (r"\bwith (ken|emi|taro|hanako) (\.|\?|in|at|yes)", r" と ", None),
    (r"\b(gave|gives|give) (me|us)\b", r"くれ", r"あげ"),
    (r"\b(gave|gives|give) (him|her|them|you)\b", r"あげ", r"くれ"),
    (r"^an? (boy|girl|cat|dog)\b", r"^(少年|少女|猫|犬) が", None),
    (r"^the (boy|girl|cat|dog) ", r"(少年|少女|猫|犬) は", None),
    (r"^the (women|girls) .*but they", r"彼女 たち", r"彼ら"),
    (r"^the (men|boys) .*but they", r"彼ら", r"彼女 たち"),
    (r"because", r"から 、", None),
    (r"^there is an? (book|letter|pen|key|flower)\b", r"ある", r"いる"),
    (r"^(he|she|ken|emi) thinks\b", r"思っ て いる", None),
    (r"\?$", r"の か ？$", None),
    (r"\bdoes not know\b", r"知ら ない", r"知っ"),
]


@pytest.mark.parametrize(("pattern", "has", "lacks"), RULES)
def test_what_decides_elsewhere(pairs, pattern, has, lacks):
    found = [pair for pair in pairs if re.search(pattern, pair.src)]
    assert len(found) >= 3
    for pair in found:
        assert re.search(has, pair.tgt), pair
        assert lacks is None or not re.search(lacks, pair.tgt), pair


def test_subjects_and_verbs_agree(pairs):
    wrong = (
        r"^(i|you|we|they) (\w+ly )?(is|was(?<!i was)|eats|reads|goes)\b",
        r"^(he|she|ken|emi|taro|hanako) (are|am|were|eat|go|like)\b",
        r"^(does|is|was) (you|we|they)\b",
        r"^(do|are|were) (he|she|ken|emi)\b",
        r"\ba [aeiou]",
        r"\ban [^aeiou]",
    )
    for pair in pairs:
        assert not any(re.search(w, pair.src) for w in wrong), pair


def test_more_than_the_grammar_can_say(monkeypatch):
    monkeypatch.setattr(grammar, "CONSTRUCTIONS", ((1.0, simple.profession),))
    monkeypatch.setattr(grammar, "PATIENCE", 20)
    with pytest.raises(ConfigError, match="nothing new to say"):
        grammar_pairs(100_000)


def test_load_corpus_gives_either_direction(monkeypatch):
    def small():
        return grammar_corpus(30, 10, 10)

    made = dataclasses.replace(corpora.CORPORA["grammar"], pairs=small)
    monkeypatch.setitem(corpora.CORPORA, "grammar", made)
    assert corpora.load_corpus("grammar", "en", "ja") == small()
    assert corpora.load_corpus("grammar", "ja", "en") == small().swap()
