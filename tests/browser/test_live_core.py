"""The figures in the core of chapters 01, 05, 09 and 10, each in a page of its
own: they say what Python computes, and follow pointer, keyboard and finger."""

import math
import re
import shutil

import pytest
import torch
from browsing import THEMES, WIDTHS, audit_figures, every_night, opened, script
from built_book import BOOK
from course_live import BASE, ENGINE, FIGURES, render
from course_parts import PARTS, built_without
from course_units import TESTED, favourites, fired, promoted
from test_live import loaded, source

from course_exercises.path.laws import broken_laws
from experiments import store
from experiments.broken_builds import MyTransformer, broken
from transformer_course.checkpoints import web_export
from transformer_course.data.tokenizer import BOS
from transformer_course.figures import palette
from transformer_course.interpretation.hooks import record

CORE = ("bottleneck", "root", "units", "parts")
PHONE = WIDTHS[1]
SMALLEST = 11
"""CSS pixels of a letter, on a phone."""
LETTERS = script("live_letters")
RIGHT = """() => Math.max(...[...document.querySelectorAll("[data-live] *")]
  .map((one) => one.getBoundingClientRect().right))"""
LOOK = """html { font: 16px sans-serif; --course-paper: white;
  --pst-color-background: var(--course-paper);
  --pst-color-surface: var(--course-paper);
  --pst-color-border: var(--course-muted);
  --pst-color-text-base: var(--course-ink);
  --pst-color-text-muted: var(--course-muted);
  background: var(--course-paper); color: var(--course-ink); }
body { max-width: 36rem; margin: 1rem auto; padding: 0 1rem; }"""
"""As much of the theme as the figures need."""


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """A folder with all that the figures load."""
    folder = tmp_path_factory.mktemp("core")
    live = folder / "_static/live"
    shutil.copytree(BOOK / "_static/live", live)
    found = loaded("grammar")
    web_export.save(live / "models/grammar", *found[:3])
    return folder


def page_of(name, folder):
    """A page with the figure of this name."""
    style = (folder / "_static/live/live.css").read_text("utf-8")
    scripts = [*BASE, *ENGINE * FIGURES[name].runs_model, f"{name}_figure"]
    page = [
        "<!DOCTYPE html><html lang='en'><meta charset='utf-8'>",
        "<meta name='viewport' content='width=device-width'>",
        f"<style>{palette.css()}{LOOK}{style}</style><title>One</title>",
        *(f"<script defer src='_static/live/{s}.js'></script>"
          for s in scripts),
        f"<body><main>{render(name, {}, '', 0)}</main>",
    ]  # fmt: skip
    path = folder / f"{name}.html"
    path.write_text("\n".join(page), "utf-8")
    return path


@pytest.fixture
def figure(browser, request, site):
    """The figure of this name, at work."""
    with opened(browser, page_of(request.param, site)) as page:
        yield at_work(page)


def at_work(page):
    """The page's figure, once it answers."""
    root = page.locator("[data-live]")
    root.locator("xpath=self::*[contains(@class, 'is-live')]").wait_for()
    return root


def about(name):
    """A test of this figure."""
    return pytest.mark.parametrize("figure", [name], indirect=True)


def said(figure, words="", status="status"):
    """The status line, once it has these words."""
    line = figure.locator(f"[data-lv={status}]", has_text=words)
    line.wait_for()
    return line.inner_text()


def numbers(text):
    """The numbers in a text, 4.2 × 10⁻⁷ among them."""
    text = text.replace("−", "-").replace(",", "")
    digits = dict(zip("⁰¹²³⁴⁵⁶⁷⁸⁹", "0123456789", strict=True))
    raised = re.compile(r" × 10⁻([⁰¹²³⁴⁵⁶⁷⁸⁹]+)")
    text = raised.sub(
        lambda found: "e-" + "".join(digits[d] for d in found[1]), text
    )
    found = re.findall(r"-?\d+\.?\d*(?:e-\d+)?", text)
    return [float(one) for one in found]


# --- all of them -------------------------------------------------------------


@pytest.mark.parametrize("figure", CORE, indirect=True)
def test_letters_are_large_enough_on_a_phone_and_axe_finds_nothing(figure):
    page = figure.page
    for theme in THEMES:
        page.evaluate(
            "(theme) => document.documentElement.dataset.theme = theme", theme
        )
        for width in WIDTHS[:2]:
            page.set_viewport_size({"width": width, "height": 800})
            page.wait_for_timeout(200)
            assert not audit_figures(page)
    letters = page.evaluate(LETTERS)
    assert letters
    assert not [found for found in letters if found[0] < SMALLEST]
    assert page.evaluate(RIGHT) <= PHONE


# --- 01, the bottleneck ------------------------------------------------------


