"""Searches by CTranslate2, with the interface of :mod:`~.generate`.

They run a model that :mod:`~.ctranslate2_export` has converted. Greedy search
writes the same tokens. The beam follows another rule: a finished hypothesis
leaves it, and another continues in its place; unfinished ones are compared by
log-probability alone. Finished ones are ranked here, by log-probability over
the package's length penalty, since that of CTranslate2 is another function
(length^α). With α near 0 both rules find the same translation; the larger α
is, the more often they differ.
"""

import math
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path

import torch
from jaxtyping import Int
from torch import Tensor, nn

from transformer_course.checkpoints.kinds import task_kind_of
from transformer_course.checks import from_dict
from transformer_course.console import quoted
from transformer_course.data.tokenizer import BOS, EOS, PAD, Tokenizer
from transformer_course.decoding.generate import OnToken
from transformer_course.decoding.search import (
    EXTRA_LENGTH,
    Hypothesis,
    length_penalty,
)
from transformer_course.decoding.translate import Searches
from transformer_course.errors import CheckpointError, CourseError
from transformer_course.files import read_json
from transformer_course.inference.ctranslate2_export import (
    HEADER,
    TOKENIZER,
    require_package,
)
from transformer_course.inference.model import TrainedModel
from transformer_course.models.config import ModelConfig

PATIENCE = 2
"""Hypotheses that must have ended, in beams (Kasai et al. 2022): with one
beam of them, what an α above 1 favours has not ended yet."""


class Engine(nn.Module):
    """A converted model on the CPU, with as many threads as torch has.

    Each thread computes its own rows: threads that share the products of a
    small model mostly wait for one another.

    Args:
        config: of the model.
        pieces: CTranslate2's name of each id.
        folder: CTranslate2's files.

    Raises:
        ConfigError: CTranslate2 is not installed.
        RuntimeError: the files are damaged.
    """

    def __init__(
        self, config: ModelConfig, pieces: Sequence[str], folder: Path
    ):
        super().__init__()
        require_package()
        import ctranslate2

        self.config = config
        self.pieces = pieces
        self.ids = {piece: i for i, piece in enumerate(pieces)}
        self.workers = torch.get_num_threads()
        self.translator = ctranslate2.Translator(
            str(folder), inter_threads=self.workers, intra_threads=1
        )

    def limit(self, length: int, max_length: int | None = None) -> int:
        """Most tokens to write for a source of this length."""
        limit = length + EXTRA_LENGTH if max_length is None else max_length
        longest = self.config.max_length
        if self.config.position == "learned":
            return min(limit, longest)
        if self.config.position == "rotary":
            return limit
        return min(limit, longest + EXTRA_LENGTH)  # the table ends there


def load_model(folder: Path, raw: bool = False) -> TrainedModel:
    """Load a translator that was exported for CTranslate2.

    Args:
        folder: of the exported model.
        raw: leave text as it is.

    Raises:
        CheckpointError: there is none, or it is damaged.
        ConfigError: CTranslate2 is not installed.
    """
    require_package()
    if not (folder / HEADER).is_file():
        raise CheckpointError(
            f"{folder} holds no model for CTranslate2: write one with "
            f"transformer-course export {quoted(folder)} NEW --to "
            "ctranslate2, and give that folder NEW."
        )
    try:
        header = read_json(folder / HEADER)
        config = from_dict(ModelConfig, header["model"])
        tokenizer = Tokenizer.load(folder / TOKENIZER)
        engine = Engine(config, tokenizer.all_pieces(), folder)
    except (CourseError, KeyError, OSError, RuntimeError, ValueError) as error:
        raise CheckpointError(
            f"the model in {folder} is damaged or of another version "
            f"({type(error).__name__}: {error}): export it again."
        ) from error
    details = header["details"]
    task = task_kind_of(config, details)
    searches = Searches(greedy_search, beam_search, limits=length_limits)
    return TrainedModel(
        folder, engine, tokenizer, task, details, raw, searches
    )


