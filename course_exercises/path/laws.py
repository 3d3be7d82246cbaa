"""What must be true of any Transformer, whatever its weights (chapter 10).

Each law takes a new model of sizes ``SIZES`` and fails by an
AssertionError.
"""

import math
from collections.abc import Callable
from typing import NamedTuple

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.testing import assert_close

from course_exercises.language import say

V, D, H, D_FF, N = SIZES = 100, 32, 4, 64, 2
"""Vocabulary, width, heads, inner width, layers."""


def random_ids(*shape: int, seed: int) -> Int[Tensor, "..."]:
    """Words, without padding, bos or eos."""
    generator = torch.Generator().manual_seed(seed)
    return torch.randint(4, V, shape, generator=generator)


src, tgt = random_ids(3, 7, seed=1), random_ids(3, 5, seed=2)


def with_another_token(
    ids: Int[Tensor, "batch length"], position: int
) -> Int[Tensor, "batch length"]:
    """The same sentences with another word at one position."""
    changed = ids.clone()
    changed[:, position] = 4 + (ids[:, position] + 1) % (V - 4)
    return changed


def moved(after: Tensor, before: Tensor) -> Float[Tensor, "batch length"]:
    """How far the vector at each position has moved."""
    return (after - before).abs().amax(dim=-1)


def right_shape(model: nn.Module) -> None:
    """Logits are batch × target's length × vocabulary."""
    assert model(src, tgt).shape == (3, 5, V)


def rows_apart(model: nn.Module) -> None:
    """A sentence does not depend on the others of its batch."""
    before = model(src, tgt)
    one, other = src.clone(), tgt.clone()
    one[0], other[0] = random_ids(7, seed=8), random_ids(5, seed=9)
    assert_close(model(one, other)[1:], before[1:])


def no_future(model: nn.Module) -> None:
    """A token changes its own output, and no earlier one."""
    before = model(src, tgt)
    for position in range(1, 5):
        after = model(src, with_another_token(tgt, position))
        assert_close(after[:, :position], before[:, :position])
        assert (moved(after, before)[:, position] > 1e-4).all()


def padding_unseen(model: nn.Module) -> None:
    """Padding on the right changes nothing at the words."""
    before = model(src, tgt)
    after = model(F.pad(src, (0, 3)), F.pad(tgt, (0, 2)))
    assert_close(after[:, :5], before)


def source_read(model: nn.Module) -> None:
    """Each word of the source changes every output."""
    before = model(src, tgt)
    for position in range(7):
        after = model(with_another_token(src, position), tgt)
        assert (moved(after, before) > 1e-5).all()


def order_known(model: nn.Module) -> None:
    """The order of the source's words matters."""
    swapped = src[:, [0, 2, 1, 3, 4, 5, 6]]
    assert (moved(model(swapped, tgt), model(src, tgt)) > 1e-5).all()


def count(model: nn.Module) -> int:
    """The number of weights."""
    return sum(weight.numel() for weight in model.parameters())


def right_count(model: nn.Module) -> None:
    """The weights are those of the parts, each counted once."""
    attention, norm = 4 * D**2, 2 * D
    feed_forward = 2 * D * D_FF + D_FF + D
    encoder_layer = attention + feed_forward + 2 * norm
    decoder_layer = 2 * attention + feed_forward + 3 * norm
    assert count(model) == V * D + N * (encoder_layer + decoder_layer)


def random_loss(model: nn.Module) -> Float[Tensor, ""]:
    """The loss of drawn targets, in nats per token."""
    read, said, asked = (random_ids(16, 12, seed=s) for s in (3, 4, 5))
    logits = model(read, said)
    return F.cross_entropy(logits.flatten(0, 1), asked.flatten())


def gradient_everywhere(model: nn.Module) -> None:
    """Each weight gets a gradient."""
    random_loss(model).backward()
    for name, weight in model.named_parameters():
        assert weight.grad is not None and (weight.grad != 0).any(), name


def first_loss(model: nn.Module) -> None:
    """Before training no word is much likelier than another."""
    assert abs(random_loss(model).item() - math.log(V)) < 1


def whole_is_its_halves(model: nn.Module) -> None:
    """Reading, then writing, is the same as both at once."""
    real = (src != 0)[:, None, None, :]
    assert_close(model.decode(tgt, model.encode(src), real), model(src, tgt))


class Law(NamedTuple):
    """A law, and what it means when it is broken."""

    holds: Callable[[nn.Module], None]
    broken: str


LAWS = (
    Law(
        right_shape,
        "the logits do not have the shape batch × length of the target × "
        "vocabulary. Is the output matrix there, and is it the target that "
        "goes through the decoder?",
    ),
    Law(
        rows_apart,
        "a sentence's output depends on the other sentences of its batch. "
        "Look for a mean, a softmax or a reshape over the wrong axis.",
    ),
    Law(
        no_future,
        "an output depends on later words of the target, or not on its own. "
        "Without a causal mask the loss falls quickly, and the model writes "
        "nothing of use.",
    ),
    Law(
        padding_unseen,
        "padding changes the output at the words. A mask is missing: in the "
        "encoder, over the target, or over the source in cross-attention.",
    ),
    Law(
        source_read,
        "some word of the source changes nothing. Does cross-attention look "
        "at the memory, and with the source's mask?",
    ),
    Law(
        order_known,
        "the order of the source's words does not matter. Positions are "
        "missing, or are the same everywhere.",
    ),
    Law(
        right_count,
        "the number of weights is not that of the parts in chapter 10. Are "
        "layers shared, in a plain list, or is there a second embedding? A "
        "model of another architecture breaks this law on purpose.",
    ),
    Law(
        gradient_everywhere,
        "a weight gets no gradient, so it will never be trained: {why}. Is "
        "that part used, and is nothing detached?",
    ),
    Law(
        first_loss,
        "before training the model is sure of words that it cannot know: the "
        "first loss is far from ln |V|. Is the embedding drawn too large, or "
        "a softmax applied before the loss?",
    ),
    Law(
        whole_is_its_halves,
        "decode(tgt, encode(src), mask) is not forward(src, tgt), so what is "
        "trained is not what translates.",
    ),
)
"""The laws, in the order of the chapter."""


def broken_laws(kind: type[nn.Module]) -> dict[str, str]:
    """The laws that a class breaks, and what that means.

    Args:
        kind: built as ``kind(vocab_size, d_model, n_heads, d_ff, n_layers)``.
    """
    found = {}
    for law in LAWS:
        torch.manual_seed(0)
        try:
            law.holds(kind(*SIZES))
        except AssertionError as error:
            found[law.holds.__name__] = say(law.broken, why=error)
        except Exception as error:
            found[law.holds.__name__] = say(
                "it cannot be tried: {error}",
                error=f"{type(error).__name__}: {error}",
            )
    return found
