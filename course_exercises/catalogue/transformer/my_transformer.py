"""The whole Transformer."""

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from course_exercises.candidate.cases import Case, give_weights
from course_exercises.candidate.draw import Draw
from course_exercises.catalogue.tokens_and_embeddings.embedding import (
    Embedding,
)
from course_exercises.engine.exercise import exercise_of, module_case, other

from ..masks.causal_mask import causal_mask
from ..masks.padding_mask import padding_mask
from ..positional_encoding.add_positions import add_positions
from ..positional_encoding.sinusoidal_encoding import sinusoidal_encoding
from .my_decoder_layer import MyDecoderLayer
from .my_encoder_layer import MyEncoderLayer
from .my_stack import MyStack


class MyTransformer(nn.Module):
    """Encoder and decoder, with one table of words for both, and no dropout.

    The table is the output matrix too. Ids are integers; 0 is padding.

    Args:
        vocab_size: number of words in the vocabulary.
        d_model: width of the stream.
        n_heads: number of heads.
        d_ff: width inside the feed-forward parts.
        n_layers: number of layers of the encoder, and of the decoder.
    """

    def __init__(
        self,
        vocab_size: int,
        d_model: int,
        n_heads: int,
        d_ff: int,
        n_layers: int,
    ):
        super().__init__()
        self.d_model = d_model
        self.embedding = Embedding(vocab_size, d_model)
        sizes = d_model, n_heads, d_ff
        self.encoder = MyStack(lambda: MyEncoderLayer(*sizes), n_layers)
        self.decoder = MyStack(lambda: MyDecoderLayer(*sizes), n_layers)

    def start(
        self, ids: Int[Tensor, "batch length"]
    ) -> Float[Tensor, "batch length d_model"]:
        """Make the vectors that enter a stack.

        Args:
            ids: sentences of the source or of the target.

        Returns:
            The embeddings, which are scaled already, with sinusoidal
            positions added; on the device of the ids.
        """
        ### BEGIN SOLUTION
        table = sinusoidal_encoding(ids.size(1), self.d_model)
        return add_positions(self.embedding(ids), table.to(ids.device))
        ### END SOLUTION

    def encode(
        self, src: Int[Tensor, "batch source"]
    ) -> Float[Tensor, "batch source d_model"]:
        """Read the source.

        Args:
            src: source sentences, padded. Nothing may look at padding.

        Returns:
            The memory: what the encoder's last layer gives.
        """
        ### BEGIN SOLUTION
        return self.encoder(self.start(src), padding_mask(src))
        ### END SOLUTION

    def decode(
        self,
        tgt: Int[Tensor, "batch target"],
        memory: Float[Tensor, "batch source d_model"],
        src_mask: Bool[Tensor, "batch 1 1 source"],
    ) -> Float[Tensor, "batch target vocab"]:
        """Say at each position of the target which word comes next.

        Args:
            tgt: the target so far, from bos on, padded on the right. A word
                may look at itself and at what came before, and nothing at
                padding.
            memory: what the encoder has made of the source.
            src_mask: True = this position of the memory may be looked at.

        Returns:
            A logit for each word of the vocabulary, at each position, those
            of padding included: the decoder's output, times the transposed
            table of the embedding.
        """
        ### BEGIN SOLUTION
        mask = causal_mask(tgt.size(1)).to(tgt.device) & padding_mask(tgt)
        x = self.decoder(self.start(tgt), memory, mask, src_mask)
        return x @ self.embedding.weight.T
        ### END SOLUTION

    def forward(
        self,
        src: Int[Tensor, "batch source"],
        tgt: Int[Tensor, "batch target"],
    ) -> Float[Tensor, "batch target vocab"]:
        """Encode the source, and decode the target beside it.

        Args:
            src: source sentences, padded.
            tgt: target sentences, from bos on, padded on the right.

        Returns:
            The logits.
        """
        ### BEGIN SOLUTION
        return self.decode(tgt, self.encode(src), padding_mask(src))
        ### END SOLUTION


@other
class TransformerOfOneForward(MyTransformer):
    def start(self, ids):
        places = sinusoidal_encoding(100, self.d_model).to(ids.device)
        return self.embedding(ids) + places[: ids.shape[1]]

    def encode(self, src):
        return self.encoder(self.start(src), (src != 0)[:, None, None])

    def decode(self, tgt, memory, src_mask):
        length = tgt.size(1)
        past = torch.ones(length, length, device=tgt.device).tril().bool()
        mask = past[None, None] * (tgt != 0)[:, None, None]
        x = self.decoder(self.start(tgt), memory, mask, src_mask)
        return torch.einsum("btd,vd->btv", x, self.embedding.weight)

    def forward(self, src, tgt):
        src_mask = padding_mask(src)
        memory = self.encoder(self.start(src), src_mask)
        return self.decode(tgt, memory, src_mask)


