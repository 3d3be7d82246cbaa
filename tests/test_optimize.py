"""What is only for speed computes the same as what is plain."""

import copy
import threading
import time

import pytest
import torch
import torch.nn.functional as F
from tiny import close, random_ids, tiny_transformer, with_bos
from torch import nn

from transformer_course.cli import texts
from transformer_course.decoding.translate import Searches, translate
from transformer_course.errors import ConfigError
from transformer_course.inference.text_model import TextModel
from transformer_course.models import optimize as speed
from transformer_course.models.attention import fused_attention
from transformer_course.models.optimize import dropout, faster_layers, linear


@pytest.fixture
def amd(monkeypatch):
    """A processor whose products go to oneDNN."""
    monkeypatch.setattr(speed, "onednn_is_faster", lambda: True)


def gradients(way, *tensors):
    """The output, and the gradients of a sum that weighs it."""
    own = [t.clone().requires_grad_() for t in tensors if t is not None]
    output = way(*own)
    weights = torch.linspace(-1, 1, output.numel()).view(output.shape)
    (output * weights).sum().backward()
    return output, *(tensor.grad for tensor in own)


@pytest.mark.parametrize("biased", [True, False])
@pytest.mark.parametrize("shape", [(5, 8), (8,), (3, 7, 8), (1, 1, 8)])
def test_a_product_and_its_gradients_are_those_of_torch(shape, biased):
    given = [torch.randn(shape), torch.randn(6, 8)]
    given += [torch.randn(6)] if biased else [None]

    def plain(x, weight, bias=None):
        return F.linear(x, weight, bias)

    def fast(x, weight, bias=None):
        return linear(x, weight, bias)

    for ours, theirs in zip(
        gradients(fast, *given), gradients(plain, *given), strict=True
    ):
        close(ours, theirs)


def test_a_products_rows_are_padded_to_few_numbers(monkeypatch):
    """oneDNN keeps something for each."""
    met = set()

    def noted(a, b, bias=None):
        met.add((*a.shape, *b.shape))
        return F.linear(a, b, bias)

    monkeypatch.setattr(speed, "product", noted)
    for rows in range(129, 257):
        x = torch.randn(rows, 8)
        gradients(lambda a, w: linear(a, w, None), x, torch.randn(6, 8))
    assert len(met) == 3 * len({160, 192, 224, 256})


def test_padded_sizes_waste_at_most_a_quarter():
    sizes = [speed.padded_size(rows) for rows in (1, 7, 8, 9, 1025)]
    assert sizes == [1, 7, 8, 10, 1280]
    for rows in range(1, 3000):
        assert rows <= speed.padded_size(rows) <= 1.25 * rows


def test_products_that_are_not_in_full_precision_are_left_to_torch():
    x, weight = torch.randn(3, 8), torch.randn(6, 8)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert linear(x, weight, None).dtype == torch.bfloat16
    double = linear(x.double(), weight.double(), None)
    assert torch.equal(double, F.linear(x.double(), weight.double()))


