def right_1(first, second):
    """Two lists, added up."""
    ids = [1] + first + [2] + second + [2]
    segments = [0] * (len(first) + 2) + [1] * (len(second) + 1)
    return ids, segments


def right_2(first, second):
    """Appends token by token, with the number of its text."""
    ids, segments = [1], [0]
    for which, text in enumerate((first, second)):
        for token in text:
            ids.append(token)
            segments.append(which)
        ids.append(2)
        segments.append(which)
    return ids, segments


def single_1(first, second):
    """[SEP] only separates: there is none at the end."""
    ids = [1, *first, 2, *second]
    segments = [0] * (len(first) + 2) + [1] * len(second)
    return ids, segments


def single_2(first, second):
    """The [SEP] between the two opens B, and is counted to it."""
    ids = [1, *first, 2, *second, 2]
    border = 1 + len(first)
    return ids, [int(i >= border) for i in range(len(ids))]


def single_3(first, second):
    """Each text begins with its own [CLS]."""
    a = [1] + list(first) + [2]
    b = [1] + list(second) + [2]
    return a + b, [0] * len(a) + [1] * len(b)


def single_4(first, second):
    """Numbers the texts 1 and 2; 0 is for padding."""
    ids = [1, *first, 2, *second, 2]
    segments = [1] * (len(first) + 2) + [2] * (len(second) + 1)
    return ids, segments


def single_5(first, second):
    """Only B's own tokens are 1: the last [SEP] is no part of B."""
    ids = [1, *first, 2, *second, 2]
    segments = [0] + [0] * len(first) + [0] + [1] * len(second) + [0]
    return ids, segments


def double_1(first, second):
    """1. Takes [SEP] for 1 and [CLS] for 2; 2. B's [SEP] is of segment 0."""
    cls, sep = 2, 1
    ids = [cls, *first, sep, *second, sep]
    segments = [0] * (len(first) + 2) + [1] * len(second) + [0]
    return ids, segments


def double_2(first, second):
    """1. No [SEP] at the end; 2. the [SEP] between is counted to B."""
    ids = [1] + first + [2] + second
    segments = [0 for _ in range(len(first) + 1)]
    segments += [1 for _ in range(len(second) + 1)]
    return ids, segments
