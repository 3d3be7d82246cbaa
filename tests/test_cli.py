"""Laws of the command line: one clear line, the right status, no loss."""

import hashlib
import io
import json
import os
import shutil
import subprocess
import sys
from importlib.metadata import entry_points, version

import pytest
import torch
from command_line import assert_error
from PIL import Image
from safetensors.torch import load, save
from tiny import (
    SIZES,
    decided,
    tiny_gru,
    tiny_language_model,
    tiny_splits,
    tiny_transformer,
)

from transformer_course.checkpoints import checkpoint
from transformer_course.cli import main, texts
from transformer_course.cli.lines import chunks
from transformer_course.data import download, plain
from transformer_course.data.corpora import CORPORA, Corpus
from transformer_course.data.download import CorpusFile, ManifestEntry
from transformer_course.data.tokenizer import Tokenizer
from transformer_course.decoding import translate as decoding
from transformer_course.decoding.translate import translate
from transformer_course.inference import model as inference
from transformer_course.inference.model import TrainedModel
from transformer_course.models.bert_config import (
    BertConfig,
    TextClassifierConfig,
)
from transformer_course.models.ensemble import Ensemble
from transformer_course.models.vit_config import VisionConfig
from transformer_course.training.report import text_nll
from transformer_course.training.tasks.table import find_task

DETAILS = {"corpus": "grammar", "src": "en", "tgt": "ja"}
ENGLISH = {"src": "en", "tgt": "en"}
TEXT = "red cat\n\nold dog .\nfish\n"
NOT_UTF8 = "red cat\nold 犬 dog\n".encode("cp932")


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    text = tiny_splits().train
    return Tokenizer.train([*text.src, *text.tgt], 100, "word")


@pytest.fixture(scope="module")
def models(tmp_path_factory, tokenizer):
    """Untrained models of all that commands read, each in a folder."""
    folder = tmp_path_factory.mktemp("models")
    masked = Tokenizer.train(tiny_splits().train.src, 100, "word", masked=True)
    vocab = {"vocab_size": tokenizer.vocab_size}
    sizes = SIZES | vocab | {"n_layers": 1, "max_length": 12}
    ending = {"position": "learned", "max_length": 12, "tied": False}
    hidden = BertConfig(**sizes | {"vocab_size": masked.vocab_size})
    vit = VisionConfig(d_model=16, n_heads=2, d_ff=32, n_layers=1)

    def keep(name, model, details, its=tokenizer):
        checkpoint.save(folder / name, model, its, details)

    keep("translator", decided(tiny_transformer(**vocab, **ending)), DETAILS)
    keep("gru", decided(tiny_gru(**vocab)), DETAILS)
    keep("language-model", tiny_language_model(**vocab), DETAILS)
    classifier = checkpoint.build(TextClassifierConfig(**sizes))
    keep("classifier", classifier, ENGLISH | {"corpus": "sentence_polarity"})
    texts = ENGLISH | {"corpus": "authors", "task": "pre_training"}
    keep("bert", checkpoint.build(hidden), texts, masked)
    keep("images", checkpoint.build(vit), {"corpus": "digits"}, None)
    return folder


@pytest.fixture(scope="module")
def model(models):
    """The translator's folder."""
    return models / "translator"


@pytest.fixture
def here(models, tmp_path, monkeypatch):
    """A folder to be in, with copies of the models, a text and an image."""
    shutil.copytree(models, tmp_path, dirs_exist_ok=True)
    (tmp_path / "text").write_text("red cat .\nold dog .\n")
    side = VisionConfig().image_size
    Image.new("L", (side, side), 99).save(tmp_path / "image.png")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "text.en"
    path.write_text(TEXT, encoding="utf-8")
    return path


@pytest.fixture(autouse=True)
def unreported(request, monkeypatch):
    """Untrained models do not end: one test alone is about that."""
    if "max_length" not in request.node.name:
        for module in (decoding, inference):
            monkeypatch.setattr(module, "report_cut", lambda *_: None)


# --- translate --------------------------------------------------------------


