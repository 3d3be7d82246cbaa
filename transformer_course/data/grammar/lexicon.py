"""The words of the built-in grammar: what there is to say.

They stand in ``lexicon.toml``. Nouns are grouped by kind, and a verb says
which kinds it goes with, so that people eat food and read books. Japanese
verbs are in the plain style.
"""

import tomllib
from functools import cache
from pathlib import Path
from typing import NamedTuple


class Noun(NamedTuple):
    """A common noun; ``plural`` and ``counter`` are empty for a mass."""

    en: str
    plural: str
    ja: str
    counter: str
    gender: str
    kind: str


class Verb(NamedTuple):
    """A verb with its arguments.

    ``subjects``, ``objects``, ``places`` and ``tools`` are words separated by
    spaces: kinds of nouns, or single nouns.
    """

    en: str
    """Base, third person, past and -ing form."""
    ja: str
    """Dictionary form; a word before it, as in 勉強 する, stays as it is."""
    objects: str = ""
    particle: str = "を"
    preposition: str = ""
    """English preposition in the place of the particle."""
    subjects: str = "person"
    places: str = ""
    tools: str = ""
    traits: str = ""
    """state: lasts, so Japanese says ている where English says loves;
    moment: has no -ing form here; able: goes with can;
    together: goes with a companion; one: to one thing at a time."""

    @property
    def forms(self) -> list[str]:
        """English base, third person, past and -ing form."""
        return self.en.split()

    @property
    def by_people(self) -> bool:
        """True if anybody can do it."""
        return "person" in self.subjects.split()

    @property
    def goes_out(self) -> bool:
        """True for an outdoor activity: going somewhere, sports."""
        kinds = {"place", "sport", "bicycle"}
        return not kinds.isdisjoint(self.objects.split())

    def has(self, trait: str) -> bool:
        """True if ``trait`` is among the verb's traits."""
        return trait in self.traits

    def lasts(self, negated: bool) -> bool:
        """True where Japanese uses ている; but not to know is 知ら ない."""
        return self.has("state") and not (negated and self.ja == "知る")


class Adjective(NamedTuple):
    """An adjective; ``before`` stands before a noun, ``after`` ends clauses.

    The last word of ``after`` is inflected if it ends in い; else it takes
    the copula. Without ``after`` it stands before nouns only.
    """

    en: str
    comparative: str
    before: str
    after: str
    kinds: str


class Pronoun(NamedTuple):
    """A personal pronoun: its English cases, and its Japanese."""

    subject: str
    object: str
    possessive: str
    ja: str
    person: int
    plural: bool
    gender: str


_WORDS = tomllib.loads(
    Path(__file__).with_suffix(".toml").read_text(encoding="utf-8")
)
PRONOUNS = {row[0]: Pronoun(*row) for row in _WORDS["pronouns"]}
THEY_WOMEN = Pronoun(*_WORDS["they_women"])
"""Translation of 'they' for women mentioned before."""
NAMES = _WORDS["names"]
"""English, Japanese, gender."""
NOUNS = {
    kind: tuple(Noun(*row, kind=kind) for row in rows)
    for kind, rows in _WORDS["nouns"].items()
}
"""Nouns by kind."""
NOUN = {noun.en: noun for nouns in NOUNS.values() for noun in nouns}
"""Nouns by their English."""
PLACE_PREPOSITION = _WORDS["place_preposition"]
"""in the park, but at the station."""
INSIDE = _WORDS["inside"]
"""Japanese has nouns where English has prepositions: テーブル の 上."""
VERBS = tuple(Verb(**words) for words in _WORDS["verbs"])
GIVING = tuple(Verb(**words) for words in _WORDS["giving"])
"""Verbs with a recipient."""
LIKE, THINK, SAY, GIVE_TO_ME = (
    Verb(**_WORDS[name]) for name in ("like", "think", "say", "give_to_me")
)
"""Japanese has another verb for giving when the speaker receives."""
SEQUELS = _WORDS["sequels"]
"""Two verbs that can follow each other upon one thing."""
ADJECTIVES = tuple(Adjective(*row) for row in _WORDS["adjectives"])
STATES = tuple(Adjective(*row) for row in _WORDS["states"])
"""Reasons that keep people from doing things."""
OLDER = Adjective(*_WORDS["older"])
"""The comparison of people: 年上; 古い is for things."""
WEATHER, WEATHER_NOW = _WORDS["weather"], _WORDS["weather_now"]
"""Reasons that keep people at home."""
FREQUENCY, TIMES, NUMBERS = (
    _WORDS[name] for name in ("frequency", "times", "numbers")
)
TENSES = (
    (0.26, "present"),
    (0.34, "past"),
    (0.14, "progressive"),
    (0.06, "past progressive"),
    (0.1, "future"),
    (0.1, "can"),
)
"""The share of each tense."""


@cache
def nouns(kinds: str) -> tuple[Noun, ...]:
    """The nouns of the kinds, or by the names, that ``kinds`` lists."""
    found: list[Noun] = []
    for word in kinds.split():
        found += NOUNS[word] if word in NOUNS else (NOUN[word],)
    return tuple(found)
