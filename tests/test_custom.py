"""A model from a user's own file: in training, search, checkpoints, pages."""

import dataclasses

import pytest
import torch
from test_modern import tiny_modern
from tiny import close
from tiny_runs import other, tiny
from torch.testing import assert_close

from course_exercises.path.parts import solution_text
from transformer_course.checkpoints import checkpoint, web_export
from transformer_course.cli.training import with_file
from transformer_course.decoding.generate import beam_search, greedy_search
from transformer_course.errors import ConfigError, CourseError
from transformer_course.models.config import CustomConfig
from transformer_course.models.custom import (
    CustomDecoder,
    CustomTransformer,
    as_transformer,
)
from transformer_course.training.presets import PRESETS
from transformer_course.training.run.training import run

SIZES = {"d_model": 8, "n_heads": 2, "d_ff": 16, "n_layers": 2}
SRC = torch.tensor([[5, 6, 7, 2], [8, 2, 0, 0]])
TGT = torch.tensor([[1, 4, 9], [1, 5, 0]])


def model_of(code: str = "") -> CustomTransformer:
    torch.manual_seed(0)
    config = CustomConfig(12, **SIZES, code=code or solution_text())
    return CustomTransformer(config).eval()


def edited(*edits: tuple[str, str]) -> str:
    code = solution_text()
    for old, new in edits:
        assert old in code, old
        code = code.replace(old, new)
    return code


def test_it_searches_with_and_without_a_cache_alike():
    model = model_of()
    assert greedy_search(model, SRC, cached=True) == greedy_search(
        model, SRC, cached=False
    )
    one, other = (
        [h.ids for beam in beam_search(model, SRC, cached=c) for h in beam]
        for c in (True, False)
    )
    assert one == other


@pytest.mark.parametrize(
    "edits",
    [
        [],
        [("self.up_proj(x).relu()", "F.gelu(self.up_proj(x))")],
        [(" + answer", " + answer * 1.0")],
    ],
)
def test_the_packages_transformer_computes_the_same(edits):
    model = model_of(edited(*edits) if edits else "")
    found = as_transformer(model)
    assert_close(found(SRC, TGT), model(SRC, TGT), rtol=1e-4, atol=1e-4)


def test_a_page_cannot_compute_another_architecture(tmp_path):
    code = edited(("return self.norm(x + answer)", "return self.norm(answer)"))
    with pytest.raises(ConfigError, match="cannot be read as the course's"):
        web_export.save(tmp_path / "page", model_of(code), None, {})


@pytest.mark.parametrize(
    "code, problem",
    [
        ("def f(:", "line 1"),
        ("import nothing_like_this", "line 1"),
        ("x = 1", "no class MyTransformer"),
        ("import sys\nx = sys.exit(0)", "line 2.*SystemExit: 0"),
        (
            edited(("self.embedding = ", "self.lost = ")),
            "no attribute 'embedding'",
        ),
        (
            edited(("return x @ self.embedding.weight.T", "return x")),
            r"expected logits of \(2, 3, 12\)",
        ),
    ],
)
def test_faults_of_the_file_are_one_clear_line(code, problem):
    with pytest.raises(ConfigError, match=problem):
        model_of(code)(SRC, TGT)


def test_a_file_may_put_off_its_annotations_and_have_a_dataclass():
    later = "from __future__ import annotations\nimport dataclasses\n"
    sizes = "\n@dataclasses.dataclass\nclass Sizes:\n    wide: int = 1\n"
    code = later + solution_text() + sizes
    assert_close(model_of(code)(SRC, TGT), model_of()(SRC, TGT))


def test_a_checkpoint_holds_the_code_and_says_whose_it_is(tmp_path, capsys):
    file = tmp_path / "my_transformer.py"
    file.write_text(solution_text(), "utf-8-sig")
    model = model_of()
    model.config = dataclasses.replace(model.config, file=str(file))
    checkpoint.save(tmp_path / "saved", model)
    loaded = checkpoint.load(tmp_path / "saved").model
    assert_close(loaded(SRC, TGT), model(SRC, TGT))
    assert capsys.readouterr().err == ""
    file.write_text(solution_text() + "# more\n", "utf-8")
    checkpoint.load(tmp_path / "saved")
    assert "has changed since" in capsys.readouterr().err
    for change in (lambda: file.write_bytes(b"\x8c"), file.unlink):
        change()
        checkpoint.load(tmp_path / "saved")
        assert "code of its own, which runs now" in capsys.readouterr().err


def test_a_run_keeps_the_code_and_resumes_with_no_other(
    tmp_path, small_corpus
):
    file = tmp_path / "my_transformer.py"
    file.write_text(solution_text(), "utf-8")
    experiment = with_file(PRESETS["grammar"], file)
    assert experiment.name == "my-grammar"
    model = CustomConfig(**vars(experiment.model) | SIZES)
    experiment = dataclasses.replace(tiny(epochs=1), model=model)
    folder = run(experiment, tmp_path / "outputs", quiet=True)
    assert (folder / "my_transformer.py").read_text("utf-8") == model.code
    changed = other(experiment, {"code": model.code + "#"})
    with pytest.raises(ConfigError, match="other code of my_transformer.py"):
        run(changed, tmp_path / "outputs", resume=True, quiet=True)


def test_a_preset_of_another_kind_takes_no_file(tmp_path):
    file = tmp_path / "my_transformer.py"
    file.write_text(solution_text(), "utf-8")
    with pytest.raises(ConfigError, match="take grammar"):
        with_file(PRESETS["grammar-lm"], file)
    file.write_text("def broken(:\n", "utf-8")
    with pytest.raises(CourseError, match="line 1"):
        with_file(PRESETS["grammar"], file)


# --- the decoder of chapter 22 -----------------------------------------------

DECODED = {"n_heads": 4, "n_kv_heads": 2, "rope_base": 300.0}
SECOND = [  # what would not show in one layer, or before training
    ("self.norm_2(x)", "self.norm_1(x)"),
    ("base ** (pair", "10_000.0 ** (pair"),
    (", self.n_kv_heads)", ", self.n_kv_heads).flip(1)"),
]


@pytest.mark.parametrize("edit", [None, *SECOND])
def test_the_decoder_gives_the_logits_of_the_packages(edit):
    theirs = tiny_modern(**DECODED, norm_epsilon=0.01)
    ours = CustomDecoder(edited(edit) if edit else solution_text(), theirs)
    ids, cache = TGT.repeat(1, 3), ours.new_cache()
    halves = [ours.decode(part, cache) for part in ids.split(5, dim=1)]
    close(torch.cat(halves, dim=1), ours(ids))
    differs = (ours(ids) - theirs(ids)).abs().max()
    assert differs > 0.1 if edit else differs < 1e-3


@pytest.mark.parametrize(
    "edit, problem",
    [
        (("class MyDecoder", "class Mine"), "no class MyDecoder"),
        (("self.gate_proj", "self.gate"), "gate_proj"),
        (("self.to_logits(self.norm(x))", "x"), r"logits of \(2, 3, 30\)"),
    ],
)
def test_weights_that_do_not_fit_are_one_clear_error(edit, problem):
    with pytest.raises(ConfigError, match=problem):
        CustomDecoder(edited(edit), tiny_modern(vocab_size=30))(TGT)
