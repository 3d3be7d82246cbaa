"""Fixtures that several test files share."""

from pathlib import Path

import pytest
from built_book import EDITIONS, Site, not_ready, site_of
from tiny import tiny_corpus
from tiny_runs import tiny

from transformer_course.experiment import run

collect_ignore_glob = ["frozen/*.ipynb"]
"""A learner's notebook has no outputs to be compared."""


@pytest.fixture
def small_corpus(monkeypatch) -> None:
    """In the place of the grammar, sentences of three words."""
    tiny_corpus(monkeypatch)


@pytest.fixture(scope="session")
def finished(tmp_path_factory) -> Path:
    """A run that nothing has disturbed."""
    with pytest.MonkeyPatch.context() as patch:
        tiny_corpus(patch)
        return run(tiny(), tmp_path_factory.mktemp("whole"), quiet=True)


@pytest.fixture(scope="module", params=EDITIONS)
def site(request) -> Site:
    """The built pages; skipped when they are not there, or stale."""
    if reason := not_ready(request.param):
        pytest.skip(reason)
    return Site(site_of(request.param))
