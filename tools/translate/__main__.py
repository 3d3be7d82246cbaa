"""Translate the book: what is to be done, and whether it is right.

python -m tools.translate skeleton 04    write or update its file in book/ja
python -m tools.translate check [04]     name what is missing, stale or wrong
python -m tools.translate tree [PAGES]   make the sources in _build/ja

``skeleton --beside`` quotes the English of all pieces, for a reviewer.
"""

import argparse
import sys
from collections.abc import Iterator

import yaml

from course_exercises.language import LABELS, Translation, digest_of
from tools.translate import pieces, tree
from tools.translate.rules import broken


def page_named(start: str) -> str:
    """The page whose name begins so."""
    if start in pieces.exercises.files():
        return start
    names = pieces.names()
    found = [n for n in names if n == start or n.startswith(f"{start}_")]
    if len(found) != 1:
        raise argparse.ArgumentTypeError(
            f"{start!r} is no page: name it as 04, index, an exercise as "
            "causal_mask, its notebook exercises/06_masks; there are: "
            f"{', '.join(names)}"
        )
    return found[0]


def skeleton(page: str, beside: bool) -> str:
    """The file of a page, with the English of what is to be done."""
    english, parts = pieces.pieces_of(page), []
    japanese = moved(pieces.read(page), english)
    for key, text in english.items():
        found = japanese.pop(key, Translation())
        digest, is_done = digest_of(text), found.is_of(text)
        if found.text and not is_done:
            digest = f"{found.digest} stale: now {digest}"
        elif found.allowed:
            digest += f" {found.allowed}"
        said = " "
        if beside or not is_done:
            said = "\n" + text.replace("-->", "--&gt;") + "\n"
        parts.append(f"<!-- {key} {digest}{said}-->\n\n{found.text}".strip())
    known = pieces.read_labels(page)
    japanese.pop(LABELS, None)
    for key, found in japanese.items():
        parts.append(f"<!-- {key} {found.digest} gone -->\n\n{found.text}")
    if labels := pieces.labels_of(page):
        rows = [f"| {label} | {known.get(label, '')} |" for label in labels]
        head = f"<!-- {LABELS} -->\n\n| English | 日本語 |\n|---|---|\n"
        parts.append(head + "\n".join(rows))
    return "\n\n".join(parts) + "\n"


def moved(
    japanese: dict[str, Translation], english: dict[str, str]
) -> dict[str, Translation]:
    """Translations by today's names: what fits another piece goes there.

    One whose place is taken, and that fits no piece, is kept beside it.
    """
    fitting = {one.digest: one for one in japanese.values() if one.text}
    digests = {digest_of(text) for text in english.values()}
    found = {
        key: one
        for key, one in japanese.items()
        if one.digest not in digests or one.is_of(english.get(key, ""))
    }
    for key, text in english.items():
        fits, own = fitting.get(digest_of(text)), found.get(key)
        if not fits or (own and own.is_of(text)):
            continue
        if own:
            found[f"{key}.before"] = own
        found[key] = fits
    return found


def faults(page: str) -> Iterator[str]:
    """What is missing, stale, gone or wrong in a page."""
    japanese = pieces.read(page)
    for key, text in pieces.pieces_of(page).items():
        found = japanese.pop(key, Translation())
        if not found.text:
            yield f"{key}: missing"
        elif not found.is_of(text):
            yield f"{key}: stale, its English is another now"
        else:
            wrong = broken(text, found.text, found.allowed)
            yield from (f"{key}: {said}" for said in wrong)
    japanese.pop(LABELS, None)
    yield from (f"{key}: gone from the English page" for key in japanese)
    if page == "glossary":
        yield from stale_terms()
    known = pieces.read_labels(page)
    for label in pieces.labels_of(page):
        if not known.get(label):
            yield f"{LABELS}: {label!r} is missing"


def stale_terms() -> Iterator[str]:
    """Terms whose English is another than the Japanese translates."""
    text = (pieces.ROOT / "book/glossary.yml").read_text("utf-8")
    for term in yaml.load(text, yaml.CSafeLoader):
        said = term["definition"]
        if said.get("of") != (digest := digest_of(said["en"])):
            yield f"{term['en']}: stale, its English is of: {digest} now"


def main() -> int:
    """Do what is asked; 1 if something is missing or wrong."""
    parser = argparse.ArgumentParser(prog="python -m tools.translate")
    parser.add_argument("do", choices=["skeleton", "check", "tree"])
    parser.add_argument("pages", nargs="*", type=page_named)
    parser.add_argument("--beside", action="store_true")
    given = parser.parse_args()
    if given.do == "tree":
        tree.make(given.pages)
    elif given.do == "skeleton":
        for page in given.pages:
            path = pieces.file_of(page)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(skeleton(page, given.beside), encoding="utf-8")
            print(f"{path}: {len([*faults(page)])} to do")
    else:
        asked = given.pages or pieces.pages()
        told = [f"{page}: {said}" for page in asked for said in faults(page)]
        print("\n".join(told) or "Nothing is missing, stale or wrong.")
        return int(bool(told))
    return 0


if __name__ == "__main__":
    sys.exit(main())
