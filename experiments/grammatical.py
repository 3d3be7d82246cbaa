"""Can the built-in grammar say a sentence?

The grammar only speaks. So a speaker is led through all its choices, one after
another, until it says that sentence or has none left. A choice whose words do
not stand in the sentence is left out, so that few ways remain.
"""

from collections.abc import Sequence
from functools import cache
from typing import Any

from transformer_course.data.grammar import CONSTRUCTIONS, LONGEST
from transformer_course.data.grammar.lexicon import (
    PRONOUNS,
    SEQUELS,
    Adjective,
    Noun,
    Pronoun,
    Verb,
)
from transformer_course.data.grammar.noun_phrases import OWNERS
from transformer_course.data.grammar.predicates import Speaker

SAYS = {
    **{word: (word,) for word in (*OWNERS, "the", "this", "these")},
    **{word: (word,) for word in ("many", "on", "under", "can")},
    **{"a": ("a", "an"), "the plural": ("the",)},
    "future": ("will",),
}
"""English words of which one is said, where a choice is a mere name."""
SUBJECTS = frozenset(pronoun.subject for pronoun in PRONOUNS.values())
"""They are made even where the object is said: i, me."""


class NoWayError(Exception):
    """These choices do not lead to the sentence."""


class LedSpeaker(Speaker):
    """A speaker whose choices are led through, by the words that it may say.

    Args:
        words: of the sentence.
    """

    def __init__(self, words: frozenset[str]):
        super().__init__(0)
        self._words = words
        self._path: list[tuple[int, list]] = []
        """The number of each choice, and what there is to choose from."""

    def say(self) -> tuple[list[str], list[str]]:
        """The sentence of this path; its last choices are the first ones.

        Raises:
            NoWayError: it has words that may not be said.
        """
        self._at, self._trying = 0, False
        self.start()
        en, ja = self.weighted(CONSTRUCTIONS)(self)
        return [word for word, _ in en], [word for word, _ in ja]

    def go_on(self) -> bool:
        """To the next path; False if there is none."""
        while self._path:
            number, options = self._path.pop()
            if number + 1 < len(options):
                self._path.append((number + 1, options))
                return True
        return False

    def start(self) -> None:
        super().start()
        self._met: set[str] = set()

    def pick(self, choices: Sequence) -> Any:
        if self._at == len(self._path):
            options = []
            for choice in choices:
                if choice not in options and self._fits(choice):
                    options.append(choice)
            # where none fits, it may be that nothing is said of the choice
            self._path.append((0, options or [choices[0]]))
        number, options = self._path[self._at]
        self._at += 1
        return options[number]

    def weighted(self, choices: Sequence) -> Any:
        return self.pick([choice for _, choice in choices])

    def chance(self, share: float) -> bool:
        return share > 0 and self.pick((False, True))

    def tie(self, en: str, ja: str):
        if not self._words | SUBJECTS >= set(en.split()):
            raise NoWayError
        return super().tie(en, ja)

    def be(self, *given, **named):
        return self._said(super().be(*given, **named))

    def en_verb(self, *given, **named):
        return self._said(super().en_verb(*given, **named))

    def en_predicate(self, *given):
        return self._said(super().en_predicate(*given))

    def person(self, **named):
        if self._trying and self._tried:
            raise NoWayError  # another try has the same choices
        self._tried = True
        return super().person(**named)

    def other_person(self, subject, adjectives=0.25):
        if subject.noun in self._met:
            raise NoWayError  # likewise: the first one was the speaker's own
        self._met.add(subject.noun)
        self._trying, self._tried = True, False
        other = super().other_person(subject, adjectives)
        self._trying = False
        return other

    def addressed(self, verb):
        self.start()
        subject = self.subject_of(verb)
        if subject.speaker:
            raise NoWayError
        return subject

    def _said(self, parts):
        *words, _ = parts
        if any(word not in self._words for part in words for word, _ in part):
            raise NoWayError
        return parts

    def _fits(self, choice: Any) -> bool:
        if isinstance(choice, Noun):
            forms = choice.en, choice.plural
        elif isinstance(choice, Verb):
            forms = choice.forms
        elif isinstance(choice, Adjective):
            forms = choice.en, choice.comparative
        elif isinstance(choice, Pronoun):
            forms = choice.subject, choice.object
        elif isinstance(choice, list) and choice not in SEQUELS:
            forms = choice[:1]
        elif isinstance(choice, str) and choice in SAYS:
            forms = SAYS[choice]
        else:
            return True
        return any(
            form and self._words.issuperset(form.split()) for form in forms
        )


@cache
def can_say(text: str) -> bool:
    """Whether the grammar can say an English sentence."""
    wanted = text.split()
    speaker = LedSpeaker(frozenset(wanted))
    while True:
        try:
            en, ja = speaker.say()
            if en == wanted and max(len(en), len(ja)) <= LONGEST:
                return True
        except NoWayError:
            pass
        if not speaker.go_on():
            return False
