import torch


def right_1(decode, batch, max_length, bos=1, eos=2):
    """Grows all rows until each has an eos, then cuts them."""
    rows = torch.full((batch, 1), bos, dtype=torch.long)
    ended = torch.zeros(batch, dtype=torch.bool)
    for _ in range(max_length):
        newest = decode(rows)[:, -1].argmax(dim=-1)
        rows = torch.cat([rows, newest[:, None]], dim=1)
        ended = ended | (newest == eos)
        if ended.all():
            break
    results = []
    for row in rows[:, 1:].tolist():
        if eos in row:
            row = row[: row.index(eos)]
        results.append(row)
    return results


def right_2(decode, batch, max_length, bos=1, eos=2):
    """Keeps Python lists; ended rows are filled up with eos."""
    written = [[] for _ in range(batch)]
    done = [False] * batch
    rows = [[bos] for _ in range(batch)]
    for _ in range(max_length):
        if all(done):
            break
        logits = decode(torch.tensor(rows))
        for i in range(batch):
            token = int(logits[i, -1].argmax())
            if token == eos:
                done[i] = True
            if done[i]:
                rows[i].append(eos)
            else:
                rows[i].append(token)
                written[i].append(token)
    return written


def single_1(decode, batch, max_length, bos=1, eos=2):
    """Stops as soon as one sentence has ended."""
    tgt = torch.full((batch, 1), bos)
    for _ in range(max_length):
        nxt = decode(tgt)[:, -1, :].argmax(-1, keepdim=True)
        tgt = torch.cat((tgt, nxt), dim=1)
        if (nxt == eos).any():
            break
    out = []
    for row in tgt[:, 1:].tolist():
        out.append(row[: row.index(eos)] if eos in row else row)
    return out


def single_2(decode, batch, max_length, bos=1, eos=2):
    """Takes eos out of a row but leaves what comes after it."""
    tgt = torch.full((batch, 1), bos)
    ended = torch.zeros(batch, dtype=torch.bool)
    for _ in range(max_length):
        nxt = decode(tgt)[:, -1].argmax(-1)
        tgt = torch.cat([tgt, nxt.unsqueeze(1)], dim=1)
        ended |= nxt == eos
        if ended.all():
            break
    return [
        [token for token in row if token not in (bos, eos)]
        for row in tgt.tolist()
    ]


def single_3(decode, batch, max_length, bos=1, eos=2):
    """Keeps the eos in the answer."""
    rows = torch.full((batch, 1), bos)
    ended = torch.zeros(batch, dtype=torch.bool)
    answers = [[] for _ in range(batch)]
    for _ in range(max_length):
        best = decode(rows)[:, -1].argmax(dim=-1)
        for i, token in enumerate(best.tolist()):
            if not ended[i]:
                answers[i].append(token)
        ended = ended | best.eq(eos)
        rows = torch.cat([rows, best[:, None]], dim=1)
        if ended.all():
            break
    return answers


def single_4(decode, batch, max_length, bos=1, eos=2):
    """Counts bos as one of the max_length tokens."""
    tgt = torch.full((batch, 1), bos)
    finished = torch.zeros(batch, dtype=torch.bool)
    while tgt.shape[1] < max_length and not finished.all():
        token = torch.argmax(decode(tgt)[:, -1], dim=-1)
        finished = finished | (token == eos)
        tgt = torch.cat([tgt, token[:, None]], dim=1)
    sentences = []
    for row in tgt.tolist():
        words = []
        for token in row[1:]:
            if token == eos:
                break
            words.append(token)
        sentences.append(words)
    return sentences


def single_5(decode, batch, max_length, bos=1, eos=2):
    """Gives the model the newest token alone, as with a cache."""
    newest = torch.full((batch, 1), bos)
    sentences = [[] for _ in range(batch)]
    done = [False] * batch
    for _ in range(max_length):
        newest = decode(newest)[:, -1:].argmax(dim=-1)
        for i in range(batch):
            token = newest[i, 0].item()
            if token == eos:
                done[i] = True
            elif not done[i]:
                sentences[i].append(token)
        if all(done):
            break
    return sentences


def double_1(decode, batch, max_length, bos=1, eos=2):
    """1. Leaves bos in front; 2. stops when the first sentence has ended."""
    rows = torch.full((batch, 1), bos)
    for _ in range(max_length):
        token = decode(rows)[:, -1].argmax(-1)
        rows = torch.cat([rows, token[:, None]], 1)
        if token[0] == eos:
            break
    result = []
    for row in rows.tolist():
        result.append(row[: row.index(eos)] if eos in row else row)
    return result


def double_2(decode, batch, max_length, bos=1, eos=2):
    """1. Keeps eos at the end; 2. writes one token less than allowed."""
    rows = torch.full((batch, 1), bos)
    for _ in range(1, max_length):
        token = decode(rows)[:, -1].argmax(-1)
        rows = torch.cat([rows, token[:, None]], 1)
        if (rows == eos).any(dim=1).all():
            break
    result = []
    for row in rows[:, 1:].tolist():
        end = row.index(eos) + 1 if eos in row else len(row)
        result.append(row[:end])
    return result
