"""The figures that answer, used by pointer and keyboard, from a disk."""

import pytest
from browsing import about, from_disk, said, script

PAGE = "00_watch_it_translate.html"


def written(figure):
    """The words of a translator, once it has written the last one."""
    figure.locator("[data-lv=target]").get_by_text("eos").wait_for()
    return figure.locator("[data-lv=target] [lang=ja]").all_inner_texts()


@about("translator")
def test_the_translator_writes_and_shows_where_it_attends(figure):
    words = written(figure)
    assert words == ["エミ", "は", "ピアノ", "を", "弾く", "。", "eos"]
    figure.get_by_role("button", name="ピアノ").focus()
    assert "piano" in figure.locator(".lv-looks").inner_text()
    bars = figure.locator("[data-lv=next] li")
    assert bars.count() == 4 and "ピアノ" in bars.first.inner_text()
    for ending, verb in (("tennis", "する"), ("in the park", "遊ぶ")):
        figure.get_by_label("word 3").select_option(ending)
        figure.get_by_role("button", name=verb).wait_for()


@about("translator")
def test_a_switch_changes_what_is_written_and_names_its_chapter(figure):
    whole = written(figure)
    figure.get_by_label("Without positions").check()
    assert "".join(whole[:-1]) in said(figure, "Now:")
    assert figure.get_by_role("link", name="Chapter 03").is_visible()
    assert not figure.get_by_role("link", name="Chapter 06").is_visible()
    minimap = figure.locator("[data-note=positions] svg").bounding_box()
    assert minimap["height"] < 150


def test_a_figure_stands_alone_in_the_frame_of_a_notebook(browser):
    with from_disk(browser, PAGE) as page:
        page.goto(f"{page.url}?only=live-2")
        figure = page.locator("[data-live=plane]")
        figure.get_by_role("button", name="Start again").wait_for()
        for other in ("h1", "[data-live=translator]", ".bd-header"):
            assert not page.locator(other).first.is_visible()


REACHED = script("reached")
"""How many empty positions a ribbon leads to."""


@about("translator")
def test_padding_is_drawn_where_the_model_attends_to_it(figure):
    """On a phone no ribbon crosses a word of the source."""
    written(figure)
    mask = figure.get_by_label("Without the padding mask")
    empty = figure.locator(".is-empty:visible")
    assert empty.count() == 0
    mask.check()
    assert "big book object play" in said(figure, "Now:")
    written(figure)
    assert empty.count() == 12 - len("emi plays the piano . eos".split())
    assert figure.evaluate(REACHED) > 0
    mask.uncheck()
    said(figure, "It writes")
    assert empty.count() == 0

    figure.page.set_viewport_size({"width": 390, "height": 800})
    mask.check()
    said(figure, "Now:")
    written(figure)
    right = figure.locator("[data-lv=source]").evaluate(
        "(words) => words.getBoundingClientRect().right"
    )
    lefts = figure.locator(".lv-ribbons path").evaluate_all(
        "(all) => all.map((one) => one.getBoundingClientRect().left)"
    )
    assert lefts and min(lefts) >= right - 10  # half of the widest ribbon


@about("plane")
def test_the_query_is_dragged_or_moved_by_keys(figure):
    """A finger on it does not move the page."""
    mouse, handle = figure.page.mouse, figure.locator(".lv-handle.lv-query")
    box = handle.bounding_box()
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    mouse.move(x, y)
    mouse.down()
    mouse.move(x - 60, y, steps=20)
    mouse.up()
    moved = handle.bounding_box()["x"]
    assert moved == pytest.approx(box["x"] - 60, abs=2)
    figure.get_by_label("Query, can be played").press("End")
    figure.get_by_label("Query, alive").fill("0.8")
    assert "over 80 %" in said(figure)
    board = figure.locator("svg").first
    action = board.evaluate("(board) => getComputedStyle(board).touchAction")
    assert action == "none"


COVERED = """(figure) => {
  const board = figure.querySelector("svg");
  const arrow = board.querySelector("g.lv-query path");
  const length = arrow.getTotalLength(), whole = board.getScreenCTM();
  const points = Array.from({ length: 50 }, (_, i) =>
    arrow.getPointAtLength(length * i / 49).matrixTransform(whole));
  const covered = (one) => {
    const { left, right, top, bottom } = one.getBoundingClientRect();
    return points.some(({ x, y }) =>
      x > left && x < right && y > top && y < bottom);
  };
  return [...board.querySelectorAll("text")].filter(covered)
    .map((one) => one.textContent).filter((text) => text.endsWith("%"));
}"""
"""The percentages that lie under the query's arrow."""


