"""The command line: ``transformer-course train | translate | ...``.

A user's mistake gives one line after ``error:`` and exit status 1; wrong
usage gives status 2, and Ctrl-C status 130. What each option is stands in
``transformer-course COMMAND --help``.
"""

import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from importlib.metadata import version
from itertools import islice
from pathlib import Path
from typing import Annotated, Literal

import torch
import tyro
from torch import Tensor

from transformer_course import checkpoint, experiment
from transformer_course.config import (
    PRESETS,
    Experiment,
)
from transformer_course.data import download, manifest, plain
from transformer_course.data.corpora import CORPORA, load_corpus
from transformer_course.data.manifest import OLD_NAMES
from transformer_course.data.text import (
    ParallelText,
    decode_utf8,
    read_lines,
    read_parallel,
    unseen,
)
from transformer_course.device import pick_device
from transformer_course.ensemble import Ensemble
from transformer_course.errors import (
    CheckpointError,
    ConfigError,
    CorpusError,
    CourseError,
)
from transformer_course.exercises.progress import find_file, overview
from transformer_course.generate import greedy_search, sample
from transformer_course.score import (
    corpus_bleu,
    corpus_chrf,
    perplexity,
    spaced_share,
)
from transformer_course.translate import (
    TextStream,
    candidates,
    encode_source,
    too_long,
    translate,
    unknown,
)

Model = Annotated[
    Path,
    tyro.conf.Positional,
    tyro.conf.arg(
        metavar="MODEL",
        help="a run's folder, or one checkpoint. Of a run, the average or "
        "the best epoch is taken, whichever scored higher on the "
        "development set.",
    ),
]
BeamSize = Annotated[
    int, tyro.conf.arg(help="hypotheses kept; 1 is greedy search.")
]
Alpha = Annotated[
    float,
    tyro.conf.arg(
        help="exponent of the length penalty: larger favours longer "
        "translations, 0 has none; without effect on greedy search."
    ),
]
AsIs = Annotated[
    bool,
    tyro.conf.arg(
        help="neither cut text into words nor join them: what goes in and "
        "out has its words apart, by spaces, as in the corpus."
    ),
]
Others = Annotated[
    tuple[Path, ...],
    tyro.conf.arg(
        name="with",
        metavar="MODEL [MODEL ...]",
        help="further models, of the same tokenizer: at each token the "
        "probabilities of all are averaged.",
    ),
]
Output = Annotated[
    Path | None,
    tyro.conf.arg(
        metavar="FILE",
        help="write the translations here, when all are done.",
        help_behavior_hint="",
    ),
]
NBest = Annotated[
    int,
    tyro.conf.arg(
        metavar="N",
        help="write the N best of each beam, one a line, with tabs between "
        "number of the sentence, rank, score (what ranks: log-probability "
        "over length penalty), log-probability in nats, and text; 0 writes "
        "the best translation alone.",
    ),
]
Stream = Annotated[
    bool,
    tyro.conf.arg(
        help="write words as they are decided, with --beam-size 1; so it is "
        "anyway when someone types and reads on a terminal.",
    ),
]
Device = Annotated[str, tyro.conf.arg(help="auto, cpu, cuda, cuda:1, mps.")]
PROGRAM = "transformer-course"
UNCUT = {c.name for c in CORPORA.values() if not c.spaced} | {*OLD_NAMES}
"""Corpora whose words do not stand apart."""
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
    print(f"done: {folder}. Try: {PROGRAM} {_first_use(settings, folder)}")


def _first_use(settings: Experiment, folder: Path) -> str:
    """The command that shows what a model has learned."""
    if getattr(settings.model, "decoder_only", False):
        return f"generate {folder}"
    if settings.data.translated:
        return f"translate {folder}"
    return f"generate {folder} '...'"


