"""What varies between models and trainings: frozen dataclasses and presets.

The command line is made from these classes: ``--model.d-model 128`` sets
``ModelConfig.d_model``. Every value is checked when the object is made.
"""

import dataclasses
from dataclasses import dataclass, field, fields
from typing import Literal

from transformer_course.errors import ConfigError

Position = Literal["sinusoidal", "learned", "rotary", "none"]
Activation = Literal["relu", "gelu"]
Corpus = Literal[
    "grammar", "small_parallel_enja", "soseki", "soseki_text", "haiku"
]
TRANSLATED = ("grammar", "small_parallel_enja")
"""Corpora of two languages; the others are Japanese on both sides."""


def _require(condition: bool, message: str) -> None:
    if not condition:
        raise ConfigError(message)


def _require_positive(config, *names: str) -> None:
    for name in names:
        value = getattr(config, name)
        _require(value >= 1, f"{name} is {value}: it must be at least 1.")


def _require_share(config, *names: str) -> None:
    for name in names:
        value = getattr(config, name)
        _require(0 <= value < 1, f"{name} is {value}: it must be in [0, 1).")


@dataclass(frozen=True)
class ModelConfig:
    """A Transformer; the defaults are the course's translation model.

    Raises:
        ConfigError: a size is not positive, a share is not in [0, 1), or
            ``n_heads`` does not divide ``d_model``.
    """

    vocab_size: int = 6000
    """Number of pieces, the special ones included."""
    d_model: int = 256
    """Width of the stream that layers read and add to."""
    n_heads: int = 4
    """Heads per attention layer; each is d_model / n_heads wide."""
    d_ff: int = 1024
    """Width inside the feed-forward part."""
    n_layers: int = 3
    """Layers of the encoder, and as many of the decoder."""
    max_length: int = 128
    """Tokens per sequence, in training and in use: longer ones are cut off."""
    pad_id: int = 0
    """The id that fills up a batch."""
    dropout: float = 0.1
    """Share of the sub-layers' outputs and embedding sums dropped."""
    attention_dropout: float = 0.0
    """Share of the attention weights dropped; the paper has none."""
    bias: bool = False
    """Biases on the projections of attention; the paper has none."""
    norm_first: bool = False
    """Pre-norm in place of the paper's post-norm."""
    activation: Activation = "relu"
    """Non-linearity of the feed-forward part."""
    position: Position = "sinusoidal"
    """How a token's place is told to the model."""
    tied: bool = True
    """One matrix for both embeddings and the output, as in the paper."""
    decoder_only: bool = False
    """A language model: no encoder, no cross-attention."""

    def __post_init__(self):
        _require_positive(
            self,
            "vocab_size",
            "d_model",
            "n_heads",
            "d_ff",
            "n_layers",
            "max_length",
        )
        _require_share(self, "dropout", "attention_dropout")
        _require(
            self.d_model % self.n_heads == 0,
            f"d_model {self.d_model} cannot be split over {self.n_heads} "
            "heads: choose a number of heads that divides it.",
        )


@dataclass(frozen=True)
class RecurrentConfig:
    """The baseline: a GRU encoder–decoder with additive attention."""

    vocab_size: int = 6000
    """Number of pieces, the special ones included."""
    d_model: int = 256
    """Width of the embeddings."""
    d_hidden: int = 512
    """Width of the decoder's state; each direction of the encoder has half."""
    max_length: int = 128
    """Tokens per sequence kept from the data."""
    pad_id: int = 0
    """The id that fills up a batch."""
    dropout: float = 0.3
    """Share of embeddings and read-outs dropped."""
    attention: bool = True
    """Look back at each step; else read one summary of the source only."""

    def __post_init__(self):
        _require_positive(
            self, "vocab_size", "d_model", "d_hidden", "max_length"
        )
        _require_share(self, "dropout")
        _require(
            self.d_hidden % 2 == 0,
            f"d_hidden is {self.d_hidden}, but the encoder's two directions "
            "share it: choose an even number.",
        )