@about("plane")
def test_no_percentage_lies_under_the_query(figure):
    for x, y in ((0.3, 2), (0, 4), (2, 1), (3, 0), (-2, 2), (0.8, 1.8)):
        figure.get_by_label("Query, alive", exact=True).fill(str(x))
        figure.get_by_label("Query, can be played", exact=True).fill(str(y))
        assert figure.evaluate(COVERED) == [], (x, y)


def test_keys_are_moved_by_the_keyboard_and_say_where_they_are(browser):
    with from_disk(browser, "04_attention.html") as page:
        figure = page.locator("[data-live=plane]")
        key = figure.get_by_role("slider", name="Key of milk")
        key.focus()
        for name in [*["ArrowUp"] * 20, "ArrowRight"]:
            page.keyboard.press(name)
        where = key.get_attribute("aria-valuetext")
        assert where == "alive 0.10, can be drunk 3.10"
        drawn = figure.locator("svg").first.locator("text", has_text="milk")
        assert drawn.text_content() == "milk 98 %"


LIT = """(frame) => {
  const { top, bottom, height } = frame.getBoundingClientRect();
  return [...frame.querySelectorAll(".is-lit")]
    .map((one) => one.getBoundingClientRect())
    .some((box) => Math.min(bottom, box.bottom) - Math.max(top, box.top)
      > 0.9 * Math.min(height, box.height));
}"""
"""Whether a part that is lit is in the window of the picture, or fills it."""
LABELS = "(all) => all.map((one) => one.getAttribute('aria-label'))"


@about("walk")
def test_the_whole_is_stepped_through(figure):
    window = figure.locator("[data-lv=window]").element_handle()
    step = figure.get_by_role("button", name="Next", exact=True)
    shape = figure.locator("[data-lv=shape]")
    ribbons = figure.locator(".lv-strips path")
    assert (shape.inner_text(), ribbons.count()) == ("6 × 128", 0)
    figure.get_by_label("Step").fill("2")
    assert ribbons.count() > 15
    figure.get_by_label("Step").fill("0")
    lit, told = set(), set()
    for _ in range(15):
        told.add(said(figure, status="said"))
        figure.page.wait_for_function(LIT, arg=window)
        lit |= {*figure.locator(".is-lit").evaluate_all(LABELS)}
        if step.is_enabled():
            step.click()
    assert len(lit) >= 9 and len(told) == 15
    assert shape.inner_text() == "7 × 128"
    assert figure.locator("[data-lv=written]").inner_text().endswith("eos")


@about("free-translator")
def test_the_larger_translator_translates_again_and_again(figure):
    go = figure.get_by_role("button", name="ranslate")
    figure.get_by_label("Japanese to English").check()
    go.click()
    said(figure, "It's raining since yesterday.")
    glosses = figure.locator("[data-lv=source] small").all_inner_texts()
    assert {"since", "rain", "subject", "end"} <= {*glosses}
    pressed = figure.locator("[data-lv=target] [aria-pressed=true] > [lang]")
    chosen = pressed.inner_text()
    assert chosen.isalpha() and chosen != "eos"
    figure.get_by_label("English to Japanese").check()
    for sentence, word in (("“I like dogs.”", "犬"), ("It is a cat.", "猫")):
        figure.get_by_label("Your sentence").fill(sentence)
        go.click()
        told = figure.locator(".lv-status > [lang=ja]", has_text=word)
        told.wait_for(timeout=60_000)
    words = figure.locator("[data-lv=target] [lang=ja]").all_inner_texts()
    assert "".join(words[:-1]).replace("␣", "") == told.inner_text()
    assert "猫 cat" in figure.locator(".lv-status small").inner_text()
    assert figure.locator(".lv-ribbons").count() == 1


def test_without_scripts_there_are_translations_and_folds(browser):
    with from_disk(browser, PAGE, java_script_enabled=False) as page:
        assert page.get_by_text("エミはピアノを弾く。").first.is_visible()
        assert page.locator(".guess summary").first.is_visible()
        assert page.locator(".lv-still").first.is_visible()
        assert not page.locator(".lv-caption:visible").count()
