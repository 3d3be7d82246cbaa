"""Sentences of one clause, each made in both languages at once."""

from collections.abc import Sequence

from transformer_course.data.grammar.inflection import (
    conjugate,
    ja_quality,
    words,
)
from transformer_course.data.grammar.lexicon import (
    GIVE_TO_ME,
    GIVING,
    INSIDE,
    LIKE,
    OLDER,
    PLACE_PREPOSITION,
    VERBS,
    Adjective,
    Noun,
    Verb,
    nouns,
)
from transformer_course.data.grammar.noun_phrases import (
    POSSESSIVES,
    NounPhrase,
    adjectives_of,
)
from transformer_course.data.grammar.predicates import (
    ACTIONS,
    BY_PEOPLE,
    PERSON,
    Predicate,
    Sentence,
    Speaker,
    asks_object,
)

ASKABLE = tuple(
    verb
    for verb in VERBS
    if set(verb.objects.split()) - {"person", "place", "city", "town"}
    and verb.forms[0] not in ("wear", "play", "wait", "live", "see")
)
"""Verbs of which 何 を can be asked, all answers having the same verb."""
PLACED = tuple(v for v in VERBS if v.places or asks_object(v, "where"))


def statement(s: Speaker) -> Sentence:
    """Emi read a book in the library yesterday."""
    verb, negated = s.pick(VERBS), s.chance(0.2)
    tense = s.tense(verb)
    if tense == "present" and not negated and s.chance(0.2):
        return generic(s, verb)
    new = not negated and tense not in ("present", "future", "can")
    subject = s.subject_of(verb, new=new and not verb.has("state"))
    return s.state(subject, s.predicate(verb, subject, tense, negated=negated))


def generic(s: Speaker, verb: Verb) -> Sentence:
    """Cats drink milk."""
    subject = s.common(s.pick(nouns(verb.subjects)), "plural")
    thing = None
    if verb.objects and "person" not in verb.objects:
        thing = s.kind_of(s.pick(nouns(verb.objects)))
    return s.state(
        subject,
        s.predicate(verb, subject, "present", thing=thing, plain=True),
    )


def question(
    s: Speaker, verbs: Sequence[Verb], asked: str, tenses: Sequence[str] = ()
) -> Sentence:
    """A question about anything but the subject, which stays in its place."""
    verb = s.pick(verbs)
    subject = s.addressed(verb)
    tense = s.pick(tenses) if tenses else s.tense(verb)
    return s.ask(subject, s.predicate(verb, subject, tense, asked=asked))


def yes_no_question(s: Speaker) -> Sentence:
    """Did emi read a book?"""
    return question(s, VERBS, "yes")


def what_question(s: Speaker) -> Sentence:
    """What did emi read?"""
    return question(s, ASKABLE, "what")


def where_question(s: Speaker) -> Sentence:
    """Where did emi read the book?"""
    return question(s, PLACED, "where", ("present", "past", "past"))


def when_question(s: Speaker) -> Sentence:
    """When did emi read the book?"""
    return question(s, ACTIONS, "when", ("past", "past", "future"))


def who_question(s: Speaker) -> Sentence:
    """Who read the book? The question word is the subject, with が."""
    verb = s.pick(BY_PEOPLE)
    en, ja = s.tie("who", "誰")
    who = NounPhrase(en, en, ja, "who")
    predicate = s.predicate(verb, who, s.tense(verb))
    end, ja_end = s.tie("?", "の か ？")
    return (
        en + predicate.en_all + end,
        ja + words("が") + predicate.ja_all + ja_end,
    )


def quality(s: Speaker) -> Sentence:
    """The book is not old."""
    mode = s.pick(("plain", "plain", "negated", "question"))
    if mode != "question" and s.chance(0.5):
        subject, noun = s.person(adjectives=0.0), PERSON
    else:
        noun = s.pick(nouns("animal text tool thing shirt vehicle furniture"))
        subject = s.known_thing(noun)
    predicate = s.quality(
        subject,
        s.pick(adjectives_of(noun, ending=True)),
        past=s.chance(0.3),
        negated=mode == "negated",
        question=mode == "question",
    )
    return (s.ask if mode == "question" else s.state)(subject, predicate)


def profession(s: Speaker) -> Sentence:
    """He is a doctor."""
    past, negated = s.chance(0.3), s.chance(0.3)
    subject = s.name() if s.chance(0.5) else s.any_pronoun()
    noun = s.pick(nouns("teacher student doctor friend"))
    whose = s.pick(("my", "your", "his", "her"))
    if subject.plural:
        trade = s.common(noun, "plural")
    else:
        trade = s.common(noun, whose if noun.en == "friend" else "a", 0.2)
    be, not_, m = s.be(subject, past, negated)
    copula = ja_quality("", past, negated, False, m)
    return s.state(
        subject, Predicate(be, not_, trade.object, trade.ja, copula)
    )


def comparison(s: Speaker) -> Sentence:
    """I am wiser than you. Or: i am not as wise as you."""
    subject, other, adjectives = compared(s)
    adjective = s.pick([a for a in adjectives if a.comparative])
    unequal = adjective is not OLDER and s.chance(0.25)
    past = s.chance(0.15)
    return compare(s, subject, other, adjective, past=past, unequal=unequal)


