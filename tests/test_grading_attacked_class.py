"""A class that attacks its grading: ``make test-grading``.

One student of it is honest. Nobody may stop the others, be graded without a
line, or have what they wrote run on the lecturer's machine.
"""

import json
import os
from html.parser import HTMLParser

import nbformat
import pytest

pytest.importorskip(
    "nbgrader",
    reason="nbgrader is not installed: make test-grading installs it",
)

from nbconvert.exporters import HTMLExporter
from nbgrader.apps import NbGraderAPI
from nbgrader.server_extensions.formgrader import handlers
from traitlets.config import Config

from tests.grading_class import (
    NAME,
    QUESTION,
    SOLUTIONS,
    assignment,
    filled,
    table,
)
from tools.grading.__main__ import main
from tools.grading.answers import answers_in, restored
from tools.grading.notebooks import cells_of
from tools.grading.records import student
from tools.grading.submissions import readable

RIGHT = SOLUTIONS["padding_mask"]
SCRIPT = "<script>document.title = 'run'</script>"
ANSWERS = {
    "script": SCRIPT,
    "fence": f"```\n{SCRIPT}\n```\n~~~\n{SCRIPT}",
    "long fence": "`" * 300 + f"\n{SCRIPT}",
    "picture": "<img src=x onerror=\"document.title = 'run'\">",
    "drawing": "<svg onload=\"document.title = 'run'\"><a/></svg>",
    "link": "[press](javascript:document.title='run')",
    "formula": f"$${SCRIPT}$$ $`{SCRIPT}`$ \\\\({SCRIPT}\\\\)",
    "environment": f"\\begin{{align}}{SCRIPT}\\end{{align}}",
    "end of pre": f"</code></pre></div>{SCRIPT}",
    "comment": f"<!-- --!>{SCRIPT}",
    "template": "{{ cycler.__init__.__globals__ }} {% raw %}",
    "lines": f"\r```\r{SCRIPT}\u2028{SCRIPT}\x85{SCRIPT}\x0b```\x0c{SCRIPT}",
    "entity": "&lt;script&gt;",
    "new cell": "",
    "long": "long " * 20_000,
    "surrogates": "a\ud800b\udfffc",
    "controls": f"\x1b]0;title\x07\0{SCRIPT}",
}
"""What is answered in words, by the name of who does."""
HANDED_IN = ("script", "new cell", "long", "surrogates", "controls")
"""Those that go all the way; the others are only shown."""
CODE = ("deep", "code", "prints", "raises", "half", "list")
"""Those whose code is odd, or its cells."""
NAMES = (
    "=cmd|' C'!A0",
    "@SUM(1+1)",
    "x;=1+1",
    "<script>",
    "-\x1b[2J",
    "a\nb",
    "x" * 250,
    "x" * 249 + "y",
    os.fsdecode(b"bytes\xff"),
    os.fsdecode(b"bytes\xfe"),
    " ",
    "=1+1 (0a1b2c3d)",
    'anna","06_masks","9","9","","graded","',
)
"""Students who are called so, and hand in what is no notebook."""


