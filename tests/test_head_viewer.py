"""The head viewer: its data, its tables, and what its script needs."""

import json

import course_head_viewer as viewer
import pytest
from bs4 import BeautifulSoup
from built_book import BOOK, build_project

from experiments import store

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


@pytest.fixture
def soup():
    return BeautifulSoup(viewer.render("tiny", "fig-x"), "html.parser")


def test_tables_show_where_each_head_attends_most(soup):
    tables = soup.select("details table")
    assert len(tables) == len(viewer.KINDS)
    cross = [
        [cell.get_text(" ", strip=True) for cell in row.select("th, td")]
        for row in tables[0].select("tbody tr")
    ]
    assert cross == [
        ["猫", "<b> 90", "a 100"],
        ["eos", "eos 100", "<b> 60"],
    ]


def test_no_text_can_end_the_data(soup):
    data = json.loads(soup.select_one('[data-hv="data"]').string)
    assert data["sentences"][0]["source"] == ["a", "<b>", "eos"]
    assert data["sentences"][0]["maps"] == SENTENCE["maps"]


def test_only_a_page_with_a_viewer_loads_its_files(tmp_path):
    block = "```{head-viewer} tiny\n:caption: it\n:label: fig-x\n```\n"
    pages = {
        "index": f"# One\n\n{block}",
        "b": "---\norphan: true\n---\n# Two\n",
    }
    static = {"html_static_path": [str(BOOK / "_static")]}
    extensions = "myst_parser course_head_viewer"
    assert not build_project(tmp_path, extensions, pages, **static)
    first, other = (
        (tmp_path / "html" / f"{name}.html").read_text("utf-8")
        for name in pages
    )
    for file in (viewer.HeadViewer.script, viewer.HeadViewer.style):
        assert file in first and file not in other
