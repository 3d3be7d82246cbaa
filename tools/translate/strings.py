"""The words of extensions, scripts, templates and settings in Japanese."""

import re
from functools import cache, partial

import yaml

from tools.translate.pieces import JAPANESE

STRINGS = JAPANESE / "strings.yml"


@cache
def strings() -> dict[str, dict]:
    """Words of extensions and settings, and of other files by their path."""
    return yaml.safe_load(STRINGS.read_text("utf-8"))


def replace_strings(text: str, words: dict[str, str], file: str) -> str:
    """A script or template with its words in Japanese.

    Words stand whole between quotes, tags, or the parts of a template; those
    with quotes of their own stand anywhere. The longest are replaced first.

    Raises:
        ValueError: words are not there.
    """
    for english in sorted(words, key=len, reverse=True):
        found = r"\s+".join(map(re.escape, english.split()))
        pattern = rf"(?:^|(?<=[\"'`>}}]))(\s*){found}(\s*)(?=[\"'`<{{$])"
        if {*english} & {*"\"'`"}:
            pattern = f"(){found}()"
        put = partial(kept_between, words[english])
        text, count = re.subn(pattern, put, text)
        if not count:
            raise ValueError(f"{file} has no {english!r}: mend {STRINGS}")
    return text


def kept_between(japanese: str, found: re.Match) -> str:
    """Japanese words; lines end where they did."""
    before, after = (
        space if "\n" in space else "" for space in found.groups()
    )
    return before + japanese + after
