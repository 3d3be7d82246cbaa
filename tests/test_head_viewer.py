"""The head viewer: its data, its tables, and what its script needs."""

import importlib
import json
import sys

import pytest
from bs4 import BeautifulSoup
from built_book import BOOK, build_project

from experiments import store

sys.path.insert(0, str(BOOK / "_ext"))
viewer = importlib.import_module("course_head_viewer")

SENTENCE = {
    "source": ["▁a", "▁<b>", "</s>"],
    "read": ["<s>", "▁猫"],
    "written": ["▁猫", "</s>"],
    "maps": {
        "encoder": [[[[100, 0, 0], [20, 80, 0], [0, 50, 50]]] * 2],
        "decoder": [[[[100, 0], [30, 70]]] * 2],
        "cross": [[[[10, 90, 0], [0, 0, 100]], [[100, 0, 0], [0, 60, 40]]]],
    },
}


@pytest.fixture(autouse=True)
def stored(tmp_path, monkeypatch):
    """One stored run, in place of the repository's."""
    monkeypatch.setattr(store, "folder", lambda name: tmp_path / "runs" / name)
    path = store.folder("tiny") / viewer.FILE
    store.write_json(path, {"sentences": [SENTENCE]})


def soup_of():
    html = viewer.render("tiny", "fig-x")
    return BeautifulSoup(html, "html.parser")


def test_tables_show_where_each_head_attends_most():
    tables = soup_of().select("details table")
    assert len(tables) == len(viewer.KINDS)
    cross = [
        [cell.get_text(" ", strip=True) for cell in row.select("th, td")]
        for row in tables[0].select("tbody tr")
    ]
    assert cross == [
        ["猫", "<b> 90", "a 100"],
        ["eos", "eos 100", "<b> 60"],
    ]
    for table in tables:
        assert table.caption.get_text()
        for box in table.select("tbody th"):
            assert box["scope"] == "row"


def test_no_text_can_end_the_data():
    html = viewer.render("tiny", "fig-x")
    assert html.count("</script>") == 1
    soup = BeautifulSoup(html, "html.parser")
    data = json.loads(soup.select_one('[data-hv="data"]').string)
    assert data["sentences"][0]["source"] == ["a", "<b>", "eos"]
    assert data["sentences"][0]["maps"] == SENTENCE["maps"]


def test_only_a_page_with_a_viewer_loads_its_files(tmp_path):
    source = tmp_path / "source"
    source.mkdir()
    block = "```{head-viewer} tiny\n:caption: it\n:label: fig-x\n```\n"
    (source / "index.md").write_text(f"# One\n\n{block}\n{{doc}}`b`\n")
    (source / "b.md").write_text("---\norphan: true\n---\n# Two\n\ntext\n")
    settings = {
        "extensions": ["myst_parser", "course_head_viewer"],
        "html_static_path": [str(BOOK / "_static")],
        "html_theme": "basic",
        "numfig": True,
    }
    assert not build_project(source, tmp_path / "html", settings)
    first, other = (
        (tmp_path / "html" / f"{name}.html").read_text("utf-8")
        for name in ("index", "b")
    )
    for file in (viewer.HeadViewer.script, viewer.HeadViewer.style):
        assert file in first and file not in other
