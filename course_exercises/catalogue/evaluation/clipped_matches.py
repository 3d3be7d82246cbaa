"""Clipped n-gram matches."""

from collections import Counter

from course_exercises.engine.draw import Draw
from course_exercises.engine.exercise import Case, case, exercise_of, other


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
        starts = range(len(words) - n + 1)
        return Counter(tuple(words[i : i + n]) for i in starts)

    allowed = Counter()
    for reference in references:
        allowed |= n_grams(reference)  # the larger of two counts
    written = n_grams(hypothesis)
    matches = (written & allowed).total()
    total = written.total()
    return matches, total
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


EDITS = """
# not_clipped
- (written & allowed).total() -> sum(written[gram] for gram in allowed)
You do not clip: whatever occurs in a reference matches each time.

So *milk milk milk* gets full marks if a reference says milk once.

# each_kind_once
- n_grams(hypothesis) -> Counter(set(n_grams(hypothesis)))
You count distinct n-grams: one that is written twice counts once.

If *the* occurs twice on both sides, both match; and the total is the number of
all n-grams written. A set forgets how often.

# matches_of_each_kind_once
- (written & allowed).total() -> len(written & allowed)
You let an n-gram match at most once, however often the reference has it.

If *the* occurs twice on both sides, both match.

# clipped_at_the_sum
- |= -> +=
You add up what the references have.

With two references *milk milk* would match twice, though neither says milk
more than once. Clip at the most that any one of them has.

# clipped_at_the_least
- allowed = Counter() -> allowed = n_grams(references[0])
- |= -> &=
You let an n-gram match only as often as *every* reference has it.

Then a further reference could only lower the score. It is there to allow more
ways of saying it: clip at the most that any one has.

# first_reference_only
- in references: -> in references[:1]:
You look at the first reference only.

A word that another translator chose is right as well.

# last_reference_only
- |= -> =
You look at the last reference only.

Does your loop over the references forget what it found before?

# closest_reference_only
- for reference in references:
+ gaps = [abs(len(r) - len(hypothesis)) for r in references]
+ for reference in [references[gaps.index(min(gaps))]]:
You look only at the reference whose length is closest.

That is how r is chosen, for the brevity penalty. An n-gram may match in any of
them.

# best_single_reference
- (written & allowed).total()
+ max((written & n_grams(r)).total() for r in references)
You match with each reference, and keep the best of the results.

Clip n-gram by n-gram: one may be found in the first reference, and the next
one in the second.

# summed_over_references
- (written & allowed).total()
+ sum((written & n_grams(r)).total() for r in references)
You add up the matches with each reference.

A word that occurs in two references then counts twice, and there may be more
matches than words.

# mean_over_references
- (written & allowed).total()
+ sum((written & n_grams(r)).total() for r in references) / len(references)
You take the mean over the references.

One of them is enough: an n-gram matches as often as in the reference that has
it most often.

# references_joined
- in references: -> in [sum(references, [])]:
You join the references to one long text.

That adds up what each of them has, and makes n-grams of the end of one and the
beginning of the next.

# total_of_kinds
- total = written.total() -> total = len(written)
Your second number counts distinct n-grams.

*milk milk milk* has three words, not one, and two of them may be wrong.

# total_before_matches
- matches, total -> total, matches
You return the total first, and the matches second.

The matches come first, then how many n-grams there are.

# total_of_words
- written.total() -> len(hypothesis)
Your second number counts words, whatever n is.

A row of w words has fewer pairs than words: w - 1, and still fewer of longer
n-grams.

# total_below_zero
- written.total() -> len(hypothesis) - n + 1
Your second number is negative for very short sentences.

A sentence of one word has no triples: 0 of them, not -1.

# total_of_the_reference (#chrf-parts-of-words)
- written.total() -> n_grams(references[0]).total()
or
- written.total() -> max(n_grams(r).total() for r in references)
or
- written.total() -> min(n_grams(r).total() for r in references)
or
- written.total() -> sum(n_grams(r).total() for r in references)
or
- written.total() -> allowed.total()
Your second number counts the n-grams of the references, or of one of them.

That is recall: how much of the reference was written. BLEU has precision: how
much of what was written is in a reference.

# total_at_least_one
- total = written.total() -> total = max(1, written.total())
Your second number is never 0.

Where there are fewer than n words there are 0 n-grams. It is up to whoever
divides to check for that.

# zero_without_matches
- total = written.total() -> total = written.total() if matches else 0
Your second number is 0 where nothing matches.

It counts all n-grams written, right or wrong.

# total_less_the_matches
- total = written.total() -> total = written.total() - matches
Your second number counts only the n-grams that do not match.

It counts all n-grams written, right or wrong.

# counts_of_the_reference
- (written & allowed).total() -> sum(allowed[gram] for gram in written)
You count how often each n-gram occurs in the *reference*.

One *the* written, and two in the reference: that is one match. Take the
smaller of the two counts.

# larger_of_two_counts
- (written & allowed) -> (written | allowed)
or
- (written & allowed).total()
+ sum(max(written[gram], allowed[gram]) for gram in written)
You take the larger of the two counts.

Only what is on both sides matches: take the *smaller* of the count in the
hypothesis and the one allowed.

# matches_from_the_reference
- (written & allowed).total()
+ sum(gram in written for gram in n_grams(references[0]).elements())
or
- (written & allowed).total()
+ sum(gram in written for r in references for gram in n_grams(r).elements())
You go through the *reference*, and count what of it was written.

That is recall. Go through the hypothesis, and count what of it is right.

# misses_counted
- written & -> written -
Your first number counts what does *not* match.

It has to count the matches.

# all_or_none
- (written & allowed).total()
+ sum(c for gram, c in written.items() if c <= allowed[gram])
or
- (written & allowed).total()
+ sum(c for gram, c in written.items() if c == allowed[gram])
You give nothing to an n-gram that is written too often.

*the the*, where the reference has one *the*, is one match and one too many.

# characters (#chrf-parts-of-words)
- starts =
+ words = " ".join(words)
+     starts =
or
- starts =
+ words = "".join(words)
+     starts =
Your n-grams are of characters.

chrF has those. Here they are of words: do you join the words to one string
somewhere?

# last_n_gram_missing
- n + 1 -> n
You miss the last n-gram of each sentence.

A row of w words has w - n + 1 of them; you count one fewer.

# shorter_ones_at_the_end
- - n + 1 ->
You begin an n-gram at each word, the last ones too.

A slice that reaches beyond the end is shorter: the last word alone is no pair.
A row of w words has w - n + 1 n-grams.

# all_orders_to_n
- return Counter(tuple(words[i : i + n]) for i in starts)
+ ends = range(len(words) + 1)
+     spans = [(i, j) for j in ends for i in range(max(0, j - n), j)]
+     return Counter(tuple(words[i:j]) for i, j in spans)
You count all n-grams *up to* n together.

Each n has a precision of its own; their mean is taken later.

# single_words_only
- def n_grams
+ n = 1
+ def n_grams
or
- written = n_grams(hypothesis)
+ written, n = n_grams(hypothesis), 1
+ single = n_grams(hypothesis)
+ allowed = Counter()
+ for reference in references:
+     allowed |= n_grams(reference)
- (written & allowed) -> (single & allowed)
You count single words, whatever n is.

Then the order of the words does not matter at all.

# blocks_of_n
- in starts) -> in starts[::n])
You cut the sentences into blocks of n words.

N-grams overlap: the second one begins at the second word, not after the first
block.

# order_ignored
- tuple(words[i : i + n]) -> tuple(sorted(words[i : i + n]))
or
- tuple(words[i : i + n]) -> frozenset(words[i : i + n])
You ignore the order of the words inside an n-gram.

*cold the* then matches *the cold*. Longer n-grams are there to check the
order.

# same_place_only
- words[i : i + n] -> [i, *words[i : i + n]]
You let an n-gram match only at the same position of the sentence.

Then one word too many in front leaves nothing right. It may stand anywhere in
the reference.

# words_run_together
- tuple(words[i : i + n]) -> "".join(words[i : i + n])
You join the words of an n-gram with nothing between them.

Then *a part* is the same as *ap art*. Keep the words apart, in a tuple for
example.

# slices_to_n
- words[i : i + n] -> words[i:n]
You end each n-gram at the n-th word of the sentence.

A slice names its end, not its length. An n-gram that begins at i ends n words
later.

# one_word_too_many
- i + n] -> i + n + 1]
- n + 1) -> n)
Your n-grams have n + 1 words.

For n = 1 they are pairs. A slice leaves out the position behind the colon.

# words_inside_words
- (written & allowed).total()
+ 0
+ for gram, count in written.items():
+     inside = [" ".join(r).count(" ".join(gram)) for r in references]
+     matches += min(count, max(inside))
or
- (written & allowed).total()
+ 0
+ for gram, count in written.items():
+     inside = [" ".join(gram) in " ".join(r) for r in references]
+     matches += count * any(inside)
You look for a string in a string, and find words inside other words.

*he* does not occur in *the cat*. Compare whole words, in tuples for example.

# divided_already
- return matches, total -> return matches / total if total else 0.0
or
- return matches, total -> return matches / total
or
- return matches, total -> return matches / max(1, total)
You return the precision, matches divided by the total.

Over a corpus both numbers are summed before they are divided, so return both.
"""

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
    hints=(
        "Take one reference first. How often does each n-gram stand in the "
        "hypothesis, how often in the reference, and which of the two counts "
        "limits the matches? Then: what do two references allow?",
        "Counters of tuples do nearly all of it: & takes the smaller of two "
        "counts, | the larger. Join the references by one of them, then the "
        "hypothesis by the other.",
    ),
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
