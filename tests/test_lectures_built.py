"""Slides, handouts, board plans and covered pages, from the built book.

Files with the names of reveal.js's stand in for it. What is tested is that a
deck asks for what lies beside it, and for nothing else; how decks look and
run is tested in tests/browser/test_slides.py.
"""

import base64
import json
import re
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import nbformat
import pytest
from bs4 import BeautifulSoup
from built_book import EDITIONS, ROOT, is_foreign, not_ready, site_of
from nbformat.v4 import new_code_cell, new_notebook, new_output

from tools.chromium import find_chromium
from tools.lectures.covered import fold_results, take_answers
from tools.lectures.figures import figures_of, stem_of
from tools.lectures.papers import board, handout
from tools.lectures.pdf import print_pdf
from tools.lectures.plan import LENGTHS, BadPlan, Topic
from tools.lectures.publish import Publisher
from tools.lectures.reveal import (
    NOTES,
    SCRIPT,
    STYLE,
    NoReveal,
    find_reveal,
    notes_of,
)
from tools.lectures.rounds import BuiltChapter, plain
from tools.lectures.slides import Deck
from tools.lectures.texts import to_html
from tools.lectures.words import words_of

# --- where reveal.js is ------------------------------------------------------


def stand_in(folder: Path, notes: str = NOTES[0]) -> Path:
    """A folder with the names of reveal.js's files, all empty."""
    for name in (SCRIPT, STYLE, notes):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).touch()
    return folder


@pytest.mark.parametrize("notes", NOTES)
def test_a_release_of_reveal_is_known_by_its_files(tmp_path, notes):
    folder = stand_in(tmp_path, notes)
    assert find_reveal(str(folder)) == folder
    assert notes_of(folder) == notes


def test_what_is_no_release_of_reveal_is_told(tmp_path):
    with pytest.raises(NoReveal, match=f"REVEAL={tmp_path} holds no dist"):
        find_reveal(str(tmp_path))
    folder = stand_in(tmp_path)
    (folder / NOTES[0]).unlink()
    with pytest.raises(NoReveal, match="has no speaker view"):
        find_reveal(str(folder))


@pytest.mark.parametrize(
    "place", ["_static/revealjs", "themes/sphinx_revealjs/static/revealjs"]
)
def test_the_package_s_reveal_is_found(tmp_path, monkeypatch, place):
    folder = stand_in(tmp_path / "sphinx_revealjs" / place)
    init = tmp_path / "sphinx_revealjs" / "__init__.py"
    init.write_text("raise AssertionError('none of its code is run')")
    monkeypatch.syspath_prepend(str(tmp_path))
    assert find_reveal() == folder


def test_without_reveal_a_line_says_what_to_do(monkeypatch):
    monkeypatch.setattr("tools.lectures.reveal.find_spec", lambda name: None)
    with pytest.raises(NoReveal, match="make slides REVEAL=folder") as told:
        find_reveal()
    assert "\n" not in str(told.value)


# --- what a section gives ----------------------------------------------------

GUESS = (
    '<div class="tip admonition"><p class="admonition-title">Guess first</p>'
    "<p>How many?</p></div>"
)
FIGURE = '<figure id="fig-a"><img alt="A." src="a.png"/></figure>'
RESULT = "<p>Three. (So said Dr. Who, twice.) And it goes on:</p>"


def chapter(tmp_path: Path, *parts: str) -> BuiltChapter:
    """A page with one section."""
    page = tmp_path / "04_attention.html"
    body = "".join(parts)
    page.write_text(
        f'<article><section id="s"><h2>Title</h2>{body}</section></article>'
    )
    return BuiltChapter(page)


def test_a_section_gives_question_figure_and_result(tmp_path):
    found = chapter(tmp_path, "<p>Before.</p>", GUESS, FIGURE, RESULT).round(
        Topic("s", 10)
    )
    assert (found.title, plain(found.question)) == ("Title", "How many?")
    assert found.show.img["data-figure"] == "fig-a"
    assert found.result == "Three. (So said Dr. Who, twice.)"
    assert plain(found.whole).endswith("goes on:")


