"""Clipped n-gram matches."""

from collections import Counter

from course_exercises.candidate.cases import Case
from course_exercises.candidate.draw import Draw
from course_exercises.engine.exercise import case, exercise_of, other


def clipped_matches(
    hypothesis: list[str], references: list[list[str]], n: int
) -> tuple[int, int]:
    """The two counts of BLEU's n-gram precision, of one sentence.

    Args:
        hypothesis: the words written.
        references: one or more right translations, in words.
        n: how many words in a row, 1 or more.

    Returns:
        How many n-grams of the hypothesis match, and how many it has; one that
        is written twice counts twice. An n-gram matches at most as often as it
        occurs in the *one* reference that has it most often (Papineni et al.
        2002); for another n-gram that may be another reference. Both are 0 if
        the hypothesis has fewer than n words.
    """

    ### BEGIN SOLUTION
    def n_grams(words: list[str]) -> Counter:
        return Counter(zip(*(words[i:] for i in range(n)), strict=False))

    allowed = Counter()
    for reference in references:
        allowed |= n_grams(reference)  # the larger of two counts
    written = n_grams(hypothesis)
    return (written & allowed).total(), written.total()
    ### END SOLUTION


@other
def matches_by_slices(hypothesis, references, n):
    def grams(words):
        return list(zip(*(words[i:] for i in range(n)), strict=False))

    written, wanted = grams(hypothesis), [grams(r) for r in references]
    matches = sum(
        min(written.count(gram), max(r.count(gram) for r in wanted))
        for gram in set(written)
    )
    return matches, len(written)


@other
def matches_by_crossing_out(hypothesis, references, n):
    total = max(0, len(hypothesis) - n + 1)
    found, seen = 0, {}
    for i in range(total):
        gram = " ".join(hypothesis[i : i + n])
        seen[gram] = seen.get(gram, 0) + 1
        most = 0
        for reference in references:
            places = range(len(reference) - n + 1)
            row = [" ".join(reference[j : j + n]) for j in places]
            most = max(most, row.count(gram))
        found += seen[gram] <= most
    return found, total


CAT = "the old cat did not drink the cold milk"


def texts(note: str, hypothesis: str, *references: str, n: int) -> Case:
    """A case made of sentences, split into words."""
    return case(note, hypothesis.split(), [r.split() for r in references], n)


def draw_texts(draw: Draw) -> Case:
    def sentence(low: int) -> list[str]:
        count = draw.size(low, 7)
        return [draw.choice(["a", "b", "c", "d"]) for _ in range(count)]

    references = [sentence(3) for _ in range(draw.size(1, 3))]
    return case("random words", sentence(1), references, draw.size(1, 3))


EXERCISE = exercise_of(
    clipped_matches,
    section="14_evaluation#partial-credit-bleu-by-hand",
    points=2,
    cases=[
        texts("one right word", "milk", "milk", n=1),
        texts("a word too often", "milk milk", "cold milk", n=1),
        texts("twice on both sides", "the the", "the cat the", n=1),
        texts("a pair", "the cat", "the cat", n=2),
        texts("the words of a pair in turn", "cat the", "the cat", n=2),
        texts("fewer than n words", "cat", "the cat", n=2),
        texts("far fewer than n words", "cat", "the old cat", n=3),
        texts("once, and twice wanted", "the", "the cat the", n=1),
        texts("one word in front", "so old cat", "old cat", n=1),
        texts("other words of the same letters", "a part", "ap art", n=2),
        texts("a word inside another", "he", "the cat", n=1),
        texts("two references", "cold milk", "milk", "cold tea", n=1),
        texts("across two references", "cat milk", "a cat", "milk", n=2),
        texts("each has it once", "milk milk", "tea milk", "the milk", n=1),
        texts("in the second only", "tea", "milk", "tea", n=1),
        texts("in the first only", "milk", "milk", "tea", n=1),
        texts("in two references", "milk tea", "milk", "milk", n=1),
        texts(
            "four references of several lengths",
            "a b c",
            "a x",
            "a b x x",
            "x",
            "a b c",
            n=1,
        ),
        texts("an overlap", "a b c", "a b c", n=2),
        texts("the chapter's example", "milk milk milk the the", CAT, n=1),
        texts("its pairs", "the cat did not drink the milk", CAT, n=2),
        texts("its fours", "the cat did not drink the milk", CAT, n=4),
        texts(
            "Papineni's example",
            "the the the the the the the",
            "the cat is on the mat",
            "there is a cat on the mat",
            n=1,
        ),
    ],
    draw=draw_texts,
)
