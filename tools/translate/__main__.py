"""Translate the book: what is to be done, and whether it is right.

python -m tools.translate skeleton 04    write or update its file in book/ja
python -m tools.translate check [04]     name what is missing, stale or wrong
python -m tools.translate tree [PAGES]   make the sources in _build/ja
"""

import sys
from collections.abc import Iterator

from tools.translate import tree
from tools.translate.pieces import (
    ENGLISH,
    JAPANESE,
    LABELS,
    Translation,
    digest_of,
    is_fresh,
    labels_of,
    pages,
    pieces_of,
    read,
    read_labels,
)
from tools.translate.rules import broken


def page_named(start: str) -> str:
    """The page whose name begins so."""
    paths = [*ENGLISH.glob("*.ipynb"), *ENGLISH.rglob("*.md")]
    names = [p.relative_to(ENGLISH).with_suffix("").as_posix() for p in paths]
    found = [n for n in names if n == start] or [
        n for n in names if n.startswith(start)
    ]
    if len(found) != 1:
        sys.exit(f"error: {len(found)} pages begin with {start!r}: {found}")
    return found[0]


def skeleton(page: str, beside: bool) -> str:
    """The file of a page, with the English of what is to be done."""
    english, japanese = pieces_of(page), read(page)
    parts = []
    for key, text in english.items():
        found = japanese.get(key)
        digest = digest_of(text)
        if found and found.text and not is_fresh(text, found):
            digest = f"{found.digest} stale: now {digest}"
        elif found and found.allowed:
            digest += f" {found.allowed}"
        quote = beside or not is_fresh(text, found)
        said = "\n" + text.replace("-->", "--&gt;") + "\n" if quote else " "
        text = found.text if found else ""
        parts.append(f"<!-- {key} {digest}{said}-->\n\n{text}".strip())
    if labels := labels_of(page):
        known = read_labels(page)
        rows = [
            f"| {label} | {known.get(label, '')} |".replace("|  |", "| |")
            for label in labels
        ]
        parts.append(
            "\n".join(
                [
                    f"<!-- {LABELS} -->",
                    "",
                    "| English | 日本語 |",
                    "|---|---|",
                    *rows,
                ]
            )
        )
    gone = japanese.keys() - english.keys() - {LABELS}
    parts += [
        f"<!-- {key} {japanese[key].digest} gone -->\n\n{japanese[key].text}"
        for key in sorted(gone)
    ]
    return "\n\n".join(parts) + "\n"


def faults(page: str) -> Iterator[str]:
    """What is missing, stale, gone or wrong in a page."""
    english, japanese = pieces_of(page), read(page)
    for key, text in english.items():
        found = japanese.get(key, Translation("", "", ""))
        if not found.text:
            yield f"{key}: missing"
        elif not is_fresh(text, found):
            yield f"{key}: stale, its English is another now"
        else:
            yield from (
                f"{key}: {said}"
                for said in broken(text, found.text, found.allowed)
            )
    for key in sorted(japanese.keys() - english.keys() - {LABELS}):
        yield f"{key}: gone from the English page"
    known = read_labels(page)
    for label in labels_of(page):
        if not known.get(label):
            yield f"{LABELS}: {label!r} is missing"


def main(words: list[str]) -> int:
    """Do what is asked; 1 if something is missing or wrong."""
    beside = "--beside" in words
    command, *names = [w for w in words if w != "--beside"] or ["help"]
    if command == "skeleton" and names:
        for page in map(page_named, names):
            path = JAPANESE / f"{page}.md"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(skeleton(page, beside), encoding="utf-8")
            print(f"{path}: {len(list(faults(page)))} to do")
        return 0
    if command == "check":
        told = [
            f"{page}: {said}"
            for page in (map(page_named, names) if names else pages())
            for said in faults(page)
        ]
        print(
            "\n".join(told)
            or "Nothing is missing or stale, and no rule is broken."
        )
        return bool(told)
    if command == "tree":
        tree.make([page_named(name) for name in names])
        return 0
    print(__doc__)
    return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