@pytest.mark.parametrize(
    ("parts", "topic", "lacks"),
    [
        ((FIGURE, RESULT), Topic("s", 1), "no question"),
        ((GUESS, RESULT), Topic("s", 1), "no figure"),
        ((GUESS, FIGURE), Topic("s", 1), "no result"),
        ((GUESS, FIGURE, RESULT), Topic("t", 1), "no section t"),
        ((GUESS, FIGURE, RESULT), Topic("s", 1, show="fig-b"), "no figure"),
        ((GUESS, FIGURE, RESULT), Topic("s", 1, result="Four"), "no result"),
        ((GUESS, FIGURE, RESULT), Topic("s", 1, question="Why"), "no quest"),
    ],
)
def test_what_a_section_lacks_is_told_in_a_line(tmp_path, parts, topic, lacks):
    with pytest.raises(BadPlan, match=f"04_attention.*{lacks}") as told:
        chapter(tmp_path, *parts).round(topic)
    assert "\n" not in str(told.value)


def test_folded_code_and_sections_inside_are_not_taken(tmp_path):
    folded = f'<div class="cell tag_hide-cell">{FIGURE}</div>'
    inside = f'<section id="u"><h3>U</h3>{FIGURE}</section>'
    with pytest.raises(BadPlan, match="no figure"):
        chapter(tmp_path, GUESS, folded, inside, RESULT).round(Topic("s", 1))


def test_texts_of_the_plan_are_html_without_links():
    html = to_html('*a* $x^2$ and [the `b`](#c), "so"')
    formula = r'<span class="math inline">\(x^2\)</span>'
    assert html == f"<em>a</em> {formula} and the <code>b</code>, “so”"


# --- figures as files --------------------------------------------------------


def test_figures_have_speaking_names():
    assert stem_of("04", "fig-04-by-hand") == "04-by-hand"
    assert stem_of("01", "fig-01-bottleneck-figure") == "01-bottleneck"
    assert stem_of("14", "fig-table-2") == "14-table-2"


def test_a_figure_is_taken_from_its_cell():
    data = {"image/png": base64.b64encode(b"png").decode()}
    data["image/svg+xml"] = "<svg/>"
    about = {"mystnb": {"figure": {"name": "fig-04-a", "caption": "A."}}}
    cells = [
        new_code_cell(outputs=[new_output("display_data", data=data)]),
        new_code_cell(
            metadata=about, outputs=[new_output("display_data", data=data)]
        ),
    ]
    (figure,) = figures_of("04", new_notebook(cells=cells))
    assert figure.stem == "04-a"
    assert figure.pictures == {"png": b"png", "svg": b"<svg/>"}


@pytest.mark.parametrize("edition", EDITIONS)
def test_no_two_figures_have_one_file(edition):
    found = [
        figure.stem
        for path in sorted((ROOT / "book" / edition).glob("*.ipynb"))
        for figure in figures_of(path.name[:2], nbformat.read(path, 4))
    ]
    assert found and len(found) == len({*found})


# --- pages to project --------------------------------------------------------

PAGE = f"""<article><section><p>Before.</p>{GUESS}<p>Three.</p>{FIGURE}
{GUESS}<p>Four.</p><section><h3>Next</h3><p>Seen.</p></section></section>
<section><p>1. Why?</p>
<details class="sd-dropdown"><summary>Answer</summary><p>So.</p></details>
<details class="sd-dropdown"><summary>For the doubtful</summary><p>Yes.</p>
</details></section></article>"""