def translate_command(
    model: Model,
    file: Annotated[
        Path | None,
        tyro.conf.Positional,
        tyro.conf.arg(
            metavar="[FILE]",
            help="text in UTF-8, one sentence a line; if left out, what is "
            "typed or comes from a pipe.",
            help_behavior_hint="",
        ),
    ] = None,
    output: Output = None,
    beam_size: BeamSize = 5,
    alpha: Alpha = 0.6,
    n_best: NBest = 0,
    stream: Stream = False,
    as_is: AsIs = False,
    others: Others = (),
    device: Device = "auto",
) -> None:
    """Translate a file, or what comes from the keyboard or a pipe.

    One sentence: echo "i like dogs ." | transformer-course translate MODEL
    """
    _check_n_best(n_best, beam_size)
    greedy = beam_size == 1 and not n_best and output is None
    if stream and not greedy:
        raise ConfigError(
            "--stream writes words as they are decided, and a beam is only "
            "decided at its end: add --beam-size 1, and leave out --n-best "
            "and --output."
        )
    typed = file is None and sys.stdin.isatty()
    stream = stream or (greedy and typed and sys.stdout.isatty())
    loaded = load_together(model, others, device)
    _check_writable(output)
    done: list[str] = []
    for first, lines in _chunks(file, 1 if typed or stream else CHUNK):
        sources = lines if as_is else _from_plain(loaded, lines)
        _warn_too_long(loaded, sources, first)
        _warn_unknown(loaded, sources, first)
        if stream:
            _translate_growing(loaded, sources, as_is)
            continue
        written = _translated(
            loaded, sources, beam_size, alpha, n_best, as_is, first
        )
        if output is None:
            print(*written, sep="\n", flush=True)
        done += written
    if output is not None:
        _write_whole(output, done)


def generate(
    model: Model,
    prompt: Annotated[
        str,
        tyro.conf.Positional,
        tyro.conf.arg(
            metavar="[TEXT]",
            help="the sentence to translate; for a decoder-only model the "
            "beginning of the text, which may be left out.",
            help_behavior_hint="",
        ),
    ] = "",
    count: int = 3,
    temperature: float = 1.0,
    top_k: int = 0,
    top_p: float = 1.0,
    max_length: int = 50,
    seed: int = 0,
    stream: Annotated[
        bool,
        tyro.conf.arg(
            help="write words as they are drawn; on a terminal it is so "
            "anyway. What is drawn is the same."
        ),
    ] = False,
    as_is: AsIs = False,
    device: Device = "auto",
) -> None:
    """Draw texts: what follows a prompt, or translations of a sentence.

    Args:
        count: how many to draw, one after another.
        temperature: below 1 sharper, above 1 wilder.
        top_k: draw from the k most probable tokens; 0 takes all.
        top_p: draw from the most probable tokens that hold this share.
        max_length: tokens at the most.
        seed: fixes what is drawn.
    """
    if count < 1:
        raise ConfigError(f"count is {count}: it must be at least 1.")
    loaded = _load(model, device)
    src, prefix = _conditions(loaded, prompt, as_is)
    draw = partial(
        sample,
        loaded.model,
        src,
        temperature=temperature,
        top_k=top_k,
        top_p=top_p,
        generator=torch.Generator(pick_device(device)).manual_seed(seed),
        prefix=prefix,
        max_length=max_length,
    )
    begun = [] if prefix is None else prefix[0].tolist()
    stream = stream or sys.stdout.isatty()
    for _ in range(count):
        if stream:
            _write_growing(loaded, draw, as_is, begun)
        else:
            texts = [loaded.tokenizer.decode(ids) for ids in draw()]
            print(*(texts if as_is else _to_plain(loaded, texts)), flush=True)


def score(
    model: Model,
    split: Literal["dev", "test"] = "test",
    beam_size: BeamSize = 5,
    alpha: Alpha = 0.6,
    output: Output = None,
    others: Others = (),
    device: Device = "auto",
) -> None:
    """Score a model on its corpus: all sentences, and those unseen.

    A translator is scored by BLEU and chrF. What goes on with a text is
    scored by the nll, since a text can go on in many ways.

    Args:
        split: which part of the corpus.
    """
    folder = find(model)
    loaded = load_together(folder, others, device)
    _check_writable(output)
    corpus, src, tgt = (_about(loaded, k) for k in ("corpus", "src", "tgt"))
    splits = load_corpus(corpus, src=src, tgt=tgt)
    text = getattr(splits, split)
    only = getattr(loaded.model.config, "decoder_only", False)
    if only or corpus in UNCUT:
        return _print_nll(f"{folder} on {corpus}, {split}", loaded, text)
    search = f"beam {beam_size}, alpha {alpha}" if beam_size > 1 else "greedy"
    together = ", ".join(map(str, (folder, *others)))
    print(f"{together} on {corpus}, {split}: {search}", flush=True)
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
    hypotheses: Annotated[
        Path, tyro.conf.Positional, tyro.conf.arg(metavar="HYPOTHESES")
    ],
    references: Annotated[
        Path, tyro.conf.Positional, tyro.conf.arg(metavar="REFERENCES")
    ],
    tokenize: Annotated[
        str,
        tyro.conf.arg(
            help="sacreBLEU's tokeniser: none (words are what stands between "
            "spaces, as the corpora and translate --as-is have it), 13a (raw "
            "English), char (raw Japanese), ..."
        ),
    ] = "none",
) -> None:
    """Score a file of translations against one of references.

    Args:
        hypotheses: what a system wrote, one sentence a line.
        references: what should have been written, line by line.
    """
    text = read_parallel(hypotheses, references)
    if tokenize == "none":
        _warn_spaces(text.src, text.tgt)
    _print_scores(f"{len(text)} sentences", text.src, text.tgt, tokenize)


