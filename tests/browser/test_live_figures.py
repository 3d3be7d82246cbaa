"""The figures that answer, used by pointer and keyboard, from a disk."""

import pytest
from browsing import from_disk, script
from built_book import SITE, not_ready

PAGE = "00_watch_it_translate.html"


@pytest.fixture
def opened(browser):
    """Chapter 00, opened from a disk."""
    with from_disk(browser, PAGE) as page:
        yield page


def written(figure):
    """The words of a translator, once it has written the last one."""
    figure.locator("[data-lv=target]").get_by_text("eos").wait_for()
    return figure.locator("[data-lv=target] [lang=ja]").all_inner_texts()


def written_in_english(figure):
    """The glosses of what it writes with a part switched off."""
    return figure.locator(".lv-status").inner_text().partition("Now:")[2]


def test_the_translator_writes_and_shows_where_it_attends(opened):
    figure = opened.locator("[data-live=translator]")
    words = written(figure)
    assert words == ["エミ", "は", "ピアノ", "を", "弾く", "。", "eos"]
    figure.get_by_role("button", name="ピアノ").focus()
    assert "piano" in figure.locator(".lv-looks").inner_text()
    bars = figure.locator("[data-lv=next] li")
    assert bars.count() == 4 and "ピアノ" in bars.first.inner_text()
    for ending, verb in (("tennis", "する"), ("in the park", "遊ぶ")):
        figure.get_by_label("word 3").select_option(ending)
        figure.get_by_role("button", name=verb).wait_for()


def test_a_switch_changes_what_is_written_and_names_its_chapter(opened):
    figure = opened.locator("[data-live=translator]")
    whole = written(figure)
    figure.get_by_label("Without positions").check()
    status = figure.locator(".lv-status")
    status.get_by_text("Now:").wait_for()
    assert "".join(whole[:-1]) in status.inner_text()
    assert figure.get_by_role("link", name="Chapter 03").is_visible()
    assert not figure.get_by_role("link", name="Chapter 06").is_visible()
    minimap = figure.locator("[data-note=positions] svg").bounding_box()
    assert minimap["height"] < 150


def test_a_figure_stands_alone_in_the_frame_of_a_notebook(opened):
    opened.goto(f"{opened.url}?only=live-2")
    figure = opened.locator("[data-live=plane]")
    figure.get_by_role("button", name="Start again").wait_for()
    for other in ("h1", "[data-live=translator]", ".bd-header"):
        assert not opened.locator(other).first.is_visible()


REACHED = script("reached")
"""How many empty positions a ribbon leads to."""


def test_padding_is_drawn_where_the_model_attends_to_it(opened):
    figure = opened.locator("[data-live=translator]")
    written(figure)
    empty = figure.locator(".is-empty:visible")
    assert empty.count() == 0
    figure.get_by_label("Without the padding mask").check()
    figure.locator(".lv-status", has_text="Now:").wait_for()
    assert "big book object play" in written_in_english(figure)
    written(figure)
    assert empty.count() == 12 - len("emi plays the piano . eos".split())
    assert figure.evaluate(REACHED) > 0
    figure.get_by_label("Without the padding mask").uncheck()
    figure.locator(".lv-status", has_text="It writes").wait_for()
    assert empty.count() == 0


def test_on_a_phone_no_ribbon_crosses_a_word_of_the_source(opened):
    opened.set_viewport_size({"width": 390, "height": 800})
    figure = opened.locator("[data-live=translator]")
    written(figure)
    figure.get_by_label("Without the padding mask").check()
    figure.locator(".lv-status", has_text="Now:").wait_for()
    written(figure)
    right = figure.locator("[data-lv=source]").evaluate(
        "(words) => words.getBoundingClientRect().right"
    )
    lefts = figure.locator(".lv-ribbons path").evaluate_all(
        "(all) => all.map((one) => one.getBoundingClientRect().left)"
    )
    assert lefts and min(lefts) >= right - 10  # half of the widest ribbon


def test_the_query_is_dragged_or_moved_by_keys(opened):
    figure = opened.locator("[data-live=plane]")
    figure.scroll_into_view_if_needed()
    box = figure.locator(".lv-handle.lv-query").bounding_box()
    middle = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    opened.mouse.move(*middle)
    opened.mouse.down()
    opened.mouse.move(middle[0] - 60, middle[1], steps=20)
    opened.mouse.up()
    moved = figure.locator(".lv-handle.lv-query").bounding_box()
    assert moved["x"] == pytest.approx(box["x"] - 60, abs=2)
    figure.get_by_label("Query, can be played").focus()
    opened.keyboard.press("End")
    figure.get_by_label("Query, alive").fill("0.8")
    assert "over 80 %" in figure.locator(".lv-status").inner_text()


