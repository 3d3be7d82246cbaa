def right_1(word, pieces):
    """From the left; the end comes nearer until something fits."""
    known = set(pieces)
    out, start = [], 0
    while start < len(word):
        for end in range(len(word), start, -1):
            piece = ("##" if start else "") + word[start:end]
            if piece in known:
                break
        else:
            return ["[UNK]"]
        out.append(piece)
        start = end
    return out


def right_2(word, pieces):
    """Looks through the vocabulary for what the rest begins with."""
    out, rest = [], word
    while rest:
        if out:
            fits = [p[2:] for p in pieces if p.startswith("##")]
        else:
            fits = list(pieces)
        best = max(
            (p for p in fits if rest.startswith(p)), key=len, default=""
        )
        if not best:
            return ["[UNK]"]
        out.append("##" + best if out else best)
        rest = rest[len(best) :]
    return out


def single_1(word, pieces):
    """Takes the shortest piece that fits."""
    out, start = [], 0
    while start < len(word):
        sign = "##" if start > 0 else ""
        ends = [
            e
            for e in range(start + 1, len(word) + 1)
            if sign + word[start:e] in pieces
        ]
        if not ends:
            return ["[UNK]"]
        out.append(sign + word[start : ends[0]])
        start = ends[0]
    return out


def single_2(word, pieces):
    """Keeps what was found; only the rest is unknown."""
    out, start = [], 0
    while start < len(word):
        end = len(word)
        sign = "##" if start else ""
        while end > start and sign + word[start:end] not in pieces:
            end -= 1
        if end == start:
            return out + ["[UNK]"]
        out.append(sign + word[start:end])
        start = end
    return out


def single_3(word, pieces):
    """Looks pieces up without their ##, and puts it in front afterwards: all
    may stand everywhere."""
    plain = {p.removeprefix("##") for p in pieces}
    out = []
    while word:
        n = next((n for n in range(len(word), 0, -1) if word[:n] in plain), 0)
        if n == 0:
            return ["[UNK]"]
        out.append("##" * bool(out) + word[:n])
        word = word[n:]
    return out


def single_4(word, pieces):
    """Takes a piece back where it leads nowhere, and tries a shorter one."""

    def cut(start):
        if start == len(word):
            return []
        for end in range(len(word), start, -1):
            piece = word[start:end] if start == 0 else "##" + word[start:end]
            if piece in pieces:
                rest = cut(end)
                if rest is not None:
                    return [piece] + rest
        return None

    found = cut(0)
    return ["[UNK]"] if found is None else found


def single_5(word, pieces):
    """Where nothing was found it is unknown: the empty word, too."""
    out, rest, sign = [], word, ""
    while rest:
        lengths = [
            n for n in range(1, len(rest) + 1) if sign + rest[:n] in pieces
        ]
        if not lengths:
            out = []
            break
        n = lengths[-1]
        out.append(sign + rest[:n])
        rest, sign = rest[n:], "##"
    return out or ["[UNK]"]


def double_1(word, pieces):
    """1. A letter that does not fit is [UNK], and it goes on behind it;
    2. gives the pieces without ##."""
    out, start = [], 0
    while start < len(word):
        for end in range(len(word), start, -1):
            part = word[start:end]
            if (part if start == 0 else "##" + part) in pieces:
                out.append(part)
                start = end
                break
        else:
            out.append("[UNK]")
            start += 1
    return out


def double_2(word, pieces):
    """1. Cuts from the right, the longest ending first; 2. only what is left
    over is unknown."""
    out, end = [], len(word)
    while end > 0:
        for start in range(end):
            piece = word[:end] if start == 0 else "##" + word[start:end]
            if piece in pieces:
                out.insert(0, piece)
                end = start
                break
        else:
            return ["[UNK]"] + out
    return out
