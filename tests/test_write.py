"""Sections *Write it*: each part of a reader's model, in its chapter."""

import re
import shutil
from pathlib import Path

import pytest
from built_book import BOOK, build_project, built_page, markdown_of

from course_exercises.path.parts import PARTS, stub

SECTION = re.compile(
    r"^## Write it\n\n```\{write\}\n(.+)\n```\n\n"
    r"#{2,3} (?:In depth|Questions|Your own model)",
    re.M,
)


def test_each_part_is_asked_for_at_the_end_of_one_chapter():
    asking = [
        path.name[:2]
        for path in sorted((BOOK / "en").glob("*.ipynb"))
        for _ in re.findall(r"^`{3,}\{write\}", markdown_of(path), re.M)
    ]
    assert asking == list(PARTS)
    names = [name for chapter in asking for name in PARTS[chapter]]
    assert len({*names}) == len(names)


@pytest.mark.parametrize("chapter", PARTS)
def test_the_section_ends_the_core_and_is_linked(chapter):
    (path,) = (BOOK / "en").glob(f"{chapter}_*.ipynb")
    markdown = markdown_of(path)
    (asked,) = SECTION.findall(markdown)
    assert 20 < len(asked.split()) < 90
    link = f"]({path.name}#write-it)"
    assert link in markdown.partition("\n## In depth\n")[0]
    overview = (BOOK / "en/my_transformer.md").read_text("utf-8")
    (row,) = (line for line in overview.splitlines() if link in line)
    assert re.findall(r"`(\w+)`", row) == list(PARTS[chapter])


def build(folder: Path, **pages: str) -> str:
    """Build pages with the directive; what the build warned of."""
    shutil.copytree(BOOK / "en/figures", folder / "source/figures")
    pages |= {"my_transformer": "# Your own"}
    pages = {n: f"---\norphan: true\n---\n\n{pages[n]}" for n in pages}
    root = {"root_doc": "my_transformer"}
    return build_project(folder, "myst_parser course_write", pages, **root)


def test_a_page_shows_the_stubs_the_command_and_the_picture(tmp_path):
    page = "# Masks\n\n## Write it\n\n```{write}\nTwo *masks*.\n```\n"
    pages = {"06_masks": page, "22_since_2017": page.replace("Masks", "Now")}
    assert not build(tmp_path, **pages)
    page = built_page(tmp_path, "06_masks")
    (box,) = page.find_class("write")
    assert box.find("p").text_content() == "Two masks."
    assert "train grammar --model my_transformer.py" in box.text_content()
    blocks = [block.text_content().strip() for block in box.iter("pre")]
    assert blocks == [
        *(stub(name).strip() for name in PARTS["06"]),
        "transformer-course check my_transformer.py",
    ]
    shades = {group.get("class") for group in box.iter("g")}
    assert shades == {"lit", "earlier", "later"}
    (link,) = box.iter("a")
    assert link.get("href") == "my_transformer.html"
    last = built_page(tmp_path, "22_since_2017")
    (box,) = last.find_class("write")
    said = box.text_content()
    assert "chat smollm2 --decoder" in said and "train grammar" not in said
    assert not box.xpath(".//svg")  # of the translator


def test_a_page_without_a_part_is_told_so(tmp_path):
    page = "# Speed\n\n```{write}\nFaster.\n```\n"
    warned = build(tmp_path, **{"21_speed": page})
    assert "'21_speed' has no part" in warned and "parts.py" in warned
