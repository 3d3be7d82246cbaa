"""Laws of the n-gram baseline: it sums to one, counts, and generalises."""

import pytest

from transformer_course.models.ngram import KneserNey

TEXTS = ["the cat sat on the mat .", "the dog sat .", "a cat on a mat ."]
TEXTS = [text.split() for text in TEXTS]
WORDS = sorted({word for text in TEXTS for word in text})
CONTEXTS = [[], ["the"], ["sat", "on"], ["dog", "mat"], ["never", "seen"]]


def total(model: KneserNey, context: list[str]) -> float:
    words = [*WORDS, *(f"unseen {i}" for i in range(3))]
    assert len(words) == model.vocab_size
    return sum(model.probability(context, word) for word in words)


@pytest.mark.parametrize("discounts", [1, 3])
@pytest.mark.parametrize("order", [1, 2, 3, 5])
@pytest.mark.parametrize("context", CONTEXTS, ids=" ".join)
def test_probabilities_sum_to_one(order, context, discounts):
    model = KneserNey(TEXTS, order, len(WORDS) + 3, discounts)
    assert total(model, context) == pytest.approx(1)
    assert model.probability(context, "unseen 0") > 0


def test_a_word_of_one_context_is_unlikely_in_another():
    """It is as frequent as the other, but follows one word only."""
    texts = [["san", "francisco"]] * 20 + [
        [f"word {i}", "glasses"] for i in range(20)
    ]
    words = {word for text in texts for word in text}
    model = KneserNey(texts, 2, len(words))
    francisco = model.probability(["new"], "francisco")
    assert model.probability(["new"], "glasses") > 5 * francisco


def test_three_discounts_are_those_of_chen_and_goodman():
    """n₁ to n₄ are 4, 3, 2 and 1, so Y = 4 / (4 + 2 · 3)."""
    text = list("abcd" + "eeffgg" + "hhhiii" + "jjjj")
    model = KneserNey([text], 1, 10)
    taken = [0.4, 2 - 3 * 0.4 * 2 / 3, 3 - 4 * 0.4 * 1 / 2]
    rest = (4 * taken[0] + 3 * taken[1] + 3 * taken[2]) / len(text)
    for token, count in {"a": 1, "e": 2, "h": 3, "j": 4}.items():
        kept = (count - taken[min(count, 3) - 1]) / len(text)
        assert model.probability([], token) == pytest.approx(kept + rest / 10)
