"""Exercises of chapter 14: evaluation."""

import math
from collections import Counter

import torch
from jaxtyping import Float, Int
from torch import Tensor

from transformer_course.exercises.engine.draw import Draw
from transformer_course.exercises.engine.exercise import (
    Case,
    Exercise,
    case,
    see,
)

SURPRISE = "14_evaluation#how-surprised-was-it-perplexity"
BY_HAND = "14_evaluation#partial-credit-bleu-by-hand"
CORPUS = "14_evaluation#a-whole-corpus"
REAL = "12_training#over-real-tokens-only"

# --- text_perplexity ---------------------------------------------------------


def text_perplexity(
    log_probs: Float[Tensor, "batch target"],
    tgt_out: Int[Tensor, "batch target"],
    pad_id: int = 0,
) -> Float[Tensor, ""]:
    """The perplexity of a text, per token.

    Args:
        log_probs: the natural logarithm of the probability that the model
            gave to the right token, at each place; at padding it may be any
            number, and minus infinity.
        tgt_out: the right tokens; ``pad_id`` fills up. One at least is real.
        pad_id: the token that counts nowhere. All others are real, eos too.

    Returns:
        The number of equally likely tokens that would leave one as unsure,
        over all real tokens of the text, each of which counts alike: a tensor
        without axes, of the logarithms' dtype.
    """
    ### BEGIN SOLUTION
    real = tgt_out != pad_id
    return (-log_probs[real].mean()).exp()
    ### END SOLUTION


def perplexity_by_sums(log_probs, tgt_out, pad_id=0):
    real = (tgt_out != pad_id).to(log_probs.dtype)
    nats = -torch.where(real > 0, log_probs, 0).sum()
    return torch.exp(nats / real.sum())


def perplexity_in_bits(log_probs, tgt_out, pad_id=0):
    bits = -log_probs.masked_select(tgt_out != pad_id) / math.log(2)
    return 2 ** bits.mean()


def perplexity_by_loop(log_probs, tgt_out, pad_id=0):
    nats, tokens = 0.0, 0
    for row, ids in zip(log_probs, tgt_out.tolist(), strict=True):
        for log_p, token in zip(row, ids, strict=True):
            if token != pad_id:
                nats = nats - log_p
                tokens += 1
    return (nats / tokens).exp()


@see(REAL)
def padding_counted(log_probs, tgt_out, pad_id=0):
    """You count padding.

    "What comes after the end?" is easily answered, so the text looks less
    surprising than it is.
    """
    return (-log_probs.mean()).exp()


@see(REAL)
def divided_by_all_places(log_probs, tgt_out, pad_id=0):
    """You leave padding out of the sum, but not out of the number that you
    divide by.

    So the text looks less surprising than it is.
    """
    return (-(log_probs * (tgt_out != pad_id)).mean()).exp()


def padding_always_zero(log_probs, tgt_out, pad_id=0):
    """You take 0 for padding, whatever `pad_id` says."""
    return (-log_probs[tgt_out != 0].mean()).exp()


def to_the_base_of_two(log_probs, tgt_out, pad_id=0):
    """You take 2 to the power of nats.

    These logarithms are natural, so it is e that has to be raised. (2 goes
    with bits: logarithms to the base of 2.)
    """
    return 2 ** -log_probs[tgt_out != pad_id].mean()


def cross_entropy_itself(log_probs, tgt_out, pad_id=0):
    """Yours is the cross entropy, in nats.

    All but the last step: for six equally likely words it says 1.79, where
    the perplexity is 6.
    """
    return -log_probs[tgt_out != pad_id].mean()


def sign_forgotten(log_probs, tgt_out, pad_id=0):
    """Your result is 1 over the perplexity.

    It lies between 0 and 1, and is higher for the better model: a mean
    *probability*. One sign is missing.
    """
    return log_probs[tgt_out != pad_id].mean().exp()


def mean_of_sentences(log_probs, tgt_out, pad_id=0):
    """You take the perplexity of each sentence, and the mean of these.

    One bad sentence then weighs as much as many good ones. Take the mean of
    the *surprise*, over all tokens, and the exponential once.
    """
    real = tgt_out != pad_id
    nats = -torch.where(real, log_probs, 0).sum(dim=1) / real.sum(dim=1)
    return nats.exp().mean()


