"""Sentences of two clauses: because, but, and, that."""

from transformer_course.data.grammar.inflection import words
from transformer_course.data.grammar.lexicon import (
    SAY,
    SEQUELS,
    STATES,
    THINK,
    VERBS,
    WEATHER,
    WEATHER_NOW,
    Noun,
    Verb,
    nouns,
)
from transformer_course.data.grammar.noun_phrases import (
    NounPhrase,
    adjectives_of,
    refer,
)
from transformer_course.data.grammar.predicates import (
    ACTIONS,
    PERSON,
    Predicate,
    Sentence,
    Speaker,
)

EFFORTS = tuple(v for v in ACTIONS if v.places or v.goes_out)
"""Activities that ill or busy people leave undone."""
OUTINGS = tuple(v for v in ACTIONS if v.goes_out)
"""Activities left undone in bad weather."""


def because(s: Speaker) -> Sentence:
    """Emi did not go to school because it rained. Japanese: cause first."""
    past = s.chance(0.7)
    if s.chance(0.5):
        verb, subject = s.pick(EFFORTS), s.someone_known()
        state = s.quality(subject, s.pick(STATES), past=past)
        # Japanese leaves out the pronoun.
        cause = words(refer(subject).subject) + state.en_all
        ja_cause = state.ja_all
    else:
        verb, subject = s.pick(OUTINGS), s.person()
        cause, ja_cause = s.tie(*s.pick(WEATHER if past else WEATHER_NOW))
        cause = words("it") + cause
    tense = "past" if past else "future"
    predicate = s.predicate(verb, subject, tense, negated=True)
    en, ja = s.state(subject, predicate)
    why, ja_why = s.tie("because", "から 、")
    return en[:-1] + why + cause + en[-1:], ja_cause + ja_why + ja


def contrast(s: Speaker) -> Sentence:
    """The girls are young, but they are not busy. Who are they?"""
    subject = s.someone_known()
    pronoun = s.pronoun(refer(subject))
    choices = adjectives_of(PERSON, ending=True)
    first = s.pick(choices)
    second = s.pick([a for a in choices if a is not first])
    past, negated = s.chance(0.3), s.chance(0.5)
    one = s.quality(subject, first, past=past, negated=negated)
    other = s.quality(pronoun, second, past=past, negated=not negated)
    return with_but(s, subject, one, pronoun, other)


def with_but(
    s: Speaker,
    subject: NounPhrase,
    one: Predicate,
    pronoun: NounPhrase,
    other: Predicate,
) -> Sentence:
    """Two statements with but between them."""
    comma, ja_comma = s.tie(",", "、")
    but, ja_but = s.tie("but", "が")
    en, ja = s.state(pronoun, other)
    return (
        subject.subject + one.en_all + comma + but + en,
        subject.ja + words("は") + one.ja_all + ja_but + ja_comma + ja,
    )


def sequel(s: Speaker) -> Sentence:
    """Emi bought a book and read it. Or: but she did not read it."""
    first, second, name = s.pick(SEQUELS)
    noun, subject = s.pick(nouns(name)), s.someone_known()
    thing = s.thing(noun, subject)
    pronouns = ("them", "それら") if thing.plural else ("it", "それ")
    it, ja_it = s.tie(*pronouns)
    again = NounPhrase(it, it, ja_it)
    one = s.predicate(
        verb_for(first, noun), subject, "past", thing=thing, plain=True
    )
    negated = s.chance(0.5)
    after = s.pronoun(refer(subject)) if negated else subject
    other = s.predicate(
        verb_for(second, noun),
        after,
        "past",
        negated=negated,
        thing=again,
        plain=True,
    )
    if negated:
        return with_but(s, subject, one, after, other)
    and_, ja_and = s.tie("and", "、")
    return s.state(
        subject,
        one._replace(
            rest=one.rest + and_ + other.en_all,
            ja=one.ja + one.ja_and + ja_and + other.ja,
            ja_verb=other.ja_verb,
        ),
    )


def verb_for(english: str, noun: Noun) -> Verb:
    """Verb used with ``noun``."""
    return next(
        verb
        for verb in VERBS
        if verb.forms[0] == english
        and {noun.en, noun.kind} & set(verb.objects.split())
    )


def report(s: Speaker) -> Sentence:
    """Emi thinks that ken is wise: a clause inside, its subject with が."""
    subject = s.person(adjectives=0.0)
    inner = s.other_person(subject)
    if s.chance(0.5):
        adjective = s.pick(adjectives_of(PERSON, ending=True))
        clause = s.quality(inner, adjective, negated=s.chance(0.2))
    else:
        verb = s.pick(ACTIONS)
        tense = s.pick(("past", "future"))
        clause = s.predicate(verb, inner, tense, plain=True)
    verb = THINK if subject.speaker else s.pick((THINK, SAY))
    verb = verb if subject.speaker else verb._replace(traits="state")
    said = s.predicate(verb, subject, "present", plain=True)
    that, ja_that = s.tie("that", "と")
    return s.state(
        subject,
        said._replace(
            rest=said.rest + that + inner.subject + clause.en_all,
            ja=inner.ja + words("が") + clause.ja_all + ja_that,
        ),
    )