def data(
    action: Annotated[
        Literal["list", "fetch", "verify"],
        tyro.conf.Positional,
        tyro.conf.arg(
            help="list says which there are and where they stand; fetch "
            "takes one from the cache, the mirror or the network; verify "
            "computes the sha256 of the files that are here, and fails if "
            "one is wrong (a file that is not here is not wrong)."
        ),
    ],
    corpus: Annotated[
        str,
        tyro.conf.Positional,
        tyro.conf.arg(metavar="[CORPUS]", help="its name."),
    ] = "all",
) -> None:
    """List the corpora, fetch one, or check its files."""
    infos = manifest.list_corpora()
    if corpus != "all":
        name = manifest.find_corpus(corpus).name
        infos = [info for info in infos if info.name == name]
    if action == "verify":
        return _verify(infos)
    for info in infos:
        _describe(info) if action == "list" else _fetch(info)


def progress(
    folder: Annotated[
        Path | None,
        tyro.conf.Positional,
        tyro.conf.arg(
            metavar="[FOLDER]",
            help="where the exercise notebooks are; if left out, "
            "my_exercises, or this folder where there is none.",
            help_behavior_hint="",
        ),
    ] = None,
) -> None:
    """Say which exercises are done, by chapter."""
    print(overview(find_file(folder)))


def find(model: Path) -> Path:
    """The checkpoint to use: the folder itself, or one of a run's.

    Raises:
        CheckpointError: there is none; the runs that lie near are named.
    """
    chosen = experiment.chosen_checkpoint(model)
    if chosen is not None:
        return chosen
    try:
        return checkpoint.existing(model)
    except CheckpointError as error:
        raise CheckpointError(f"{error}{_runs_near(model)}") from error


def main(args: list[str] | None = None) -> None:
    """Run the command line."""
    args = sys.argv[1:] if args is None else args
    if args == ["--version"]:
        print(f"{PROGRAM} {version(PROGRAM)}")
        return
    try:
        tyro.extras.subcommand_cli_from_dict(
            COMMANDS,
            prog=PROGRAM,
            description="Train, use and score the course's models. "
            "COMMAND --help says more, --version which this is.",
            args=args,
        )
    except experiment.Interrupted as stop:
        print(stop, file=sys.stderr)
        sys.exit(130)
    except CourseError as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(1)
    except KeyboardInterrupt:
        print("stopped", file=sys.stderr)
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
    "progress": progress,
}


def _chunks(file: Path | None, size: int) -> Iterator[tuple[int, list[str]]]:
    """Lines a few at a time, with the number of the first; from 1."""
    if file is None and sys.stdin.isatty():
        print(
            "Type a sentence, then Enter; Ctrl-D on an empty line ends.",
            file=sys.stderr,
        )
    source = _stdin_lines() if file is None else iter(_file_lines(file))
    first = 1
    while lines := list(islice(source, size)):
        yield first, lines
        first += len(lines)


def _file_lines(file: Path) -> list[str]:
    try:
        return read_lines(file)
    except CorpusError as error:
        if os.path.exists(file):
            raise
        raise CorpusError(
            f"{error} A sentence goes in by a pipe: echo '...' | {PROGRAM} "
            "translate MODEL"
        ) from error


def _stdin_lines() -> Iterator[str]:
    for number, line in enumerate(sys.stdin.buffer, start=1):
        yield decode_utf8(line, "standard input", number).rstrip("\r\n")


def _load(model: Path, device: str) -> checkpoint.Checkpoint:
    """A model that can be used on text."""
    folder = find(model)
    if folder != model:
        print(f"using {folder}", file=sys.stderr)
    loaded = checkpoint.load(folder, pick_device(device))
    if loaded.tokenizer is None:
        raise CheckpointError(
            f"{model} has no tokenizer.model, so it cannot read text: save "
            "the model with its tokenizer."
        )
    return loaded


def load_together(
    model: Path, others: Sequence[Path], device: str
) -> checkpoint.Checkpoint:
    """A model that can be used on text, or several as one.

    Raises:
        CheckpointError: what a single one raises; or models that differ in
            tokenizer, corpus or languages.
        ConfigError: models that cannot be averaged.
    """
    first = _load(model, device)
    if not others:
        return first
    loaded = [_load(other, device) for other in others]
    for path, other in zip(others, loaded, strict=True):
        _check_together(model, first, path, other)
    models = [first.model, *(other.model for other in loaded)]
    return first._replace(model=Ensemble(models))


