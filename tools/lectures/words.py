"""What code writes for a reader, in one place for each language."""

from typing import NamedTuple


class Words(NamedTuple):
    """The words of an edition."""

    unit: str = "Unit {} · {}"
    read: str = "Read before"
    core: str = "In class"
    more: str = "With 90"
    live: str = "Live"
    live_more: str = "Live, with 90"
    cell: str = "{section}, `{line}`: {own} s, and {above} s above."
    ask: str = "Ask the room"
    ask_more: str = "Ask, with 90"
    after: str = "Afterwards"
    with_90: str = "with 90: {}"
    assignment: str = "Assignment"
    no_assignment: str = "this chapter has none."
    same: str = "that of unit {}."
    also: str = "with 90 also {}"
    rest: str = "after {section} also {name}"
    minutes: str = "{} min"
    lecture: str = "Lecture"
    units: str = "Units"
    length: str = "Minutes"
    besides: str = "Read besides"
    chapter: str = "Chapter"
    rests: str = "Rests on"
    leave: str = "May it be left out?"
    and_: str = "{} and {}"
    question: str = "Guess first"
    notes: str = "Notes"
    opening: str = "Questions on what was read: {}"
    guess: str = (
        "First alone, then with a neighbour, then hands. Show nothing of "
        "what follows."
    )
    answer: str = "Answer: {}"
    unrun: str = (
        "Who is surprised, and by what? Let somebody say in a sentence what "
        "is to be seen."
    )
    run: str = "Run the cell `{line}`: {own} s, after {above} s above. {say}"
    conclude: str = "In full: {}"
    together: str = "Read it together. Who guessed otherwise, and why?"
    numbered: str = "question"
    questions: str = "The questions are those at the end of chapter {}."
    homework: str = "Afterwards"
    credit: str = "From “Building the Transformer”, CC BY 4.0."
    handout: str = "Handout"
    board: str = "Board plan"
    exercises: str = "To be programmed"
    name: str = "Name"
    total: str = "Together {} minutes"
    numbers: str = "The chapter's numbers"
    figures: str = "The figures of the book"
    file: str = "File"
    caption: str = "Caption"
    alt: str = "What is to be seen"
    shown_after: str = "What comes out"
    answer_title: str = "Answer"
    contents: str = "For the class"
    deck: str = "Slides"
    plain: str = "Slides and notes on one page"


WORDS = {"en": Words()}


def words_of(edition: str) -> Words:
    """Those of an edition; English where it has none yet."""
    return WORDS.get(edition, WORDS["en"])
