"""Make exam papers, their marking keys, and files for Moodle.

python -m tools.exams                            a paper for each chapter
python -m tools.exams --only 04 06               of these chapters
python -m tools.exams --points 30 --seed 1       one paper, drawn from them
"""

import argparse
import sys
from pathlib import Path
from xml.etree import ElementTree

from tools.edition import EDITION, in_edition, say
from tools.exams.moodle import quiz
from tools.exams.question import Paper, chapters, draw, read
from tools.lectures.chapter import section
from tools.lectures.page import TEMPLATES
from tools.lectures.publish import build
from tools.refresh_outputs import ROOT
from transformer_course.errors import CourseError

TARGET = ROOT / f"_build/class/{EDITION}/exams"


def publish(target: Path, papers: dict[str, Paper]) -> None:
    """Write papers, keys and Moodle's files, by their names.

    Raises:
        CourseError: a question cannot be shown.
    """
    text = Path(__file__).with_name("paper.md").read_text("utf-8")
    text = in_edition(text, "../../tools/exams/paper.md")
    template = TEMPLATES.from_string(text)
    pages = {"index": f"# {say('Exams')}\n"}
    for name, paper in papers.items():
        for page, keys in ((name, False), (f"{name}-key", True)):
            values = {"paper": paper, "keys": keys, "section": section}
            pages[page] = template.render(values)
        pages["index"] += (
            f'\n- {paper.title}: <a href="{name}.html">{say("paper")}</a>, '
            f'<a href="{name}-key.html">{say("marking key")}</a>, '
            f'<a href="{name}.xml">Moodle</a>'
        )
    build(target, "html", pages)
    for name, paper in papers.items():
        tree = ElementTree.ElementTree(quiz(paper))
        tree.write(target / f"{name}.xml", "utf-8", xml_declaration=True)


def main() -> int:
    """Do what the command line asks for; 1 if it cannot be done."""
    parser = argparse.ArgumentParser(
        prog="python -m tools.exams", description=__doc__.splitlines()[0]
    )
    parser.add_argument(
        "--only", metavar="CHAPTER", nargs="+", help="these chapters (04 06)"
    )
    parser.add_argument("--points", type=int, help="draw one paper of so many")
    parser.add_argument("--seed", type=int, default=0, help="of the draw (0)")
    options = parser.parse_args()
    try:
        papers = {n: read(n) for n in options.only or chapters()}
        if options.points:
            drawn = draw([*papers.values()], options.points, options.seed)
            papers = {f"exam-{options.points}-{options.seed}": drawn}
        publish(TARGET, papers)
    except CourseError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    print(f"Open: file://{TARGET}/index.html")
    return 0


if __name__ == "__main__":
    sys.exit(main())
