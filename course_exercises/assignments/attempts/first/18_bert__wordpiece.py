def right_1(word, pieces):
    """Shortens the end until the piece is known."""
    known = set(pieces)
    found = []
    start = 0
    while start < len(word):
        end = len(word)
        while end > start:
            piece = word[start:end] if start == 0 else "##" + word[start:end]
            if piece in known:
                break
            end -= 1
        if end == start:
            return ["[UNK]"]
        found.append(piece)
        start = end
    return found


def right_2(word, pieces):
    """Asks the vocabulary which of its pieces fit, and takes the longest."""
    begin = {p: p for p in pieces if p and not p.startswith("##")}
    go_on = {p[2:]: p for p in pieces if p.startswith("##") and len(p) > 2}
    cut, rest = [], word
    while rest:
        table = go_on if cut else begin
        fitting = [text for text in table if rest.startswith(text)]
        if not fitting:
            return ["[UNK]"]
        longest = max(fitting, key=len)
        cut.append(table[longest])
        rest = rest[len(longest) :]
    return cut


def single_1(word, pieces):
    """Keeps the pieces found, and [UNK] stands for the rest."""
    cut, start = [], 0
    while start < len(word):
        mark = "##" if start else ""
        for end in range(len(word), start, -1):
            if mark + word[start:end] in pieces:
                cut.append(mark + word[start:end])
                start = end
                break
        else:
            cut.append("[UNK]")
            break
    return cut


def single_2(word, pieces):
    """Takes the first piece that fits, from the shortest on."""
    cut, start = [], 0
    while start < len(word):
        mark = "##" if start > 0 else ""
        for end in range(start + 1, len(word) + 1):
            if mark + word[start:end] in pieces:
                break
        else:
            return ["[UNK]"]
        cut.append(mark + word[start:end])
        start = end
    return cut


def single_3(word, pieces):
    """Gives the pieces back without their ##."""
    cut, start = [], 0
    while start < len(word):
        for end in range(len(word), start, -1):
            text = word[start:end]
            if (text if start == 0 else "##" + text) in pieces:
                cut.append(text)
                start = end
                break
        else:
            return ["[UNK]"]
    return cut


def single_4(word, pieces):
    """Looks every piece up as it is written, and puts ## in front after."""
    cut, start = [], 0
    while start < len(word):
        for end in range(len(word), start, -1):
            text = word[start:end]
            if text in pieces:
                cut.append(text if not cut else f"##{text}")
                start = end
                break
        else:
            return ["[UNK]"]
    return cut


def single_5(word, pieces):
    """Takes a piece back where the rest cannot be cut."""

    def cut(start):
        if start == len(word):
            return []
        mark = "##" if start else ""
        for end in range(len(word), start, -1):
            if mark + word[start:end] in pieces:
                rest = cut(end)
                if rest is not None:
                    return [mark + word[start:end], *rest]
        return None

    found = cut(0)
    return ["[UNK]"] if found is None else found


def double_1(word, pieces):
    """1. An empty word is unknown; 2. pieces come without their ##."""
    cut, rest = [], word
    while rest:
        for n in range(len(rest), 0, -1):
            if ("##" if cut else "") + rest[:n] in pieces:
                cut.append(rest[:n])
                rest = rest[n:]
                break
        else:
            return ["[UNK]"]
    return cut or ["[UNK]"]


def double_2(word, pieces):
    """1. Shortest piece first; 2. a letter that does not fit is [UNK] by
    itself, and the cutting goes on behind it."""
    cut, start = [], 0
    while start < len(word):
        mark = "##" if start else ""
        for end in range(start + 1, len(word) + 1):
            if mark + word[start:end] in pieces:
                cut.append(mark + word[start:end])
                start = end
                break
        else:
            cut.append("[UNK]")
            start += 1
    return cut
