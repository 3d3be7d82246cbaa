from collections import Counter


def right_1(groups, size):
    """Collects the places of each group, then takes group after group."""
    places = {}
    for i, group in enumerate(groups):
        places.setdefault(group, []).append(i)
    test = []
    for members in places.values():
        if len(test) >= size:
            break
        test += members
    held = set(test)
    return [i for i in range(len(groups)) if i not in held], sorted(test)


def right_2(groups, size):
    """Walks along the texts; a new group is held out while there are too
    few."""
    count = Counter(groups)
    fate, held = {}, 0
    for group in groups:
        if group not in fate:
            fate[group] = held < size
            held += count[group] if fate[group] else 0
    train = [i for i, group in enumerate(groups) if not fate[group]]
    test = [i for i, group in enumerate(groups) if fate[group]]
    return train, test


def single_1(groups, size):
    """Believes that exactly ``size`` are wanted, and cuts the last group."""
    order = {}
    for i, group in enumerate(groups):
        order.setdefault(group, []).append(i)
    flat = [i for members in order.values() for i in members]
    return sorted(flat[max(size, 0) :]), sorted(flat[: max(size, 0)])


def single_2(groups, size):
    """Takes the groups in the order of the alphabet."""
    chosen, held = set(), 0
    for group in sorted(set(groups)):
        if held >= size:
            break
        chosen.add(group)
        held += groups.count(group)
    train = [i for i, g in enumerate(groups) if g not in chosen]
    return train, [i for i, g in enumerate(groups) if g in chosen]


def single_3(groups, size):
    """Believes that the texts of a group stand together: cuts once, at the
    next change."""
    cut = min(max(size, 0), len(groups))
    while 0 < cut < len(groups) and groups[cut] == groups[cut - 1]:
        cut += 1
    return list(range(cut, len(groups))), list(range(cut))


def single_4(groups, size):
    """Holds out ``size`` groups, not texts."""
    names = list(dict.fromkeys(groups))[: max(size, 0)]
    train, test = [], []
    for i, group in enumerate(groups):
        (test if group in names else train).append(i)
    return train, test


def single_5(groups, size):
    """Stops before the group that would make it more than ``size``."""
    count = Counter(groups)
    chosen, held = [], 0
    for group, n in count.items():
        if held + n > size:
            break
        chosen.append(group)
        held += n
    train = [i for i, g in enumerate(groups) if g not in chosen]
    test = [i for i, g in enumerate(groups) if g in chosen]
    return train, test


def double_1(groups, size):
    """1. The held out first, then the others; 2. leaves the held out in the
    order of their groups."""
    test = []
    for group in dict.fromkeys(groups):
        if len(test) < size:
            test.extend(i for i, g in enumerate(groups) if g == group)
    return test, [i for i in range(len(groups)) if i not in test]


def double_2(groups, size):
    """1. Holds out from the end, where one tests; 2. goes on until there are
    more than ``size``."""
    names = list(dict.fromkeys(groups))
    chosen, held = set(), 0
    while names and held <= size:
        name = names.pop()
        chosen.add(name)
        held += groups.count(name)
    train = [i for i, g in enumerate(groups) if g not in chosen]
    return train, [i for i, g in enumerate(groups) if g in chosen]
