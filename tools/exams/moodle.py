"""Questions as Moodle imports them: Moodle XML."""

from xml.etree import ElementTree as XML

from markdown_it import MarkdownIt
from markdown_it.common.utils import escapeHtml
from mdit_py_plugins.dollarmath import dollarmath_plugin

from tools.exams.question import Paper, Question

QUESTION_BANK = "$course$/top/Building the Transformer"


def tex(formula: str, options: dict[str, bool]) -> str:
    """A formula between the marks that Moodle's MathJax looks for."""
    left, right = (r"\[", r"\]") if options["display_mode"] else (r"\(", r"\)")
    return f"{left}{escapeHtml(formula)}{right}"


READER = (
    MarkdownIt("commonmark")
    .enable("table")
    .use(dollarmath_plugin, renderer=tex)
)


def quiz(paper: Paper) -> XML.Element:
    """All questions of a paper, in a category of their own."""
    root = XML.Element("quiz")
    category = XML.SubElement(root, "question", type="category")
    text(category, "category", f"{QUESTION_BANK}/{paper.title}")
    root.extend(map(item, paper.questions))
    return root


def item(one: Question) -> XML.Element:
    """One question: multiple choice, a number, or an essay."""
    kind = "numerical" if one.answer else "essay"
    root = XML.Element("question", type="multichoice" if one.choices else kind)
    text(root, "name", f"{one.chapter} {one.title}")
    html(root, "questiontext", one.ask)
    html(root, "generalfeedback", feedback(one) if one.answer else "")
    plain(root, defaultgrade=one.points, penalty=0, hidden=0)
    if one.choices:
        plain(root, single="true", shuffleanswers="true", answernumbering="abc")
        for choice in one.choices:
            node = answer(root, 100 * choice.right, choice.why)
            node.set("format", "html")
            XML.SubElement(node, "text").text = READER.render(choice.text)
    elif one.answer:
        full = answer(root, 100, "")
        XML.SubElement(full, "text").text = one.answer
        plain(full, tolerance=one.tolerance)
        for wrong in one.wrong:
            if wrong.number:
                node = answer(root, 100 * wrong.points / one.points, wrong.text)
                XML.SubElement(node, "text").text = wrong.number
                plain(node, tolerance=one.tolerance)
    else:
        plain(root, responseformat="editor", responserequired=1)
        plain(root, responsefieldlines=2 * one.minutes, attachments=0)
        html(root, "graderinfo", feedback(one))
    return root


def feedback(one: Question) -> str:
    """The key of a question, in Markdown."""
    lines = [f"- **{each.points}** {each.text}" for each in one.key]
    lines += ["", "Often wrong:", ""] if one.wrong else []
    lines += [
        f"- **{each.points}** {each.number} {each.text}" for each in one.wrong
    ]
    return "\n".join(lines)


def answer(parent: XML.Element, per_cent: float, why: str) -> XML.Element:
    """One answer that Moodle knows, and what it says to it."""
    share = f"{per_cent:.5f}".rstrip("0").rstrip(".")
    node = XML.SubElement(parent, "answer", fraction=share)
    html(node, "feedback", why)
    return node


def html(parent: XML.Element, name: str, markdown: str) -> None:
    """Add a text of HTML."""
    node = XML.SubElement(parent, name, format="html")
    XML.SubElement(node, "text").text = READER.render(markdown)


def text(parent: XML.Element, name: str, said: str) -> None:
    """Add a text without marks."""
    XML.SubElement(XML.SubElement(parent, name), "text").text = said


def plain(parent: XML.Element, **values: object) -> None:
    """Add settings."""
    for name, value in values.items():
        XML.SubElement(parent, name).text = str(value)
