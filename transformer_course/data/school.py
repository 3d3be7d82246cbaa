"""The corpus of chapter 23: worksheets, facts, sums and little stories.

A program writes them (MIT), with the words of ``school.toml``. A worksheet
asks and does not answer: its next line is another question. Answers stand
elsewhere: among the facts, the sums, or in a lesson, where a teacher asks and
a child answers. Of each kind of fact every fourth is held out: it is stated
and asked, but no text has its answer behind its question.

As in the course's other grammar, words and punctuation stand apart by spaces,
and are in lower case; so do digits. A stroke ends a line.
"""

import re
import tomllib
from functools import cache
from importlib.resources import files

from transformer_course.data.grammar.draws import Draws
from transformer_course.data.instructions import Instruction
from transformer_course.data.text import ParallelText, Splits
from transformer_course.errors import ConfigError

LENGTH = 60
"""Most words of a text."""
END = " / "
"""What stands between two lines."""
PATIENCE = 50
"""Draws for each question, before giving up."""
NUMBERS = {2: "two", 3: "three"}
"""How many things a worksheet asks for."""


def spaced(text: str) -> str:
    """Plain text in the corpus's form: words, signs and digits apart."""
    return " ".join(re.findall(r"\d|[a-z]+|\S", text.lower()))


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
        m, n = draws.pick(range(1, 70)), draws.pick(range(1, 10))
        if held_out is None or held_out == ((m + n) % 4 == 3):
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


# --- the texts ---------------------------------------------------------------


def _worksheet(draws: Draws) -> str:
    return question(draws).prompt


def _statement(draws: Draws) -> str:
    if draws.chance(0.2):
        name, things = draws.pick(list(_words()["lists"].items()))
        first, second, third = _several(draws, things, 3)
        return f"{name}: {first}, {second}, {third}."
    _, wordings, a, b = draws.pick(_facts(None))
    return draws.pick(wordings["statements"]).format(a=a, b=b)


def _sum(draws: Draws) -> str:
    m, n = _summands(draws, None)
    return f"{m} + {n} = {m + n}"


def _lesson(draws: Draws) -> str:
    one = question(draws, held_out=False)
    name = draws.pick(_words()["stories"]["name"])
    return f"Teacher: {one.prompt} {name}: {one.answer}."


def _story(draws: Draws) -> str:
    words = _words()["stories"]
    filled = {key: draws.pick(words[key]) for key in words}
    filled["name"], filled["friend"] = _several(draws, words["name"], 2)
    filled["number"] = draws.pick(range(10, 1000))
    m, n = _summands(draws, None)
    filled |= {"m": m, "n": n, "sum": m + n}
    chosen = _several(draws, words["sentences"], 4)
    return " ".join(sentence.format(**filled) for sentence in chosen)


KINDS = (
    (0.25, _worksheet),
    (0.2, _statement),
    (0.2, _sum),
    (0.1, _lesson),
    (0.25, _story),
)
"""What a line of a text is, each with its share of the texts."""


def school_text(draws: Draws) -> str:
    """Lines of one kind."""
    line = draws.weighted(KINDS)
    found = spaced(line(draws))
    while True:
        longer = found + END + spaced(line(draws))
        if len(longer.split()) > LENGTH:
            return found
        found = longer


def school_texts(
    train: int = 20_000, dev: int = 200, test: int = 200, seed: int = 0
) -> Splits:
    """Texts as targets; every source is empty."""
    parts = []
    for i, size in enumerate((test, dev, train)):
        draws = Draws(3 * seed + i)
        texts = [school_text(draws) for _ in range(size)]
        parts.append(ParallelText([""] * size, texts))
    return Splits(*reversed(parts))
