"""The figures in chapters 00, 07, 08, 12 and 13: what they say is what Python
computes."""

import numpy as np
import pytest
import torch
from browsing import about, numbers, said, slide
from test_live import loaded, source

from experiments import senses, store
from transformer_course.data.plain import from_plain, to_plain
from transformer_course.data.tokenizer import BOS, EOS, PAD
from transformer_course.decoding.generate import (
    beam_search,
    greedy_search,
    keep_top_p,
)
from transformer_course.interpretation.hooks import Head, patch_heads, record
from transformer_course.training.loop import learning_rate

CROSS = "decoder.layers.1.cross_attention"
SHOWN = 6


# --- heads -------------------------------------------------------------------


def greedy_with_chance(src):
    """What greedy search writes, and its probability in percent."""
    model = loaded("grammar").model
    [ids] = greedy_search(model, src)
    row = torch.tensor([[BOS, *ids, EOS]])
    logits = model(src, row[:, :-1])
    logits[..., [PAD, BOS]] = -torch.inf
    log_p = logits.log_softmax(dim=-1).gather(-1, row[:, 1:, None])
    return ids, 100 * log_p.sum().exp().item()


@about("heads")
@torch.inference_mode()
def test_heads_are_switched_off(figure):
    model, tokenizer, *_ = loaded("grammar")
    src = source("grammar", ["the women will not drink tea ."])
    _, whole = greedy_with_chance(src)
    [percent] = numbers(said(figure, "All heads are on"))
    assert percent == pytest.approx(whole, abs=0.06)
    figure.get_by_role("checkbox", name="cross 2.1").press("Space")
    figure.get_by_role("checkbox", name="cross 2.2").click()
    figure.get_by_role("checkbox", name="cross 2.4").click()
    said(figure, "Without cross 2.1, cross 2.2, cross 2.4")
    off = {Head(CROSS, number): 0.0 for number in (0, 1, 3)}
    with patch_heads(model, off):
        ids, _ = greedy_with_chance(src)
    rows = figure.locator("[data-lv=rows] [lang=ja]").all_inner_texts()
    assert rows[1] == tokenizer.decode(ids).replace(" ", "") != rows[0]

    figure.get_by_role("button", name="All on").click()
    figure.get_by_role("checkbox", name="cross 2.1").click()
    percents = numbers(said(figure, "Without cross 2.1 it"))[-2:]
    with patch_heads(model, {Head(CROSS, 0): 0.0}):
        _, chance = greedy_with_chance(src)
    assert percents == pytest.approx([chance, whole], abs=0.06)


@about("heads")
def test_ribbons_are_those_of_the_head_chosen(figure):
    looks = figure.locator(".lv-looks")
    ribbons = figure.locator(".lv-ribbons path")
    figure.locator("[data-lv=target]").get_by_text("eos").wait_for()
    of_all, every = looks.inner_text(), ribbons.count()
    seen = figure.get_by_label("Ribbons of")
    seen.select_option("cross 2.1")
    assert looks.inner_text() != of_all and 0 < ribbons.count() < every
    figure.get_by_role("checkbox", name="cross 2.1").click()
    said(figure, "Without cross 2.1")
    figure.get_by_text("It attends to nothing.").wait_for()
    assert ribbons.count() == 0


# --- search ------------------------------------------------------------------


@about("search")
def test_the_tree_is_that_of_the_search(figure):
    model, tokenizer, *_ = loaded("grammar")
    text = "taro was not busy , but he was tall ."
    figure.get_by_label("Sentence").select_option(text)
    slide(figure, "Beam size", "Home", "ArrowRight")  # 2
    halves = set()
    for alpha, keys in ((0.0, ["Home"]), (1.0, ["ArrowRight"] * 10)):
        slide(figure, "α", *keys)
        steps = []
        src, settings = source("grammar", [text]), {"alpha": alpha}
        settings |= {"beam_size": 2, "on_step": steps.append}
        [beam] = beam_search(model, src, **settings)
        written = tokenizer.decode(beam[0].ids).replace(" ", "")
        said(figure, f"ended with {written}")
        halves.add(written)
        figure.locator("xpath=self::*[@aria-busy='false']").wait_for()
        slide(figure, "Steps", "Home", "ArrowRight", "ArrowRight")
        line = said(figure, "Step 3:")
        best = steps[2].scores[0].flatten().topk(SHOWN).values.tolist()
        assert numbers(line)[1:4] == pytest.approx(best[:3], abs=0.006)
        drawn = figure.locator("g text:last-child").all_text_contents()
        assert [numbers(one)[0] for one in drawn[-SHOWN:]] == pytest.approx(
            best, abs=0.006
        )
        kept = figure.locator("g:not(.is-pruned)").count()
        assert (len(drawn), kept) == (3 * SHOWN, 3 * 2)
    assert len(halves) == 2


