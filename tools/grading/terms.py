"""What stands in what is handed out beside the assignment: its terms.

A submission is compared with the notebook of the assignment, whatever the
terms were: :func:`bare` takes out of a text what stands here.
"""

import re

TITLE = "## Handing in"
FILE = "Hand in this file under its own name, `{name}.ipynb`"
MARKED = (
    "Tests mark the code, on other inputs than those of your own check; a "
    "person marks what you write in words. You may add cells."
)
IN_WORDS = "an answer in words"
NO_SOLUTIONS = """\
from course_exercises.check import without_solutions

without_solutions()"""
SOLUTION = (
    " `solution(...)` shows how it can be written: it is the last thing to "
    "ask for."
)
"""What the sources of all assignments say of solutions."""
LINK = re.compile(
    r"\]\(<?[^()\s]*?(?P<page>\d\d_\w+)\.(?:ipynb|html)(?P<place>#[^)\s>]*)?>?\)"
)
"""A link to a chapter, from wherever."""
ADDED = (
    re.compile(rf"{TITLE}\n\nHand in .*\n\n(?:\|.*\n)+\n{re.escape(MARKED)}"),
    re.compile(r"\n\n\*\d+ points?\.\*"),
    re.compile(re.escape(SOLUTION)),
    re.compile(re.escape(NO_SOLUTIONS)),
)


def bare(text: str) -> str:
    """A text without what was added, and with links that are compared."""
    for pattern in ADDED:
        text = pattern.sub("", text)
    return LINK.sub(r"](\g<page>\g<place>)", text)
