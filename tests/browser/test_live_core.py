"""The figures in the core of chapters 01, 05, 09 and 10: they say what Python
computes, and follow pointer and keyboard."""

import math

import pytest
import torch
from browsing import about, every_night, numbers, said, slide
from course_parts import PARTS, built_without
from course_units import fired, promoted
from test_live import loaded, source

from course_exercises.path.laws import broken_laws
from experiments import store
from transformer_course.data.tokenizer import BOS
from transformer_course.interpretation.hooks import record

# --- 01, the bottleneck ------------------------------------------------------


@about("bottleneck")
def test_copies_are_those_of_the_stored_trainings(figure):
    settings, stored = store.settings("copying"), store.records("copying")
    lengths = settings["lengths"]
    further = ["ArrowRight"] * lengths.index(14)
    slide(figure, "Letters in the string", "Home", *further)
    figure.get_by_role("button", name="Another string").click()
    row = settings["shown"][1][:14]
    assert figure.locator("[data-lv=read]").inner_text().split() == [*row]
    for size in (32, 64, 128):
        figure.get_by_label(str(size), exact=True).check()
        told = numbers(said(figure, f"state of {size} numbers"))
        for name, part, place in (
            (f"state-{size}", "written", -2),
            ("attention", "attention", -1),
        ):
            copy = stored[f"copies/{name}"][0]["copies"][1][lengths.index(14)]
            cells = figure.locator(f"[data-lv={part}] span")
            assert cells.all_inner_texts()[: len(copy)] == [*copy]
            right = sum(a == b for a, b in zip(copy, row, strict=False))
            wrong = figure.locator(f"[data-lv={part}] .is-wrong").count()
            assert cells.count() - wrong == right == told[2 * place + 5]
            looks = [seed["looks"][-1]["symbols"] for seed in stored[name]]
            mean = sum(look[lengths.index(14)] for look in looks) / len(looks)
            assert told[place] == pytest.approx(100 * mean, abs=0.51)


# --- 05, the root ------------------------------------------------------------


def normals(seed):
    """The page's normal numbers, one after the other."""
    state = seed

    def uniform():
        nonlocal state
        state ^= (state << 13) & 0xFFFFFFFF
        state ^= state >> 17
        state ^= (state << 5) & 0xFFFFFFFF
        return state / 2**32

    while True:
        radius = math.sqrt(-2 * math.log(1 - uniform()))
        angle = 2 * math.pi * uniform()
        yield radius * math.cos(angle)
        yield radius * math.sin(angle)


def drawn(queries=99, keys=16, width=1024):
    """Queries, and the keys that answer each."""
    numbers, per_query = normals(2017), (1 + keys) * width
    rows = [[next(numbers) for _ in range(per_query)] for _ in range(queries)]
    found = torch.tensor(rows, dtype=torch.float64)
    return found.view(queries, 1 + keys, width).split([1, keys], dim=1)


@about("root")
def test_the_root_keeps_scores_weights_and_gradient(figure):
    query, keys = drawn()
    assert query.var().item() == pytest.approx(1, abs=0.02)
    figure.get_by_role("button", name="Another query").press("Enter")
    width = figure.get_by_label("Width of a key")
    largest = {}
    for root in (False, True):
        figure.get_by_label("÷ √d").set_checked(root)
        width.press("Home")
        for power in range(11):
            d = 2**power
            scores = (query[..., :d] * keys[..., :d]).sum(dim=-1)
            scores = scores / (d**0.5 if root else 1)
            softmax = torch.func.jacrev(lambda s: s.softmax(dim=-1))
            jacobian = torch.vmap(softmax)(scores)
            norm = jacobian.flatten(1).norm(dim=1)
            told = numbers(said(figure, f"Width {d}:"))
            weight = scores[1].softmax(dim=-1).amax().item()
            low, high = scores[1].amin().item(), scores[1].amax().item()
            assert told[1:3] == pytest.approx([low, high], abs=0.051)
            assert told[4] == pytest.approx(100 * weight, abs=0.051)
            for found, own in ((told[5], norm[1]), (told[7], norm.median())):
                assert found == pytest.approx(own.item(), rel=0.06, abs=1e-9)
            width.press("ArrowRight")
            largest[root] = told[7]
    assert largest[True] > 1000 * largest[False]