def compare(
    s: Speaker,
    subject: NounPhrase,
    other: NounPhrase,
    adjective: Adjective,
    *,
    past: bool = False,
    unequal: bool = False,
) -> Sentence:
    """That ``subject`` is wiser than ``other``, or not as wise."""
    be, not_, m = s.be(subject, past, unequal)
    if unequal:
        as_, ja_than = s.tie("as", "ほど")
        rest = as_ + words(adjective.en, m.verb) + as_
    else:
        than, ja_than = s.tie("than", "より")
        rest = words(adjective.comparative, m.verb) + than
    ja_verb = ja_quality(adjective.after, past, unequal, False, m)
    ja = other.ja + ja_than
    return s.state(
        subject, Predicate(be, not_, rest + other.object, ja, ja_verb)
    )


def compared(
    s: Speaker,
) -> tuple[NounPhrase, NounPhrase, Sequence[Adjective]]:
    """Two people, animals or things, and adjectives that fit both."""
    if s.chance(0.7):
        subject = s.person(adjectives=0.0)
        other = s.other_person(subject, adjectives=0.0)
        return subject, other, (*adjectives_of(PERSON, ending=True), OLDER)
    noun = s.pick(nouns("animal text vehicle furniture"))
    other_noun = s.another(noun)
    adjectives = adjectives_of(noun, ending=True)
    if noun.kind == "animal" and s.chance(0.3):
        return s.kind_of(noun), s.kind_of(other_noun), adjectives
    one = s.common(noun, s.pick(("the", "this", "my", "his", "our")))
    other = s.common(other_noun, s.pick(("the", "your", "her", "name")))
    return one, other, adjectives


def spot(s: Speaker, *, large: bool) -> Sentence:
    """In the park, 公園 に; under the table, テーブル の 下 に."""
    if large:
        noun = s.pick(nouns("place home"))
        preposition = PLACE_PREPOSITION.get(noun.en, "in")
        return s.preposition(preposition, s.common(noun, "the", 0.1), "に")
    noun = s.pick(nouns("furniture container"))
    preposition = "in" if noun.kind == "container" else s.pick(("on", "under"))
    thing = s.common(noun, s.pick(("the", "the", "this", *POSSESSIVES)), 0.1)
    return s.preposition(preposition, thing, f"の {INSIDE[preposition]} に")


def existence(s: Speaker) -> Sentence:
    """There is a cat under the table. いる for the living, ある for things."""
    living = s.chance(0.6)
    noun = s.pick(nouns("animal person" if living else "text tool thing"))
    past, negated = s.chance(0.35), s.chance(0.2)
    determiner = "" if negated else s.pick(("a", "a", "number", "many"))
    being = s.common(noun, determiner, 0.2)
    be, none, m = s.be(being, past, negated, "no")
    where, ja_where = spot(s, large=is_large(s, noun))
    end, ja_end = s.tie(".", "。")
    ja = being.ja + words("は" if negated else "が")
    ja_verb = conjugate(ja_be(noun), past, negated, m._replace(verb=m.aspect))
    return (
        words("there") + be + none + being.object + where + end,
        ja_where + ja + ja_verb + ja_end,
    )


def is_large(s: Speaker, noun: Noun) -> bool:
    """True for in the park rather than under the table."""
    return noun.kind == "person" or (noun.kind == "animal" and s.chance(0.5))


def ja_be(noun: Noun) -> str:
    """To be somewhere, in Japanese."""
    return "いる" if noun.kind in ("person", "animal") else "ある"


def location(s: Speaker) -> Sentence:
    """The cat is under the table. Or: where is the cat?"""
    past, negated = s.chance(0.35), s.chance(0.2)
    noun = s.pick((PERSON, *nouns("animal text tool thing")))
    subject = s.person() if noun is PERSON else s.known_thing(noun)
    be, not_, m = s.be(subject, past, negated)
    ja_verb = conjugate(ja_be(noun), past, negated, m._replace(verb=m.aspect))
    if not negated and not subject.speaker and s.chance(0.3):
        where, ja_where = s.tie("where", "どこ に")
        predicate = Predicate(be, [], [], ja_where, ja_verb, front=where)
        return s.ask(subject, predicate)
    where, ja_where = spot(s, large=is_large(s, noun))
    return s.state(subject, Predicate(be, not_, where, ja_where, ja_verb))


def liking(s: Speaker) -> Sentence:
    """Emi likes cats. What is liked has が, and 好き takes the copula."""
    past, mode = s.chance(0.25), s.pick(("plain", "plain", "no", "question"))
    negated, asked = mode == "no", mode == "question"
    subject = s.addressed(LIKE) if asked else s.person()
    if s.chance(0.3):
        thing = s.other_person(subject)
    else:
        kinds = "animal food prey drink plain_drink sport science city flower"
        thing = s.kind_of(s.pick(nouns(kinds)))
    auxiliary, not_, main, m = s.en_verb(LIKE, subject, past, negated, asked)
    predicate = Predicate(
        auxiliary,
        not_,
        main + thing.object,
        thing.ja + words("が"),
        ja_quality(LIKE.ja, past, negated, asked, m),
    )
    return (s.ask if asked else s.state)(subject, predicate)


def giving(s: Speaker) -> Sentence:
    """Emi gave me a book. The speaker's receiving has its own verb, くれる."""
    verb = s.pick(GIVING)
    tense = s.pick(("past", "past", "past", "present", "future"))
    mode = s.pick(("plain", "plain", "plain", "no", "question"))
    subject = s.addressed(verb) if mode == "question" else s.person()
    recipient = s.other_person(subject)
    while recipient.ours:
        recipient = s.other_person(subject)
    if verb.forms[0] == "give" and recipient.speaker:
        verb = GIVE_TO_ME
    predicate = s.predicate(
        verb,
        subject,
        tense,
        negated=mode == "no",
        asked="yes" if mode == "question" else "",
        recipient=recipient,
    )
    return (s.ask if mode == "question" else s.state)(subject, predicate)