@pytest.mark.parametrize("way", [["--beam-size", 1], ["--n-best", 1], []])
def test_translations_end_at_max_length_with_a_warning(run, model, file, way):
    _, whole, err = run("translate", model, file, *way)
    status, some, err = run("translate", model, file, *way, "--max-length", 1)
    assert status == 0 and len(some) < len(whole)
    assert "the translation of line 1 was cut off" in err
    assert "line 2" not in err  # empty
    status, _, err = run("translate", model, file, "--max-length", 0)
    assert status == 1 and "max_length is 0" in err


def test_scored_translations_end_at_max_length(run, model, scored):
    _, out, _ = run("score", model, "--max-length", 1)
    assert "8 of 8 translations were cut off" in out


@pytest.mark.parametrize(
    "content",
    [
        TEXT,
        TEXT.rstrip("\n"),  # a last line without its end counts
        "\ufeff" + TEXT.replace("\n", "\r\n"),  # as Windows writes it
    ],
    ids=["plain", "no last end", "windows"],
)
def test_a_file_and_standard_input_give_the_same(
    run, stdin, model, file, tmp_path, content
):
    expected = run("translate", model, file)
    lines = expected[1].split("\n")
    assert [bool(line) for line in lines] == [True, False, True, True, False]
    file.write_bytes(content.encode())
    assert run("translate", model, file) == expected
    stdin(content.encode())
    assert run("translate", model) == expected
    output = tmp_path / "text.ja"
    assert run("translate", model, file, "--output", output) == (0, "", "")
    assert output.read_text("utf-8") == expected[1]


@pytest.mark.parametrize("src", ["en", "fr"])
def test_words_of_languages_without_rules_are_read_as_they_stand(
    run, here, file, src
):
    files = {"corpus": "files", "files": ["a", "b"], "spaced": True}
    path = here / "translator" / "config.json"
    header = json.loads(path.read_text("utf-8"))
    header["details"] |= files | {"src": src, "tgt": "deu"}
    path.write_text(json.dumps(header), "utf-8")
    file.write_text("red cat .\n")
    status, out, err = run("translate", "translator", file)
    assert (status, out.count("\n")) == (0, 1)
    assert ("no rules that cut" in err) == (src != "en")
    assert run("translate", "translator", file, "--as-is")[::2] == (0, "")


def test_a_long_line_and_words_never_seen_are_warnings(run, model, file):
    long = "old dog " * 30
    file.write_text(f"cat\n鬱 wombat cat\n\u200b\n{long}\n", "utf-8")
    status, out, err = run("translate", model, file)
    assert (status, out.count("\n")) == (0, 4)
    second, third, fourth = sorted(err.splitlines())
    assert "warning: line 2 " in second
    assert "'鬱', 'wombat'" in second and "cat" not in second
    assert "warning: line 3 " in third and "'\\u200b'" in third
    assert "warning: line 4 is longer than 12 tokens" in fourth
    for prompt, told in ((long, "longer than 12"), ("wombat", "'wombat'")):
        status, _, err = run("generate", model, prompt, "--count", 1)
        assert status == 0 and told in err


def test_text_that_is_not_utf8_names_the_byte(
    run, stdin, model, file, tmp_path
):
    file.write_bytes(NOT_UTF8)
    output = tmp_path / "text.ja"
    output.write_text("old translations\n")
    result = run("translate", model, file, "--output", output)
    assert_error(result, "not UTF-8", "line 2, byte 5", "iconv")
    assert output.read_text() == "old translations\n"
    stdin(NOT_UTF8)
    result = run("translate", model)
    assert_error(result, "standard input", "not UTF-8", "line 2, byte 5")


def test_a_sentence_in_place_of_a_file_says_where_it_goes(run, model):
    result = run("translate", model, "i like dogs .")
    assert_error(result, "'i like dogs .' cannot be read", "echo '...' |")


def test_lines_come_from_an_open_pipe_as_many_as_are_there(monkeypatch):
    """Nobody who waits for an answer has to send more first."""
    reader, writer = os.pipe()
    with open(reader, encoding="utf-8") as pipe:
        monkeypatch.setattr(sys, "stdin", pipe)
        given = chunks(None, 3, "translate")
        os.write(writer, b"one\ntwo\nhal")
        assert next(given) == (1, ["one", "two"])
        os.write(writer, b"f\n" + b"more\n" * 4)
        assert next(given) == (3, ["half", "more", "more"])
        assert next(given) == (6, ["more", "more"])
        os.write(writer, b"last")
        os.close(writer)
        assert list(given) == [(8, ["last"])]