COVERED = """(figure) => {
  const inside = (box, { x, y }, r) => x > box.left - r && x < box.right + r &&
    y > box.top - r && y < box.bottom + r;
  const board = figure.querySelector("svg");
  const [line, handle] = ["g.lv-query path", ".lv-handle.lv-query"].map(
    (one) => board.querySelector(one));
  const whole = board.getScreenCTM();
  const length = line.getTotalLength();
  const points = Array.from({ length: 50 }, (_, i) =>
    line.getPointAtLength(length * i / 49).matrixTransform(whole));
  const size = handle.getBoundingClientRect().width / 2;
  return [...board.querySelectorAll("text")]
    .filter((one) => one.textContent.endsWith("%"))
    .filter((one) => {
      const box = one.getBoundingClientRect();
      return points.some((at) => inside(box, at, 0)) ||
        inside(box, points.at(-1), 0.7 * size);
    }).map((one) => one.textContent);
}"""
"""The percentages that lie under the query's arrow or handle."""


def test_no_percentage_lies_under_the_query(opened):
    figure = opened.locator("[data-live=plane]")
    alive, played = (
        figure.get_by_label(f"Query, {name}", exact=True)
        for name in ("alive", "can be played")
    )
    assert figure.evaluate(COVERED) == []
    for x, y in ((0.3, 2), (0, 4), (2, 1), (3, 0), (-2, 2), (0.8, 1.8)):
        alive.fill(str(x))
        played.fill(str(y))
        assert figure.evaluate(COVERED) == [], (x, y)


def test_keys_are_moved_by_the_keyboard_and_say_where_they_are(browser):
    with from_disk(browser, "04_attention.html") as page:
        figure = page.locator("[data-live=plane]")
        key = figure.get_by_role("slider", name="Key of milk")
        key.focus()
        for _ in range(20):
            page.keyboard.press("ArrowUp")
        page.keyboard.press("ArrowRight")
        where = key.get_attribute("aria-valuetext")
        assert where == "alive 0.10, can be drunk 3.10"
        assert key.evaluate("(key) => key === document.activeElement")
        drawn = figure.locator("svg").first.locator("text", has_text="milk")
        assert drawn.text_content() == "milk 98 %"


def test_a_finger_on_the_query_does_not_move_the_page(opened):
    board = opened.locator("[data-live=plane] svg").first
    action = board.evaluate("(board) => getComputedStyle(board).touchAction")
    assert action == "none"


LIT = """(frame) => {
  const { top, bottom, height } = frame.getBoundingClientRect();
  return [...frame.querySelectorAll(".is-lit")]
    .map((one) => one.getBoundingClientRect())
    .some((box) => Math.min(bottom, box.bottom) - Math.max(top, box.top)
      > 0.9 * Math.min(height, box.height));
}"""
"""Whether a part that is lit is in the window of the picture, or fills it."""


def test_the_whole_is_stepped_through(opened):
    figure = opened.locator("[data-live=walk]")
    window = figure.locator("[data-lv=window]")
    step = figure.get_by_role("button", name="Next", exact=True)
    step.wait_for()
    shape = figure.locator("[data-lv=shape]")
    ribbons = figure.locator(".lv-strips path")
    assert (shape.inner_text(), ribbons.count()) == ("6 × 128", 0)
    figure.get_by_label("Step").fill("2")
    assert ribbons.count() > 15
    figure.get_by_label("Step").fill("0")
    lit, said = set(), set()
    for _ in range(15):
        said.add(figure.locator("[data-lv=said]").inner_text())
        opened.wait_for_function(LIT, arg=window.element_handle())
        lit |= set(
            figure.locator(".is-lit").evaluate_all(
                "(all) => all.map((one) => one.getAttribute('aria-label'))"
            )
        )
        if step.is_enabled():
            step.click()
    assert len(lit) >= 9
    assert len(said) == 15
    assert shape.inner_text() == "7 × 128"
    assert figure.locator("[data-lv=written]").inner_text().endswith("eos")


def test_the_larger_translator_translates_again_and_again(opened):
    figure = opened.locator("[data-live=free-translator]")
    figure.get_by_label("Japanese to English").check()
    figure.get_by_role("button", name="ranslate").click()
    figure.locator(".lv-status", has_text="rain").wait_for(timeout=60_000)
    glosses = figure.locator("[data-lv=source] small").all_inner_texts()
    assert {"since", "rain", "subject", "end"} <= {*glosses}
    pressed = figure.locator("[data-lv=target] [aria-pressed=true] > [lang]")
    chosen = pressed.inner_text()
    assert chosen.isalpha() and chosen != "eos"
    figure.get_by_label("English to Japanese").check()
    for sentence, word in (("I like dogs.", "犬"), ("It is a cat.", "猫")):
        figure.get_by_label("Your sentence").fill(sentence)
        figure.get_by_role("button", name="ranslate").click()
        status = figure.locator(".lv-status")
        told = status.locator("> [lang=ja]", has_text=word)
        told.wait_for(timeout=60_000)
    words = figure.locator("[data-lv=target] [lang=ja]").all_inner_texts()
    assert "".join(words[:-1]).replace("␣", "") == told.inner_text()
    assert "猫 cat" in status.locator("small").inner_text()
    assert figure.locator(".lv-ribbons").count() == 1


def test_without_scripts_there_are_translations_and_folds(browser):
    if reason := not_ready():
        pytest.skip(reason)
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto((SITE / PAGE).as_uri())
    assert page.get_by_text("エミはピアノを弾く。").first.is_visible()
    assert page.locator(".guess summary").first.is_visible()
    context.close()
