from collections import Counter


def right_1(hypothesis, references, n):
    """Counters; the maximum over references by |."""

    def count(words):
        return Counter(
            tuple(words[i : i + n]) for i in range(len(words) - n + 1)
        )

    mine = count(hypothesis)
    most = Counter()
    for reference in references:
        most |= count(reference)
    return (mine & most).total(), mine.total()


def right_2(hypothesis, references, n):
    """Lists of slices; counts each different n-gram by hand."""

    def grams(words):
        return [words[i : i + n] for i in range(len(words) - n + 1)]

    written = grams(hypothesis)
    allowed = [grams(reference) for reference in references]
    seen = []
    matches = 0
    for gram in written:
        if gram in seen:
            continue
        seen.append(gram)
        limit = max(reference.count(gram) for reference in allowed)
        matches += min(written.count(gram), limit)
    return matches, len(written)


def single_1(hypothesis, references, n):
    """Does not clip: counts each n-gram found in some reference."""

    def ngrams(words):
        return [tuple(words[i : i + n]) for i in range(len(words) - n + 1)]

    known = set()
    for reference in references:
        known.update(ngrams(reference))
    grams = ngrams(hypothesis)
    return sum(gram in known for gram in grams), len(grams)


def single_2(hypothesis, references, n):
    """Adds the references' counts up instead of taking the largest."""
    h = Counter(zip(*[hypothesis[i:] for i in range(n)]))
    r = Counter()
    for reference in references:
        r.update(zip(*[reference[i:] for i in range(n)]))
    matches = sum(min(count, r[gram]) for gram, count in h.items())
    return matches, sum(h.values())


def single_3(hypothesis, references, n):
    """Takes the one reference with most matches for all n-grams."""

    def count(words):
        c = Counter()
        for i in range(len(words) - n + 1):
            c[tuple(words[i : i + n])] += 1
        return c

    mine = count(hypothesis)
    best = max(sum((mine & count(ref)).values()) for ref in references)
    return best, sum(mine.values())


def single_4(hypothesis, references, n):
    """Counts different n-grams only, as sets."""

    def grams(words):
        return {tuple(words[i : i + n]) for i in range(len(words) - n + 1)}

    mine = grams(hypothesis)
    theirs = set().union(*(grams(reference) for reference in references))
    return len(mine & theirs), len(mine)


def single_5(hypothesis, references, n):
    """Joins all references into one text before counting."""

    def count(words):
        return Counter(
            tuple(words[i : i + n]) for i in range(len(words) - n + 1)
        )

    together = [word for reference in references for word in reference]
    h, r = count(hypothesis), count(together)
    matches = sum((h & r).values())
    return matches, sum(h.values())


def double_1(hypothesis, references, n):
    """1. The range ends one n-gram early; 2. looks at one reference only."""

    def count(words):
        return Counter(tuple(words[i : i + n]) for i in range(len(words) - n))

    h = count(hypothesis)
    r = count(references[0])
    return sum((h & r).values()), sum(h.values())


def double_2(hypothesis, references, n):
    """1. Clips by the smallest count; 2. the total is that of references."""

    def count(words):
        return Counter(
            tuple(words[i : i + n]) for i in range(len(words) - n + 1)
        )

    h = count(hypothesis)
    rs = [count(reference) for reference in references]
    matches = 0
    for gram, number in h.items():
        matches += min(number, min(r[gram] for r in rs))
    total = max(sum(r.values()) for r in rs)
    return matches, total