class Terminal(io.TextIOWrapper):
    """Standard input that someone types into."""

    def isatty(self) -> bool:
        return True


class Screen(io.StringIO):
    """Standard output; knows how often there was something new to see."""

    def __init__(self, terminal: bool):
        super().__init__()
        self.terminal, self.seen = terminal, {""}

    def isatty(self) -> bool:
        return self.terminal

    def flush(self) -> None:
        self.seen.add(self.getvalue())

    def steps(self) -> int:
        return len(self.seen) - 1


@pytest.mark.parametrize("more", [[], ["--beam-size", 1]])
def test_someone_who_types_is_told_how_to_end_and_sees_words_come(
    run, model, file, monkeypatch, more
):
    _, whole, _ = run("translate", model, file, *more)
    out = Screen(terminal=True)
    monkeypatch.setattr(sys, "stdin", Terminal(io.BytesIO(TEXT.encode())))
    monkeypatch.setattr(sys, "stdout", out)
    status, _, err = run("translate", model, *more)
    assert (status, out.getvalue()) == (0, whole)
    assert "Ctrl-D" in err
    assert (out.steps() > 4) is bool(more)  # a beam gives whole lines


@pytest.mark.parametrize(
    "more", [[], ["--beam-size", 1, "--output", "text.ja"]]
)
def test_a_beam_cannot_be_streamed(run, model, file, more):
    result = run("translate", model, file, "--stream", *more)
    assert_error(result, "--stream", "--beam-size 1")


def rows(out) -> list[list[str]]:
    return [line.split("\t") for line in out.split("\n")[:-1]]


def test_the_n_best_are_written_with_rank_and_scores(run, model, file):
    _, best, _ = run("translate", model, file)
    status, out, err = run("translate", model, file, "--n-best", 3)
    assert (status, err) == (0, "")
    numbers, ranks, scores, log_probs, texts = zip(*rows(out), strict=True)
    assert numbers == tuple("1112333444")  # line 2 is empty
    assert ranks == tuple("1231123123")
    assert [texts[i] for i in (0, 3, 4, 7)] == best.splitlines()
    assert len(set(texts)) > 4 and float(scores[0]) > float(scores[1])
    for score, log_prob in zip(scores, log_probs, strict=True):
        assert float(log_prob) <= float(score) <= 0
    file.write_text("red cat\n" * 70)  # more lines than are read at a time
    _, out, _ = run("translate", model, file, "--n-best", 1)
    assert [row[0] for row in rows(out)] == [str(i) for i in range(1, 71)]


def test_several_models_translate_together(run, models, tokenizer, file):
    """What comes is the ensemble's, whichever model is named first."""
    one, other = models / "translator", models / "gru"
    as_is = ("--as-is", "--with")
    status, out, _ = run("translate", one, file, *as_is, other)
    assert status == 0
    ensemble = Ensemble([checkpoint.load(m).model for m in (one, other)])
    sources = file.read_text("utf-8").splitlines()
    expected = translate(ensemble, tokenizer, sources, beam_size=5)
    assert out.splitlines() == expected
    alone = run("translate", one, file, "--as-is")[1]
    assert out != alone
    assert run("translate", other, file, *as_is, one)[1] == out
    assert run("translate", one, file, *as_is, one)[1] == alone


@pytest.mark.parametrize(
    ("make", "text", "tgt", "words"),
    [
        (tiny_transformer, "a b", "ja", ("other pieces", "one tokenizer")),
        (tiny_transformer, "", "en", ("tgt 'en'", "'ja'")),
        (tiny_language_model, "", "ja", ("language_modelling", "the same")),
    ],
)
def test_models_that_cannot_work_together_are_named(
    run, model, tokenizer, tmp_path, make, text, tgt, words
):
    if text:
        tokenizer = Tokenizer.train([text] * 9, 12, "char")
    other, made = tmp_path / "other", make(vocab_size=tokenizer.vocab_size)
    checkpoint.save(other, made, tokenizer, DETAILS | {"tgt": tgt})
    result = run("score", model, "--with", other)
    assert_error(result, *words, str(other))


