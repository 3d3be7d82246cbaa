"""What a translation shares with its English text, and which words it avoids.

Formulas, code, links, roles with their targets, labels, directives with their
options, headings' levels and numbers are those of the English text, in any
order; 11 million is 1100万. A number that the English has in words may be
written in digits, too: two is 二つ or 2.
"""

import re
from collections import Counter
from functools import cache, partial

import yaml

from tools.translate.pieces import JAPANESE, headings_of

PROSE = {"guess", "dropdown", "admonition", "grid-item-card", "note"}
PROSE |= {"tip", "warning", "tab-item", "caption", "alt", "choices"}
"""Directives and options whose words are read."""
SCALE = {"thousand": 1e3, "million": 1e6, "billion": 1e9, "万": 1e4, "億": 1e8}
NUMBER = re.compile(rf"(\d+(?:,\d{{3}})*(?:\.\d+)?)(?: ?({'|'.join(SCALE)}))?")
IN_WORDS = (
    "zero|no|nothing one|a|an|single|once|first two|both|twice|second "
    "three|third four|fourth|quarter five|fifth six|sixth seven eight nine "
    "ten|tenth eleven twelve thirteen fourteen fifteen sixteen seventeen "
    "eighteen nineteen twenty"
).split()
"""Words for numbers, from 0 on."""
TAKEN = {
    "code": r"^( *)(?P<f>`{3,})(?:[a-z]\w*)?\n.*?^ *(?P=f) *$",
    "labels": r"^\([\w-]+\)=$",
    "formulas": r"\$\$.*?\$\$|(?<![\\$])\$[^$\n]+\$",
    "roles": r"(?P<role>\{[\w:]+\}`(?=[^`<]+`)[^`]+)`"
    r"|\{[\w:]+\}`[^`<]*<(?P<what>[^`>]+)>`",
    "links": r"\]\((?P<what>[^()\s]+)\)",
    "code spans": r"(`+)(?!`)(?P<what>.+?)(?<!`)\1(?!`)",
    "tags": r"</?[a-z][^<>]*>",
}
"""What is compared, in the order in which it is taken out of a text."""
DIRECTIVE = r"^ *[`:]{3,}\{([\w-]+)\}([^\n]*)"
OPTION = r"^ *:([a-z][\w-]*):([^\n]*)"


@cache
def avoided() -> dict[str, str]:
    """Words that the edition avoids, with what it says instead."""
    return yaml.safe_load((JAPANESE / "avoided.yml").read_text("utf-8"))


def parts_of(text: str) -> dict[str, Counter]:
    """What a text has of each kind that is compared."""
    found = {"headings": Counter(len(h[1]) for h in headings_of(text))}
    directives: list[str] = []
    for kind, pattern in TAKEN.items():
        several = re.S if kind in ("code", "formulas") else 0
        pattern = re.compile(pattern, re.M | several)
        found[kind] = Counter(map(what, pattern.finditer(text)))
        text = pattern.sub("]" if kind == "links" else " ", text)
        if kind == "code":
            put = partial(read_option, directives)
            text = re.sub(DIRECTIVE, put, text, flags=re.M)
            text = re.sub(OPTION, put, text, flags=re.M)
    found["directives"] = Counter(directives)
    found["numbers"] = Counter(
        float(number.replace(",", "")) * SCALE.get(scale, 1)
        for number, scale in NUMBER.findall(text)
    )
    return found


def what(match: re.Match) -> str:
    """What is compared of a part: of a link or role what it leads to."""
    named = match.groupdict()
    return named.get("what") or named.get("role") or match[0].strip()


def read_option(told: list[str], line: re.Match) -> str:
    """Note a directive or an option; what readers read of it is left."""
    name, said = line[1], line[2].strip()
    if name in PROSE:
        told.append(f"{name} with {said.count('|')} |")
        return said
    told.append(f"{name} {said}")
    return ""


def broken(english: str, japanese: str, allowed: str) -> list[str]:
    """The rules that a translation breaks, each in words."""
    kind, _, reason = allowed.partition(":")
    free = {each.strip() for each in kind.removeprefix("free").split(",")}
    said = []
    if allowed and not reason.strip():
        said.append(f"{allowed!r} gives no reason")
    here = parts_of(japanese)
    for name, parts in parts_of(english).items():
        lacks, adds = parts - here[name], here[name] - parts
        if name == "numbers":
            adds -= in_words(english, adds)
        is_free = name in free or (kind == "adapted" and name != "headings")
        if (lacks or adds) and not is_free:
            only = [*lacks.elements()], [*adds.elements()]
            said.append(
                "{}: only English {}, only Japanese {}".format(name, *only)
            )
    if "words" in free:  # what others wrote is quoted
        return said
    return said + [
        f"{found[0]} is avoided: {better}"
        for word, better in avoided().items()
        if (found := re.search(word, japanese))
    ]


def in_words(english: str, numbers: Counter) -> Counter:
    """Which of some numbers the English text has in words."""
    named = dict(enumerate(IN_WORDS)) | {100: "hundred", 1000: "thousand"}
    said = {
        number
        for number in numbers.keys() & named.keys()
        if re.search(rf"\b({named[number]})(e?s)?\b", english, re.I)
    }
    return Counter({number: numbers[number] for number in said})
