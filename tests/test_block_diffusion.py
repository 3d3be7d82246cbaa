"""Laws of text by masked diffusion, and what the grammar can say of it."""

import pytest
import torch

from experiments.diffusion import bound
from experiments.grammatical import can_say
from transformer_course.data.grammar import grammar_pairs
from transformer_course.models.block_diffusion import (
    MASK,
    block_mask,
    diffusion_loss,
    unmask,
    write_blocks,
)
from transformer_course.models.config import LanguageModelConfig
from transformer_course.models.transformer import LanguageModel

WORDS, PLACES = 9, 12


@pytest.fixture
def model():
    torch.manual_seed(0)
    sizes = {"d_model": 16, "n_heads": 2, "d_ff": 32, "n_layers": 2}
    config = LanguageModelConfig(
        vocab_size=WORDS, max_length=PLACES, position="learned", **sizes
    )
    return LanguageModel(config).eval()


class Certain(LanguageModel):
    """Knows the right word of each place, and is surest of the last one."""

    def decode(self, ids, cache=None, mask=None):
        words = torch.arange(ids.size(1)) % (WORDS - 2) + 2
        one = torch.nn.functional.one_hot(words, WORDS)
        sure = torch.linspace(8, 12, ids.size(1))[:, None]
        return (one * sure).repeat(len(ids), 1, 1)


@pytest.mark.parametrize("size", [3, 4, 12])
def test_the_loss_of_one_who_knows_nothing_is_that_of_guessing(model, size):
    """Of each word the logarithm of the vocabulary, at any rate of masks."""
    for weight in model.parameters():
        torch.nn.init.zeros_(weight)
    ids = torch.randint(2, WORDS, (1000, PLACES))
    guessed = PLACES * torch.tensor(float(WORDS)).log()
    with torch.no_grad():
        drawn = [diffusion_loss(model, ids, size) for _ in range(6)]
    found = torch.stack(drawn).mean()
    torch.testing.assert_close(found, guessed, rtol=0.05, atol=0)
    torch.testing.assert_close(bound(model, ids[:9], size), guessed)


def test_the_loss_and_its_bound_have_one_mean(model):
    ids = torch.randint(2, WORDS, (1000, PLACES))
    with torch.no_grad():
        drawn = [diffusion_loss(model, ids, 4) for _ in range(12)]
        wanted = bound(model, ids, 4)
    found = torch.stack(drawn).mean()
    torch.testing.assert_close(found, wanted, rtol=0.05, atol=0)


def test_a_block_sees_itself_and_what_stands_before(model):
    ids = torch.randint(2, WORDS, (1, PLACES))
    other = ids.clone()
    other[0, 7] = (ids[0, 7] - 1) % (WORDS - 2) + 2
    first, second = (
        model.decode(x, mask=block_mask(12, 4)) for x in (ids, other)
    )
    changed = (first != second).any(dim=-1)[0].tolist()
    assert changed == [False] * 4 + [True] * 8


def test_masks_are_filled_by_the_surest_first_and_nothing_else_is_moved():
    model = Certain(LanguageModelConfig(vocab_size=WORDS, n_layers=1))
    torch.manual_seed(0)
    empty = torch.full((2, 6), MASK)
    empty[0, 0] = 8
    rows = list(unmask(model, empty, 3))
    masks = [(ids == MASK).int().tolist() for ids in rows]
    assert rows[-1].tolist() == [[8, 3, 4, 5, 6, 7], [2, 3, 4, 5, 6, 7]]
    assert masks[0] == [[0, 1, 1, 1, 0, 0], [1, 1, 1, 1, 0, 0]]
    assert masks[1] == [[0, 1, 0, 0, 0, 0], [1, 1, 0, 0, 0, 0]]


def test_a_cache_of_finished_blocks_changes_nothing(model):
    """What is written is what is drawn when all blocks are read each time."""
    empty = torch.full((3, PLACES), MASK)
    torch.manual_seed(1)
    found = write_blocks(model, empty, 4, 2, end=0)
    torch.manual_seed(1)
    ids = empty[:, :0]
    for _ in range(3):
        ids = torch.cat([ids, empty[:, :4]], dim=1)
        for _ in (2, 1):
            seen = block_mask(ids.size(1), 4)
            logits = model.decode(ids, mask=seen)[:, -4:]
            logits[..., MASK] = -torch.inf
            p, block = logits.softmax(dim=-1), ids[:, -4:]
            drawn = torch.multinomial(p.flatten(0, 1), 1).view_as(block)
            sure = p.gather(-1, drawn[..., None])[..., 0]
            sure = sure.masked_fill(block != MASK, -1)
            for row in range(3):
                best = sure[row].topk(2).indices
                block[row, best] = drawn[row, best]
    assert torch.equal(found, ids)


def test_writing_stops_with_the_block_in_which_all_have_ended():
    model = Certain(LanguageModelConfig(vocab_size=WORDS, n_layers=1))
    torch.manual_seed(0)
    empty = torch.full((2, PLACES), MASK)
    assert write_blocks(model, empty, 4, 2, end=3).shape == (2, 4)
    assert write_blocks(model, empty, 4, 2, end=8).shape == (2, PLACES)


def test_the_grammar_can_say_what_it_says():
    for pair in grammar_pairs(120, seed=5):
        assert can_say(pair.src), pair.src


@pytest.mark.parametrize(
    "wrong",
    [
        "she read a hats .",
        "they reads the book every day .",
        "the cats are old men .",
        "emi ate the letter .",
        "ken met ken .",
        "because it rained .",
        "the women are young , but he are not busy .",
        "",
    ],
)
def test_the_grammar_cannot_say(wrong):
    assert not can_say(wrong)