@pytest.mark.parametrize("share", [0.1, 0.3, 0.5])
def test_dropout_drops_its_share_and_scales_the_rest(share):
    torch.manual_seed(0)
    count = 200_001  # not a whole number of fours
    x = torch.ones(3, count // 3, requires_grad=True)
    y = dropout(x, share)
    dropped = (y == 0).double().mean().item()
    spread = (share * (1 - share) / count) ** 0.5
    assert abs(dropped - share) < 5 * spread
    close(y[y != 0], torch.full_like(y[y != 0], 1 / (1 - share)), 1e-4)
    y.sum().backward()
    assert torch.equal(x.grad, y.detach())


def test_what_dropout_drops_is_drawn_from_torchs_own_generator():
    x = torch.ones(1000)
    torch.manual_seed(1)
    first, other = dropout(x, 0.5), dropout(x, 0.5)
    torch.manual_seed(1)
    assert torch.equal(dropout(x, 0.5), first)
    assert not torch.equal(first, other)


def test_neighbours_are_dropped_independently():
    torch.manual_seed(0)
    kept = (dropout(torch.ones(40_000), 0.5) > 0).double() - 0.5
    for step in (1, 2, 3, 4):  # four numbers come from one draw
        together = (kept[step:] * kept[:-step]).mean().item() * 4
        assert abs(together) < 5 / 40_000**0.5


@pytest.mark.parametrize("share", [0.0, 1.0, 1e-9])
def test_no_share_and_the_whole_are_torchs(share):
    x = torch.randn(7)
    close(dropout(x, share), F.dropout(x, share))


class Part(nn.Module):
    """Two products, with dropout between them."""

    def __init__(self):
        super().__init__()
        self.wide, self.narrow = nn.Linear(8, 16), nn.Linear(16, 8, bias=False)
        self.dropout = nn.Dropout(0.5)

    def forward(self, x):
        return self.narrow(self.dropout(self.wide(x)))


def test_layers_are_faster_meanwhile_and_as_before_after_it(amd):
    model = Part().eval()
    x = torch.randn(4, 8)
    plain = model(x)
    with faster_layers(model):
        assert "forward" in vars(model.wide)
        close(model(x), plain)
        model.train()
        torch.manual_seed(0)
        drawn = model(x)
        assert not torch.allclose(drawn, plain)
    for layer in model.modules():
        assert "forward" not in vars(layer)
    assert torch.equal(model.eval()(x), plain)
    copy.deepcopy(model)


def test_a_copy_of_a_faster_model_has_layers_of_its_own(amd):
    model, x = Part().eval(), torch.randn(4, 8)
    with faster_layers(model):
        other = copy.deepcopy(model).train()
        torch.manual_seed(0)
        drawn = other(x)
        assert not torch.allclose(drawn, model(x))  # it drops
        drawn.sum().backward()
    assert other.wide.weight.grad is not None
    assert model.wide.weight.grad is None


def test_faster_layers_within_faster_layers(amd):
    model = tiny_transformer()
    with faster_layers(model):
        with faster_layers(model):
            pass
        part = model.encoder.layers[0].self_attention
        assert part.attend is speed.attention
    assert "attend" not in vars(part)


@pytest.mark.parametrize(
    ("amd_family", "by_onednn"), [(25, False), (26, True), (None, False)]
)
def test_who_computes_a_products_gradients(
    amd, monkeypatch, amd_family, by_onednn
):
    """Without gradients oneDNN, which keeps something for each shape."""
    monkeypatch.setattr(speed, "cpu_family", lambda: amd_family)
    taken = []

    def counted(*given):
        taken.append(given)
        return F.linear(*given)

    monkeypatch.setattr(speed, "linear", counted)
    layer = nn.Linear(8, 6)
    with faster_layers(layer):
        layer(torch.randn(3, 8)).sum().backward()
        assert len(taken) == int(by_onednn)
        with torch.inference_mode():
            layer(torch.randn(3, 8))
        assert len(taken) == int(by_onednn) + 1


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("rows", [1, 5, speed.PACKED_FOR, 300])
def test_packed_weights_give_what_plain_ones_give(amd, rows, dtype):
    model = Part().eval().to(dtype)
    x = torch.randn(rows, 8).to(dtype)
    with torch.inference_mode():
        plain = model(x)
        speed.pack_weights(model)
        within = 1e-5 if dtype == torch.float32 else 2**-6
        close(model(x), plain, within)
        close(model(x[:, None]), plain[:, None], within)
        assert model(x[:0]).shape == (0, 8)


def test_packed_weights_are_taken_without_gradients_alone(amd, monkeypatch):
    model, x = Part().eval(), torch.randn(4, 8)
    speed.pack_weights(model)
    taken = []

    def counted(*given):
        taken.append(given)
        return F.linear(given[0], torch.zeros(16, 8))

    monkeypatch.setattr(speed, "product", counted)
    model.wide(x).sum().backward()
    close(model.wide.weight.grad, x.sum(dim=0).expand(16, 8))
    with torch.inference_mode(), torch.autocast("cpu", torch.bfloat16):
        assert model.wide(x).dtype == torch.bfloat16
    with torch.inference_mode():
        model.wide(x.double().float())
        assert model.wide(x[:0]).shape == (0, 16)
    assert len(taken) == 1


def test_what_onednn_does_not_compute_is_not_packed(amd):
    model = Part().double()
    speed.pack_weights(model)
    assert "forward" not in vars(model.wide)


def test_no_rows_have_gradients_of_zero():
    """An expert may get no token."""
    x = torch.randn(0, 8, requires_grad=True)
    weight = torch.randn(6, 8, requires_grad=True)
    linear(x, weight, None).sum().backward()
    assert x.grad.shape == (0, 8) and not weight.grad.any()


def test_a_products_gradient_has_no_gradient():
    x, weight = torch.randn(3, 8), torch.randn(6, 8, requires_grad=True)
    [slope] = torch.autograd.grad(
        linear(x, weight, None).square().sum(), weight, create_graph=True
    )
    with pytest.raises(RuntimeError, match="once_differentiable"):
        slope.sum().backward()


def test_an_old_c_library_is_asked_for_less(monkeypatch):
    """One before 2.35 refuses more than half of a heap."""
    asked = []

    class Old:
        def mallopt(self, what, value):
            asked.append((what, value))
            return int(what == -1 or value <= 2**25)

    monkeypatch.setattr(speed.ctypes, "CDLL", lambda name: Old())
    speed.keep_freed_memory()
    assert asked == [(-3, 2**30), (-3, 2**25), (-1, 2**30)]


def test_layers_are_as_before_after_an_error(amd):
    model = Part()
    with pytest.raises(ZeroDivisionError), faster_layers(model):
        raise ZeroDivisionError
    assert "forward" not in vars(model.dropout)


@pytest.mark.parametrize("queries", [1, 5, speed.FEW, speed.FEW + 1])
@pytest.mark.parametrize("masked", [False, True])
def test_few_queries_get_what_the_fused_kernel_gives(queries, masked):
    torch.manual_seed(0)
    q, k, v = (torch.randn(2, 3, n, 8) for n in (queries, 7, 7))
    mask = None
    if masked:
        mask = torch.rand(2, 1, queries, 7) > 0.3
        mask[0, 0, 0] = False  # a row that may attend nowhere
    expected = fused_attention(q, k, v, mask)
    with torch.inference_mode():
        close(speed.attention(q, k, v, mask), expected)


@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("queries", [1, 7, 32])
def test_in_short_texts_gradients_are_those_of_the_fused_kernel(
    queries, masked
):
    torch.manual_seed(0)
    tensors = [torch.randn(2, 3, n, 8) for n in (queries, 9, 9)]
    mask = None
    if masked:
        mask = torch.rand(2, 1, queries, 9) > 0.3
        mask[0, 0, 0] = False  # a row that may attend nowhere
    found, wanted = (
        gradients(lambda q, k, v, way=way: way(q, k, v, mask), *tensors)
        for way in (speed.attention, fused_attention)
    )
    for one, other in zip(found, wanted, strict=True):
        close(one, other)


def test_in_bf16_they_are_as_near_as_its_digits():
    torch.manual_seed(0)
    narrow = torch.randn(3, 2, 3, 20, 8).bfloat16()
    found = gradients(lambda *t: speed.attention(*t, None), *narrow)
    wanted = gradients(lambda *t: fused_attention(*t, None), *narrow.float())
    for one, other in zip(found, wanted, strict=True):
        assert one.dtype == torch.bfloat16
        close(one.float(), other, 0.03)


LONGEST = speed.SHORT[torch.bfloat16]


@pytest.mark.parametrize(
    ("dtype", "queries", "keys", "fused"),
    [
        (torch.float32, 32, 32, False),
        (torch.float32, 33, 32, True),
        (torch.float32, 32, 33, True),
        (torch.bfloat16, LONGEST, LONGEST, False),
        (torch.bfloat16, LONGEST, LONGEST + 1, True),
        (torch.float64, 1, 1, True),
    ],
)
def test_with_gradients_long_texts_are_left_to_the_fused_kernel(
    dtype, queries, keys, fused, monkeypatch
):
    called = []

    def kernel(query, key, value, mask):
        called.append(query)
        return query

    monkeypatch.setattr(speed, "fused_attention", kernel)
    tensors = [torch.zeros(1, 1, n, 4, dtype=dtype) for n in (queries, keys)]
    speed.attention(tensors[0], tensors[1], tensors[1], None)
    assert len(called) == fused


def test_attention_is_faster_meanwhile_and_as_before_after_it():
    model = tiny_transformer(seed=1).eval()
    src, tgt = random_ids(2, 5), with_bos(random_ids(2, 4))
    with torch.inference_mode():
        plain = model(src, tgt)
        with faster_layers(model):
            layer = model.decoder.layers[0].self_attention
            assert layer.attend is speed.attention
            close(model(src, tgt), plain)
        assert "attend" not in vars(layer)


def test_layers_of_other_kinds_are_left_alone(amd):
    class Own(nn.Linear):
        """A reader's own layer."""

    model = nn.Sequential(Own(8, 8), nn.ReLU())
    with faster_layers(model):
        assert "forward" not in vars(model[0])


def test_a_model_in_bf16_translates_nearly_alike(finished):
    used = TextModel.load(finished, "cpu", as_is=True, bf16=True)
    plain = TextModel.load(finished, "cpu", as_is=True)
    assert {p.dtype for p in used.model.parameters()} == {torch.bfloat16}
    src, tgt = torch.tensor([[5, 6, 7, 3]]), torch.tensor([[2, 5, 6]])
    with torch.inference_mode():
        rounded = used.model(src, tgt).float().softmax(dim=-1)
        close(rounded, plain.model(src, tgt).softmax(dim=-1), 0.05)
    assert len(used.translate(["i like dogs ."], 2, 0.6)) == 1


@pytest.fixture
def two_threads():
    """torch on two threads, wherever this runs."""
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    yield
    torch.set_num_threads(before)


@pytest.mark.parametrize("batches", range(6))
def test_batches_side_by_side_are_found_in_their_order(two_threads, batches):
    sources = [torch.tensor([[i]]) for i in range(batches)]
    found = list(speed.side_by_side(lambda src: int(src) ** 2, sources))
    assert found == [i**2 for i in range(batches)]
    assert torch.get_num_threads() == 2


def test_batches_side_by_side_are_there_at_the_same_time(two_threads):
    meeting = threading.Barrier(2)

    def search(src):
        if int(src) < 2:  # what has a thread of its own waits for the other
            meeting.wait(timeout=60)
        return torch.get_num_threads()

    sources = [torch.tensor(i) for i in range(3)]
    assert list(speed.side_by_side(search, sources)) == [1, 1, 2]


def test_on_one_thread_batches_come_one_by_one(two_threads):
    torch.set_num_threads(1)
    under_way = threading.Lock()

    def search(src):
        assert under_way.acquire(blocking=False)
        time.sleep(0.02)  # would another have begun meanwhile?
        under_way.release()
        return int(src)

    found = speed.side_by_side(search, [torch.tensor(i) for i in range(3)])
    assert list(found) == [0, 1, 2]
    assert torch.get_num_threads() == 1


def test_an_error_beside_others_is_told_and_ends_them(two_threads):
    begun, told = [], threading.Event()

    def search(src):
        begun.append(int(src))
        if int(src) == 0:
            raise ConfigError("no")
        told.wait(timeout=60)  # the others take until the error is told

    pool = speed.side_by_side(search, [torch.tensor(i) for i in range(40)])
    later = threading.Timer(0.5, told.set)
    later.start()
    with pytest.raises(ConfigError, match="^no$"):
        list(pool)
    later.join()
    assert len(begun) <= 3  # the wrong one, and one on each thread
    assert torch.get_num_threads() == 2
    new = []  # a thread that starts later has the number of before, too
    thread = threading.Thread(
        target=lambda: new.append(torch.get_num_threads())
    )
    thread.start()
    thread.join()
    assert new == [2]


@pytest.mark.parametrize("beam_size", [1, 3])
def test_translations_side_by_side_are_those_of_one_by_one(
    finished, two_threads, beam_size
):
    used = TextModel.load(finished, "cpu", as_is=True)
    lines = ["i like dogs .", "", "dogs .", "i like dogs and cats .", "i ."]
    threads = []

    def watched(search, batches):
        def noted(src):
            threads.append(threading.current_thread())
            return search(src)

        return speed.side_by_side(noted, batches)

    found = [
        translate(
            used.model,
            used.tokenizer,
            lines * 3,
            beam_size,
            batch_size=3,
            searches=Searches(over=over),
        )
        for over in (map, watched)
    ]
    assert found[0] == found[1]
    assert len(threads) == 4
    assert threading.current_thread() not in threads


def test_the_command_searches_side_by_side_on_a_cpu(finished):
    used = texts._load(finished, (), "cpu", as_is=True)
    assert used.searches.over is speed.side_by_side
    assert texts._lines_at_once(used) == texts.CHUNK * speed.batches_at_once()
    plain = TextModel.load(finished, "cpu", as_is=True)
    assert texts._lines_at_once(plain) == texts.CHUNK
