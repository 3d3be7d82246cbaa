"""Trainings with names: those to learn from, and to begin one's own with.

- ``grammar``, ``grammar-lm``: a translator and a language model of the
  built-in corpus, in minutes; the chapters' live cells use them.
- ``enja``, ``enja-gru``: the translator that the book is about, and the
  recurrent network that it is compared with.
- ``enja-both``, ``jaen``: both directions at once; from there on, Japanese
  to English.
- ``soseki``, ``soseki-cpu``: the next sentence, on a GPU and on a CPU; from
  the small one, ``haiku``. ``soseki-lm``: the same text without a source.
- ``aozora-bert``: an encoder pre-trained on eleven authors' works by hidden
  words, in half an hour; ``--model.next-sentence`` adds BERT's second task.
- ``digits-vit``: a Vision Transformer of hand-written digits, in a minute;
  ``fashion-vit``, ``fashion-cnn``: articles of clothing, and a convolutional
  network beside it.
- ``polarity``, ``polarity-gru``: is a review of a film good or bad?
  ``authors``, ``authors-gru``: who of eleven wrote this?

A training that only answered a question has no name here: ``transformer-course
train --like experiments/results/NAME`` repeats it.
"""

import dataclasses

from transformer_course.models.bert_config import (
    BertConfig,
    RecurrentClassifierConfig,
    TextClassifierConfig,
)
from transformer_course.models.config import (
    LanguageModelConfig,
    ModelConfig,
    RecurrentConfig,
)
from transformer_course.models.vit_config import (
    ConvolutionalConfig,
    VisionConfig,
)
from transformer_course.training.config import (
    DataConfig,
    Experiment,
    TrainConfig,
)

_SOSEKI = DataConfig(corpus="soseki", src="ja", tgt="ja", max_shapes=24)
_ENCODER_OF_TEXT = TrainConfig(
    epochs=5, warmup=200, peak_rate=5e-4, bf16=True, average_last=0
)
_GRU_OF_TEXT = TrainConfig(
    epochs=4,
    warmup=100,
    peak_rate=4e-3,
    label_smoothing=0.0,
    average_last=0,
)

