"""What a page has only where the repository's address is said: ``REPO=``.

A few pages are built by the book's own settings and extensions, with an
invented address and without one.
"""

import importlib
import os
import shutil
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import nbformat
import pytest
from bs4 import BeautifulSoup
from built_book import BOOK, ROOT, is_foreign
from nbformat.v4 import new_markdown_cell, new_notebook

sys.path.insert(0, str(BOOK / "_ext"))
course_repository = importlib.import_module("course_repository")

INVENTED = "https://github.com/nobody/invented"
CONTENTS = """format: jb-book
root: index
chapters: [{file: setup}, {file: 06_masks}]
"""
PAGE = """(assignments)=
# The book

````{with-repository}
```bash
git clone REPO
cd NAME
```
````

````{with-site}
[The class](SITE_URL/class/index.html)
````

The end.
"""


def write_book(folder: Path) -> None:
    """A book with one page of the course's."""
    pages = folder / "book/en"
    shutil.copytree(BOOK / "en/figures", pages / "figures")
    for name in ("_ext", "_static", "_templates"):
        (folder / "book" / name).symlink_to(BOOK / name)
    for name in ("references.bib", "glossary.yml"):
        shutil.copyfile(BOOK / name, folder / "book" / name)
    shutil.copyfile(ROOT / "_config.yml", folder / "_config.yml")
    shutil.copyfile(BOOK / "en/setup.md", pages / "setup.md")
    (folder / "_toc.yml").write_text(CONTENTS)
    (pages / "index.md").write_text(PAGE)
    chapter = new_notebook(cells=[new_markdown_cell("# Masks\n\nA word.")])
    nbformat.write(chapter, pages / "06_masks.ipynb")


def build(folder: Path, **addresses: str) -> subprocess.CompletedProcess:
    """Build it as the Makefile does."""
    script = "from jupyter_book.cli.main import main; main()"
    command = [sys.executable, "-c", script, "build", "book/en", "--quiet"]
    command += ["-W", "--config", "_config.yml", "--path-output", "out"]
    paths = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])
    return subprocess.run(
        [*command, "--toc", str(folder / "_toc.yml")],
        cwd=folder,
        env=os.environ | {"PYTHONPATH": paths} | addresses,
        capture_output=True,
        text=True,
    )


@pytest.fixture(scope="module", params=["", INVENTED], ids=["no", "given"])
def pages(request, tmp_path_factory) -> SimpleNamespace:
    """The pages, and the address that they were built with."""
    folder = tmp_path_factory.mktemp("book")
    write_book(folder)
    site = "https://course.example/b" if request.param else ""
    done = build(folder, REPO=request.param, SITE_URL=site)
    assert done.returncode == 0, done.stdout + done.stderr
    html = folder / "out/_build/html"
    index, chapter, setup = (
        BeautifulSoup(
            (html / f"{name}.html").read_text("utf-8"), "html.parser"
        )
        for name in ("index", "06_masks", "setup")
    )
    return SimpleNamespace(
        repo=request.param, index=index, chapter=chapter, setup=setup
    )


def foreign_links(page: BeautifulSoup) -> set[str]:
    """Where the page leads, beside its licence."""
    links = {a["href"] for a in page.select("a[href]")}
    found = {link for link in links if is_foreign(link)}
    return {link for link in found if "creativecommons" not in link}


def test_buttons_lead_to_the_repository_or_are_not_there(pages):
    source = "book/en/06_masks.ipynb"
    expected = {
        pages.repo,
        f"{pages.repo}/edit/main/{source}",
        f"https://mybinder.org/v2/gh/nobody/invented/main?urlpath=lab/tree/"
        f"{source}",
        f"https://colab.research.google.com/github/nobody/invented/blob/main/"
        f"{source}",
    }
    found = foreign_links(pages.chapter)
    reports = {link for link in found if "/issues/new?" in link}
    assert found - reports == (expected if pages.repo else set())
    assert len(reports) == bool(pages.repo)
    assert all("06_masks" in link for link in reports)


def test_only_notebooks_can_be_launched(pages):
    hosts = {link.split("/")[2] for link in foreign_links(pages.index)}
    known = {"github.com", "course.example"}
    assert hosts == (known if pages.repo else set())


def test_what_needs_an_address_is_said_with_it_or_not_at_all(pages):
    text = pages.index.select_one("article").get_text()
    shell = f"git clone {INVENTED}\ncd invented\n"
    assert (shell in text) == bool(pages.repo)
    assert ("git clone" in text) == bool(pages.repo)
    assert "REPO" not in text and "SITE_URL" not in text
    links = [a["href"] for a in pages.index.select("article a.reference")]
    there = "https://course.example/b/class/index.html"
    assert (there in links) == bool(pages.repo)
    assert "The end." in text


def test_setting_up_begins_with_a_clone_where_there_is_an_address(pages):
    text = pages.setup.select_one("article").get_text()
    for command in ("git clone", "!git clone --quiet --depth 1"):
        assert (f"{command} {INVENTED}\n" in text) == bool(pages.repo)
    assert ("%cd invented\n" in text) == bool(pages.repo)


def test_what_is_no_address_is_told_in_a_line(monkeypatch):
    monkeypatch.setenv("REPO", "github.com/nobody")
    with pytest.raises(Exception, match="REPO is 'github.com/nobody'; it sh"):
        course_repository.read_address()


@pytest.mark.parametrize(
    ("address", "provider", "launched"),
    [
        (INVENTED, "github", ["binderhub_url", "colab_url"]),
        ("https://gitlab.com/nobody/invented", "gitlab", ["binderhub_url"]),
        ("https://gitlab.school.invalid/a/b", "gitlab", []),
        ("https://git.school.invalid/a/b", "", []),
    ],
)
def test_a_server_has_the_buttons_that_it_can_serve(
    address, provider, launched
):
    assert course_repository.provider_of(address) == provider
    assert [*course_repository.launch_buttons(address)] == launched


@pytest.mark.parametrize(
    "given", [INVENTED, f"{INVENTED}/", f"{INVENTED}.git"]
)
def test_an_address_may_be_that_of_a_clone(monkeypatch, given):
    monkeypatch.setenv("REPO", given)
    assert course_repository.read_address() == INVENTED