def test_ctrl_c_at_the_keyboard_is_no_traceback(run, model, monkeypatch):
    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(texts, "chunks", interrupted)
    assert run("translate", model) == (130, "", "stopped\n")


def test_an_output_that_cannot_be_written_is_named_before_the_work(
    run, model, file, tmp_path, monkeypatch
):
    monkeypatch.setattr(TrainedModel, "translate", None)  # not called
    output = tmp_path / "none" / "text.ja"
    result = run("translate", model, file, "--output", output)
    assert_error(result, "cannot be written")


@pytest.mark.parametrize("which", ["translator/model.safetensors", "text"])
def test_what_is_read_is_not_written_over(run, here, which):
    """Neither a file of the model nor the text itself."""
    before = (here / which).read_bytes()
    result = run("translate", "translator", "text", "--output", which)
    assert_error(result, "would be overwritten", which)
    assert (here / which).read_bytes() == before


# --- which checkpoint -------------------------------------------------------


def test_what_was_taken_of_a_run_is_said(run, model, file, tmp_path):
    folder = tmp_path / "run" / "checkpoints" / "best"
    shutil.copytree(model, folder)
    alone = run("translate", model, file)
    status, out, err = run("translate", tmp_path / "run", file)
    assert (status, out) == alone[:2]
    assert err == f"using {folder}\n"
    result = run("translate", tmp_path / "rum", file)
    assert_error(result, "no checkpoint", f"{tmp_path / 'run'}")


@pytest.mark.parametrize(
    ("name", "command"),
    [
        ("translator", "translate translator text"),
        ("translator", "generate translator red"),
        ("classifier", "classify classifier text"),
        ("bert", "fill bert [MASK]"),
        ("images", "classify images image.png"),
    ],
)
def test_predictions_that_are_no_numbers_are_refused(run, here, name, command):
    """Weights that are numbers, though what is computed with them is none."""
    folder = here / name
    tensors = load((folder / "model.safetensors").read_bytes())
    huge = {n: t.sign() * 3e38 for n, t in tensors.items()}
    content = save(huge)
    (folder / "model.safetensors").write_bytes(content)
    assert_error(run(*command.split()), "not numbers", "earlier checkpoint")


@pytest.mark.parametrize(
    ("name", "verb"),
    [
        ("language-model", "generate"),
        ("classifier", "classify"),
        ("bert", "fill"),
        ("images", ""),
    ],
)
def test_what_does_not_translate_says_what_it_is_for(run, here, name, verb):
    """And the advice can be typed as it stands, spaces and all."""
    folder = (here / name).rename(here / f"my {name}")
    result = run("translate", folder, "text")
    assert_error(result, f"{verb} '{folder}'" if verb else "")


@pytest.mark.parametrize("encoding", ["ascii", "cp1252", "cp932"])
def test_both_outputs_are_utf8_in_any_locale(
    run, model, file, encoding, monkeypatch
):
    out = run("translate", model, file)[1]
    stdout, stderr = (
        io.TextIOWrapper(io.BytesIO(), encoding=encoding) for _ in range(2)
    )
    monkeypatch.setattr(sys, "stdout", stdout)
    monkeypatch.setattr(sys, "stderr", stderr)
    main(["translate", str(model), str(file)])
    assert stdout.buffer.getvalue().decode() == out and not out.isascii()
    with pytest.raises(SystemExit):
        main(["translate", str(model), "犬\udcff"])
    stderr.flush()
    assert "犬\\udcff" in stderr.buffer.getvalue().decode()


# --- fill -------------------------------------------------------------------


def test_a_line_that_cannot_be_filled_does_not_end_the_others(
    run, stdin, models
):
    lines = "red [MASK]", "red cat", "", "[MASK] " + "red " * 900, "a [MASK]"
    stdin("\n".join(lines).encode())
    status, out, err = run("fill", models / "bert", "--top", 2)
    assert status == 0
    rows = [line.split("\t") for line in out.splitlines()]
    assert [row[:2] for row in rows] == [["1", "1"]] * 2 + [["5", "1"]] * 2
    said = err.splitlines()
    assert [text.removeprefix("warning: ")[:7] for text in said] == [
        "line 2 ",
        "line 3 ",
        "line 4 ",
    ]
    assert "no [MASK]" in said[0] and "shorten it" in said[2]
    assert_error(run("fill", models / "bert", "red cat"), "no [MASK]")
    stdin(b"[MASK]\n[MASK]\n")
    assert_error(run("fill", models / "bert", "--top", 10**6), "top is 10")


