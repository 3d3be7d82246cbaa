"""The built-in corpus: a small grammar of English and Japanese.

The two languages say the same thing in different orders. English has subject,
verb, object; Japanese has subject, object, verb, and marks each part by a
particle after it (は が を に で へ と). A translator must find what stands
where, drop the articles, and bend verbs: ``did not read`` is 読ま なかっ た.

Since both sentences are made from one meaning, the words that belong together
are known: every pair comes with its *gold alignment*, against which chapter
20 scores attention. What a model has to look for in other words:

- agreement: ``she reads``, ``they read``, ``i am``;
- the sense of ``play`` (弾く する 遊ぶ), ``wear`` (着る かぶる はく) and
  ``old`` (古い 年老い た) from the object or noun;
- ``with`` from the noun: with a pen is ペン で, with emi is エミ と;
- the verb of giving from the recipient: くれる when it is the speaker;
- ``a`` as a subject's article, which turns は into が;
- ``they`` from the antecedent: 彼女 たち for women, 彼ら for others;
- ``because``, whose clause goes in front.

English is in lower case; words and punctuation are separated by spaces. Each
English sentence has one translation, but not the other way round: Japanese
leaves articles, and often number, unsaid.

It has much to say: 400,000 draws give 241,000 different sentences, and every
second draw after that is still new.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from transformer_course.data.corpus import ParallelText, Splits
from transformer_course.data.inflection import (
    Words,
    align,
    conjugate,
    ja_quality,
    words,
)
from transformer_course.data.lexicon import (
    GIVE_TO_ME,
    GIVING,
    INSIDE,
    LIKE,
    NOUN,
    OLDER,
    PLACE_PREPOSITION,
    SAY,
    SEQUELS,
    STATES,
    THINK,
    VERBS,
    WEATHER,
    WEATHER_NOW,
    Adjective,
    Noun,
    Verb,
    nouns,
)
from transformer_course.data.phrases import (
    POSSESSIVES,
    NounPhrase,
    Predicate,
    Speaker,
    adjectives_of,
    asks_object,
    refer,
)
from transformer_course.errors import ConfigError

LONGEST = 18
"""Words a sentence has at the most on either side, its stop included."""
PATIENCE = 200
"""Sentences in a row that may be known already, before giving up."""

Sentence = tuple[Words, Words]


class AlignedPair(NamedTuple):
    """An English sentence, its Japanese translation, and which words match."""

    src: str
    """English, words separated by spaces."""
    tgt: str
    """Japanese, words separated by spaces."""
    alignment: tuple[tuple[int, int], ...]
    """Pairs (place in ``src``, place in ``tgt``) of words that match, from
    0; a word may be in several pairs, or in none, as articles are."""


def grammar_pairs(size: int, seed: int = 0) -> list[AlignedPair]:
    """Distinct sentence pairs with their gold alignments.

    No two have the same English or the same Japanese. A larger ``size`` only
    appends to a smaller one.

    Args:
        size: number of pairs.
        seed: the same seed gives the same pairs, in every version of Python.

    Raises:
        ConfigError: a negative size, or more than the grammar can say.
    """
    if size < 0:
        raise ConfigError(f"size is {size}: it cannot be negative.")
    speaker = Speaker(seed)
    pairs: list[AlignedPair] = []
    known: set[str] = set()
    while len(pairs) < size:
        for _ in range(PATIENCE):
            pair = make_pair(speaker)
            if pair.src not in known and pair.tgt not in known:
                break
        else:
            raise ConfigError(
                f"size is {size:,}, but the grammar has nothing new to say "
                f"after {len(pairs):,} sentences: ask for fewer."
            )
        known.update((pair.src, pair.tgt))
        pairs.append(pair)
    return pairs


def grammar_splits(
    train: int = 20_000, dev: int = 500, test: int = 500, seed: int = 0
) -> tuple[list[AlignedPair], list[AlignedPair], list[AlignedPair]]:
    """Aligned pairs for training, development and testing.

    No sentence of one part stands in another, on either side; dev and test
    stay the same whatever ``train`` is.

    Raises:
        ConfigError: a negative size, or more than the grammar can say.
    """
    if min(train, dev, test) < 0:
        raise ConfigError(
            f"train, dev and test are {train}, {dev} and {test}: none can be "
            "negative."
        )
    pairs = grammar_pairs(test + dev + train, seed)
    return pairs[test + dev :], pairs[test : test + dev], pairs[:test]


def grammar_corpus(
    train: int = 20_000, dev: int = 500, test: int = 500, seed: int = 0
) -> Splits:
    """The pairs of :func:`grammar_splits` as a corpus, English to Japanese.

    Raises:
        ConfigError: a negative size, or more than the grammar can say.
    """
    return Splits(*map(parallel_text, grammar_splits(train, dev, test, seed)))


def parallel_text(pairs: Sequence[AlignedPair]) -> ParallelText:
    """The sentences of aligned pairs, English to Japanese."""
    return ParallelText(
        [pair.src for pair in pairs], [pair.tgt for pair in pairs]
    )


def make_pair(speaker: Speaker) -> AlignedPair:
    """One sentence pair of any construction, not too long."""
    while True:
        speaker.start()
        en, ja = speaker.weighted(CONSTRUCTIONS)(speaker)
        if max(len(en), len(ja)) <= LONGEST:
            return aligned(en, ja)


def aligned(en: Words, ja: Words) -> AlignedPair:
    """Two tagged sentences as text, with the words that match."""
    return AlignedPair(
        " ".join(word for word, _ in en),
        " ".join(word for word, _ in ja),
        align(en, ja),
    )


# Constructions: each makes one sentence, in both languages at once.

PERSON = NOUN["teacher"]
"""Stands for anybody when an adjective is chosen."""
ASKABLE = tuple(
    verb
    for verb in VERBS
    if set(verb.objects.split()) - {"person", "place", "city", "town"}
    and verb.forms[0] not in ("wear", "play", "wait", "live", "see")
)
"""Verbs of which 何 を can be asked, all answers having the same verb."""
BY_PEOPLE = tuple(verb for verb in VERBS if verb.by_people)
PLACED = tuple(v for v in VERBS if v.places or asks_object(v, "where"))
ACTIONS = tuple(v for v in BY_PEOPLE if not v.has("state"))
EFFORTS = tuple(v for v in ACTIONS if v.places or v.goes_out)
"""What the ill and busy leave undone."""
OUTINGS = tuple(v for v in ACTIONS if v.goes_out)
"""What is left undone in bad weather."""


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
    """Whether it is rather in the park than under the table."""
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
    """The verb that goes with ``noun``."""
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


CONSTRUCTIONS: tuple[tuple[float, Callable[[Speaker], Sentence]], ...] = (
    (0.34, statement),
    (0.07, yes_no_question),
    (0.03, who_question),
    (0.03, what_question),
    (0.02, where_question),
    (0.02, when_question),
    (0.09, quality),
    (0.02, profession),
    (0.07, comparison),
    (0.04, existence),
    (0.04, location),
    (0.05, liking),
    (0.06, giving),
    (0.04, because),
    (0.02, contrast),
    (0.03, sequel),
    (0.03, report),
)
"""The share of each construction among the sentences."""
