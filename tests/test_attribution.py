"""What a translation was made of: each way knows what it must."""

import pytest
import torch
from tiny import close, random_ids, tiny_transformer, with_bos

from transformer_course.data.tokenizer import PAD
from transformer_course.interpretation.attribution import (
    leave_one_out,
    rank_correlation,
    source_gradient,
    weighted_lengths,
)
from transformer_course.interpretation.hooks import (
    attention_maps,
)


@pytest.fixture
def asked():
    tgt = with_bos(random_ids(1, 4, seed=2))
    return random_ids(1, 5, seed=1), tgt[:, :-1], tgt[:, 1:]


def test_what_is_lost_is_a_difference_of_log_probabilities(asked):
    model = tiny_transformer()
    src, tgt_in, tgt_out = asked
    hidden = src.clone()
    hidden[0, 2] = PAD

    def log_p(source):
        logits = model(source, tgt_in).log_softmax(dim=-1)
        return logits.gather(-1, tgt_out[..., None])[..., 0]

    lost = leave_one_out(model, *asked)
    assert lost.shape == (1, 4, 5)
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
