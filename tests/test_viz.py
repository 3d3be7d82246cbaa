"""The figures say what they are given, and refuse what does not fit."""

import inspect

import legible
import matplotlib
import pytest
import torch

matplotlib.use("agg")

import matplotlib.pyplot as plt
from IPython.display import Markdown
from matplotlib.colors import to_rgba
from tiny import VOCAB, random_ids, tiny_transformer

from transformer_course.errors import ConfigError
from transformer_course.figures import viz
from transformer_course.figures.ribbons import ribbons
from transformer_course.models import attention
from transformer_course.models.attention import MultiHeadAttention, dot_score

THREE = torch.tensor([[0.5, 0.05, 0.45], [0.0, 1.0, 0.0]])


@pytest.fixture(autouse=True)
def no_figure_left():
    """Every test starts and ends without open figures."""
    plt.close("all")
    yield
    plt.close("all")


@pytest.fixture
def shown(monkeypatch):
    """What a notebook would display, in order."""
    displayed = []
    monkeypatch.setattr(viz, "display", displayed.append)
    return displayed


def printed(ax) -> list[str]:
    return [text.get_text() for text in ax.texts]


@pytest.mark.parametrize("obj", [dot_score, MultiHeadAttention, attention])
def test_show_source_is_the_source(obj, shown):
    viz.show_source(obj)
    (block,) = shown
    assert isinstance(block, Markdown)
    assert inspect.getsource(obj).strip() in block.data
    assert "`transformer_course/models/attention.py`" in block.data
    assert block.data.count("````python\n") == 1
    assert block.data.endswith("\n````")


@pytest.mark.parametrize("obj", [torch.relu, 3])
def test_show_source_refuses_what_has_none(obj):
    with pytest.raises(ConfigError, match="no Python source"):
        viz.show_source(obj)


def test_heatmap_prints_its_values_and_labels():
    ax = viz.heatmap(THREE, ["飲む", "b"], ["猫", "x", "y"], title="題")
    assert printed(ax) == ["0.50", "0.05", "0.45", "0.00", "1.00", "0.00"]
    assert [t.get_text() for t in ax.get_yticklabels()] == ["飲む", "b"]
    assert [t.get_text() for t in ax.get_xticklabels()] == ["猫", "x", "y"]
    assert ax.get_title() == "題"


def test_heatmap_of_many_cells_prints_no_values():
    names = [str(i) for i in range(6)]
    assert printed(viz.heatmap(torch.zeros(6, 6), names, names)) == []


def test_ribbons_are_as_wide_as_their_weights():
    ax = ribbons(THREE, "ab", "xyz")
    ends = {(a, b): p for a, b, p in map(ends_of, ax.patches)}
    assert len(ends) == 4  # weights of 0 are not drawn
    wide, thin = ends["a", "x"], ends["a", "y"]
    assert wide.get_linewidth() == pytest.approx(10 * thin.get_linewidth())
    widest = [at for at, p in ends.items() if p.get_edgecolor() == ORANGE_80]
    assert widest == [("a", "x"), ("b", "y")]


ORANGE_80 = to_rgba(viz.ATTENTION, 0.8)


def ends_of(ribbon):
    """The labels that a ribbon joins, and the ribbon."""
    (_, start), *_, (_, end) = ribbon.get_path().vertices
    ax = ribbon.axes
    left = dict(zip(ax.get_yticks(), ax.get_yticklabels(), strict=True))
    right = {text.get_position()[1]: text for text in ax.texts}
    return left[start].get_text(), right[end].get_text(), ribbon


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


def test_graph_refuses_an_arrow_to_nowhere():
    with pytest.raises(ConfigError, match="needs a place for 'V'"):
        viz.draw_graph({"Q": (0, 0)}, {}, [("Q", "V", "")])
    assert not plt.get_fignums()


def filled(ax) -> list:
    return [patch for patch in ax.patches if patch.get_fill()]


def test_vectors_are_drawn_with_their_numbers():
    cells = viz.Cells(THREE, (0, 1), viz.KEY, "keys", rows=["猫", "b"])
    ax = viz.draw_vectors({"K": cells})
    numbers = ["0.50", "0.05", "0.45", "0", "1.00", "0"]
    assert printed(ax) == [*numbers, "猫", "b", "keys"]
    places = [patch.get_xy() for patch in filled(ax)]
    assert places == [(x, y) for y in (1, 2) for x in (0, 1, 2)]


def test_vectors_refuse_what_does_not_fit():
    with pytest.raises(ConfigError, match="3 labels given for 2 rows"):
        viz.Cells(THREE, (0, 0), rows="abc")
    with pytest.raises(ConfigError, match="2 labels given for 3 columns"):
        viz.Cells(THREE, (0, 0), columns="ab")
    with pytest.raises(ConfigError, match="needs a place for 'b'"):
        viz.draw_vectors({"a": viz.Cells(THREE, (0, 0))}, [("a", "b", "")])
    assert not plt.get_fignums()


def test_attention_in_cells_is_attention():
    query, key, value = torch.randn(2, 4), torch.randn(3, 4), torch.randn(3, 2)
    cells = viz.attention_cells(query, key, value, scale=2.0, words="ab")
    output, weights = attention.scaled_dot_product_attention(query, key, value)
    torch.testing.assert_close(cells["A"].values, weights)
    torch.testing.assert_close(cells["O"].values, output)
    colors = {name: cells[name].color for name in "QKV"}
    assert colors == viz.ROLES


@pytest.mark.parametrize("n_layers", [1, 3])
@pytest.mark.parametrize("norm_first", [False, True])
def test_flow_shows_the_shapes_of_any_batch(n_layers, norm_first):
    model = tiny_transformer(n_layers=n_layers, norm_first=norm_first)
    ax = viz.draw_flow(model, random_ids(3, 5), random_ids(3, 4))
    texts = printed(ax)
    assert texts.count("self-attention") == 2 * n_layers
    assert texts.count("cross-attention") == n_layers
    assert texts.count("3 × 2 × 5 × 5") == n_layers  # 2 heads
    assert texts.count("3 × 2 × 4 × 4") == n_layers
    assert texts.count("3 × 2 × 4 × 5") == n_layers
    assert texts.count("3 × 5 × 32") == n_layers  # d_ff
    assert texts.count("3 × 5 × 16") == 1 + 2 * n_layers  # up to M
    assert texts.count("3 × 4 × 16") == 1 + 3 * n_layers
    assert texts.count(f"3 × 4 × {VOCAB}") == 1


def test_flow_can_be_read_on_a_phone():
    viz.use_style()
    model = tiny_transformer(d_model=128, d_ff=512)
    ax = viz.draw_flow(model, random_ids(3, 10), random_ids(3, 14))
    ax.figure.canvas.draw()
    legible.check(ax.figure)


def test_flow_refuses_what_the_model_refuses():
    outside = torch.full((2, 4), VOCAB)
    with pytest.raises(ConfigError, match="outside"):
        viz.draw_flow(tiny_transformer(), random_ids(2, 4), outside)
    assert not plt.get_fignums()


def test_japanese_letters_have_a_glyph(recwarn):
    viz.use_style()
    ax = viz.heatmap(THREE, ["飲む", "牛乳"], ["猫", "が", "x"], title="注意")
    ax.figure.canvas.draw()
    assert not [w for w in recwarn if "missing from" in str(w.message)]