@pytest.fixture(scope="module")
def attacked(tmp_path_factory):
    """The folder of a graded class, and what to grade it with once more."""
    folder = tmp_path_factory.mktemp("attacked")
    assert main(["release", NAME, "--to", str(folder / "release")]) == 0
    path = folder / "release" / NAME / f"{NAME}.ipynb"
    release = json.loads(path.read_text())
    give(folder, "honest", content(release, "It <b>copies</b>."))
    for name in HANDED_IN:
        give(folder, name, content(release, ANSWERS[name]))
    for name in NAMES:
        give(folder, name, "no notebook")
    for name, source in (
        ("deep", "not " * 7000 + "x"),
        (
            "code",
            f'def padding_mask(ids, pad_id=0):\n    "{SCRIPT}"\n'
            "    raise OSError",
        ),
        ("prints", f'print({SCRIPT!r}, "\\x1b]0;title\\x07")\n' + RIGHT),
        ("raises", "class Ben_Is_Slow(Exception): pass\nraise Ben_Is_Slow"),
        ("half", '"\ud800"\ndef padding_mask(ids): return "\ud800"'),
        ("megabytes", "x = 1\n" * 500_000),
    ):
        give(folder, name, content(release, "", padding_mask=source))
    give(folder, "list", content(release, "", grade_id=["a"]))
    give(folder, "sparse", "")
    os.truncate(folder / "in" / "sparse" / f"{NAME}.ipynb", 100 << 30)
    arguments = ["grade", str(folder / "in"), "--to", str(folder / "out")]
    arguments += ["--drawn", "1", "--seconds", "4"]
    assert main(arguments) == 0
    return folder / "out", arguments


def content(release, answer, grade_id=None, **code):
    """A notebook, as JSON can say more than a notebook may."""
    notebook = json.loads(json.dumps(release))
    for cell in notebook["cells"]:
        changed = {QUESTION: answer, **code}.get(cell["id"])
        cell["source"] = changed or cell["source"]
        if grade_id and "nbgrader" in cell["metadata"]:
            cell["metadata"]["nbgrader"]["grade_id"] = grade_id
    if not answer:
        cell = {"cell_type": "markdown", "metadata": {}, "source": SCRIPT}
        number = [c["id"] for c in notebook["cells"]].index(QUESTION)
        notebook["cells"].insert(number + 1, cell)
    return json.dumps(notebook)


def give(folder, name, text):
    """Hand in a file."""
    path = folder / "in" / name / f"{NAME}.ipynb"
    path.parent.mkdir(parents=True)
    path.write_text(text)


def test_everybody_has_a_line_and_nobody_failed(attacked):
    totals = table(attacked[0] / "totals.csv")
    states = {one["student"]: one["status"] for one in totals}
    assert len(totals) == len(states) == len(HANDED_IN) + len(NAMES) + 9
    for name in (*HANDED_IN, "honest", *CODE):
        assert states[name] == "graded", name
    for name in (*NAMES, "sparse"):
        assert states[student(readable(name)).name] == "unreadable", ascii(
            name
        )


def test_the_next_run_knows_all_of_it(attacked, capsys):
    out, arguments = attacked
    assert main(arguments) == 0
    said = capsys.readouterr().out
    count = len(table(out / "totals.csv"))
    assert said.count(": as before\n") == count


def test_no_cell_of_a_table_is_a_formula(attacked):
    for name in ("marks.csv", "totals.csv", "manual_marks.csv"):
        for row in table(attacked[0] / name):
            assert not any(
                cell.lstrip().startswith(("=", "+", "@", "-"))
                for key, cell in row.items()
                if key != "answer"
            )


def test_whose_work_was_cut_is_told(attacked):
    notes = {
        one["student"]: one["notes"]
        for one in table(attacked[0] / "totals.csv")
    }
    for name, note in {
        "long": "all after the first 50,000 were cut off",
        "megabytes": "1 cell with code not looked at",
        "sparse": "107,374,182,400 bytes",
    }.items():
        assert note in notes[name]
        page = attacked[0] / "feedback" / name / f"{NAME}.html"
        assert note in page.read_text()


def test_an_answer_in_a_new_cell_waits_for_its_mark(attacked):
    waiting = {
        one["student"] for one in table(attacked[0] / "manual_marks.csv")
    }
    assert {"new cell", "list", "script"} <= waiting


class Page(HTMLParser):
    """The tags of a page, and its text."""

    def __init__(self, page: str):
        super().__init__()
        self.tags: list[tuple[str, tuple]] = []
        self.text = ""
        self.feed(page)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, tuple(attrs)))

    def handle_data(self, data):
        self.text += data


