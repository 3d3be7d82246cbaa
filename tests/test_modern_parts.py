"""Laws of the parts that a decoder of today can have."""

import pytest
import torch
import torch.nn.functional as F
from test_modern import SIZES, tiny_modern
from tiny import close, random_ids

from transformer_course.models.modern import GatedFeedForward
from transformer_course.models.modern_config import ModernConfig
from transformer_course.models.modern_parts import (
    BIAS_STEP,
    CHUNK,
    GatedDelta,
    HyperConnection,
    LatentAttention,
    MixtureOfExperts,
    attend_with_sinks,
    delta_of_chunk,
    doubly_stochastic,
    gated_delta,
    index_loss,
)
from transformer_course.models.positional_encoding import rotate, rotations
from transformer_course.models.rolling_cache import window_mask


def heads(count: int, length: int = 7, d_head: int = 4) -> torch.Tensor:
    return torch.randn(2, count, length, d_head)


# --- sinks -------------------------------------------------------------------


def test_a_sink_takes_its_share_of_each_softmax():
    torch.manual_seed(0)
    query, key, value, sinks = heads(4), heads(2), heads(2), torch.randn(4)
    mask = window_mask(7, 7, 3, query.device)
    key_of_each, value_of_each = (
        x.repeat_interleave(2, dim=1) for x in (key, value)
    )
    scores = query @ key_of_each.mT / 2
    scores = scores.masked_fill(~mask, -torch.inf)
    last = sinks[:, None, None].expand(2, 4, 7, 1)
    weights = torch.cat([scores, last], dim=-1).softmax(dim=-1)[..., :-1]
    found = attend_with_sinks(query, key, value, sinks, mask)
    close(found, weights @ value_of_each)


# --- an indexer --------------------------------------------------------------


@torch.no_grad()
def test_an_indexer_picks_the_best_positions_that_a_query_may_see():
    model = tiny_modern(index_top=3, n_layers=1)
    part, x = model.layers[0].attention.indexer, torch.randn(2, 9, 32)
    turns = rotations(torch.arange(9), 8)
    picked = part(x, turns, part.key(x, turns))[:, 0]
    cos_sin = [torch.stack(turns)[:, t] for t in range(9)]
    for row in range(2):
        for t in range(9):
            scores = []
            for s in range(t + 1):
                key, total = part.to_key(x[row, s]).view(1, 1, 1, 8), 0.0
                key = rotate(key, tuple(cos_sin[s][:, None]))
                for h in range(4):
                    query = part.to_query(x[row, t])[8 * h : 8 * h + 8]
                    query = rotate(
                        query.view(1, 1, 1, 8), tuple(cos_sin[t][:, None])
                    )
                    fit = max(float((query * key).sum()) / 8**0.5, 0.0)
                    total += float(part.to_weight(x[row, t])[h]) * fit
                scores.append(total)
            best = sorted(range(t + 1), key=lambda s: -scores[s])[:3]
            assert picked[row, t].nonzero().flatten().tolist() == sorted(best)


def test_an_indexer_that_picks_all_changes_nothing():
    model, ids = tiny_modern(index_top=9), random_ids(2, 9)
    plain = tiny_modern()
    plain.load_state_dict(model.state_dict(), strict=False)
    close(model(ids), plain(ids))
    model.layers[0].attention.indexer.top = 2
    assert (model(ids) - plain(ids)).abs().max() > 0.1


def test_the_loss_of_an_indexer_is_a_divergence_that_moves_it_alone():
    torch.manual_seed(0)
    scores = torch.randn(2, 5, 5, requires_grad=True)
    logits = torch.randn(2, 3, 5, 5, requires_grad=True)
    seen = torch.ones(5, 5).tril().bool()
    weights = logits.masked_fill(~seen, -torch.inf).softmax(dim=-1)
    found = index_loss(scores, weights)
    total = 0.0
    for row in range(2):
        for t in range(5):
            wanted = weights[row, :, t, : t + 1].detach().mean(dim=0)
            given = scores[row, t, : t + 1].detach().softmax(dim=0)
            total += float((wanted * (wanted / given).log()).sum())
    assert abs(float(found.detach()) - total / 10) < 1e-5
    found.backward()
    assert logits.grad is None and scores.grad[..., seen].any()


# --- hyper-connections -------------------------------------------------------


def test_rows_and_columns_of_a_doubly_stochastic_matrix_sum_to_one():
    torch.manual_seed(0)
    found = doubly_stochastic(torch.randn(50, 4, 4))
    for axis in (-1, -2):
        close(found.sum(dim=axis), torch.ones(50, 4), 1e-4)
    assert (found > 0).all()


@pytest.mark.parametrize("constrained", [True, False])
def test_streams_that_are_alike_begin_as_the_plain_sum(constrained):
    model = tiny_modern(streams=3, constrained=constrained)
    plain, ids = tiny_modern(), random_ids(2, 9)
    for name, weight in model.named_parameters():
        if name.endswith("to_weights.weight"):
            weight.data.zero_()
        elif name.endswith("to_weights.bias"):
            part = model.get_submodule(name.removesuffix(".to_weights.bias"))
            fresh = HyperConnection(model.config)
            part.to_weights.bias.data = fresh.to_weights.bias.data
    plain.load_state_dict(model.state_dict(), strict=False)
    close(model(ids), plain(ids), 1e-4)


