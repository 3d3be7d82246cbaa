"""The commands of stored runs on pages: ``book/_ext/course_runs.py``."""

import sys

from bs4 import BeautifulSoup
from built_book import BOOK, build_project

sys.path.insert(0, str(BOOK / "_ext"))


def test_a_page_names_the_command_of_each_run_that_it_reads(tmp_path):
    source = tmp_path / "source"
    source.mkdir()
    pages = {
        "index": "# The book\n\n```{toctree}\n01_sequence_to_sequence\n```\n",
        "01_sequence_to_sequence": "# One\n\n## Further reading\n\nA book.\n",
    }
    for name, text in pages.items():
        (source / f"{name}.md").write_text(text, encoding="utf-8")
    settings = {
        "extensions": ["myst_parser", "course_runs"],
        "html_theme": "basic",
    }
    assert not build_project(source, tmp_path / "html", settings)
    index, page = (
        BeautifulSoup((tmp_path / f"html/{name}.html").read_text(), "lxml")
        for name in pages
    )
    assert not index.select("details")
    (fold,) = page.select("details")
    read = {
        item.select("code")[0].get_text(): item.select("code")[-1].get_text()
        for item in fold.select("li")
    }
    assert read["copying"] == "python -m experiments copying"
    assert read["layer-times"] == "python -m experiments layer-times"
    assert read["enja-gru"].endswith("translations outputs/enja-gru")
