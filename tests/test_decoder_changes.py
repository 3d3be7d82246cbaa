"""Laws of a decoder of today: switched off, it is the one of 2017."""

import pytest
import torch
import torch.nn.functional as F
from tiny import SIZES, close, random_ids

from experiments.decoder_changes import (
    PLAIN,
    MixtureOfExperts,
    SwitchedAttention,
    SwitchedConfig,
    SwitchedDecoder,
    SwitchedFeedForward,
    alibi_slopes,
    attention_bias,
    balance_of,
)
from transformer_course.models.config import LanguageModelConfig
from transformer_course.models.transformer import LanguageModel

CHANGES = {
    "norm": "rms",
    "activation": "squared_relu",
    "position": "rotary",
    "qk_norm": True,
    "value_residual": True,
    "soft_cap": 3.0,
    "n_kv_heads": 1,
    "window": 3,
    "gated": True,
}


def tiny_modern(seed: int = 0, **changes) -> SwitchedDecoder:
    """An untrained model, of which every part adds to the stream."""
    torch.manual_seed(seed)
    settings = SIZES | {"norm_first": True, "zero_start": False} | changes
    return SwitchedDecoder(SwitchedConfig(**settings)).eval()


def tiny_plain(**changes) -> SwitchedDecoder:
    """With every change switched off, but for these."""
    return tiny_modern(**PLAIN | changes)


# --- the whole ---------------------------------------------------------------


def test_with_all_changes_off_it_is_the_decoder_of_2017():
    modern = tiny_plain()
    torch.manual_seed(1)
    config = LanguageModelConfig(**SIZES | {"norm_first": True})
    old = LanguageModel(config).eval()  # its biases are zero
    weights = old.state_dict()
    names = {
        "decoder.layers.": "layers.",
        "self_attention": "attention",
        "add_norm_1.norm": "norm_1",
        "add_norm_3.norm": "norm_2",
        "decoder.norm": "norm",
    }
    renamed = {}
    for name, value in weights.items():
        for there, here in names.items():
            name = name.replace(there, here)
        if not name.endswith(("up_proj.bias", "down_proj.bias")):
            renamed[name] = value
    modern.load_state_dict(renamed)
    ids = random_ids(3, 9)
    close(modern(ids), old(ids))


@pytest.mark.parametrize("name", CHANGES)
def test_each_change_changes_what_comes_out(name):
    ids = random_ids(2, 9)
    plain, changed = tiny_plain(), tiny_plain(**{name: CHANGES[name]})
    same = {k: v.shape for k, v in changed.state_dict().items()}
    weights = {
        k: v for k, v in plain.state_dict().items() if same.get(k) == v.shape
    }
    changed.load_state_dict(weights, strict=False)
    assert (plain(ids) - changed(ids)).abs().max() > 1e-3


@pytest.mark.parametrize(
    "changes", [{}, PLAIN, CHANGES, {"position": "alibi"}]
)
def test_later_tokens_do_not_matter(changes):
    model, ids = tiny_modern(**changes), random_ids(2, 9)
    later = ids.clone()
    later[:, 5:] = random_ids(2, 4, seed=7)
    close(model(later)[:, :5], model(ids)[:, :5])


def test_at_a_start_from_zero_only_the_embedding_speaks():
    model = tiny_modern(zero_start=True, soft_cap=None, position="none")
    ids = random_ids(2, 5)
    close(model(ids), model.to_logits(model.norm(model.embedding(ids))))


def test_a_cap_holds_logits_and_keeps_their_order():
    free, capped = tiny_modern(soft_cap=None), tiny_modern(soft_cap=0.5)
    ids = random_ids(2, 5)
    assert capped(ids).abs().max() < 0.5 < free(ids).abs().max()
    assert (capped(ids).argsort() == free(ids).argsort()).all()


# --- the parts ---------------------------------------------------------------


def test_a_gate_multiplies_the_inner_layer():
    part = SwitchedFeedForward(4, 6, "silu", gated=True)
    x = torch.randn(2, 3, 4)
    inner = F.silu(part.up_proj(x))
    close(part(x), part.down_proj(inner * part.gate_proj(x)))


def test_slopes_are_those_of_the_paper():
    assert alibi_slopes(8).tolist() == [2.0**-i for i in range(1, 9)]


def test_a_bias_hides_the_future_and_what_lies_before_the_window():
    bias = attention_bias(4, 4, window=2)[0]
    seen = torch.tensor(
        [[1, 0, 0, 0], [1, 1, 0, 0], [0, 1, 1, 0], [0, 0, 1, 1]]
    )
    assert ((bias == 0) == seen.bool()).all()
    assert ((bias == -torch.inf) == ~seen.bool()).all()


def test_alibi_falls_by_a_slope_a_step():
    slopes = torch.tensor([0.5, 0.25])
    bias = attention_bias(4, 4, slopes=slopes)
    close(bias[:, 3], -slopes[:, None] * torch.tensor([3.0, 2, 1, 0]))


def test_grouped_queries_are_heads_with_equal_keys():
    few = SwitchedAttention(SwitchedConfig(**_head(n_kv_heads=1)), first=True)
    many = SwitchedAttention(SwitchedConfig(**_head()), first=True)
    weights = few.state_dict()
    for name in ("to_key.weight", "to_value.weight"):
        weights[name] = weights[name].repeat(2, 1)
    many.load_state_dict(weights)
    x = torch.randn(2, 5, 8)
    bias = attention_bias(5, 5)
    close(few(x, bias)[0], many(x, bias)[0])


def test_a_share_of_one_borrows_no_values():
    config = SwitchedConfig(**_head(value_residual=True))
    part = SwitchedAttention(config, first=False)
    alone = SwitchedAttention(config, first=True)
    alone.load_state_dict(part.state_dict(), strict=False)
    x, bias = torch.randn(2, 5, 8), attention_bias(5, 5)
    first_values = torch.randn(2, 2, 5, 4)
    with torch.no_grad():
        part.own_share.fill_(1.0)
    close(part(x, bias, first_values)[0], alone(x, bias)[0])
    with torch.no_grad():
        part.own_share.fill_(0.0)
    other = part(x, bias, first_values)[0] - alone(x, bias)[0]
    assert other.abs().max() > 1e-3


def _head(**changes):
    sizes = {"vocab_size": 20, "d_model": 8, "n_heads": 2, "d_ff": 8}
    return sizes | changes


# --- experts -----------------------------------------------------------------


def test_experts_that_are_alike_answer_as_one_times_its_chance():
    torch.manual_seed(0)
    part = MixtureOfExperts(8, 16, n_experts=4)
    for expert in part.experts:
        expert.load_state_dict(part.experts[0].state_dict())
    x = torch.randn(2, 5, 8)
    chance = part.router(x).softmax(dim=-1).amax(dim=-1, keepdim=True)
    close(part(x), chance * part.experts[0](x))


def test_each_token_is_sent_by_itself():
    torch.manual_seed(0)
    part = MixtureOfExperts(8, 16, n_experts=4)
    x = torch.randn(1, 6, 8)
    order = torch.randperm(6)
    close(part(x[:, order]), part(x)[:, order])
    assert abs(part.load.sum() - 1) < 1e-6


def test_balance_is_one_if_all_are_used_alike_and_more_if_not():
    part = MixtureOfExperts(4, 8, n_experts=4)
    with torch.no_grad():
        part.router.weight.copy_(5 * torch.eye(4))
    part(torch.eye(4)[None])
    assert abs(part.balance - 1) < 1e-5
    part(torch.eye(4)[:1].expand(1, 4, 4))
    assert part.balance > 3
    assert balance_of(part) == part.balance
