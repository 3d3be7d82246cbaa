"""The sources of the Japanese edition, made from the English book.

python -m tools.translate tree [PAGES]

With names of pages, the others are there with their headings alone, so that
what leads to them does: such a book is built in seconds.
"""

import json
import re
from collections.abc import Callable
from pathlib import Path

import yaml

from course_exercises.language import SAME, Translation
from tools.translate import pieces
from tools.translate.pieces import ENGLISH, ROOT, headings_of
from tools.translate.strings import replace_strings, strings

TARGET = ROOT / "_build/ja/book"
FONTS = "'Course Sans', 'DejaVu Sans', 'IPAexGothic'"
NARROW = 'lengthAdjust="spacingAndGlyphs"'
NOTE = "ここはまだ日本語になっていません。英語のまま載せています。"
WHOLE = {"glossary", "bibliography", pieces.PLAN}
"""What others rest on: it is never left empty."""
FORMULA = re.compile(
    rf"{pieces.FORMULA.pattern}(\s*<g\b[^>]*>\s*)<text>(.*?)</text>", re.S
)
LINE = re.compile(
    r'<text style="([^"]*)" transform="translate\(([\d.]+) ([\d.]+)\)">'
    r"([^<]*)</text>"
)
LINES = re.compile(rf"{LINE.pattern}(?:\s*{LINE.pattern})+")
SOURCE = re.compile(r"\A\*From (`[^`]+`):\*")
"""What ``show_source`` says above a source."""


def translate_drawing(svg: str, labels: dict[str, str]) -> str:
    """A drawing with its words in Japanese, as wide as they are.

    Behind one that has less room stands how wide it may be: ``word {48}``.
    """

    def put(text: re.Match) -> str:
        japanese = labels.get(text[2].strip()) or SAME
        if japanese == SAME:
            return text[0]
        start = re.sub(r' (?:textLength|lengthAdjust)="[^"]*"', "", text[1])
        japanese, _, width = japanese.removesuffix("}").partition(" {")
        if width:
            start = f'{start[:-1]} textLength="{width}" {NARROW}>'
        return f"{start}{japanese}"

    def put_formula(found: re.Match) -> str:
        japanese = labels.get(found[1]) or SAME
        if japanese == SAME:
            return found[0]
        *_, end = re.findall(r'<tspan x="([\d.]+)"', found[3])
        start = svg[: found.start()]
        is_key = start.rfind('id="legend_') > start.rfind('id="axes_')
        place, anchor = (0, "start") if is_key else (float(end) / 2, "middle")
        style = re.search(
            r'style="(?:font-style: italic; )?([^"]*)"', found[3]
        )[1].replace("'Course Sans'", FONTS)
        return (
            f'{found[2]}<text x="{place}" style="text-anchor: {anchor}; '
            f'{style}">{with_formulas(japanese)}</text>'
        )

    svg = LINES.sub(lambda lines: aligned(lines[0], labels), svg)
    return pieces.DRAWN.sub(put, FORMULA.sub(put_formula, svg))


def aligned(lines: str, labels: dict[str, str]) -> str:
    """Lines that matplotlib began where English ones begin, aligned anew."""
    found = [*LINE.finditer(lines)]
    places = {
        anchor: [float(at[2]) + share * 5.5 * len(at[4]) for at in found]
        for anchor, share in (("start", 0), ("middle", 0.5), ("end", 1))
    }
    spread = {kind: max(at) - min(at) for kind, at in places.items()}
    likely = "middle" if spread["start"] else "start"  # of equal length
    anchor = min(
        spread, key=lambda kind: (round(spread[kind], 1), kind != likely)
    )
    place = sum(places[anchor]) / len(found)
    said = [at for at in found if labels.get(at[4].strip()) != "&#8203;"]
    middle = sum(float(at[3]) for at in found) / len(found)

    def put(line: re.Match) -> str:
        style, _, y, words = line.groups()
        if labels.get(words.strip(), SAME) == SAME:
            return line[0]
        y = y if len(said) > 1 else f"{middle:.2f}"  # one line is left
        return (
            f'<text style="{style}; text-anchor: {anchor}" '
            f'transform="translate({place:.2f} {y})">{words}</text>'
        )

    return LINE.sub(put, lines)


def with_formulas(text: str) -> str:
    """Words of a drawing whose formulas are set, such as ``$d_k$``."""

    def put(found: re.Match) -> str:
        if not found[1]:
            return f'<tspan style="font-style: italic">{found[2]}</tspan>'
        dy = 2 if found[1] == "_" else -4
        style = "font-size: 70%" + "; font-style: italic" * found[2].isalpha()
        small = f'<tspan dy="{dy}" style="{style}">{found[2]}</tspan>'
        return f'{small}<tspan dy="{-dy}">&#8203;</tspan>'

    return re.sub(
        r"\$([^$]*)\$",
        lambda found: re.sub(r"(_|\^|(?=[A-Za-z]))(\w)", put, found[1]),
        text,
    )


def with_english_headings(english: str, japanese: str) -> str:
    """Japanese text whose headings are the English ones, each renamed.

    So their addresses are the English edition's (course_edition.py).
    """
    written, end = [], 0
    pairs = zip(headings_of(japanese), headings_of(english), strict=True)
    for here, there in pairs:
        title = f"{there[0]}\n\n~~~{{renamed}} {here[2]}\n~~~"
        written += [japanese[end : here.start()], title]
        end = here.end()
    return "".join(written) + japanese[end:]