PRESETS: dict[str, Experiment] = {
    "grammar": Experiment(
        name="grammar",
        data=DataConfig(corpus="grammar", pieces="word", token_budget=1024),
        model=ModelConfig(
            vocab_size=800,
            d_model=128,
            n_heads=4,
            d_ff=512,
            n_layers=2,
            dropout=0.0,
        ),
        train=TrainConfig(
            epochs=2, peak_rate=2e-3, warmup=100, average_last=0
        ),
    ),
    "grammar-lm": Experiment(
        name="grammar-lm",
        data=DataConfig(corpus="grammar", pieces="word"),
        model=LanguageModelConfig(
            vocab_size=800, d_model=128, n_heads=4, d_ff=512, n_layers=2
        ),
        train=TrainConfig(epochs=2, warmup=200, average_last=0),
        task="language_modelling",
    ),
    "enja": Experiment(
        name="enja",
        data=DataConfig(corpus="small_parallel_enja", token_budget=1536),
        # post-norm collapses at this rate: experiments/results/enja-post-norm
        model=ModelConfig(dropout=0.3, norm_first=True),
        train=TrainConfig(epochs=18, warmup=1000, peak_rate=1e-3, bf16=True),
    ),
    "enja-both": Experiment(
        name="enja-both",
        data=DataConfig(
            corpus="small_parallel_enja",
            both_ways=True,
            subword_sampling=0.2,
            token_budget=1536,
        ),
        model=ModelConfig(dropout=0.3, norm_first=True),
        train=TrainConfig(epochs=7, warmup=1000, peak_rate=1e-3, bf16=True),
    ),
    "jaen": Experiment(
        name="jaen",
        data=DataConfig(
            corpus="small_parallel_enja",
            src="ja",
            tgt="en",
            token_budget=1536,
        ),
        model=ModelConfig(dropout=0.3, norm_first=True),
        train=TrainConfig(
            epochs=8,
            start_from="enja-both",
            warmup=200,
            peak_rate=7e-4,
            bf16=True,
        ),
    ),
    "enja-gru": Experiment(
        name="enja-gru",
        data=DataConfig(corpus="small_parallel_enja", token_budget=1536),
        model=RecurrentConfig(),
        train=TrainConfig(
            epochs=10,
            warmup=500,
            peak_rate=1e-3,
            beta2=0.999,
            epsilon=1e-8,
            bf16=True,
            average_last=0,
        ),
    ),
    "soseki": Experiment(
        name="soseki",
        task="next_sentence",
        data=_SOSEKI,
        model=ModelConfig(
            vocab_size=8000,
            d_model=512,
            n_heads=8,
            d_ff=2048,
            n_layers=4,
            max_length=64,
            norm_first=True,
        ),
        train=TrainConfig(epochs=20, peak_rate=5e-4, bf16=True),
    ),
    "soseki-cpu": Experiment(
        name="soseki-cpu",
        task="next_sentence",
        data=_SOSEKI,
        model=ModelConfig(
            vocab_size=8000, n_layers=4, max_length=64, norm_first=True
        ),
        train=TrainConfig(
            epochs=5, warmup=400, peak_rate=1e-3, bf16=True, average_last=0
        ),
    ),
    "haiku": Experiment(
        name="haiku",
        task="next_sentence",
        data=dataclasses.replace(
            _SOSEKI, corpus="haiku", token_budget=512, max_shapes=12
        ),
        model=ModelConfig(
            vocab_size=8000,
            n_layers=4,
            max_length=64,
            norm_first=True,
            dropout=0.2,
        ),
        train=TrainConfig(
            epochs=12,
            start_from="soseki-cpu",
            warmup=100,
            peak_rate=1e-3,
            bf16=True,
            average_last=0,
        ),
    ),
    "soseki-lm": Experiment(
        name="soseki-lm",
        task="language_modelling",
        data=_SOSEKI,
        model=LanguageModelConfig(
            vocab_size=8000, n_layers=4, norm_first=True, dropout=0.2
        ),
        train=TrainConfig(
            epochs=10, warmup=400, peak_rate=1e-3, bf16=True, average_last=0
        ),
    ),
    "aozora-bert": Experiment(
        name="aozora-bert",
        data=DataConfig(
            corpus="authors", src="ja", pieces="char", token_budget=2048
        ),
        # with learned positions it takes far longer (chapter 18)
        model=BertConfig(
            vocab_size=4000,
            max_length=256,
            dropout=0.0,
            norm_first=True,
            position="rotary",
            next_sentence=False,
        ),
        train=TrainConfig(
            epochs=2,
            warmup=1000,
            peak_rate=1.5e-3,
            label_smoothing=0.0,
            bf16=True,
            average_last=0,
        ),
        task="pre_training",
    ),
    "digits-vit": Experiment(
        name="digits-vit",
        data=DataConfig(corpus="digits", batch_size=64),
        model=VisionConfig(image_size=8, patch_size=2, n_layers=2),
        train=TrainConfig(
            epochs=20, warmup=100, peak_rate=3e-3, average_last=0
        ),
        task="image_classification",
    ),
    "fashion-vit": Experiment(
        name="fashion-vit",
        data=DataConfig(corpus="fashion_mnist"),
        model=VisionConfig(),
        train=TrainConfig(epochs=10, warmup=500, peak_rate=1e-3),
        task="image_classification",
    ),
    "fashion-cnn": Experiment(
        name="fashion-cnn",
        data=DataConfig(corpus="fashion_mnist"),
        model=ConvolutionalConfig(),
        train=TrainConfig(epochs=10, warmup=500, peak_rate=1e-3),
        task="image_classification",
    ),
    "polarity": Experiment(
        name="polarity",
        data=DataConfig(corpus="sentence_polarity"),
        model=TextClassifierConfig(n_layers=2, max_length=64, dropout=0.3),
        train=_ENCODER_OF_TEXT,
        task="text_classification",
    ),
    "polarity-gru": Experiment(
        name="polarity-gru",
        data=DataConfig(corpus="sentence_polarity"),
        model=RecurrentClassifierConfig(max_length=64, dropout=0.3),
        train=_GRU_OF_TEXT,
        task="text_classification",
    ),
    "authors": Experiment(
        name="authors",
        data=DataConfig(corpus="authors", src="ja", tgt="ja"),
        model=TextClassifierConfig(dropout=0.3, n_classes=11),
        train=_ENCODER_OF_TEXT,
        task="text_classification",
    ),
    "authors-gru": Experiment(
        name="authors-gru",
        data=DataConfig(corpus="authors", src="ja", tgt="ja"),
        model=RecurrentClassifierConfig(dropout=0.3, n_classes=11),
        train=_GRU_OF_TEXT,
        task="text_classification",
    ),
}
