def right_1(first, second):
    """Writes the row down as it is said."""
    ids = [1, *first, 2, *second, 2]
    segments = [0] * (len(first) + 2) + [1] * (len(second) + 1)
    return ids, segments


def right_2(first, second):
    """Appends token by token, with the segment beside it."""
    ids, segments = [1], [0]
    for segment, text in enumerate((first, second)):
        for token in list(text) + [2]:
            ids.append(token)
            segments.append(segment)
    return ids, segments


def single_1(first, second):
    """[SEP] only separates: there is none at the end."""
    a, b = [1] + first + [2], list(second)
    return a + b, [0 for _ in a] + [1 for _ in b]


def single_2(first, second):
    """Where [SEP] stands the second text begins: the middle one has a 1."""
    ids = [1] + first + [2] + second + [2]
    border = 1 + len(first)
    return ids, [int(i >= border) for i in range(len(ids))]


def single_3(first, second):
    """Each text gets its own [CLS] and [SEP], then they are joined."""
    parts = [[1, *text, 2] for text in (first, second)]
    ids = sum(parts, [])
    return ids, [s for s, part in enumerate(parts) for _ in part]


def single_4(first, second):
    """Counts the segments from 1, for 0 is the padding."""
    a = [1] + list(first) + [2]
    b = list(second) + [2]
    return a + b, len(a) * [1] + len(b) * [2]


def single_5(first, second):
    """The signs are no text: only the words of B have a 1."""
    pairs = [(1, 0)] + [(t, 0) for t in first] + [(2, 0)]
    pairs += [(t, 1) for t in second] + [(2, 0)]
    return [t for t, _ in pairs], [s for _, s in pairs]


def double_1(first, second):
    """1. Two [SEP] between the texts, as RoBERTa has it; 2. no segments: all
    are 0."""
    ids = [1] + first + [2, 2] + second + [2]
    return ids, [0] * len(ids)


def double_2(first, second):
    """1. No [SEP] at the end; 2. [CLS] alone is segment 0, A is 1, B is 2."""
    ids = [1]
    segments = [0]
    for number, text in enumerate((first, second), start=1):
        if number == 2:
            ids.append(2)
            segments.append(1)
        ids.extend(text)
        segments.extend([number] * len(text))
    return ids, segments
