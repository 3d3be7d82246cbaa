"""Write the decks, the papers and the figures into a folder to be carried.

Nothing in it leads out of it: it works from a memory stick, without network.
"""

import json
import shutil
from collections.abc import Collection
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import yaml
from bs4 import BeautifulSoup
from jinja2 import Environment, FileSystemLoader, StrictUndefined

from tools.lectures.builds import build
from tools.lectures.drawing import DRAWINGS
from tools.lectures.figures import Figure, size_of, write_figures
from tools.lectures.headings import chapter_files
from tools.lectures.papers import board, handout
from tools.lectures.parts import write_parts
from tools.lectures.plan import LENGTHS, Plan, Unit, read_plan
from tools.lectures.reveal import copy_reveal, find_reveal, notes_of
from tools.lectures.rounds import BuiltChapter, drawing, portable
from tools.lectures.slides import Deck, Slide
from tools.refresh_outputs import ROOT

HERE = Path(__file__).parent
STYLE = "lectures.css"
TALL = 0.7
"""Height by width from which on a picture has the slide's whole height."""
MATHJAX = Path("_static", "mathjax")


@dataclass
class Publisher:
    """Makes what a class needs from the built site."""

    site: Path
    target: Path
    svg: Collection[str] = ()
    """The numbers of the chapters whose figures are drawn as SVG too."""

    @cached_property
    def plan(self) -> Plan:
        """The plan."""
        return read_plan()

    @cached_property
    def pages(self) -> dict[str, BuiltChapter]:
        """The built chapters, by number."""
        files = chapter_files()
        return {
            number: BuiltChapter(self.site / f"{path.stem}.html")
            for number, path in files.items()
        }

    @cached_property
    def figures(self) -> dict[str, Figure]:
        """All figures, written into the folder, by their names."""
        folder = self.target / "figures"
        return write_figures(folder, self.svg)

    @cached_property
    def templates(self) -> Environment:
        """The environment of the templates."""
        made = Environment(
            loader=FileSystemLoader(HERE / "templates"),
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
        )
        script, settings = mathjax_of_book()
        made.globals["mathjax_script"] = script
        made.globals["mathjax"] = settings
        return made

    def slides(
        self, reveal: str = "", units: Collection[str] = ()
    ) -> list[Path]:
        """A deck for each unit and length.

        Args:
            reveal: an unpacked release of reveal.js; the package's without.
            units: names of those that are wanted; all without.
        """
        folder = find_reveal(reveal)
        copy_reveal(folder, self.target / "reveal")
        return [
            self.write(
                f"slides/{unit.unit}-{length}.html",
                "deck.html",
                deck=self.deck(unit, length),
                notes_script=notes_of(folder),
                chapter=unit.chapter,
            )
            for name, unit in self.plan.units.items()
            for length in LENGTHS
            if not units or name in units
        ]

    def deck(self, unit: Unit, length: int) -> list[Slide]:
        """The slides of a unit; a tall figure has more than one."""
        slides = Deck(self.plan, unit, length, self.page(unit)).slides()
        return [part for slide in slides for part in self.in_parts(slide)]

    def in_parts(self, slide: Slide) -> list[Slide]:
        """A slide, or as many as its figure has parts, with their steps."""
        body = BeautifulSoup(slide.body, "html.parser")
        image = body.select_one("img[data-figure]")
        if image is None:
            return [slide]
        figure = self.figures[image["data-figure"]]
        whole = self.target / "figures" / figure.file
        parts = write_parts(whole) if whole.suffix == ".png" else []
        many, slides = len(parts) or 1, []
        for number, part in enumerate(parts or [whole]):
            own = BeautifulSoup(slide.body, "html.parser")
            image = own.select_one("img[data-figure]")
            image["data-file"] = part.name
            notes = slide.notes[-1:] if number else slide.notes
            if steps := self.plan.builds.get(part.stem):
                build(image, part, steps)
                notes = [*notes, f"It appears in {len(steps)} clicks."]
            seconds = slide.seconds // many
            if not number:
                seconds = slide.seconds - seconds * (many - 1)
            title = slide.title
            if parts:
                title = f"{title} ({number + 1}/{many})"
            slides.append(
                replace(
                    slide,
                    title=title,
                    body=str(own),
                    seconds=seconds,
                    notes=notes,
                )
            )
        return slides

    def papers(self) -> list[Path]:
        """A handout and a board plan for each unit."""
        made = []
        for unit in self.plan.units.values():
            page = self.page(unit)
            papers = {
                "handout": handout(self.plan, unit, page, self.pages),
                "board": board(unit, page),
            }
            made += [
                self.write(
                    f"{kind}s/{unit.unit}.html", f"{kind}.html", paper=paper
                )
                for kind, paper in papers.items()
            ]
        return made

    def figure_page(self) -> Path:
        """A page with all figures: file, caption, what is to be seen."""
        entries = [
            (
                name,
                portable(drawing(name))
                if name in DRAWINGS
                else self.pages[figure.stem[:2]].figure(name),
                [f"{figure.stem}.{suffix}" for suffix in figure.pictures],
            )
            for name, figure in self.figures.items()
        ]
        about = {"title": "The figures of the book", "figures": entries}
        return self.write("figures/index.html", "figures.html", paper=about)

    def contents(self) -> Path:
        """A page that leads to what is in the folder."""

        def links(unit: str) -> list[tuple[str, str]]:
            names = {
                f"slides/{unit}-{n}.html": f"Slides, {n}" for n in LENGTHS
            }
            names[f"handouts/{unit}.html"] = "Handout"
            names[f"boards/{unit}.html"] = "Board plan"
            there = [n for n in names if (self.target / n).exists()]
            return [(name, names[name]) for name in there]

        about = {
            "title": "For the class",
            "units": [*self.plan.units.values()],
            "links": links,
        }
        return self.write("index.html", "contents.html", paper=about)

    def page(self, unit: Unit) -> BuiltChapter:
        """The built chapter of a unit."""
        return self.pages[unit.chapter]

    def write(self, name: str, template: str, **given: Any) -> Path:
        """Fill a template, and bring what it shows into the folder."""
        given["root"] = "../" * name.count("/")
        html = self.templates.get_template(template).render(**given)
        soup = BeautifulSoup(html, "html.parser")
        self.bring_images(soup, given["root"])
        self.bring_mathjax(soup)
        path = self.target / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(str(soup), encoding="utf-8")
        shutil.copyfile(HERE / "templates" / STYLE, self.target / STYLE)
        return path

    def bring_images(self, soup: BeautifulSoup, root: str) -> None:
        """Figures by their speaking names; other images as they are."""
        folder = self.target / "figures"
        for image in soup.select("img"):
            image.attrs.pop("style", None)
            name = image.attrs.pop("data-figure", "")
            if file := image.attrs.pop("data-file", ""):
                place = folder / file
            elif name in self.figures:
                place = folder / self.figures[name].file
            else:
                place = folder / Path(image["src"]).name
                shutil.copyfile(self.site / image["src"], place)
            image["src"] = f"{root}figures/{place.name}"
            width, height = size_of(place)
            image["width"], image["height"] = width, height
            if (slide := image.find_parent(class_="slide")) and (
                height > TALL * width
            ):
                slide["class"] = ["slide", "tall"]

    def bring_mathjax(self, soup: BeautifulSoup) -> None:
        """Copy the book's MathJax; leave it out of pages without formulas."""
        body = soup.body.get_text()
        if r"\(" in body or r"\[" in body:
            source, place = self.site / MATHJAX, self.target / "mathjax"
            if not place.exists():
                shutil.copytree(source, place)
            return
        for script in soup.select("script.mathjax"):
            script.decompose()


def mathjax_of_book() -> tuple[str, str]:
    """The script that the book loads, and its settings as JSON."""
    book = yaml.safe_load((ROOT / "_config.yml").read_text("utf-8"))
    settings = book["sphinx"]["config"]
    return settings["mathjax_path"], json.dumps(settings["mathjax3_config"])
