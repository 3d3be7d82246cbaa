import math


def right_1(counts):
    """Sums the rows, then the formula with logarithms."""
    h, r, *rest = counts.sum(dim=0).tolist()
    matches, written = rest[:4], rest[4:]
    if min(matches) == 0:
        return 0.0
    mean_log = sum(math.log(m / w) for m, w in zip(matches, written)) / 4
    penalty = 1.0 if h >= r else math.exp(1 - r / h)
    return 100 * penalty * math.exp(mean_log)


def right_2(counts):
    """Goes through sentences in a loop; fourth root of the product."""
    totals = [0] * 10
    for row in counts.tolist():
        for i, number in enumerate(row):
            totals[i] += number
    product = 1.0
    for n in range(4):
        if totals[2 + n] == 0:
            return 0.0
        product *= totals[2 + n] / totals[6 + n]
    hyp_len, ref_len = totals[0], totals[1]
    brevity = math.exp(min(0.0, 1 - ref_len / hyp_len))
    return 100.0 * brevity * product**0.25


def single_1(counts):
    """Scores each sentence and takes the mean of the scores."""
    scores = []
    for h, r, *rest in counts.tolist():
        matches, written = rest[:4], rest[4:]
        if 0 in matches:
            scores.append(0.0)
            continue
        logs = [math.log(m / w) for m, w in zip(matches, written)]
        bp = min(1.0, math.exp(1 - r / h))
        scores.append(100 * bp * math.exp(sum(logs) / 4))
    return sum(scores) / len(scores)


def single_2(counts):
    """Penalty by the plain ratio of the lengths, h / r."""
    total = counts.sum(0).tolist()
    h, r = total[:2]
    if any(m == 0 for m in total[2:6]):
        return 0.0
    s = 0.0
    for m, w in zip(total[2:6], total[6:10]):
        s += 0.25 * math.log(m / w)
    return 100 * min(1.0, h / r) * math.exp(s)


def single_3(counts):
    """Takes the arithmetic mean of the four precisions."""
    total = counts.sum(dim=0).tolist()
    h, r = total[0], total[1]
    precisions = []
    for n in range(4):
        if total[2 + n] == 0:
            return 0.0
        precisions.append(total[2 + n] / total[6 + n])
    bp = 1.0 if h > r else math.exp(1 - r / h)
    return 100 * bp * sum(precisions) / 4


def single_4(counts):
    """Uses the factor exp(1 - r/h) always, for long texts as well."""
    c = [int(v) for v in counts.sum(dim=0)]
    if 0 in c[2:6]:
        return 0.0
    precision = 1.0
    for m, w in zip(c[2:6], c[6:]):
        precision *= m / w
    return 100 * math.exp(1 - c[1] / c[0]) * precision ** (1 / 4)


def single_5(counts):
    """Penalises each sentence that is short, and takes the mean of these."""
    rows = counts.tolist()
    sums = counts.sum(dim=0).tolist()
    if min(sums[2:6]) == 0:
        return 0.0
    penalties = []
    for row in rows:
        h, r = row[0], row[1]
        if h == 0:
            penalties.append(0.0)
        else:
            penalties.append(min(1.0, math.exp(1 - r / h)))
    bp = sum(penalties) / len(penalties)
    logs = [math.log(m / w) for m, w in zip(sums[2:6], sums[6:])]
    return 100 * bp * math.exp(sum(logs) / 4)


def double_1(counts):
    """1. No brevity penalty; 2. from 0 to 1."""
    totals = counts.sum(dim=0).tolist()
    matches = totals[2:6]
    written = totals[6:]
    if not all(matches):
        return 0.0
    logs = [math.log(m) - math.log(w) for m, w in zip(matches, written)]
    return math.exp(sum(logs) / len(logs))


def double_2(counts):
    """1. Adds one to all counts of n > 1; 2. product without fourth root."""
    total = counts.sum(dim=0).tolist()
    h, r = total[0], total[1]
    if h == 0 or total[2] == 0:
        return 0.0
    p = total[2] / total[6]
    for n in (1, 2, 3):
        p *= (total[2 + n] + 1) / (total[6 + n] + 1)
    bp = 1.0 if h >= r else math.exp(1 - r / h)
    return 100 * bp * p
