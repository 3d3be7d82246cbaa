"""Laws of scores: BLEU by a hand count equals sacreBLEU's."""

import math
from collections import Counter

import pytest

from transformer_course.errors import CourseError
from transformer_course.score import (
    corpus_bleu,
    corpus_chrf,
    perplexity,
    spaced_share,
)

HYPOTHESES = [
    "the cat sat on the the mat today",
    "猫 が 魚 を 食べ る",
    "he reads",
]
REFERENCES = [
    "the cat sat on the mat",
    "猫 は 魚 を 食べ る 。",
    "he reads a long book .",
]


def n_grams(words: list[str], n: int) -> Counter:
    return Counter(tuple(words[i : i + n]) for i in range(len(words) - n + 1))


def bleu_by_hand(hypotheses: list[str], references: list[str]) -> float:
    """Papineni et al. 2002: clipped counts, brevity penalty, one corpus."""
    pairs = [
        (h.split(), r.split())
        for h, r in zip(hypotheses, references, strict=True)
    ]
    log_precision = 0.0
    for n in (1, 2, 3, 4):
        clipped = sum(
            (n_grams(h, n) & n_grams(r, n)).total() for h, r in pairs
        )
        written = sum(n_grams(h, n).total() for h, r in pairs)
        log_precision += math.log(clipped / written) / 4
    h_length = sum(len(h) for h, _ in pairs)
    r_length = sum(len(r) for _, r in pairs)
    brevity = min(0.0, 1 - r_length / h_length)
    return 100 * math.exp(log_precision + brevity)


def test_bleu_equals_a_hand_count():
    by_hand = bleu_by_hand(HYPOTHESES, REFERENCES)
    assert 10 < by_hand < 90
    score = corpus_bleu(HYPOTHESES, REFERENCES)
    assert math.isclose(score.value, by_hand, rel_tol=1e-9)


def test_bleu_of_one_sentence_by_pencil():
    """5 of 7 words, 3 of 6 pairs, 2 of 5 triples, 1 of 4; no penalty."""
    score = corpus_bleu(["a b c d x y a"], ["a b c d e a"])
    precisions = (5 / 7) * (3 / 6) * (2 / 5) * (1 / 4)
    assert math.isclose(score.value, 100 * precisions**0.25, rel_tol=1e-9)


def test_repeating_a_word_earns_nothing():
    """Counts are clipped: "the the the ..." is one match, not seven."""
    score = corpus_bleu(["the the the the the the the"], ["the cat is here"])
    assert "14.3/" in score.details


def test_brevity_is_judged_over_the_corpus_not_the_sentence():
    long_and_short = corpus_bleu(
        ["a b c d e f g", "h"], ["a b c d e f", "h i"]
    )
    assert "BP = 1.000" in long_and_short.details


def test_the_same_text_scores_100():
    assert math.isclose(corpus_bleu(REFERENCES, REFERENCES).value, 100)
    assert math.isclose(corpus_chrf(REFERENCES, REFERENCES).value, 100)


def test_nothing_in_common_scores_0():
    assert corpus_bleu(["x y z w"], ["a b c d"]).value < 1e-6
    assert corpus_chrf(["x y z w"], ["a b c d"]).value == 0


def test_chrf_sees_parts_of_words():
    written, right = ["he translates it"], ["he translated it"]
    assert (
        corpus_chrf(written, right).value > corpus_bleu(written, right).value
    )


def test_the_signature_names_the_tokenisation():
    kept = corpus_bleu(HYPOTHESES, REFERENCES)
    cut = corpus_bleu(HYPOTHESES, REFERENCES, tokenize="13a")
    assert "tok:none" in kept.signature
    assert "tok:13a" in cut.signature
    assert "version:" in kept.signature


def test_tokenisation_changes_the_score():
    written, right = ["end it, now. So."], ["end it , now . So ."]
    kept = corpus_bleu(written, right)
    cut = corpus_bleu(written, right, tokenize="13a")
    assert kept.value < cut.value
    assert math.isclose(cut.value, 100)


@pytest.mark.parametrize(
    ("hypotheses", "references"), [(["a"], ["a", "b"]), ([], [])]
)
@pytest.mark.parametrize("score", [corpus_bleu, corpus_chrf])
def test_unequal_or_no_lines_are_refused(score, hypotheses, references):
    counts = f"{len(hypotheses)} hypotheses .* {len(references)} references"
    with pytest.raises(CourseError, match=counts):
        score(hypotheses, references)


def test_an_unknown_tokeniser_is_refused_and_the_known_are_named():
    with pytest.raises(CourseError, match=r"'scissors'.*13a"):
        corpus_bleu(["a"], ["a"], tokenize="scissors")


def test_spaces_tell_text_in_words_from_text_without():
    assert spaced_share(["the cat", "a dog"]) == 1
    assert spaced_share(["猫 が いる"] * 3 + ["はい"]) == 0.75
    assert spaced_share(["猫がいる", ""]) == spaced_share([]) == 0


def test_perplexity_of_a_uniform_guess_is_the_number_of_choices():
    assert math.isclose(perplexity(math.log(6000)), 6000)
    assert perplexity(0.0) == 1.0
    assert perplexity(1e4) == math.inf