@pytest.fixture(scope="module")
def formgrader():
    """Makes the page on which Formgrader shows a notebook, as it does."""
    config = Config()
    config.HTMLExporter.template_name = "formgrade"
    config.HTMLExporter.extra_template_basedirs = [handlers.template_path]
    exporter = HTMLExporter(config=config)
    names = ("assignment_id", "notebook_id", "submission_id", "base_url")
    names += ("student", "first_name", "last_name", "notebook_path")
    resources = dict.fromkeys(names, "x") | {"index": 0, "total": 1}

    def page(notebook) -> Page:
        html, _ = exporter.from_notebook_node(notebook, dict(resources))
        return Page(html)

    return page


def autograded(out, name):
    """The notebook that Formgrader shows."""
    path = out / "autograded" / name / NAME / f"{NAME}.ipynb"
    return nbformat.read(path, as_version=4)


@pytest.mark.parametrize("name", HANDED_IN)
def test_formgrader_shows_an_answer_as_text(attacked, formgrader, name):
    """Its page has the same tags, whatever was answered."""
    honest = formgrader(autograded(attacked[0], "honest"))
    found = formgrader(autograded(attacked[0], name))
    assert found.tags == honest.tags
    assert "It <b>copies</b>." in honest.text
    if name in ("script", "new cell", "controls"):
        assert SCRIPT in found.text


@pytest.mark.parametrize("name", CODE)
def test_formgrader_shows_code_as_text(attacked, formgrader, name):
    honest = formgrader(autograded(attacked[0], "honest"))
    found = formgrader(autograded(attacked[0], name))
    for tag in ("script", "img", "iframe", "a", "link", "style"):
        own = [one for one in found.tags if one[0] == tag]
        assert own == [one for one in honest.tags if one[0] == tag]


def test_no_answer_becomes_a_tag(formgrader):
    """As Markdown most of them do."""
    given = assignment()
    fenced, raw = [], []
    for answer in ("Plain words.", *ANSWERS.values()):
        written = filled(given.notebook, {}, answer or SCRIPT)
        made = restored(given, answers_in(cells_of(written), given))
        made.cells = [cell for cell in made.cells if cell.id == QUESTION]
        fenced.append(formgrader(made).tags)
        made.cells[0].source = answer
        raw.append(formgrader(made).tags)
    assert all(tags == fenced[0] for tags in fenced)
    assert sum(tags != raw[0] for tags in raw) > len(raw) / 2


def test_nbgrader_s_own_feedback_shows_answers_as_text(attacked):
    out, _ = attacked
    config = Config()
    text = (out / "nbgrader_config.py").read_text()
    exec(text, {"get_config": lambda: config})
    tags = []
    for name in ("honest", "script"):
        said = NbGraderAPI(config=config).generate_feedback(NAME, name)
        assert said["success"], said
        page = out / "feedback" / name / NAME / f"{NAME}.html"
        tags.append(Page(page.read_text()).tags)
    assert tags[0] == tags[1]


def test_our_pages_have_no_script_and_no_half_of_a_sign(attacked):
    out, _ = attacked
    for path in (out / "answers.html", out / "report.html"):
        tags = {tag for tag, _ in Page(path.read_text("utf-8")).tags}
        assert tags.isdisjoint({"script", "img", "svg", "a", "b><i"})
    for path in out.rglob("feedback/*/*.html"):
        page = Page(path.read_text("utf-8"))
        assert "script" not in {tag for tag, _ in page.tags}


def test_what_is_shown_to_the_class_has_no_word_of_a_student(attacked):
    """Names of exceptions are chosen freely; the lecturer sees them."""
    out, _ = attacked
    report = (out / "report.html").read_text("utf-8")
    assert "an exception of its own" in report
    assert "OSError" in report
    assert "Ben_Is_Slow" not in report
    assert "Ben_Is_Slow" in (out / "marks.csv").read_text("utf-8-sig")