@about("search")
@torch.inference_mode()
def test_chances_follow_temperature_and_top_p(figure):
    figure.get_by_label("Sampling").check()
    said(figure, "Drawn:")
    src = source("grammar", ["cats drink milk ."])
    logits = loaded("grammar").model(src, torch.tensor([[BOS]]))[:, 0]
    logits[:, [PAD, BOS]] = -torch.inf
    for temperature, top_p, keys in (
        (2.0, 1.0, [("Temperature", "End"), ("Top-p", "End")]),
        (2.0, 0.95, [("Top-p", "ArrowLeft")]),
        (0.1, 0.95, [("Temperature", "Home")]),
    ):
        for one in keys:
            slide(figure, *one)
        kept = keep_top_p(logits / temperature, top_p).softmax(dim=-1)[0]
        line = said(figure, f"{int((kept > 0).sum())} word")
        assert numbers(line)[-1] == pytest.approx(
            100 * kept.max().item(), abs=0.06
        )
        bars = figure.locator("[data-lv=bars] .lv-share").all_inner_texts()
        for bar, chance in zip(bars, kept.topk(SHOWN).values, strict=True):
            if chance < 0.001:
                assert bar == ("< 0.1\u00a0%" if chance > 0 else "cut")
            else:
                [percent] = numbers(bar)
                assert percent == pytest.approx(100 * chance.item(), abs=0.06)
    figure.get_by_role("button", name="Draw a sentence").click()
    said(figure, "Drawn: 猫はミルクを飲む。")  # it is cold: as greedy search


# --- river -------------------------------------------------------------------


def size(vector):
    return vector.square().mean().sqrt().item()


@about("river")
def test_the_river_has_the_sizes_of_the_stream(figure):
    src = source("grammar", ["cats drink milk ."])
    given, gave = record(loaded("grammar").model, src, torch.tensor([[BOS]]))
    every = ["self_attention", "cross_attention", "feed_forward"]
    for word, side, parts in (
        ("cats", "encoder", every[::2]),
        ("bos start", "decoder", every),
    ):
        figure.get_by_label("Word").select_option(word)
        slide(figure, "Depth", "Home")
        said(figure, "No norm stands here")
        depth = 0
        for layer in (f"{side}.layers.0", f"{side}.layers.1"):
            for i, part in enumerate(parts, start=1):
                depth += 1
                slide(figure, "Depth", "ArrowRight")
                line = said(figure, f"Depth {depth},")
                name = f"{layer}.add_norm_{i}"
                into, added = given[name][0][0, 0], gave[f"{layer}.{part}"]
                added, out = added[0, 0], gave[name][0, 0]
                wanted = [*map(size, (into, added, into + added, out))]
                wanted += [torch.cosine_similarity(into, out, dim=0).item()]
                assert numbers(line)[-5:] == pytest.approx(wanted, abs=0.006)
                tap = figure.locator(".is-now .is-small").first
                [shown] = numbers(tap.text_content())
                assert shown == pytest.approx(size(added), abs=0.006)


# --- senses ------------------------------------------------------------------

TRAIL = """(trail) => trail.getAttribute("d").slice(1).split("L")
  .map((point) => point.split(" ").map(Number))"""


def trail(figure):
    """The points, in pixels, that the chosen sentence has gone through."""
    chosen = figure.locator(".lv-trail.is-now")
    return np.array(chosen.evaluate(TRAIL))


@about("senses")
def test_a_sentence_of_the_figure_goes_where_it_went_in_python(figure):
    stored = store.read_json(store.folder("senses") / "play.json")
    for one in stored["sentences"]:
        ending = one["text"].removeprefix("the children play ")
        figure.get_by_label(ending.removesuffix(" .")).check()
        written = figure.locator("[data-lv=written] [lang=ja]")
        told = one["written"].replace(" ", "")
        assert "".join(written.all_inner_texts()) == told
        assert figure.locator("[data-lv=written] .is-now").count() == 1
        slide(figure, "Layer", "Home", *["ArrowRight"] * 3)
        said(figure, "After layer 3, ")
        assert len(trail(figure)) == 4
        slide(figure, "Layer", "End")
        apart = np.array(stored["means"]) - one["path"][-1]
        nearest = stored["senses"][np.linalg.norm(apart, axis=1).argmin()]
        assert nearest in said(figure, "After layer 4, ")
        pixels = trail(figure)
        scale = np.ptp(pixels, axis=0) / np.ptp(one["path"], axis=0)
        assert scale[0] == pytest.approx(scale[1], rel=1e-3)
    slide(figure, "Layer", "Home")
    said(figure, "the same vector in every sentence")