def test_the_same_seed_draws_the_same_and_more_begin_with_the_same(
    run, models, stdin
):
    command = ("generate", models / "language-model")
    stdin(b"")
    one, same, other = (run(*command, "--seed", seed) for seed in (1, 1, 2))
    assert one == same != other
    two, four = (run(*command, "--count", count)[1] for count in (2, 4))
    assert (two.count("\n"), four.count("\n")) == (2, 4)
    assert four.startswith(two)


# --- generate ---------------------------------------------------------------


def test_texts_go_on_from_the_prompt_however_they_are_shown(
    run, models, monkeypatch
):
    command = ["generate", models / "language-model", "赤い 猫", "--as-is"]
    _, whole, _ = run(*command)
    assert all(line.startswith("赤い 猫") for line in whole.splitlines())
    for terminal, more in ((True, []), (False, ["--stream"])):
        out = Screen(terminal)
        monkeypatch.setattr(sys, "stdout", out)
        assert run(*command, *more)[0] == 0
        assert out.getvalue() == whole
        assert out.steps() > 4


def test_a_prompt_may_come_from_a_pipe(run, models, stdin):
    command = ["generate", models / "language-model"]
    given = run(*command, "赤い 猫")
    stdin("赤い 猫\n".encode())
    assert run(*command) == given
    stdin(b"red\xff")
    assert_error(run(*command), "standard input is not UTF-8: line 1, byte 4")


def test_a_translator_draws_translations_of_the_prompt(run, model):
    status, out, _ = run("generate", model, "Red cat.", "--top-k", 1)
    first, *others = out.splitlines()
    assert (status, others) == (0, [first] * 2)
    _, greedy, _ = run("generate", model, "red cat .", "--top-p", 1e-6)
    assert greedy == out
    assert_error(run("generate", model, " "), "no sentence was given")


CONTROLS = "red\ncat\x1b[31m\x85"
SHOWN = "red\\ncat\\x1b[31m\\x85"


@pytest.mark.parametrize("terminal", [True, False])
def test_no_text_of_a_model_commands_the_terminal(
    run, here, monkeypatch, terminal
):
    """Nor does it break a line in two."""
    monkeypatch.setattr(Tokenizer, "decode", lambda *_: CONTROLS)
    monkeypatch.setattr(plain, "to_plain", lambda text, _: text)
    greedy = ["--beam-size", 1]
    for command, *more in (
        ["generate", "translator", "red", "--count", 1],
        ["translate", "translator", "text", *greedy],
        ["translate", "translator", "text", "--n-best", 1],
        ["fill", "bert", "[MASK]", "--top", 1],
    ):
        out = Screen(terminal)
        monkeypatch.setattr(sys, "stdout", out)
        assert run(command, *more)[0] == 0
        lines = out.getvalue().split("\n")[:-1]
        assert lines and all(SHOWN in line for line in lines)


@pytest.mark.parametrize(
    "command",
    [
        ["generate", "translator", "hi \udcff"],
        ["fill", "bert", "[MASK] \udcff"],
        ["similar", "bert", "text", "--query", "\udcff"],
        ["train", "grammar", "--name", "\udcff"],
        ["train", "grammar", "--data.files", "text", "\udcff"],
    ],
)
def test_an_argument_that_is_not_utf8_is_one_line(run, here, command):
    assert_error(run(*command), "\\udcff'", "in UTF-8")


# --- numbers ----------------------------------------------------------------


