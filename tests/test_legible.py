"""A figure that cannot be read on a phone is refused while it is drawn."""

from pathlib import Path

import matplotlib

matplotlib.use("agg")

import matplotlib.pyplot as plt
import pytest

from transformer_course.errors import ConfigError
from transformer_course.figures import viz


@pytest.fixture(autouse=True)
def watched():
    """The course's style, with every figure checked, as in the notebooks."""
    with plt.rc_context(fname=Path(__file__).with_name("matplotlibrc")):
        viz.use_style()
        yield
        plt.close("all")


def test_lines_with_dashes_of_their_own_pass_and_others_are_refused(tmp_path):
    _, ax = plt.subplots()
    for color in viz.CYCLE:
        ax.plot([0, 1], label=color)
    ax.legend()
    ax.figure.savefig(tmp_path / "a.png")
    _, ax = plt.subplots()
    ax.plot([0, 1], label="one")
    ax.plot([1, 0], label="other", linestyle="-")
    ax.legend()
    with pytest.raises(ConfigError, match="'one' and 'other'"):
        ax.figure.savefig(tmp_path / "a.png")


def test_letters_too_small_for_a_phone_are_refused_unless_hidden(tmp_path):
    figure, ax = plt.subplots()
    ax.text(0, 0, "small and hidden", fontsize=2, visible=False)
    figure.savefig(tmp_path / "a.png")
    ax.set_title("tiny", fontsize=6)
    with pytest.raises(ConfigError, match=r"'tiny'.* pixels on a phone"):
        figure.savefig(tmp_path / "a.png")
