"""The figures that answer, inside their chapters: each one's arithmetic."""

import json
import math

import pytest
import torch
from browsing import from_disk

from transformer_course.data.grammar import grammar_splits
from transformer_course.data.tokenizer import Tokenizer
from transformer_course.models.attention import (
    masked_softmax,
    scaled_dot_product_attention,
)
from transformer_course.models.masks import causal_mask
from transformer_course.models.positional_encoding import sinusoidal_encoding

CHAPTERS = {
    "merges": "02_tokens_and_embeddings",
    "clocks": "03_positional_encoding",
    "masks": "06_masks",
    "batch": "11_batches",
}


class Figure:
    """A figure of a chapter, and its parts."""

    def __init__(self, page, name: str):
        self.page = page
        self.root = page.locator(f"[data-live={name}]")
        data = self.root.locator("script").text_content()
        self.data = json.loads(data)
        self.root.scroll_into_view_if_needed()

    def part(self, name: str):
        """The element of this name."""
        return self.root.locator(f"[data-lv={name}]")

    def button(self, name: str):
        """The button with this label."""
        return self.root.get_by_role("button", name=name, exact=True)

    def slider(self, name: str):
        """The slider of this name."""
        return self.root.get_by_label(name, exact=True)

    def said(self) -> str:
        """What the status line says."""
        return self.part("status").inner_text()

    def press(self, *keys: str) -> None:
        """Press keys where the focus is."""
        for key in keys:
            self.page.keyboard.press(key)


@pytest.fixture
def figure(browser, request):
    """The figure that the test is about."""
    name = request.param
    with from_disk(browser, f"{CHAPTERS[name]}.html") as page:
        yield Figure(page, name)


def about(name: str):
    """Give the test this figure."""
    return pytest.mark.parametrize("figure", [name], indirect=True)


# --- masks -------------------------------------------------------------------


def shown(figure, row: int) -> list[str]:
    """The numbers in a row of the masks, once it is chosen."""
    cells = figure.part("rows").locator("tr").nth(row).get_by_role("button")
    cells.first.focus()
    return cells.all_inner_texts()


@about("masks")
def test_rows_are_renormalized_over_the_cells_that_are_allowed(figure):
    X = torch.tensor(figure.data["vectors"])
    scores = X @ X.T / math.sqrt(2)
    may = torch.ones(5, 5, dtype=torch.bool)
    figure.button("Causal").click()
    causal = causal_mask(5)[0, 0]
    for row, weights in enumerate(masked_softmax(scores, causal).tolist()):
        expected = [f"{weight:.2f}" for weight in weights[: row + 1]]
        assert shown(figure, row) == expected + [""] * (4 - row)

    figure.button("All").click()
    figure.root.get_by_label("milk looks at milk:").click()
    figure.press("ArrowRight", "ArrowRight", "Space")  # milk to pad
    may[2, 2] = may[2, 4] = False
    weights = masked_softmax(scores, may)[2].tolist()
    expected = [f"{weight:.2f}" for weight in weights]
    expected[2] = expected[4] = ""
    assert shown(figure, 2) == expected


@about("masks")
def test_a_poked_token_is_felt_where_the_mask_allows_it(figure):
    figure.button("Causal").click()
    figure.part("poke").select_option("drink")
    assert figure.said().endswith("felt by drink, milk, eos and pad.")
    X = torch.tensor(figure.data["vectors"])[None]
    other = X.clone()
    other[0, 1] += torch.tensor([1, 0.6])
    mask = causal_mask(5)[0]
    before, after = (
        scaled_dot_product_attention(x, x, x, mask)[0] for x in (X, other)
    )
    moved = (after - before)[0].norm(dim=-1).tolist()
    told = figure.root.locator("td.lv-share").all_inner_texts()
    assert told == [f"{distance:.2f}" for distance in moved]

    figure.button("Invert").click()
    shown(figure, 4)
    assert "pad may look nowhere" in figure.said()
    assert "felt by cats and drink (by its own query)." in figure.said()


