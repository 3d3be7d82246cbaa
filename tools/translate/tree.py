"""The sources of the Japanese edition, made from the English book.

python -m tools.translate tree [PAGES]

With names of pages, the others are there with their headings alone, so that
what leads to them does: such a book is built in seconds.
"""

import json
import re
from pathlib import Path

import yaml

from tools.translate.pieces import (
    ENGLISH,
    ROOT,
    SAME,
    figure_text,
    headings_of,
    is_fresh,
    pieces_of,
    read,
    read_labels,
    source_of,
)
from tools.translate.strings import replace_strings, strings

TARGET = ROOT / "_build/ja/book"
NOTE = "この部分はまだ日本語になっていません。英語のまま載せています。"
PAGE_NOTE = "このページはまだ日本語になっていません。英語のまま載せています。"
WHOLE = {"glossary", "bibliography"}
"""Pages on which others rest: they are never left empty."""


def translate_drawing(svg: str, labels: dict[str, str]) -> str:
    """A drawing with its words in Japanese, which are as wide as they are."""

    def put(text: re.Match) -> str:
        japanese = labels.get(text[2].strip())
        if not japanese or japanese == SAME:
            return text[0]
        start = re.sub(r' (?:textLength|lengthAdjust)="[^"]*"', "", text[1])
        return f"{start}{japanese}</text>"

    return re.sub(r"(<text\b[^>]*>)([^<>]+)</text>", put, svg)


def with_english_headings(english: str, japanese: str) -> str:
    """Japanese text whose headings are the English ones, each renamed.

    So their addresses are the English edition's (course_edition.py).
    """
    written, end = [], 0
    pairs = zip(headings_of(japanese), headings_of(english), strict=True)
    for here, there in pairs:
        title = f"{there[0]}\n\n```{{renamed}} {here[2]}\n```"
        written += [japanese[end : here.start()], title]
        end = here.end()
    return "".join(written) + japanese[end:]


def with_note(english: str, note: str) -> str:
    """English text that says it is not translated, below its first heading."""
    headings = headings_of(english)
    place = headings[0].end() if headings else 0
    said = f"\n\n{{.untranslated}}\n{note}\n\n"
    return (english[:place] + said + english[place:]).strip()


class Edition:
    """A page as it is translated so far."""

    def __init__(self, page: str):
        self.page = page
        self.english = pieces_of(page)
        self.japanese = read(page)
        self.labels = read_labels(page)
        self.noted = False

    def text(self, key: str) -> str:
        """A piece of Markdown: in Japanese, or in English with a note."""
        english, found = self.english[key], self.japanese.get(key)
        if is_fresh(english, found):
            self.noted = False
            return with_english_headings(english, found.text)
        if not self.japanese:  # the whole page is English
            first = key == next(k for k in self.english if k != "toc")
            return with_note(english, PAGE_NOTE) if first else english
        if self.noted and not headings_of(english):
            return english
        self.noted = True
        return with_note(english, NOTE)

    def words(self, key: str) -> str:
        """A caption or the like: in Japanese, or in English."""
        english, found = self.english[key], self.japanese.get(key)
        return found.text if is_fresh(english, found) else english

    def title(self) -> str:
        """The page's title in the contents."""
        return self.words("toc")

    def source(self, empty: bool) -> str:
        """The page's source; an empty one has its headings alone."""
        path = source_of(self.page)
        if path.suffix == ".md":
            parts = [self.text(key) for key in self.english if key != "toc"]
            return (
                headings_alone(parts) if empty else "\n\n".join(parts) + "\n"
            )
        notebook = json.loads(path.read_text("utf-8"))
        for cell in notebook["cells"]:
            if cell["cell_type"] == "markdown":
                cell["source"] = self.text(cell["id"])
                if empty:
                    cell["source"] = headings_alone([cell["source"]])
            else:
                self.translate_code(cell)
        if empty:
            notebook["cells"] = [
                c for c in notebook["cells"] if c["cell_type"] == "markdown"
            ]
        return json.dumps(notebook, ensure_ascii=False, indent=1)

    def translate_code(self, cell: dict) -> None:
        """Put what a code cell says to readers into Japanese; no code."""
        shown = cell["metadata"].get("mystnb", {})
        said = {
            kind: self.words(f"{cell['id']}.{kind}")
            for kind, text in figure_text(cell)
            if text
        }
        if "caption" in said:
            shown["figure"]["caption"] = said["caption"]
        if "alt" in said:
            shown["image"]["alt"] = said["alt"]
        if "prompt" in said:
            shown["code_prompt_show"] = shown["code_prompt_hide"] = said[
                "prompt"
            ]
        for output in cell["outputs"]:
            data = output.get("data", {})
            if svg := "".join(data.get("image/svg+xml", "")):
                data["image/svg+xml"] = translate_drawing(svg, self.labels)


