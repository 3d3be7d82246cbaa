"""The figures that answer, inside their chapters: each one's arithmetic."""

import json
import math

import torch
from browsing import about, said, slide

from transformer_course.data.grammar import grammar_splits
from transformer_course.data.tokenizer import Tokenizer
from transformer_course.models.attention import (
    masked_softmax,
    scaled_dot_product_attention,
)
from transformer_course.models.masks import causal_mask
from transformer_course.models.positional_encoding import sinusoidal_encoding


def data_of(figure) -> dict:
    """What the page gives its script."""
    return json.loads(figure.locator("script").text_content())


def press_button(figure, name: str) -> None:
    """Press the button with this label."""
    figure.get_by_role("button", name=name, exact=True).click()


def part(figure, name: str):
    """The part of this name."""
    return figure.locator(f"[data-lv={name}]")


# --- masks -------------------------------------------------------------------


def shown(figure, row: int) -> list[str]:
    """The numbers in a row of the masks, once it is chosen."""
    cells = part(figure, "rows").locator("tr").nth(row).get_by_role("button")
    cells.first.focus()
    return cells.all_inner_texts()


@about("masks")
def test_rows_are_renormalized_over_the_cells_that_are_allowed(figure):
    X = torch.tensor(data_of(figure)["vectors"])
    scores = X @ X.T / math.sqrt(2)
    may = torch.ones(5, 5, dtype=torch.bool)
    press_button(figure, "Causal")
    causal = causal_mask(5)[0, 0]
    for row, weights in enumerate(masked_softmax(scores, causal).tolist()):
        expected = [f"{weight:.2f}" for weight in weights[: row + 1]]
        assert shown(figure, row) == expected + [""] * (4 - row)

    press_button(figure, "All")
    figure.get_by_label("milk looks at milk:").click()
    for key in ("ArrowRight", "ArrowRight", "Space"):  # milk to pad
        figure.page.keyboard.press(key)
    may[2, 2] = may[2, 4] = False
    weights = masked_softmax(scores, may)[2].tolist()
    expected = [f"{weight:.2f}" for weight in weights]
    expected[2] = expected[4] = ""
    assert shown(figure, 2) == expected


@about("masks")
def test_a_poked_token_is_felt_where_the_mask_allows_it(figure):
    press_button(figure, "Causal")
    part(figure, "poke").select_option("drink")
    assert said(figure).endswith("felt by drink, milk, eos and pad.")
    X = torch.tensor(data_of(figure)["vectors"])[None]
    other = X.clone()
    other[0, 1] += torch.tensor([1, 0.6])
    mask = causal_mask(5)[0]
    before, after = (
        scaled_dot_product_attention(x, x, x, mask)[0] for x in (X, other)
    )
    moved = (after - before)[0].norm(dim=-1).tolist()
    told = figure.locator("td.lv-share").all_inner_texts()
    assert told == [f"{distance:.2f}" for distance in moved]

    press_button(figure, "Invert")
    shown(figure, 4)
    assert "pad may look nowhere" in said(figure)
    assert "felt by cats and drink (by its own query)." in said(figure)


# --- clocks ------------------------------------------------------------------


@about("clocks")
def test_the_product_of_two_places_depends_on_their_distance(figure):
    table = sinusoidal_encoding(300, 128)

    def expected(place, distance):
        value = table[place] @ table[place + distance]
        return f"PE({place}) · PE({place + distance}) = {value:.3f}"

    assert said(figure).startswith(expected(9, 5))
    assert "47.185" in said(figure)
    slide(figure, "Position", "End", "ArrowLeft")
    assert said(figure).startswith("PE(199) · PE(204) = 47.185")
    slide(figure, "Distance", *["ArrowLeft"] * 10)
    assert said(figure).startswith("PE(199) · PE(194) = 47.185")
    slide(figure, "Distance", "Home")
    assert said(figure).startswith(expected(199, -60))
    slide(figure, "Position", "Home")  # no place is before the first
    assert said(figure).startswith(expected(60, -60))

    figure.get_by_label("Distance", exact=True).click()  # its middle
    assert said(figure).startswith("PE(60) · PE(60) = 64.000")
    turned = part(figure, "clocks").get_by_text("turned by").all_inner_texts()
    assert set(turned) == {"turned by 0.0°"}