def each_sentence_alike(log_probs, tgt_out, pad_id=0):
    """Each sentence counts alike, however long it is.

    Yours is a mean of the sentences' mean surprise. A token of a short
    sentence counts for more than one of a long sentence: divide once, by all
    tokens.
    """
    real = tgt_out != pad_id
    nats = -torch.where(real, log_probs, 0).sum(dim=1) / real.sum(dim=1)
    return nats.mean().exp()


def mean_of_tokens(log_probs, tgt_out, pad_id=0):
    """You take 1 over the probability of each token, and the mean of these.

    A single improbable token then decides nearly all. The mean is of the
    logarithms; the exponential comes after it.
    """
    return (-log_probs[tgt_out != pad_id]).exp().mean()


def mean_probability(log_probs, tgt_out, pad_id=0):
    """Yours is 1 over the mean probability.

    Improbable tokens hardly count in it. The mean is of the *logarithms*;
    the exponential comes after it.
    """
    return 1 / log_probs[tgt_out != pad_id].exp().mean()


def of_the_whole_text(log_probs, tgt_out, pad_id=0):
    """You do not divide by the number of tokens.

    Yours is 1 over the probability of the text as a whole, which grows with
    every word. Asked for is what it is *per token*.
    """
    return (-log_probs[tgt_out != pad_id].sum()).exp()


def end_left_out(log_probs, tgt_out, pad_id=0):
    """You leave out eos.

    That the sentence ends is a question too, and the model has answered it.
    Only padding counts nowhere.
    """
    real = (tgt_out != pad_id) & (tgt_out != 2)
    return (-log_probs[real].mean()).exp()


def per_sentence(log_probs, tgt_out, pad_id=0):
    """You divide by the number of sentences, not of tokens.

    Then long sentences look worse, though each of their words may be easy.
    """
    total = -torch.where(tgt_out != pad_id, log_probs, 0).sum()
    return (total / len(log_probs)).exp()


def logs(*rows: list[float]) -> Tensor:
    """Logarithms of probabilities that can be read."""
    return torch.tensor(rows).log()


def draw_surprise(draw: Draw) -> Case:
    pad_id = draw.choice([0, 0, 3])
    ids = draw.ids(draw.size(1, 4), draw.size(1, 6), pad_id)
    return case("random tokens", -draw.normal(*ids.shape).abs(), ids, pad_id)


TEXT_PERPLEXITY = Exercise(
    solution=text_perplexity,
    section=SURPRISE,
    points=1,
    hints=(
        "A die that is thrown ten times is as surprising at each throw as at "
        "the others: 1/6. Follow that through the formula: what is summed, "
        "what is it divided by, and what is done last?",
        "Pick the logarithms at real places, of all sentences together. "
        "Minus their mean is the cross entropy; one function more.",
    ),
    cases=[
        case("a die", logs([1 / 6]), torch.tensor([[4]])),
        case(
            "a sure token and an unsure one",
            logs([1.0, 1 / 4]),
            torch.tensor([[4, 2]]),
        ),
        case(
            "a token and padding", logs([1 / 8, 0.9]), torch.tensor([[2, 0]])
        ),
        case(
            "padding that is not 0",
            logs([1 / 2, 1 / 8, 1.0]),
            torch.tensor([[0, 5, 1]]),
            1,
        ),
        case(
            "two sentences of different lengths",
            logs([1 / 2, 1 / 4, 1 / 2], [1 / 8, 0.9, 0.9]),
            torch.tensor([[5, 6, 2], [2, 0, 0]]),
        ),
        case(
            "float64",
            -Draw(3).normal(2, 4).double().abs(),
            torch.tensor([[7, 8, 9, 2], [4, 2, 0, 0]]),
        ),
    ],
    draw=draw_surprise,
    others=[perplexity_by_sums, perplexity_in_bits, perplexity_by_loop],
    mistakes=[
        padding_counted,
        divided_by_all_places,
        padding_always_zero,
        to_the_base_of_two,
        cross_entropy_itself,
        sign_forgotten,
        mean_of_sentences,
        each_sentence_alike,
        mean_of_tokens,
        mean_probability,
        of_the_whole_text,
        end_left_out,
        per_sentence,
    ],
)

# --- clipped_matches ---------------------------------------------------------


