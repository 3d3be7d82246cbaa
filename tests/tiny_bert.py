"""A tiny BERT with random weights, in the form of published ones."""

import importlib.metadata
import json
from importlib.metadata import PackagePath
from pathlib import Path
from types import SimpleNamespace

import safetensors.torch
import torch
from tiny import SIZES

from transformer_course.checkpoints import pretrained
from transformer_course.data.wordpiece import SPECIAL
from transformer_course.models.bert import BertPreTraining
from transformer_course.models.bert_config import BertConfig

PIECES = [*SPECIAL, *"cats dogs drink milk ##s . a b c d e f".split()]
SETTINGS = {
    "model_type": "bert",
    "hidden_act": "gelu",
    "layer_norm_eps": 1e-12,
    "pad_token_id": 0,
    **{
        theirs: SIZES.get(ours, 2) for theirs, ours in pretrained.SIZES.items()
    },
}


def is_table(name: str) -> bool:
    """Whether it is an embedding, which has no bias."""
    return name.startswith("embeddings.") and "norm" not in name


def published_names() -> dict[str, str]:
    """Ours to the library's, for two layers."""
    parts = {ours: theirs for theirs, ours in pretrained.BODY.items()}
    for layer in range(2):
        for theirs, ours in pretrained.LAYER.items():
            mine = f"encoder.layers.{layer}.{ours}"
            parts[mine] = f"encoder.layer.{layer}.{theirs}"
    body = {
        f"bert.{ours}.{kind}": f"bert.{theirs}.{kind}"
        for ours, theirs in parts.items()
        for kind in ("weight", "bias")
        if kind == "weight" or not is_table(ours)
    }
    return body | {ours: theirs for theirs, ours in pretrained.HEADS.items()}


def published(model: BertPreTraining) -> dict[str, torch.Tensor]:
    """A model's weights under the library's names."""
    names = published_names()
    weights = {n: p.detach() for n, p in model.named_parameters()}
    for name in ("to_next.weight", "to_next.bias"):
        weights[name] = weights[name].flip(0)  # there 0 says "yes"
    return {names[name]: tensor for name, tensor in weights.items()}


def write(folder: Path, tensors, settings=SETTINGS, pieces=PIECES) -> Path:
    folder.mkdir(exist_ok=True)
    (folder / "config.json").write_text(json.dumps(settings))
    (folder / "vocab.txt").write_text("\n".join(pieces) + "\n")
    whole = {n: t.contiguous() for n, t in tensors.items()}
    safetensors.torch.save_file(whole, folder / "model.safetensors")
    return folder


def installed(monkeypatch, package: str, folder: Path) -> None:
    """Let importlib say that the files of a package are those of a folder."""

    def files(asked):
        assert asked == package
        found = sorted(p for p in folder.rglob("*") if p.is_file())
        paths = [PackagePath(path.relative_to(folder)) for path in found]
        for path in paths:
            path.dist = SimpleNamespace(locate_file=folder.joinpath)
        return paths

    monkeypatch.setattr(importlib.metadata, "files", files)


def without_heads(folder: Path, words: str) -> Path:
    """A body with its pooler, as a model of sentences has it."""
    pieces = [*SPECIAL, *dict.fromkeys(words.split())]
    torch.manual_seed(0)
    model = BertPreTraining(BertConfig(**SIZES | {"vocab_size": len(pieces)}))
    tensors = {
        name.removeprefix("bert."): tensor
        for name, tensor in published(model).items()
        if not name.startswith("cls.")
    }
    settings = SETTINGS | {"vocab_size": len(pieces)}
    return write(folder, tensors, settings, pieces)
