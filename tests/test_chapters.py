"""What a chapter may ask of its reader: words, and numbers that are so."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from built_book import BOOK, read
from nbformat import NotebookNode

UNFOLDED, FOLDED = 3200, 900
LONGER = {
    "12_training": "the loop, the loss and the schedule are one argument",
    "14_evaluation": "scores, their noise and judging need the same examples",
    "15_translation": "one training is followed from raw text to its judges",
    "20_reading_attention": "each claim about a head stands beside its test",
}
"""Chapters that may have more words than others, and why."""
LONGER_BY = 600

SMALL = 12
"""Whole numbers up to this may be counted by whoever looks at a figure."""

chapter = pytest.mark.parametrize(
    "path",
    [
        pytest.param(path, id=path.relative_to(BOOK).as_posix())
        for path in sorted(BOOK.glob("*/[0-9]*.ipynb"))
    ],
)

# --- words -------------------------------------------------------------------


def prose(markdown: str) -> tuple[str, str]:
    """What stands unfolded, and what is folded, without code and markup."""
    blocks = r"^(:{3,})\{(?:dropdown|admonition)\}.*?^\1 *$"
    folded = [
        match[0]
        for match in re.finditer(blocks, markdown, re.M | re.S)
        if re.search(r"\{dropdown\}|^:class:.*\bdropdown\b", match[0], re.M)
    ]
    for block in folded:
        markdown = markdown.replace(block, "")
    return words(markdown), words("\n".join(folded))


def words(markdown: str) -> str:
    """The text of some Markdown: a formula is one word, an address none."""
    for pattern, stands in [
        (r"^(`{3,})[a-z{].*?^\1 *$", ""),  # code, and blocks without prose
        (r"<!--.*?-->", ""),
        (r"\$\$.*?\$\$", "x"),
        (r"\$[^$]+\$", "x"),
        (r"^:[a-z-]+:[^\n]*$", ""),  # a block's options
        (r"^:{3,}(\{[a-z-]+\})?", ""),
        (r"\]\([^)]*\)", "]"),
        (r"</?[a-z][^<>]*>", ""),
    ]:
        markdown = re.sub(pattern, stands, markdown, flags=re.M | re.S)
    return " ".join(w for w in markdown.split() if re.search(r"\w", w))


@chapter
def test_a_chapter_is_not_too_long(path):
    cells = read(path).cells
    text = "\n\n".join(c.source for c in cells if c.cell_type == "markdown")
    unfolded, folded = (len(part.split()) for part in prose(text))
    more = LONGER_BY if path.stem in LONGER else 0
    assert unfolded <= UNFOLDED + more, f"{unfolded} words of unfolded prose"
    assert folded <= FOLDED, f"{folded} folded words"


def test_words_are_counted_as_they_are_read():
    markdown = """# A title

One $x + y$ [link](a.md) – and {term}`a term`.

```python
not = prose
```
:::{dropdown} For the doubtful: one
:class: tip
Two `words` here.
:::
:::{admonition} Answer
:class: tip dropdown
Yes.
:::
"""
    assert prose(markdown) == (
        "A title One x [link] and {term}`a term`.",
        "For the doubtful: one Two `words` here. Answer Yes.",
    )


# --- numbers in the descriptions of figures ----------------------------------


def numbers(text: str) -> Iterator[tuple[str, float]]:
    """Numbers as they stand in a text, and what they are worth."""
    pattern = r"(?<![\w.,])\d{1,3}(?:,\d{3})+|(?<![\w.])\d*\.?\d+(?!\w)"
    for match in re.finditer(pattern, text):
        yield match[0], float(match[0].replace(",", ""))


def described(cell: NotebookNode) -> str:
    """What is said of a cell's figure: its alt text and its caption."""
    render = cell.metadata.get("mystnb", {})
    caption = render.get("figure", {}).get("caption", "")
    caption = re.sub(r"\{[a-z:]+\}`[^`]*`", "", caption)  # citations
    return f"{render.get('image', {}).get('alt', '')}\n{caption}"


def evidence(cells: list[NotebookNode]) -> set[float]:
    """Numbers that code states, or prints where that is compared."""
    known = set()
    for cell in cells:
        texts = [cell.source]
        if "nbval-ignore-output" not in cell.metadata.get("tags", []):
            texts += [o.get("text", "") for o in cell.outputs]
            texts += [
                str(o.get("data", {}).get(kind, ""))
                for o in cell.outputs
                for kind in ("text/plain", "text/markdown")
            ]
        known |= {abs(value) for t in texts for _, value in numbers(t)}
    return known | {100 * value for value in known}


def sections(path: Path) -> Iterator[list[NotebookNode]]:
    """The code cells of each section of a chapter."""
    found: list[NotebookNode] = []
    for cell in read(path).cells:
        if cell.cell_type == "code":
            found.append(cell)
        elif re.search(r"^## ", cell.source, re.M):
            yield found
            found = []
    yield found


def unchecked(cells: list[NotebookNode]) -> list[str]:
    """Numbers said of a section's figures that nothing in it holds."""
    known = evidence(cells)
    return [
        f"{shown} ({cell.id})"
        for cell in cells
        for shown, value in numbers(described(cell))
        if not (value <= SMALL and value == int(value))
        and not any(abs(value - k) < 1e-9 for k in known)
    ]


@chapter
def test_numbers_in_the_description_of_a_figure_are_checked(path):
    """They stand in an assertion, or in what a cell of the section prints."""
    found = [number for cells in sections(path) for number in unchecked(cells)]
    assert not found, f"{len(found)} numbers that nothing checks: {found}"


def test_what_nothing_checks_is_found():
    def cell(source, alt="", text="", tags=()):
        return NotebookNode(
            id="a",
            source=source,
            metadata=NotebookNode(
                tags=list(tags),
                mystnb=NotebookNode(image=NotebookNode(alt=alt)),
            ),
            outputs=[NotebookNode(text=text)],
        )

    said = cell("plot(x)", alt="From .25 to 1,300 in 3 steps, 40 % of them.")
    assert len(unchecked([said])) == 3
    held = cell("assert x < 0.25", text="1300 of them, 0.4")
    assert not unchecked([said, held])
    loose = cell("x", text="1300, 0.25, 40", tags=["nbval-ignore-output"])
    assert len(unchecked([said, loose])) == 3