def test_answers_are_gone_and_results_are_folded():
    soup, words = BeautifulSoup(PAGE, "html.parser"), words_of("en")
    assert take_answers(soup, words) == 1
    fold_results(soup, words)
    assert "So." not in soup.get_text()
    assert "For the doubtful" in soup.get_text()
    folds = soup.select("details.lecture-fold")
    assert [fold.get_text(" ", strip=True) for fold in folds] == [
        "What comes out Three.",
        "What comes out Four.",
    ]
    assert folds[0].figure and not soup.select("details[open]")
    assert soup.find("p", string="Seen.").find_parent("details") is None


# --- the built book ----------------------------------------------------------


@pytest.fixture(scope="module", params=EDITIONS)
def publisher(request, tmp_path_factory) -> Publisher:
    """All that is made for a class; skipped where the book is not built."""
    if reason := not_ready(request.param):
        pytest.skip(reason)
    target = tmp_path_factory.mktemp("class")
    made = Publisher(request.param, site_of(request.param), target)
    reveal = stand_in(tmp_path_factory.mktemp("reveal"))
    made.slides(str(reveal))
    made.papers()
    made.figure_page()
    made.contents()
    return made


def decks(publisher: Publisher) -> list[Deck]:
    """Of each unit both."""
    return [
        Deck(publisher.plan, unit, length, publisher.page(unit))
        for unit in publisher.plan.units.values()
        for length in LENGTHS
    ]


def test_a_deck_takes_as_long_as_its_unit(publisher):
    for deck in decks(publisher):
        slides = deck.slides()
        assert sum(slide.seconds for slide in slides) == deck.length * 60
        kinds = [slide.kind for slide in slides]
        topics = len(deck.unit.topics(deck.length))
        assert kinds == [
            "title",
            *["question", "show", "result"] * topics,
            "homework",
        ]
        for slide in slides:
            assert slide.seconds > 0
            assert plain(slide.title) and plain(slide.body) + slide.body
            assert any(plain(note) for note in slide.notes)


def test_each_demo_and_question_to_the_room_is_in_the_notes_once(publisher):
    for deck in decks(publisher):
        notes = [note for slide in deck.slides() for note in slide.notes]
        ask = f"{deck.words.ask}: "
        wanted = [deck.unit.ask] + [deck.unit.ask_more] * (deck.length == 90)
        said = [note for note in notes if note.startswith(ask)]
        assert len(said) == len([text for text in wanted if text])
        lives = [deck.unit.live] + [deck.unit.live_more] * (deck.length == 90)
        run = deck.words.run.partition("`")[0]
        said = [note for note in notes if note.startswith(run)]
        assert len(said) == len([live for live in lives if live])


def test_notes_do_not_repeat_what_the_slide_says(publisher):
    for deck in decks(publisher):
        for slide in deck.slides():
            if slide.kind == "result":
                (note,) = slide.notes
                assert plain(slide.body) not in (
                    plain(note),
                    plain(note.removeprefix(deck.words.conclude[:-2])),
                )


def test_homework_says_where_its_questions_are(publisher):
    for deck in decks(publisher):
        tasks = " ".join(task.do for task in deck.unit.tasks(deck.length))
        said = f"end of chapter {deck.unit.chapter}"
        numbered = re.search(r"questions? \d", tasks) is not None
        assert (said in plain(deck.slides()[-1].body)) == numbered


def test_a_deck_is_in_reveal_s_markup(publisher):
    for path in sorted((publisher.target / "slides").glob("*.html")):
        soup = BeautifulSoup(path.read_text("utf-8"), "html.parser")
        sections = soup.select(".reveal > .slides > section")
        assert len(sections) == len(soup.select("section")) > 4
        for section in sections:
            assert int(section["data-timing"]) > 0
            assert section.find("aside", class_="notes", recursive=False)