def test_streams_are_read_written_and_mixed_as_the_weights_say():
    torch.manual_seed(0)
    config = ModernConfig(**SIZES | {"streams": 2, "constrained": False})
    part, x = HyperConnection(config), torch.randn(1, 1, 2, 32)
    flat = x.flatten()
    flat = flat / (flat.square().mean() + torch.finfo(x.dtype).eps).sqrt()
    read, write, keep = part.to_weights(flat).split([2, 2, 4])
    gate = torch.sigmoid
    answer = (gate(read[0]) * x[0, 0, 0] + gate(read[1]) * x[0, 0, 1]) ** 2
    expected = [
        keep[2 * i] * x[0, 0, 0]
        + keep[2 * i + 1] * x[0, 0, 1]
        + 2 * gate(write[i]) * answer
        for i in range(2)
    ]
    close(part(x, torch.square)[0, 0], torch.stack(expected))


# --- latent attention --------------------------------------------------------


def test_latent_attention_is_that_of_the_keys_and_values_made_from_it():
    torch.manual_seed(0)
    config = ModernConfig(**SIZES | {"latent": 12, "d_rotary": 6})
    part, x = LatentAttention(config, 0), torch.randn(2, 9, 32)
    turns = rotations(torch.arange(9), 6)
    query = part.to_query(x).unflatten(-1, (4, 14)).transpose(1, 2)
    latent, shared = part.to_latent(x).split([12, 6], dim=-1)
    latent = part.latent_norm(latent)
    key, value = (
        to(latent).unflatten(-1, (4, 8)).transpose(1, 2)
        for to in (part.to_key, part.to_value)
    )
    shared = rotate(shared[:, None], turns).expand(2, 4, 9, 6)
    query = torch.cat([query[..., :8], rotate(query[..., 8:], turns)], dim=-1)
    output = F.scaled_dot_product_attention(
        query, torch.cat([key, shared], dim=-1), value, is_causal=True
    )
    expected = part.to_output(output.transpose(1, 2).flatten(2))
    close(part(x, turns), expected)


def test_its_cache_holds_the_latent_and_the_rotary_part_alone():
    model = tiny_modern(latent=12, d_rotary=6)
    cache = model.new_cache()
    model.decode(random_ids(2, 9), cache)
    own = cache.layers[0].own
    assert own.key[:, :, :9].numel() + own.value[:, :, :9].numel() == (
        2 * 9 * (12 + 6)
    )


# --- linear attention --------------------------------------------------------


def test_chunks_give_what_one_chunk_gives_and_its_gradients():
    torch.manual_seed(0)
    shape = 2, 3, 2 * CHUNK + 9
    query, key = (F.normalize(torch.randn(*shape, 4), dim=-1) for _ in "qk")
    gates = torch.rand(shape), -0.05 * torch.rand(shape)
    state = torch.randn(2, 3, 4, 4)
    inputs = [query, key, torch.randn(*shape, 4), *gates, state]
    inputs = [x.requires_grad_() for x in inputs]
    found = {}
    for way in (gated_delta, delta_of_chunk):
        outputs = way(*inputs)
        total = sum((x * x).sum() for x in outputs)
        found[way] = *outputs, *torch.autograd.grad(total, inputs)
    for one, other in zip(*found.values(), strict=True):
        close(one, other, 1e-4)


def test_its_cache_does_not_grow():
    model = tiny_modern(linear=True, global_every=3)
    kinds = [type(layer.attention) is GatedDelta for layer in model.layers]
    assert kinds == [True, True, False]
    cache = model.new_cache()
    for length in (2, 30):
        model.decode(random_ids(1, length), cache)
        assert cache.layers[0].own.state.shape == (1, 4, 8, 8)
    assert cache.length == 32


# --- a mixture of experts ----------------------------------------------------


def mixture(**changes) -> MixtureOfExperts:
    torch.manual_seed(0)
    settings = {"n_experts": 6, "n_active": 2, "d_expert": 8}
    config = ModernConfig(**SIZES | settings | changes)
    return MixtureOfExperts(
        config, lambda width: GatedFeedForward(config.d_model, width)
    )


def test_each_token_is_answered_by_the_shared_expert_and_its_own():
    part, x = mixture().eval(), torch.randn(2, 5, 32)
    part.bias.data = torch.linspace(-0.3, 0.3, 6)
    tokens, answers = x.flatten(0, 1), part(x).flatten(0, 1)
    for token, found in zip(tokens, answers, strict=True):
        affinity = part.router(token).sigmoid()
        best = (affinity + part.bias).sort(descending=True).indices[:2]
        answer = sum(affinity[i] * part.experts[i](token) for i in best)
        close(found, part.shared(token) + answer / affinity[best].sum())


def test_the_bias_evens_the_load_and_no_gradient_moves_it():
    part, x = mixture(), torch.randn(4, 50, 32) + 1
    part(x)
    uneven = part.load.max() / part.load.sum()
    for _ in range(300):
        part(x)
        part.balance()
    assert uneven > 0.25 and part.load.max() / part.load.sum() < 0.2
    part(x).sum().backward()
    assert part.bias.grad is None and part.router.weight.grad.any()


def test_the_bias_moves_by_a_step_towards_an_even_load_and_then_rests():
    part = mixture()
    part.load = torch.tensor([3, 2, 4, 2, 2, 2])
    part.balance()
    moved = BIAS_STEP * torch.tensor([-1.0, 1, -1, 1, 1, 1])
    assert torch.equal(part.bias, moved)
    part.load = torch.full((6,), 5)
    part.balance()
    assert torch.equal(part.bias, moved)
