"""The built book to project in class: no answer is seen before it is due.

A copy of the site. Answers to the questions at a chapter's end are taken out.
What follows a guess, figures and outputs among it, is folded until somebody
opens it.
"""

import itertools
import shutil
from pathlib import Path

from bs4 import BeautifulSoup, PageElement, Tag

from tools.lectures.rounds import is_guess


def cover(site: Path, target: Path) -> int:
    """Copy the site, its chapters covered; how many answers were taken out."""
    if target.exists():
        shutil.rmtree(target)
    shutil.copytree(site, target)
    taken = 0
    for page in sorted(target.glob("[0-9][0-9]_*.html")):
        soup = BeautifulSoup(page.read_text(encoding="utf-8"), "html.parser")
        taken += take_answers(soup)
        fold_results(soup)
        page.write_text(str(soup), encoding="utf-8")
    return taken


def take_answers(soup: BeautifulSoup) -> int:
    """Take out the folded answers to questions; how many there were."""
    found = [
        fold
        for fold in soup.select("details.sd-dropdown")
        if fold.summary.get_text(strip=True) == "Answer"
    ]
    for fold in found:
        fold.decompose()
    return len(found)


def fold_results(soup: BeautifulSoup) -> None:
    """Put what follows each guess into a fold, to the section's end."""
    boxes = soup.select("article .tip, article .guess")
    for guess in filter(is_guess, boxes):
        following = [*itertools.takewhile(is_of_round, guess.next_siblings)]
        fold = soup.new_tag("details", attrs={"class": "lecture-fold"})
        summary = soup.new_tag("summary")
        summary.string = "What comes out"
        fold.append(summary)
        guess.insert_after(fold)
        for tag in following:
            fold.append(tag.extract())


def is_of_round(tag: PageElement) -> bool:
    """Whether a question goes on, or another one or a section begins."""
    begins = isinstance(tag, Tag) and (tag.name == "section" or is_guess(tag))
    return not begins
