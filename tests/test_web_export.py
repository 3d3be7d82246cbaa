"""A translator as scripts for the book's pages."""

import base64
import json
import random

import numpy as np
import pytest
import torch
from built_book import BOOK, in_node
from tiny import tiny_transformer

from transformer_course.checkpoints import int8, web_export
from transformer_course.checkpoints.shipped import load_shipped
from transformer_course.data.plain import from_plain, to_plain
from transformer_course.data.tokenizer import UNK
from transformer_course.errors import ConfigError

KINDS = {"int8": "i1", "float32": "f4"}


def weights_in(folder):
    """The weights that the page makes of the scripts."""
    text = (folder / "model.js").read_text("utf-8")
    manifest = json.loads(text.partition(",")[2].removesuffix(");\n"))
    content = b"".join(
        base64.b64decode(path.read_text("utf-8").split('"')[-2])
        for path in sorted(folder.glob("weights-*.js"))
    )
    at, found = 0, {}
    for name, rows, cols, kind in manifest["tensors"]:
        size, scales = rows * cols, 1
        values = np.frombuffer(content, f"<{KINDS[kind]}", size, at)
        at += values.nbytes
        if kind == "int8":
            scales = np.frombuffer(content, "<f4", rows, at)[:, None]
            at += scales.nbytes
        found[name] = torch.tensor(values.reshape(rows, cols) * scales)
    assert at == len(content)
    return found


def test_the_scripts_hold_the_model_in_eight_bits(tmp_path):
    loaded = load_shipped("grammar")
    web_export.save(tmp_path / "small", *loaded[:3])
    found = weights_in(tmp_path / "small")
    expected = dict(loaded.model.named_parameters())
    assert found.keys() == expected.keys()
    for name, tensor in expected.items():
        if tensor.ndim > 1:
            tensor = int8.dequantized(*int8.quantized(tensor))
        assert torch.equal(found[name].view(tensor.shape), tensor)


def in_page(part: str, *given):
    """What the page's own script says."""
    live = BOOK / "_static/live"
    return in_node(part, [live / "parts.js", live / f"{part}.js"], *given)


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
    encoded, decoded = in_page("tokenizer", UNK, given, lines, rows)
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
    assert in_page("plain", texts, language) == [
        [from_plain(text, language), to_plain(text, language)]
        for text in texts
    ]


@pytest.mark.parametrize(
    ("position", "pieces", "words"),
    [
        ("learned", "word", "position is learned"),
        ("rotary", None, "pieces is None"),
    ],
)
def test_what_the_page_does_not_know_is_refused(
    position, pieces, words, tmp_path
):
    model, folder = tiny_transformer(position=position), tmp_path / "model"
    with pytest.raises(ConfigError, match=words):
        web_export.save(folder, model, None, {"pieces": pieces})
    assert not folder.exists()


def test_a_language_model_is_refused_by_the_command(run, tmp_path):
    folder = tmp_path / "web"
    status, _, err = run("export", "grammar-lm", folder, "--to", "web")
    assert status == 1 and "--to int8 takes any model" in err
    assert not folder.exists()
