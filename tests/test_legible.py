"""A figure's letters are large enough on a phone, and its lines differ."""

import matplotlib

matplotlib.use("agg")

import matplotlib.pyplot as plt
import pytest

from transformer_course import legible, viz
from transformer_course.errors import ConfigError


@pytest.fixture(autouse=True)
def watched(monkeypatch):
    """The course's style, with every figure checked."""
    monkeypatch.setenv("TRANSFORMER_COURSE_BOOK", "1")
    with plt.rc_context():
        viz.use_style()
        yield
        plt.close("all")


def two_lines(**second):
    _, ax = plt.subplots()
    ax.plot([0, 1], label="one")
    ax.plot([1, 0], label="other", **second)
    ax.legend()
    return ax.figure


def test_the_style_can_be_read(tmp_path):
    two_lines().savefig(tmp_path / "a.png", bbox_inches="tight")


@pytest.mark.parametrize("points", [5, 12, 20])
def test_letters_shrink_as_the_screen_is_narrower_than_the_figure(points):
    plt.rcParams["figure.hooks"] = []  # some would be refused when drawn
    figure, ax = plt.subplots(figsize=(10, 2), layout="none")
    ax.set_axis_off()
    ax.text(0, 0, "a", fontsize=points)
    ax.set_position((0, 0, 1, 1))
    figure.draw_without_rendering()
    css_width = figure.get_tightbbox().width * figure.dpi
    on_screen = points / 72 * figure.dpi * legible.PHONE / css_width
    found = points * legible.point_on_phone(figure)
    assert found == pytest.approx(on_screen)


def test_a_narrow_figure_is_not_made_larger():
    figure, _ = plt.subplots(figsize=(1, 1))
    assert legible.point_on_phone(figure) == pytest.approx(figure.dpi / 72)


def test_letters_too_small_for_a_phone_are_refused_when_drawn(tmp_path):
    figure, ax = plt.subplots()
    ax.set_title("tiny", fontsize=6)
    with pytest.raises(ConfigError, match=r"'tiny'.* pixels on a phone"):
        figure.savefig(tmp_path / "a.png")


def test_what_is_not_seen_may_be_small():
    figure, ax = plt.subplots()
    ax.tick_params(labelsize=2)
    ax.axis("off")
    ax.text(0, 0, "small and hidden", fontsize=2, visible=False)
    legible.check(figure)


def test_lines_that_only_colour_tells_apart_are_refused():
    figure = two_lines(linestyle="-")
    with pytest.raises(ConfigError, match="'one' and 'other'"):
        legible.check(figure)


def test_all_dashes_of_the_style_differ():
    _, ax = plt.subplots()
    for color in viz.CYCLE:
        ax.plot([0, 1], label=color)
    ax.legend()
    legible.check(ax.figure)


@pytest.mark.parametrize("look", [{"linestyle": "--"}, {"marker": "o"}])
def test_dashes_or_markers_tell_lines_apart(look):
    legible.check(two_lines(**{"linestyle": "-"} | look))


def test_every_colour_has_dashes_of_its_own():
    assert len(set(viz.DASHES)) == len(viz.CYCLE)
    assert [viz.dash_of(color) for color in viz.CYCLE] == list(viz.DASHES)


def test_readers_figures_are_left_alone(monkeypatch, tmp_path):
    monkeypatch.delenv("TRANSFORMER_COURSE_BOOK")
    plt.rcParams["figure.hooks"] = []
    viz.use_style()
    figure, ax = plt.subplots()
    ax.set_title("tiny", fontsize=3)
    figure.savefig(tmp_path / "a.png")


def test_a_figure_without_letters_may_have_any_width():
    figure, ax = plt.subplots(figsize=(30, 2))
    ax.axis("off")
    legible.check(figure)
