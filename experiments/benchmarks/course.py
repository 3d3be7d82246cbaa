"""The course's own model, as its presets train it, and in plainer ways."""

from functools import partial

import torch

from experiments.benchmarks import work
from experiments.benchmarks.work import Round, Turn
from transformer_course.checkpoints.smollm2 import load_gguf, smollm2_file
from transformer_course.decoding.generate import beam_search, greedy_search
from transformer_course.fast.chunked_loss import chunked_loss
from transformer_course.fast.four_bits import keep_packed
from transformer_course.fast.optimize import optimize
from transformer_course.fast.paged import Server, Text
from transformer_course.fast.parallel import parallel_map
from transformer_course.models.transformer import Transformer
from transformer_course.training.config import LoopConfig, SequenceLossConfig
from transformer_course.training.loop import (
    make_optimizer,
    set_seed,
    train_step,
)
from transformer_course.training.loss import compute_loss


def model() -> Transformer:
    """With weights that depend on the seed alone."""
    set_seed(0)
    return Transformer(work.config())


def training(*, fast: bool = True) -> Turn:
    """Updates on batches, each round the same ones."""
    learner, batches = model().train(), work.bucketed()
    if fast:
        learner = optimize(learner)
    settings = LoopConfig()
    optimizer = make_optimizer(learner, settings)
    for group in optimizer.param_groups:
        group["lr"] = 1e-4
    tokens = work.real_tokens(batches)
    loss_fn = partial(
        chunked_loss if fast else compute_loss,
        config=SequenceLossConfig(work.SMOOTHING),
    )

    def turn() -> Round:
        for batch in batches:
            train_step(learner, batch, optimizer, settings, loss_fn)
        return Round(tokens, [])

    return turn


def decoding(beam_size: int, *, fast: bool = True) -> Turn:
    """Translations of one length, by a model that has learned nothing."""
    writer = model().eval()
    if fast:  # as the command does it
        writer = optimize(writer)
    sources = work.sources()
    length = work.NEW_TOKENS

    def decode(src: torch.Tensor) -> list[list[int]]:
        if beam_size == 1:
            return greedy_search(writer, src, max_length=length)
        beams = beam_search(
            writer, src, beam_size=beam_size, max_length=length
        )
        return [beam[0].ids for beam in beams]

    def turn() -> Round:
        found = (parallel_map if fast else map)(decode, sources)
        output = [ids for batch in found for ids in batch]
        return Round(len(output), output)

    return turn


def answering(*, packed: bool = True) -> Turn:
    """SmolLM2's answer, token by token, of a fixed number of tokens."""
    writer, tokenizer = load_gguf(smollm2_file())
    if packed:  # as the commands do it
        keep_packed(writer)
    ids = tokenizer.encode(work.prompt())

    def turn() -> Round:
        server = Server(writer, rows=1)
        server.add(text := Text(list(ids), work.ANSWER))
        while server.step():
            pass
        return Round(len(text.written), [text.written])

    return turn
