import torch


def right_1(decode, batch, max_length, bos=1, eos=2):
    """Grows one tensor for all rows, and cuts each at its first eos."""
    rows = torch.full((batch, 1), bos)
    ended = torch.zeros(batch, dtype=torch.bool)
    for _ in range(max_length):
        newest = decode(rows)[:, -1].argmax(dim=-1)
        rows = torch.cat([rows, newest[:, None]], dim=1)
        ended = ended | (newest == eos)
        if ended.all():
            break
    result = []
    for row in rows[:, 1:].tolist():
        result.append(row[: row.index(eos)] if eos in row else row)
    return result


def right_2(decode, batch, max_length, bos=1, eos=2):
    """Keeps Python lists, and fills up rows that have ended with eos."""
    written = [[] for _ in range(batch)]
    done = [False] * batch
    inputs = [[bos] for _ in range(batch)]
    step = 0
    while step < max_length and not all(done):
        logits = decode(torch.tensor(inputs))
        for i in range(batch):
            token = eos
            if not done[i]:
                token = int(torch.argmax(logits[i, -1]))
                if token == eos:
                    done[i] = True
                else:
                    written[i].append(token)
            inputs[i].append(token)
        step += 1
    return written


def single_1(decode, batch, max_length, bos=1, eos=2):
    """Stops all sentences when the first of them ends."""
    rows = torch.full((batch, 1), bos, dtype=torch.long)
    for _ in range(max_length):
        newest = decode(rows)[:, -1, :].argmax(-1)
        if (newest == eos).any():
            unfinished = newest != eos
            return [
                row + [token] if more else row
                for row, token, more in zip(
                    rows[:, 1:].tolist(),
                    newest.tolist(),
                    unfinished.tolist(),
                )
            ]
        rows = torch.cat([rows, newest.unsqueeze(1)], dim=1)
    return rows[:, 1:].tolist()


def single_2(decode, batch, max_length, bos=1, eos=2):
    """Gives eos too, as the last token of a sentence."""
    ys = torch.ones(batch, 1).long() * bos
    for _ in range(max_length):
        best = decode(ys)[:, -1].argmax(dim=1, keepdim=True)
        ys = torch.cat((ys, best), dim=1)
    sentences = []
    for y in ys.tolist():
        sentence = []
        for token in y[1:]:
            sentence.append(token)
            if token == eos:
                break
        sentences.append(sentence)
    return sentences


def single_3(decode, batch, max_length, bos=1, eos=2):
    """Strips special tokens, but keeps words that come after an eos."""
    rows = torch.full((batch, 1), bos)
    finished = torch.zeros(batch, dtype=torch.bool)
    for _ in range(max_length):
        tokens = decode(rows)[:, -1].argmax(dim=-1)
        rows = torch.cat([rows, tokens[:, None]], dim=1)
        finished |= tokens == eos
        if finished.all():
            break
    return [[t for t in row if t != eos] for row in rows[:, 1:].tolist()]


def single_4(decode, batch, max_length, bos=1, eos=2):
    """Counts bos as the first token of max_length."""
    rows = torch.full((batch, 1), bos)
    while rows.shape[1] < max_length:
        token = decode(rows)[:, -1].argmax(dim=-1)
        rows = torch.cat([rows, token.view(batch, 1)], dim=1)
    out = []
    for row in rows[:, 1:].tolist():
        if eos in row:
            row = row[: row.index(eos)]
        out.append(row)
    return out


def single_5(decode, batch, max_length, bos=1, eos=2):
    """Shows the model only the newest token each time."""
    newest = torch.full((batch, 1), bos)
    out = [[] for _ in range(batch)]
    alive = [True] * batch
    for _ in range(max_length):
        newest = decode(newest)[:, -1:].argmax(dim=-1)
        for i, token in enumerate(newest[:, 0].tolist()):
            if token == eos:
                alive[i] = False
            if alive[i]:
                out[i].append(token)
        if not any(alive):
            break
    return out


def double_1(decode, batch, max_length, bos=1, eos=2):
    """1. Leaves bos in front; 2. writes one token less than allowed."""
    rows = torch.full((batch, 1), bos)
    for _ in range(1, max_length):
        step = decode(rows).argmax(dim=-1)[:, -1:]
        rows = torch.cat([rows, step], dim=-1)
    answers = []
    for row in rows.tolist():
        for i in range(1, len(row)):
            if row[i] == eos:
                row = row[:i]
                break
        answers.append(row)
    return answers


def double_2(decode, batch, max_length, bos=1, eos=2):
    """1. Ends all when one has ended; 2. keeps that eos in the answer."""
    rows = torch.full((batch, 1), bos)
    for _ in range(max_length):
        logits = decode(rows)
        token = logits[:, -1].softmax(dim=-1).argmax(dim=-1)
        rows = torch.cat([rows, token[:, None]], dim=1)
        if eos in token.tolist():
            break
    return rows[:, 1:].tolist()
