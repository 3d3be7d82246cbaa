"""A model exported for CTranslate2 writes what it wrote before."""

import json

import pytest
import torch
from command_line import assert_error
from tiny import (
    tiny_config,
    tiny_gru,
    tiny_language_model,
    tiny_splits,
)

from transformer_course.batches.pairs import (
    encode_pairs,
    pad_rows,
    padded_batch,
)
from transformer_course.checkpoints import checkpoint
from transformer_course.data.tokenizer import BOS, EOS, PAD, Tokenizer
from transformer_course.decoding import generate
from transformer_course.decoding.search import length_penalty
from transformer_course.decoding.translate import encode_source
from transformer_course.errors import CheckpointError, ConfigError
from transformer_course.inference import ctranslate2_export
from transformer_course.inference.ctranslate2_engine import (
    beam_search,
    greedy_search,
    load_model,
)
from transformer_course.models.transformer import Transformer
from transformer_course.training.config import LoopConfig
from transformer_course.training.loop import (
    make_optimizer,
    set_seed,
    train_step,
)

DETAILS = {"corpus": "grammar", "src": "en", "tgt": "ja"}
SPLITS = tiny_splits()
TEXT = "red cat\n\nold dog .\nfish fish fish fish fish fish\n"
KINDS = [
    {"position": "sinusoidal", "norm_first": True},
    {"position": "sinusoidal"},
    {"position": "rotary", "norm_first": True},
    {"position": "rotary"},
    {"position": "learned", "norm_first": True},
    {"position": "none"},
    {"activation": "gelu", "bias": True, "tied": False},
]
with_package = pytest.mark.skipif(
    not ctranslate2_export.find_spec(ctranslate2_export.PACKAGE),
    reason="CTranslate2 is not installed: make test-peers",
)


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    lines = [*SPLITS.train.src, *SPLITS.train.tgt]
    return Tokenizer.train(lines, 100, "word")


def learned(tokenizer: Tokenizer, **changes) -> Transformer:
    """A model that has begun to learn, so that it writes what it reads."""
    set_seed(0)
    sizes = {"vocab_size": tokenizer.vocab_size, "max_length": 12}
    model = Transformer(tiny_config(**sizes | changes)).train()
    batch = padded_batch(encode_pairs(tokenizer, SPLITS.train, 12))
    settings = LoopConfig()
    optimizer = make_optimizer(model, settings)
    for group in optimizer.param_groups:
        group["lr"] = 1e-2
    for _ in range(120):
        train_step(model, batch, optimizer, settings)
    return model.eval()


@pytest.fixture(scope="module", params=KINDS, ids=str)
def pair(request, tokenizer, tmp_path_factory):
    """A model, and the same one as CTranslate2 has it."""
    model = learned(tokenizer, **request.param)
    folder = tmp_path_factory.mktemp("exported") / "model"
    ctranslate2_export.save(folder, model, tokenizer, DETAILS)
    return model, load_model(folder).model


@pytest.fixture
def src(tokenizer):
    lines = [*SPLITS.test.src, "red", "fish fish fish fish fish fish"]
    return pad_rows([encode_source(tokenizer, x, 12) for x in lines])


@pytest.fixture(scope="module")
def saved(tokenizer, tmp_path_factory):
    """A checkpoint of ours."""
    folder = tmp_path_factory.mktemp("models") / "ours"
    checkpoint.save(folder, learned(tokenizer), tokenizer, DETAILS)
    return folder


@pytest.fixture
def exported(saved, tmp_path, run):
    folder = tmp_path / "exported"
    assert run("export", saved, folder, "--to", "ctranslate2")[0] == 0
    return folder


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "text.en"
    path.write_text(TEXT, encoding="utf-8")
    return path


# --- the same tokens ---------------------------------------------------------


@with_package
@pytest.mark.parametrize("max_length", [None, 2, 30])
def test_greedy_search_writes_the_same_tokens(pair, src, max_length):
    model, engine = pair
    ours = generate.greedy_search(model, src, max_length=max_length)
    assert greedy_search(engine, src, max_length=max_length) == ours
    assert len({tuple(ids) for ids in ours}) > 2


@with_package
def test_without_a_length_penalty_the_beam_finds_the_same(pair, src):
    model, engine = pair
    known = src[: len(SPLITS.test)]  # what is strange may be said without end
    ours = generate.beam_search(model, known, beam_size=4, alpha=0.0)
    theirs = beam_search(engine, known, beam_size=4, alpha=0.0)
    for mine, other in zip(ours, theirs, strict=True):
        assert other[0].ids == mine[0].ids
        assert other[0].log_prob == pytest.approx(mine[0].log_prob, abs=1e-4)


@with_package
def test_scores_are_log_probabilities_over_our_length_penalty(pair, src):
    model, engine = pair
    for row, beam in zip(src, beam_search(engine, src), strict=True):
        assert len(beam) == 5
        assert beam == sorted(beam, key=lambda h: -h.score)
        best = beam[0]
        limit = engine.limit(int((row != PAD).sum()))
        ids = [*best.ids, EOS][:limit]  # what is cut off has no eos
        target = torch.tensor([[BOS, *ids]])
        with torch.no_grad():
            logits = model(row[row != PAD][None], target[:, :-1])
        each = logits.log_softmax(-1)[0].gather(1, target[0, 1:, None])
        assert best.log_prob == pytest.approx(each.sum().item(), abs=1e-4)
        penalty = length_penalty(len(ids), 0.6)
        assert best.score == pytest.approx(best.log_prob / penalty)


