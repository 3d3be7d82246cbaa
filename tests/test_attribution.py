"""What a translation was made of: each way knows what it must."""

import pytest
import torch
from tiny import close, random_ids, tiny_transformer, with_bos

from transformer_course.data.tokenizer import PAD
from transformer_course.interpretation.attribution import (
    by_kind,
    leave_one_out,
    rank_correlation,
    source_gradient,
    source_relevance,
    source_rollout,
    weighted_lengths,
)
from transformer_course.interpretation.hooks import (
    attention_maps,
    heads_of,
    patch_heads,
)


@pytest.fixture
def asked():
    tgt = with_bos(random_ids(1, 4, seed=2))
    return random_ids(1, 5, seed=1), tgt[:, :-1], tgt[:, 1:]


def test_maps_are_put_together_by_kind(asked):
    model = tiny_transformer()
    kinds = by_kind(attention_maps(model, *asked[:2]))
    assert kinds["encoder"].shape == (1, 2, 2, 5, 5)
    assert kinds["decoder"].shape == (1, 2, 2, 4, 4)
    assert kinds["cross"].shape == (1, 2, 2, 4, 5)


def test_rollout_takes_no_more_than_there_is(asked):
    model = tiny_transformer()
    flow = source_rollout(attention_maps(model, *asked[:2]))
    assert flow.shape == (1, 4, 5)
    assert (flow >= 0).all()
    # two looks at the source, the half of each what follows
    assert (flow.sum(dim=-1) > 0.7).all() and (flow.sum(dim=-1) < 1).all()


def test_rollout_of_a_single_look_is_that_look(asked):
    """One layer whose encoder looks at itself: half of the cross map."""
    weights = {
        "encoder.layers.0.self_attention": torch.eye(5)[None, None],
        "decoder.layers.0.self_attention": torch.eye(4)[None, None],
        "decoder.layers.0.cross_attention": torch.rand(1, 1, 4, 5),
    }
    cross = weights["decoder.layers.0.cross_attention"][:, 0]
    close(source_rollout(weights), cross / 2)


def test_relevance_is_that_of_its_own_step(asked):
    """What a step asks of is not changed by the targets behind it."""
    model = tiny_transformer()
    src, tgt_in, tgt_out = asked
    whole = source_relevance(model, src, tgt_in, tgt_out)
    part = source_relevance(model, src, tgt_in[:, :2], tgt_out[:, :2])
    assert whole.shape == (1, 4, 5) and (whole >= 0).all()
    close(whole[:, :2], part, tolerance=1e-4)
    assert all(p.grad is None for p in model.parameters())


def test_a_model_deaf_to_the_source_loses_nothing(asked):
    model = tiny_transformer()
    lost = leave_one_out(model, *asked)
    assert lost.shape == (1, 4, 5) and lost.abs().max() > 1e-4
    deaf = {h: 0.0 for h in heads_of(model) if "cross" in h.part}
    with patch_heads(model, deaf):
        close(leave_one_out(model, *asked), torch.zeros(1, 4, 5))


def test_what_is_lost_is_a_difference_of_log_probabilities(asked):
    model = tiny_transformer()
    src, tgt_in, tgt_out = asked
    hidden = src.clone()
    hidden[0, 2] = PAD

    def log_p(source):
        logits = model(source, tgt_in).log_softmax(dim=-1)
        return logits.gather(-1, tgt_out[..., None])[..., 0]

    lost = leave_one_out(model, *asked)
    close(lost[..., 2], log_p(src) - log_p(hidden), tolerance=1e-4)


def test_a_gradient_foretells_a_small_change_of_an_embedding(asked):
    model = tiny_transformer()
    src, tgt_in, tgt_out = asked
    found = source_gradient(model, *asked)

    def log_p(shrink):
        def smaller(part, inputs, output):
            output[:, 2] *= 1 - shrink
            return output

        hook = model.src_embedding.register_forward_hook(smaller)
        memory = model.encode(src)
        hook.remove()
        logits = model.decode(tgt_in, memory).log_softmax(dim=-1)
        return logits.gather(-1, tgt_out[..., None])[0, :, 0]

    with torch.no_grad():
        lost = (log_p(-2e-3) - log_p(2e-3)) / 4e-3
    assert found.shape == (1, 4, 5)
    close(found[0, :, 2], lost, tolerance=2e-2)


def test_a_weight_counts_by_the_length_of_what_it_brings(asked):
    """Of one head, the lengths are those of the layer's own answers."""
    model = tiny_transformer(n_heads=1)
    weights = list(attention_maps(model, *asked[:2]).values())[-1]
    part = model.decoder.layers[-1].cross_attention
    memory = model.encode(asked[0])
    handed = torch.stack(
        [part(memory[:, :1], memory[:, i : i + 1])[0, 0] for i in range(5)]
    )
    found = weighted_lengths(model, *asked[:2])
    close(found, weights[:, 0] * handed.norm(dim=-1))


def test_rank_correlation_is_spearmans():
    torch.manual_seed(0)
    one, other = torch.randn(2, 3, 9)
    one[0, 4:7] = one[0, 4]  # equal values
    from scipy.stats import spearmanr  # here: it takes two seconds

    found = rank_correlation(one, other)
    for row, (a, b) in enumerate(zip(one, other, strict=True)):
        assert found[row] == pytest.approx(spearmanr(a, b).statistic, abs=1e-5)
    close(rank_correlation(torch.ones(1, 4), other[:1, :4]), torch.zeros(1))