def test_pages_ask_for_what_lies_beside_them(publisher):
    pages = sorted(publisher.target.rglob("*.html"))
    assert len(pages) == 4 * len(publisher.plan.units) + 2
    for path in pages:
        soup = BeautifulSoup(path.read_text("utf-8"), "html.parser")
        asked = [tag["src"] for tag in soup.select("[src]")]
        asked += [tag["href"] for tag in soup.select("[href]")]
        for address in asked:
            if address == "data:,":  # no icon, so that none is asked for
                continue
            assert not is_foreign(address), f"{path.name}: {address}"
            there = (path.parent / address.partition("#")[0]).resolve()
            assert there.is_file(), f"{path.name}: {address}"
            assert there.is_relative_to(publisher.target)


def test_formulas_have_the_books_mathjax(publisher):
    for path in sorted(publisher.target.rglob("*.html")):
        soup = BeautifulSoup(path.read_text("utf-8"), "html.parser")
        formulas = r"\(" in soup.body.get_text()
        formulas |= r"\[" in soup.body.get_text()
        scripts = soup.select("script.mathjax[src]")
        assert len(scripts) == int(formulas), path.name
        if formulas:
            text = soup.select_one("script.mathjax:not([src])").string
            settings = json.loads(text.partition("=")[2].rstrip("; "))
            assert "softmax" in settings["tex"]["macros"]


def test_every_picture_says_what_is_to_be_seen(publisher):
    for path in sorted(publisher.target.rglob("*.html")):
        soup = BeautifulSoup(path.read_text("utf-8"), "html.parser")
        for image in soup.select("img"):
            assert image["alt"].strip(), path.name


def test_a_handout_asks_and_does_not_answer(publisher):
    plan = publisher.plan
    for unit in plan.units.values():
        page = publisher.page(unit)
        paper = handout(plan, unit, page, publisher.pages)
        path = publisher.target / "handouts" / f"{unit.unit}.html"
        text = plain(path.read_text("utf-8"))
        assert len(paper.questions) == len(unit.core)
        for topic in unit.core:
            found = page.round(topic)
            assert plain(found.question) in text
            assert plain(found.whole) not in text


def test_every_topic_has_something_on_the_board(publisher):
    for unit in publisher.plan.units.values():
        plan = board(publisher.plan, unit, publisher.page(unit))
        assert sum(step.minutes for step in plan.core) + unit.opening == 45
        for step in [*plan.core, *plan.more]:
            assert plain(step.text) or step.formulas, f"{unit.unit}: {step}"
        for topic, step in zip(unit.core, plan.core, strict=True):
            assert topic.board, f"{unit.unit}: {topic.section}"
            assert len(step.numbers) == topic.numbers, f"{unit.unit}: {topic}"


def test_the_board_has_the_chapter_s_own_numbers(publisher):
    unit = publisher.plan.units["04"]
    first = board(publisher.plan, unit, publisher.page(unit)).core[0]
    assert "tensor([10.00,  1.00,  9.00])" in "".join(first.numbers)


def test_a_handout_prints_on_two_pages(publisher):
    if find_chromium() is None:
        pytest.skip("needs a Chromium: install one, or name it by CHROMIUM=")
    for name in ("04", "12b"):
        printed = print_pdf(publisher.target / "handouts" / f"{name}.html")
        assert printed.read_bytes().count(b"/Type /Page\n") in (1, 2)


# --- the command -------------------------------------------------------------


def test_the_command_tells_what_is_missing_in_a_line(tmp_path):
    done = subprocess.run(
        [sys.executable, "-m", "tools.lectures", "slides"]
        + ["--reveal", str(tmp_path)],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 1
    assert done.stderr.startswith("error: REVEAL=")
    assert done.stderr.count("\n") == 1


def test_without_a_browser_there_is_no_pdf(tmp_path, monkeypatch):
    monkeypatch.setattr("tools.lectures.pdf.find_chromium", lambda: None)
    nothing = SimpleNamespace(run=None)
    monkeypatch.setattr("tools.lectures.pdf.subprocess", nothing)
    assert print_pdf(tmp_path / "page.html") is None