def with_note(english: str) -> str:
    """English text that says it is not translated, below its first heading."""
    place = headings_of(english)[0].end() if headings_of(english) else 0
    said = f"\n\n{{.untranslated}}\n{NOTE}\n\n"
    return (english[:place] + said + english[place:]).strip()


class Edition:
    """A page as it is translated so far."""

    def __init__(self, page: str):
        self.page = page
        self.english = pieces.pieces_of(page)
        self.japanese = pieces.read(page)
        self.labels = pieces.read_labels(page)
        self.noted = False

    def words(self, key: str) -> str | None:
        """A piece in Japanese; None where it is missing or stale."""
        found = self.japanese.get(key, Translation())
        return found.text if found.is_of(self.english[key]) else None

    def text(self, key: str) -> str:
        """A piece of Markdown: in Japanese, or in English with a note."""
        english, words = self.english[key], self.words(key)
        if words is not None:
            self.noted = False
            words = re.sub(r"(?<=\d) %", "\u00a0%", words)  # on one line
            return with_english_headings(english, words)
        was_noted, self.noted = self.noted, True
        is_new = self.japanese and headings_of(english)
        return english if was_noted and not is_new else with_note(english)

    def source(self, of: Callable[[str], str] = str) -> str:
        """The page's source, or what ``of`` leaves of its text."""
        path = pieces.source_of(self.page)
        if path.suffix == ".md":
            return "\n\n".join(
                of(self.text(key) if key in self.english else text)
                for key, text in pieces.sections_of(path.read_text("utf-8"))
            )
        if path.suffix == ".yml":
            plan = yaml.load(path.read_text("utf-8"), yaml.CSafeLoader)
            made = pieces.with_words(plan, lambda k, t: self.words(k) or t)
            return yaml.safe_dump(made, allow_unicode=True, sort_keys=False)
        notebook = json.loads(path.read_text("utf-8"))
        for cell in notebook["cells"]:
            if cell["cell_type"] == "markdown":
                cell["source"] = of(self.text(cell["id"]))
            for kind, place, name in pieces.words_of(cell):
                words = self.words(f"{cell['id']}.{kind}")
                place[name] = words or place[name]
            for output in cell.get("outputs", []):
                data = output.get("data", {})
                if svg := data.get("image/svg+xml"):
                    drawn = translate_drawing("".join(svg), self.labels)
                    data["image/svg+xml"] = drawn
                if said := pieces.markdown_in(output):
                    data[pieces.MARKDOWN] = SOURCE.sub(r"\1 より：", said)
            if of is alone and cell["cell_type"] == "code":
                cell |= {"outputs": [], "source": "", "metadata": {}}
        return json.dumps(notebook, ensure_ascii=False, indent=1)


def alone(text: str) -> str:
    """Some Markdown with its headings and labels alone."""
    starts = {heading.start() for heading in headings_of(text)}
    wanted = r"^#{1,6} .+$(?:\n\n~~~\{renamed\}.+\n~~~)?|^\([\w-]+\)=$"
    return "\n\n".join(
        found[0]
        for found in re.finditer(wanted, text, re.M)
        if found[0][0] == "(" or found.start() in starts
    )


def write(path: Path, content: bytes) -> None:
    """Write a file, unless it stands there: Sphinx reads what is newer."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.exists() or path.read_bytes() != content:
        path.write_bytes(content)


def copy(words: dict[str, dict[str, str]]) -> None:
    """Copy what stands beside the pages, with its words in Japanese."""
    book = ROOT / "book"
    wanted = ("*.yml", "*.bib", "en/figures/*.html")
    wanted += ("_static/**/*.*", "_templates/**/*.*")
    for path in (path for each in wanted for path in book.glob(each)):
        name, content = path.relative_to(book).as_posix(), path.read_bytes()
        if found := words.get(name):
            content = replace_strings(content.decode(), found, name).encode()
        write(TARGET / re.sub("^en/", "ja/", name), content)


def in_japanese(value, words: dict[str, str]):
    """Settings or contents in Japanese; a page has its own title there."""
    if isinstance(value, dict):
        return {
            key: in_japanese(each, words)
            for key, each in value.items()
            if not (key == "title" and "file" in value)
        }
    if isinstance(value, list):
        return [in_japanese(each, words) for each in value]
    return words.get(value, value) if isinstance(value, str) else value


def make(only: list[str]) -> None:
    """Make the sources; with names of pages, the others are empty."""
    words = strings()
    copy(words["files"])
    for name in pieces.names():
        page, source = Edition(name), pieces.source_of(name)
        is_whole = not only or name in {*only, *WHOLE}
        text = page.source() if is_whole else page.source(alone)
        write(TARGET / "ja" / source.relative_to(ENGLISH), text.encode())
        if (path := pieces.picture_of(name)).exists():
            svg = translate_drawing(path.read_text("utf-8"), page.labels)
            write(TARGET / "ja" / path.relative_to(ENGLISH), svg.encode())
    for name in ("_config.yml", "_toc.yml"):
        made = yaml.safe_load((ROOT / name).read_text("utf-8"))
        made = in_japanese(made, words["settings"])
        if "sphinx" in made:
            made["sphinx"]["config"]["language"] = "ja"
            folders = made["sphinx"]["local_extensions"]
            folders |= dict.fromkeys(folders, str(ROOT / "book/_ext"))
        text = yaml.safe_dump(made, allow_unicode=True, sort_keys=False)
        write(TARGET.parent / name, text.encode())
