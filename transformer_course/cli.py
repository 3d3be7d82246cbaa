"""The command line: ``transformer-course train | translate | ...``.

A user's mistake gives one line after ``error:`` and exit status 1; wrong
usage gives status 2, and a training stopped by Ctrl-C status 130.
"""

import contextlib
import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Annotated, Literal

import torch
import tyro

from transformer_course import checkpoint, experiment
from transformer_course.config import PRESETS, Experiment
from transformer_course.data import manifest, plain
from transformer_course.data.corpus import (
    decode_utf8,
    load_corpus,
    read_lines,
    read_parallel,
    unseen,
)
from transformer_course.device import pick_device
from transformer_course.errors import (
    CheckpointError,
    ConfigError,
    CourseError,
)
from transformer_course.generate import sample
from transformer_course.score import corpus_bleu, corpus_chrf
from transformer_course.translate import encode_source, too_long, translate

Model = Annotated[Path, tyro.conf.Positional]
CHUNK = 64
"""Lines read at a time from a pipe."""


@dataclass(frozen=True)
class Training(Experiment):
    """An experiment, where to put it, and whether it goes on."""

    output_dir: Path = Path("outputs")
    """The run's folder is made in here."""
    resume: bool = False
    """Go on with a run that was stopped."""


def _training(preset: Experiment) -> Training:
    return Training(preset.name, preset.data, preset.model, preset.train)


Preset = tyro.extras.subcommand_type_from_defaults(
    {name: _training(preset) for name, preset in PRESETS.items()},
    prefix_names=False,
)


def train(
    training: tyro.conf.AvoidSubcommands[
        Annotated[Preset, tyro.conf.arg(name="")]
    ],
) -> None:
    """Train a preset, with any of its settings changed."""
    settings = Experiment(
        training.name, training.data, training.model, training.train
    )
    folder = experiment.run(settings, training.output_dir, training.resume)
    only = getattr(settings.model, "decoder_only", False)
    verb = "generate" if only else "translate"
    print(f"done: {folder}. Try: transformer-course {verb} {folder}")


def translate_command(
    model: Model,
    file: Annotated[Path | None, tyro.conf.Positional] = None,
    output: Path | None = None,
    beam_size: int = 5,
    alpha: float = 0.6,
    as_is: bool = False,
    device: str = "auto",
) -> None:
    """Translate a file, or what comes from the keyboard or a pipe.

    Args:
        model: a run's folder, or one checkpoint.
        file: text in UTF-8, one sentence a line; standard input if left out.
        output: write here, when all is translated; standard output if left
            out.
        beam_size: hypotheses kept; 1 is greedy.
        alpha: exponent of the length penalty.
        as_is: the text is cut into words like the corpus; keep the words of
            the translation apart too.
        device: auto, cpu, cuda, mps.
    """
    loaded = _load(model, device)
    _check_writable(output)
    done: list[str] = []
    for first, lines in _chunks(file):
        sources = lines if as_is else _from_plain(loaded, lines)
        _warn_too_long(loaded, sources, first)
        written = translate(
            loaded.model, loaded.tokenizer, sources, beam_size, alpha
        )
        written = written if as_is else _to_plain(loaded, written)
        if output is None:
            print(*written, sep="\n", flush=True)
        done += written
    if output is not None:
        _write_whole(output, done)


