"""Words of an English sentence that agree in number, found by patterns.

``is`` and its subject, ``these`` and its noun. Sentences are in lower case
and cut into words, as in small_parallel_enja. Nothing is parsed: what no
pattern knows is left out, and a few finds are wrong.
"""

from collections.abc import Callable
from typing import NamedTuple

VERBS = ("am", "is", "are", "was", "were")
DEMONSTRATIVES = ("this", "these", "that", "those")
PRONOUNS = ("i", "you", "he", "she", "it", "we", "they")
ASKING = ("who", "what", "where", "when", "why", "how")
DETERMINERS = frozenset(
    "the a an my your his her its our their no some any many".split()
).union(DEMONSTRATIVES)
ENDS = (
    frozenset(
        """. , ? ! ; : ' s t be been being has have had do does did will would
        can could may might must shall should in on at of for to from with by
        about into as than over under after before between through during
        without until since like and or but because if while so not very too
        here now again me him us them mine yours up down out off""".split()
    )
    .union(DETERMINERS)
    .union(VERBS)
    .union(PRONOUNS)
    .union(ASKING)
)
"""Words that no noun phrase goes on with, once its noun is there."""
AMOUNTS = ("lot", "deal", "number")
"""No nouns that a verb agrees with: there *are* a lot of *people*."""
LONGEST = 2
"""Words between a determiner and the end of its phrase: an adjective at
most, and the noun."""


class Agreement(NamedTuple):
    """Two words of a sentence, by their places."""

    asks: int
    """The verb, for instance."""
    answers: int
    """The word it agrees with: its subject."""


Finder = Callable[[list[str]], list[Agreement]]


def noun_after(words: list[str], determiner: int) -> int | None:
    """The place of the noun of a phrase, if it is a short one."""
    end = determiner + 1
    while end < len(words) and words[end] not in ENDS:
        end += 1
    short = 1 < end - determiner <= 1 + LONGEST and end < len(words)
    return end - 1 if short and words[end - 1] not in AMOUNTS else None


def subject_of(words: list[str], verb: int) -> int | None:
    """The place of the subject's noun or pronoun; None if none is found."""
    before = words[verb - 1] if verb else ""
    if before in (*PRONOUNS, *DEMONSTRATIVES):
        return verb - 1
    asked = any(w in ASKING for w in words[max(verb - 2, 0) : verb])
    if verb + 1 < len(words) and (not before or asked):
        after = words[verb + 1]
        if after in PRONOUNS:
            return verb + 1
        if after in DETERMINERS and (not before or verb < 2):
            return noun_after(words, verb + 1)
    if before == "there":
        an_article = words[verb + 1] in DETERMINERS
        return noun_after(words, verb + an_article)
    for start in range(verb):
        if words[start] in DETERMINERS:
            noun = noun_after(words, start)
            if noun is not None and _reaches(words, noun, verb):
                return noun
    return None


def _reaches(words: list[str], noun: int, verb: int) -> bool:
    """Whether a verb follows a noun, or what ``of`` or ``in`` adds to it."""
    if words[noun + 1] in ("of", "in", "on"):
        an_article = words[noun + 2] in DETERMINERS
        noun = noun_after(words, noun + 1 + an_article)
    return noun == verb - 1


def subjects(words: list[str]) -> list[Agreement]:
    """Every form of *be* whose subject a pattern finds."""
    found = [
        (verb, subject_of(words, verb))
        for verb, word in enumerate(words)
        if word in VERBS
    ]
    return [Agreement(*pair) for pair in found if pair[1] is not None]


def demonstrated(words: list[str]) -> list[Agreement]:
    """Every *this, these, that, those* with a noun.

    *That* only where it is not likely to be a conjunction: at the beginning,
    and after a preposition.
    """
    before = ("in", "on", "at", "of", "for", "to", "from", "with", "by")
    found = []
    for place, word in enumerate(words):
        if word not in DEMONSTRATIVES:
            continue
        if word == "that" and place and words[place - 1] not in before:
            continue
        noun = noun_after(words, place)
        if noun is not None:
            found.append(Agreement(place, noun))
    return found


def turned(find: Finder) -> Finder:
    """Exchange the two words of each find."""
    return lambda words: [Agreement(b, a) for a, b in find(words)]


KINDS: dict[str, Finder] = {
    "verb to subject": subjects,
    "subject to verb": turned(subjects),
    "this to noun": demonstrated,
    "noun to this": turned(demonstrated),
}
"""Which word asks for which; *this* stands for all four."""