def _check_together(model: Path, first, path: Path, other) -> None:
    for key in ("corpus", "src", "tgt"):
        mine, theirs = first.details.get(key), other.details.get(key)
        if mine != theirs:
            raise CheckpointError(
                f"{path} has {key} {theirs!r}, and {model} has {mine!r}: "
                "models that work together must do the same."
            )
    if not first.tokenizer.cuts_like(other.tokenizer):
        raise CheckpointError(
            f"{path} cuts text into other pieces than {model}: the models "
            "need one tokenizer. Train the one with --train.start-from the "
            "other, or both on the same text with the same vocab-size."
        )


def _runs_near(model: Path) -> str:
    """Where runs are, for someone who has named another folder."""
    for folder in (model, model.parent):
        runs = sorted(p.parent for p in folder.glob("*/checkpoints"))
        if runs := [str(run) for run in runs if run != model]:
            return f" Runs are in {', '.join(runs)}."
    return ""


def _check_n_best(n_best: int, beam_size: int) -> None:
    if not 0 <= n_best <= beam_size:
        raise ConfigError(
            f"n_best is {n_best}: expected 0 (the translation alone) to "
            f"{beam_size}, the size of the beam; a larger --beam-size has "
            "more."
        )


def _translated(
    loaded: checkpoint.Checkpoint,
    sources: list[str],
    beam_size: int,
    alpha: float,
    n_best: int,
    as_is: bool,
    first: int,
) -> list[str]:
    """The lines to write: a translation each, or ``n_best`` with scores."""
    how = (loaded.model, loaded.tokenizer, sources, beam_size, alpha)
    if not n_best:
        written = translate(*how)
        return written if as_is else _to_plain(loaded, written)
    rows = []
    for number, beam in enumerate(candidates(*how), start=first):
        for rank, one in enumerate(beam[:n_best], start=1):
            text = one.text if as_is else _to_plain(loaded, [one.text])[0]
            values = f"{one.score:.4f}\t{one.log_prob:.4f}"
            rows.append(f"{number}\t{rank}\t{values}\t{text}")
    return rows


def _translate_growing(
    loaded: checkpoint.Checkpoint, sources: list[str], as_is: bool
) -> None:
    for source in sources:
        if not source.strip():
            print(flush=True)
            continue
        search = partial(greedy_search, loaded.model, _source(loaded, source))
        _write_growing(loaded, search, as_is)


def _write_growing(
    loaded: checkpoint.Checkpoint,
    search: Callable[..., list[list[int]]],
    as_is: bool,
    begun: Iterable[int] = (),
) -> None:
    """Print a text while a search decides it, and its end of line.

    Args:
        loaded: the model.
        search: takes ``on_token``.
        as_is: leave words apart.
        begun: tokens of a prompt, which come first.
    """
    language = None if as_is else _cut_language(loaded, "tgt")
    text = TextStream(loaded.tokenizer, language)

    def show(token: int | Tensor) -> None:
        print(text.add(int(token)), end="", flush=True)

    for token in begun:
        show(token)
    search(on_token=show)
    print(text.end(), flush=True)


def _source(loaded: checkpoint.Checkpoint, text: str) -> Tensor:
    """One sentence's ids, as a batch."""
    limit = loaded.model.config.max_length
    return torch.tensor([encode_source(loaded.tokenizer, text, limit)])


def _conditions(
    loaded: checkpoint.Checkpoint, prompt: str, as_is: bool
) -> tuple[Tensor | None, Tensor | None]:
    """Source and prefix, one row each: a prompt is one or the other."""
    only = getattr(loaded.model.config, "decoder_only", False)
    if not only and not prompt.strip():
        raise ConfigError(
            "no sentence was given, and this model translates one: generate "
            "MODEL 'a sentence'."
        )
    text = prompt
    if not as_is:
        side = "tgt" if only else "src"
        [text] = _from_plain(loaded, [prompt], side)
    _warn_unknown(loaded, [text], 1)
    if only:
        return None, torch.tensor([loaded.tokenizer.encode(text)]).long()
    _warn_too_long(loaded, [text], 1)
    return _source(loaded, text), None


def _about(loaded: checkpoint.Checkpoint, key: str) -> str:
    """What was saved beside the model: its corpus or a language."""
    if key not in loaded.details:
        raise CheckpointError(
            f"the checkpoint does not say its {key!r}: save it with such "
            "details, or cut text into words yourself and add --as-is."
        )
    return loaded.details[key]


