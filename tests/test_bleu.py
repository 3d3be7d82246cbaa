"""Laws of scores: BLEU of counts, its bootstrap, and what is warned of."""

import math
import random

import numpy as np
import pytest
from sacrebleu.metrics import BLEU
from sacrebleu.significance import PairedTest

from transformer_course.errors import CourseError
from transformer_course.evaluation.bleu import (
    bleu_counts,
    bleu_interval,
    bleu_of_counts,
    bleu_without_penalty,
    bootstrap_bleu,
    corpus_bleu,
    corpus_chrf,
    paired_bootstrap,
    perplexity,
)


def test_without_its_penalty_bleu_is_the_precisions_alone():
    references = ["犬 は 猫 を 見 る 。", "彼女 は とても 長い 本 を 読 む 。"]
    counts = bleu_counts(["犬 は 猫 を", "彼女 は とても 長い 本"], references)
    assert bleu_without_penalty(counts) == pytest.approx(100)
    assert bleu_of_counts(counts) < 50


@pytest.mark.parametrize("score", [corpus_bleu, corpus_chrf, bleu_counts])
@pytest.mark.parametrize(
    ("hypotheses", "references", "said"),
    [
        (["a"], ["a", "b"], "1 hypotheses .* 2 references"),
        ([], [], "0 hypotheses"),
        ("a cat", ["a cat"], "list of lines"),
        (["ab"], "ab", "list of lines"),
    ],
)
def test_what_is_no_line_for_a_line(score, hypotheses, references, said):
    with pytest.raises(CourseError, match=said):
        score(hypotheses, references)


def test_an_unknown_tokeniser_is_refused():
    with pytest.raises(CourseError, match=r"'scissors'.*13a"):
        corpus_bleu(["a"], ["a"], tokenize="scissors")


@pytest.mark.parametrize("error", [ImportError, OSError, RuntimeError])
def test_a_tokeniser_that_needs_what_is_not_here(monkeypatch, error):
    """Some come from the network when they are first used."""

    class Needs(BLEU):
        def __init__(self, **options):
            raise error("the file\nis not here")

    monkeypatch.setattr("sacrebleu.metrics.BLEU", Needs)
    with pytest.raises(CourseError, match=r"'spm'.*file is not here.*char"):
        corpus_bleu(["a"], ["a"], tokenize="spm")


JAPANESE = ["昨日から雨が降っている。", "トム は昨日から学校を休んでいる。"]
CUT = ["昨日 から 雨 が 降 っ て い る 。", "はい 。"]


@pytest.mark.parametrize(
    ("hypotheses", "references", "tokenize", "named"),
    [
        (JAPANESE, JAPANESE, "13a", "hypotheses and references have"),
        (JAPANESE, JAPANESE, "char", ""),
        (JAPANESE, CUT, "none", "the hypotheses have"),
        (CUT, JAPANESE, "none", "the references have"),
        (["ฉันเป็นนักเรียน"], ["ฉันเป็นครู"], "intl", "and references have"),
        (["ฉัน เป็น นักเรียน"], ["ฉัน เป็น ครู"], "none", ""),
        (["yes", "thanks."], ["no", "Danke."], "13a", ""),
        (["he likes 寿司 ."], ["he likes 日本 ."], "none", ""),
        (["", " "], JAPANESE, "none", "the hypotheses are empty"),
        (JAPANESE, ["", ""], "none", "the references are empty"),
        (["", "yes"], CUT, "none", ""),
    ],
)
def test_a_side_that_is_empty_or_without_words_is_warned_of(
    hypotheses, references, tokenize, named, capsys
):
    corpus_bleu(hypotheses, references, tokenize)
    err = capsys.readouterr().err
    assert (named in err, err.count("\n")) == (True, bool(named))
    assert ("--tokenize char" in err) == ("have" in named)


def test_a_perplexity_beyond_all_numbers_is_infinite():
    assert perplexity(1e4) == math.inf


# --- counts and bootstrap ----------------------------------------------------


def systems() -> tuple[list[str], list[str], list[str]]:
    """What a good and a worse system write, and the references.

    Every second sentence is hard for both.
    """
    generator = random.Random(0)
    references = [
        " ".join(generator.choices("abcdefg", k=generator.randint(1, 12)))
        for _ in range(60)
    ]

    def spoilt(line: str, share: float) -> str:
        return "".join(
            "x" if sign != " " and generator.random() < share else sign
            for sign in line
        )

    good, worse = (
        [
            spoilt(line, share + 0.4 * (i % 2))
            for i, line in enumerate(references)
        ]
        for share in (0.0, 0.2)
    )
    return good, worse, references


