"""Noun phrases in both languages at once."""

from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

from transformer_course.data.grammar.draws import Draws
from transformer_course.data.grammar.inflection import Words, words
from transformer_course.data.grammar.lexicon import (
    ADJECTIVES,
    NAMES,
    NUMBERS,
    PRONOUNS,
    THEY_WOMEN,
    Adjective,
    Noun,
    Pronoun,
    Verb,
    nouns,
)

PEOPLE = (
    (0.4, "pronoun"),
    (0.25, "name"),
    (0.1, "parent"),
    (0.25, "person"),
)
"""Share of each kind among the people."""
OWNERS = {pronoun.possessive: pronoun for pronoun in PRONOUNS.values()}
POSSESSIVES = (*OWNERS, "name")
"""Possessive determiners; "name" represents ken 's."""
NEW = ("a", "number", "many")
"""Determiners at first mention."""
KNOWN = {
    (True, False): ("the", "this", "the plural", "my", "his", "her"),
    (True, True): ("the", "the", "this", "the plural", "the plural"),
    (False, False): ("the", "the", "this", *POSSESSIVES),
}
"""Determiners of subjects: people, men and women, animals."""
THINGS = ("a", "a", "the", "the", "this", "these", "plural", "number")
"""Determiners of objects, besides possessives."""
ONE = ("a", "a", "the", "the", "this")
"""Determiners of a single object."""
PLURALS = ("plural", "the plural", "these", "number", "many")
FIXED = {"this": "この", "these": "これら の", "many": "多く の"}
BARE = ("meal", "sport", "language", "science", "city")
"""Kinds of nouns that have no determiner."""
ONLY_THE = ("instrument", "place", "home", "transport", "shoes")
"""Kinds of nouns whose determiner is the."""


class NounPhrase(NamedTuple):
    """Somebody or something, in both languages, without a particle."""

    subject: Words
    """English, as a subject."""
    object: Words
    """English, elsewhere; it differs for pronouns."""
    ja: Words
    noun: str = ""
    """Identity of the referent, so that nobody meets himself."""
    person: int = 3
    plural: bool = False
    gender: str = ""
    topic: bool = True
    """Marked by は as a subject; what is new is marked by が."""
    ours: bool = False
    """True for a possession of the speaker: my mother."""

    @property
    def speaker(self) -> bool:
        """True for i and we."""
        return self.person == 1

    @property
    def third_singular(self) -> bool:
        """True if an English verb takes its -s."""
        return self.person == 3 and not self.plural


@cache
def adjectives_of(noun: Noun, ending: bool) -> tuple[Adjective, ...]:
    """Adjectives that fit ``noun``: ending a clause, or before the noun."""
    names = {noun.kind, noun.en}
    return tuple(
        adjective
        for adjective in ADJECTIVES
        if not names.isdisjoint(adjective.kinds.split())
        and (adjective.after if ending else adjective.before)
    )


def refer(phrase: NounPhrase) -> Pronoun | None:
    """The pronoun that takes up ``phrase``; None for the teacher, the cat."""
    if phrase.noun in PRONOUNS:
        return PRONOUNS[phrase.noun]
    if phrase.plural:
        return PRONOUNS["they"]
    return {"m": PRONOUNS["he"], "f": PRONOUNS["she"]}.get(phrase.gender)