def _cut_language(loaded: checkpoint.Checkpoint, side: str) -> str | None:
    """The language of a side whose words stand apart in the corpus; None
    where the text is as it was written (Soseki)."""
    language = _about(loaded, side)
    return None if loaded.details.get("corpus") in UNCUT else language


def _from_plain(
    loaded: checkpoint.Checkpoint, lines: list[str], side: str = "src"
) -> list[str]:
    """Text as people write it, in the way of the model's corpus."""
    language = _cut_language(loaded, side)
    if language is None:
        return lines
    return [plain.from_plain(line, language) for line in lines]


def _to_plain(loaded: checkpoint.Checkpoint, lines: list[str]) -> list[str]:
    """What the model wrote, as people write it."""
    language = _cut_language(loaded, "tgt")
    if language is None:
        return lines
    return [plain.to_plain(line, language) for line in lines]


def _warn_too_long(loaded, lines: list[str], first: int) -> None:
    limit = loaded.model.config.max_length
    for i in too_long(loaded.model, loaded.tokenizer, lines):
        print(
            f"warning: line {first + i} is longer than {limit} tokens and is "
            "cut off there; split it into sentences.",
            file=sys.stderr,
        )


def _warn_unknown(loaded, lines: list[str], first: int) -> None:
    for number, line in enumerate(lines, start=first):
        if strange := unknown(loaded.tokenizer, line):
            print(
                f"warning: line {number} has what the model has never seen: "
                f"{', '.join(map(repr, strange))}",
                file=sys.stderr,
            )


def _warn_spaces(hypotheses: list[str], references: list[str]) -> None:
    """BLEU counts words, and cannot find them in text without spaces."""
    shares = spaced_share(hypotheses), spaced_share(references)
    if abs(shares[0] - shares[1]) > 0.5:
        names = "hypotheses", "references"
        apart, joined = names if shares[0] > shares[1] else names[::-1]
        print(
            f"warning: the {apart} have spaces between words and the "
            f"{joined} have not, so that hardly a word is found in both. "
            "Translate with --as-is, or score with --tokenize char.",
            file=sys.stderr,
        )


def _print_scores(title, written, references, tokenize="none") -> None:
    bleu = corpus_bleu(written, references, tokenize)
    chrf = corpus_chrf(written, references)
    print(title)
    print(f"  BLEU {bleu.value:.2f}  {bleu.signature}")
    print(f"       {bleu.details}")
    print(f"  chrF {chrf.value:.2f}  {chrf.signature}")


def _print_nll(title: str, loaded, text: ParallelText) -> None:
    found = experiment.score_text(loaded.model, loaded.tokenizer, text)
    print(f"{title}: {found.tokens:,} tokens")
    print(f"  per token      nll {found.nll:.4f}", end="  ")
    print(f"perplexity {perplexity(found.nll):.2f}", end="  ")
    print(f"accuracy {found.accuracy:.4f}")
    print(f"  per character  nll {found.nll_per_character:.4f}", end="  ")
    print(f"perplexity {perplexity(found.nll_per_character):.2f}")


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


def _describe(info: manifest.CorpusInfo) -> None:
    print(f"{info.name}: {info.description}")
    if info.files:
        print(f"    {info.files} files, {info.bytes / 1e6:.1f} MB")
    partly = info.status == "not here" and info.here
    more = f" whole: {info.here} of the files are" if partly else ""
    print(f"    {info.status}{more}")
    print(f"    licence: {info.licence}")


def _fetch(info: manifest.CorpusInfo) -> None:
    paths = download.fetch(info.name).values()
    if not paths:
        print(f"{info.name}: built in, nothing to fetch")
        return
    folder = os.path.commonpath([path.parent for path in paths])
    size = f"{len(paths)} files, {info.bytes / 1e6:.1f} MB"
    print(f"{info.name}: {size}, in {folder}")


def _verify(infos: list[manifest.CorpusInfo]) -> None:
    """A line for each corpus, then the sum; an error names what is wrong."""
    wrong: list[str] = []
    right = 0
    for info in infos:
        if info.status == "built in":
            print(f"{info.name}: built in, nothing to verify")
            continue
        try:
            found = list(download.verify(info.name).values()).count("ok")
            print(f"{info.name}: {found} of {info.files} files here and right")
            right += found == info.files
        except CorpusError as error:
            print(f"{info.name}: wrong")
            wrong.append(str(error))
    others = sum(info.files > 0 for info in infos) - right - len(wrong)
    print(
        f"corpora: {right} whole and right, {others} not here or in part, "
        f"{len(wrong)} wrong"
    )
    if wrong:
        raise CorpusError(" ".join(wrong))
