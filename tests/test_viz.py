"""The figures say what they are given, and refuse what does not fit."""

import inspect

import matplotlib
import pytest
import torch

matplotlib.use("agg")

import matplotlib.pyplot as plt
from matplotlib.colors import to_rgba
from tiny import VOCAB, random_ids, tiny_transformer

from transformer_course.errors import ConfigError
from transformer_course.figures import viz
from transformer_course.figures.ribbons import ribbons
from transformer_course.models import attention

THREE = torch.tensor([[0.5, 0.05, 0.45], [0.0, 1.0, 0.0]])


@pytest.fixture(autouse=True)
def no_figure_left():
    """Every test starts and ends without open figures."""
    plt.close("all")
    yield
    plt.close("all")


def printed(ax) -> list[str]:
    return [text.get_text() for text in ax.texts]


@pytest.mark.parametrize("obj", [attention.MultiHeadAttention, attention])
def test_show_source_is_the_source(obj, monkeypatch):
    shown = []
    monkeypatch.setattr(viz, "display", shown.append)
    viz.show_source(obj)
    [block] = shown
    assert inspect.getsource(obj).strip() in block.data
    assert "`transformer_course/models/attention.py`" in block.data
    assert block.data.endswith("\n````")


def test_heatmap_prints_its_values_and_labels():
    ax = viz.heatmap(THREE, ["飲む", "b"], ["猫", "x", "y"], title="題")
    assert printed(ax) == ["0.50", "0.05", "0.45", "0.00", "1.00", "0.00"]
    assert [t.get_text() for t in ax.get_yticklabels()] == ["飲む", "b"]
    assert [t.get_text() for t in ax.get_xticklabels()] == ["猫", "x", "y"]
    assert ax.get_title() == "題"
    names = "abcdef"
    assert printed(viz.heatmap(torch.zeros(6, 6), names, names)) == []


def test_ribbons_are_as_wide_as_their_weights():
    ax = ribbons(THREE, "ab", "xyz")
    ends = {ends_of(ribbon): ribbon for ribbon in ax.patches}
    assert len(ends) == 4  # weights of 0 are not drawn
    wide, thin = ends["a", "x"], ends["a", "y"]
    assert wide.get_linewidth() == pytest.approx(10 * thin.get_linewidth())
    orange = to_rgba(viz.ATTENTION, 0.8)
    widest = [at for at, p in ends.items() if p.get_edgecolor() == orange]
    assert widest == [("a", "x"), ("b", "y")]


def ends_of(ribbon):
    """The labels that a ribbon joins."""
    (_, start), *_, (_, end) = ribbon.get_path().vertices
    ax = ribbon.axes
    left = dict(zip(ax.get_yticks(), ax.get_yticklabels(), strict=True))
    right = {text.get_position()[1]: text for text in ax.texts}
    return left[start].get_text(), right[end].get_text()


@pytest.mark.parametrize("draw", [viz.heatmap, ribbons])
@pytest.mark.parametrize(
    ("queries", "keys", "says"),
    [
        ("abc", "xyz", "3 queries given for 2 rows"),
        ("ab", "xy", "2 keys given for 3 columns"),
    ],
)
def test_an_attention_map_refuses_wrong_labels(draw, queries, keys, says):
    with pytest.raises(ConfigError, match=says):
        draw(THREE, queries, keys)
    assert not plt.get_fignums(), "an empty figure was left open"


def test_graph_draws_names_and_shapes():
    ax = viz.draw_graph(
        {"Q": (0, 0), "K": (1, 0)},
        {"softmax#1": (0.5, 1)},
        [("Q", "softmax#1", "n × d"), ("K", "softmax#1", "")],
    )
    assert {"Q", "K", "softmax", "n × d"} <= set(printed(ax))
    assert matplotlib.colors.to_hex(ax.patches[0].get_facecolor()) == (
        viz.QUERY.lower()
    )


def test_vectors_are_drawn_with_their_numbers():
    cells = viz.Cells(THREE, (0, 1), viz.KEY, "keys", rows=["猫", "b"])
    ax = viz.draw_vectors({"K": cells})
    numbers = ["0.50", "0.05", "0.45", "0", "1.00", "0"]
    assert printed(ax) == [*numbers, "猫", "b", "keys"]
    places = [cell.get_xy() for cell in ax.patches if cell.get_fill()]
    assert places == [(x, y) for y in (1, 2) for x in (0, 1, 2)]


def test_vectors_refuse_what_does_not_fit():
    with pytest.raises(ConfigError, match="3 labels given for 2 rows"):
        viz.Cells(THREE, (0, 0), rows="abc")
    assert not plt.get_fignums()


def test_attention_in_cells_is_attention():
    query, key, value = torch.randn(2, 4), torch.randn(3, 4), torch.randn(3, 2)
    cells = viz.attention_cells(query, key, value, scale=2.0, words="ab")
    output, weights = attention.scaled_dot_product_attention(query, key, value)
    torch.testing.assert_close(cells["A"].values, weights)
    torch.testing.assert_close(cells["O"].values, output)
    colors = {name: cells[name].color for name in "QKV"}
    assert colors == viz.ROLES


@pytest.mark.parametrize("norm_first", [False, True])
def test_flow_shows_the_shapes_of_any_batch(norm_first):
    n_layers = 3
    model = tiny_transformer(n_layers=n_layers, norm_first=norm_first)
    ax = viz.draw_flow(model, random_ids(3, 5), random_ids(3, 4))
    for text, count in {
        "self-attention": 2 * n_layers,
        "cross-attention": n_layers,
        "3 × 2 × 5 × 5": n_layers,  # 2 heads
        "3 × 2 × 4 × 4": n_layers,
        "3 × 2 × 4 × 5": n_layers,
        "3 × 5 × 32": n_layers,  # d_ff
        "3 × 5 × 16": 1 + 2 * n_layers,  # up to M
        "3 × 4 × 16": 1 + 3 * n_layers,
        f"3 × 4 × {VOCAB}": 1,
    }.items():
        assert printed(ax).count(text) == count, text


def test_japanese_letters_have_a_glyph(recwarn):
    viz.use_style()
    ax = viz.heatmap(THREE, ["飲む", "牛乳"], ["猫", "が", "x"], title="注意")
    ax.figure.canvas.draw()
    assert not [w for w in recwarn if "missing from" in str(w.message)]
