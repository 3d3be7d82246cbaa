"""Exam questions: their keys add up and hold, and reach no learner."""

import ast
import math
import re
from xml.etree import ElementTree

import pytest
import torch
from built_book import BOOK, ROOT, markdown_of

from course_exercises.language import VARIABLE
from tools.exams import __main__ as command
from tools.exams.moodle import quiz
from tools.exams.question import BadExam, chapters, draw, parsed, read
from tools.lectures.chapter import chapter_files, section

PAPERS = {number: read(number) for number in chapters()}
QUESTIONS = [one for paper in PAPERS.values() for one in paper.questions]
each_question = pytest.mark.parametrize(
    "one", QUESTIONS, ids=lambda one: f"{one.chapter}-{one.title}"
)
SMALL = 12
"""Whole numbers up to this one may stand in a key without a formula."""
FRACTIONS = {0, 5, 10, 20, 25, 30, 40, 50, 60, 70, 75, 80, 90, 100} | {
    round(100 * a / b, 5) for b in (3, 6, 7, 8, 9) for a in (1, 2, b - 1)
}
"""Shares of a question that Moodle can give for an answer."""


def numbers_in(text: str) -> set[float]:
    """The numbers of a text, however their thousands are set apart."""
    text = re.sub(r"(?<=\d)(,|_|\{,\})(?=\d{3})", "", text)
    return {float(n) for n in re.findall(r"(?<![\w.])\d+(?:\.\d+)?", text)}


# --- the questions -----------------------------------------------------------


def test_each_chapter_has_its_questions():
    assert {*chapters()} == {*chapter_files()} - {"00"}
    for number, paper in PAPERS.items():
        kinds = paper.questions
        assert 4 <= len(kinds) <= 6, number
        assert sum(bool(one.choices) for one in kinds) == 1, number
        assert {"apply", "judge"} <= {one.level for one in kinds}, number
        assert len({one.title for one in kinds}) == len(kinds)
        assert paper.title.startswith(f"{number} ")


@each_question
def test_a_key_says_what_all_points_are_for(one):
    assert one.ask and section(one.section)
    if one.choices:
        points = [choice.points for choice in one.choices]
        assert sorted(points) == [0] * (len(points) - 1) + [one.points]
        assert 3 <= len(one.choices) <= 4
        assert all(c.text and len(c.why) > 20 for c in one.choices)
        assert not one.key and not one.wrong
    else:
        assert sum(credit.points for credit in one.key) == one.points
        assert one.wrong
        assert all(credit.points < one.points for credit in one.wrong)
    assert one.points <= one.minutes <= 2 * one.points + 1


@each_question
def test_what_a_key_computes_is_so(one):
    """A number is compared as it is written, with its own digits."""
    torch.manual_seed(0)
    space = {**vars(math), "torch": torch, "tensor": torch.tensor}
    for node in ast.parse(one.numbers).body:
        text = ast.get_source_segment(one.numbers, node)
        compared = isinstance(node, ast.Expr) and node.value
        if not isinstance(compared, ast.Compare):
            exec(text, space)
            continue
        shown = ast.get_source_segment(one.numbers, compared.left)
        found = eval(ast.unparse(compared.comparators[0]), space)
        if re.fullmatch(r"-?[\d_]+(\.\d+)?", shown):
            digits = len(shown.partition(".")[2])
            assert f"{float(found):.{digits}f}" == shown.replace("_", ""), text
        else:
            assert eval(shown, space) == found, text


@each_question
def test_no_number_of_a_key_is_unproved(one):
    said = " ".join(
        [c.why for c in one.choices]
        + [f"{c.number} {c.text}" for c in (*one.key, *one.wrong)]
    )
    known = numbers_in(f"{one.ask} {one.numbers}")
    known |= numbers_in(" ".join(choice.text for choice in one.choices))
    new = {n for n in numbers_in(said) if n > SMALL or n % 1} - known
    assert not new
    if one.answer:
        assert float(one.answer.lstrip("-")) in known