@dataclass(frozen=True)
class DataConfig:
    """Which text is learned, and how it is cut."""

    corpus: Corpus = "grammar"
    """Which text: translations, Soseki's sentences with the next one, or
    keywords with their haiku."""
    src: Literal["en", "ja"] = "en"
    """Language that is read."""
    tgt: Literal["en", "ja"] = "ja"
    """Language that is written."""
    train_pairs: int | None = None
    """Train on the first so many pairs; all of them when None."""
    both_ways: bool = False
    """Train on each pair in both directions (Ding et al. 2021); what is
    scored stays in the one direction."""
    pieces: Literal["unigram", "bpe", "word"] = "unigram"
    """Kind of SentencePiece model."""
    subword_sampling: float = 0.0
    """Cut the training text anew in each epoch, drawing the pieces with this
    sharpness (Kudo 2018); 0 always takes the likeliest pieces."""
    token_budget: int = 2048
    """Target tokens in a batch at the most, padding counted."""
    max_shapes: int = 12
    """Different sizes of batches; more of them pad less."""

    def __post_init__(self):
        _require_positive(self, "token_budget", "max_shapes")
        self._require_languages()
        _require(
            self.translated or not self.both_ways,
            f"both_ways is for translations, and {self.corpus} has none: "
            "leave it out.",
        )
        _require(
            self.subword_sampling >= 0,
            f"subword_sampling is {self.subword_sampling}: it cannot be "
            "negative.",
        )
        _require(
            not self.subword_sampling or self.pieces == "unigram",
            f"subword_sampling needs unigram pieces, but pieces is "
            f"{self.pieces!r}: only that model gives each way to cut a "
            "probability.",
        )
        _require(
            self.train_pairs is None or self.train_pairs >= 1,
            f"train_pairs is {self.train_pairs}: it must be at least 1.",
        )

    def _require_languages(self) -> None:
        if self.translated:
            _require(
                self.src != self.tgt,
                f"src and tgt are both {self.src!r}: choose two languages.",
            )
            return
        _require(
            self.src == self.tgt == "ja",
            f"{self.corpus} is in Japanese, but src is {self.src!r} and tgt "
            f"{self.tgt!r}: choose 'ja' for both.",
        )

    @property
    def translated(self) -> bool:
        """Whether the target is the source in another language."""
        return self.corpus in TRANSLATED


@dataclass(frozen=True)
class TrainConfig:
    """How long, how fast, and what is kept; chapter 12."""

    epochs: int = 15
    """Passes over the training pairs."""
    seed: int = 0
    """Fixes initial weights, order of batches and dropout."""
    start_from: str | None = None
    """Folder of a checkpoint: begin with its weights and its tokenizer."""
    peak_rate: float | None = None
    """Highest learning rate; (d_model × warmup)^-½, the paper's, when None."""
    warmup: int = 4000
    """Steps over which the rate rises."""
    label_smoothing: float = 0.1
    """Probability taken from the right token, spread over the vocabulary."""
    r_drop: float = 0.0
    """Weight of R-Drop: each batch is read twice, and the two predictions
    are pulled together (Liang et al. 2021, who take 5); 0 reads it once."""
    beta2: float = 0.98
    """Adam's memory of squared gradients."""
    epsilon: float = 1e-9
    """Adam's guard against division by zero."""
    clip: float = 1.0
    """Largest norm of the gradient; 0 leaves it as it is."""
    bf16: bool = False
    """Run matrix products in bfloat16 (autocast)."""
    average_last: int = 5
    """Average the weights of so many last epochs; 0 leaves it out."""
    save_every: int = 500
    """Steps between checkpoints, besides one at each epoch's end."""
    device: str = "auto"
    """auto, cpu, cuda, cuda:1, mps."""

    def __post_init__(self):
        _require_positive(self, "epochs", "warmup", "save_every")
        _require_share(self, "label_smoothing", "beta2")
        _require(
            self.average_last >= 0,
            f"average_last is {self.average_last}: it cannot be negative.",
        )
        _require(
            self.r_drop >= 0,
            f"r_drop is {self.r_drop}: it cannot be negative.",
        )
        _require(
            self.clip >= 0, f"clip is {self.clip}: it cannot be negative."
        )
        _require(
            self.peak_rate is None or self.peak_rate > 0,
            f"peak_rate is {self.peak_rate}: it must be positive.",
        )


