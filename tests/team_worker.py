"""One of two processes of a team, started by ``test_team.py``.

It trains all of :func:`experiments` together with the other process, and
leaves ``RANK.json`` in the folder: what this process has seen.
"""

import dataclasses
import json
import os
import signal
from pathlib import Path

import pytest
import torch
from tiny import tiny_corpus, tiny_labels
from tiny_runs import (
    other,
    tiny,
    tiny_images,
    tiny_library,
    tiny_masked,
    tiny_texts,
)

from transformer_course.data.corpora import CORPORA, Corpus
from transformer_course.errors import CourseError
from transformer_course.training import loop as train
from transformer_course.training.config import Experiment
from transformer_course.training.distributed import Team, joined
from transformer_course.training.loss import Score
from transformer_course.training.run import run

STOPPED_AFTER = 3
"""Steps after which the second process is asked to stop."""


def experiments() -> dict[str, Experiment]:
    """A training of each kind of batch, without dropout."""
    short = {"epochs": 1, "peak_rate": 0.005}
    text = tiny("learned", **short, clip=0.5, label_smoothing=0.1)
    made = {
        "text": text,
        "read twice": tiny("learned", **short, r_drop=1.0),
        "a row a batch": other(text, token_budget=8),
        "images": tiny_images(**short),
        "labelled texts": tiny_texts(**short),
        "hidden words": _one_passage(tiny_masked(**short | {"epochs": 4})),
        "stopped": tiny("learned", epochs=1, save_every=500),
        "resumed": resumed(epochs=2),
    }
    return {name: _named(name, made) for name, made in made.items()}


def resumed(epochs: int) -> Experiment:
    """The training that goes on with other numbers of processes."""
    return _named("resumed", tiny("learned", epochs=epochs, peak_rate=0.005))


def _named(name: str, experiment: Experiment) -> Experiment:
    model = dataclasses.replace(experiment.model, dropout=0.0)
    return dataclasses.replace(experiment, name=name, model=model)


def _one_passage(experiment: Experiment) -> Experiment:
    model = dataclasses.replace(experiment.model, next_sentence=False)
    experiment = dataclasses.replace(experiment, model=model)
    return other(experiment, token_budget=512)


def small_corpora(patch: pytest.MonkeyPatch) -> None:
    """What they learn from."""
    tiny_corpus(patch)
    tiny_labels(patch)
    books = Corpus("authors", None, ("ja",), works=tiny_library)
    patch.setitem(CORPORA, "authors", books)


def main(folder: Path) -> None:
    with pytest.MonkeyPatch.context() as patch, joined() as team:
        small_corpora(patch)
        seen = {"talk": talk(team)}
        for name, experiment in experiments().items():
            if name == "stopped":
                asked_to_stop(patch, team)
            seen[name] = trained(experiment, folder, team)
    (folder / f"{team.rank}.json").write_text(json.dumps(seen))


def trained(experiment: Experiment, folder: Path, team: Team) -> str:
    """What went wrong, if anything."""
    resume = experiment.name == "resumed"
    try:
        run(experiment, folder, resume, quiet=True, team=team)
    except CourseError as error:
        return f"{type(error).__name__}: {error}"
    return ""


def asked_to_stop(patch: pytest.MonkeyPatch, team: Team) -> None:
    """Let a signal come to the second process, once."""
    step, made = train.train_step, []

    def signalled(*args) -> Score:
        made.append(step(*args))
        if len(made) == STOPPED_AFTER and team.rank == 1:
            os.kill(os.getpid(), signal.SIGTERM)
        return made[-1]

    patch.setattr(train, "train_step", signalled)


def talk(team: Team) -> dict:
    """What the processes of a team tell each other."""
    model = torch.nn.Linear(2, 1)
    torch.nn.init.constant_(model.weight, team.rank)
    one, two, three = (torch.tensor(team.rank + n) for n in (1, 2, 3))
    scores = team.total(Score(one.float(), two.float(), three, one))
    torch.manual_seed(0)
    team.draw_apart()
    seen = {
        "total": [part.item() for part in scores],
        "types": [str(part.dtype) for part in scores],
        "any": [team.any(team.rank == 1), team.any(False)],
        "tells": team.tells(),
        "drawn": torch.rand(1).item(),
    }
    try:
        team.check_same(model)
    except CourseError as error:
        seen["differs"] = str(error)
    torch.nn.init.ones_(model.weight)
    torch.nn.init.zeros_(model.bias)
    team.check_same(model, "the same")
    return seen
