"""Each stored run has one maker and a reader, and the index says so."""

import pytest

from experiments.__main__ import find_all
from experiments.index import makers, readers, text_of
from transformer_course import runs

MADE = makers(find_all().values())
THERE = sorted(p.name for p in runs.folder("").iterdir() if p.is_dir())


@pytest.mark.parametrize("run", THERE)
def test_a_stored_run_has_one_maker_and_a_reader(run):
    ((page, _),) = MADE[run]
    assert list((runs.folder("").parent / "book/en").glob(f"{page}.*"))
    assert readers(run)


def test_all_that_is_made_is_stored():
    assert sorted(MADE) == THERE
    added = {run for one in find_all().values() for run in one.adds_to}
    assert added <= set(THERE)


def test_the_index_is_as_it_would_be_written():
    text = runs.folder("README.md").read_text("utf-8")
    assert text == text_of(find_all().values()), (
        "python -m experiments --index writes it anew"
    )