@pytest.mark.parametrize("number", PAPERS)
def test_a_japanese_key_gives_the_same_points(number, monkeypatch):
    monkeypatch.setenv(VARIABLE, "ja")
    for here, there in zip(
        read(number).questions, PAPERS[number].questions, strict=True
    ):
        for one in ("section", "points", "minutes", "answer", "tolerance"):
            assert getattr(here, one) == getattr(there, one)
        for part in ("choices", "key", "wrong"):
            items, others = (
                [(i.points, i.number, bool(i.why)) for i in getattr(one, part)]
                for one in (here, there)
            )
            assert items == others


def test_a_question_without_its_line_is_refused():
    with pytest.raises(BadExam, match="'A title' of chapter 04"):
        parsed("04", "A title\n\nNo line about it.")


# --- what is made of them ----------------------------------------------------


@pytest.mark.parametrize("number", PAPERS)
def test_moodle_gets_every_question(number):
    paper = PAPERS[number]
    root = ElementTree.fromstring(ElementTree.tostring(quiz(paper)))
    category, *items = root
    assert paper.title in category.findtext("category/text")
    for one, item in zip(paper.questions, items, strict=True):
        assert one.title in item.findtext("name/text")
        assert item.findtext("defaultgrade") == str(one.points)
        answers = item.findall("answer")
        shares = [float(answer.get("fraction")) for answer in answers]
        assert {*shares} <= FRACTIONS
        if one.choices:
            assert item.get("type") == "multichoice" and sum(shares) == 100
            assert all(answer.findtext("feedback/text") for answer in answers)
        elif one.answer:
            assert item.get("type") == "numerical"
            assert shares.count(100) == 1
            assert all(answer.findtext("tolerance") for answer in answers)
        else:
            assert item.get("type") == "essay" and not answers
            lines = item.findtext("graderinfo/text").count("<li>")
            assert lines == len(one.key) + len(one.wrong)
        for text in item.iter("text"):
            assert "$" not in (text.text or "").removeprefix("$course$")


def test_papers_ask_and_keys_answer(tmp_path):
    command.publish(tmp_path, {"04": PAPERS["04"]})
    paper, key = (
        (tmp_path / f"{name}.html").read_text("utf-8")
        for name in ("04", "04-key")
    )
    for one in PAPERS["04"].questions:
        assert one.title in paper and one.title in key
        said = [c.text for c in one.key] + [c.why for c in one.choices]
        for words in (re.split(r"[$`*'\"]", text)[0][:30] for text in said):
            assert words.strip() not in paper or not words
            assert words in key
    assert 'data-tex="e^{0.693} = 2"' in paper
    assert ElementTree.parse(tmp_path / "04.xml").getroot().tag == "quiz"


def test_a_drawn_paper_has_its_points_and_all_chapters():
    papers = [PAPERS[number] for number in ("04", "06", "08")]
    drawn = draw(papers, 30, seed=1)
    assert 27 < sum(one.points for one in drawn.questions) <= 30
    assert {one.chapter for one in drawn.questions} == {"04", "06", "08"}
    assert drawn == draw(papers, 30, seed=1) != draw(papers, 30, seed=2)
    with pytest.raises(BadExam, match="these chapters have"):
        draw(papers, 1000, seed=1)


def test_the_command_says_what_there_is(monkeypatch, capsys):
    monkeypatch.setattr("sys.argv", ["exams", "--only", "99"])
    assert command.main() == 1
    told = "error: there are no exam questions for"
    assert capsys.readouterr().err.startswith(told)


# --- who does not get them ---------------------------------------------------


def test_no_key_is_in_what_the_book_or_a_learner_has():
    """Pages, copies and the wheel are made of these folders."""
    folders = [BOOK, ROOT / "course_exercises", ROOT / "transformer_course"]
    texts = [
        path.read_text("utf-8")
        for folder in folders
        for path in folder.rglob("*")
        if path.suffix in {".md", ".py", ".yml", ".txt"}
    ]
    texts += map(markdown_of, chapter_files().values())
    given = " ".join(" ".join(texts).split())
    assert "One softmax, one pattern" in given
    for one in QUESTIONS:
        for text in [c.text for c in one.key] + [c.why for c in one.choices]:
            words = " ".join(text.split())
            assert len(words) < 25 or words not in given, words
