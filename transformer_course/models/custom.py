"""Models from a file of the user's own, such as ``my_transformer.py``.

Its class ``MyTransformer`` is trained; its class ``MyDecoder`` (chapter 22)
computes with the weights of a published decoder.

The file's text is part of the model's config, so that a checkpoint holds all
that is needed to build the model again. Building it runs that code.
"""

import ast
import hashlib
import linecache
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import fields
from functools import cache
from itertools import product
from types import ModuleType
from typing import Any

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from transformer_course.errors import ConfigError
from transformer_course.models.attention import rows_per_source
from transformer_course.models.config import (
    CustomConfig,
    ModelConfig,
    SizesConfig,
)
from transformer_course.models.layers import check_ids
from transformer_course.models.mode import eval_mode
from transformer_course.models.transformer import DecoderOnly, Transformer

CLASS = "MyTransformer"
"""The class that a file must define to be trained."""
DECODER = "MyDecoder"
"""The class that takes the weights of a decoder."""
DECODER_SETTINGS = (
    "vocab_size",
    "d_model",
    "n_heads",
    "n_kv_heads",
    "d_ff",
    "n_layers",
    "rope_base",
    "norm_epsilon",
)
"""Settings of a ``ModernConfig`` that the decoder is built with, in order."""
DEFINITIONS = (
    ast.Import,
    ast.ImportFrom,
    ast.FunctionDef,
    ast.AsyncFunctionDef,
    ast.ClassDef,
    ast.Assign,
    ast.AnnAssign,
    ast.If,
    ast.Try,
    *((ast.TypeAlias,) if sys.version_info >= (3, 12) else ()),
)
"""The statements of a file that are run to read what it defines; others, such
as a trial run at its end, are not."""


class TokenCache:
    """The target tokens so far: the model computes all of them again."""

    def __init__(self) -> None:
        self.ids: Tensor | None = None  # (rows, length)

    @property
    def length(self) -> int:
        """Number of target tokens held."""
        return 0 if self.ids is None else self.ids.size(1)

    def extend(
        self, ids: Int[Tensor, "rows new"]
    ) -> Int[Tensor, "rows length"]:
        """Append tokens; returns all."""
        if self.ids is not None:
            ids = torch.cat([self.ids, ids], dim=1)
        self.ids = ids
        return ids

    def select(
        self,
        rows: Int[Tensor, " rows"],
        sources: Int[Tensor, " sources"] | None = None,
    ) -> None:
        """Keep these hypotheses."""
        self.ids = self.ids[rows]

    def cut(self, length: int) -> None:
        """Keep the first ``length`` target tokens."""
        if self.ids is not None:
            self.ids = self.ids[:, :length]