def headings_alone(parts: list[str]) -> str:
    """The headings of a page, with their titles in Japanese."""
    title = r"^#{1,6} .+?$(?:\n\n```\{renamed\} .+\n```)?|^\([\w-]+\)=$"
    found = [m[0] for part in parts for m in re.finditer(title, part, re.M)]
    return "\n\n".join(found) + "\n"


def write(path: Path, content: bytes) -> None:
    """Write a file, unless it stands there: Sphinx reads what is newer."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.exists() or path.read_bytes() != content:
        path.write_bytes(content)


def settings(words: dict[str, str]) -> dict:
    """The book's settings, in Japanese."""

    def put(value):
        if isinstance(value, dict):
            return {key: put(each) for key, each in value.items()}
        if isinstance(value, list):
            return [put(each) for each in value]
        return words.get(value, value) if isinstance(value, str) else value

    found = put(yaml.safe_load((ROOT / "_config.yml").read_text("utf-8")))
    found["sphinx"]["config"]["language"] = "ja"
    for name in found["sphinx"]["local_extensions"]:
        found["sphinx"]["local_extensions"][name] = str(ROOT / "book/_ext")
    return found


def contents(words: dict[str, str]) -> dict:
    """The book's contents, in Japanese."""
    found = yaml.safe_load((ROOT / "_toc.yml").read_text("utf-8"))
    for part in found["parts"]:
        part["caption"] = words.get(part["caption"], part["caption"])
        for page in part["chapters"]:
            if "title" in page:
                number = re.match(r"(?:\d\d · )?", page["title"])[0]
                page["title"] = number + Edition(page["file"]).title()
    return found


def page_of_picture(path: Path) -> str | None:
    """The page whose words are in a picture that no cell draws."""
    if path.parent.name == "openings":
        return next(ENGLISH.glob(f"{path.stem}_*")).stem
    return "index" if path.name == "transformer.svg" else None


def copy(words: dict[str, dict[str, str]]) -> None:
    """Copy what stands beside the pages, with its words in Japanese."""
    for path in (ROOT / "book").rglob("*.*"):
        name = path.relative_to(ROOT / "book")
        text = None
        if name.as_posix() in words:
            text = path.read_text("utf-8")
            text = replace_strings(text, words[name.as_posix()], name)
        elif page := page_of_picture(path):
            text = translate_drawing(
                path.read_text("utf-8"), read_labels(page)
            )
        place = name.as_posix().replace("en/", "ja/", 1)
        if re.match(
            r"_static/|_templates/|\w+\.\w+$|en/(figures/|\w+\.yml)", str(name)
        ):
            write(
                TARGET / place,
                path.read_bytes() if text is None else text.encode(),
            )


def make(pages: list[str]) -> None:
    """Make the sources; with names of pages, the others are empty."""
    words = strings()
    copy(words["files"])
    for path in [*ENGLISH.glob("*.ipynb"), *ENGLISH.rglob("*.md")]:
        place = path.relative_to(ENGLISH)
        name = place.with_suffix("").as_posix()
        empty = bool(pages) and name not in {*pages, *WHOLE}
        write(TARGET / "ja" / place, Edition(name).source(empty).encode())
    made = {"_config": settings, "_toc": contents}
    for name, of in made.items():
        text = yaml.safe_dump(of(words["settings"]), allow_unicode=True)
        write(TARGET.parent / f"{name}.yml", text.encode())