def clipped_matches(
    hypothesis: list[str], references: list[list[str]], n: int
) -> tuple[int, int]:
    """The two counts of BLEU's n-gram precision, of one sentence.

    Args:
        hypothesis: the words written.
        references: one or more right translations, in words.
        n: how many words in a row, 1 or more.

    Returns:
        How many n-grams of the hypothesis match, and how many it has; one
        that is written twice is two. Each n-gram by itself matches at most as
        often as it stands in *that one* reference which has it most often
        (Papineni et al. 2002); for another n-gram that may be another
        reference. Both are 0 if the hypothesis has fewer than n words.
    """

    ### BEGIN SOLUTION
    def n_grams(words: list[str]) -> Counter:
        starts = range(len(words) - n + 1)
        return Counter(tuple(words[i : i + n]) for i in starts)

    allowed = Counter()
    for reference in references:
        allowed |= n_grams(reference)  # the larger of two counts
    written = n_grams(hypothesis)
    return (written & allowed).total(), written.total()
    ### END SOLUTION


def matches_by_slices(hypothesis, references, n):
    def grams(words):
        return list(zip(*(words[i:] for i in range(n)), strict=False))

    written, wanted = grams(hypothesis), [grams(r) for r in references]
    matches = sum(
        min(written.count(gram), max(r.count(gram) for r in wanted))
        for gram in set(written)
    )
    return matches, len(written)


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


def grams_of(words, n):
    """All n-grams, from left to right."""
    return [tuple(words[i : i + n]) for i in range(len(words) - n + 1)]


def counted(words, n):
    """How often each n-gram is there."""
    return Counter(grams_of(words, n))


def allowance(references, n):
    """How often each n-gram may match."""
    most = Counter()
    for reference in references:
        most |= counted(reference, n)
    return most


def not_clipped(hypothesis, references, n):
    """You do not clip: whatever stands in a reference matches each time.

    So *milk milk milk* gets full marks if milk is mentioned once.
    """
    grams, known = grams_of(hypothesis, n), allowance(references, n)
    return sum(gram in known for gram in grams), len(grams)


def each_kind_once(hypothesis, references, n):
    """You count kinds of n-grams: one that comes twice counts once.

    Sets forget how often. If *the* stands twice on both sides, both match;
    and the total is the number of all n-grams written.
    """
    kinds = set(grams_of(hypothesis, n))
    return len(kinds & set(allowance(references, n))), len(kinds)


def matches_of_each_kind_once(hypothesis, references, n):
    """An n-gram matches at most once, however often the reference has it.

    Your total is right. But if *the* stands twice on both sides, both match.
    """
    kinds = set(grams_of(hypothesis, n)) & set(allowance(references, n))
    return len(kinds), len(grams_of(hypothesis, n))


def clipped_at_the_sum(hypothesis, references, n):
    """You add up what the references have.

    With two references *milk milk* would match twice, though neither says
    milk more than once. A match is clipped at the most that any one of them
    has.
    """
    together = Counter()
    for reference in references:
        together += counted(reference, n)
    written = counted(hypothesis, n)
    return (written & together).total(), written.total()


def clipped_at_the_least(hypothesis, references, n):
    """An n-gram matches only as often as *every* reference has it.

    Then a further reference could only lower the score. It is there so that
    more ways to say it are allowed: clip at the most that any one has.
    """
    least = counted(references[0], n)
    for reference in references[1:]:
        least &= counted(reference, n)
    written = counted(hypothesis, n)
    return (written & least).total(), written.total()


def first_reference_only(hypothesis, references, n):
    """You look at the first reference only.

    A word that another translator chose is right as well.
    """
    written = counted(hypothesis, n)
    wanted = counted(references[0], n)
    return (written & wanted).total(), written.total()


def last_reference_only(hypothesis, references, n):
    """Only the last reference counts.

    Does your loop over the references forget what it found before?
    """
    written = counted(hypothesis, n)
    wanted = counted(references[-1], n)
    return (written & wanted).total(), written.total()


def closest_reference_only(hypothesis, references, n):
    """You look only at the reference whose length is closest.

    That is how r is chosen, for the brevity penalty. An n-gram may match in
    any of them.
    """
    gap = [abs(len(reference) - len(hypothesis)) for reference in references]
    written = counted(hypothesis, n)
    wanted = counted(references[gap.index(min(gap))], n)
    return (written & wanted).total(), written.total()


def best_single_reference(hypothesis, references, n):
    """You match with each reference, and keep the best of the results.

    Clipping goes n-gram by n-gram: one may be found in the first reference,
    and the next one in the second.
    """
    written = counted(hypothesis, n)
    matches = [(written & counted(r, n)).total() for r in references]
    return max(matches), written.total()