def generate(
    model: Model,
    prompt: Annotated[str, tyro.conf.Positional] = "",
    count: int = 3,
    temperature: float = 1.0,
    top_k: int = 0,
    top_p: float = 1.0,
    max_length: int = 50,
    seed: int = 0,
    as_is: bool = False,
    device: str = "auto",
) -> None:
    """Draw texts: what follows a prompt, or translations of a sentence.

    Args:
        model: a run's folder, or one checkpoint.
        prompt: for a decoder-only model the beginning of the text; for an
            encoder–decoder the sentence to translate.
        count: how many to draw.
        temperature: below 1 sharper, above 1 wilder.
        top_k: draw from the k most probable tokens; 0 takes all.
        top_p: draw from the most probable tokens that hold this share.
        max_length: tokens at the most.
        seed: fixes what is drawn.
        as_is: the prompt is cut into words like the corpus.
        device: auto, cpu, cuda, mps.
    """
    if count < 1:
        raise ConfigError(f"count is {count}: it must be at least 1.")
    loaded = _load(model, device)
    tokenizer = loaded.tokenizer
    generator = torch.Generator(pick_device(device)).manual_seed(seed)
    only = getattr(loaded.model.config, "decoder_only", False)
    text = prompt
    if not as_is:
        side = "tgt" if only else "src"
        text = plain.from_plain(prompt, _about(loaded, side))
    src, prefix = None, None
    if only:
        prefix = torch.tensor([tokenizer.encode(text)] * count).long()
    else:
        _warn_too_long(loaded, [text], 1)
        ids = encode_source(tokenizer, text, loaded.model.config.max_length)
        src = torch.tensor([ids] * count)
    drawn = sample(
        loaded.model,
        src,
        temperature=temperature,
        top_k=top_k,
        top_p=top_p,
        generator=generator,
        prefix=prefix,
        max_length=max_length,
    )
    texts = [tokenizer.decode(ids) for ids in drawn]
    print(*(texts if as_is else _to_plain(loaded, texts)), sep="\n")


def score(
    model: Model,
    split: Literal["dev", "test"] = "test",
    beam_size: int = 5,
    alpha: float = 0.6,
    output: Path | None = None,
    device: str = "auto",
) -> None:
    """Score a model on its corpus: all sentences, and those unseen.

    Args:
        model: a run's folder, or one checkpoint.
        split: which part of the corpus.
        beam_size: hypotheses kept; 1 is greedy.
        alpha: exponent of the length penalty.
        output: write the translations here too.
        device: auto, cpu, cuda, mps.
    """
    loaded = _load(model, device)
    _check_writable(output)
    corpus, src, tgt = (_about(loaded, k) for k in ("corpus", "src", "tgt"))
    splits = load_corpus(corpus, src=src, tgt=tgt)
    text = getattr(splits, split)
    written = translate(
        loaded.model, loaded.tokenizer, text.src, beam_size, alpha
    )
    if output is not None:
        _write_whole(output, written)
    new = unseen(text, splits.train)
    _print_scores(f"all {len(text)} sentences", written, text.tgt)
    if new:
        _print_scores(
            f"the {len(new)} whose source is not in the training part",
            [written[i] for i in new],
            [text.tgt[i] for i in new],
        )


def score_files(
    hypotheses: Annotated[Path, tyro.conf.Positional],
    references: Annotated[Path, tyro.conf.Positional],
    tokenize: str = "none",
) -> None:
    """Score a file of translations against one of references.

    Args:
        hypotheses: what a system wrote, one sentence a line.
        references: what should have been written, line by line.
        tokenize: sacreBLEU's tokeniser: none (the words of the text), 13a
            (raw English), char, ...
    """
    text = read_parallel(hypotheses, references)
    _print_scores(f"{len(text)} sentences", text.src, text.tgt, tokenize)


def data(
    action: Annotated[
        Literal["list", "fetch", "verify"], tyro.conf.Positional
    ],
    corpus: Annotated[str, tyro.conf.Positional] = "all",
) -> None:
    """List the corpora, fetch one, or check its files.

    Args:
        action: list says which there are and where they stand; fetch takes
            one from the cache, the mirror or the network; verify compares
            the files that are here with their sha256.
        corpus: its name, or "all".
    """
    names = list(manifest.corpora()) if corpus == "all" else [corpus]
    for name in names:
        if action == "list":
            _describe(name)
        elif action == "fetch":
            print(*manifest.fetch(name).values(), sep="\n")
        else:
            for file, status in manifest.verify(name).items():
                print(f"{status:8} {file}")


def find(model: Path) -> Path:
    """The checkpoint to use: the folder itself, or a run's best one.

    Of a run, the averaged weights are taken if there are any, else the best
    epoch's, else the last.
    """
    for name in ("average", "best", "last"):
        folder = model / "checkpoints" / name
        with contextlib.suppress(CheckpointError):
            return checkpoint.existing(folder)
    return model