@other
class TransformerLayerByLayer(MyTransformer):
    def start(self, ids):
        x = self.embedding(ids)
        table = sinusoidal_encoding(ids.size(1), x.size(-1))
        return torch.stack([row + table.to(x.device) for row in x])

    def encode(self, src):
        x, mask = self.start(src), src.ne(0).unsqueeze(1).unsqueeze(1)
        for layer in self.encoder.layers:
            x = layer(x, mask)
        return x

    def decode(self, tgt, memory, src_mask):
        hidden = causal_mask(tgt.size(1)).logical_not() | ~padding_mask(tgt)
        x = self.start(tgt)
        for layer in self.decoder.layers:
            x = layer(x, memory, ~hidden, src_mask)
        return nn.functional.linear(x, self.embedding.weight)

    def forward(self, src, tgt):
        memory = self.encode(src)
        return self.decode(tgt, memory, src_mask=padding_mask(src))


@other
class TransformerBySentence(MyTransformer):
    def start(self, ids):
        table = sinusoidal_encoding(ids.size(1), self.d_model)
        return add_positions(self.embedding(ids), table.to(ids.device))

    def encode(self, src):
        rows = src.split(1)
        read = [self.encoder(self.start(x), padding_mask(x)) for x in rows]
        return torch.cat(read)

    def decode(self, tgt, memory, src_mask):
        masks = padding_mask(tgt).expand(-1, -1, tgt.size(1), -1).tril()
        x = self.decoder(self.start(tgt), memory, masks, src_mask)
        return x.matmul(self.embedding.weight.t())

    def forward(self, src, tgt):
        pairs = zip(src.split(1), tgt.split(1), strict=True)
        return torch.cat(
            [
                self.decode(own, self.encode(read), padding_mask(read))
                for read, own in pairs
            ]
        )


def run_transformer(candidate, given: Case) -> dict:
    """Call all methods of a model whose weights are those of its parts.

    ``decode`` is also given a memory from elsewhere, of which only the first
    position may be looked at.
    """
    model = candidate(*given.build)
    parts = {
        name: nn.ParameterList(part.parameters())
        for name, part in model.named_children()
    }
    give_weights(nn.ModuleDict(parts))
    src, tgt = given.args
    memory = Draw(1).normal(*src.shape, given.build[1])
    first = (torch.arange(src.size(1)) == 0).expand(len(src), 1, 1, -1)
    logits = model(src, tgt)
    return {
        "start(src)": model.start(src),
        "encode(src)": model.encode(src),
        "forward": logits,
        "decode, other memory": model.decode(tgt, memory, first),
        "parameters that learn": learning(model, logits),
    }


def learning(model: nn.Module, logits: Tensor) -> int:
    """How many of a model's parameters get a gradient from its logits."""
    if not logits.requires_grad:
        return 0
    weights = list(model.parameters())
    found = torch.autograd.grad(logits.sum(), weights, allow_unused=True)
    return sum(gradient is not None for gradient in found)


def sentences(
    note: str, src: list, tgt: list, n_layers: int = 1, vocab_size: int = 6
) -> Case:
    """Ids of both sides, for a model of width 4 with two heads."""
    build = vocab_size, 4, 2, 8, n_layers
    return module_case(note, build, torch.tensor(src), torch.tensor(tgt))


def draw_sentences(draw: Draw) -> Case:
    batch, vocab_size = draw.size(2, 3), draw.size(7, 9)
    src = draw.ids(batch, draw.size(2, 5), vocab_size=vocab_size)
    tgt = draw.ids(batch, draw.size(2, 5), vocab_size=vocab_size)
    build = vocab_size, 4, 2, 8, draw.size(1, 2)
    return module_case("random sentences", build, src, tgt)


EXERCISE = exercise_of(
    MyTransformer,
    section="10_transformer#build-it",
    points=4,
    cases=[
        sentences("one word on each side", [[3]], [[1]]),
        sentences("two target words", [[3]], [[1, 4]]),
        sentences("two source words", [[3, 4]], [[1]]),
        sentences("both sides equally long", [[3, 4]], [[1, 5]]),
        sentences("the source is padded", [[3, 0]], [[1, 5]]),
        sentences("the target is padded", [[3, 4]], [[1, 5, 0]]),
        sentences("two layers", [[3, 4, 5]], [[1, 5]], 2),
        sentences("as many words as numbers", [[3, 2]], [[1, 3, 2]], 1, 4),
        sentences(
            "two sentences, padded",
            [[3, 4, 5, 2], [5, 2, 0, 0]],
            [[1, 4, 5], [1, 3, 0]],
            2,
        ),
        sentences("a source of 70 words", [[3] * 70], [[1]]),
    ],
    draw=draw_sentences,
    run=run_transformer,
    tolerance=1e-4,
)
