"""The film of attention: its numbers are Python's, and it can be stopped."""

import ast
import operator
import re
from functools import reduce
from itertools import chain

import pytest
import torch
from browsing import FEWER, audit, every_night, from_disk, script
from built_book import BOOK, code_cells
from test_live import loaded, source

from transformer_course.interpretation.hooks import attention_maps
from transformer_course.models.attention import scaled_dot_product_attention
from transformer_course.models.masks import causal_mask

PROJECTOR, FIRST = "projector.html", "00_watch_it_translate.html"
NUMBER = r"[−-]?(?:\d+(?:\.\d+)?(?:e\d+)?|∞)"
SEEN = """(all) => all
  .filter((one) => one.checkVisibility({ visibilityProperty: true }))
  .map((block) => [block.getAttribute("aria-label"),
    [...block.querySelectorAll(".lv-number")].map((one) =>
      [one.textContent, one.getAttribute("aria-label")])])"""
"""Blocks that are seen, by name, and each one's numbers, as shown and said."""
FLYING = """(camera) => [...camera.lastElementChild.children].filter((one) =>
  one.checkVisibility({ visibilityProperty: true })).length"""
OUTSIDE = script("outside")
"""What of the film is seen, but reaches over its edge."""


class Film:
    """A film in a page."""

    def __init__(self, page, kind: str = "film"):
        self.page = page
        self.root = page.locator(f"[data-live={kind}]")
        self.root.scroll_into_view_if_needed()

    def part(self, name: str):
        """The element of this name."""
        return self.root.locator(f"[data-film={name}]")

    @property
    def bar(self):
        """What is dragged."""
        return self.part("bar").locator("input")

    @property
    def scenes(self) -> range:
        """The numbers of all scenes."""
        return range(int(self.bar.get_attribute("max")) + 1)

    def to(self, time: float) -> None:
        """Drag the bar."""
        self.bar.evaluate(
            "(bar, to) => { bar.value = to;"
            " bar.dispatchEvent(new Event('input')); }",
            time,
        )

    def blocks(self) -> dict[str, list]:
        """The blocks that are seen, with their numbers and products."""
        return dict(self.root.locator(".lv-block").evaluate_all(SEEN))

    def everything(self) -> dict[str, list[float]]:
        """The numbers of all blocks, scene by scene; the last of a name."""
        found = {}
        for scene in self.scenes:
            self.to(scene)
            for name, numbers in self.blocks().items():
                found[name] = [value(shown) for shown, _ in numbers if shown]
        return found

    def switch(self, name: str) -> None:
        """Press a switch."""
        self.root.get_by_role("checkbox", name=name).click()


def value(text: str) -> float:
    """A number as the film writes it."""
    return float(text.replace("−", "-").replace("∞", "inf"))


@pytest.fixture
def film(browser):
    """The film on the projector, which has all switches."""
    with from_disk(browser, PROJECTOR) as page:
        yield Film(page)


def literals(chapter: str) -> dict[str, torch.Tensor]:
    """The matrices that a chapter's cells write out."""
    found = {}
    for cell in code_cells(BOOK / f"en/{chapter}.ipynb"):
        for node in ast.parse(cell.source).body:
            match node:
                case ast.Assign(
                    targets=[ast.Name(name)],
                    value=ast.Call(func=ast.Attribute(attr="tensor")),
                ):
                    code = ast.unparse(node.value)
                    found.setdefault(name, eval(code, {"torch": torch}))
    return found


def same(numbers: list[float], expected: torch.Tensor) -> bool:
    """Whether numbers with two decimals are those of a tensor."""
    other = torch.tensor(numbers).view(expected.shape)
    return torch.allclose(other, expected.float(), atol=0.0051)


# --- the numbers -------------------------------------------------------------


@pytest.mark.parametrize(
    ("root", "masked"),
    [
        (True, False),
        (False, True),
        pytest.param(True, True, marks=every_night),
        pytest.param(False, False, marks=every_night),
    ],
)
def test_the_numbers_are_those_of_chapter_04(film, root, masked):
    own = literals("04_attention")
    if not root:
        film.switch("÷ √d")
    if masked:
        film.switch("causal mask")
    Q, K, V = (own["X"] @ own[f"W_{letter}"] for letter in "QKV")
    asked = Q if root else Q * 2**0.5  # as the chapter says
    mask = causal_mask(3)[0, 0] if masked else None
    output, weights = scaled_dot_product_attention(asked, K, V, mask)
    given = {"X": own["X"], "W Q": own["W_Q"], "W K": own["W_K"]}
    given |= {"W V": own["W_V"], "Q": Q, "K": K, "V": V}
    found = film.everything()
    for name, expected in {
        **given,
        "scores": Q @ K.mT,
        "weights": weights,
        "shares": weights[1][:, None] * V,
        "output": output[1],
        "outputs": output,
    }.items():
        assert same(found[name], expected), name
    assert ("÷ √d k" in found) == root and ("masked" in found) == masked


