"""What is the feed-forward part good for, and how wide must it be?"""

from torch import nn

from experiments.translators import (
    Build,
    Training,
    experiment_of,
    with_parts,
)
from transformer_course.models.layers import FeedForward
from transformer_course.models.transformer import Transformer


class Skip(nn.Module):
    """In the place of an AddNorm: the stream goes on as it came."""

    def forward(self, x, sublayer):
        """``x``; the sub-layer is not asked."""
        return x


def remove_feed_forward(model: Transformer) -> None:
    """Leave attention, add and norm, nothing else."""
    for layer in model.encoder.layers:
        layer.feed_forward, layer.add_norm_2 = nn.Identity(), Skip()
    for layer in model.decoder.layers:
        layer.feed_forward, layer.add_norm_3 = nn.Identity(), Skip()


class AttentionOnly(Transformer):
    """Attention, add and norm, nothing else."""

    def init_weights(self) -> None:
        """Take the feed-forward parts away, then draw."""
        remove_feed_forward(self)
        super().init_weights()


class AsMade(Transformer):
    """Each linear map keeps the weights that PyTorch made it with."""

    def init_weights(self) -> None:
        """Draw nothing."""


class AttentionOnlyAsMade(Transformer):
    """Attention only, with the weights that PyTorch made."""

    def init_weights(self) -> None:
        """Take the feed-forward parts away, and draw nothing."""
        remove_feed_forward(self)


class LinearFeedForward(FeedForward):
    """Two linear maps with no activation between them."""

    def __init__(self, d_model: int, d_ff: int):
        super().__init__(d_model, d_ff)
        self.activation = nn.Identity()


def without(about: str, build: Build = AttentionOnly, **sizes) -> Training:
    """No feed-forward part, and other sizes of the model."""
    changes = {f"model.{name}": value for name, value in sizes.items()}
    return Training(about, changes, build=build)


VARIANTS = {
    "width-4": Training("4 × d_model, as in the paper"),
    "none": without("no feed-forward part"),
    "none-deeper": without(
        "no feed-forward part, 5 layers in place of 2", n_layers=5
    ),
    "none-wider": without(
        "no feed-forward part, d_model 92 in place of 64", d_model=92
    ),
    "width-4-pre-norm": Training(
        "4 × d_model, pre-norm", {"model.norm_first": True}
    ),
    "none-deeper-pre-norm": without(
        "no feed-forward part, 5 layers, pre-norm", n_layers=5, norm_first=True
    ),
    "linear": Training(
        "4 × d_model, no activation",
        build=with_parts(
            FeedForward, lambda c: LinearFeedForward(c.d_model, c.d_ff)
        ),
    ),
    "width-1": Training("1 × d_model", {"model.d_ff": 64}),
    "width-2": Training("2 × d_model", {"model.d_ff": 128}),
    "width-8": Training("8 × d_model", {"model.d_ff": 512}),
    "width-4-as-made": Training(
        "4 × d_model, linear maps as PyTorch makes them", build=AsMade
    ),
    "none-as-made": without(
        "no feed-forward part, linear maps as PyTorch makes them",
        AttentionOnlyAsMade,
    ),
    "none-wider-as-made": without(
        "no feed-forward part, d_model 92, linear maps as PyTorch makes them",
        AttentionOnlyAsMade,
        d_model=92,
    ),
}

EXPERIMENT = experiment_of("feed-forward", "09_feed_forward", VARIANTS)
