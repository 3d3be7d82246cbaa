"""BERT's masking of tokens."""

import torch
from jaxtyping import Float, Int
from torch import Tensor

from course_exercises.engine.draw import Draw
from course_exercises.engine.exercise import Case, case, exercise_of, other


def mask_tokens(
    words: Int[Tensor, "batch length"],
    chance: Float[Tensor, "batch length"],
    fate: Float[Tensor, "batch length"],
    drawn: Int[Tensor, "batch length"],
) -> tuple[Int[Tensor, "batch length"], Int[Tensor, "batch length"]]:
    """Hide words as BERT does, and say what is asked for.

    The ids are pad 0, [CLS] 1, [SEP] 2, unknown 3 and [MASK] 4; all from 5
    on are words. What is drawn at random is given, one number for each token.

    Args:
        words: the rows as they are; they hold no [MASK], and stay unchanged.
        chance: from 0 to 1. A word is *chosen* where this is below 0.15; the
            ids below 5 are never chosen.
        fate: from 0 to 1. A chosen word becomes [MASK] where this is below
            0.8, and another word where it is from 0.8 to below 0.9. From 0.9
            on it stays as it is.
        drawn: the other word for each position.

    Returns:
        The rows that the model reads, and the right answers: the word at each
        chosen position, and -100 at all others, which no loss counts. Both
        have the dtype of ``words``.
    """
    ### BEGIN SOLUTION
    ordinary = words >= 5
    chosen = (chance < 0.15) & ordinary
    masked = chosen & (fate < 0.8)
    swapped = chosen & (fate >= 0.8) & (fate < 0.9)
    hidden = words.masked_fill(masked, 4)
    hidden = torch.where(swapped, drawn, hidden)
    answers = words.masked_fill(~chosen, -100)
    return hidden, answers
    ### END SOLUTION


@other
def masking_by_loop(words, chance, fate, drawn):
    hidden, answers = words.clone(), torch.full_like(words, -100)
    for row in range(words.size(0)):
        for place in range(words.size(1)):
            if words[row, place] < 5 or chance[row, place] >= 0.15:
                continue
            answers[row, place] = words[row, place]
            if fate[row, place] < 0.8:
                hidden[row, place] = 4
            elif fate[row, place] < 0.9:
                hidden[row, place] = drawn[row, place]
    return hidden, answers


@other
def masking_by_places(words, chance, fate, drawn):
    chosen = (words > 4).logical_and(chance < 0.15)
    replaced = torch.where(fate < 0.8, 4, drawn)
    replaced = torch.where(fate < 0.9, replaced, words)
    return (
        torch.where(chosen, replaced, words),
        torch.where(chosen, words, -100),
    )


EDITS = """
# special_tokens_chosen
- ordinary = words >= 5 -> ordinary = words >= 0
You hide [CLS], [SEP] and padding as if they were words.

There is nothing to guess: their positions are always the same. And if [SEP] is
hidden, nothing marks where a text ends.

# padding_chosen
- ordinary = words >= 5 -> ordinary = (words >= 5) | (words == 0)
You hide padding, too.

Padding is no text. In a short row most of the loss would come from it.

# signs_chosen
- ordinary = words >= 5 -> ordinary = words > 0
You leave padding alone, but hide [CLS] and [SEP].

They are at the same positions in each row, so there is nothing to guess.

# smallest_id_left_out
- words >= 5 -> words > 5
You take id 5 for a special token, and never choose it.

The ids *below* 5 are special tokens. From 5 on all are words.

# loss_on_all_places
- .masked_fill(~chosen, -100) -> .clone()
You ask for every token.

Most of them are visible in the row, so the loss is nearly all copying. The
loss is on chosen positions only.

# loss_on_all_words
- ~chosen -> ~ordinary
You ask for every word, not only for the chosen ones.

85 % of the words are visible in the row: copying them is enough. The loss is
on chosen positions only.

# loss_on_the_others
- ~chosen -> chosen
You ask for the words that were not chosen.

Those are visible in the row. The chosen ones have to be predicted.

# kept_words_not_asked
- ~chosen -> ~(masked | swapped)
You do not ask for the chosen words that stay as they are.

They are asked for like the others. If only changed places were asked for, a
word that looks right would never have to be doubted, or even understood.

# only_masked_asked
- ~chosen -> ~masked
You ask only for the words that became [MASK].

The words that were swapped or kept were chosen too. Without them the model
would learn to look only at [MASK], which occurs in no text that it is used on.

# answers_as_they_stand_now
- answers = words -> answers = hidden
Your answers are what the row holds after the change.

So the right answer at [MASK] would be [MASK]. Ask for the word that was there.

# all_chosen_masked
- masked = chosen & (fate < 0.8) -> masked = chosen
- & (fate < 0.9) -> & (fate < 0.8)
You turn every chosen word into [MASK].

Of the chosen words 10 % are swapped and 10 % stay. BERT is used on texts
without a [MASK], and has to make something of ordinary words too.

# shares_that_overlap
- chosen & (fate >= 0.8) & (fate < 0.9) -> chosen & (fate < 0.1)
You swap where `fate` is below 0.1, where there is a [MASK] already.

So one [MASK] of eight is overwritten: the shares become 70, 10 and 20 %.
One number decides between three fates, so their ranges must not overlap.

# nothing_kept
- & (fate >= 0.8) & (fate < 0.9) -> & (fate >= 0.8)
You swap all chosen words that do not become [MASK].

Half of these stay as they are: those whose `fate` is 0.9 or more.

# a_tenth_of_the_rest
- fate < 0.9 -> fate < 0.82
You swap a tenth of what [MASK] has left over: from 0.8 to 0.82.

That is 2 % of the chosen words, and 18 % stay. The 10 % are of all chosen
words, so half of what is left.

# kept_and_swapped_exchanged
- & (fate >= 0.8) & (fate < 0.9) -> & (fate >= 0.9)
You swap from 0.9 on, and keep from 0.8 to 0.9.

The shares are right, but here it is the other way round.

# fate_of_all_words
- masked = chosen -> masked = ordinary
You turn 80 % of *all* words into [MASK].

80 % is a share of the chosen ones: 12 % of all words. `fate` says what becomes
of a word that `chance` has chosen.

# chosen_the_wrong_way_round
- chance < 0.15 -> chance >= 0.15
You choose 85 % of the words, and leave 15 %.

A word is chosen if its `chance` is below 0.15.

# answers_marked_by_padding
- -100 -> 0
You mark what is not asked for by 0, the id of padding.

Here the mark is -100, which `F.cross_entropy` passes over by itself.

# answers_and_rows_exchanged
- return hidden, answers -> return answers, hidden
You return the two in the other order.

First come the rows that the model reads, then the answers.
"""


