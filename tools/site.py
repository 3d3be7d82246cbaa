"""Put the whole site into one folder, ready for any web server.

python -m tools.site

The built book, and in ``ja`` the Japanese edition; each has slides, handouts
and figures in its folder ``class``. Each page links the same page of the other
edition; ``_static/editions.js`` finds the section. Every address counts from
the page that it stands on, so the folder may lie at any depth of a server. It
is made beside what it replaces: nothing of an earlier site stays, and a site
that cannot be made leaves the earlier one.
"""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

from tools.refresh_outputs import ROOT

JAPANESE = "ja"
NAMES = {"en": "English", "ja": "日本語"}
"""Of the editions, each in its own language."""
PLACE = "<!-- editions -->"
"""In a page's header, where the link to the other edition is to stand."""
NO_JEKYLL = ".nojekyll"
"""Without this file Pages would take a branch for the source of a blog, and
leave out each folder whose name begins with ``_``."""


def link_editions(site: Path) -> None:
    """Link the pages of both editions to one another.

    Args:
        site: the folder of the English edition; the other lies in it.
    """
    for ja in sorted((site / JAPANESE).rglob("*.html")):
        name = ja.relative_to(site / JAPANESE).as_posix()
        if not (site / name).exists():
            continue
        here = {"en": name, "ja": f"{JAPANESE}/{name}"}
        for language, path in here.items():
            other = "en" if language == "ja" else "ja"
            up = "../" * path.count("/")
            link = (
                f'<a class="other-edition" href="{up}{here[other]}" '
                f'lang="{other}" hreflang="{other}">{NAMES[other]}</a>'
            )
            head = "".join(alternates(here, up))
            html = (site / path).read_text("utf-8").replace(PLACE, link)
            html = html.replace("</head>", f"{head}</head>", 1)
            (site / path).write_text(html, "utf-8")


def alternates(paths: dict[str, str], up: str) -> Iterator[str]:
    """What the head of a page says of its editions, by their paths.

    Their addresses are whole where the site's is known.
    """
    known = os.environ.get("SITE_URL", "").strip().removesuffix("/")
    base = f"{known}/" if known else up
    for language, path in [*paths.items(), ("x-default", paths["en"])]:
        yield (
            f'<link rel="alternate" hreflang="{language}" '
            f'href="{base}{path}">\n'
        )


def gather(books: dict[str, Path], target: Path) -> None:
    """Put the site together.

    Args:
        books: the built editions, ``en`` and ``ja``.
        target: the folder to make; what it held is removed.
    """
    fresh = target.with_name(f"{target.name}.new")
    shutil.rmtree(fresh, ignore_errors=True)
    shutil.copytree(books["en"], fresh)
    shutil.copytree(books["ja"], fresh / JAPANESE)
    link_editions(fresh)
    (fresh / NO_JEKYLL).touch()
    shutil.rmtree(target, ignore_errors=True)
    fresh.rename(target)


if __name__ == "__main__":
    made = ROOT / "_build/site"
    gather({name: ROOT / f"_build/{name}/_build/html" for name in NAMES}, made)
    print(f"The site is in {made}. Open: file://{made}/index.html")
