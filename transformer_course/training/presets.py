"""Presets: named trainings, to learn from and to start one's own from.

- ``grammar``, ``grammar-lm``: a translator and a language model of the
  built-in corpus, in minutes; the chapters' live cells use them.
- ``school-lm``: a base model of worksheets, facts, numbers and little stories,
  which chapter 23 teaches to answer.
- ``enja``, ``enja-gru``: the translator that the book is about, and the
  recurrent network that it is compared with.
- ``enja-both``, ``jaen``: both directions at once; from there on, Japanese
  to English.
- ``soseki``, ``soseki-cpu``: the next sentence, on a GPU and on a CPU; from
  the small one, ``haiku``. ``soseki-lm``: the same text without a source;
  ``soseki-modern``: by a decoder of today.
- ``aozora-bert``: an encoder pre-trained on eleven authors' works by hidden
  words, in half an hour; ``--model.next-sentence`` adds BERT's second task.
- ``digits-vit``: a Vision Transformer of hand-written digits, in a minute;
  ``fashion-vit``, ``fashion-cnn``: articles of clothing, and a convolutional
  network beside it.
- ``polarity``, ``polarity-gru``: is a review of a film good or bad?
  ``authors``, ``authors-gru``: who of eleven wrote this?

A training that only answered a question has no name here: ``transformer-course
train --like experiments/results/NAME`` repeats it. ``train polarity --from
minilm`` fine-tunes published weights: see :func:`begun_from`.
"""

from dataclasses import asdict, replace
from pathlib import Path

from transformer_course.data.config import DataConfig
from transformer_course.models.bert_config import (
    BertConfig,
    RecurrentClassifierConfig,
    TextClassifierConfig,
)
from transformer_course.models.config import (
    AnyModelConfig,
    LanguageModelConfig,
    ModelConfig,
    RecurrentConfig,
)
from transformer_course.models.modern_config import ModernConfig
from transformer_course.models.vit_config import (
    ConvolutionalConfig,
    VisionConfig,
)
from transformer_course.training.config import (
    Experiment,
    LoopConfig,
    LossConfig,
    SequenceLossConfig,
)

FINE_TUNING = LoopConfig(
    epochs=3,
    peak_rate=1e-4,
    schedule="cosine",
    warmup=0.1,
    beta2=0.999,
    epsilon=1e-8,
    weight_decay=0.01,
    average_last=0,
)
"""How a pre-trained encoder learns to classify texts, without smoothing."""
_UNSMOOTHED = LossConfig(label_smoothing=0.0)

_ENJA = DataConfig(corpus="small_parallel_enja", token_budget=1536)
_SOSEKI = DataConfig(corpus="soseki", max_shapes=24)
_POLARITY = DataConfig(corpus="sentence_polarity")
_AUTHORS = DataConfig(corpus="authors")

# post-norm collapses at this rate: experiments/results/enja-post-norm
_TRANSLATOR = ModelConfig(dropout=0.3, norm_first=True)
_SMALL_SOSEKI = ModelConfig(
    vocab_size=8000, n_layers=4, max_length=64, norm_first=True
)

_ENJA_TRAINING = LoopConfig(epochs=18, warmup=1000, peak_rate=1e-3, bf16=True)
_SHORT = LoopConfig(
    epochs=5, warmup=400, peak_rate=1e-3, bf16=True, average_last=0
)
_TEXT_ENCODER = replace(_SHORT, warmup=200, peak_rate=5e-4)
_TEXT_GRU = LoopConfig(epochs=4, warmup=100, peak_rate=4e-3, average_last=0)
_FASHION = LoopConfig(epochs=10, warmup=500, peak_rate=1e-3)

