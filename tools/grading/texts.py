"""Texts of students, made fit to be kept, shown and counted.

A notebook may hold signs that no file can, a name may end a line, and an
answer may be a program for whoever renders it. What goes into tables, pages
and nbgrader's notebooks comes through here.
"""

import re

SIGN = "\N{REPLACEMENT CHARACTER}"
CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
"""What moves a cursor or ends a file; but tab and line feed."""
TURNS = re.compile(r"[\t\n\u2028\u2029\u202a-\u202e\u2066-\u2069]")
"""What ends a line, or turns it round."""


def encodable(text: str) -> str:
    """The text, with a sign in place of each half of a surrogate pair."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def readable(text: str) -> str:
    """The text, with a sign in place of each that is none."""
    return CONTROL.sub(SIGN, encodable(text))


def one_line(text: str, most: int = 1000) -> str:
    """The text as one line, for tables and terminals."""
    return TURNS.sub(SIGN, readable(text[:most]))


def counted(number: float, noun: str) -> str:
    """A number and what is counted: ``1 point``, ``2 points``."""
    return f"{number:g} {noun}{'' if number == 1 else 's'}"


def shortened(text: str, most: int) -> str:
    """At most so many characters, and a line about the others."""
    if len(text) <= most:
        return text
    return f"{text[:most]}\n[… {len(text) - most:,} more characters]"


def fenced(text: str) -> str:
    """Markdown that shows the text as it is.

    The fence is longer than any within, so the text cannot end it: nothing
    in it is read as Markdown, nor as HTML.
    """
    longest = max(map(len, re.findall("`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}\n{text}\n{fence}"
