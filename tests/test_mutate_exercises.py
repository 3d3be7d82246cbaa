"""The random mutants of the exercises' solutions."""

from collections import Counter
from dataclasses import replace

import pytest

from tools import mutate_exercises
from tools.mutate_exercises import (
    Mutant,
    choose,
    differs,
    implementation,
    judge,
    mutants_of,
    report,
)
from transformer_course.exercises.catalogue import EXERCISES
from transformer_course.exercises.catalogue.masks.causal_mask import (
    EXERCISE as CAUSAL_MASK,
)
from transformer_course.exercises.catalogue.masks.causal_mask import (
    causal_mask,
)


@pytest.mark.parametrize("name", EXERCISES)
def test_mutants_are_code_and_leave_what_is_asked_alone(name):
    mutants = mutants_of(EXERCISES[name])
    assert len(mutants) >= 5
    assert len({mutant.source for mutant in mutants}) == len(mutants)
    for mutant in mutants:
        assert EXERCISES[name].solution.__doc__.split("\n")[0] in (
            mutant.source
        )
        compile(mutant.source, "<mutant>", "exec")


def test_a_seed_chooses_the_same_mutants_evenly():
    chosen = choose(45, seed=3, only=[])
    assert chosen == choose(45, seed=3, only=[])
    assert chosen != choose(45, seed=4, only=[])
    counts = Counter(mutant.exercise for mutant in chosen)
    assert max(counts.values()) - min(counts.values()) <= 1


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        ("torch.ones(length, length).bool().tril()[None, None]", "equivalent"),
        ("torch.ones(length, length).bool().triu()[None, None]", "named"),
        ("torch.ones(length, length).bool().tril()[None][:0]", "slip"),
        ("torch.ones(length, length).trill()[None, None]", "error"),
        ("torch.ones(length, length).bool().tril(2)[None, None]", "unknown"),
    ],
)
def test_what_becomes_of_a_mutant(body, kind):
    source = f"def causal_mask(length):\n    return {body}"
    assert judge(Mutant("causal_mask", source, ""))[0] == kind


def test_one_that_no_case_tells_from_the_solution_is_noticed(monkeypatch):
    """As far as its check goes, a mask of one length is as good as any."""
    few = replace(
        CAUSAL_MASK,
        cases=CAUSAL_MASK.cases[:1],
        draw=lambda draw: replace(
            CAUSAL_MASK.draw(draw), args=(1 if draw.size(0, 9) else 5,)
        ),
    )
    monkeypatch.setattr(mutate_exercises, "find", lambda name: few)
    source = (
        "def causal_mask(length):\n"
        "    if length == 5:\n"
        "        return torch.ones(1, 1, 5, 5, dtype=torch.bool)\n"
        "    return torch.ones(length, length).bool().tril()[None, None]"
    )
    candidate = implementation(few, source)
    assert "seed" in differs(few, candidate)
    seeds = [seed for seed in range(6) if few.drawn(seed).args == (5,)]
    assert not seeds, "choose another rule: a check tries length 5"
    assert judge(Mutant("causal_mask", source, ""))[0] == "escaped"


def test_the_solution_itself_differs_nowhere():
    assert differs(CAUSAL_MASK, causal_mask) == ""


@pytest.mark.parametrize(("escaped", "status"), [(0, 0), (1, 1)])
def test_the_report_counts_and_fails_if_one_escapes(escaped, status, capsys):
    counts = Counter(named=3, unknown=1, equivalent=2, escaped=escaped)
    assert report({"causal_mask": counts}) == status
    written = capsys.readouterr().out
    assert f"of {4 + escaped} that are wrong, 4 were refused" in written