@every_night
def test_without_the_root_they_are_those_by_hand(browser):
    own = literals("04_attention")
    keys, query, values = own["keys"], own["query"], own["values"]
    positive = (keys @ query).exp()
    weights = positive / positive.sum()
    with from_disk(browser, FIRST) as page:
        found = Film(page).everything()
    for name, expected in {
        "scores": keys @ query,
        "exp": positive,
        "weights": weights,
        "shares": weights[:, None] * values,
        "output": weights @ values,
    }.items():
        assert same(found[name], expected), name


def test_two_heads_are_those_of_chapter_07(film):
    film.switch("two heads")
    own = literals("07_multi_head_attention")
    found, heads = film.everything(), []
    for n in range(2):
        q, k, v = (own["X"] @ own[f"W_{letter}"][n] for letter in "QKV")
        output, weights = scaled_dot_product_attention(q, k, v)
        heads.append(output)
        assert same(found[f"Q {n + 1}"], q)
        assert same(found[f"scores {n + 1}"], q @ k.mT)
        assert same(found[f"weights {n + 1}"], weights)
        assert same(found[f"head {n + 1}"], output)
    joined = torch.cat(heads, dim=-1)
    assert same(found["side by side"], joined)
    assert same(found["output"], joined @ own["W_O"])


@torch.inference_mode()
def test_one_word_of_the_translator_is_pythons(film):
    film.root.get_by_label("Numbers").select_option("model")
    film.part("head").locator("select").wait_for(timeout=30_000)
    name, row = "decoder.layers.0.cross_attention", 2  # は
    model, tokenizer = loaded("grammar").model, loaded("grammar").tokenizer
    written = [1, *tokenizer.encode("猫 は ミルク を 飲む 。")]
    src = source("grammar", ["cats drink milk ."])
    expected = attention_maps(model, src, torch.tensor([written]))
    for head, weights in enumerate(expected[name][0, :, row]):
        film.part("head").locator("select").select_option(label=f"{head + 1}")
        film.to(1)
        film.part("said").get_by_text(f"Head {head + 1} of 4").wait_for()
        assert same(film.everything()["weights"], weights), head


PRODUCTS = re.compile(rf"(?:.*: )?([\d.·+−e() ]+) = ({NUMBER})")
"""A sum of products, and what it comes to."""


def total(text: str) -> float:
    """What a sum of products comes to."""
    terms = (re.sub("[()]", "", term).split("·") for term in text.split(" + "))
    return sum(reduce(operator.mul, map(value, term)) for term in terms)


@every_night
@pytest.mark.parametrize("switch", ["", "causal mask", "two heads"])
def test_what_is_written_out_is_right(film, switch):
    if switch:
        film.switch(switch)
    checked = 0
    for scene in film.scenes:
        film.to(scene)
        for shown, said in chain(*film.blocks().values()):
            if found := PRODUCTS.fullmatch(said):
                terms, result = found.groups()
                assert value(shown) == value(result), said
                # each factor and the result are rounded to two decimals
                near = 0.05 * (1 + terms.count(" + "))
                assert total(terms) == pytest.approx(value(result), abs=near)
                checked += 1
    assert checked > 100


# --- what moves it -----------------------------------------------------------


def test_a_number_lights_what_it_is_made_of(film):
    film.to(4)
    block = film.root.get_by_label("scores", exact=True)
    film.page.keyboard.press("Tab")
    block.locator(".lv-number").nth(5).hover()
    assert film.part("product").inner_text() == (
        "drink · milk: 2·0 + 2·1.1 = 2.2"
    )
    lit = film.root.locator(".lv-block .is-lit")
    assert lit.all_inner_texts() == ["2", "2", "0", "1.1"]