class CustomTransformer(nn.Module):
    """The class ``MyTransformer`` of a file, in the form of the package.

    It is built as ``MyTransformer(vocab_size, d_model, n_heads, d_ff,
    n_layers)`` and has ``encode(src)``, ``decode(tgt, memory, src_mask)`` and
    ``forward(src, tgt)``; masks are True where attention is allowed, and the
    ids of pad, bos and eos are 0, 1 and 2. It needs no cache of keys.

    Args:
        config: its sizes and its code.

    Raises:
        ConfigError: the code cannot be run, has no such class, or the class
            cannot be built. Later, its errors are raised as ConfigErrors too.
    """

    def __init__(self, config: CustomConfig):
        super().__init__()
        self.config = config
        sizes = (config.d_model, config.n_heads, config.d_ff, config.n_layers)
        kind = model_class(config.code, CLASS)
        with _errors_of(config.code):
            self.model = kind(config.vocab_size, *sizes)
        if not any(True for _ in self.parameters()):
            raise ConfigError(
                f"{CLASS} has no parameters, so nothing can be trained. "
                "Layers in a plain list are not seen: use nn.ModuleList."
            )

    def forward(
        self,
        src: Int[Tensor, "batch source"],
        tgt_in: Int[Tensor, "rows target"],
    ) -> Float[Tensor, "rows target vocab"]:
        """Logits for the token after each token of ``tgt_in``."""
        self._check_ids(src, tgt_in)
        with _errors_of(self.config.code):
            logits = self.model(src, tgt_in)
        return _checked(CLASS, logits, tgt_in, self.config.vocab_size)

    def encode(
        self, src: Int[Tensor, "batch source"]
    ) -> Float[Tensor, "batch source d_model"]:
        """The memory: one vector for each source token."""
        self._check_ids(src)
        with _errors_of(self.config.code):
            return self.model.encode(src)

    def decode(
        self,
        tgt_in: Int[Tensor, "rows target"],
        memory: Float[Tensor, "sources source d_model"],
        src_mask: Bool[Tensor, "sources 1 1 source"] | None = None,
        cache: TokenCache | None = None,
    ) -> Float[Tensor, "rows target vocab"]:
        """Logits from target ids and the memory.

        Args:
            tgt_in: target ids; with a cache only those not yet in it.
            memory: from :meth:`encode`; successive rows of ``tgt_in`` may
                share one row of it.
            src_mask: ``padding_mask(src)``.
            cache: from :meth:`new_cache`; extended in place.
        """
        self._check_ids(tgt_in)
        ids = tgt_in if cache is None else cache.extend(tgt_in)
        beams = rows_per_source(len(ids), len(memory))
        memory = memory.repeat_interleave(beams, dim=0)
        if src_mask is not None:
            src_mask = src_mask.repeat_interleave(beams, dim=0)
        with _errors_of(self.config.code):
            logits = self.model.decode(ids, memory, src_mask)
        logits = _checked(CLASS, logits, ids, self.config.vocab_size)
        return logits[:, -tgt_in.size(1) :]

    def new_cache(self) -> TokenCache:
        """An empty cache for :meth:`decode`."""
        return TokenCache()

    def _check_ids(self, *batches: Tensor) -> None:
        for ids in batches:
            check_ids(ids, self.config.vocab_size)


class CustomDecoder(DecoderOnly):
    """The class ``MyDecoder`` of a file, with the weights of a decoder.

    It is built as ``MyDecoder(vocab_size, d_model, n_heads, n_kv_heads, d_ff,
    n_layers, base, epsilon)``; its parameters have the names that those of
    ``ModernLanguageModel`` have. It is called with ids alone, and needs no
    cache of keys.

    Args:
        code: the file's text.
        model: a ``ModernLanguageModel``, which gives sizes and weights.

    Raises:
        ConfigError: the code cannot be run, has no such class, or the weights
            do not fit into it. Later, its errors are raised as ConfigErrors
            too.
    """

    def __init__(self, code: str, model: DecoderOnly):
        super().__init__()
        self.code, self.config = code, model.config
        settings = (getattr(model.config, name) for name in DECODER_SETTINGS)
        kind, weights = model_class(code, DECODER), model.state_dict()
        with _errors_of(code):
            self.model = kind(*settings)
            self.model.load_state_dict(weights, assign=True)

    def decode(
        self, ids: Int[Tensor, "rows length"], cache: TokenCache | None = None
    ) -> Float[Tensor, "rows length vocab"]:
        """Logits from ids, as in :meth:`~.DecoderOnly.decode`."""
        check_ids(ids, self.config.vocab_size)
        text = ids if cache is None else cache.extend(ids)
        with _errors_of(self.code):
            logits = self.model(text)
        logits = _checked(DECODER, logits, text, self.config.vocab_size)
        return logits[:, -ids.size(1) :]

    def new_cache(self) -> TokenCache:
        """An empty cache for :meth:`decode`."""
        return TokenCache()


def _checked(name: str, logits: Any, ids: Tensor, vocab_size: int) -> Tensor:
    """The logits that a user's class gave, if they have the right shape."""
    wanted = (*ids.shape, vocab_size)
    if not isinstance(logits, Tensor) or logits.shape != wanted:
        given = getattr(logits, "shape", None)
        given = tuple(given) if given else type(logits).__name__
        raise ConfigError(
            f"{name} gave {given} for a target of {tuple(ids.shape)} tokens: "
            f"expected logits of {wanted}, batch × length × vocabulary."
        )
    return logits