def main(args: list[str] | None = None) -> None:
    """Run the command line."""
    try:
        tyro.extras.subcommand_cli_from_dict(
            COMMANDS, prog="transformer-course", args=args
        )
    except experiment.Interrupted as stop:
        print(stop, file=sys.stderr)
        sys.exit(130)
    except CourseError as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(1)
    except KeyboardInterrupt:
        sys.exit(130)
    except BrokenPipeError:  # the reader of a pipe has gone
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


COMMANDS = {
    "train": train,
    "translate": translate_command,
    "generate": generate,
    "score": score,
    "score-files": score_files,
    "data": data,
}


def _chunks(file: Path | None) -> Iterator[tuple[int, list[str]]]:
    """Lines a few at a time, with the number of the first; from 1."""
    source = _stdin_lines() if file is None else iter(read_lines(file))
    size = 1 if file is None and sys.stdin.isatty() else CHUNK
    first = 1
    while lines := list(islice(source, size)):
        yield first, lines
        first += len(lines)


def _stdin_lines() -> Iterator[str]:
    for number, line in enumerate(sys.stdin.buffer, start=1):
        yield decode_utf8(line, "standard input", number).rstrip("\r\n")


def _load(model: Path, device: str) -> checkpoint.Checkpoint:
    """A model that can be used on text."""
    loaded = checkpoint.load(find(model), pick_device(device))
    if loaded.tokenizer is None:
        raise CheckpointError(
            f"{model} has no tokenizer.model, so it cannot read text: save "
            "the model with its tokenizer."
        )
    return loaded


def _about(loaded: checkpoint.Checkpoint, key: str) -> str:
    """What was saved beside the model: its corpus or a language."""
    if key not in loaded.details:
        raise CheckpointError(
            f"the checkpoint does not say its {key!r}: save it with such "
            "details, or cut text into words yourself and add --as-is."
        )
    return loaded.details[key]


def _from_plain(loaded: checkpoint.Checkpoint, lines) -> list[str]:
    language = _about(loaded, "src")
    return [plain.from_plain(line, language) for line in lines]


def _to_plain(loaded: checkpoint.Checkpoint, lines) -> list[str]:
    language = _about(loaded, "tgt")
    return [plain.to_plain(line, language) for line in lines]


def _warn_too_long(loaded, lines: list[str], first: int) -> None:
    limit = loaded.model.config.max_length
    for i in too_long(loaded.model, loaded.tokenizer, lines):
        print(
            f"warning: line {first + i} is longer than {limit} tokens and is "
            "cut off there; split it into sentences.",
            file=sys.stderr,
        )


def _print_scores(title, written, references, tokenize="none") -> None:
    bleu = corpus_bleu(written, references, tokenize)
    chrf = corpus_chrf(written, references)
    print(title)
    print(f"  BLEU {bleu.value:.2f}  {bleu.signature}")
    print(f"       {bleu.details}")
    print(f"  chrF {chrf.value:.2f}  {chrf.signature}")


def _check_writable(output: Path | None) -> None:
    """Find out before the work, not after it."""
    if output is None:
        return
    if output.is_dir() or not os.access(output.parent, os.W_OK):
        raise CourseError(
            f"{output} cannot be written: name a file in a folder that is "
            "there and may be written."
        )


def _write_whole(path: Path, lines: list[str]) -> None:
    """Write lines to a file that is either whole or as it was."""
    fresh = path.with_name(f".{path.name}.new")
    try:
        text = "".join(line + "\n" for line in lines)
        fresh.write_text(text, encoding="utf-8")
        os.replace(fresh, path)
    except OSError as error:
        fresh.unlink(missing_ok=True)
        raise CourseError(
            f"{path} could not be written ({error.strerror}); what stood "
            "there before is untouched. Name another file."
        ) from error


def _describe(name: str) -> None:
    corpus = manifest.find_corpus(name)
    status = manifest.corpus_status(name)
    print(f"{name}: {corpus.description}")
    print(f"    {len(corpus.files)} files, {corpus.bytes / 1e6:.1f} MB")
    print(f"    {status}")
    print(f"    licence: {corpus.licence}")