_PRESETS = (
    Experiment(
        "grammar",
        DataConfig(corpus="grammar", pieces="word", token_budget=1024),
        ModelConfig(
            vocab_size=800,
            d_model=128,
            n_heads=4,
            d_ff=512,
            n_layers=2,
            dropout=0.0,
        ),
        LoopConfig(epochs=2, peak_rate=2e-3, warmup=100, average_last=0),
    ),
    Experiment(
        "grammar-lm",
        DataConfig(corpus="grammar", pieces="word"),
        LanguageModelConfig(
            vocab_size=800, d_model=128, n_heads=4, d_ff=512, n_layers=2
        ),
        LoopConfig(epochs=2, warmup=200, average_last=0),
        "language_modelling",
    ),
    Experiment(
        "school-lm",
        DataConfig(corpus="school", pieces="word", token_budget=1024),
        ModernConfig(
            vocab_size=2000,
            d_model=256,
            n_heads=8,
            d_ff=688,
            n_layers=3,
            max_length=256,
        ),
        LoopConfig(
            epochs=2,
            warmup=200,
            peak_rate=3e-3,
            schedule="cosine",
            average_last=0,
        ),
        "language_modelling",
        SequenceLossConfig(label_smoothing=0.0),
    ),
    Experiment("enja", _ENJA, _TRANSLATOR, _ENJA_TRAINING),
    Experiment(
        "enja-both",
        replace(_ENJA, both_ways=True, subword_sampling=0.2),
        _TRANSLATOR,
        replace(_ENJA_TRAINING, epochs=7),
    ),
    Experiment(
        "jaen",
        replace(_ENJA, src="ja", tgt="en"),
        _TRANSLATOR,
        replace(
            _ENJA_TRAINING,
            epochs=8,
            start_from="enja-both",
            warmup=200,
            peak_rate=7e-4,
        ),
    ),
    Experiment(
        "enja-gru",
        _ENJA,
        RecurrentConfig(),
        replace(_SHORT, epochs=10, warmup=500, beta2=0.999, epsilon=1e-8),
    ),
    Experiment(
        "soseki",
        _SOSEKI,
        replace(_SMALL_SOSEKI, d_model=512, n_heads=8, d_ff=2048),
        LoopConfig(epochs=20, peak_rate=5e-4, bf16=True),
        "next_sentence",
    ),
    Experiment("soseki-cpu", _SOSEKI, _SMALL_SOSEKI, _SHORT, "next_sentence"),
    Experiment(
        "haiku",
        replace(_SOSEKI, corpus="haiku", token_budget=512, max_shapes=12),
        replace(_SMALL_SOSEKI, dropout=0.2),
        replace(_SHORT, epochs=12, start_from="soseki-cpu", warmup=100),
        "next_sentence",
    ),
    Experiment(
        "soseki-lm",
        _SOSEKI,
        LanguageModelConfig(
            vocab_size=8000, n_layers=4, norm_first=True, dropout=0.1
        ),
        replace(_SHORT, epochs=12, peak_rate=2e-3, cooldown=3),
        "language_modelling",
        SequenceLossConfig(label_smoothing=0.0),
    ),
    Experiment(
        "soseki-modern",
        _SOSEKI,
        ModernConfig(dropout=0.2),
        replace(_SHORT, epochs=10),
        "language_modelling",
        SequenceLossConfig(label_smoothing=0.0),
    ),
    Experiment(
        "aozora-bert",
        DataConfig(corpus="authors", pieces="char", token_budget=2048),
        # with learned positions it takes far longer (chapter 18)
        BertConfig(
            vocab_size=4000,
            max_length=256,
            dropout=0.0,
            norm_first=True,
            position="rotary",
            next_sentence=False,
        ),
        LoopConfig(
            epochs=2,
            warmup=1000,
            peak_rate=1.5e-3,
            bf16=True,
            average_last=0,
        ),
        "pre_training",
        _UNSMOOTHED,
    ),
    Experiment(
        "digits-vit",
        DataConfig(corpus="digits", batch_size=64),
        VisionConfig(image_size=8, patch_size=2, n_layers=2),
        LoopConfig(epochs=20, warmup=100, peak_rate=3e-3, average_last=0),
        "image_classification",
        LossConfig(),
    ),
    Experiment(
        "fashion-vit",
        DataConfig(corpus="fashion_mnist", shift=1),
        VisionConfig(patch_size=7, dropout=0.0),
        replace(
            _FASHION,
            epochs=25,
            peak_rate=3e-3,
            schedule="cosine",
            average_last=0,
        ),
        "image_classification",
        LossConfig(),
    ),
    Experiment(
        "fashion-cnn",
        DataConfig(corpus="fashion_mnist"),
        ConvolutionalConfig(),
        _FASHION,
        "image_classification",
        LossConfig(),
    ),
    Experiment(
        "polarity",
        _POLARITY,
        TextClassifierConfig(n_layers=2, max_length=64, dropout=0.3),
        _TEXT_ENCODER,
        "text_classification",
        LossConfig(),
    ),
    Experiment(
        "polarity-gru",
        _POLARITY,
        RecurrentClassifierConfig(max_length=64, dropout=0.3),
        _TEXT_GRU,
        "text_classification",
        _UNSMOOTHED,
    ),
    Experiment(
        "authors",
        _AUTHORS,
        TextClassifierConfig(dropout=0.3, n_classes=11),
        _TEXT_ENCODER,
        "text_classification",
        LossConfig(),
    ),
    Experiment(
        "authors-gru",
        _AUTHORS,
        RecurrentClassifierConfig(dropout=0.3, n_classes=11),
        _TEXT_GRU,
        "text_classification",
        _UNSMOOTHED,
    ),
)
PRESETS = {preset.name: preset for preset in _PRESETS}
"""The presets by name.

:meta hide-value:
"""


def begun_from(
    experiment: Experiment, start: str, config: AnyModelConfig
) -> Experiment:
    """The same task, begun with the weights of another model, and its sizes.

    An encoder that learns to classify texts does so by :data:`FINE_TUNING`
    and by the mean of its tokens.

    Args:
        experiment: with a model of the same kind, or a text classifier.
        start: the name or the folder of the other model.
        config: of the other model.
    """
    model, train, loss = experiment.model, experiment.train, experiment.loss
    sizes = {k: v for k, v in asdict(config).items() if hasattr(model, k)}
    if isinstance(model, TextClassifierConfig):
        train, loss = FINE_TUNING, _UNSMOOTHED
        own = {"dropout": BertConfig.dropout, "n_classes": model.n_classes}
        sizes = {"pooling": "mean"} | sizes | own
    return replace(
        experiment,
        name=f"{experiment.name}-{Path(start).name}",
        model=replace(model, **sizes),
        train=replace(train, start_from=start),
        loss=loss,
    )