# --- merges ------------------------------------------------------------------


@about("merges")
def test_pairs_are_joined_as_in_the_chapter_and_in_sentencepiece(figure):
    assert "6 characters and 0 merges" in said(figure)
    assert said(figure).endswith("Next, a + t, 6 times.")
    press_button(figure, "Join")
    press_button(figure, "Join")
    words = part(figure, "words").locator("li").all_inner_texts()
    pieces = [word.split("×")[0].split() for word in words]
    assert ["".join(word) for word in pieces] == ["▁cat", "▁cats", "▁hats"]
    assert pieces[0] == ["▁c", "at"] and pieces[2] == ["▁", "h", "at", "s"]
    assert said(figure).endswith("8 pieces. Next, ▁c + at, 5 times.")
    marked = figure.locator(".lv-piece.is-now").all_inner_texts()
    assert marked == ["▁c", "at"] * 2
    press_button(figure, "Back")
    assert part(figure, "merges").inner_text() == "at"

    name, text = list(data_of(figure)["texts"].items())[1]
    part(figure, "text").select_option(name)
    slide(figure, "Merges", *["ArrowRight"] * 20)
    joined = part(figure, "merges").inner_text().split(", ")
    lines = [" ".join([word] * count) for word, count in text.items()]
    size = 256 + 4 + 20 + len(set("▁" + "".join(text)))
    reference = Tokenizer.train(lines, size, "bpe")
    assert joined == [reference.piece(256 + 4 + i) for i in range(20)]


# --- batches -----------------------------------------------------------------


def padding_of(batches: list[list[int]], widths: list[int]) -> str:
    """As the figure says it."""
    real = sum(map(sum, batches))
    places = sum(
        len(rows) * width for rows, width in zip(batches, widths, strict=True)
    )
    share = f"{100 * (1 - real / places):.1f}\u00a0%"
    return f"{places - real} of {places} places are padding, {share}."


def in_turn(lengths: list[int], size: int) -> list[list[int]]:
    """Cut into batches."""
    return [lengths[i : i + size] for i in range(0, len(lengths), size)]


@about("batch")
def test_padding_is_counted_in_each_order(figure):
    _, _, test = grammar_splits(train=8000, dev=0, test=500)
    lengths = [len(pair.src.split()) + 1 for pair in test[:64]]
    size = figure.get_by_label("Sentences in a batch", exact=True)
    for order, numbers in (("random", lengths), ("sorted", sorted(lengths))):
        part(figure, "order").select_option(order)
        for key, most in (("Home", 1), ("ArrowRight", 2), ("End", 64)):
            size.press(key)
            cut = in_turn(numbers, most)
            found = padding_of(cut, [max(rows) for rows in cut])
            assert said(figure).endswith(found), (order, most)
    assert " in 1 batch of 1 shape:" in said(figure)

    part(figure, "order").select_option("buckets")
    buckets = {}
    for length in lengths:
        buckets.setdefault((length + 1) // 2, []).append(length)
    whole = list(buckets.values())
    assert said(figure).endswith(padding_of(whole, [*map(max, whole)]))
    size.click()  # its middle
    assert size.get_attribute("aria-valuetext") == "8"
    widths, filled = [], []
    for rows in whole:
        count = -(-len(rows) // 8)
        empty = count * -(-len(rows) // count) - len(rows)
        filled.append(rows + [0] * empty)
        widths.append(max(rows))
    before = said(figure)
    assert before.endswith(padding_of(filled, widths))
    press_button(figure, "Shuffle")
    assert said(figure) == before  # other company, the same shapes
