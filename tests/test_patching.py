"""What is patched in is what the other batch has at that position."""

import pytest
import torch
from tiny import close, random_ids, tiny_transformer, with_bos

from transformer_course.interpretation.hooks import (
    Head,
    head_outputs,
    heads_of,
    patch_heads,
)
from transformer_course.interpretation.patching import (
    patch_memory,
    patch_positions,
)

TARGET = with_bos(random_ids(3, 3, seed=2))
ONE, OTHER = ((random_ids(3, 5, seed=s), TARGET) for s in (1, 7))


def score(logits):
    return float(logits[:, -1, 3].mean())


def test_a_head_is_patched_at_one_position():
    model = tiny_transformer()
    found = patch_positions(model, ONE, OTHER, score)
    sizes = {head: 5 if "encoder" in head.part else 4 for head in found}
    assert sizes.keys() == set(heads_of(model))
    assert {head: len(row) for head, row in found.items()} == sizes
    head = Head("encoder.layers.1.self_attention", 1)
    mixed = head_outputs(model, *ONE)[head].clone()
    mixed[:, 3] = head_outputs(model, *OTHER)[head][:, 3]
    with torch.no_grad(), patch_heads(model, {head: mixed}):
        assert float(found[head][3]) == pytest.approx(score(model(*ONE)))
    some = patch_positions(model, ONE, OTHER, score, [head])
    assert list(some) == [head]
    close(some[head], found[head])
    # the first look at what is written knows nothing of the source
    blind = found[Head("decoder.layers.0.self_attention", 0)]
    with torch.no_grad():
        close(blind, torch.full((4,), score(model(*ONE))))


def test_the_memory_is_patched_at_one_position():
    model = tiny_transformer()
    found = patch_memory(model, ONE, OTHER, score)
    with torch.no_grad():
        mixed = model.encode(ONE[0])
        mixed[:, 2] = model.encode(OTHER[0])[:, 2]
        expected = score(model.decode(TARGET, mixed))
    assert found.shape == (5,)
    assert float(found[2]) == pytest.approx(expected, abs=1e-5)
    same = patch_memory(model, ONE, ONE, score)
    with torch.no_grad():
        close(same, torch.full((5,), score(model(*ONE))))