class Namer(Draws):
    """Names people and things.

    Args:
        seed: the same seed makes the same phrases.
    """

    def __init__(self, seed: int):
        super().__init__(seed)
        self._women = False

    def start(self) -> None:
        """Begin a sentence: nobody has been named in it."""
        self._women = False

    def pronoun(self, pronoun: Pronoun) -> NounPhrase:
        """A personal pronoun."""
        pronoun = self._resolve(pronoun)
        subject, ja = self.tie(pronoun.subject, pronoun.ja)
        return NounPhrase(
            subject,
            [(pronoun.object, subject[0][1])],
            ja,
            pronoun.subject,
            pronoun.person,
            pronoun.plural,
            pronoun.gender,
        )

    def _resolve(self, pronoun: Pronoun) -> Pronoun:
        """Antecedent of they: women, if women were mentioned before it."""
        they = pronoun.subject == "they"
        return THEY_WOMEN if they and self._women else pronoun

    def any_pronoun(self) -> NounPhrase:
        """One of the personal pronouns."""
        return self.pronoun(self.pick(tuple(PRONOUNS.values())))

    def name(self, unlike: str = "") -> NounPhrase:
        """A person by name, another than ``unlike``."""
        en, ja, gender = self.pick([n for n in NAMES if n[0] != unlike])
        en_words, ja_words = self.tie(en, ja)
        return NounPhrase(en_words, en_words, ja_words, en, gender=gender)

    def common(
        self,
        noun: Noun,
        determiner: str,
        adjectives: float = 0.0,
        owner: str = "",
    ) -> NounPhrase:
        """A noun with its determiner and perhaps an adjective.

        Args:
            noun: what it is.
            determiner: ``""``, ``"a"``, ``"the"``, ``"this"``, ``"these"``,
                ``"many"``, a possessive, or ``"plural"`` (none, in the
                plural), ``"the plural"``, ``"number"`` (two), ``"name"``
                (ken 's).
            adjectives: share of the nouns that get one.
            owner: who does not own it by name, being the subject.
        """
        plural = determiner in PLURALS or noun.kind == "shoes"
        people = noun.kind == "person" and determiner == "the plural"
        en, ja = self.tie(
            (noun.plural if plural else "") or noun.en,
            f"{noun.ja} たち" if people else noun.ja,
        )
        if self.chance(adjectives):
            en, ja = self._qualify(noun, en, ja)
        en, ja = self._determine(noun, determiner, owner, en, ja)
        self._women = self._women or (plural and noun.gender == "f")
        return NounPhrase(
            en,
            en,
            ja,
            noun.en,
            plural=plural,
            gender=noun.gender,
            topic=determiner not in NEW,
            ours=determiner in ("my", "our"),
        )

    def _qualify(
        self, noun: Noun, en: Words, ja: Words
    ) -> tuple[Words, Words]:
        fitting = adjectives_of(noun, ending=False)
        if not fitting:
            return en, ja
        adjective = self.pick(fitting)
        before, ja_before = self.tie(adjective.en, adjective.before)
        return before + en, ja_before + ja

    def _determine(
        self, noun: Noun, determiner: str, owner: str, en: Words, ja: Words
    ) -> tuple[Words, Words]:
        if determiner in ("", "plural"):
            return en, ja
        if determiner in ("the", "the plural"):
            return words("the") + en, ja
        if determiner == "a":
            return words("an" if en[0][0][0] in "aeiou" else "a") + en, ja
        if determiner == "name":
            name, (mark, ja_mark) = self.name(owner), self.tie("'s", "の")
            return name.subject + mark + en, name.ja + ja_mark + ja
        if determiner == "number":
            number, ja_number = self.pick(NUMBERS)
            before = self.tie(number, f"{ja_number} {noun.counter} の")
        elif determiner in FIXED:
            before = self.tie(determiner, FIXED[determiner])
        else:
            whose = self._resolve(OWNERS[determiner])
            before = self.tie(determiner, f"{whose.ja} の")
        return before[0] + en, before[1] + ja

    def person(
        self, *, new: bool = False, adjectives: float = 0.25
    ) -> NounPhrase:
        """Somebody: a pronoun, a name, a parent, anybody.

        Args:
            new: somebody not spoken of before may come in: a boy, two boys.
            adjectives: share of the nouns that get one.
        """
        kind = self.weighted(PEOPLE)
        if kind == "pronoun":
            return self.any_pronoun()
        if kind == "name":
            return self.name()
        noun = self.pick(nouns(kind))
        if kind == "parent":
            return self.common(noun, self.pick(POSSESSIVES))
        return self.actor(noun, new=new, adjectives=adjectives)

    def actor(
        self, noun: Noun, *, new: bool = False, adjectives: float = 0.25
    ) -> NounPhrase:
        """A person or an animal by a noun."""
        determiners = KNOWN[noun.kind == "person", bool(noun.gender)]
        if new and self.chance(0.35):
            determiners = NEW
        return self.common(noun, self.pick(determiners), adjectives)

    def other_person(
        self, subject: NounPhrase, adjectives: float = 0.25
    ) -> NounPhrase:
        """Somebody else than ``subject``."""
        women = self._women
        while True:
            self._women = women
            other = self.person(adjectives=adjectives)
            same_side = other.person == subject.person != 3
            they = subject.plural and other.noun == "they"
            if other.noun != subject.noun and not same_side and not they:
                return other

    def someone_known(self) -> NounPhrase:
        """Somebody whom he, she or they can take up: the girls, ken."""
        if self.chance(0.5):
            noun = self.pick(nouns("boy girl girl man woman woman student"))
            return self.common(noun, "the plural")
        return self.name()

    def subject_of(self, verb: Verb, *, new: bool = False) -> NounPhrase:
        """A person or animal that can be the subject of ``verb``."""
        if verb.by_people and self.chance(0.9):
            return self.person(new=new)
        return self.actor(self.pick(nouns(verb.subjects)), new=new)

    def addressed(self, verb: Verb) -> NounPhrase:
        """Somebody to ask about: nobody asks what he does himself."""
        while True:
            self.start()
            subject = self.subject_of(verb)
            if not subject.speaker:
                return subject

    def object_of(self, verb: Verb, subject: NounPhrase) -> NounPhrase:
        """Something or somebody that ``verb`` can be done to."""
        noun = self.pick(nouns(verb.objects))
        if noun.kind == "person":
            return self.other_person(subject)
        return self.thing(noun, subject, ONE if verb.has("one") else THINGS)

    def thing(
        self, noun: Noun, owner: NounPhrase, choices: Sequence[str] = THINGS
    ) -> NounPhrase:
        """Something that is done something with, often the owner's own."""
        if noun.kind in BARE:
            return self.common(noun, "")
        if noun.kind in ONLY_THE:
            return self.common(noun, "the", 0.1)
        if not noun.plural:
            return self.common(noun, self.pick(("", "the")))
        own = refer(owner)
        if own is not None and self.chance(0.15):
            return self.common(noun, own.possessive, 0.25)
        determiner = self.pick((*choices, self.pick(POSSESSIVES)))
        return self.common(noun, determiner, 0.25, owner.noun)

    def known_thing(self, noun: Noun) -> NounPhrase:
        """A thing or an animal with a determiner: this book, my cat."""
        choices = ("the", "the", "this", "these", *POSSESSIVES)
        return self.common(noun, self.pick(choices))

    def kind_of(self, noun: Noun) -> NounPhrase:
        """All things of a kind: books, milk."""
        if noun.kind in ONLY_THE:
            return self.common(noun, "the")
        return self.common(noun, "plural" if noun.plural else "")

    def another(self, noun: Noun) -> Noun:
        """Another noun of the same kind."""
        return self.pick([n for n in nouns(noun.kind) if n != noun])