# --- clocks ------------------------------------------------------------------


@about("clocks")
def test_the_product_of_two_places_depends_on_their_distance(figure):
    table = sinusoidal_encoding(300, 128)

    def expected(place, distance):
        value = table[place] @ table[place + distance]
        return f"PE({place}) · PE({place + distance}) = {value:.3f}"

    assert figure.said().startswith(expected(9, 5))
    assert "47.185" in figure.said()
    place, distance = figure.slider("Position"), figure.slider("Distance")
    place.focus()
    figure.press("End", "ArrowLeft")
    assert figure.said().startswith("PE(199) · PE(204) = 47.185")
    distance.focus()
    figure.press(*["ArrowLeft"] * 10)
    assert figure.said().startswith("PE(199) · PE(194) = 47.185")
    figure.press("Home")
    assert figure.said().startswith(expected(199, -60))
    place.focus()
    figure.press("Home")  # no place is before the first
    assert figure.said().startswith(expected(60, -60))

    box = distance.bounding_box()
    middle = box["y"] + box["height"] / 2
    figure.page.mouse.click(box["x"] + box["width"] / 2, middle)
    assert figure.said().startswith("PE(60) · PE(60) = 64.000")
    turned = figure.part("clocks").get_by_text("turned by").all_inner_texts()
    assert set(turned) == {"turned by 0.0°"}


# --- merges ------------------------------------------------------------------


@about("merges")
def test_pairs_are_joined_as_in_the_chapter_and_in_sentencepiece(figure):
    assert "6 characters and 0 merges" in figure.said()
    assert figure.said().endswith("Next, a + t, 6 times.")
    figure.button("Join").click()
    figure.button("Join").click()
    words = figure.part("words").locator("li").all_inner_texts()
    pieces = [word.split("×")[0].split() for word in words]
    assert ["".join(word) for word in pieces] == ["▁cat", "▁cats", "▁hats"]
    assert pieces[0] == ["▁c", "at"] and pieces[2] == ["▁", "h", "at", "s"]
    assert figure.said().endswith("8 pieces. Next, ▁c + at, 5 times.")
    marked = figure.root.locator(".lv-piece.is-now").all_inner_texts()
    assert marked == ["▁c", "at"] * 2
    figure.button("Back").click()
    assert figure.part("merges").inner_text() == "at"

    name, text = list(figure.data["texts"].items())[1]
    figure.part("text").select_option(name)
    figure.slider("Merges").focus()
    figure.press(*["ArrowRight"] * 20)
    joined = figure.part("merges").inner_text().split(", ")
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
    size = figure.slider("Sentences in a batch")
    for order, numbers in (("random", lengths), ("sorted", sorted(lengths))):
        figure.part("order").select_option(order)
        for key, most in (("Home", 1), ("ArrowRight", 2), ("End", 64)):
            size.press(key)
            cut = in_turn(numbers, most)
            found = padding_of(cut, [max(rows) for rows in cut])
            assert figure.said().endswith(found), (order, most)
    assert " in 1 batch of 1 shape:" in figure.said()

    figure.part("order").select_option("buckets")
    buckets = {}
    for length in lengths:
        buckets.setdefault((length + 1) // 2, []).append(length)
    whole = list(buckets.values())
    assert figure.said().endswith(padding_of(whole, [*map(max, whole)]))
    box = size.bounding_box()
    middle = box["y"] + box["height"] / 2
    figure.page.mouse.click(box["x"] + box["width"] / 2, middle)
    assert size.get_attribute("aria-valuetext") == "8"
    widths, filled = [], []
    for rows in whole:
        count = -(-len(rows) // 8)
        empty = count * -(-len(rows) // count) - len(rows)
        filled.append(rows + [0] * empty)
        widths.append(max(rows))
    before = figure.said()
    assert before.endswith(padding_of(filled, widths))
    figure.button("Shuffle").click()
    assert figure.said() == before  # other company, the same shapes
