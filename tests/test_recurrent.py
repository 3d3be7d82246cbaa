"""Laws of the GRU baseline: causal, blind to padding, cached = uncached.

Most of them hold with attention and without.
"""

import math

import pytest
import torch
import torch.nn.functional as F
from tiny import (
    VOCAB,
    close,
    gradients,
    on_each_device,
    padded,
    ragged_ids,
    random_ids,
    tiny_gru,
    with_bos,
)

from transformer_course.errors import ConfigError
from transformer_course.models.config import RecurrentConfig
from transformer_course.models.masks import padding_mask

with_and_without = pytest.mark.parametrize("attention", [True, False])


def src_and_tgt(device="cpu"):
    src = ragged_ids([7, 4, 1], seed=1).to(device)
    tgt = with_bos(ragged_ids([5, 6, 2], seed=2)).to(device)
    return src, tgt


@with_and_without
@on_each_device
def test_a_later_token_leaves_earlier_logits(device, attention):
    model = tiny_gru(attention=attention).to(device)
    src, tgt = src_and_tgt(device)
    before = model(src, tgt)
    changed = tgt.clone()
    changed[:, 3] = 4 + (changed[:, 3] + 1) % (VOCAB - 4)
    after = model(src, changed)
    close(after[:, :3], before[:, :3])
    assert not torch.allclose(after[:, 3], before[:, 3])


@with_and_without
@on_each_device
def test_padding_on_the_right_changes_nothing(device, attention):
    model = tiny_gru(attention=attention).to(device)
    src, tgt = src_and_tgt(device)
    before = model(src, tgt)
    after = model(padded(src, 3), padded(tgt, 2))
    real = padding_mask(tgt)[:, 0, 0]
    close(after[:, : tgt.size(1)][real], before[real])


@with_and_without
def test_a_neighbour_in_the_batch_does_not_matter(attention):
    model = tiny_gru(attention=attention)
    src, tgt = src_and_tgt()
    together = model(src, tgt)
    alone = model(src[1:2, :4], tgt[1:2])
    close(together[1], alone[0])


@with_and_without
@on_each_device
def test_a_row_of_nothing_but_padding_is_finite(device, attention):
    model = tiny_gru(attention=attention).to(device).train()
    src, tgt = src_and_tgt(device)
    src[1], tgt[1] = 0, 0
    logits = model(src, tgt)
    logits.logsumexp(dim=-1).sum().backward()
    assert logits.isfinite().all()
    for gradient in gradients(model).values():
        assert gradient.isfinite().all()


@on_each_device
@with_and_without
@pytest.mark.parametrize("steps", [[1] * 7, [3, 4]])
def test_decoding_with_a_cache_gives_the_same_logits(device, steps, attention):
    model = tiny_gru(attention=attention).to(device)
    src, tgt = src_and_tgt(device)
    memory, src_mask = model.encode(src), padding_mask(src)
    cache = model.new_cache()
    parts = [
        model.decode(part, memory, src_mask, cache)
        for part in tgt.split(steps, dim=1)
    ]
    assert cache.length == 7
    close(torch.cat(parts, dim=1), model(src, tgt))


@with_and_without
def test_rows_that_share_a_memory_equal_rows_with_a_copy_each(attention):
    model, beams = tiny_gru(attention=attention), 3
    src = ragged_ids([5, 3])
    tgt = with_bos(random_ids(2 * beams, 4, seed=2))
    shared = model.decode(tgt, model.encode(src), padding_mask(src))
    copied = model(src.repeat_interleave(beams, dim=0), tgt)
    close(shared, copied)


@with_and_without
def test_a_cache_follows_its_rows_and_sources(attention):
    model = tiny_gru(attention=attention)
    src, tgt = ragged_ids([5, 3, 4]), with_bos(random_ids(3, 3, seed=2))
    cache = model.new_cache()
    model.decode(tgt[:, :3], model.encode(src), padding_mask(src), cache)
    rows = torch.tensor([2, 0])
    cache.select(rows, rows)
    memory, src_mask = model.encode(src)[rows], padding_mask(src)[rows]
    continued = model.decode(tgt[rows, 3:], memory, src_mask, cache)
    close(continued[:, -1], model(src[rows], tgt[rows])[:, -1])


def test_the_context_is_attention_over_the_source():
    """Another word in the source changes the first prediction."""
    model = tiny_gru()
    src, tgt = random_ids(1, 6), with_bos(random_ids(1, 1))
    changed = src.clone()
    changed[0, 3] = 4 + (src[0, 3] + 1) % (VOCAB - 4)
    assert not torch.allclose(model(src, tgt), model(changed, tgt))


def test_without_attention_only_the_ends_of_the_memory_are_read():
    model = tiny_gru(attention=False)
    src, tgt = src_and_tgt()
    memory, mask = model.encode(src), padding_mask(src)
    before = model.decode(tgt, memory, mask)
    inside = memory.clone()
    inside[0, 1:6] += 1
    close(model.decode(tgt, inside, mask), before)
    for place in (0, 6):  # where the two directions end in row 0
        ends = memory.clone()
        ends[0, place] += 1
        assert not torch.allclose(model.decode(tgt, ends, mask), before)


def test_attention_adds_the_score_and_nothing_else():
    names = [
        {name for name, _ in tiny_gru(attention=flag).named_parameters()}
        for flag in (True, False)
    ]
    assert {n.split(".")[0] for n in names[0] - names[1]} == {"score"}
    assert names[1] < names[0]


@with_and_without
def test_gradients_reach_every_parameter(attention):
    model = tiny_gru(attention=attention)
    logits = model(*src_and_tgt())
    (logits * torch.randn_like(logits)).sum().backward()
    for name, gradient in gradients(model).items():
        assert (gradient != 0).any(), name


def test_the_first_loss_is_near_that_of_a_uniform_guess():
    model = tiny_gru(vocab_size=400, d_model=32, d_hidden=64)
    src, tgt, right = (random_ids(8, 12, seed=s, vocab=400) for s in (1, 2, 3))
    logits = model(src, tgt)
    loss = F.cross_entropy(logits.flatten(0, 1), right.flatten())
    assert abs(float(loss.detach()) - math.log(400)) < 0.5


@pytest.mark.parametrize("wrong", [-1, VOCAB])
@pytest.mark.parametrize("side", ["src", "tgt"])
def test_an_id_outside_the_vocabulary_is_refused(wrong, side):
    src, tgt = src_and_tgt()
    (src if side == "src" else tgt)[0, 0] = wrong
    with pytest.raises(ConfigError, match=f"id {wrong} is outside"):
        tiny_gru()(src, tgt)


def test_an_odd_state_cannot_be_shared_by_two_directions():
    with pytest.raises(ConfigError, match="d_hidden is 7"):
        RecurrentConfig(d_hidden=7)
