"""Laws of the GRU baseline; those of every model are in test_transformer."""

import pytest
import torch
from tiny import close, ragged_ids, random_ids, tiny_gru, with_bos

from transformer_course.errors import ConfigError
from transformer_course.models.config import RecurrentConfig
from transformer_course.models.masks import padding_mask


@pytest.mark.parametrize("attention", [True, False])
def test_rows_that_share_a_memory_equal_rows_with_a_copy_each(attention):
    model, beams = tiny_gru(attention=attention), 3
    src = ragged_ids([5, 3])
    tgt = with_bos(random_ids(2 * beams, 4, seed=2))
    shared = model.decode(tgt, model.encode(src), padding_mask(src))
    copied = model(src.repeat_interleave(beams, dim=0), tgt)
    close(shared, copied)


def test_without_attention_only_the_ends_of_the_memory_are_read():
    model = tiny_gru(attention=False)
    src = ragged_ids([7, 4, 1], seed=1)
    tgt = with_bos(ragged_ids([5, 6, 2], seed=2))
    memory, mask = model.encode(src), padding_mask(src)
    before = model.decode(tgt, memory, mask)
    inside = memory.clone()
    inside[0, 1:6] += 1
    close(model.decode(tgt, inside, mask), before)
    for place in (0, 6):  # where the two directions end in row 0
        ends = memory.clone()
        ends[0, place] += 1
        assert not torch.allclose(model.decode(tgt, ends, mask), before)


def test_an_odd_state_cannot_be_shared_by_two_directions():
    with pytest.raises(ConfigError, match="d_hidden is 7"):
        RecurrentConfig(d_hidden=7)