def length_limits(
    engine: Engine,
    src: Int[Tensor, "batch source"],
    prefix: None,
    max_length: int | None,
) -> Int[Tensor, " batch"]:
    """Maximum number of target tokens for each row: see
    :func:`~.search.length_limits`."""
    lengths = (src != PAD).sum(dim=1).tolist()
    return torch.tensor([engine.limit(n, max_length) for n in lengths])


def greedy_search(
    engine: Engine,
    src: Int[Tensor, "batch source"],
    *,
    max_length: int | None = None,
    on_token: OnToken | None = None,
) -> list[list[int]]:
    """Take the most probable token, each time.

    Args:
        engine: the model.
        src: source ids, padded.
        max_length: tokens to write at the most; when None, 50 more than the
            row's source has.
        on_token: called with each token of a batch of one row.

    Returns:
        For each row the target tokens, without bos and eos.
    """

    def callback(step) -> bool:
        on_token(torch.tensor([step.token_id]))
        return False  # do not stop

    never = [[engine.pieces[i]] for i in (PAD, BOS)]
    limits = length_limits(engine, src, None, max_length).tolist()
    found = _translate(  # all at once: what is beyond a row's limit is cut off
        engine,
        src,
        max(limits),
        beam_size=1,
        callback=on_token and callback,
        suppress_sequences=never,
    )
    return [
        _ids(engine, result.hypotheses[0])[:limit]
        for result, limit in zip(found, limits, strict=True)
    ]


def beam_search(
    engine: Engine,
    src: Int[Tensor, "batch source"],
    *,
    beam_size: int = 5,
    alpha: float = 0.6,
    max_length: int | None = None,
) -> list[list[Hypothesis]]:
    """Keep the best few hypotheses of each sentence, and extend them all.

    Pad and bos are not ruled out, as no trained model writes them: to rule
    them out would raise the probabilities of all other tokens.

    Args:
        engine: the model.
        src: source ids, padded.
        beam_size: hypotheses to extend, and to return at the most.
        alpha: exponent of the length penalty, by which those that have ended
            are ranked; 0 has none.
        max_length: tokens to write at the most.

    Returns:
        For each sentence its best hypotheses, best first.
    """
    patience = PATIENCE if beam_size > 1 else 1
    found = _translate(
        engine,
        src,
        max_length,
        beam_size=beam_size,
        patience=patience,
        num_hypotheses=patience * beam_size,
        return_scores=True,
        return_end_token=True,  # so that it counts in the length
        length_penalty=0,  # the score is the log-probability
    )
    return [_ranked(engine, one, alpha)[:beam_size] for one in found]


def _translate(
    engine: Engine, src: Tensor, max_length: int | None, **options
) -> Iterator:
    """CTranslate2's result for each row; it takes one limit for all of them,
    so those with the same go together, in a part for each worker."""
    rows = [[i for i in row if i != PAD] for row in src.tolist()]
    places = defaultdict(list)
    for place, row in enumerate(rows):
        places[engine.limit(len(row), max_length)].append(place)
    pending = {}
    for limit, same_limit in places.items():
        results = engine.translator.translate_batch(
            [[engine.pieces[i] for i in rows[place]] for place in same_limit],
            max_batch_size=math.ceil(len(same_limit) / engine.workers),
            asynchronous=True,
            max_input_length=0,  # the caller has cut them
            max_decoding_length=limit,
            min_decoding_length=0,
            **options,
        )
        pending |= zip(same_limit, results, strict=True)
    return (pending[place].result() for place in range(len(rows)))


def _ranked(engine: Engine, result, alpha: float) -> list[Hypothesis]:
    """What has ended, by log-probability over the length penalty."""
    ranked = [
        Hypothesis(
            _ids(engine, pieces),
            log_prob,
            log_prob / length_penalty(len(pieces), alpha),
        )
        for pieces, log_prob in zip(
            result.hypotheses, result.scores, strict=True
        )
    ]
    return sorted(ranked, key=lambda h: h.score, reverse=True)


def _ids(engine: Engine, pieces: list[str]) -> list[int]:
    """Ids of pieces, without pad, bos and eos."""
    ids = (engine.ids[piece] for piece in pieces)
    return [i for i in ids if i not in (PAD, BOS, EOS)]
