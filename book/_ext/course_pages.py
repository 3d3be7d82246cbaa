"""What is put right in the HTML of a page.

- Japanese is marked as such in an English page, so that a screen reader
  pronounces it and a browser takes the right font;
- punctuation that touches a formula stays on its line, and in Japanese the
  name of a chapter or of a model stays on one;
- an empty cell in a table's head is no heading;
- scripts wait until the page has been read;
- the letters of its text are asked for at once, not when styles name them.
"""

import re
from typing import Any

import course_edition
from sphinx.application import Sphinx

LETTER = "々-〇ぁ-ヿㇰ-ㇿ㐀-䶿一-鿿豈-﫿ｦ-ﾟ𠀀-𳎯"
SIGN = "　-〿！-｠"
JAPANESE = re.compile(
    rf"(?=[{SIGN} ]*[{LETTER}])[{LETTER}{SIGN}]+(?: +[{LETTER}{SIGN}]+)*"
)
"""Run of kana and kanji, with their punctuation and the spaces between."""
MARKUP = re.compile(
    r"(<(script|style|title|desc|option|textarea)\b.*?</\2>|<[^>]*>)", re.S
)
"""Tag, or an element that may hold no others."""
FORMULA = re.compile(
    r"([(\[“‘「『（]*)"
    r'(<span class="math notranslate nohighlight">.*?</mjx-container></span>)'
    r"([A-Za-z'’”.,;:!?%…)\]」』）、。-]*)"
)
IN_JAPANESE = 'lang="ja"'
EMPTY_HEAD = re.compile(r'<th class="[^"]*"><p></p></th>')
"""Corner of a table, which heads nothing."""
PLAIN_FOLD = re.compile(
    r'(<details class="[^"]*\bhide\b[^"]*)("[^>]*>\s*<summary)[^>]*'
    r'(>\s*<\w+ class="collapsed[^"]*">'
    r"(?:Show the \w+ of this cell|このセルを表示)<)"
)
"""Folded cell without a title of its own, which paper does without."""
EMPHASIS = re.compile(rf"<em>((?:(?!</em>)[^{LETTER}])*)</em>")
"""Words of a Japanese page that are set off and are not Japanese."""
NAME = re.compile(
    r"第\d\d章|(?<![\w-])(?:(?:Pre|Post)-LN|GPT-\d|R-Drop|[2-6n]-gram"
    r"|all-MiniLM-L6-v2|--[a-z][a-z.-]*[a-z])(?![\w-])",
    re.A,
)
"""Name on a Japanese page that a line may not break."""
LETTERS = """<script>
  if (location.protocol !== "file:") // which has no such requests
    for (const name of ["regular", "semibold"])
      document.head.append(Object.assign(document.createElement("link"), {
        rel: "preload", as: "font", type: "font/woff2", crossOrigin: "",
        href: `${document.documentElement.dataset.content_root}_static/fonts/`
          + `sans-${name}.woff2`,
      }));
</script>"""


def mark(html: str, words: re.Pattern, sign: str) -> str:
    """Put words into elements with an attribute, in drawings too."""
    if not words.search(html):
        return html
    written, holder = [], "span"
    parts = iter(MARKUP.split(html))
    for text in parts:
        marked = rf"<{holder} {sign}>\g<0></{holder}>"
        markup, _ = next(parts, ""), next(parts, "")
        written += [words.sub(marked, text), markup]
        if markup.startswith(("<svg", "</svg")):
            holder = "tspan" if markup.startswith("<svg") else "span"
    return "".join(written)


def kept_together(formula: re.Match) -> str:
    """Formula in one element with the punctuation that touches it."""
    if formula[1] or formula[3]:
        return f'<span class="kept-together">{formula[0]}</span>'
    return formula[0]


def put_right(html: str) -> str:
    """HTML of a page's content with all of this."""
    html = FORMULA.sub(kept_together, html)
    html = PLAIN_FOLD.sub(r"\1 plain-fold\2\3", html)
    html = EMPTY_HEAD.sub("<td></td>", html)
    html = html.replace(' aria-label="Toggle hidden content"', "")
    html = html.replace('role="doc-biblioentry"', 'role="listitem"')
    if course_edition.language == "ja":
        html = EMPHASIS.sub(r'<em lang="en">\1</em>', html)
        return mark(html, NAME, 'class="kept-together"')
    return mark(html, JAPANESE, IN_JAPANESE)


def change(
    app: Sphinx, page: str, template: str, context: dict[str, Any], _: Any
) -> None:
    """Put a page's content and table of contents right."""
    if "body" in context:
        context["body"] = put_right(context["body"])
    if page == "_modules/index":  # viewcode puts lists right into lists
        start, items, end = re.split(
            r"(?<=<ul>)(.*)(?=</ul>)", context["body"], flags=re.S
        )
        context["body"] = start + re.sub("</?ul>", "", items) + end
    if "toc" in context and course_edition.language != "ja":
        context["toc"] = mark(context["toc"], JAPANESE, IN_JAPANESE)
    context["metatags"] = LETTERS + context.get("metatags", "")
    if page == app.config.root_doc:
        context["docstitle"] = ""  # its title is the book's


def choose_scripts(
    app: Sphinx, page: str, template: str, context: dict[str, Any], _: Any
) -> None:
    """Let scripts wait until the page has been read, so that it shows sooner.

    The options that others change cannot wait, nor can what stands in the
    page.
    """
    scripts = []
    for script in context["script_files"]:
        name = str(script.filename or "")
        if name and not name.endswith("documentation_options.js"):
            wait = script.attributes | {"defer": "defer"}
            script = type(script)(name, priority=script.priority, **wait)
        scripts.append(script)
    context["script_files"] = scripts


def setup(app: Sphinx) -> dict[str, bool]:
    """Register with Sphinx."""
    app.connect("html-page-context", change)
    app.connect("html-page-context", choose_scripts, priority=950)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
