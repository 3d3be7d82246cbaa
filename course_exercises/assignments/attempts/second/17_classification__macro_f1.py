import torch


def right_1(right, guesses, classes):
    """Counts the three numbers, class by class."""
    total = 0.0
    for c in range(classes):
        is_c, says_c = right == c, guesses == c
        tp = (is_c & says_c).sum().item()
        fp = (~is_c & says_c).sum().item()
        fn = (is_c & ~says_c).sum().item()
        if tp > 0:
            total += 2 * tp / (2 * tp + fp + fn)
    return torch.tensor(total / classes, device=right.device)


def right_2(right, guesses, classes):
    """All classes at once; 2 TP + FP + FN is how often it is there and how
    often it is guessed."""
    numbers = torch.arange(classes, device=right.device)[:, None]
    there = right[None, :] == numbers
    guessed = guesses[None, :] == numbers
    hits = (there & guessed).sum(1).float()
    below = there.sum(1) + guessed.sum(1)
    return (2 * hits / below.clamp(min=1)).mean()


def single_1(right, guesses, classes):
    """Adds up TP, FP and FN over the classes first, then one F1 of all."""
    tp = fp = fn = 0
    for c in range(classes):
        tp += ((right == c) & (guesses == c)).sum()
        fp += ((right != c) & (guesses == c)).sum()
        fn += ((right == c) & (guesses != c)).sum()
    return 2 * tp / (2 * tp + fp + fn).clamp(min=1)


def single_2(right, guesses, classes):
    """Weighs each class by how many texts have it."""
    numbers = torch.arange(classes).unsqueeze(1)
    there, guessed = right == numbers, guesses == numbers
    size = there.sum(1).float()
    f1 = 2 * (there & guessed).sum(1) / (size + guessed.sum(1)).clamp(min=1)
    return (f1 * size).sum() / size.sum().clamp(min=1)


def single_3(right, guesses, classes):
    """Takes the mean over those classes only that are there or guessed."""
    scores = []
    for c in range(classes):
        below = (right == c).sum() + (guesses == c).sum()
        if below == 0:
            continue
        scores.append(2 * ((right == c) & (guesses == c)).sum() / below)
    return torch.stack(scores).mean() if scores else torch.tensor(0.0)


def single_4(right, guesses, classes):
    """Means of precision and of recall first, then the F1 of the two."""
    table = torch.zeros(classes, classes)
    for r, g in zip(right.tolist(), guesses.tolist()):
        table[r, g] += 1
    hits = table.diagonal()
    precision = (hits / table.sum(0).clamp(min=1)).mean()
    recall = (hits / table.sum(1).clamp(min=1)).mean()
    return 2 * precision * recall / (precision + recall).clamp(min=1e-12)


def single_5(right, guesses, classes):
    """Only asks how many of each class are found: the mean recall."""
    found = []
    for c in range(classes):
        tp = ((right == c) & (guesses == c)).sum()
        fn = ((right == c) & (guesses != c)).sum()
        found.append(tp / (tp + fn).clamp(min=1))
    return torch.stack(found).mean()


def double_1(right, guesses, classes):
    """1. Counts hits once, above and below; 2. a class that is neither there
    nor guessed is perfect, 1."""
    scores = []
    for c in range(classes):
        both = ((right == c) & (guesses == c)).sum().item()
        either = ((right == c) | (guesses == c)).sum().item()
        scores.append(both / either if either else 1.0)
    return torch.tensor(scores).mean()


def double_2(right, guesses, classes):
    """1. Class 0 is "none of them" and does not count; 2. does not think of
    classes that are neither there nor guessed: 0 / 0."""
    numbers = torch.arange(1, classes)[:, None]
    there, guessed = right == numbers, guesses == numbers
    f1 = 2 * (there & guessed).sum(1) / (there.sum(1) + guessed.sum(1))
    return f1.mean()
