"""The corpus of chapter 23: worksheets, facts, numbers and little stories.

A program writes them (MIT), with the words of ``school.toml``. A worksheet
asks and does not answer: its next line is another question. Answers stand
elsewhere: among the facts, the sums, or in a lesson, where a teacher asks and
a child answers. Of each kind of fact every fourth is held out: it is stated
and asked, but no text has its answer behind its question.

As in the course's other grammar, words and punctuation stand apart by spaces,
and are in lower case; a number is one word. A stroke ends a line.
"""

import re
import tomllib
from functools import cache
from importlib.resources import files
from typing import NamedTuple

from transformer_course.data.grammar.draws import Draws
from transformer_course.data.instructions import Instruction
from transformer_course.data.text import ParallelText, Splits
from transformer_course.errors import ConfigError

LENGTH = 80
"""Most words of a text."""
END = " / "
"""What stands between two lines."""
PATIENCE = 50
"""Draws for each question, before giving up."""
NUMBERS = {2: "two", 3: "three"}
"""How many things a worksheet asks for."""


def spaced(text: str) -> str:
    """Plain text in the corpus's form: words, signs and numbers apart."""
    return " ".join(re.findall(r"\d+|[a-z]+|\S", text.lower()))


@cache
def _words() -> dict[str, dict]:
    """The tables of school.toml, each list of words cut up."""
    file = files("transformer_course.data").joinpath("school.toml")
    words = tomllib.loads(file.read_text("utf-8"))
    for table in (words["lists"], words["stories"]):
        for name, text in table.items():
            table[name] = text.split() if isinstance(text, str) else text
    return words


@cache
def _facts(held_out: bool | None) -> list[tuple[str, dict, str, str]]:
    """Kind, wordings, what is asked and the answer; None takes all."""
    found = []
    for kind, wordings in _words()["facts"].items():
        for i, pair in enumerate(wordings["pairs"].split()):
            if held_out is None or held_out == (i % 4 == 3):
                a, b = pair.replace("_", " ").split("=")
                found.append((kind, wordings, a, b))
    return found


def question(draws: Draws, held_out: bool | None = None) -> Instruction:
    """One question, with its answer and a check of any other.

    Args:
        draws: what is random.
        held_out: whether its answer stands behind it nowhere; None for both.
    """
    which = draws.weighted([(0.2, "sum"), (0.2, "list"), (0.6, "fact")])
    if which == "fact":
        kind, wordings, a, b = draws.pick(_facts(held_out))
        prompt, answer = wordings["question"].format(a=a), b
    elif which == "sum":
        m, n = _summands(draws, held_out)
        kind, prompt, answer = "sum", f"What is {m} + {n}?", str(m + n)
    else:
        return _list(draws, held_out)
    prompt, answer = spaced(prompt), spaced(answer)
    return Instruction(kind, prompt, answer, lambda text: text == answer)


def _summands(draws: Draws, held_out: bool | None) -> tuple[int, int]:
    while True:
        m, n = draws.pick(range(1, 50)), draws.pick(range(1, 10))
        if held_out is None or held_out == ((7 * m + 3 * n) % 4 == 3):
            return m, n


def _list(draws: Draws, held_out: bool | None) -> Instruction:
    lists = list(_words()["lists"].items())
    if held_out is not None:
        lists = (
            lists[3::4]
            if held_out
            else [one for i, one in enumerate(lists) if i % 4 != 3]
        )
    name, things = draws.pick(lists)
    n = draws.pick(list(NUMBERS))

    known = [spaced(thing) for thing in things]

    def is_right(answer: str) -> bool:
        items = answer.split(" , ")
        return len({*items}) == len(items) == n and {*items} <= {*known}

    answer = " , ".join(_several(draws, known, n))
    prompt = spaced(f"Name {NUMBERS[n]} {name}.")
    return Instruction("list", prompt, answer, is_right)


def _several(draws: Draws, choices: list[str], n: int) -> list[str]:
    rest = list(choices)
    return [rest.pop(draws.pick(range(len(rest)))) for _ in range(n)]


def questions(
    seed: int, count: int, held_out: bool = False
) -> list[Instruction]:
    """So many different questions, the same for a seed.

    Raises:
        ConfigError: there are not so many.
    """
    draws, found = Draws(seed), {}
    for _ in range(PATIENCE * count):
        if len(found) == count:
            return list(found.values())
        one = question(draws, held_out)
        found.setdefault(one.prompt, one)
    raise ConfigError(
        f"there are not so many questions: {len(found)} of {count} were "
        "found. Ask for fewer."
    )


class Sum(NamedTuple):
    """A sum, as text."""

    prompt: str
    steps: str
    """Equal sums, each with one more and one less; the last is the answer."""
    answer: str


def count_on(draws: Draws, n: int, held_out: bool = False) -> Sum:
    """A number of three digits plus n, which is at most nine, by counting.

    Every fifth is held out.
    """
    m = 0
    while not m or held_out != ((m + 2 * n) % 5 == 0):
        m = draws.pick(range(100, 490))
    sums = [f"{m + i} + {n - i}" for i in range(n)]
    steps = " = ".join([*sums, str(m + n)])
    return Sum(f"what is {m} + {n} ?", steps, str(m + n))


def steps_hold(text: str) -> bool:
    """Whether there are steps, and all of them are equal."""
    sums = text.split(" = ")
    found = {sum(map(int, re.findall(r"\d+", one))) for one in sums}
    return len(sums) > 1 and len(found) == 1


class BigSum(NamedTuple):
    """A sum for a calculator, as text."""

    prompt: str
    call: str
    answer: str


