"""Store what the figures that answer show at first, for pages without scripts.

``python -m tools.live_stills`` opens the built book in Chromium, and writes
``book/_ext/live/stills/en/NAME.html`` for each kind of figure. Run it after a
change to a figure or to the shipped grammar model, for ``EDITION=ja`` too.
"""

import argparse
import re
from pathlib import Path

from tools.book_pdf import browser_page
from tools.edition import BUILT, EDITION, ROOT

STILLS = ROOT / "book/_ext/live/stills" / EDITION
SCRIPT = Path(__file__).with_suffix(".js")
SETTLE = 6_000
"""Milliseconds in which a sentence is written."""


def shorter(tag: re.Match) -> str:
    """A tag with one decimal in its numbers, of rem two; text stays."""
    return re.sub(r"(\d\.\d)(?:(\d)\d*(?=rem)|\d+)", r"\1\2", tag[0])


def order(page: Path) -> tuple[bool, str]:
    """By name, but chapter 00 last: some of its figures have other words."""
    return page.name.startswith("00_"), page.name


def main() -> None:
    """Write the stills of all figures in the built book."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("site", nargs="?", type=Path, default=BUILT)
    site = parser.parse_args().site.resolve()
    STILLS.mkdir(exist_ok=True)
    done = set()
    with browser_page() as page:
        page.set_viewport_size({"width": 1280, "height": 900})
        for file in sorted(site.glob("*.html"), key=order):
            text = file.read_text("utf-8")
            if not {*re.findall(r'data-live="([\w-]+)"', text)} - done:
                continue
            page.goto(file.as_uri())
            page.wait_for_timeout(SETTLE)
            stills = page.evaluate(SCRIPT.read_text("utf-8"))
            for name in stills.keys() - done:
                html = re.sub(r"<[^>]+>", shorter, stills[name])
                (STILLS / f"{name}.html").write_text(html + "\n", "utf-8")
            done |= stills.keys()
    print(f"{', '.join(sorted(done))}: {STILLS}")


if __name__ == "__main__":
    main()