@every_night
def test_arrow_keys_go_from_number_to_number(film):
    film.to(4)
    film.root.locator(".lv-screen [tabindex='0']").focus()
    for key, said in [
        ("ArrowRight", "drink · drink: 2·(−0.5) + 2·0.5 = 0"),
        ("ArrowDown", "milk · drink: 0·(−0.5) + 0·0.5 = 0"),
        ("ArrowDown", "drink: 0·0 + 0·1.15 + 0·0 + 1·(−0.5) = −0.5"),
    ]:
        film.page.keyboard.press(key)
        assert film.part("product").inner_text() == said


def test_the_bar_goes_on_and_back_and_nothing_flies_for_who_wants_rest(film):
    film.bar.focus()
    moves = {"ArrowRight": 2, "ArrowLeft": 1, "End": 11, "Home": 1}
    for key, number in moves.items():
        film.page.keyboard.press(key)
        assert film.part("of").inner_text() == f"{number} of 11"
        assert film.root.locator(".lv-camera").evaluate(FLYING) == 0
    film.part("next").click()
    assert film.part("of").inner_text() == "2 of 11"
    film.part("back").click()
    assert film.part("back").is_disabled()


@every_night
def test_numbers_fly_where_motion_is_welcome(browser):
    with from_disk(browser, PROJECTOR) as page:
        page.emulate_media(reduced_motion="no-preference")
        page.reload()
        film = Film(page)
        camera = film.root.locator(".lv-camera")
        film.to(3.6)
        assert camera.evaluate(FLYING) > 0
        film.to(4)
        assert camera.evaluate(FLYING) == 0
        play = film.part("play")
        play.click()
        film.part("of").get_by_text("6 of 11").wait_for()
        assert play.inner_text() == "Stop"
        play.click()
        assert play.inner_text() == "Play"


@pytest.mark.parametrize("width", [pytest.param(1280, marks=every_night), 390])
def test_all_of_it_is_seen(browser, width):
    every = {FIRST: [""], PROJECTOR: ["", "causal mask", "two heads"]}
    for name, switches in every.items():
        with from_disk(browser, name) as page:
            page.set_viewport_size({"width": width, "height": 800})
            film = Film(page)
            for switch in switches:
                if switch:
                    film.switch(switch)
                for scene in film.scenes:
                    film.to(scene)
                    page.wait_for_timeout(20)
                    assert not film.part("screen").evaluate(OUTSIDE), scene
            film.to(4)
            assert not audit(page, include=["[data-live=film]"])


# --- the boxes of the walk ---------------------------------------------------


def test_a_box_of_the_walk_opens_down_to_one_product(browser):
    with from_disk(browser, FIRST) as page:
        film = Film(page, "walk")
        film.root.locator(".is-lit").first.wait_for()
        boxes = film.root.locator("svg a[role=button]")
        assert boxes.count() == 18
        for box in boxes.all()[:: 3 if FEWER else 1]:
            box.focus()
            page.keyboard.press("Enter")
            film.part("bar").locator("input:not([max='0'])").wait_for()
            for scene in film.scenes:
                film.to(scene)
                page.wait_for_timeout(20)
                assert not film.part("screen").evaluate(OUTSIDE)
                assert film.part("product").inner_text()
        assert not audit(page, include=["[data-live=walk]"])
        film.root.get_by_role("button", name="Close").click()
        assert film.root.locator("[data-lv=strips]").is_visible()


@every_night
@torch.inference_mode()
def test_the_last_box_chooses_as_python_does(browser):
    model = loaded("grammar").model
    src = source("grammar", ["emi plays the piano ."])
    logits = model(src, torch.tensor([[1]]))[0, -1]
    with from_disk(browser, FIRST) as page:
        film = Film(page, "walk")
        film.root.locator(".is-lit").first.wait_for()
        film.root.locator("[aria-label^='Linear']").click()
        film.part("of").get_by_text("2 of 4").wait_for()
        found = film.everything()
    best = logits.topk(4).values
    assert same(found["logits"], best)
    logits[[0, 1]] = -torch.inf  # pad and bos are never written
    shares = (best - logits.logsumexp(dim=-1)).exp()
    assert same(found["share"], shares)


@every_night
def test_the_page_has_its_own_captions(film):
    """Numbers of the Japanese captions are those of the English ones."""
    tools = pytest.importorskip("tools.film", exc_type=SystemExit)
    said = tools.said(film.page, film.bar.element_handle(), len(film.scenes))
    assert len(tools.japanese(said)) == 11
    assert tools.captions(said).count("-->") == 11
