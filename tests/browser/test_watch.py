"""``watch``: chapter 00's page with the weights of a reader's own model."""

import os
import shutil
from pathlib import Path

import pytest
import torch
from browsing import from_disk
from built_book import SITE, not_ready

from course_exercises.path.parts import solution_text
from transformer_course.checkpoints import checkpoint
from transformer_course.checkpoints.shipped import load_shipped
from transformer_course.cli import own
from transformer_course.models.config import CustomConfig
from transformer_course.models.custom import CustomTransformer

WRITTEN = "エミはピアノを弾く。"


@pytest.fixture
def site(tmp_path, monkeypatch) -> Path:
    """A built book with one page."""
    if reason := not_ready():
        pytest.skip(reason)
    site = tmp_path / "site"
    shutil.copytree(SITE / "_static", site / "_static", copy_function=os.link)
    shutil.copy(SITE / own.WATCHED, site)
    monkeypatch.setattr(own, "BOOK", site)
    return site


def saved(tmp_path: Path, code: str) -> Path:
    """A file's Transformer, with the weights of the course's."""
    shipped = load_shipped("grammar")
    config = shipped.model.config
    sizes = ("vocab_size", "d_model", "n_heads", "d_ff", "n_layers")
    file = tmp_path / "my_transformer.py"
    file.write_text(code, "utf-8")
    model = CustomTransformer(
        CustomConfig(
            **{name: getattr(config, name) for name in sizes},
            code=code,
            file=str(file),
        )
    )
    theirs = dict(shipped.model.named_parameters())
    with torch.no_grad():
        for name, weight in model.model.named_parameters():
            name = name.replace("norm.gain", "norm.weight")
            name = name.replace("embedding.", "tgt_embedding.")
            weight.copy_(theirs[name])
    folder = tmp_path / "mine"
    checkpoint.save(folder, model, shipped.tokenizer, shipped.details)
    return folder


def test_of_another_architecture_translations_are_printed(
    site, tmp_path, capsys
):
    code = solution_text().replace("x + answer", "x + 2 * answer")
    own.watch(saved(tmp_path, code), show=False)
    out, err = capsys.readouterr()
    assert "cats drink milk .  →  " in out and "cannot compute" in err
    assert not list(site.glob("yours-*"))


def test_the_readers_model_stands_beside_the_courses(browser, site, tmp_path):
    own.watch(saved(tmp_path, solution_text()), show=False)
    with from_disk(browser, site / "yours-mine.html") as page:
        status = page.locator('[data-live="translator"] [data-lv="status"]')
        status.get_by_text("The course's").wait_for()
        said = status.inner_text()
        assert said.startswith("Yours.") and said.count(WRITTEN) == 2
        title = page.locator("h1").first.text_content()
        assert title.startswith("Yours: mine")