GOOD, WORSE, RIGHT = systems()


@pytest.mark.parametrize("tokenize", ["none", "char"])
def test_counts_add_up_to_the_corpus_bleu(tokenize):
    counts = bleu_counts(GOOD, RIGHT, tokenize)
    whole = corpus_bleu(GOOD, RIGHT, tokenize).value
    assert math.isclose(bleu_of_counts(counts), whole, rel_tol=1e-12)
    half = corpus_bleu(GOOD[:30], RIGHT[:30], tokenize).value
    assert math.isclose(bleu_of_counts(counts[:30]), half, rel_tol=1e-12)


def test_the_paired_bootstrap_draws_what_sacrebleu_draws():
    """Its p-value, counted its way, comes out of our differences."""
    result = paired_bootstrap(
        bleu_counts(GOOD, RIGHT), bleu_counts(WORSE, RIGHT), samples=200
    )
    _, scores = PairedTest(
        [("worse", WORSE), ("good", GOOD)],
        {"BLEU": BLEU(tokenize="none")},
        [RIGHT],
        test_type="bs",
        n_samples=200,
    )()
    worse, good = scores["BLEU"]
    difference = result.difference.value
    assert math.isclose(difference, good.score - worse.score)
    sizes = np.abs(result.differences)
    beyond = (sizes - sizes.mean() > abs(difference)).sum()
    assert math.isclose((beyond + 1) / 201, good.p_value)


def test_of_equal_systems_few_differ_by_the_p_value():
    """Their outputs are swapped at random, so that no one is better."""
    generator = np.random.default_rng(0)
    good, worse = bleu_counts(GOOD, RIGHT), bleu_counts(WORSE, RIGHT)
    found = []
    for _ in range(60):
        swap = generator.random((len(good), 1)) < 0.5
        one = np.where(swap, good, worse)
        other = np.where(swap, worse, good)
        found.append(paired_bootstrap(one, other, samples=100).p_value)
    assert np.mean(np.array(found) < 0.05) < 0.15
    assert 0.3 < np.mean(found) < 0.7


def test_a_clear_difference_is_seen_and_none_is_not():
    good, worse = bleu_counts(GOOD, RIGHT), bleu_counts(WORSE, RIGHT)
    ahead = paired_bootstrap(good, worse, samples=500)
    assert ahead.difference.low > 0
    assert ahead.p_value == 1 / 501  # never 0: what was seen is one case

    behind = paired_bootstrap(worse, good, samples=500)
    assert behind.difference.value == -ahead.difference.value

    same = paired_bootstrap(good, good)
    assert same.difference == (0, 0, 0)
    assert same.p_value == 1


def test_the_interval_holds_the_score_and_shrinks_with_the_test_set():
    counts = bleu_counts(GOOD, RIGHT)
    few, drawn = bleu_interval(counts), bootstrap_bleu(counts)
    assert few.low < few.value < few.high
    outside = [(drawn < few.low).mean(), (drawn > few.high).mean()]
    assert outside == pytest.approx([0.025, 0.025], abs=0.002)
    many = bleu_interval(bleu_counts(GOOD * 16, RIGHT * 16))
    assert math.isclose(many.value, few.value)
    ratio = (few.high - few.low) / (many.high - many.low)
    assert 3.4 < ratio < 4.6  # √16, but for the draws


def test_too_few_sentences_or_samples_are_refused():
    counts = bleu_counts(GOOD, RIGHT)
    with pytest.raises(CourseError, match="5 sentences .* 20"):
        bleu_interval(counts[:5])
    with pytest.raises(CourseError, match="0 samples"):
        bootstrap_bleu(counts, samples=0)
    with pytest.raises(CourseError, match="no counts"):
        bleu_of_counts(counts[:0])


def test_systems_of_other_test_sets_are_not_compared():
    good, worse = bleu_counts(GOOD, RIGHT), bleu_counts(WORSE, RIGHT)
    for other in (worse[:-1], worse[::-1]):
        with pytest.raises(CourseError, match="the same test set"):
            paired_bootstrap(good, other)