@with_package
def test_tokens_are_told_as_they_are_decided(pair, src):
    _, engine = pair
    told = []
    [ids] = greedy_search(engine, src[:1], on_token=told.append)
    assert [int(token) for token in told if token != EOS] == ids


# --- the commands ------------------------------------------------------------


@with_package
@pytest.mark.parametrize("how", [["--beam-size", "1"], ["--alpha", "0"]])
def test_translations_of_a_text_are_the_same(run, saved, exported, file, how):
    theirs = run("translate", exported, file, "--engine", "ctranslate2", *how)
    assert theirs[:2] == run("translate", saved, file, *how)[:2]
    assert len(theirs[1].splitlines()) == 4


@with_package
def test_streamed_text_is_the_same(run, exported, file):
    words = ["translate", exported, file, "--engine", "ctranslate2"]
    greedy = run(*words, "--beam-size", "1")
    assert run(*words, "--beam-size", "1", "--stream") == greedy


@with_package
def test_the_best_are_written_with_their_scores(run, exported, file):
    words = ["translate", exported, file, "--engine", "ctranslate2"]
    _, out, _ = run(*words, "--n-best", "2")
    rows = [line.split("\t") for line in out.splitlines()]
    ranks = [row[:2] for row in rows]
    assert ranks[:3] == [["1", "1"], ["1", "2"], ["2", "1"]]
    _, best, _ = run(*words)
    assert [r[4] for r in rows if r[1] == "1"] == best.split("\n")[:-1]


@with_package
def test_eight_bits_take_less_and_translate(run, saved, exported, tmp_path):
    small = tmp_path / "small"
    how = ["--to", "ctranslate2", "--quantization", "int8"]
    assert run("export", saved, small, *how)[0] == 0
    sizes = [(f / "model.bin").stat().st_size for f in (small, exported)]
    assert sizes[0] < sizes[1] / 2
    used = load_model(small)
    assert all(used.translate(["red cat", "old dog ."], beam_size=5))


# --- what cannot be done -----------------------------------------------------


@with_package
@pytest.mark.parametrize("make", [tiny_gru, tiny_language_model])
def test_other_models_are_not_converted(make, tokenizer, tmp_path):
    model = make(vocab_size=tokenizer.vocab_size)
    with pytest.raises(ConfigError, match="encoder–decoder.*--to int8"):
        ctranslate2_export.save(tmp_path / "none", model, tokenizer, DETAILS)
    assert list(tmp_path.iterdir()) == []


@with_package
def test_a_model_without_its_tokenizer_is_not_converted(tokenizer, tmp_path):
    model = Transformer(tiny_config())
    for other in (None, tokenizer):
        with pytest.raises(ConfigError, match="17 pieces, and its tokenizer"):
            ctranslate2_export.save(tmp_path / "none", model, other, DETAILS)


@with_package
def test_each_kind_of_folder_says_who_reads_it(run, saved, exported, file):
    result = run("translate", saved, file, "--engine", "ctranslate2")
    assert_error(result, "holds no model for CTranslate2", "export")
    assert_error(run("translate", exported, file), "--engine ctranslate2")
    assert_error(run("score", exported), "--engine ctranslate2")


@with_package
@pytest.mark.parametrize(
    "options", [["--bf16"], ["--device", "cuda"], ["--with", "other"]]
)
def test_what_the_engine_has_not_is_refused(run, exported, file, options):
    words = ["translate", exported, file, "--engine", "ctranslate2"]
    assert_error(run(*words, *options), "on the CPU", "leave out")


@pytest.fixture
def untrained(tokenizer, tmp_path):
    """A checkpoint that has learned nothing."""
    model = Transformer(tiny_config(vocab_size=tokenizer.vocab_size))
    checkpoint.save(tmp_path / "new", model, tokenizer, DETAILS)
    return tmp_path / "new"


def test_a_quantization_needs_ctranslate2(run, untrained, tmp_path):
    result = run("export", untrained, tmp_path / "x", "--quantization", "int8")
    assert_error(result, "--quantization int8", "--to ctranslate2")


@with_package
@pytest.mark.parametrize("name", ["model.bin", "tokenizer.model"])
def test_a_missing_or_short_file_is_an_error(exported, name):
    path = exported / name
    content = path.read_bytes()
    path.write_bytes(content[: len(content) // 2])
    with pytest.raises(CheckpointError, match="export it again"):
        load_model(exported)
    path.unlink()
    with pytest.raises(CheckpointError, match="export it again"):
        load_model(exported)


@with_package
def test_another_version_is_refused(exported):
    path = exported / "course.json"
    header = json.loads(path.read_text("utf-8")) | {"model": {"x": 1}}
    path.write_text(json.dumps(header), encoding="utf-8")
    with pytest.raises(CheckpointError, match="no setting x.*export it again"):
        load_model(exported)


def test_without_the_package_one_line_says_what_to_install(
    run, untrained, tmp_path, monkeypatch
):
    monkeypatch.setattr(ctranslate2_export, "find_spec", lambda name: None)
    result = run("export", untrained, tmp_path / "x", "--to", "ctranslate2")
    assert_error(result, "pip install ctranslate2")
    assert not (tmp_path / "x").exists()
