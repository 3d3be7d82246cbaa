"""What the search page searches: every section of the book, by its own words.

Sphinx's own index says which words a page has, and no more. Here each section
becomes an entry, with its title, its text and its code; so does each term of
the glossary and each name of the package. They are read from the built pages,
where all references stand as a reader sees them, and written into one script:
a page that was opened as a file may load no other data. MiniSearch ranks them;
``_static/search_rank.js`` asks it, and ``_static/search_page.js`` shows them.
"""

import json
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

import course_edition
import lxml.html
import yaml
from course_edition import say
from lxml.html import HtmlElement
from sphinx.application import Sphinx

INDEX = "search_sections.js"

STOP = (
    "a about an am any can could did do does has have how i me my"
    " should so vs we what when where which who why you your"
)
"""English words that say nothing of what is asked for."""
WORDS = {
    "start": "How it begins",
    "found": "Sections found: {}. Pages: {}.",
    "none": "Nothing was found for “{}”. Fewer words find more.",
    "more": "More on this page: {}",
    "other": "Other pages: {}",
}
"""Words of the search page."""
ANSWER = "Answer"
"""Title of what is folded and left out."""

WEIGHTS = {
    r"\d\d_": 1.0,
    r"setup|corrections|notation": 0.8,
    r"glossary|lecturers|api/": 0.4,
    r"": 0.3,
}
"""Weight of a page, by the beginning of its address: a learner looks for a
chapter first."""

NO_TEXT = """
    .//script | .//noscript | .//style | .//svg | .//template
    | .//a[contains(@class, 'headerlink')]
    | .//*[contains(@class, 'viewcode-link')]
    | .//ul[contains(@class, 'glossary-index')]
    | .//*[contains(@class, 'time-machine')]
    | .//*[contains(@class, 'transformer-minimap')]
    | .//*[contains(@class, 'toctree-wrapper')]
    | .//div[contains(@class, 'output')][not(.//figcaption)]
    | .//div[contains(@class, 'math')]
    | .//details[contains(@class, 'hide')]/summary
    | .//p[contains(@class, 'guess-still')]
    | .//details[contains(@class, 'runs')]
    | .//dl[contains(@class, 'field-list')]
"""
"""Parts of a page that are not read as its text."""

ENTRIES = """
    .//section[@id]
    | .//dl[@class='glossary']/dt[@id][following-sibling::*[1][self::dd]]
    | .//dl[contains(@class, 'py ')][not(contains(@class, 'attribute')
        or contains(@class, 'property'))]/dt[@id]
"""
"""Sections, terms and names: what is an entry."""

BLOCKS = ("p", "li", "dt", "dd", "td", "th", "div", "br", "pre", "summary")
PACKAGE = "transformer_course."


class Entry(NamedTuple):
    """A section, as the script has it."""

    page: str
    anchor: str
    title: str
    text: str
    code: str
    """The words of its programs, each once."""


# --- what a page says --------------------------------------------------------

SIGNS = {
    r"\\sqrt": "√", r"\\cdot": "·", r"\\times": "×", r"\\infty": "∞",
    r"\\leq?\b": "≤", r"\\geq?\b": "≥", r"\\approx": "≈",
    r"\\(?:top|T)\b": "ᵀ", r"\\alpha": "α", r"\\beta": "β",
    r"\\epsilon|\\varepsilon": "ε", r"\\sigma": "σ", r"\\(?=[{}%])": "",
    r"\\(?:operatorname|text|math[a-z]+|frac|left|right)\b": "",
    r"\\[(),;:! ]|[{}$]": "", r"\\([a-zA-Z]+)": r"\1",
}  # fmt: skip
"""Replacements in a formula, in this order: TeX, and plain text."""


def plain_formula(tex: str) -> str:
    """A formula of a line of text, as one would type it: ``√d_k``."""
    for pattern, sign in SIGNS.items():
        tex = re.sub(pattern, sign, tex)
    return tex


def said(element: HtmlElement) -> str:
    """All text of an element, in one line."""
    return " ".join(element.text_content().split())


