"""Continuous batching over a paged cache: the texts of greedy search."""

import random

import pytest
import torch
from test_modern import tiny_modern

from transformer_course.data.tokenizer import BOS
from transformer_course.decoding.generate import drawing, greedy_search
from transformer_course.errors import ConfigError
from transformer_course.fast.paged import Server, Text


@pytest.fixture(scope="module")
def model():
    torch.manual_seed(0)
    return tiny_modern(max_length=64)


def prompts(draw, count):
    """Some begin alike, by more than a block of 4."""
    begin = [draw.randrange(3, 17) for _ in range(9)]
    return [
        [BOS]
        + begin[: draw.choice([0, 3, 6, 9])]
        + [draw.randrange(3, 17) for _ in range(draw.randrange(1, 6))]
        for _ in range(count)
    ]


def alone(model, ids, longest):
    """The same text by greedy search."""
    length = len(ids) - 1 + longest
    (found,) = greedy_search(
        model, prefix=torch.tensor([ids[1:]]), max_length=length
    )
    return found[len(ids) - 1 :]


@pytest.mark.parametrize("blocks", [200, 12])  # 12: texts have to wait again
@pytest.mark.parametrize("continuous", [True, False])
def test_every_text_is_that_of_greedy_search(model, blocks, continuous):
    draw = random.Random(blocks)
    server = Server(model, 4, blocks, 4, continuous)
    texts = [Text(ids, draw.randrange(1, 12)) for ids in prompts(draw, 12)]
    given = [list(text.ids) for text in texts]
    for text in texts:
        server.add(text)
        if draw.random() < 0.6:
            server.step()
    while server.step():
        pass
    for text, ids in zip(texts, given, strict=True):
        assert text.written == alone(model, ids, text.longest)
    assert len(server.blocks.unused) == blocks
    assert not any(server.blocks.users)


def test_what_texts_share_is_read_once(model):
    server, seen = Server(model, size=4), []
    hook = model.embedding.register_forward_pre_hook(
        lambda _, ids: seen.append(ids[0].numel())
    )
    begin = list(range(3, 16))
    for end in ([3], [4, 5]):
        server.add(Text([*begin, *end], 1))
        while server.step():
            pass
    hook.remove()
    assert seen == [14, 3]  # 12 of 15 are in three full blocks


def test_a_text_alone_lies_side_by_side_where_nothing_is_lost(model):
    server, ids = Server(model, size=4), [5] * 6
    for _ in range(2):  # the second goes on with the first
        server.add(text := Text([*ids, 5], 12))
        while server.step():
            blocks = list(text.blocks)
        assert blocks == list(range(len(blocks)))
        ids = text.ids
    server.add(text := Text([*ids[:4], 7], 2))  # behind lies what is known
    server.step()
    assert text.blocks[0] == 0 and text.blocks[1] > 1


def test_texts_draw_as_they_like(model):
    pick = drawing(temperature=2.0, generator=torch.Generator().manual_seed(0))
    server, heard = Server(model), []
    server.add(text := Text([5, 6], 5, pick, heard.append))
    server.add(same := Text([5, 6], 5))
    while server.step():
        pass
    assert text.ids[2:] == heard
    assert text.written != same.written


def test_what_never_fits_is_refused(model):
    with pytest.raises(ConfigError, match="room for 32"):
        Server(model, blocks=8, size=4).add(Text([5] * 30, 3))
    with pytest.raises(ConfigError, match="window is 4"):
        Server(tiny_modern(window=4))
