"""A translator as scripts for the book's pages."""

import base64
import json
import random
import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
import torch
from tiny import tiny_transformer

from transformer_course.checkpoints import int8, web_export
from transformer_course.checkpoints.shipped import load_shipped
from transformer_course.data.plain import from_plain, to_plain
from transformer_course.data.tokenizer import UNK
from transformer_course.errors import ConfigError
from transformer_course.models.config import ModelConfig
from transformer_course.models.transformer import Transformer
from transformer_course.training.post_training import add_lora


def read(folder):
    """What model.js hands over, and all bytes of the other scripts."""
    text = (folder / "model.js").read_text("utf-8")
    name, manifest = re.fullmatch(
        r"course\.model\((\"[^\"]+\"),(.*)\);\n", text, re.S
    ).groups()
    content = b""
    for i, path in enumerate(sorted(folder.glob("weights-*.js"))):
        start, end = f'course.chunk({name},{i},"', '");\n'
        script = path.read_text("utf-8")
        assert script.startswith(start) and script.endswith(end)
        content += base64.b64decode(script[len(start) : -len(end)])
    return json.loads(manifest), content


def tensors(manifest, content):
    """The weights that the page makes of them."""
    at, found = 0, {}
    for name, rows, cols, kind in manifest["tensors"]:
        size = rows * cols
        if kind == "float32":
            values = np.frombuffer(content, "<f4", size, at)
            at += 4 * size
        else:
            whole = np.frombuffer(content, np.int8, size, at)
            scales = np.frombuffer(content, "<f4", rows, at + size)
            values = whole.reshape(rows, cols) * scales[:, None]
            at += size + 4 * rows
        found[name] = torch.tensor(values)
    assert at == len(content)
    return found


def test_the_scripts_hold_the_model_in_eight_bits(tmp_path):
    loaded = load_shipped("grammar")
    web_export.save(tmp_path / "small", *loaded[:3])
    manifest, content = read(tmp_path / "small")
    found = tensors(manifest, content)
    expected = dict(loaded.model.named_parameters())
    assert found.keys() == expected.keys()
    for name, tensor in expected.items():
        if tensor.ndim > 1:
            tensor = int8.dequantized(*int8.quantized(tensor))
        assert torch.equal(found[name].view(tensor.shape), tensor)
    pieces = manifest["tokenizer"]["pieces"]
    expected = map(loaded.tokenizer.piece, range(len(pieces)))
    assert [piece for piece, _ in pieces] == list(expected)
    assert len(pieces) == loaded.tokenizer.vocab_size


LIVE = Path(__file__).parents[1] / "book" / "_static" / "live"
ASK = f"""
globalThis.UNK = {UNK};
const fs = require("fs");
const [scripts, given] = JSON.parse(fs.readFileSync(0));
for (const script of scripts) (0, eval)(fs.readFileSync(script, "utf8"));
console.log(JSON.stringify(answer(...given)));
"""
TOKENIZER = """
const answer = (settings, lines, rows) => {
  const tokenizer = new Tokenizer(settings);
  return [lines.map((line) => tokenizer.encode(line)),
    rows.map((ids) => tokenizer.decode(ids))];
};"""
PLAIN = """
const answer = (texts, language) => texts.map((text) =>
  [fromPlain(text, language), toPlain(text, language)]);"""


def in_page(part, code, *given):
    """What ``answer`` of the code gives, beside the page's own script."""
    node = shutil.which("node")
    if node is None:
        pytest.skip("needs node, to run the page's own script")
    scripts = [str(LIVE / f"{name}.js") for name in ("parts", part)]
    done = subprocess.run(
        [node, "-e", code + ASK],
        input=json.dumps([scripts, given]),
        check=True,
        capture_output=True,
        encoding="utf-8",
    )
    return json.loads(done.stdout)


@pytest.mark.parametrize("name", ["grammar", "en-ja"])
def test_the_pages_tokenizer_is_sentencepieces(name):
    loaded, rng = load_shipped(name), random.Random(0)
    tokenizer = loaded.tokenizer
    signs = "ab the cat 猫 犬 は ▁ 🐈 é . , 1 " + tokenizer.piece(300)
    lines = ["".join(rng.choices(signs, k=rng.randint(0, 12)))
             for _ in range(200)]  # fmt: skip
    # unknown words come at all places, and bytes that make no character
    ids = range(UNK + 1, tokenizer.vocab_size)
    spelt = [i for i in ids if tokenizer.piece(i).startswith("<0x")]
    rows = [rng.choices([UNK, *rng.sample(some, 4)], k=rng.randint(1, 5))
            for some in (ids, spelt or ids) for _ in range(200)]  # fmt: skip
    rows += map(tokenizer.encode, [*lines, "\ufeff", "\ufeffa"])
    kind = loaded.details["pieces"]
    given = {"type": kind, "pieces": tokenizer.scored_pieces()}
    encoded, decoded = in_page("tokenizer", TOKENIZER, given, lines, rows)
    assert encoded == [*map(tokenizer.encode, lines)]
    assert decoded == [*map(tokenizer.decode, rows)]


@pytest.mark.parametrize(
    ("language", "signs"),
    [
        (
            "en",
            [*"aIe\u0301 10.,!?'‘’“”\"猫", " i ", "''", "Mr. ", "and ", "'n'"],
        ),
        (
            "ja",
            ["猫 ", "カ\u3099 ", "、 ", "ab ", "é ", "1 ", "ｶﾞ ", "Ａ ", "　"],
        ),
    ],
)
def test_the_page_writes_plain_text_as_python_does(language, signs):
    rng = random.Random(0)
    texts = ["".join(rng.choices(signs, k=rng.randint(0, 25)))
             for _ in range(1000)]  # fmt: skip
    assert in_page("plain", PLAIN, texts, language) == [
        [from_plain(text, language), to_plain(text, language)]
        for text in texts
    ]


@pytest.mark.parametrize(
    ("settings", "pieces", "words"),
    [
        ({"position": "learned"}, "word", "position is learned"),
        ({}, "bpe", "pieces is bpe"),
        ({}, None, "pieces is None"),
    ],
)
def test_what_the_page_does_not_know_is_refused(
    settings, pieces, words, tmp_path
):
    config = ModelConfig(
        vocab_size=9, d_model=8, n_heads=2, d_ff=8, n_layers=1, **settings
    )
    model, folder = Transformer(config), tmp_path / "model"
    with pytest.raises(ConfigError, match=words):
        web_export.save(folder, model, None, {"pieces": pieces})
    assert not folder.exists()


def test_a_model_with_lora_is_refused(tmp_path):
    model = add_lora(tiny_transformer())
    with pytest.raises(ConfigError, match="merge_lora"):
        web_export.save(tmp_path / "model", model, None, {"pieces": "word"})


def test_a_language_model_is_refused_by_the_command(run, tmp_path):
    folder = tmp_path / "web"
    status, _, err = run("export", "grammar-lm", folder, "--to", "web")
    assert status == 1 and "--to int8 takes any model" in err
    assert not folder.exists()