def digest(code: str) -> str:
    """The sha256 of a file's text."""
    return hashlib.sha256(code.encode()).hexdigest()


@cache
def model_class(code: str, name: str) -> type[nn.Module]:
    """The class of this name that a file's text defines.

    Raises:
        ConfigError: the text is no Python, cannot be run, or has no such
            class.
    """
    with _errors_of(code):
        module = definitions(code, _file_name(code))
    found = vars(module).get(name)
    if not (isinstance(found, type) and issubclass(found, nn.Module)):
        raise ConfigError(
            f"the file has no class {name}(nn.Module): transformer-course "
            "start writes a file that has its stub."
        )
    return found


def definitions(code: str, file_name: str) -> ModuleType:
    """Run the statements of a text that define something.

    Args:
        code: of a module.
        file_name: stands in the tracebacks.

    Raises:
        Exception: whatever the code raises; a SyntaxError if it is no Python.
    """
    lines = code.splitlines(keepends=True)
    linecache.cache[file_name] = (len(code), None, lines, file_name)
    module = ModuleType(file_name)
    tree = ast.parse(code, file_name)
    tree.body = [node for node in tree.body if isinstance(node, DEFINITIONS)]
    sys.modules[file_name] = module  # where a dataclass looks for its types
    try:
        exec(compile(tree, file_name, "exec"), vars(module))
    finally:
        del sys.modules[file_name]
    return module


def _file_name(code: str) -> str:
    return f"my_transformer.py:{digest(code)[:8]}"


@contextmanager
def _errors_of(code: str) -> Iterator[None]:
    """Turn an error of the user's code into one clear line."""
    try:
        yield
    except SyntaxError as error:
        raise ConfigError(
            f"my_transformer.py, line {error.lineno}: {error.msg}."
        ) from error
    except (ConfigError, NotImplementedError, torch.OutOfMemoryError):
        raise
    except (Exception, SystemExit) as error:
        place = _last_line(error, _file_name(code))
        raise ConfigError(
            f"my_transformer.py{place}: {type(error).__name__}: {error}"
        ) from error


def _last_line(error: BaseException, file_name: str) -> str:
    """The last line of a file in an error's traceback, in words."""
    found, trace = "", error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == file_name:
            name = trace.tb_frame.f_code.co_qualname
            found = f", line {trace.tb_lineno}, in {name}"
        trace = trace.tb_next
    return found


def as_transformer(model: CustomTransformer) -> Transformer:
    """The package's Transformer with the same weights.

    It is tried, on drawn sentences, whether both compute the same: in
    post-norm or pre-norm, with ReLU or GELU, with or without positions.

    Raises:
        ConfigError: the weights have other names than in the course's file,
            or nothing of the package computes the same.
    """
    config, device = model.config, next(model.parameters()).device
    renamed = {
        name.replace("embedding.", "tgt_embedding.").replace(
            ".gain", ".weight"
        ): weight
        for name, weight in model.model.named_parameters()
    }
    shapes = {name: weight.shape for name, weight in renamed.items()}
    draw = torch.Generator().manual_seed(0)
    src, tgt = (
        torch.randint(3, config.vocab_size, (2, n), generator=draw).to(device)
        for n in (6, 5)
    )
    src[1, 4:] = config.pad_id
    sizes = {f.name: getattr(config, f.name) for f in fields(SizesConfig)}
    with eval_mode(model), torch.no_grad():
        expected = model(src, tgt)
        for position, activation, norm_first in product(
            ("sinusoidal", "none"), ("relu", "gelu"), (False, True)
        ):
            other = ModelConfig(
                **sizes,
                dropout=0.0,
                norm_first=norm_first,
                activation=activation,
                position=position,
            )
            found = Transformer(other).to(device).eval()
            own = dict(found.named_parameters())
            if {name: weight.shape for name, weight in own.items()} != shapes:
                continue
            for name, weight in own.items():
                weight.copy_(renamed[name])
            if torch.allclose(found(src, tgt), expected, 1e-3, 1e-3):
                return found
    raise ConfigError(
        "your Transformer has other parts than the course's file, or parts "
        "with other names, so its weights cannot be read as the course's."
    )
