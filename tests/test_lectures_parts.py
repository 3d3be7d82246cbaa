"""Tall figures, cut between their panels for slides."""

import io
import itertools
import re

import matplotlib.pyplot as plt
import nbformat
import numpy as np
import pytest
from bs4 import BeautifulSoup
from built_book import EDITIONS, ROOT, not_ready, site_of
from PIL import Image, ImageDraw

from tools.lectures.figures import figures_of
from tools.lectures.parts import (
    DOTS,
    LEAST,
    LETTERS,
    PANEL,
    ROOM,
    cuts,
    write_parts,
)
from tools.lectures.publish import Publisher
from tools.lectures.slides import Slide

LIMIT = ROOM / LEAST * LETTERS * DOTS
WHOLE = {"10-flow", "10-mistakes", "13-gen-tree"}
"""Tall figures that no white band divides: their letters stay small."""


def picture(*panels: tuple[int, int], height: int = 1400) -> Image.Image:
    """Black panels on white, each from a row to another."""
    drawn = Image.new("RGB", (800, height), "white")
    for top, end in panels:
        ImageDraw.Draw(drawn).rectangle((20, top, 780, end - 1), "black")
    drawn.info["dpi"] = (DOTS, DOTS)
    return drawn


def test_a_tall_picture_is_cut_in_the_widest_band():
    tall = picture((20, 600), (612, 660), (700, 1380))
    assert cuts(tall) == [680]


def test_a_picture_that_fits_stays_whole():
    assert cuts(picture((20, 300), (340, 700), height=int(LIMIT))) == []


@pytest.mark.parametrize(
    "panels",
    [
        [(20, 1380)],
        [(20, 700), (703, 1380)],
        [(20, 60), (100, 1380)],
    ],
    ids=["no band", "a narrow one", "a legend alone"],
)
def test_what_cannot_be_cut_well_stays_whole(panels):
    assert cuts(picture(*panels)) == []


@pytest.mark.parametrize("titled", [True, False])
def test_a_line_of_text_stays_with_its_panel(titled):
    """An axis is named below it, a panel above it."""
    figure, panels = plt.subplots(
        2, figsize=(5, 7.5), dpi=DOTS, layout="constrained"
    )
    for panel in panels:
        if titled:
            panel.set_title("title")
        else:
            panel.set_xlabel("name")
    file = io.BytesIO()
    figure.savefig(file, dpi=DOTS)
    plt.close(figure)
    [row] = cuts(Image.open(file))
    upper, lower = (
        figure.dpi * figure.get_figheight() * (1 - place)
        for place in (panels[0].get_position().y0, panels[1].get_position().y1)
    )
    line = panels[1].title if titled else panels[0].xaxis.label
    top = figure.bbox.height - line.get_window_extent().y1
    assert upper < row < lower
    assert (row < top) == titled


def test_parts_hold_all_of_the_picture(tmp_path):
    tall = picture((20, 600), (640, 1200), (1300, 1900), height=2000)
    path = tmp_path / "a.png"
    tall.save(path, dpi=(DOTS, DOTS))
    parts = [Image.open(part) for part in write_parts(path)]
    assert len(parts) == 3
    assert all(part.height <= LIMIT for part in parts)
    assert all(part.height >= PANEL * DOTS for part in parts)
    whole = np.concatenate([np.asarray(part) for part in parts])
    assert (whole == np.asarray(tall)).all()


def test_a_coarse_picture_has_parts_as_large_as_others(tmp_path):
    coarse = picture((20, 380), (410, 780), height=800)
    path = tmp_path / "a.png"
    coarse.save(path, dpi=(DOTS / 2, DOTS / 2))
    parts = [Image.open(part) for part in write_parts(path)]
    assert {part.width for part in parts} == {2 * coarse.width}


@pytest.fixture(scope="module", params=EDITIONS)
def decks(request, tmp_path_factory) -> dict[str, list[Slide]]:
    """The slides of each unit in 90 minutes, by unit; figures as files."""
    if reason := not_ready(request.param):
        pytest.skip(reason)
    target = tmp_path_factory.mktemp("class")
    made = Publisher(request.param, site_of(request.param), target)
    return {
        name: made.deck(unit, 90) for name, unit in made.plan.units.items()
    }


def images(slide: Slide) -> list[dict[str, str]]:
    """The figures of a slide."""
    body = BeautifulSoup(slide.body, "html.parser")
    return [image.attrs for image in body.select("img[data-figure]")]


def test_a_deck_with_parts_takes_as_long_and_has_notes(decks):
    for slides in decks.values():
        assert sum(slide.seconds for slide in slides) == 90 * 60
        assert all(slide.notes and slide.seconds > 0 for slide in slides)
    parts = [
        slide.title
        for slides in decks.values()
        for slide in slides
        if any("data-part" in image for image in images(slide))
    ]
    assert len(parts) > 20
    assert all(re.search(r" \(\d/\d\)$", title) for title in parts)


def test_letters_on_slides_can_be_read(decks):
    """Those of every figure but a few, which no band divides."""
    small = set()
    pictures = {
        figure.name: (figure.stem, figure.pictures["png"])
        for path in sorted((ROOT / "book").glob("*/*.ipynb"))
        for figure in figures_of(path.name[:2], nbformat.read(path, 4))
    }
    for slide in itertools.chain(*decks.values()):
        for image in images(slide):
            if "data-part" in image or image["data-figure"] not in pictures:
                continue
            stem, content = pictures[image["data-figure"]]
            drawn = Image.open(io.BytesIO(content))
            if drawn.height / drawn.info["dpi"][0] > LIMIT / DOTS:
                small.add(stem)
    assert small <= WHOLE