# --- 09, the units -----------------------------------------------------------


def units_of(stack, text, tgt):
    """The units of a stack's upper layer at each token."""
    tokenizer = loaded("grammar").tokenizer
    ids = torch.tensor([[BOS, *tokenizer.encode(tgt)]])
    _, gave = record(loaded("grammar").model, source("grammar", [text]), ids)
    part = f"{stack}.layers.1.feed_forward.activation"
    return gave[part][0]


@about("units")
def test_units_fire_as_in_python(figure):
    for stack in ("Encoder", "Decoder"):
        figure.get_by_label(stack).check()
        figure.get_by_label("word 1").select_option("dogs")
        word = {"Encoder": "dogs", "Decoder": "犬"}[stack]
        figure.locator("[data-lv=tiles]", has_text=word).wait_for()
        values = units_of(
            stack.lower(), "dogs drink milk .", "犬 は ミルク を 飲む 。"
        )
        tiles = figure.locator("[data-lv=tiles] > div")
        assert tiles.count() == len(values)
        for tile, own in zip(tiles.all(), values, strict=True):
            shown = tile.get_by_role("button").all_inner_texts()
            assert [*map(int, shown)] == own.topk(3).indices.tolist()
            label = tile.get_by_role("img").get_attribute("aria-label")
            assert f"{int((own > 0).sum())} of 512" in label
        for unit in (0, 91, 430, 511):
            figure.get_by_label("Unit", exact=True).fill(str(unit))
            fires = int((values[:, unit] > 0).sum())
            assert said(figure, f"Unit {unit} fires at {fires} of")
            told = figure.locator(".lv-unit").all_inner_texts()
            own = values[:, unit].tolist()
            assert [*map(float, told)] == pytest.approx(own, abs=0.006)


@every_night
@about("units")
def test_a_unit_is_chosen_by_a_press_and_has_its_favourites(figure):
    for stack, layer in fired().items():
        figure.get_by_label(stack.capitalize()).check()
        word = {"encoder": "cats", "decoder": "猫"}[stack]
        figure.locator("[data-lv=tiles]", has_text=word).wait_for()
        board = figure.locator(".lv-units").nth(1)
        box = board.bounding_box()
        x, y = box["width"] * 14.5 / 32, box["height"] * 13.5 / 16
        board.click(position={"x": x, "y": y})
        unit = 13 * 32 + 14
        line = said(figure, f"Unit {unit} ")
        if stack == "decoder":
            assert promoted()[unit] in line
        rows = figure.locator("[data-lv=tops] li").all_inner_texts()
        assert len(rows) == 3
        assert f"{layer.values[:, unit].max():.2f}" in rows[0]


# --- 10, the parts -----------------------------------------------------------


@about("parts")
def test_a_part_that_is_left_out_lights_the_laws_it_breaks(figure):
    lit = figure.locator(".is-broken b")
    assert lit.count() == 0 and "all 9 laws hold" in said(figure)
    whole = said(figure, "It writes", "written")
    for name, part in PARTS.items():
        button = figure.get_by_role("button", name=name, exact=True).first
        button.press("Enter")
        said(figure, f"Left out: {name}.")
        if name == "cross-attention":
            said(figure, "instead of 猫はミルクを飲む。", "written")
        breaks = broken_laws(built_without(part))
        shown = [law.replace(" ", "_") for law in lit.all_inner_texts()]
        assert shown and shown == [law for law in breaks if law in shown]
        assert breaks.keys() - {*shown} <= {"whole_is_its_halves"}
        pressed = figure.locator("[data-part][aria-pressed=true]")
        names = pressed.evaluate_all("(all) => all.map((p) => p.dataset.part)")
        assert {*names} == {name}
    figure.get_by_role("button", name=name, exact=True).first.click()
    said(figure, "all 9 laws hold")
    assert said(figure, whole, "written") == whole