def tokens(note: str, *columns: tuple[int, float, float, int]) -> Case:
    """One row, given as a tuple (word, chance, fate, drawn) for each token."""
    words, chance, fate, drawn = zip(*columns, strict=True)
    return case(
        note,
        torch.tensor([words]),
        torch.tensor([chance]),
        torch.tensor([fate]),
        torch.tensor([drawn]),
    )


def draw_rows(draw: Draw) -> Case:
    rows, length = draw.size(1, 3), draw.size(3, 8)
    words = draw.ids(rows, length)
    words += 4 * (words != 0)
    words = torch.cat([torch.ones(rows, 1).long(), words], dim=1)
    shape = words.shape
    # half of the tokens are chosen, so that much is seen
    chance = draw.normal(*shape).abs().frac() * 0.3
    fate = draw.normal(*shape).mul(7).abs().frac()
    return case("random rows", words, chance, fate, draw.ids(*shape).clamp(5))


EXERCISE = exercise_of(
    mask_tokens,
    section="18_bert#masked-language-modelling-hide-then-ask",
    points=3,
    hints=(
        "Three questions for each token, one after the other: may it be "
        "asked for at all? Is it chosen? And if so, which of three things "
        "becomes of it? Which of these decide about the answers?",
        "Make a mask of True and False for each question, and join them "
        "with &. The answers depend on the second question alone, not on "
        "the third.",
    ),
    cases=[
        tokens("one word, hidden", (7, 0.1, 0.5, 9)),
        tokens("one word, not chosen", (7, 0.5, 0.5, 9)),
        tokens("one word, swapped", (7, 0.1, 0.85, 9)),
        tokens("one word, kept", (7, 0.1, 0.95, 9)),
        tokens("a fate near 0", (7, 0.1, 0.05, 9)),
        tokens("not chosen, a fate near 0", (7, 0.5, 0.05, 9)),
        tokens("padding", (7, 0.5, 0.5, 9), (0, 0.1, 0.5, 9)),
        tokens("the first sign", (1, 0.1, 0.5, 9), (7, 0.1, 0.5, 9)),
        tokens("the last sign", (7, 0.5, 0.5, 9), (2, 0.1, 0.5, 9)),
        tokens("the word with the smallest id", (5, 0.1, 0.5, 9)),
        tokens("an unknown word", (7, 0.5, 0.5, 9), (3, 0.1, 0.5, 9)),
        tokens("the bounds", (7, 0.15, 0.5, 9), (8, 0.1, 0.8, 9)),
        tokens("a fate just above 0.8", (7, 0.1, 0.81, 9)),
        tokens("both sides of 0.9", (7, 0.1, 0.89, 9), (8, 0.1, 0.91, 10)),
        tokens(
            "a whole row",
            (1, 0.01, 0.3, 9),
            (7, 0.02, 0.1, 9),
            (8, 0.9, 0.2, 10),
            (9, 0.14, 0.83, 11),
            (10, 0.0, 0.99, 12),
            (2, 0.1, 0.85, 9),
            (0, 0.1, 0.3, 9),
        ),
    ],
    draw=draw_rows,
)