@about("senses")
@torch.inference_mode()
def test_a_sentence_of_the_reader_goes_where_it_goes_in_python(figure):
    model, tokenizer, *_ = loaded("en-ja")
    stored = store.read_json(store.folder("senses") / "play.json")
    known = np.array(stored["sentences"][0]["path"])
    pixels = trail(figure)
    scale = np.ptp(pixels[:, 0]) / np.ptp(known[:, 0])
    field = figure.get_by_label("Your sentence")
    plane = senses.Plane(*map(np.array, (stored["middle"], stored["axes"])))
    for own, status, note in (
        ("Do you play chess?", "nearest to する, suru.", ""),
        ("He asked me to play a waltz on the violin.", "but the", ""),
        ("She plays tennis on the playground.", "nearest", "“play” and “s”"),
        ("We like playing.", "nearest", "“play” and “ing”"),
    ):
        field.fill("Tom likes the playground.")
        field.press("Enter")
        said(figure, "“play”, “plays”, “played” or “playing”", "own")
        assert figure.get_by_role("radio", checked=True).count() == 0
        assert figure.locator(".lv-trail.is-now").count() == 0
        for part in ("english", "written", "status"):
            assert not figure.locator(f"[data-lv={part}]").inner_text()
        field.fill(own)
        figure.locator("[data-lv=go]").click()
        figure.get_by_text("yours").wait_for(timeout=60_000)
        said(figure, status)
        assert note in figure.locator("[data-lv=own]").inner_text()
        text = from_plain(own, "en")
        states = senses.states_of(model, tokenizer, [text], "play")
        wanted = np.array(plane.shadow(states[0]))
        moved = (trail(figure) - pixels[0]) / scale * [1, -1] + known[0]
        assert moved == pytest.approx(wanted, abs=0.3)
        [ids] = greedy_search(model, source("en-ja", [text]))
        told = to_plain(tokenizer.decode(ids), "ja")
        written = figure.locator("[data-lv=written] .lv-word > [lang=ja]")
        assert written.inner_text() == told


# --- rate --------------------------------------------------------------------


@about("rate")
def test_the_rate_is_that_of_the_schedule(figure):
    slide(figure, "Peak, in thousandths", "End")  # 2
    slide(figure, "Step", "Home", "ArrowRight")  # 200
    for keys, warmup in ((["Home"], 200), (["ArrowRight"] * 5, 1200)):
        slide(figure, "Warm-up", *keys)
        line = said(figure, "At step", "schedule-status")
        step, rate, peak, end = numbers(line)
        assert (step, peak, end) == (200, 0.002, warmup)
        own = learning_rate(200, warmup, 0.002)
        assert rate == pytest.approx(own, abs=1e-6)
    slide(figure, "Step", "End")
    line = said(figure, "falling", "schedule-status")
    own = learning_rate(20_000, 1200, 0.002)
    assert numbers(line)[1] == pytest.approx(own, abs=1e-6)


@about("rate")
@pytest.mark.parametrize("kind", ["plain gradient", "Adam"])
def test_three_steps_are_the_optimizers(figure, kind):
    figure.get_by_label(kind).check()
    for key, rate in (("Home", 0.05), ("ArrowRight", 0.1), ("End", 1.1)):
        slide(figure, "Rate", key)
        theta = torch.nn.Parameter(torch.tensor(2.0))
        optimizer = torch.optim.SGD([theta], rate)
        if kind == "Adam":
            optimizer = torch.optim.Adam([theta], rate, (0.9, 0.98), 1e-9)
        wanted = [2.0]
        for _ in range(3):
            optimizer.zero_grad()
            theta.square().backward()
            optimizer.step()
            wanted.append(theta.item())
        line = said(figure, "θ goes", "step-status")
        wanted.append(wanted[-1] ** 2)
        assert numbers(line)[:5] == pytest.approx(wanted, abs=0.006)
        assert ("too large" in line) == (wanted[-1] > 4)