def big_sum(draws: Draws, held_out: bool = False) -> BigSum:
    """A sum of two numbers of three digits; every fifth is held out."""
    m = n = 0
    while not m or held_out != ((m + 2 * n) % 5 == 0):
        m, n = (draws.pick(range(100, 500)) for _ in range(2))
    return BigSum(f"what is {m} + {n} ?", f"call {m} + {n}", str(m + n))


def calculate(call: str) -> str | None:
    """What the calculator returns to a call, and None to any other text."""
    found = re.fullmatch(r"call (\d+) \+ (\d+)", call)
    return str(int(found[1]) + int(found[2])) if found else None


# --- the texts ---------------------------------------------------------------


def _worksheet(draws: Draws) -> str:
    return question(draws).prompt


def _statement(draws: Draws) -> str:
    if draws.chance(0.2):
        name, things = draws.pick(list(_words()["lists"].items()))
        n = draws.pick(list(NUMBERS))
        return f"{NUMBERS[n]} {name}: {', '.join(_several(draws, things, n))}."
    _, wordings, a, b = draws.pick(_facts(None))
    return draws.pick(wordings["statements"]).format(a=a, b=b)


def _sum(draws: Draws) -> str:
    m, n = _summands(draws, None)
    wordings = ("{} + {} = {}", "{} + {} make {}.", "sum of {} + {}: {}.")
    return draws.pick(wordings).format(m, n, m + n)


def _lesson(draws: Draws) -> str:
    one = question(draws, held_out=False)
    name = draws.pick(_words()["stories"]["name"])
    return f"Teacher: {one.prompt} {name}: {one.answer}."


def _pair(draws: Draws) -> list[str]:
    return _several(draws, _words()["stories"]["name"], 2)


def _dictation(draws: Draws) -> str:
    name, friend = _pair(draws)
    read = " ".join(str(draws.pick(range(1, 1000))) for _ in range(3))
    return _words()["numbers"]["dictations"][0].format(name, friend, read)


def _count(draws: Draws) -> str:
    back = draws.chance(0.2)
    first = draws.pick(range(0, 6) if back else range(1, 490))
    numbers = [str(first + i) for i in range(10)]
    return " ".join(reversed(numbers) if back else numbers)


def _calculator(draws: Draws) -> str:
    name, friend = _pair(draws)
    return _called(draws, name, friend, _words()["numbers"]["calls"][0])


def _called(draws: Draws, name: str, friend: str, wording: str) -> str:
    _, call, answer = big_sum(draws)
    typed = call.removeprefix("call ")
    return wording.format(name, friend, typed, answer)


def _later_dictation(draws: Draws) -> str:
    count = draws.pick((2, 3, 4))
    read = " ".join(str(draws.pick(range(1, 1000))) for _ in range(count))
    wording = draws.pick(_words()["numbers"]["dictations"])
    return wording.format(*_pair(draws), read)


def _later_calculator(draws: Draws) -> str:
    wording = draws.pick(_words()["numbers"]["calls"])
    return _called(draws, *_pair(draws), wording)


def _counted(draws: Draws) -> str:
    return _small_sum(draws, steps=True)


def _told(draws: Draws) -> str:
    return _small_sum(draws, steps=False)


def _small_sum(draws: Draws, steps: bool) -> str:
    name, friend = _pair(draws)
    one = count_on(draws, draws.pick(range(1, 10)))
    asked, written = one.prompt[8:-2], one.steps if steps else one.answer
    return f"{name} asks for {asked}. {friend} writes: {written}."


def _story(draws: Draws) -> str:
    words = _words()["stories"]
    filled = {key: draws.pick(words[key]) for key in words}
    filled["name"], filled["friend"] = _pair(draws)
    filled["number"] = draws.pick(range(10, 1000))
    m, n = _summands(draws, None)
    filled |= {"m": m, "n": n, "sum": m + n}
    chosen = _several(draws, words["sentences"], 4)
    return " ".join(sentence.format(**filled) for sentence in chosen)


KINDS = (
    (0.17, _worksheet),
    (0.26, _statement),
    (0.18, _sum),
    (0.04, _lesson),
    (0.06, _count),
    (0.12, _dictation),
    (0.1, _calculator),
    (0.07, _story),
)
"""What a line of a text is, each with its share of the texts."""
LATER = (
    (0.13, _worksheet),
    (0.2, _statement),
    (0.14, _sum),
    (0.03, _lesson),
    (0.03, _count),
    (0.15, _later_dictation),
    (0.13, _later_calculator),
    (0.07, _counted),
    (0.07, _told),
    (0.05, _story),
)
"""The same for the texts that are read last."""


def school_text(draws: Draws, kinds: tuple = KINDS) -> str:
    """Lines of one kind."""
    line = draws.weighted(kinds)
    found = spaced(line(draws))
    while True:
        longer = found + END + spaced(line(draws))
        if len(longer.split()) > LENGTH:
            return found
        found = longer


def school_texts(
    train: int = 32_000,
    dev: int = 200,
    test: int = 200,
    seed: int = 0,
    kinds: tuple = KINDS,
) -> Splits:
    """Texts as targets; every source is empty."""
    parts = []
    for i, size in enumerate((test, dev, train)):
        draws = Draws(3 * seed + i)
        texts = [school_text(draws, kinds) for _ in range(size)]
        parts.append(ParallelText([""] * size, texts))
    return Splits(*reversed(parts))


def later_texts() -> Splits:
    """What ``school-lm`` reads last: numbers are repeated in more ways, and a
    small one is added to a large one, at once or by counting on."""
    return school_texts(train=14_000, seed=1, kinds=LATER)
