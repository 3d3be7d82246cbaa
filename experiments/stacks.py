"""Must each layer have its own weights, and is the encoder needed?

Layers with weights of their own against one layer used again and again, and a
decoder alone against encoder and decoder. All in pre-norm, so that depth is no
obstacle. Each change of the layer used four times (half of the rate, twice the
width) is also made where nothing is shared, so that the two can be compared.
"""

import torch
from torch import nn

from experiments.translators import (
    Training,
    experiment_of,
)
from transformer_course.batches.pairs import Batch, pad_rows
from transformer_course.checkpoints import checkpoint
from transformer_course.data.tokenizer import BOS, EOS, PAD
from transformer_course.decoding.translate import encode_source
from transformer_course.models.config import LanguageModelConfig, ModelConfig
from transformer_course.models.mode import eval_mode
from transformer_course.models.transformer import Transformer
from transformer_course.training.config import SequenceLossConfig
from transformer_course.training.loss import LossSums, label_smoothed_loss

# --- one layer, again and again ----------------------------------------------


class Shared(Transformer):
    """In each stack one layer, as many times as there should be layers."""

    def init_weights(self) -> None:
        """Leave the first layer of each stack, then draw."""
        for stack in (self.encoder, self.decoder):
            first, *others = stack.layers
            stack.layers = nn.ModuleList([first] * (1 + len(others)))
        super().init_weights()


# --- a decoder alone ---------------------------------------------------------


def decoder_alone(config: ModelConfig) -> nn.Module:
    """A language model of the same sizes."""
    return checkpoint.build(LanguageModelConfig(**vars(config)))


def join(batch: Batch) -> Batch:
    """Source and target as one text: source, eos, bos, target, eos.

    ``src`` of the result is what is read, ``tgt`` what is asked: padding
    wherever the next token belongs to the source.
    """
    texts, asked = [], []
    for src, tgt in zip(batch.src.tolist(), batch.tgt.tolist(), strict=True):
        src = [i for i in src if i != PAD]
        tgt = [i for i in tgt if i != PAD]
        texts.append((src + tgt)[:-1])
        asked.append([PAD] * len(src) + tgt[1:])
    return Batch(pad_rows(texts), pad_rows(asked))


def joined_loss(model, batch: Batch, config: SequenceLossConfig) -> LossSums:
    """A decoder alone reads the source as the beginning of its text."""
    read, asked = join(batch)
    return label_smoothed_loss(model(read), asked, config.label_smoothing)


def write_on(model, tokenizer, sentences) -> list[str]:
    """Greedy translations of a decoder that has the source before it."""
    found = []
    with torch.inference_mode(), eval_mode(model):
        for sentence in sentences:
            text = [*encode_source(tokenizer, sentence), BOS]
            start = len(text)
            while text[-1] != EOS and len(text) < start + 40:
                logits = model(torch.tensor([text]))
                text.append(int(logits[0, -1].argmax()))
            found.append(tokenizer.decode([i for i in text[start:] if i > 3]))
    return found


# --- the variants ------------------------------------------------------------


def pre_norm(about: str, *, rate: float = 4e-3, seams=None, **sizes):
    """A training in pre-norm; ``seams`` are those of Training."""
    changes = {f"model.{name}": value for name, value in sizes.items()}
    changes |= {"model.norm_first": True, "train.peak_rate": rate}
    return Training(about, changes, **(seams or {}))


SHARED = {"build": Shared}
JOINED = {"build": decoder_alone, "loss_fn": joined_loss, "write": write_on}
SLOWER = 2e-3
"""Half of the usual rate."""
WIDE = {"d_model": 124, "d_ff": 496}
"""About as many weights in one layer of each kind as in four narrow ones."""

VARIANTS = {
    "own-1": pre_norm("1 layer of each kind", n_layers=1),
    "own-2": pre_norm("2 layers of each kind"),
    "own-4": pre_norm("4 layers of each kind", n_layers=4),
    "own-4-slower": pre_norm(
        "4 layers of each kind, half of the learning rate",
        n_layers=4,
        rate=SLOWER,
    ),
    "own-1-wide": pre_norm(
        "1 layer of each kind, d_model 124 in place of 64",
        n_layers=1,
        **WIDE,
    ),
    "shared-2": pre_norm("1 layer, used twice", seams=SHARED),
    "shared-4": pre_norm("1 layer, used 4 times", n_layers=4, seams=SHARED),
    "shared-4-slower": pre_norm(
        "1 layer, used 4 times, half of the learning rate",
        n_layers=4,
        rate=SLOWER,
        seams=SHARED,
    ),
    "shared-4-wide": pre_norm(
        "1 layer, used 4 times, d_model 124 in place of 64",
        n_layers=4,
        seams=SHARED,
        **WIDE,
    ),
    "joined-4": pre_norm(
        "a decoder alone of 4 layers, the source before the target",
        n_layers=4,
        seams=JOINED,
    ),
    "joined-5": pre_norm(
        "a decoder alone of 5 layers, the source before the target",
        n_layers=5,
        seams=JOINED,
    ),
}

EXPERIMENT = experiment_of("stacks", "10_transformer", VARIANTS)
