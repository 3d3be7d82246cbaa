import torch


def right_1(words, chance, fate, drawn):
    """Three masks, and where."""
    chosen = (chance < 0.15) & (words >= 5)
    answers = torch.where(chosen, words, torch.full_like(words, -100))
    read = torch.where(chosen & (fate < 0.9), drawn, words)
    read = read.masked_fill(chosen & (fate < 0.8), 4)
    return read, answers


def right_2(words, chance, fate, drawn):
    """One token after the other, on copies."""
    read = words.clone()
    answers = torch.ones_like(words) * -100
    batch, length = words.shape
    for b in range(batch):
        for i in range(length):
            if words[b, i] < 5 or chance[b, i] >= 0.15:
                continue
            answers[b, i] = words[b, i]
            if fate[b, i] >= 0.9:
                continue
            read[b, i] = 4 if fate[b, i] < 0.8 else drawn[b, i]
    return read, answers


def single_1(words, chance, fate, drawn):
    """Swaps a tenth of what [MASK] has left over: from .8 to .82."""
    chosen = (chance < 0.15) & (words > 4)
    masked = chosen & (fate < 0.8)
    swapped = chosen & ~masked & (fate < 0.8 + 0.1 * 0.2)
    read = words.masked_fill(masked, 4)
    read = torch.where(swapped, drawn, read)
    return read, words.masked_fill(~chosen, -100)


def single_2(words, chance, fate, drawn):
    """Does not ask for the words that stay: their answer stands there."""
    chosen = (words > 4) & (chance < 0.15)
    read = words.clone()
    read[chosen & (fate < 0.8)] = 4
    swap = chosen & (fate >= 0.8) & (fate < 0.9)
    read[swap] = drawn[swap]
    changed = chosen & (fate < 0.9)
    return read, torch.where(changed, words, -100)


def single_3(words, chance, fate, drawn):
    """Spares the padding alone, so that [CLS] and [SEP] can be chosen."""
    chosen = (chance < 0.15) & (words != 0)
    hidden = words.masked_fill(chosen & (fate < 0.8), 4)
    hidden = torch.where(chosen & (fate >= 0.8) & (fate < 0.9), drawn, hidden)
    labels = torch.where(chosen, words, torch.tensor(-100))
    return hidden, labels


def single_4(words, chance, fate, drawn):
    """Takes the answers from the row after it was overwritten."""
    words = words.clone()
    chosen = (chance < 0.15) & (words > 4)
    words[chosen & (fate < 0.8)] = 4
    swap = chosen & (fate >= 0.8) & (fate < 0.9)
    words[swap] = drawn[swap]
    labels = torch.full_like(words, -100)
    labels[chosen] = words[chosen]
    return words, labels


def single_5(words, chance, fate, drawn):
    """Asks for every word, the chosen and the others."""
    real = words > 4
    chosen = real & (chance < 0.15)
    read = torch.where(chosen & (fate < 0.9), drawn, words)
    read = torch.where(chosen & (fate < 0.8), 4, read)
    return read, torch.where(real, words, -100)


def double_1(words, chance, fate, drawn):
    """1. Words begin above 5; 2. 0 is the answer where nothing is asked."""
    chosen = (chance < 0.15) & (words > 5)
    read = words.masked_fill(chosen & (fate < 0.8), 4)
    read = torch.where(chosen & (fate >= 0.8) & (fate < 0.9), drawn, read)
    return read, words * chosen


def double_2(words, chance, fate, drawn):
    """1. Keeps from .8 to .9 and swaps from .9 on; 2. asks only for the words
    that do not stay."""
    chosen = (chance < 0.15) & (words > 4)
    masked = chosen & (fate < 0.8)
    swapped = chosen & (fate >= 0.9)
    read = torch.where(swapped, drawn, words.masked_fill(masked, 4))
    return read, words.masked_fill(~(masked | swapped), -100)