def summed_over_references(hypothesis, references, n):
    """You add up the matches with each reference.

    A word that stands in two references is counted twice, and there may be
    more matches than words.
    """
    written = counted(hypothesis, n)
    matches = [(written & counted(r, n)).total() for r in references]
    return sum(matches), written.total()


def references_joined(hypothesis, references, n):
    """You join the references to one long text.

    What each has is then added up, and the end of one and the beginning of
    the next make n-grams that stand in neither.
    """
    joined = [word for reference in references for word in reference]
    written = counted(hypothesis, n)
    return (written & counted(joined, n)).total(), written.total()


def total_of_kinds(hypothesis, references, n):
    """Your second number counts each kind of n-gram once.

    The matches are right. But *milk milk milk* has three words, not one, and
    two of them are wrong.
    """
    written = counted(hypothesis, n)
    return (written & allowance(references, n)).total(), len(written)


def total_before_matches(hypothesis, references, n):
    """Your two numbers are right, but the wrong way round.

    The matches come first, then all that there are.
    """
    written = counted(hypothesis, n)
    matches = (written & allowance(references, n)).total()
    return written.total(), matches


def total_of_words(hypothesis, references, n):
    """Your second number counts words, whatever n is.

    The matches are right. But a row of w words has fewer pairs than words:
    w - 1, and of longer n-grams fewer still.
    """
    matches = (counted(hypothesis, n) & allowance(references, n)).total()
    return matches, len(hypothesis)


def total_below_zero(hypothesis, references, n):
    """Your second number is negative for very short sentences.

    You compute it by a formula. A sentence of one word has no triples: 0 of
    them, not -1.
    """
    matches = (counted(hypothesis, n) & allowance(references, n)).total()
    return matches, len(hypothesis) - n + 1


def counts_of_the_reference(hypothesis, references, n):
    """You count how often each n-gram stands in the *reference*.

    One *the* written, and two in the reference: that is one match. Of the
    two counts it is always the smaller.
    """
    written, allowed = counted(hypothesis, n), allowance(references, n)
    return sum(allowed[gram] for gram in written), written.total()


@see("14_evaluation#parts-of-words-chrf")
def characters(hypothesis, references, n):
    """Your n-grams are of characters.

    So it is in chrF. Here the words are joined to a text somewhere, with
    spaces between, where they should be kept apart.
    """
    rows = [" ".join(words) for words in (hypothesis, *references)]
    written = counted(rows[0], n)
    return (written & allowance(rows[1:], n)).total(), written.total()


@see("14_evaluation#parts-of-words-chrf")
def total_of_the_reference(hypothesis, references, n):
    """Your second number counts the n-grams of the first reference.

    That is recall: how much of the reference was written. BLEU has
    precision: how much of what was written is in the reference.
    """
    matches = (counted(hypothesis, n) & allowance(references, n)).total()
    return matches, len(grams_of(references[0], n))


def last_n_gram_missing(hypothesis, references, n):
    """You miss the last n-gram of each sentence.

    A row of w words has w - n + 1 of them; yours are one fewer.
    """

    def fewer(words):
        return Counter(grams_of(words, n)[:-1])

    allowed = Counter()
    for reference in references:
        allowed |= fewer(reference)
    written = fewer(hypothesis)
    return (written & allowed).total(), written.total()


def shorter_ones_at_the_end(hypothesis, references, n):
    """You begin an n-gram at each word, the last ones too.

    A slice that reaches beyond the end is shorter: the last word alone is no
    pair. A row of w words has w - n + 1 n-grams.
    """

    def ragged(words):
        return Counter(tuple(words[i : i + n]) for i in range(len(words)))

    allowed = Counter()
    for reference in references:
        allowed |= ragged(reference)
    written = ragged(hypothesis)
    return (written & allowed).total(), written.total()


def all_orders_to_n(hypothesis, references, n):
    """You count all n-grams *up to* n together.

    Each order has a precision of its own; the mean is taken later.
    """
    matches = total = 0
    for order in range(1, n + 1):
        written = counted(hypothesis, order)
        matches += (written & allowance(references, order)).total()
        total += written.total()
    return matches, total


def single_words_only(hypothesis, references, n):
    """You count single words, whatever n is.

    Then the order of the words does not matter at all.
    """
    written = counted(hypothesis, 1)
    return (written & allowance(references, 1)).total(), written.total()


def blocks_of_n(hypothesis, references, n):
    """You cut the sentences into blocks of n words.

    N-grams overlap: the second one begins at the second word, not at the
    word after the first block.
    """
    written = Counter(grams_of(hypothesis, n)[::n])
    allowed = Counter()
    for reference in references:
        allowed |= Counter(grams_of(reference, n)[::n])
    return (written & allowed).total(), written.total()


