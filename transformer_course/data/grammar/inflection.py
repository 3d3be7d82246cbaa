"""Inflection in the built-in grammar, and the meaning of each form.

Each word is tagged with the numbers of the meanings it stands for. Words of
the two languages that share one are aligned, however far apart they are. In
``did not read`` and 読ま なかっ た, ``read`` goes with 読ま, ``not`` with
なかっ, and ``did`` with た: an auxiliary with the ending that shows tense.
"""

from collections import defaultdict
from functools import cache
from typing import NamedTuple

Words = list[tuple[str, tuple[int, ...]]]
"""Words, each with the numbers of the meanings that it carries."""

_split = cache(str.split)


def words(text: str, *meanings: int) -> Words:
    """Tag every word of ``text`` with the same meanings."""
    return [(word, meanings) for word in _split(text)]


def align(en: Words, ja: Words) -> tuple[tuple[int, int], ...]:
    """Places of English and Japanese words that share a meaning."""
    places = defaultdict(list)
    for i, (_, meanings) in enumerate(en):
        for meaning in meanings:
            places[meaning].append(i)
    pairs = {
        (i, j)
        for j, (_, meanings) in enumerate(ja)
        for meaning in meanings
        for i in places.get(meaning, ())
    }
    return tuple(sorted(pairs))


class Meanings(NamedTuple):
    """The meanings that a predicate's words carry."""

    verb: int
    """The verb or adjective."""
    tense: int
    """When: an English auxiliary, a Japanese ending."""
    negation: int
    """not, ない."""
    aspect: int
    """Being and going on: be, いる, the copula."""


# dictionary ending: ending before ない, ending before た, た turns to だ
_GODAN = {
    "う": ("わ", "っ", False),
    "く": ("か", "い", False),
    "ぐ": ("が", "い", True),
    "す": ("さ", "し", False),
    "つ": ("た", "っ", False),
    "ぶ": ("ば", "ん", True),
    "む": ("ま", "ん", True),
    "る": ("ら", "っ", False),
}
_ICHIDAN = frozenset(
    "食べる 見る 着る 助ける あげる くれる 見せる 教える "
    "来る いる できる".split()
)
_IRREGULAR = {
    "する": ("し", "し", False),
    "愛する": ("愛さ", "愛し", False),
    "行く": ("行か", "行っ", False),
    "ある": ("", "あっ", False),
}


class Stems(NamedTuple):
    """A stem for endings; ``voiced`` turns た and て to だ and で."""

    before_nai: str
    before_ta: str
    voiced: bool


def verb_stems(dictionary_form: str) -> Stems:
    """Stems of a Japanese verb: 読む gives 読ま (ない) and 読ん (だ).

    ある has no stem before ない: its negative is ない alone.
    """
    if dictionary_form in _IRREGULAR:
        return Stems(*_IRREGULAR[dictionary_form])
    body, ending = dictionary_form[:-1], dictionary_form[-1]
    if dictionary_form in _ICHIDAN:
        return Stems(body, body, False)
    before_nai, before_ta, voiced = _GODAN[ending]
    return Stems(body + before_nai, body + before_ta, voiced)


def conjugate(verb: str, past: bool, negated: bool, m: Meanings) -> Words:
    """Inflect a Japanese verb in the plain style.

    Args:
        verb: its dictionary form, 読む.
        past: 読ん だ.
        negated: 読ま ない; with past 読ま なかっ た.
        m: its meanings.
    """
    stems = verb_stems(verb)
    if negated:
        return words(stems.before_nai, m.verb) + negative(past, m)
    if past:
        ending = words("だ" if stems.voiced else "た", m.tense)
        return words(stems.before_ta, m.verb) + ending
    return words(verb, m.verb, m.tense)


def negative(past: bool, m: Meanings) -> Words:
    """ない, or なかっ た."""
    if past:
        return words("なかっ", m.negation) + words("た", m.tense)
    return words("ない", m.negation, m.tense)


def te_form(verb: str, m: Meanings) -> Words:
    """The te-form of a Japanese verb: 読ん で, 食べ て."""
    stems = verb_stems(verb)
    return words(stems.before_ta, m.verb) + words(
        "で" if stems.voiced else "て", m.verb
    )


def ja_quality(
    adjective: str, past: bool, negated: bool, question: bool, m: Meanings
) -> Words:
    """Inflect what ends a Japanese clause without a verb.

    賢い bends by itself (賢かっ た, 賢く ない); 有名 and nouns take the copula
    (だ, だっ た, で は ない), which becomes な before の か.
    """
    if adjective.endswith("い"):
        return _ja_adjective(adjective, past, negated, m)
    head = words(adjective, m.verb)
    if negated:
        return head + words("で は", m.aspect) + negative(past, m)
    if past:
        return head + words("だっ", m.aspect) + words("た", m.tense)
    return head + words("な" if question else "だ", m.aspect, m.tense)


def _ja_adjective(
    adjective: str, past: bool, negated: bool, m: Meanings
) -> Words:
    stem = adjective.removesuffix("い")
    if negated:
        return words(stem + "く", m.verb) + negative(past, m)
    if past:
        return words(stem + "かっ", m.verb) + words("た", m.tense)
    *before, last = adjective.split()
    return words(" ".join(before), m.verb) + words(last, m.verb, m.tense)


def en_be(person: int, plural: bool, past: bool) -> str:
    """The form of be."""
    many = plural or person == 2
    if past:
        return "were" if many else "was"
    return "are" if many else "am" if person == 1 else "is"