@pytest.mark.parametrize(
    ("command", "option", "values"),
    [
        ("translate", "--alpha", ["1000", "nan"]),
        ("translate", "--beam-size", ["0", 10**30]),
        ("translate", "--n-best", ["-1", "6"]),
        ("translate", "--device", ["abacus", "cpu:7", "cuda:x"]),
        ("generate", "--temperature", ["0", "nan", "1e-40"]),
        ("generate", "--top-p", ["1.1"]),
        ("generate", "--seed", ["-1"]),
        ("generate", "--count", ["0"]),
        ("generate", "--max-length", ["0", 10**30]),
    ],
)
def test_numbers_that_cannot_be_used(run, here, command, option, values):
    text = "text" if command == "translate" else "red cat ."
    for value in values:
        done = run(command, "translator", text, f"{option}={value}")
        assert_error(done, option.strip("-").replace("-", "_"))


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
@pytest.mark.parametrize(
    "command", [["translate", "--device"], ["train", "--train.device"]]
)
def test_a_gpu_that_is_not_there_is_one_line(run, here, command):
    verb, option = command
    files = ["translator", "text"] if verb == "translate" else ["grammar"]
    result = run(verb, *files, option, "cuda")
    assert_error(result, "'cuda' was asked for", "only: cpu")


# --- score ------------------------------------------------------------------


@pytest.fixture
def scored(monkeypatch):
    """What models are scored on: one source has been seen in training."""
    splits = tiny_splits()
    splits.test.src[0] = splits.train.src[0]
    for name in ("grammar", "soseki", "haiku"):
        made = Corpus(name, ("en", "ja"), True, pairs=lambda: splits)
        monkeypatch.setitem(CORPORA, name, made)
    return splits


def test_a_model_is_scored_on_all_and_on_unseen(run, model, scored, tmp_path):
    output = tmp_path / "written"
    status, out, _ = run("score", model, "--output", output)
    assert status == 0
    title, *_ = out.splitlines()
    for word in (str(model), "grammar", "test", "beam 5", "alpha 0.6"):
        assert word in title
    together, _, _ = run("score", model, "--with", model)[1].partition(" on ")
    assert together == f"{model}, {model}"
    assert "all 8 sentences" in out
    assert "the 7 whose source is not in the training part" in out
    assert out.count("BLEU") >= 2 and "tok:none" in out and "chrF" in out
    assert len(output.read_text("utf-8").splitlines()) == 8
    scored.train.src[:8] = scored.test.src  # and now all have been seen
    status, out, _ = run("score", model)
    assert (status, out.count("sentences")) == (0, 1)


@pytest.mark.parametrize(
    ("make", "corpus", "task"),
    [
        (tiny_transformer, "soseki", "next_sentence"),
        (tiny_language_model, "haiku", "language_modelling"),
    ],
)
def test_what_goes_on_with_a_text_is_scored_by_its_nll(
    run, scored, tokenizer, tmp_path, make, corpus, task
):
    made = make(vocab_size=tokenizer.vocab_size)
    details = {"corpus": corpus, "src": "en", "tgt": "ja", "task": task}
    checkpoint.save(tmp_path / "model", made, tokenizer, details)
    status, out, _ = run("score", tmp_path / "model")
    assert status == 0 and "BLEU" not in out
    found = text_nll(find_task(task), made, tokenizer, scored.test)
    assert f"{found.tokens} tokens" in out
    assert f"nll {found.nll:.4f}" in out
    assert f"nll {found.nll_per_character:.4f}" in out


@pytest.fixture
def two_files(tmp_path):
    written, right = tmp_path / "written", tmp_path / "right"
    written.write_text("the cat sat on the mat\n", encoding="utf-8")
    right.write_text("the cat sat on the mat\n", encoding="utf-8")
    return written, right


@pytest.mark.parametrize("joined", [0, 1])
def test_one_file_without_spaces_is_a_warning(run, two_files, joined):
    for path in two_files:
        path.write_text("猫 が 魚 を 食べ た 。\n", encoding="utf-8")
    text = two_files[joined].read_text("utf-8").replace(" ", "")
    two_files[joined].write_text(text, encoding="utf-8")
    status, out, err = run("score-files", *two_files)
    assert status == 0 and "BLEU 0.00" in out
    assert err.count("\n") == 1
    assert ("hypotheses", "references")[joined] in err
    assert "--as-is" in err and "--tokenize char" in err
    status, out, err = run("score-files", *two_files, "--tokenize", "char")
    assert (status, err) == (0, "")
    assert "BLEU 100.00" in out and "chrF 100.00" in out


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"one\ntwo\nthree\n", ("has 3 lines", "has 1", "translate line i")),
        (b"", ("empty",)),
        (NOT_UTF8, ("not UTF-8", "written")),
    ],
    ids=["longer", "empty", "not UTF-8"],
)
def test_files_that_cannot_be_scored(run, two_files, content, words):
    two_files[0].write_bytes(content)
    if not content:
        two_files[1].write_bytes(content)
    assert_error(run("score-files", *two_files), *words)