def order_ignored(hypothesis, references, n):
    """Inside an n-gram, your order of words does not matter.

    *cold the* matches *the cold*. Longer n-grams are there to see the order:
    keep the words as they stand.
    """

    def bags(words):
        return Counter(tuple(sorted(gram)) for gram in grams_of(words, n))

    allowed = Counter()
    for reference in references:
        allowed |= bags(reference)
    written = bags(hypothesis)
    return (written & allowed).total(), written.total()


def same_place_only(hypothesis, references, n):
    """An n-gram of yours matches only at the same place of the sentence.

    One word too many in front, and nothing is right any more. It may stand
    anywhere in the reference.
    """
    written = grams_of(hypothesis, n)
    rows = [grams_of(reference, n) for reference in references]
    matches = sum(
        any(i < len(row) and row[i] == gram for row in rows)
        for i, gram in enumerate(written)
    )
    return matches, len(written)


CAT = "the old cat did not drink the cold milk"


def texts(note: str, hypothesis: str, *references: str, n: int) -> Case:
    """Words, from sentences that can be read."""
    return case(note, hypothesis.split(), [r.split() for r in references], n)


def draw_texts(draw: Draw) -> Case:
    def sentence(low: int) -> list[str]:
        count = draw.size(low, 7)
        return [draw.choice(["a", "b", "c", "d"]) for _ in range(count)]

    references = [sentence(3) for _ in range(draw.size(1, 3))]
    return case("random words", sentence(1), references, draw.size(1, 3))


