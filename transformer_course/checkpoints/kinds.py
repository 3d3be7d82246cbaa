"""What kinds of models there are, and what they are trained for.

By their names in files. ``training.tasks`` has how each task is trained.
"""

from typing import Any, Literal, NamedTuple

from transformer_course.data.tokenizer import MASK_PIECE
from transformer_course.errors import ConfigError
from transformer_course.models.bert_config import (
    BertConfig,
    RecurrentClassifierConfig,
    TextClassifierConfig,
)
from transformer_course.models.config import (
    AnyModelConfig,
    CustomConfig,
    LanguageModelConfig,
    ModelConfig,
    RecurrentConfig,
)
from transformer_course.models.modern_config import ModernConfig
from transformer_course.models.vit_config import (
    ConvolutionalConfig,
    VisionConfig,
)

MODEL_KINDS: dict[str, tuple[type, str]] = {
    name: (config, f"transformer_course.models.{model}")
    for name, config, model in (
        ("transformer", ModelConfig, "transformer:Transformer"),
        ("language_model", LanguageModelConfig, "transformer:LanguageModel"),
        ("custom", CustomConfig, "custom:CustomTransformer"),
        ("recurrent", RecurrentConfig, "recurrent:RecurrentTranslator"),
        ("vision_transformer", VisionConfig, "vit:VisionTransformer"),
        ("convolutional", ConvolutionalConfig, "vit:ConvolutionalNetwork"),
        ("bert", BertConfig, "bert:BertPreTraining"),
        ("text_classifier", TextClassifierConfig, "bert:TextClassifier"),
        (
            "recurrent_classifier",
            RecurrentClassifierConfig,
            "recurrent:RecurrentClassifier",
        ),
        ("modern_language_model", ModernConfig, "modern:ModernLanguageModel"),
    )
}
"""From ``model_type`` to the config's class and where the model's is, which is
imported when one is built."""


def model_type_of(config: AnyModelConfig) -> str:
    """The ``model_type`` of a config's class.

    Raises:
        ConfigError: its class is not in :data:`MODEL_KINDS`.
    """
    for name, (config_class, _) in MODEL_KINDS.items():
        if type(config) is config_class:
            return name
    raise ConfigError(
        f"no model can be made from a {type(config).__name__}: give one of "
        f"{', '.join(c.__name__ for c, _ in MODEL_KINDS.values())}, or name "
        "its class in MODEL_KINDS of checkpoints/kinds.py."
    )


class TaskKind(NamedTuple):
    """A task as those who use its models need to know it."""

    name: str
    """In settings and checkpoints."""
    models: tuple[str, ...]
    """The ``model_type`` of what it trains: see :data:`MODEL_KINDS`."""
    output: Literal["text", "translation", "classes", "hidden words"]
    use: str
    """The command that shows what such a model, {}, has learned."""
    input: Literal["text", "images"] = "text"
    prompt_side: Literal["src", "tgt"] = "src"
    """The side of the corpus that a user's text belongs to."""


TASK_KINDS = {
    kind.name: kind
    for kind in (
        TaskKind(
            "translation",
            ("transformer", "recurrent", "custom"),
            "translation",
            "translate {}",
        ),
        TaskKind(
            "next_sentence",
            ("transformer", "recurrent", "custom"),
            "text",
            "generate {} '...'",
        ),
        TaskKind(
            "language_modelling",
            ("language_model", "modern_language_model"),
            "text",
            "generate {}",
            prompt_side="tgt",
        ),
        TaskKind(
            "image_classification",
            ("vision_transformer", "convolutional"),
            "classes",
            "score {}",
            input="images",
        ),
        TaskKind(
            "text_classification",
            ("text_classifier", "recurrent_classifier"),
            "classes",
            "classify {}",
        ),
        TaskKind(
            "pre_training",
            ("bert",),
            "hidden words",
            f"fill {{}} '... {MASK_PIECE} ...'",
        ),
    )
}
"""By name.

:meta hide-value:
"""


def find_task_kind(name: str) -> TaskKind:
    """A kind of task by its name.

    Raises:
        ConfigError: there is none; those there are are named.
    """
    if name not in TASK_KINDS:
        raise ConfigError(
            f"there is no task {name!r}; there are: {', '.join(TASK_KINDS)}."
        )
    return TASK_KINDS[name]


def task_kind_of(
    config: AnyModelConfig, details: dict[str, Any] | None = None
) -> TaskKind:
    """What a model was trained for.

    Args:
        config: of the model.
        details: what its checkpoint says of the training. Where it names no
            task, it is the first one with such models.

    Raises:
        ConfigError: there is no such task.
    """
    if details and "task" in details:
        return find_task_kind(details["task"])
    model_type = model_type_of(config)
    for kind in TASK_KINDS.values():
        if model_type in kind.models:
            return kind
    raise ConfigError(f"no task trains a {type(config).__name__}.")
