from collections import Counter


def right_1(hypothesis, references, n):
    """Counters: the most often in any reference, then the smaller one."""

    def ngrams(words):
        return Counter(
            tuple(words[i : i + n]) for i in range(len(words) - n + 1)
        )

    written = ngrams(hypothesis)
    allowed = Counter()
    for reference in references:
        allowed |= ngrams(reference)
    return (written & allowed).total(), written.total()


def right_2(hypothesis, references, n):
    """Lists and count, with a set of what has been dealt with."""
    grams = [hypothesis[i : i + n] for i in range(len(hypothesis) - n + 1)]
    in_references = []
    for ref in references:
        in_references.append([ref[i : i + n] for i in range(len(ref) - n + 1)])
    matches = 0
    seen = []
    for gram in grams:
        if gram in seen:
            continue
        seen.append(gram)
        most = max(ref_grams.count(gram) for ref_grams in in_references)
        matches += min(grams.count(gram), most)
    return matches, len(grams)


def single_1(hypothesis, references, n):
    """Adds up how often it stands in all the references together."""
    hyp = Counter(zip(*[hypothesis[i:] for i in range(n)]))
    ref = Counter()
    for words in references:
        ref.update(zip(*[words[i:] for i in range(n)]))
    matches = sum(min(count, ref[gram]) for gram, count in hyp.items())
    return matches, sum(hyp.values())


def single_2(hypothesis, references, n):
    """Takes the one reference that fits best, for all n-grams."""

    def count(words):
        return Counter(
            tuple(words[i : i + n]) for i in range(len(words) - n + 1)
        )

    hyp = count(hypothesis)
    best = 0
    for reference in references:
        ref = count(reference)
        best = max(best, sum(min(c, ref[g]) for g, c in hyp.items()))
    return best, sum(hyp.values())


def single_3(hypothesis, references, n):
    """An n-gram that is in some reference matches, each time."""
    known = set()
    for ref in references:
        for i in range(len(ref) - n + 1):
            known.add(tuple(ref[i : i + n]))
    matches = total = 0
    for i in range(len(hypothesis) - n + 1):
        total += 1
        if tuple(hypothesis[i : i + n]) in known:
            matches += 1
    return matches, total


def single_4(hypothesis, references, n):
    """Compares sets: each different n-gram counts once."""

    def grams(words):
        return {tuple(words[i : i + n]) for i in range(len(words) - n + 1)}

    written = grams(hypothesis)
    right = set().union(*[grams(ref) for ref in references])
    return len(written & right), len(written)


def single_5(hypothesis, references, n):
    """BLEU-n: counts all lengths from 1 up to n."""
    matches, total = 0, 0
    if len(hypothesis) < n:
        return 0, 0
    for k in range(1, n + 1):
        hyp = Counter(zip(*(hypothesis[i:] for i in range(k))))
        most = Counter()
        for ref in references:
            most |= Counter(zip(*(ref[i:] for i in range(k))))
        matches += sum((hyp & most).values())
        total += sum(hyp.values())
    return matches, total


def double_1(hypothesis, references, n):
    """1. Divides by the shortest reference's n-grams; 2. does not clip."""
    if len(hypothesis) < n:
        return 0, 0

    def grams(words):
        return [tuple(words[i : i + n]) for i in range(len(words) - n + 1)]

    refs = [grams(r) for r in references]
    matches = sum(
        any(gram in ref for ref in refs) for gram in grams(hypothesis)
    )
    return matches, min(len(ref) for ref in refs)


def double_2(hypothesis, references, n):
    """1. Looks at the first reference alone; 2. the total counts words."""
    if len(hypothesis) < n:
        return 0, 0
    reference = references[0]
    hyp = Counter(
        " ".join(hypothesis[i : i + n]) for i in range(len(hypothesis) - n + 1)
    )
    ref = Counter(
        " ".join(reference[i : i + n]) for i in range(len(reference) - n + 1)
    )
    overlap = sum(min(hyp[g], ref[g]) for g in hyp)
    return overlap, len(hypothesis)
