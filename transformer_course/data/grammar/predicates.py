"""Predicates in both languages at once."""

from typing import NamedTuple

from transformer_course.data.grammar.inflection import (
    Meanings,
    Words,
    conjugate,
    en_be,
    ja_quality,
    te_form,
    words,
)
from transformer_course.data.grammar.lexicon import (
    FREQUENCY,
    NOUN,
    PLACE_PREPOSITION,
    TENSES,
    TIMES,
    VERBS,
    Adjective,
    Verb,
    nouns,
)
from transformer_course.data.grammar.noun_phrases import Namer, NounPhrase

Sentence = tuple[Words, Words]
NOTHING: Words = []
PERSON = NOUN["teacher"]
"""Stands for anybody when an adjective is chosen."""
BY_PEOPLE = tuple(verb for verb in VERBS if verb.by_people)
ACTIONS = tuple(v for v in BY_PEOPLE if not v.has("state"))
ASKED_ADVERBS = {"where": "どこ で", "when": "いつ"}


class Predicate(NamedTuple):
    """A predicate without its subject."""

    auxiliary: Words
    """The finite auxiliary, which a question puts before the subject."""
    negation: Words
    rest: Words
    """English from the main verb on."""
    ja: Words
    """Japanese before the verb."""
    ja_verb: Words
    ja_and: Words = NOTHING
    """The verb in its te-form."""
    front: Words = NOTHING
    """The English question word, in first position."""

    @property
    def en_all(self) -> Words:
        """English of a statement."""
        return self.auxiliary + self.negation + self.rest

    @property
    def ja_all(self) -> Words:
        """Japanese of a statement."""
        return self.ja + self.ja_verb


def asks_object(verb: Verb, asked: str) -> bool:
    """True if a question word replaces the object: what, where to."""
    if asked == "where":
        return verb.forms[0] in ("go", "live")
    return asked == "what"


class Speaker(Namer):
    """Says what people and things are and do.

    Args:
        seed: the same seed makes the same phrases and sentences.
    """

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
