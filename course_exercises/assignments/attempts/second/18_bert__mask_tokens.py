import torch


def right_1(words, chance, fate, drawn):
    """Two times ``where`` for the rows, one time for the answers."""
    chosen = (chance < 0.15) & (words >= 5)
    other = torch.where(fate < 0.9, drawn.to(words.dtype), words)
    new = torch.where(fate < 0.8, 4, other)
    rows = torch.where(chosen, new, words)
    return rows, torch.where(chosen, words, -100)


def right_2(words, chance, fate, drawn):
    """Copies, and writes into the copies."""
    asked = torch.logical_and(chance < 0.15, words > 4)
    hidden = asked & (fate < 0.8)
    swapped = asked & (fate >= 0.8) & (fate < 0.9)
    rows = words.clone()
    rows[hidden] = 4
    rows[swapped] = drawn[swapped].to(rows.dtype)
    answers = torch.full_like(words, -100)
    answers[asked] = words[asked]
    return rows, answers


def single_1(words, chance, fate, drawn):
    """Takes the unknown word for a word like others."""
    chosen = (chance < 0.15) & (words > 2)
    rows = words.masked_fill(chosen & (fate < 0.8), 4)
    rows = torch.where(chosen & (fate >= 0.8) & (fate < 0.9), drawn, rows)
    return rows, words.masked_fill(~chosen, -100)


def single_2(words, chance, fate, drawn):
    """Asks only where [MASK] stands: elsewhere nothing is hidden."""
    chosen = (chance < 0.15) & (words >= 5)
    mask = chosen & (fate < 0.8)
    swap = chosen & ~mask & (fate < 0.9)
    rows = torch.where(mask, 4, torch.where(swap, drawn, words))
    return rows, torch.where(mask, words, -100)


def single_3(words, chance, fate, drawn):
    """What does not become [MASK] becomes another word; none stays."""
    chosen = (chance < 0.15) & (words >= 5)
    rows = words.clone()
    rows[chosen] = torch.where(fate < 0.8, 4, drawn)[chosen]
    answers = torch.where(chosen, words, torch.tensor(-100))
    return rows, answers


def single_4(words, chance, fate, drawn):
    """Takes the answers from the rows that are already changed."""
    chosen = (chance < 0.15) & (words >= 5)
    rows = words.clone()
    rows[chosen & (fate < 0.8)] = 4
    swap = chosen & (fate >= 0.8) & (fate < 0.9)
    rows[swap] = drawn[swap]
    answers = rows.clone()
    answers[~chosen] = -100
    return rows, answers


def single_5(words, chance, fate, drawn):
    """80 and 10 percent of 15 percent: divides ``chance`` once more, and lets
    ``fate`` be."""
    is_word = words >= 5
    rows = words.clone()
    swap = is_word & (chance < 0.15 * 0.9)
    rows[swap] = drawn[swap]
    rows[is_word & (chance < 0.15 * 0.8)] = 4
    return rows, torch.where(is_word & (chance < 0.15), words, -100)


def double_1(words, chance, fate, drawn):
    """1. All chosen words become [MASK]; 2. asks for all words, chosen or
    not."""
    is_word = words >= 5
    rows = torch.where(is_word & (chance < 0.15), 4, words)
    return rows, torch.where(is_word, words, -100)


def double_2(words, chance, fate, drawn):
    """1. Only padding is never chosen; 2. 0, the padding, where nothing is
    asked."""
    chosen = (chance < 0.15) & (words != 0)
    rows = words.masked_fill(chosen & (fate < 0.8), 4)
    rows = torch.where(chosen & (fate >= 0.8) & (fate < 0.9), drawn, rows)
    return rows, words * chosen