# --- data -------------------------------------------------------------------


def test_corpora_are_listed_fetched_and_verified(run, tmp_path, monkeypatch):
    for name in ("MIRROR", "CACHE"):
        folder = str(tmp_path / name)
        monkeypatch.setenv(f"TRANSFORMER_COURSE_{name}", folder)
    files = tuple(
        CorpusFile(name, "", hashlib.sha256(name.encode()).hexdigest(), 1)
        for name in "ab"
    )
    entry = ManifestEntry("letters", "free", "Some of all", files)
    monkeypatch.setattr(download, "entries", lambda: {"letters": entry})
    monkeypatch.setitem(CORPORA, "letters", Corpus("letters", ("en",)))
    mirror = tmp_path / "MIRROR"
    mirror.mkdir()
    (mirror / "a").write_text("a")
    status, out, _ = run("data", "list")
    assert status == 0 and "grammar: " in out
    assert "2 files, 0.0 MB, 1 here" in out.partition("letters")[2]
    status, out, err = run("data", "verify")
    assert (status, err) == (0, "") and "1 ok, 1 missing, 0 damaged" in out
    (mirror / "b").write_text("x")
    status, out, err = run("data", "verify")
    assert status == 1 and "1 ok, 0 missing, 1 damaged" in out
    assert err.count("\n") == 1 and str(mirror / "b") in err
    (mirror / "b").write_text("b")
    status, out, _ = run("data", "fetch", "letters")
    assert (status, out.count("\n")) == (0, 1)
    assert "letters: 2 files, 0.0 MB, 2 here, in " in out
    assert str(mirror) in out


# --- wrong usage ------------------------------------------------------------


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["trian"],
        ["train", "grammar", "--train.epochs", "many"],
        ["score", "x", "--split", "train"],
    ],
    ids=" ".join,
)
def test_wrong_usage_leaves_with_status_2(run, arguments):
    status, out, err = run(*arguments)
    assert (status, out) == (2, "")
    assert "--help" in err


def test_the_installed_command_is_this_one(run):
    (entry,) = entry_points(group="console_scripts", name="transformer-course")
    assert entry.load() is main
    expected = f"transformer-course {version('transformer-course')}\n"
    assert run("--version") == (0, expected, "")


LOADED = """
import contextlib, io, runpy, sys
for words in ["--help", "train --help", "translate --help", "data list"]:
    sys.argv = ["transformer-course", *words.split()]
    out = io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.suppress(SystemExit):
        runpy.run_module("transformer_course.cli", run_name="__main__")
    assert out.getvalue(), words
    heavy = {"torch", "numpy", "sentencepiece", "pooch", "janome"}
    assert not heavy & set(sys.modules), words
sys.stdin = io.TextIOWrapper(io.BytesIO(b"cats drink milk ."))
sys.argv = ["transformer-course", "translate", "grammar"]
runpy.run_module("transformer_course.cli", run_name="__main__")
print(*(name for name in sys.modules if name.startswith("transformer_course")))
extras = "IPython PIL filelock matplotlib pooch sacrebleu scipy sklearn"
assert not {*extras.split()} & set(sys.modules)
"""
MOST_MODULES = 60
"""Of the package, that are read to translate a sentence."""


def test_a_command_loads_what_it_needs(tmp_path):
    """Help comes at once: without PyTorch. And the module is the command."""
    done = [sys.executable, "-c", LOADED]
    text = subprocess.check_output(done, cwd=tmp_path, text=True)
    translation, loaded = text.splitlines()
    assert "猫" in translation
    assert len(loaded.split()) <= MOST_MODULES


def test_a_reader_that_goes_away_early_is_no_traceback(file, tmp_path):
    """As in ``... | head -1``."""
    code = "from transformer_course.cli import main; main(['data', 'list'])"
    process = subprocess.Popen(
        [sys.executable, "-c", code],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    process.stdout.close()
    assert "Traceback" not in process.stderr.read()
    process.wait()
    process.stderr.close()
