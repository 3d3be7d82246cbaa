"""The notebooks that are made from assignments/ and the package."""

import re

import nbformat
import pytest
from built_book import (
    BOOK,
    built_site,
    markdown_of,
    section_ids,
)
from nbclient import NotebookClient
from tiny import Killed, dies_at

from course_exercises.contents import EXERCISES, by_chapter
from course_exercises.engine.diagnose import diagnose
from tools import exercise_notebooks
from tools.exercise_notebooks import (
    Task,
    find_sources,
    learner_notebook,
    read_parts,
    write_all,
)

SOURCES = find_sources()
each_source = pytest.mark.parametrize(
    "source", SOURCES, ids=lambda path: path.stem
)


def solved(notebook):
    """The notebook of somebody who has solved all."""
    for cell in notebook.cells:
        if cell.id in EXERCISES:
            cell.source = EXERCISES[cell.id].source
    return notebook


def code_of(notebook) -> list:
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def test_every_exercise_is_in_its_chapter_s_notebook_once():
    asked = {
        source.stem: [
            part.exercise
            for part in read_parts(source)
            if isinstance(part, Task)
        ]
        for source in SOURCES
    }
    assert asked == by_chapter()


@each_source
def test_a_notebook_is_valid_and_its_links_lead_into_the_book(source):
    notebook = learner_notebook(source)
    nbformat.validate(notebook)
    assert notebook == learner_notebook(source), "the same each time"
    ids = [cell.id for cell in notebook.cells]
    assert len(ids) == len(set(ids))
    for cell in code_of(notebook):
        assert "###" not in cell.source
        assert all(len(line) <= 80 for line in cell.source.splitlines())
    text = "\n".join(cell.source for cell in notebook.cells)
    assert text.startswith("# Exercises: ")
    assert "\n::" not in text and "```python" not in text  # misspelt lines
    targets = re.findall(r"\]\(\.\./book/en/([^)]+)\)", text)
    assert f"{source.stem}.ipynb" in targets
    for target in targets:
        page, _, anchor = target.partition("#")
        path = BOOK / "en" / page
        assert path.is_file() and markdown_of(path)
        assert not anchor or anchor in section_ids(path)


@each_source
def test_with_the_solutions_every_check_says_correct(source, monkeypatch):
    """As in a kernel, but in this process."""
    verdicts = []

    def check(candidate):
        exercise = EXERCISES[candidate.__name__]
        verdicts.append(diagnose(exercise, candidate))

    namespace = {"__name__": "__main__"}
    for cell in code_of(solved(learner_notebook(source))):
        exec(compile(cell.source, f"<{cell.id}>", "exec"), namespace)
        namespace["check"] = check
    assert len(verdicts) == len(by_chapter()[source.stem])
    for verdict in verdicts:
        assert verdict.is_correct, verdict.text


@pytest.mark.exhaustive
def test_in_a_kernel_all_cells_run_and_say_what_they_should(tmp_path):
    """Once untouched, once solved."""
    source = exercise_notebooks.SOURCES / "06_masks.md"
    for notebook, said in [
        (learner_notebook(source), "not written yet"),
        (solved(learner_notebook(source)), ": correct"),
    ]:
        NotebookClient(
            notebook,
            timeout=120,
            kernel_name="python3",
            resources={"metadata": {"path": str(tmp_path)}},
        ).execute()
        for cell in code_of(notebook):
            if cell.id.endswith("-check"):
                [output] = cell.outputs
                assert said in output.data["text/plain"]
    last = code_of(notebook)[-1].outputs[0].data["text/plain"]
    done = len(by_chapter()[source.stem])
    assert f"{done} of {len(EXERCISES)} exercises done" in last
    assert (tmp_path / "progress.json").is_file()


def test_work_is_never_overwritten(tmp_path):
    written, left = write_all(tmp_path)
    assert len(written) == len(SOURCES) and not left
    work = written[0]
    work.write_text("my work")
    again, left = write_all(tmp_path)
    assert work.read_text() == "my work" and work in left
    assert not again and left == written


def test_an_interruption_leaves_no_part_of_a_notebook(tmp_path, monkeypatch):
    with monkeypatch.context() as patch:
        dies_at(patch, nbformat, "writes", call=2)
        with pytest.raises(Killed):
            write_all(tmp_path)
    written, left = write_all(tmp_path)
    assert len(left) == 1 and len(written) == len(SOURCES) - 1
    for path in [*written, *left]:
        nbformat.read(path, as_version=4)


def test_each_chapter_s_page_ends_with_its_notebook():
    """With a link, and the notebook beside the page, as it is made now."""
    site = built_site()
    for source in SOURCES:
        name = f"exercises/{source.stem}.ipynb"
        page = (site / f"{source.stem}.html").read_text(encoding="utf-8")
        assert f'href="{name}"' in page
        stored = nbformat.read(site / name, as_version=4)
        assert stored == learner_notebook(source)
