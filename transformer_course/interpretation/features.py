"""Directions and features of the residual stream (chapter 20).

A top-k autoencoder writes a vector as the sum of a few out of many learned
directions (Makhzani and Frey 2013; Gao et al. 2024). One for SmolLM2's stream
after layer 18 comes with the course.
"""

import contextlib
from collections.abc import Callable, Iterator

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from transformer_course.checkpoints.checkpoint import read_tensors
from transformer_course.checkpoints.shipped import FOLDER
from transformer_course.models.modern import ModernLanguageModel
from transformer_course.models.positional_encoding import rotations

SHIPPED = FOLDER / "smollm2-features" / "features.safetensors"
LAYER, K = 18, 32
"""Of the one that is shipped: it reads the stream after this layer, from 1,
and writes each vector with this many features."""
Stream = Float[Tensor, "... d_model"]
Codes = Float[Tensor, "... features"]


class TopKAutoencoder(nn.Module):
    """z = TopK(ReLU(W (x - b) + a)), x̂ = z D + b (Gao et al. 2024, 2.3).

    Args:
        d_model: width of the stream.
        n_features: rows of W and D; each row of D is a direction.
        k: features that may differ from 0 at once.
    """

    def __init__(self, d_model: int, n_features: int, k: int):
        super().__init__()
        self.k = k
        rows = torch.randn(n_features, d_model)
        self.directions = nn.Parameter(rows / rows.norm(dim=1, keepdim=True))
        self.encoder = nn.Linear(d_model, n_features)
        self.encoder.weight.data = self.directions.data.clone()
        nn.init.zeros_(self.encoder.bias)
        self.centre = nn.Parameter(torch.zeros(d_model))

    def scores(self, x: Stream) -> Codes:
        """How much of each feature is there, before the largest are kept."""
        return self.encoder(x - self.centre).relu()

    def encode(self, x: Stream) -> Codes:
        """The k largest scores; all others are 0."""
        return keep_largest(self.scores(x), self.k)

    def decode(self, codes: Codes) -> Stream:
        """The sum of the directions, each times its code."""
        return codes @ self.directions + self.centre

    def forward(self, x: Stream) -> Stream:
        """The reconstruction."""
        return self.decode(self.encode(x))


def keep_largest(scores: Codes, k: int) -> Codes:
    """All but the k largest numbers of each row become 0."""
    values, which = scores.topk(min(k, scores.size(-1)), dim=-1)
    return torch.zeros_like(scores).scatter(-1, which, values)


def autoencoder_loss(
    model: TopKAutoencoder,
    x: Float[Tensor, "batch d_model"],
    dead: Bool[Tensor, " features"],
    k_dead: int = 64,
    weight: float = 1 / 32,
) -> tuple[Float[Tensor, ""], Codes]:
    """Squared error, and what dead features could do about it (AuxK).

    Gao et al. 2024, section 2.4: features that have not been used for long
    are trained on the error that the others leave.

    Args:
        model: the autoencoder.
        x: vectors of the stream.
        dead: the features that have not been used for long.
        k_dead: of these, how many may write the error.
        weight: of the second term.

    Returns:
        The loss, and the codes.
    """
    scores = model.scores(x)
    codes = keep_largest(scores, model.k)
    error = x - model.decode(codes)
    loss = error.square().mean()
    if dead.any():
        second = keep_largest(scores[:, dead], k_dead) @ model.directions[dead]
        loss = loss + weight * (error.detach() - second).square().mean()
    return loss, codes.detach()


def load_features() -> TopKAutoencoder:
    """The autoencoder that comes with the course, of SmolLM2's layer 18.

    Raises:
        CheckpointError: its file is damaged.
    """
    weights = read_tensors(SHIPPED)
    model = TopKAutoencoder(*weights["directions"].shape[::-1], k=K)
    model.load_state_dict(weights)
    return model.to(torch.get_default_device()).requires_grad_(False).eval()


def difference_of_means(
    some: Float[Tensor, "n d_model"], others: Float[Tensor, "m d_model"]
) -> Float[Tensor, " d_model"]:
    """A direction from one set of vectors to another (Belrose 2023)."""
    return some.mean(dim=0) - others.mean(dim=0)


def fit_probe(
    x: Float[Tensor, "n d_model"],
    labels: Int[Tensor, " n"],
    penalty: float = 1e-3,
) -> Callable[[Float[Tensor, "m d_model"]], Int[Tensor, " m"]]:
    """A linear probe: ridge regression on the labels' indicators.

    Alain and Bengio 2016 fit such probes to each layer, by another loss.

    Args:
        x: what it reads.
        labels: the classes, from 0.
        penalty: on its weights, in units of the mean squared length of x.

    Returns:
        From vectors to classes.
    """
    mean = x.mean(dim=0)
    centred = x - mean
    targets = nn.functional.one_hot(labels).float()
    weights = targets.mean(dim=0)
    gram = centred @ centred.T  # (n, n): fewer than d_model squared
    gram.diagonal().add_((penalty * gram.trace()).clamp(min=1e-6))
    solved = centred.T @ torch.linalg.solve(gram, targets - weights)
    return lambda new: ((new - mean) @ solved + weights).argmax(dim=-1)


@torch.no_grad()
def streams(
    model: ModernLanguageModel, ids: Int[Tensor, "rows length"]
) -> Iterator[Float[Tensor, "rows length d_model"]]:
    """The residual stream: the embedding, then after each layer."""
    config = model.config
    positions = torch.arange(ids.size(1), device=ids.device)
    turns = rotations(positions, config.d_head, config.rope_base)
    x = model.embedding(ids)
    yield x
    for layer in model.layers:
        x = layer(x, turns)
        yield x


@contextlib.contextmanager
def change_stream(
    model: ModernLanguageModel, layer: int, change: Callable[[Stream], Stream]
) -> Iterator[None]:
    """Context manager: change the residual stream after a layer, from 1.

    Args:
        model: a decoder of today.
        layer: the layer whose output is changed.
        change: from the stream, (rows, length, d_model), to the one that the
            layers above read. It must not write into what it is given.
    """
    with model.layers[layer - 1].register_forward_hook(
        lambda part, inputs, output: change(output)
    ):
        yield