@dataclass(frozen=True)
class Experiment:
    """A training from raw text to a scored model."""

    name: str = "experiment"
    """Names the folder of the run, outputs/NAME."""
    data: DataConfig = field(default_factory=DataConfig)
    model: ModelConfig | RecurrentConfig = field(default_factory=ModelConfig)
    train: TrainConfig = field(default_factory=TrainConfig)

    def __post_init__(self):
        only = getattr(self.model, "decoder_only", False)
        _require(
            only or self.data.corpus != "soseki_text",
            "soseki_text is running text, and has no sources: it needs "
            "decoder_only, or take corpus soseki.",
        )
        _require(
            not only or not self.data.subword_sampling,
            "subword_sampling is for pairs of sentences: set it to 0 for a "
            "decoder-only model.",
        )
        _require(
            not only or not self.data.both_ways,
            "both_ways is for pairs of sentences: leave it out for a "
            "decoder-only model.",
        )


def from_dict(kind: type, values: dict):
    """Build a flat config from a dictionary read from JSON.

    Raises:
        ConfigError: a key that the class does not know.
    """
    known = {f.name for f in fields(kind)}
    unknown = sorted(set(values) - known)
    _require(
        not unknown,
        f"{kind.__name__} has no setting {', '.join(unknown)}; it knows: "
        f"{', '.join(sorted(known))}.",
    )
    return kind(**values)


def _trained_on(
    name: str,
    start: str,
    epochs: int,
    rate: float,
    src: str,
    tgt: str,
    sampling: float = 0.0,
    r_drop: float = 0.0,
) -> Experiment:
    """Train a translator on, in one direction, while the rate falls far."""
    return Experiment(
        name=name,
        data=DataConfig(
            corpus="small_parallel_enja",
            src=src,
            tgt=tgt,
            subword_sampling=sampling,
            token_budget=1536,
        ),
        model=ModelConfig(dropout=0.3, norm_first=True),
        train=TrainConfig(
            epochs=epochs,
            start_from=start,
            warmup=200,
            peak_rate=rate,
            r_drop=r_drop,
            bf16=True,
        ),
    )


_SOSEKI = DataConfig(corpus="soseki", src="ja", tgt="ja", max_shapes=24)

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
        model=ModelConfig(
            vocab_size=800,
            d_model=128,
            n_heads=4,
            d_ff=512,
            n_layers=2,
            decoder_only=True,
        ),
        train=TrainConfig(epochs=2, warmup=200, average_last=0),
    ),
    "enja": Experiment(
        name="enja",
        data=DataConfig(corpus="small_parallel_enja", token_budget=1536),
        # post-norm collapses at this rate: see runs/enja-post-norm
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
    "enja-longer": _trained_on(
        "enja-longer", "outputs/enja", 12, 5e-4, src="en", tgt="ja"
    ),
    "enja-sampled": _trained_on(
        "enja-sampled",
        "outputs/enja",
        12,
        5e-4,
        src="en",
        tgt="ja",
        sampling=0.2,
    ),
    "enja-r-drop": _trained_on(
        "enja-r-drop",
        "outputs/enja",
        6,
        5e-4,
        src="en",
        tgt="ja",
        r_drop=5.0,
    ),
    "jaen": _trained_on(
        "jaen", "outputs/enja-both", 8, 7e-4, src="ja", tgt="en"
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
            start_from="outputs/soseki-cpu",
            warmup=100,
            peak_rate=1e-3,
            bf16=True,
            average_last=0,
        ),
    ),
    "soseki-lm": Experiment(
        name="soseki-lm",
        data=dataclasses.replace(_SOSEKI, corpus="soseki_text"),
        model=ModelConfig(
            vocab_size=8000,
            n_layers=4,
            decoder_only=True,
            norm_first=True,
            dropout=0.2,
        ),
        train=TrainConfig(
            epochs=10, warmup=400, peak_rate=1e-3, bf16=True, average_last=0
        ),
    ),
}
