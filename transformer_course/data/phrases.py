"""Phrases of the built-in grammar, made in both languages at once."""

import random
from collections.abc import Sequence
from functools import cache
from itertools import count
from typing import NamedTuple, TypeVar

from transformer_course.data.inflection import (
    Meanings,
    Words,
    conjugate,
    en_be,
    ja_quality,
    te_form,
    words,
)
from transformer_course.data.lexicon import (
    ADJECTIVES,
    FREQUENCY,
    NAMES,
    NUMBERS,
    PLACE_PREPOSITION,
    PRONOUNS,
    TENSES,
    THEY_WOMEN,
    TIMES,
    Adjective,
    Noun,
    Pronoun,
    Verb,
    nouns,
)

T = TypeVar("T")
NOTHING: Words = []

PEOPLE = (
    (0.4, "pronoun"),
    (0.25, "name"),
    (0.1, "parent"),
    (0.25, "person"),
)
"""The share of each kind among the people spoken of."""
OWNERS = {pronoun.possessive: pronoun for pronoun in PRONOUNS.values()}
POSSESSIVES = (*OWNERS, "name")
"""Determiners that say whose; "name" stands for ken 's."""
NEW = ("a", "number", "many")
"""Determiners of what was not spoken of before."""
KNOWN = {
    (True, False): ("the", "this", "the plural", "my", "his", "her"),
    (True, True): ("the", "the", "this", "the plural", "the plural"),
    (False, False): ("the", "the", "this", *POSSESSIVES),
}
"""Determiners of subjects: people, men and women, animals."""
THINGS = ("a", "a", "the", "the", "this", "these", "plural", "number")
"""Determiners of objects, besides possessives."""
ONE = ("a", "a", "the", "the", "this")
"""The same, of a single object."""
PLURALS = ("plural", "the plural", "these", "number", "many")
FIXED = {"this": "この", "these": "これら の", "many": "多く の"}
BARE = ("meal", "sport", "language", "science", "city")
"""Kinds of nouns that have no determiner."""
ONLY_THE = ("instrument", "place", "home", "transport", "shoes")
"""Kinds of nouns whose determiner is the."""
ASKED_ADVERBS = {"where": "どこ で", "when": "いつ"}


class NounPhrase(NamedTuple):
    """Somebody or something, in both languages, without a particle."""

    subject: Words
    """English, as a subject."""
    object: Words
    """English, elsewhere; it differs for pronouns."""
    ja: Words
    noun: str = ""
    """What it is about, so that nobody meets himself."""
    person: int = 3
    plural: bool = False
    gender: str = ""
    topic: bool = True
    """Marked by は as a subject; what is new is marked by が."""
    ours: bool = False
    """Whether it belongs to the speaker: my mother."""

    @property
    def speaker(self) -> bool:
        """Whether it is i or we."""
        return self.person == 1

    @property
    def third_singular(self) -> bool:
        """Whether an English verb takes its -s."""
        return self.person == 3 and not self.plural


class Predicate(NamedTuple):
    """What is said of a subject; the subject itself is left out."""

    auxiliary: Words
    """The finite auxiliary, which a question puts before the subject."""
    negation: Words
    rest: Words
    """English from the main verb on."""
    ja: Words
    """Japanese before the verb."""
    ja_verb: Words
    ja_and: Words = NOTHING
    """The verb in the form that goes on."""
    front: Words = NOTHING
    """The English question word, which goes first."""

    @property
    def en_all(self) -> Words:
        """English of a statement."""
        return self.auxiliary + self.negation + self.rest

    @property
    def ja_all(self) -> Words:
        """Japanese of a statement."""
        return self.ja + self.ja_verb


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


def asks_object(verb: Verb, asked: str) -> bool:
    """Whether a question word stands for the object: what, where to."""
    if asked == "where":
        return verb.forms[0] in ("go", "live")
    return asked == "what"


