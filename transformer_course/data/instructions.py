"""Short instructions whose answers a program can check (chapter 23).

They are in the spirit of IFEval (Zhou et al. 2023), and made by this program
(MIT): a kind of instruction, one of its wordings, and words to fill it with.
Wordings and words of the held-out prompts are in no training prompt.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

from transformer_course.checks import require
from transformer_course.data.grammar.draws import Draws

NOUNS = (
    "dog cat horse bird fish tree river table lamp chair boat garden house "
    "street mountain forest teacher doctor farmer baker letter picture song "
    "window bridge carpet bottle basket kettle pillow ladder hammer coat hat "
    "shoe shirt train bus car plane road wall door roof floor room school "
    "church market shop farm field lake beach cloud storm star moon book "
    "clock cup plate spoon knife soup cake pie cheese king queen child nurse "
    "painter singer sailor soldier poet cow sheep goat lion bear wolf fox "
    "duck frog snake mouse bee garage tower castle tent candle"
).split()
ADJECTIVES = (
    "small big old new quiet bright heavy pretty simple strong clean warm"
).split()
ENDS = "today here again yesterday there outside now alone together".split()
LISTS = {
    "animals": "dog cat horse cow sheep lion",
    "colours": "red green blue yellow white black",
    "fruits": "apple pear banana orange plum cherry",
    "cities": "Paris London Tokyo Rome Berlin Madrid",
    "countries": "France Japan Italy Spain Kenya Brazil",
    "drinks": "water tea coffee milk juice lemonade",
    "sports": "tennis football rugby golf hockey cricket",
    "tools": "hammer saw drill knife ladder spade",
    "planets": "Mars Venus Earth Saturn Jupiter Mercury",
    "rivers": "Nile Thames Danube Amazon Rhine Ganges",
    "metals": "iron gold silver copper zinc lead",
    "days": "Monday Tuesday Wednesday Thursday Friday Sunday",
    "vegetables": "carrot potato onion cabbage pea leek",
    "birds": "eagle robin crow sparrow swan duck",
    "flowers": "rose tulip lily daisy poppy violet",
    "instruments": "piano violin flute drum guitar trumpet",
}
HELD_OUT_SHARE = 0.25
"""Of each list of words, the last ones, which only held-out prompts use."""


class Instruction(NamedTuple):
    """A prompt, an answer that is right, and a check of any answer."""

    kind: str
    prompt: str
    answer: str
    is_right: Callable[[str], bool]


@dataclass(frozen=True)
class Kind:
    """A kind of instruction."""

    wordings: tuple[str, ...]
    """With names in braces; the last two are kept for held-out prompts."""
    fill: Callable[["Words"], dict]
    """Draws what the braces hold, the ``answer``, and perhaps ``check``."""


class Words:
    """Draws words for the training prompts, or for the held-out ones.

    Args:
        seed: the same seed gives the same words.
        held_out: for which of them.
    """

    def __init__(self, seed: int, held_out: bool):
        self._draws, self.held_out = Draws(seed), held_out

    def pick(self, choices) -> str:
        """One of the choices that are there for these prompts."""
        kept = len(choices) - round(HELD_OUT_SHARE * len(choices))
        mine = choices[kept:] if self.held_out else choices[:kept]
        return self._draws.pick(mine)

    def number(self, least: int, most: int) -> int:
        """A number, both ends included."""
        return self._draws.pick(range(least, most + 1))

    def several(self, choices: list[str], n: int) -> list[str]:
        """So many different ones, in any order."""
        rest = list(choices)
        return [rest.pop(self.number(0, len(rest) - 1)) for _ in range(n)]


def _bare(answer: str) -> str:
    """An answer without spaces, full stops and quotation marks around it."""
    return answer.strip().strip(" .!\"'")


def _capitals(words: Words) -> dict:
    noun = words.pick(NOUNS)
    return {"noun": noun, "answer": noun.upper()}


def _count(words: Words) -> dict:
    n, noun = words.number(2, 4), words.pick(NOUNS)
    adjectives = words.several(ADJECTIVES, 2)
    answers = {
        2: f"{adjectives[0]} {noun}",
        3: f"A {adjectives[0]} {noun}",
        4: f"A {adjectives[0]}, {adjectives[1]} {noun}",
    }
    return {
        "n": {2: "two", 3: "three", 4: "four"}[n],
        "noun": noun,
        "answer": answers[n],
        "check": lambda answer: len(answer.split()) == n,
    }


def _end(words: Words) -> dict:
    noun, word = words.pick(NOUNS), words.pick(ENDS)

    def check(answer: str) -> bool:
        found = re.findall(r"\w+", answer)
        return len(found) > 2 and found[-1].lower() == word

    answer = f"I saw a {noun} {word}."
    return {"noun": noun, "word": word, "answer": answer, "check": check}


def _list(words: Words) -> dict:
    things, n = words.pick(tuple(LISTS)), words.number(2, 6)

    def check(answer: str) -> bool:
        items = [_bare(item) for item in answer.split(",")]
        short = all(0 < len(item.split()) < 3 for item in items)
        return short and len(items) == len({*items}) == n

    answer = ", ".join(words.several(LISTS[things].split(), n))
    return {"n": n, "things": things, "answer": answer, "check": check}


def _sum(words: Words) -> dict:
    while True:
        a, b = words.number(2, 20), words.number(2, 20)
        if ((a * b) % 4 == 0) == words.held_out:
            return {"a": a, "b": b, "answer": str(a + b)}


def _repeat(words: Words) -> dict:
    noun, n = words.pick(NOUNS), words.number(2, 4)
    return {"noun": noun, "n": n, "answer": " ".join([noun] * n)}


KINDS = {
    "capitals": Kind(
        (
            "Write the word {noun} in capital letters.",
            "Spell {noun} in upper case, and nothing else.",
            "Put this word into capitals: {noun}",
            "What is {noun} in upper case? Only the word.",
        ),
        _capitals,
    ),
    "count": Kind(
        (
            "Describe a {noun} in exactly {n} words.",
            "Use exactly {n} words to say what a {noun} is like.",
            "What is a {noun} like? Answer in {n} words.",
            "In {n} words, please: what is a {noun} like?",
        ),
        _count,
    ),
    "end": Kind(
        (
            "Write a sentence about a {noun} that ends with the word {word}.",
            "Write about a {noun} and make {word} the last word.",
            "The last word must be {word}. Say something about a {noun}.",
            "Let a sentence about a {noun} close with the word {word}.",
        ),
        _end,
    ),
    "list": Kind(
        (
            "Name {n} {things}, separated by commas.",
            "List {n} {things} on one line, with commas.",
            "Give me {n} {things}. Put commas between them.",
            "Which {things} come to mind? Just {n}, with commas.",
        ),
        _list,
    ),
    "number": Kind(
        (
            "What is {a} plus {b}? Give only the number.",
            "Add {a} and {b}. Answer with a number and nothing else.",
            "{a} + {b} = ? Just the number.",
            "How much is {a} and {b} together? The number alone.",
        ),
        _sum,
    ),
    "repeat": Kind(
        (
            "Write the word {noun} {n} times, with spaces between.",
            "Repeat {noun} until it stands there {n} times.",
            "Say {noun} {n} times.",
            "I want to read {noun} {n} times in a row.",
        ),
        _repeat,
    ),
}


def instructions(
    seed: int, count: int, held_out: bool = False
) -> list[Instruction]:
    """So many different instructions, of all kinds alike.

    Args:
        seed: the same seed gives the same ones.
        count: how many.
        held_out: with the wordings and words that training does not use.

    Raises:
        ConfigError: there are not so many.
    """
    words, found, tries = Words(seed, held_out), {}, 0
    while len(found) < count:
        tries += 1
        require(
            tries < 100 * count,
            f"count is {count}: there are not so many different instructions "
            "of each kind; ask for fewer.",
        )
        name = list(KINDS)[len(found) % len(KINDS)]
        kind = KINDS[name]
        wordings = kind.wordings[-2:] if held_out else kind.wordings[:-2]
        wording = wordings[words.number(0, len(wordings) - 1)]
        filled = kind.fill(words)
        prompt, answer = wording.format(**filled), filled["answer"]
        check = filled.get("check", _equals(answer))
        found.setdefault(prompt, Instruction(name, prompt, answer, check))
    return list(found.values())


def _equals(wanted: str) -> Callable[[str], bool]:
    return lambda answer: _bare(answer) == _bare(wanted)
