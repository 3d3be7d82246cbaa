"""Laws of a decoder of today."""

import pytest
import torch
from tiny import close, random_ids

from transformer_course.checkpoints import checkpoint
from transformer_course.decoding.generate import beam_search
from transformer_course.errors import ConfigError
from transformer_course.models.modern import (
    Attention,
    ModernLanguageModel,
)
from transformer_course.models.modern_config import ModernConfig
from transformer_course.models.positional_encoding import rotations

SIZES = {
    "vocab_size": 17,
    "d_model": 32,
    "n_heads": 4,
    "n_kv_heads": 2,
    "d_ff": 40,
    "n_layers": 3,
    "max_length": 40,
}
WINDOWS = {"window": 5, "global_every": 3}
KINDS = [
    {"tied": False},
    WINDOWS | {"sinks": True},
    {"qk_norm": True, "n_kv_heads": 4, "n_experts": 5, "d_expert": 16},
    {"latent": 12, "d_rotary": 6, **WINDOWS},
    {"linear": True, "global_every": 3},
    {"gated": True, "kv_layers": 2, "window": 5, "global_every": 2},
    {"index_top": 4, "sinks": True, "rope_share": 0.5},
    {"streams": 3, "rope_scaling": "yarn", "rope_factor": 4.0},
]


def tiny_modern(**changes) -> ModernLanguageModel:
    """An untrained model, large enough weights to tell its parts apart."""
    torch.manual_seed(0)
    model = ModernLanguageModel(ModernConfig(**SIZES | changes)).eval()
    with torch.no_grad():
        for weight in model.parameters():
            weight.mul_(8) if weight.dim() == 2 else weight.uniform_(0.5, 2)
    return model


@pytest.mark.parametrize("changes", KINDS)
def test_what_comes_later_does_not_matter(changes):
    model, ids = tiny_modern(**changes), random_ids(2, 19)
    later = ids.clone()
    later[:, 11:] = random_ids(2, 8, seed=7)
    close(model(later)[:, :11], model(ids)[:, :11])
    assert (model(later)[:, 11:] - model(ids)[:, 11:]).abs().max() > 0.1


@pytest.mark.parametrize("changes", KINDS)
@pytest.mark.parametrize(
    "parts", [[1] * 19, [3, 1, 4, 1, 5, 2, 3], [12, 7], [2, 1, 1, 1, 1, 13]]
)
def test_a_cache_gives_the_same_logits(changes, parts):
    model, ids = tiny_modern(**changes), random_ids(2, 19)
    cache = model.new_cache()
    found = [model.decode(part, cache) for part in ids.split(parts, dim=1)]
    close(torch.cat(found, dim=1), model(ids), 1e-4)


def test_a_window_hides_what_is_too_far_away():
    model = tiny_modern(window=3, global_every=9, n_layers=1)
    ids = random_ids(1, 12)
    other = ids.clone()
    other[:, 4] = (other[:, 4] + 1) % 17
    changed = (model(other) - model(ids)).abs().amax(dim=(0, 2)) > 1e-4
    assert changed.nonzero().flatten().tolist() == [4, 5, 6]


def test_a_cache_of_a_window_holds_no_more_than_it():
    model = tiny_modern(**WINDOWS)
    cache = model.new_cache()
    for _ in range(200):
        model.decode(random_ids(1, 1), cache)
    held = [layer.own.key.size(2) for layer in cache.layers]
    assert held == [5, 5, 256] and cache.length == 200


def test_heads_of_a_group_share_keys_and_values():
    shared = tiny_modern().layers[0].attention
    torch.manual_seed(1)
    config = ModernConfig(**SIZES | {"n_kv_heads": 4})
    each = Attention(config, 0)
    each.load_state_dict(
        {
            name: weight
            if name.startswith(("to_query", "to_output"))
            else weight.view(2, 8, 32).repeat_interleave(2, 0).view(32, 32)
            for name, weight in shared.state_dict().items()
        }
    )
    x = torch.randn(2, 9, 32)
    turns = rotations(torch.arange(9), 8, 10_000.0)
    close(shared(x, turns), each(x, turns))


