"""Make what a lecturer needs from the built book.

python -m tools.lectures slides      a deck for each unit and length
python -m tools.lectures handouts    pages to hand out, and board plans
python -m tools.lectures figures     every figure as a file
python -m tools.lectures covered     the book without its answers
"""

import argparse
import sys

from tools.lectures.covered import cover
from tools.lectures.pdf import print_pdf
from tools.lectures.publish import Publisher
from tools.refresh_outputs import ROOT
from transformer_course.errors import CourseError


def main() -> int:
    """Do what the command line asks for; 1 if it cannot be done."""
    parser = argparse.ArgumentParser(
        prog="python -m tools.lectures", description=__doc__.splitlines()[0]
    )
    parser.add_argument(
        "what", choices=["slides", "handouts", "figures", "covered"]
    )
    parser.add_argument(
        "--reveal", default="", help="an unpacked release of reveal.js"
    )
    parser.add_argument(
        "--svg",
        metavar="CHAPTER",
        nargs="*",
        default=[],
        help="for figures: run these chapters (04 05) and write SVG as well",
    )
    options = parser.parse_args()
    try:
        print(made(options))
    except CourseError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


def made(options: argparse.Namespace) -> str:
    """Make it; a line that says where it is."""
    site = ROOT / "_build/en/_build/html"
    target = ROOT / "_build/class/en"
    publisher = Publisher(site, target, options.svg)
    if options.what == "covered":
        taken = cover(site, target / "pages")
        return (
            f"{taken} answers taken out. Open: file://{target}/pages/"
            "index.html"
        )
    if options.what == "slides":
        publisher.slides(options.reveal)
    papers = publisher.papers() if options.what == "handouts" else []
    if not all(print_pdf(page) for page in papers):
        print("no Chromium here, so no PDF; print the pages from a browser")
    if options.what == "figures":
        publisher.figure_page()
    return f"Open: file://{publisher.contents()}"


if __name__ == "__main__":
    sys.exit(main())
