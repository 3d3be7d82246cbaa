"""What waits below a guess in the book is folded in a copy.

``book/_ext/course_guess.py`` says what that is.
"""

from collections import defaultdict
from collections.abc import Iterator
from itertools import takewhile
from typing import NamedTuple

from nbformat import NotebookNode

from tools.edition import say
from tools.lab_markdown import PARSER, blocks_of

TITLE = "After your guess"
"""Of the folds."""
TAG = "after-guess"
"""Of the cells whose outputs are hidden."""


class Below(NamedTuple):
    """A cell of code, or a block of a cell of text."""

    kind: str
    """code, text, paragraph, heading or guess."""
    cell: NotebookNode
    lines: slice = slice(0)
    hides: str = ""


def fold_what_waits(cells: list[NotebookNode]) -> None:
    """Hide outputs, and put text into folds, below each guess."""
    blocks = [block for cell in cells for block in _blocks(cell)]
    folds = defaultdict(list)
    for place, guess in enumerate(blocks):
        if guess.kind == "guess":
            below = [*takewhile(_is_read_on, blocks[place + 1 :])]
            count = int(guess.hides) if guess.hides else _count(below)
            for block in below[:count]:
                if block.kind == "code":
                    tags = block.cell.metadata.setdefault("tags", [])
                    tags.append(TAG)
                else:
                    folds[place, block.cell.id].append(block)
    for found in reversed(folds.values()):
        lines = found[0].cell.source.splitlines()
        start, stop = found[0].lines.start, found[-1].lines.stop
        lines[stop:stop] = [":::::"]
        lines[start:start] = [f":::::{{dropdown}} {say(TITLE)}"]
        found[0].cell.source = "\n".join(lines)


def _blocks(cell: NotebookNode) -> Iterator[Below]:
    """The blocks of a cell, in its order."""
    if cell.cell_type == "code":
        yield Below("code", cell)
        return
    named = {
        block.lines.start: block.options.get("hides", "")
        for block in blocks_of(cell.source)
        if not isinstance(block, str) and block.name == "guess"
    }
    for token in PARSER.parse(cell.source):
        if token.level or token.map is None:
            continue
        lines = slice(*token.map)
        if lines.start in named:
            yield Below("guess", cell, lines, named[lines.start])
        else:
            kind = token.type.removesuffix("_open")
            known = kind in ("heading", "paragraph")
            yield Below(kind if known else "text", cell, lines)


def _is_read_on(block: Below) -> bool:
    return block.kind not in ("heading", "guess")


def _count(below: list[Below]) -> int:
    """How many blocks wait unless the guess says so itself."""
    cells = [*takewhile(lambda block: block.kind == "code", below)]
    if not any(block.cell.outputs for block in cells):
        return 0
    after = below[len(cells) : len(cells) + 1]
    return len(cells) + sum(block.kind == "paragraph" for block in after)