def test_layers_share_keys_and_values_with_the_last_of_their_kind():
    shares = {"kv_layers": 2, "window": 5, "global_every": 2, "n_layers": 4}
    model, ids = tiny_modern(**shares), random_ids(2, 9)
    assert [model.config.source_of(i) for i in range(4)] == [0, 1, 0, 1]
    # the same by keys and values that the upper layers compute themselves
    whole = tiny_modern(**shares | {"kv_layers": None})
    missing, _ = whole.load_state_dict(model.state_dict(), strict=False)
    assert {name.split(".")[1] for name in missing} == {"2", "3"}
    inputs = {}
    for i, layer in enumerate(whole.layers):
        part = layer.attention
        part.register_forward_pre_hook(
            lambda _, given, i=i: inputs.update({i: given[0]})
        )
        if i >= 2:
            source = whole.layers[i - 2].attention
            part.to_key.forward = lambda _, i=i, s=source: s.to_key(
                inputs[i - 2]
            )
            part.to_value.forward = lambda _, i=i, s=source: s.to_value(
                inputs[i - 2]
            )
    close(model(ids), whole(ids))
    model.decode(ids, cache := model.new_cache())
    assert [layer.own.length for layer in cache.layers] == [9, 9, 0, 0]


def test_a_gate_multiplies_what_the_heads_put_out():
    model = tiny_modern(gated=True, n_layers=1)
    part, x = model.layers[0].attention, torch.randn(2, 9, 32)
    turns = rotations(torch.arange(9), 8)
    gate, part.to_gate = part.to_gate, None
    heads = []
    part.to_output.register_forward_pre_hook(lambda _, x: heads.append(x[0]))
    part(x, turns)
    part.to_gate = gate
    open_ = 1 / (1 + (-x @ gate.weight.T).exp())
    close(part(x, turns), (open_ * heads[0]) @ part.to_output.weight.T)


def test_a_token_further_is_predicted_from_the_state_and_the_token_between():
    model, ids = tiny_modern(n_ahead=2), random_ids(2, 9)
    found = model.decode_ahead(ids)
    assert [x.size(1) for x in found] == [9, 8, 7]
    close(found[0], model(ids))
    part, state = model.ahead[0], model.stream(ids)[:, :-1]
    left, right = part.join.weight.split(32, dim=1)
    x = part.state_norm(state) @ left.T
    x = x + part.token_norm(model.embedding.weight[ids[:, 1:]]) @ right.T
    x = part.layer(x, rotations(torch.arange(8), 8))
    close(found[1], model.to_logits(model.norm(x)))
    later = ids.clone()
    later[:, 5:] = random_ids(2, 4, seed=7)
    for k, (one, other) in enumerate(
        zip(model.decode_ahead(later), found, strict=True)
    ):
        close(one[:, : 5 - k], other[:, : 5 - k])


def test_searches_write_with_it():
    model, prefix = tiny_modern(**WINDOWS), random_ids(3, 4)[:, 1:]
    found = [
        beam_search(model, prefix=prefix, max_length=20, cached=cached)
        for cached in (True, False)
    ]
    one, other = ([[h.ids for h in beam] for beam in way] for way in found)
    assert one == other


@pytest.mark.parametrize("changes", KINDS)
def test_a_checkpoint_brings_it_back(tmp_path, changes):
    model = tiny_modern(**changes)
    checkpoint.save(tmp_path / "saved", model)
    loaded = checkpoint.load(tmp_path / "saved").model
    assert loaded.config == model.config
    close(loaded(random_ids(2, 9)), model(random_ids(2, 9)))


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        ({"n_kv_heads": 3}, "cannot share so many evenly"),
        ({"d_model": 30}, "cannot be split over 4"),
        ({"rope_share": 0.5, "rope_scaling": "yarn"}, "set one of them"),
        ({"index_top": 4, "window": 5}, "without a window"),
        ({"gated": True, "latent": 8}, "for ordinary attention"),
        ({"kv_layers": 2, **WINDOWS}, "layer without a window is layer 3"),
        ({"latent": 8, "sinks": True}, "neither qk_norm nor sinks"),
        ({"linear": True, "window": 4}, "set one of them"),
    ],
)
def test_sizes_that_do_not_go_together_are_refused(changes, complaint):
    with pytest.raises(ConfigError, match=complaint):
        ModernConfig(**SIZES | changes)
