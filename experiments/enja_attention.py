"""Where do translators look while they write?

For every 50th development sentence, the reference is fed to each model as if
it wrote it, so that all of them write the same words; what they then look at,
and how probable each word was to them, is stored in
``experiments/results/enja-attention/maps.npz``. A word's weight is the sum
over its source pieces, in the row of its first target piece. ``words.json``
beside it holds the words, their glosses, and which source words each
corresponds to: both are written by hand, and kept when the file is made again.
"""

from collections.abc import Iterator

import numpy as np
import torch
from torch import Tensor

from experiments import store
from experiments.judging import CREDIT
from experiments.lab import Analysis, RunContext, made_of
from experiments.translations import dev_of, smoke_inputs
from transformer_course.batches.pairs import pad_rows
from transformer_course.checkpoints import checkpoint
from transformer_course.checkpoints.find import chosen_checkpoint
from transformer_course.data.text import ParallelText
from transformer_course.data.tokenizer import BOS, EOS, Tokenizer
from transformer_course.decoding.translate import encode_source
from transformer_course.interpretation.attribution import by_kind
from transformer_course.interpretation.hooks import attention_maps
from transformer_course.models.recurrent import RecurrentTranslator

EVERY = 50
END = "</s>"


class RecordingTranslator(RecurrentTranslator):
    """Keeps the weights of its decoder's steps."""

    def __init__(self, config):
        super().__init__(config)
        self.recorded: list[Tensor] = []

    def _attend(self, memory, mask, cache):
        sources, words, _ = memory.shape
        each = torch.eye(words).expand(sources, -1, -1)  # what is fetched from
        self.recorded.append(
            super()._attend(each, mask, cache)
        )  # it: a weight
        return super()._attend(memory, mask, cache)


def weights_of(model, src: Tensor, tgt_in: Tensor) -> Tensor:
    """(layer, head, target, source) of one pair; a GRU has one of each."""
    if not isinstance(model, RecurrentTranslator):
        return by_kind(attention_maps(model, src, tgt_in))["cross"][0]
    recording = RecordingTranslator(model.config).eval()
    recording.load_state_dict(model.state_dict())
    with torch.no_grad():
        recording(src, tgt_in)
    return torch.cat(recording.recorded, dim=1)[None]  # (1, 1, target, source)


def word_starts(pieces: list[str]) -> list[int]:
    """The place of each word's first piece, and of what ends the sentence."""
    first = [i for i, p in enumerate(pieces) if i == 0 or p.startswith("▁")]
    return [*first, len(pieces)]


def by_words(
    weights: Tensor, source: list[str], target: list[str]
) -> np.ndarray:
    """Weights between pieces as weights between words.

    Args:
        weights: (layer, head, target, source), a row and a column more than
            there are pieces, for eos.
        source: pieces.
        target: pieces.
    """
    starts = word_starts(source)
    ends = [*starts[1:], len(source) + 1]
    columns = [
        weights[..., a:b].sum(dim=-1)
        for a, b in zip(starts, ends, strict=True)
    ]
    words = torch.stack(columns, dim=-1)[:, :, word_starts(target)]
    return words.numpy().astype(np.float16)


def expected(model, src: Tensor, tgt: list[int]) -> np.ndarray:
    """The probability that the model gives to each token of a target."""
    tgt_in, tgt_out = pad_rows([[BOS, *tgt]]), torch.tensor([*tgt, EOS])
    with torch.no_grad():
        chances = model(src, tgt_in)[0].float().softmax(dim=-1)
    return chances.gather(1, tgt_out[:, None])[:, 0].numpy()


def maps_of(
    name: str, model, tokenizer: Tokenizer, text: ParallelText
) -> dict[str, np.ndarray]:
    """Maps between words, and ends, of each pair, as ``NAME-i``; and, as
    ``NAME-i-p``, how probable each word's first piece was."""
    found = {}
    for i, (source, target) in enumerate(text):
        src = pad_rows([encode_source(tokenizer, source)])
        ids = tokenizer.encode(target)
        weights = weights_of(model, src, pad_rows([[BOS, *ids]]))
        pieces = [tokenizer.pieces(side) for side in (source, target)]
        found[f"{name}-{i}"] = by_words(weights, *pieces)
        p = expected(model, src, ids)[word_starts(pieces[1])]
        found[f"{name}-{i}-p"] = p.astype(np.float16)
    return found


def words_of(text: ParallelText, known: dict[str, dict]) -> list[dict]:
    """The words of each pair, with what was written by hand about them."""
    found = []
    for source, target in text:
        words = target.split()
        notes = known.get(target, {})
        empty = [""] * len(words)
        found.append(
            {
                "source": [*source.split(), END],
                "target": [*words, END],
                "text": target,
                "gloss": notes.get("gloss", empty),
                "gold": notes.get("gold", [[] for _ in words]),
            }
        )
    return found


def analyse(context: RunContext) -> Iterator[str]:
    """Look at each model's attention, and keep what was written by hand."""
    path = context.folder / "words.json"
    old = store.rows_in(path, "sentences")
    known = {one["text"]: one for one in old}
    dev = dev_of(context.inputs[0])
    text = dev.take(range(0, len(dev), EVERY)[: context.limit(len(dev))])
    arrays, chosen = {}, {}
    for output in context.inputs:
        weights = chosen_checkpoint(output)
        loaded = checkpoint.load(weights)
        chosen[output.name] = weights.name
        model = loaded.model.eval()
        arrays |= maps_of(output.name, model, loaded.tokenizer, text)
    stored = {
        **made_of("enja-attention", context),
        "split": "dev",
        "credit": CREDIT,
        "weights": chosen,
        "sentences": words_of(text, known),
    }
    store.write_json(path, stored)
    store.write_arrays(context.folder / "maps.npz", arrays)
    yield f"{len(arrays)} arrays"


EXPERIMENT = Analysis(
    name="enja-attention",
    chapter="15_translation",
    analyse=analyse,
    inputs=("outputs/enja", "outputs/enja-gru"),
    smoke_inputs=smoke_inputs,
)
