import torch


def right_1(right, guesses, classes):
    """Goes through the classes, and counts hits, there and named."""
    scores = torch.zeros(classes)
    for c in range(classes):
        there, named = right == c, guesses == c
        both = there.sum() + named.sum()
        if both > 0:
            scores[c] = 2 * (there & named).sum() / both
    return scores.mean()


def right_2(right, guesses, classes):
    """Makes the whole table of right against guessed with one bincount."""
    cells = torch.bincount(
        right.long() * classes + guesses.long(), minlength=classes**2
    )
    table = cells.view(classes, classes)
    tp = table.diagonal()
    fp = table.sum(dim=0) - tp
    fn = table.sum(dim=1) - tp
    return (2 * tp / (2 * tp + fp + fn).clamp(min=1)).mean()


def single_1(right, guesses, classes):
    """Leaves out of the mean the classes that are neither there nor guessed."""
    scores = []
    for c in range(classes):
        tp = ((right == c) & (guesses == c)).sum()
        fp = ((right != c) & (guesses == c)).sum()
        fn = ((right == c) & (guesses != c)).sum()
        if tp + fp + fn > 0:
            scores.append(2 * tp / (2 * tp + fp + fn))
    return torch.stack(scores).mean() if scores else torch.tensor(0.0)


def single_2(right, guesses, classes):
    """Weighs each class by how often it is there (weighted F1)."""
    total = torch.tensor(0.0)
    for c in range(classes):
        tp = ((right == c) & (guesses == c)).sum()
        size = (right == c).sum()
        f1 = 2 * tp / (size + (guesses == c).sum()).clamp(min=1)
        total = total + f1 * size / max(len(right), 1)
    return total


def single_3(right, guesses, classes):
    """Writes the formula down as it is, and divides 0 by 0."""
    every = torch.arange(classes)[:, None]
    there, named = right[None, :] == every, guesses[None, :] == every
    tp = (there & named).sum(dim=1)
    fp = (~there & named).sum(dim=1)
    fn = (there & ~named).sum(dim=1)
    return (2 * tp / (2 * tp + fp + fn)).mean()


def single_4(right, guesses, classes):
    """Takes the F1 of the mean precision and the mean recall."""
    precision = recall = torch.tensor(0.0)
    for c in range(classes):
        tp = ((right == c) & (guesses == c)).sum()
        precision = precision + tp / (guesses == c).sum().clamp(min=1)
        recall = recall + tp / (right == c).sum().clamp(min=1)
    precision, recall = precision / classes, recall / classes
    if precision + recall == 0:
        return torch.tensor(0.0)
    return 2 * precision * recall / (precision + recall)


def single_5(right, guesses, classes):
    """Believes it is the mean share of each class that was found (recall)."""
    shares = torch.zeros(classes)
    for c in range(classes):
        of_class = right == c
        if of_class.any():
            shares[c] = (guesses[of_class] == c).float().mean()
    return shares.mean()


def double_1(right, guesses, classes):
    """1. Forgets both 2s: TP / (TP + FP + FN); 2. leaves out empty classes."""
    scores = []
    for c in range(classes):
        there, named = right == c, guesses == c
        union = (there | named).sum()
        if union > 0:
            scores.append((there & named).sum() / union)
    return torch.stack(scores).mean() if scores else torch.tensor(0.0)


def double_2(right, guesses, classes):
    """1. Adds TP, FP and FN over the classes first; 2. hands back a float."""
    tp = fp = fn = 0
    for c in range(classes):
        tp += ((right == c) & (guesses == c)).sum().item()
        fp += ((right != c) & (guesses == c)).sum().item()
        fn += ((right == c) & (guesses != c)).sum().item()
    return 2 * tp / max(2 * tp + fp + fn, 1)
