"""Write the decks, the papers and the figures into a folder to be carried.

Each is a page of Markdown, which Sphinx turns into HTML: sphinx-revealjs a
deck, Sphinx itself a paper. Nothing in the folder leads out of it: it works
from a memory stick, without network.
"""

import os
import re
import shutil
from dataclasses import replace
from io import StringIO
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import yaml
from sphinx.application import Sphinx
from sphinx.util.docutils import docutils_namespace, patch_docutils

from tools.edition import EDITION, say
from tools.lectures.chapter import BOOK, BadPlan
from tools.lectures.decks import Deck
from tools.lectures.figures import (
    Part,
    parts_of,
    with_drawings,
    write_figures,
    write_part,
)
from tools.lectures.page import filled
from tools.lectures.plan import LENGTHS, Plan
from tools.lectures.powerpoint import write_presentations
from tools.refresh_outputs import ROOT
from transformer_course.figures import palette

REFERENCES = BOOK.parent / "references.bib"
CITED = re.compile(r"\{cite:(\w)\}`([^`]*)`")
PAGES = BOOK.parent / "_static"
STATIC = [
    str(Path(__file__).with_name("static")),
    *(str(PAGES / name) for name in ("type.css", "openings.css")),
]
STYLES = ["palette.css", "type.css", "openings.css", "lectures.css"]
SCREEN = {
    "width": 1280,
    "height": 720,
    "margin": 0,
    "center": False,
    "hash": True,
    "slideNumber": "c/t",
    "transition": "none",
    "pdfSeparateFragments": False,
    "defaultTiming": 60,  # without it a slide's data-timing is not read
}


def publish(target: Path, plan: Plan, book: Path, pptx: bool = False) -> None:
    """Write all that a class needs.

    Args:
        target: the folder.
        plan: its units are those that decks and papers are made of.
        book: the folder of the built book, whose figures answer on slides.
        pptx: whether to write presentations for PowerPoint, too.

    Raises:
        BadPlan: a chapter lacks what the plan names.
    """
    figures = write_figures(target / "figures")
    sources = {"sources": f"# {say('Sources')}\n\n```{{bibliography}}\n```\n"}
    decks, papers = dict(sources), dict(sources)
    exported: dict[str, str] = {}
    files: dict[str, str] = {}
    shown: dict[str, Part] = {}
    beside = os.path.relpath(book, target / "slides")
    for name, unit in plan.units.items():
        built = (book / f"{unit.notebook}.html").exists()
        for length in LENGTHS:
            deck = Deck(plan, unit, length, figures, beside if built else "")
            slides = deck.slides()
            decks[f"slides/{name}-{length}"] = filled(
                "deck", deck=deck, slides=slides
            )
            parts = {s.part.stem: s.part for s in slides if s.part}
            shown |= parts
            for stem in parts.keys() - files.keys():
                file = write_part(parts[stem], target / "figures")
                files[stem] = f"../figures/{file}"
            text = filled("export", deck=deck, slides=slides, files=files)
            exported[f"{name}-{length}"] = CITED.sub(cited, text)
        for kind in ("handout", "board"):
            papers[f"{kind}s/{name}"] = filled(kind, deck=deck, unit=unit)
    whole = replace(plan, cuts={}, frames={}, builds={})
    all_parts = [parts_of(name, figures, whole)[0] for name in figures]
    papers["figures/index"] = filled("figures", parts=all_parts)
    papers["index"] = filled("index", units=plan.units)
    build(target, "revealjs", decks)
    build(target, "html", papers)
    for path in [*target.glob("slides/*.html"), *target.glob("h*/*.html")]:
        html = with_drawings(path.read_text("utf-8"), figures)
        path.write_text(html, encoding="utf-8")
    for name, text in exported.items():
        (target / f"slides/{name}.md").write_text(text, encoding="utf-8")
    shutil.copy(REFERENCES, target)
    if pptx:
        write_presentations(target, shown.values(), figures)


def write_face(static: Path) -> None:
    """Write the fonts and the colours of the book."""
    shutil.copytree(PAGES / "fonts", static / "fonts", dirs_exist_ok=True)
    (static / "palette.css").write_text(palette.css(), encoding="utf-8")


def cited(found: re.Match[str]) -> str:
    """A citation as pandoc writes it."""
    names = "; ".join(f"@{name}" for name in found[2].split(","))
    return names if found[1] == "t" else f"[{names}]"


def build(target: Path, builder: str, pages: dict[str, str]) -> None:
    """Let Sphinx turn pages of Markdown into HTML; the first is the root.

    Raises:
        BadPlan: Sphinx warns of something.
    """
    write_face(target / "_static")
    warnings = StringIO()
    with (
        TemporaryDirectory() as source,
        TemporaryDirectory() as trees,
        patch_docutils(),
        docutils_namespace(),
    ):
        for name, text in pages.items():
            path = Path(source, f"{name}.md")
            path.parent.mkdir(exist_ok=True)
            path.write_text(f"---\norphan: true\n---\n{text}", "utf-8")
        app = Sphinx(
            source,
            None,
            target,
            trees,
            builder,
            settings(next(iter(pages))),
            status=None,
            warning=warnings,
        )
        app.builder.search = False
        app.build()
    if told := warnings.getvalue():
        raise BadPlan(f"units.yml, a chapter or an exam gives no page: {told}")


def settings(root: str) -> dict[str, Any]:
    """Sphinx's settings: formulas as in the book, and no other page."""
    book = yaml.safe_load((ROOT / "_config.yml").read_text("utf-8"))
    formulas = book["sphinx"]["config"]
    return {
        "root_doc": root,
        "language": EDITION,
        "html_title": say("Building the Transformer"),
        "extensions": [
            "myst_parser",
            "sphinx_revealjs",
            "sphinxcontrib.bibtex",
            "course_mathjax",
        ],
        "bibtex_bibfiles": [str(REFERENCES)],
        "bibtex_reference_style": formulas["bibtex_reference_style"],
        "myst_enable_extensions": book["parse"]["myst_enable_extensions"],
        "mathjax3_config": formulas["mathjax3_config"],
        "html_theme": "epub",
        "html_theme_options": {"relbar1": False, "footer": False},
        "html_permalinks": False,
        "html_static_path": STATIC,
        "html_css_files": STYLES,
        "html_copy_source": False,
        "html_use_index": False,
        "revealjs_static_path": STATIC,
        "revealjs_css_files": STYLES,
        "revealjs_style_theme": "lectures.css",
        "revealjs_script_conf": SCREEN,
        "revealjs_script_plugins": [
            {"name": "RevealNotes", "src": "revealjs/plugin/notes/notes.js"},
            {"name": "RevealSteps", "src": "slides.js"},
        ],
    }
