from collections import Counter


def right_1(groups, size):
    """Counts the groups, holds some out in order, then deals the places."""
    texts_of = Counter(groups)
    held, texts = set(), 0
    for group in dict.fromkeys(groups):
        if texts >= size:
            break
        held.add(group)
        texts += texts_of[group]
    train = [i for i, group in enumerate(groups) if group not in held]
    test = [i for i, group in enumerate(groups) if group in held]
    return train, test


def right_2(groups, size):
    """Moves the first group that is left, as long as too few are held out."""
    train, test = list(range(len(groups))), []
    while train and len(test) < size:
        work = groups[train[0]]
        test += [place for place in train if groups[place] == work]
        train = [place for place in train if groups[place] != work]
    return train, sorted(test)


def single_1(groups, size):
    """Holds out the first size texts, and so cuts a group in two."""
    places = list(range(len(groups)))
    return places[size:], places[:size]


def single_2(groups, size):
    """Stops before a group that would make it more than size."""
    held, texts = [], 0
    for group in dict.fromkeys(groups):
        if texts + groups.count(group) > size:
            break
        held.append(group)
        texts += groups.count(group)
    train = [i for i in range(len(groups)) if groups[i] not in held]
    test = [i for i in range(len(groups)) if groups[i] in held]
    return train, test


def single_3(groups, size):
    """Takes size for the number of groups to hold out."""
    order = []
    for group in groups:
        if group not in order:
            order.append(group)
    held = order[:size]
    train = [i for i, group in enumerate(groups) if group not in held]
    test = [i for i, group in enumerate(groups) if group in held]
    return train, test


def single_4(groups, size):
    """Goes through sorted(set(groups)), so by the alphabet."""
    test = []
    for group in sorted(set(groups)):
        if len(test) >= size:
            break
        test.extend(i for i, g in enumerate(groups) if g == group)
    train = [i for i in range(len(groups)) if i not in set(test)]
    return train, sorted(test)


def single_5(groups, size):
    """Cuts where the group next changes: believes its texts stand together."""
    end = min(size, len(groups))
    while 0 < end < len(groups) and groups[end] == groups[end - 1]:
        end += 1
    return list(range(end, len(groups))), list(range(end))


def double_1(groups, size):
    """1. Asks for size after taking a group, so one goes even for size 0; 2. leaves the held-out places group by group."""
    test = []
    for group in dict.fromkeys(groups):
        test += [i for i, g in enumerate(groups) if g == group]
        if len(test) >= size:
            break
    return [i for i in range(len(groups)) if i not in test], test


def double_2(groups, size):
    """1. Holds the largest groups out first; 2. hands the test places back first."""
    held, texts = set(), 0
    for group, count in Counter(groups).most_common():
        if texts >= size:
            break
        held.add(group)
        texts += count
    test = [i for i, group in enumerate(groups) if group in held]
    train = [i for i, group in enumerate(groups) if group not in held]
    return test, train