class Speaker:
    """Makes phrases from random numbers.

    Only ``random.Random.random`` is used: it alone is promised to give the
    same numbers in every version of Python.

    Args:
        seed: the same seed makes the same phrases.
    """

    def __init__(self, seed: int):
        self._random = random.Random(seed).random
        self._meanings = count(1)
        self._women = False

    def start(self) -> None:
        """Begin a sentence: nobody has been named in it."""
        self._women = False

    def pick(self, choices: Sequence[T]) -> T:
        """One of ``choices``, each as likely."""
        return choices[int(self._random() * len(choices))]

    def weighted(self, choices: Sequence[tuple[float, T]]) -> T:
        """One of ``choices`` by their weights, which sum to 1."""
        rest = self._random()
        for weight, choice in choices:
            rest -= weight
            if rest < 0:
                return choice
        return choices[-1][1]

    def chance(self, share: float) -> bool:
        """True in a ``share`` of the calls."""
        return self._random() < share

    def tie(self, en: str, ja: str) -> tuple[Words, Words]:
        """An English and a Japanese stretch that mean the same."""
        meaning = next(self._meanings)
        return words(en, meaning), words(ja, meaning)

    def meanings(self) -> Meanings:
        """New meanings for a predicate."""
        return Meanings._make(next(self._meanings) for _ in range(4))

    # Noun phrases

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
        """What they stands for: women, if women were named before it."""
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
        """Somebody who can do what ``verb`` says."""
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
        """A thing or an animal that is spoken of: this book, my cat."""
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

    # Predicates

    def be(
        self,
        subject: NounPhrase,
        past: bool,
        negated: bool = False,
        no: str = "not",
    ) -> tuple[Words, Words, Meanings]:
        """Be, perhaps not, and the meanings of the whole predicate."""
        m = self.meanings()
        form = en_be(subject.person, subject.plural, past)
        not_ = words(no, m.negation) if negated else []
        return words(form, m.tense, m.aspect), not_, m

    def en_verb(
        self,
        verb: Verb,
        subject: NounPhrase,
        past: bool,
        negated: bool = False,
        question: bool = False,
    ) -> tuple[Words, Words, Words, Meanings]:
        """Present or past of an English verb, with do where it is needed.

        Returns:
            The auxiliary, not, and the main verb; and their meanings.
        """
        m = self.meanings()
        m = m._replace(aspect=m.verb)
        base, third, past_form, _ = verb.forms
        if negated or question:
            do = "does" if subject.third_singular else "do"
            auxiliary = words("did" if past else do, m.tense)
            not_ = words("not", m.negation) if negated else []
            return auxiliary, not_, words(base, m.verb), m
        present = third if subject.third_singular else base
        main = words(past_form if past else present, m.verb, m.tense)
        return [], [], main, m

    def en_predicate(
        self,
        verb: Verb,
        subject: NounPhrase,
        tense: str,
        negated: bool,
        question: bool,
    ) -> tuple[Words, Words, Words, Meanings]:
        """Like :meth:`en_verb`, in any tense."""
        past = tense.startswith("past")
        if tense in ("present", "past"):
            return self.en_verb(verb, subject, past, negated, question)
        if tense.endswith("progressive"):
            be, not_, m = self.be(subject, past, negated)
            return be, not_, words(verb.forms[3], m.verb), m
        m = self.meanings()
        not_ = words("not", m.negation) if negated else []
        modal = words(
            "will" if tense == "future" else "can", m.tense, m.aspect
        )
        return modal, not_, words(verb.forms[0], m.verb), m

    @staticmethod
    def ja_predicate(
        verb: Verb, tense: str, negated: bool, m: Meanings
    ) -> Words:
        """A Japanese verb in any tense: 読ん で いる, 読む こと が できる."""
        past = tense.startswith("past")
        *before, last = verb.ja.split()
        head = words(" ".join(before), m.verb)
        if tense == "can":
            head += words(last, m.verb) + words("こと が", m.aspect)
            last, m = "できる", m._replace(verb=m.aspect)
        elif tense.endswith("progressive") or verb.lasts(negated):
            head += te_form(last, m)
            last, m = "いる", m._replace(verb=m.aspect)
        return head + conjugate(last, past, negated, m)

    def tense(self, verb: Verb) -> str:
        """A tense in which ``verb`` is used."""
        tense = self.weighted(TENSES)
        if verb.has("state"):
            return "past" if tense.startswith("past") else "present"
        if verb.has("moment") and tense.endswith("progressive"):
            return "past"
        if tense == "can" and not verb.has("able"):
            return "present"
        return tense

    def preposition(
        self, preposition: str, thing: NounPhrase, particle: str
    ) -> tuple[Words, Words]:
        """A preposition in front, a particle behind."""
        en, ja = self.tie(preposition, particle)
        return en + thing.object, thing.ja + ja

    def predicate(
        self,
        verb: Verb,
        subject: NounPhrase,
        tense: str,
        *,
        negated: bool = False,
        asked: str = "",
        thing: NounPhrase | None = None,
        recipient: NounPhrase | None = None,
        plain: bool = False,
    ) -> Predicate:
        """A verb with its object and what else belongs to it.

        Args:
            verb: what is done.
            subject: who does it; the verb agrees with it.
            tense: a key of ``TIMES``.
            negated: it is not done.
            asked: ``"yes"`` for a yes–no question, or ``"what"``,
                ``"where"``, ``"when"``.
            thing: the object; a fitting one is made when None.
            recipient: to whom it is given.
            plain: nothing that is not needed.
        """
        auxiliary, not_, rest, m = self.en_predicate(
            verb, subject, tense, negated, bool(asked)
        )
        front, en, ja = [], [], []
        if recipient is not None:
            en, ja = recipient.object, recipient.ja + words("に")
        if asks_object(verb, asked):
            front, ja_object = self._asked_object(verb)
            ja = ja + ja_object
        elif verb.objects:
            thing = thing or self.object_of(verb, subject)
            en_object, ja_object = self._object(verb, thing)
            en, ja = en + en_object, ja + ja_object
        if not plain:
            en, ja = self._with_adjuncts(verb, subject, asked, en, ja)
            if asked in ASKED_ADVERBS and not front:
                front, ja_asked = self.tie(asked, ASKED_ADVERBS[asked])
                ja = ja_asked + ja
            may_have_time = asked != "when" and not verb.has("state")
            if may_have_time and not (negated and tense == "present"):
                # i read it: only often tells that it is not the past
                needed = rest[0][0] == verb.forms[2] and tense == "present"
                rest, en, ja = self._with_time(tense, needed, rest, en, ja)
        *before, last = verb.ja.split()
        return Predicate(
            auxiliary,
            not_,
            rest + en,
            ja,
            self.ja_predicate(verb, tense, negated, m),
            words(" ".join(before), m.verb) + te_form(last, m),
            front,
        )

    def _object(self, verb: Verb, thing: NounPhrase) -> tuple[Words, Words]:
        if not verb.preposition:
            return thing.object, thing.ja + words(verb.particle)
        return self.preposition(verb.preposition, thing, verb.particle)

    def _asked_object(self, verb: Verb) -> tuple[Words, Words]:
        asked = ("where", "どこ") if verb.preposition else ("what", "何")
        en, ja = self.tie(*asked)
        return en, ja + words(verb.particle)

    def _with_adjuncts(
        self, verb: Verb, subject: NounPhrase, asked: str, en: Words, ja: Words
    ) -> tuple[Words, Words]:
        """Add with what, with whom, where: English behind, Japanese before."""
        found = []
        if verb.tools and self.chance(0.25):
            tool = self.pick(nouns(verb.tools))
            tool_phrase = self.common(tool, "a" if tool.plural else "")
            found.append(self.preposition("with", tool_phrase, "で"))
        elif verb.has("together") and self.chance(0.25):
            companion = self.other_person(subject)
            found.append(self.preposition("with", companion, "と"))
        if verb.places and asked != "where" and self.chance(0.35):
            place = self.pick(nouns(verb.places))
            preposition = PLACE_PREPOSITION.get(place.en, "in")
            place_phrase = self.common(place, "the", 0.1)
            found.append(self.preposition(preposition, place_phrase, "で"))
        for en_found, ja_found in found:
            en, ja = en + en_found, ja_found + ja
        return en, ja

    def _with_time(
        self, tense: str, needed: bool, rest: Words, en: Words, ja: Words
    ) -> tuple[Words, Words, Words]:
        """When (at the end), or how often (before the English main verb)."""
        if tense == "present" and (needed or self.chance(0.2)):
            often, ja_often = self.tie(*self.pick(FREQUENCY))
            return often + rest, en, ja_often + ja
        if TIMES[tense] and self.chance(0.35):
            time, ja_time = self.tie(*self.pick(TIMES[tense]))
            return rest, en + time, ja_time + ja
        return rest, en, ja

    def quality(
        self,
        subject: NounPhrase,
        adjective: Adjective,
        *,
        past: bool = False,
        negated: bool = False,
        question: bool = False,
    ) -> Predicate:
        """That somebody is wise: be, against an inflection."""
        be, not_, m = self.be(subject, past, negated)
        ja = ja_quality(adjective.after, past, negated, question, m)
        return Predicate(be, not_, words(adjective.en, m.verb), [], ja)

    # Sentences

    def state(
        self, subject: NounPhrase, predicate: Predicate
    ) -> tuple[Words, Words]:
        """A statement, with its full stop."""
        end, ja_end = self.tie(".", "。")
        particle = words("は" if subject.topic else "が")
        return (
            subject.subject + predicate.en_all + end,
            subject.ja + particle + predicate.ja_all + ja_end,
        )

    def ask(
        self, subject: NounPhrase, predicate: Predicate
    ) -> tuple[Words, Words]:
        """A question: English turns round, Japanese adds の か."""
        end, ja_end = self.tie("?", "の か ？")
        en = predicate.front + predicate.auxiliary + subject.subject
        ja = subject.ja + words("は") + predicate.ja_all
        return en + predicate.rest + end, ja + ja_end
