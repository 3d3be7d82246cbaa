"""AntiBERTy's weights: from the package's pickle to a model of the course.

What needs the weights is skipped by name without them; ``make test-antiberty``
installs them.
"""

import os

import pytest
import torch
from tiny import SIZES, close
from tiny_bert import installed, published, write

from transformer_course.checkpoints import antiberty
from transformer_course.checkpoints.antiberty import (
    ANTIBERTY,
    antiberty_file,
    antiberty_folder,
)
from transformer_course.checkpoints.find import load_found
from transformer_course.errors import CourseError
from transformer_course.models.bert import BertPreTraining
from transformer_course.models.bert_config import BertConfig

IDS = torch.tensor([[2, 5, 4, 8, 3], [2, 4, 3, 0, 0]])


@pytest.fixture
def package(tmp_path, monkeypatch):
    """The package with a tiny model in it, and an empty cache."""
    folder = tmp_path / "package"
    installed(monkeypatch, ANTIBERTY, folder)
    monkeypatch.setattr(antiberty, "cache_dir", lambda: tmp_path / "cache")
    inner = folder / "models" / "inner"
    inner.mkdir(parents=True)
    torch.manual_seed(0)
    model = BertPreTraining(BertConfig(**SIZES)).eval()
    tensors = published(model)
    write(inner, tensors)
    (inner / "model.safetensors").unlink()
    (inner / "vocab.txt").rename(inner.parent / "vocab.txt")
    kept = {
        name: tensor
        for name, tensor in tensors.items()
        if not name.startswith("cls.seq_relationship")
    }
    kept |= {"cls.species.weight": torch.zeros(6, 16)}
    kept |= {"cls.graft.bias": torch.zeros(2)}
    torch.save(kept, inner / "pytorch_model.bin")
    return inner, model


def test_the_body_and_its_word_head_come_back(package):
    _, model = package
    found = load_found(antiberty_folder())
    words, _ = found.model(IDS)
    assert torch.equal(words, model(IDS)[0])
    assert not found.model.config.next_sentence
    assert found.tokenizer.pieces("Cats") == ["[UNK]"]  # capitals stay


def test_it_is_written_once(package):
    inner, _ = package
    folder = antiberty_folder()
    (inner / "pytorch_model.bin").unlink()
    assert antiberty_folder() == folder


class Evil:
    def __reduce__(self):
        return os.getenv, ("HOME",)


def test_code_in_the_pickle_is_not_run(package):
    inner, _ = package
    torch.save({"bert.pooler": Evil()}, inner / "pytorch_model.bin")
    with pytest.raises(Exception, match="[Ww]eights.only"):
        antiberty_folder()


def test_a_version_without_weights_is_one_line(package):
    inner, _ = package
    (inner / "pytorch_model.bin").unlink()
    with pytest.raises(CourseError, match="no weights.*antiberty==0.1.3"):
        antiberty_folder()


# --- the real one ------------------------------------------------------------

CHAIN = (
    "DIQMTQSPSSLSASVGDRVTITCRASQDVNTAVAWYQQKPGKAPKLLIYSASFLYSGVPSRFSGSRSG"
    "TDFTLTISSLQPEDFATYYCQQHYTTPPTFGQGTKVEIK"
)


@pytest.fixture
def real():
    try:
        antiberty_file()
    except CourseError as error:
        pytest.skip(str(error))
    return load_found(antiberty_folder())


def test_our_logits_are_the_librarys(real):
    transformers = pytest.importorskip(
        "transformers", reason="transformers is absent: make test-antiberty"
    )
    theirs = transformers.BertForMaskedLM.from_pretrained(antiberty_folder())
    pieces = real.tokenizer
    ids = torch.tensor(
        [[pieces.cls_id, *map(pieces.id_of, CHAIN), pieces.sep_id]]
    )
    ids[0, 30] = pieces.mask_id
    with torch.inference_mode():
        close(real.model(ids)[0], theirs.eval()(ids).logits, tolerance=1e-4)


def test_it_fills_most_gaps_of_an_antibody(real, capsys):
    from transformer_course.cli import main

    gapped = [*CHAIN]
    gapped[34] = "[MASK]"  # W, between A and Y: nearly every antibody's
    main(["fill", "antiberty", " ".join(gapped), "--top", "1"])
    assert capsys.readouterr().out.split()[2] == "W"