CLIPPED_MATCHES = Exercise(
    solution=clipped_matches,
    section=BY_HAND,
    points=2,
    hints=(
        "Take one reference first. How often does each n-gram stand in the "
        "hypothesis, how often in the reference, and which of the two counts "
        "is what may match? Then: what do two references allow?",
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
        texts("two references", "cold milk", "milk", "cold tea", n=1),
        texts("each has it once", "milk milk", "milk", "the milk", n=1),
        texts("in the second only", "tea", "milk", "tea", n=1),
        texts("in the first only", "milk", "milk", "tea", n=1),
        texts("across two references", "cat milk", "a cat", "milk", n=2),
        texts("in two references", "milk tea", "milk", "milk", n=1),
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
    others=[matches_by_slices, matches_by_crossing_out],
    mistakes=[
        not_clipped,
        each_kind_once,
        matches_of_each_kind_once,
        clipped_at_the_sum,
        clipped_at_the_least,
        first_reference_only,
        last_reference_only,
        closest_reference_only,
        best_single_reference,
        summed_over_references,
        references_joined,
        total_of_kinds,
        total_before_matches,
        total_of_words,
        total_below_zero,
        counts_of_the_reference,
        characters,
        total_of_the_reference,
        last_n_gram_missing,
        shorter_ones_at_the_end,
        all_orders_to_n,
        single_words_only,
        blocks_of_n,
        order_ignored,
        same_place_only,
    ],
)

# --- bleu --------------------------------------------------------------------


def bleu(counts: Int[Tensor, "sentence 10"]) -> float:
    """BLEU of a corpus, from the counts of its sentences; not smoothed.

    Args:
        counts: a row for each sentence: the number of words written, h, and
            wanted, r; then the clipped matches of n = 1, 2, 3, 4 words in a
            row, and the numbers of these that were written. In a short
            sentence some are 0.

    Returns:
        A plain number from 0 to 100; 0 if for one of the four n there is no
        match in the whole corpus.
    """
    ### BEGIN SOLUTION
    h, r, *rest = counts.sum(dim=0).tolist()
    matches, totals = rest[:4], rest[4:]
    if 0 in matches:
        return 0.0
    pairs = zip(matches, totals, strict=True)
    log_mean = sum(math.log(match / total) for match, total in pairs) / 4
    brevity = min(0.0, 1 - r / h)
    return 100 * math.exp(brevity + log_mean)
    ### END SOLUTION


def bleu_by_tensors(counts):
    sums = counts.sum(dim=0).double()
    if (sums[2:6] == 0).any():
        return 0.0
    mean = (sums[2:6] / sums[6:]).log().mean().exp()
    penalty = torch.exp(1 - sums[1] / sums[0]).clamp(max=1)
    return float(100 * penalty * mean)


def bleu_by_product(counts):
    columns = [sum(column) for column in zip(*counts.tolist(), strict=True)]
    product = 1.0
    for n in range(4):
        if columns[2 + n] == 0:
            return 0.0
        product *= columns[2 + n] / columns[6 + n]
    h, r = columns[:2]
    penalty = 1.0 if h >= r else math.exp(1 - r / h)
    return 100.0 * penalty * product**0.25


def parts_of(counts):
    """Lengths, matches and totals of the corpus."""
    h, r, *rest = counts.sum(dim=0).tolist()
    return h, r, rest[:4], rest[4:]


def geometric(matches, totals):
    """The mean of the precisions, 0 if one is."""
    if 0 in matches:
        return 0.0
    product = math.prod(m / t for m, t in zip(matches, totals, strict=True))
    return product ** (1 / len(matches))


def brevity_penalty(h, r):
    """1 for what is long enough."""
    return 1.0 if h >= r else math.exp(1 - r / h)


def mean_of_sentence_bleus(counts):
    """You take BLEU of each sentence, and the mean of these.

    A sentence in which no four words in a row match gets 0, however near it
    came. Counts are summed over the corpus first; then there is one
    division.
    """
    scores = [bleu(row[None]) for row in counts]
    return sum(scores) / len(scores)


def mean_of_precisions(counts):
    """You divide in each sentence, and take means of the precisions.

    A short sentence then counts as much as a long one. Sum the matches, and
    the totals, over the corpus; then divide once for each n.
    """
    h, r, *_ = parts_of(counts)
    each = counts[:, 2:6].double() / counts[:, 6:].double().clamp(min=1)
    precisions = each.mean(dim=0).tolist()
    return 100 * brevity_penalty(h, r) * geometric(precisions, [1.0] * 4)


def penalty_by_sentence(counts):
    """You take a brevity penalty for each sentence.

    One short sentence is no fault, as long as the text as a whole is long
    enough: both lengths are summed over the corpus, and there is one
    penalty.
    """
    _, _, matches, totals = parts_of(counts)
    each = [brevity_penalty(h, r) for h, r in counts[:, :2].tolist()]
    return 100 * sum(each) / len(each) * geometric(matches, totals)


def arithmetic_mean(counts):
    """You add the four precisions and divide by four.

    Then single words, which match easily, decide. BLEU takes the geometric
    mean: halving any one of the four costs the same.
    """
    h, r, matches, totals = parts_of(counts)
    if 0 in matches:
        return 0.0
    mean = sum(m / t for m, t in zip(matches, totals, strict=True)) / 4
    return 100 * brevity_penalty(h, r) * mean


def harmonic_mean(counts):
    """You take the harmonic mean of the four precisions.

    An F-score does so, as in chrF. BLEU takes the geometric mean: halving
    any one of the four costs the same.
    """
    h, r, matches, totals = parts_of(counts)
    if 0 in matches:
        return 0.0
    pairs = zip(matches, totals, strict=True)
    return 100 * brevity_penalty(h, r) * 4 / sum(t / m for m, t in pairs)


def arithmetic_mean_with_zeros(counts):
    """You add the four precisions and divide by four.

    Then single words, which match easily, decide, and nothing is lost where
    no four words in a row match. BLEU takes the geometric mean, in which one
    zero makes all zero.
    """
    h, r, matches, totals = parts_of(counts)
    pairs = zip(matches, totals, strict=True)
    mean = sum(m / max(t, 1) for m, t in pairs) / 4
    return 100 * brevity_penalty(h, r) * mean


def product_without_root(counts):
    """You multiply the four precisions, but take no root.

    A mean of four equal precisions has to be that precision.
    """
    h, r, matches, totals = parts_of(counts)
    return 100 * brevity_penalty(h, r) * geometric(matches, totals) ** 4


def one_division_for_all(counts):
    """You put all n into one sum, and divide once.

    Each n has a precision of its own, and the four are then averaged.
    """
    h, r, matches, totals = parts_of(counts)
    if 0 in matches:
        return 0.0
    return 100 * brevity_penalty(h, r) * sum(matches) / sum(totals)


def up_to_three(counts):
    """You leave out the fours.

    Your mean is of three precisions: the last column of each group is
    missing.
    """
    h, r, matches, totals = parts_of(counts)
    return 100 * brevity_penalty(h, r) * geometric(matches[:3], totals[:3])


def without_single_words(counts):
    """You leave out the single words.

    Your mean is of three precisions: the first column of each group is
    missing.
    """
    h, r, matches, totals = parts_of(counts)
    return 100 * brevity_penalty(h, r) * geometric(matches[1:], totals[1:])


def matches_over_totals_of_one(counts):
    """You divide every match by the number of single words.

    Longer n-grams are fewer: each n has a total of its own.
    """
    h, r, matches, totals = parts_of(counts)
    return 100 * brevity_penalty(h, r) * geometric(matches, [totals[0]] * 4)


def fours_alone(counts):
    """Your precision is that of four words in a row alone.

    BLEU takes the mean over one to four.
    """
    h, r, matches, totals = parts_of(counts)
    return 100 * brevity_penalty(h, r) * geometric(matches[3:], totals[3:])


def zeros_left_out(counts):
    """You leave out an n without matches, and average the others.

    Not smoothed, a zero makes the whole score zero; so it is asked.
    """
    h, r, matches, totals = parts_of(counts)
    kept = [(m, t) for m, t in zip(matches, totals, strict=True) if m]
    if not kept:
        return 0.0
    mean = sum(math.log(m / t) for m, t in kept) / len(kept)
    return 100 * brevity_penalty(h, r) * math.exp(mean)


def one_added_to_each(counts):
    """You add 1 to the matches and to the totals.

    That is a kind of smoothing, for single sentences. Here it is not asked
    for: it changes every score.
    """
    h, r, matches, totals = parts_of(counts)
    mean = geometric([m + 1 for m in matches], [t + 1 for t in totals])
    return 100 * brevity_penalty(h, r) * mean


def zeros_fail(counts):
    """Your code fails where one n has no match: log 0.

    The score is 0 then. A geometric mean with a zero in it is zero.
    """
    h, r, matches, totals = parts_of(counts)
    pairs = zip(matches, totals, strict=True)
    mean = sum(math.log(m / t) for m, t in pairs) / 4
    return 100 * brevity_penalty(h, r) * math.exp(mean)


def no_brevity_penalty(counts):
    """What is too short costs nothing.

    Who writes only the words that are sure gets full marks: the brevity
    penalty is missing.
    """
    _, _, matches, totals = parts_of(counts)
    return 100 * geometric(matches, totals)


def penalty_turned_round(counts):
    """You punish what is too long, and not what is too short.

    Each word too many lowers the precisions already. What they do not see is
    what is missing. (Which of the two lengths comes first in a row?)
    """
    h, r, matches, totals = parts_of(counts)
    return 100 * brevity_penalty(r, h) * geometric(matches, totals)


def longer_ones_punished_by_more(counts):
    """You punish what is too long, and not what is too short.

    The fraction in your exponent stands upside down, and the sign with it:
    the exponent is negative for h above r.
    """
    h, r, matches, totals = parts_of(counts)
    factor = math.exp(min(0.0, r / h - 1))
    return 100 * factor * geometric(matches, totals)


def long_ones_rewarded(counts):
    """What is longer than the reference gets more than it should.

    Your factor is e to the power of 1 - r/h on both sides. For h of r or
    more it is 1.
    """
    h, r, matches, totals = parts_of(counts)
    return 100 * math.exp(1 - r / h) * geometric(matches, totals)


def long_ones_punished_too(counts):
    """You punish what is too short, and what is too long as well.

    Too long needs no penalty: each word too many lowers the precisions.
    """
    h, r, matches, totals = parts_of(counts)
    factor = brevity_penalty(h, r) * brevity_penalty(r, h)
    return 100 * factor * geometric(matches, totals)


def penalty_upside_down(counts):
    """You *reward* what is too short.

    In your exponent the fraction stands upside down: for h below r it makes
    the factor larger than 1.
    """
    h, r, matches, totals = parts_of(counts)
    factor = 1.0 if h >= r else math.exp(1 - h / r)
    return 100 * factor * geometric(matches, totals)


def share_of_the_length(counts):
    """Your brevity penalty is the share h / r itself.

    It is close to the right one for what is nearly long enough, and too mild
    for what is not: BLEU has an exponential there.
    """
    h, r, matches, totals = parts_of(counts)
    return 100 * min(1.0, h / r) * geometric(matches, totals)


def penalty_under_the_root(counts):
    """You take the brevity penalty into the mean.

    Under the fourth root it loses most of its force. It multiplies the mean
    when that is done.
    """
    h, r, matches, totals = parts_of(counts)
    return 100 * brevity_penalty(h, r) ** 0.25 * geometric(matches, totals)


def zero_to_one(counts):
    """Your score goes from 0 to 1. Asked for is 0 to 100."""
    return bleu(counts) / 100


def sentences_without_fours_left_out(counts):
    """You leave out the sentences in which some n has no match.

    They are the bad ones, and the score rises. All sentences go into the
    sums; a zero counts only if it is left when all are added.
    """
    return bleu(counts[(counts[:, 2:6] > 0).all(dim=1)])


def first_sentence_only(counts):
    """Only the first sentence counts.

    Sum over the rows before you divide.
    """
    return bleu(counts[:1])


def divided_by_the_words_wanted(counts):
    """You divide the matches by what the *reference* has.

    You seem to take r, and n - 1 fewer for longer n-grams. That is recall;
    BLEU divides by what was written, which the last four columns say.
    """
    h, r, matches, _ = parts_of(counts)
    wanted = [
        sum(max(0, length - n) for length in counts[:, 1].tolist())
        for n in range(4)
    ]
    return 100 * brevity_penalty(h, r) * geometric(matches, wanted)


def sentences(*rows: tuple[int, ...]) -> Tensor:
    """Counts from h, r and four matches: totals follow from h."""
    return torch.tensor(
        [[*row, *(max(0, row[0] - n) for n in range(4))] for row in rows]
    )


def draw_counts(draw: Draw) -> Case:
    rows = []
    for _ in range(draw.size(1, 5)):
        row = [draw.size(5, 12), draw.size(5, 12)]
        for n in range(4):
            last = row[-1] if n else min(row)
            most = min(last, row[0] - n, row[1] - n)
            row.append(max(0, most - draw.size(0, 2)))
        rows.append(tuple(row))
    return case("random counts", sentences(*rows))


BLEU = Exercise(
    solution=bleu,
    section=CORPUS,
    points=3,
    hints=(
        "What is summed over the corpus, and what is divided? There are four "
        "fractions, one mean of a certain kind, and one factor that looks at "
        "nothing but two lengths.",
        "Sum each column first. A geometric mean is the exponential of a "
        "mean of logarithms; see to the zeros before you take them. What the "
        "brevity penalty has in its exponent is never above 0.",
    ),
    cases=[
        case("one sentence, all right", sentences((5, 5, 5, 4, 3, 2))),
        case("the chapter's sentence", sentences((7, 9, 7, 4, 3, 2))),
        case("too short, all right", sentences((5, 10, 5, 4, 3, 2))),
        case("too long", sentences((10, 5, 5, 4, 3, 2))),
        case("no four words match", sentences((6, 6, 4, 2, 1, 0))),
        case("nothing matches", sentences((5, 6, 0, 0, 0, 0))),
        case("shorter than four words", sentences((3, 3, 3, 2, 1, 0))),
        case(
            "one too short, one too long",
            sentences((4, 8, 4, 3, 2, 1), (12, 8, 7, 5, 4, 3)),
        ),
        case(
            "no four words match in one of two",
            sentences((6, 6, 4, 2, 1, 0), (9, 9, 9, 8, 7, 6)),
        ),
        case(
            "a good short one and a poor long one",
            sentences((5, 5, 5, 4, 3, 2), (12, 12, 6, 3, 2, 1)),
        ),
        case(
            "a whole page, a little too short",
            sentences(*[(9, 10, 8, 6, 4, 3), (11, 11, 9, 6, 5, 3)] * 10),
        ),
    ],
    draw=draw_counts,
    others=[bleu_by_tensors, bleu_by_product],
    mistakes=[
        mean_of_sentence_bleus,
        mean_of_precisions,
        penalty_by_sentence,
        arithmetic_mean,
        harmonic_mean,
        arithmetic_mean_with_zeros,
        product_without_root,
        one_division_for_all,
        up_to_three,
        without_single_words,
        matches_over_totals_of_one,
        fours_alone,
        zeros_left_out,
        one_added_to_each,
        zeros_fail,
        no_brevity_penalty,
        penalty_turned_round,
        longer_ones_punished_by_more,
        long_ones_rewarded,
        long_ones_punished_too,
        penalty_upside_down,
        share_of_the_length,
        penalty_under_the_root,
        zero_to_one,
        sentences_without_fours_left_out,
        first_sentence_only,
        divided_by_the_words_wanted,
    ],
)

EXERCISES = [TEXT_PERPLEXITY, CLIPPED_MATCHES, BLEU]
"""In the order of the notebook."""
