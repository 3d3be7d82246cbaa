"""Questions as Moodle imports them: Moodle XML."""

from xml.etree.ElementTree import Element, SubElement

from markdown_it import MarkdownIt
from markdown_it.common.utils import escapeHtml
from mdit_py_plugins.dollarmath import dollarmath_plugin

from tools.edition import say
from tools.exams.question import Item, Paper, Question


def tex(formula: str, options: dict[str, bool]) -> str:
    """A formula between the marks that Moodle's MathJax looks for."""
    left, right = (r"\[", r"\]") if options["display_mode"] else (r"\(", r"\)")
    return f"{left}{escapeHtml(formula)}{right}"


READER = MarkdownIt("commonmark").enable("table")
READER.use(dollarmath_plugin, renderer=tex)


def quiz(paper: Paper) -> Element:
    """All questions of a paper, in a category of their own."""
    root = Element("quiz")
    category = SubElement(root, "question", type="category")
    course = say("Building the Transformer")
    name = f"$course$/top/{course}/{paper.title}"
    SubElement(SubElement(category, "category"), "text").text = name
    root.extend(map(question, paper.questions))
    return root


def question(one: Question) -> Element:
    """One question: multiple choice, a number, or an essay."""
    root = Element("question")
    name = SubElement(SubElement(root, "name"), "text")
    name.text = f"{one.chapter} {one.title}"
    html(root, "questiontext", one.ask)
    plain(root, defaultgrade=one.points, penalty=0, hidden=0)
    if one.choices:
        root.set("type", "multichoice")
        plain(root, single="true", shuffleanswers="true")
        for choice in one.choices:
            answer(root, one, choice, READER.render(choice.text), choice.why)
    elif one.answer:
        root.set("type", "numerical")
        html(root, "generalfeedback", key(one))
        answer(root, one, Item(one.points, ""), one.answer, "")
        for wrong in filter(lambda item: item.number, one.wrong):
            answer(root, one, wrong, wrong.number, wrong.text)
    else:
        root.set("type", "essay")
        html(root, "graderinfo", key(one))
    return root


def key(one: Question) -> str:
    """The key of a question, in Markdown."""
    lines = [f"- **{item.worth}** {item.text}" for item in one.key]
    lines += ["", say("Often wrong:"), ""]
    lines += [f"- **{i.worth}** {i.number} {i.text}" for i in one.wrong]
    return "\n".join(lines)


def answer(
    root: Element, one: Question, item: Item, said: str, why: str
) -> None:
    """Add an answer that Moodle knows, and what it says to it."""
    share = f"{100 * item.points / one.points:.5f}".rstrip("0").rstrip(".")
    node = SubElement(root, "answer", fraction=share, format="html")
    plain(node, text=said)
    if one.answer:
        plain(node, tolerance=one.tolerance)
    html(node, "feedback", why)


def html(parent: Element, name: str, markdown: str) -> None:
    """Add a text of HTML."""
    node = SubElement(parent, name, format="html")
    SubElement(node, "text").text = READER.render(markdown)


def plain(parent: Element, **values: object) -> None:
    """Add texts without marks."""
    for name, value in values.items():
        SubElement(parent, name).text = str(value)