def cleaned(article: HtmlElement) -> HtmlElement:
    """A page's text without answers, menus and outputs; words stay apart."""
    answers = ".//details[normalize-space(summary)=$title]"
    for part in article.xpath(answers, title=say(ANSWER)) + article.xpath(
        NO_TEXT
    ):
        part.drop_tree()
    for formula in article.xpath(".//mjx-container"):
        formula.getparent().text = plain_formula(formula.get("data-tex"))
        formula.drop_tree()
    for block in article.iter(*BLOCKS):
        block.tail = f" {block.tail or ''}"
    return article


def title_of(part: HtmlElement) -> str:
    """Title of an entry: a heading, a term, a name of the package."""
    if part.tag == "section":
        heading = part.xpath("*[starts-with(name(), 'h')][1]")
        title = said(heading[0]) if heading else ""
        for element in heading:
            element.drop_tree()
        return title
    if part.getparent().get("class") == "glossary":
        names = part.xpath("preceding-sibling::*[1][self::dt]/text()")
        return " ".join([*names[:1], part.text or ""]).strip()
    return part.get("id").removeprefix(PACKAGE)


def names_in(programs: list[HtmlElement]) -> str:
    """The words of some programs, each once; they are taken out."""
    words = {}
    for program in programs:
        words |= dict.fromkeys(re.findall(r"[^\W\d]\w+", said(program)))
        program.drop_tree()
    return " ".join(words)


def entries_of(page: str, article: HtmlElement) -> list[Entry]:
    """The entries of a page, in its order, each with its own text alone.

    The last one is read and taken out first: so what a section holds is gone
    when its turn comes.
    """
    found = []
    for part in reversed(article.xpath(ENTRIES)):
        title = title_of(part)
        content = part
        if part.tag == "dt":
            content = part.xpath("following-sibling::dd[1]")[0]
            content.insert(0, part)
            part.text = ""
        code = names_in(content.xpath(".//div[@class='highlight']"))
        text = said(content)
        found.append(Entry(page, part.get("id"), title, text, code))
        content.drop_tree()
    return found[::-1]


def introduced(terms: list[dict[str, Any]]) -> dict[str, str]:
    """Names of the terms that each section introduces, by its address.

    A name counts there as the title does.
    """
    names: dict[str, list[str]] = {}
    for term in terms:
        address = term["where"].replace("#", ".html#")
        found = names.setdefault(address, [])
        for name in dict.fromkeys(("en", course_edition.language)):
            found += [term[name], *term.get("also", {}).get(name, [])]
    return {address: " ".join(found) for address, found in names.items()}


# --- the script --------------------------------------------------------------


def weight_of(page: str) -> float:
    """Weight of a page."""
    return next(w for start, w in WEIGHTS.items() if re.match(start, page))


def index_of(
    articles: Iterable[tuple[str, HtmlElement]], terms: list[dict[str, Any]]
) -> dict[str, Any]:
    """Content of the script, from pages with their addresses."""
    names = introduced(terms)
    entries = [
        entry
        for page, article in articles
        for entry in entries_of(page, cleaned(article))
    ]
    # the first entry of a page is the page's own
    titles = {entry.page: entry.title for entry in reversed(entries)}
    pages = list(dict.fromkeys(entry.page for entry in entries))
    return {
        "words": {"stop": STOP}
        | {name: say(text) for name, text in WORDS.items()},
        "pages": [[page, titles[page], weight_of(page)] for page in pages],
        "sections": [
            [
                pages.index(entry.page),
                *entry[1:],
                names.get(f"{entry.page}#{entry.anchor}", ""),
            ]
            for entry in entries
        ],
    }


def write_index(app: Sphinx, error: Exception | None) -> None:
    """Write the script beside the pages."""
    if error or app.builder.format != "html":
        return
    site = Path(app.outdir)
    addresses = map(app.builder.get_target_uri, sorted(app.env.found_docs))
    articles = (
        (address, lxml.html.parse(site / address).find(".//article"))
        for address in addresses
    )
    glossary = Path(app.srcdir, app.config.course_glossary)
    terms = yaml.safe_load(glossary.read_text(encoding="utf-8"))
    data = json.dumps(index_of(articles, terms), ensure_ascii=False)
    script = f"const courseSearch = {data};\n"
    (site / INDEX).write_text(script, encoding="utf-8")


def setup(app: Sphinx) -> dict[str, bool]:
    """Register with Sphinx."""
    app.setup_extension("course_glossary")
    app.connect("build-finished", write_index)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