@about("bottleneck")
def test_copies_are_those_of_the_stored_trainings(figure):
    settings, stored = store.settings("copying"), store.records("copying")
    lengths = settings["lengths"]
    figure.get_by_label("Letters in the string").focus()
    figure.page.keyboard.press("Home")
    for _ in range(lengths.index(14)):
        figure.page.keyboard.press("ArrowRight")
    figure.get_by_role("button", name="Another string").click()
    row = settings["shown"][1][:14]
    assert figure.locator("[data-lv=read]").inner_text().split() == [*row]
    for size in (32, 64, 128):
        figure.get_by_label(str(size), exact=True).check()
        told = numbers(said(figure, f"state of {size} numbers"))
        right = []
        for name, part in (
            (f"state-{size}", "written"),
            ("attention", "attention"),
        ):
            copy = stored[f"copies/{name}"][0]["copies"][1][lengths.index(14)]
            cells = figure.locator(f"[data-lv={part}] span")
            assert cells.all_inner_texts()[: len(copy)] == [*copy]
            right.append(sum(a == b for a, b in zip(copy, row, strict=False)))
            wrong = figure.locator(f"[data-lv={part}] .is-wrong").count()
            assert cells.count() - wrong == right[-1]
            looks = [seed["looks"][-1]["symbols"] for seed in stored[name]]
            mean = sum(look[lengths.index(14)] for look in looks) / len(looks)
            assert told[-2 + (part == "attention")] == pytest.approx(
                100 * mean, abs=0.51
            )
        assert told[1] == right[0] and told[3] == right[1]


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
            jacobian = torch.vmap(torch.func.jacrev(
                lambda s: s.softmax(dim=-1)))(scores)  # fmt: skip
            norm = jacobian.flatten(1).norm(dim=1)
            told = numbers(said(figure, f"Width {d}:"))
            weight = scores[1].softmax(dim=-1).amax().item()
            low, high = scores[1].amin().item(), scores[1].amax().item()
            assert told[0] == d and told[3] == 16 and told[6] == 99
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
            assert [float(one) for one in told] == pytest.approx(
                values[:, unit].tolist(), abs=0.006
            )


@every_night
@about("units")
def test_a_unit_is_chosen_by_a_press_and_has_its_favourites(figure):
    for stack, layer in fired().items():
        figure.get_by_label(stack.capitalize()).check()
        figure.locator("[data-lv=tiles]", has_text="猫").wait_for() if (
            stack == "decoder"
        ) else None
        board = figure.locator(".lv-units").nth(1)
        box = board.bounding_box()
        cell = box["width"] / 32, box["height"] / 16
        board.click(position={"x": 14.5 * cell[0], "y": 13.5 * cell[1]})
        unit = 13 * 32 + 14
        line = said(figure, f"Unit {unit} ")
        if stack == "decoder":
            assert promoted()[unit] in line
        rows = figure.locator("[data-lv=tops] li").all_inner_texts()
        values = layer.values[:, unit]
        best = favourites(layer)[unit]
        assert best[0][2] == pytest.approx(values.max().item(), abs=0.006)
        assert len({layer.rows[s][p] for s, p, _ in best}) == len(best) == 3
        for row, (sentence, place, value) in zip(rows, best, strict=True):
            token = layer.places.index([sentence, place])
            assert values[token].item() == pytest.approx(value, abs=0.006)
            assert f"{value:.2f}" in row
    assert len(fired()["encoder"].rows) == TESTED


@every_night
@about("units")
def test_a_finger_chooses_a_unit(figure, browser):
    context = browser.new_context(has_touch=True)
    page = context.new_page()
    page.goto(figure.page.url)
    root = at_work(page)
    root.locator(".lv-fires button").nth(4).tap()
    chosen = root.locator(".lv-fires button").nth(4)
    assert chosen.get_attribute("aria-pressed") == "true"
    assert chosen.inner_text() in said(root)
    context.close()


# --- 10, the parts -----------------------------------------------------------


def test_the_laws_are_those_that_a_build_without_the_part_breaks():
    assert not broken_laws(MyTransformer)
    for name, mistake in (
        ("positions", "no positions"),
        ("causal mask", "no causal mask"),
    ):
        found = broken_laws(built_without(PARTS[name]))
        assert found.keys() == broken_laws(broken(mistake)).keys()


@about("parts")
def test_a_part_that_is_left_out_lights_the_laws_it_breaks(figure):
    lit = figure.locator(".is-broken b")
    assert lit.count() == 0 and "all 9 laws hold" in said(figure)
    whole = said(figure, "It writes", "written")
    for name, part in PARTS.items():
        button = figure.get_by_role("button", name=name, exact=True).first
        button.press("Enter")
        said(figure, f"Left out: {name}.")
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


@every_night
@about("parts")
def test_without_a_part_another_sentence_is_written(figure):
    for name, words in (
        ("cross-attention", "instead of 猫はミルクを飲む。"),
        ("causal mask", "It still writes"),
    ):
        figure.get_by_role("button", name=name, exact=True).first.click()
        said(figure, words, "written")
    figure.get_by_label("word 1").select_option("dogs")
    said(figure, "犬", "written")
