"""The workflow that publishes the site."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from built_book import ROOT

WORKFLOWS = sorted((ROOT / ".github/workflows").glob("*.yml"))
TARGETS = re.findall(
    r"^([a-z-]+):", (ROOT / "Makefile").read_text("utf-8"), re.M
)
ACTION = re.compile(r"actions/[\w-]+@v\d+\.\d+\.\d+")


def jobs_of(path: Path) -> dict[str, dict]:
    """The jobs of a workflow."""
    return yaml.safe_load(path.read_text("utf-8"))["jobs"]


@pytest.fixture(params=WORKFLOWS, ids=[path.stem for path in WORKFLOWS])
def jobs(request) -> dict[str, dict]:
    """The jobs of each workflow."""
    return jobs_of(request.param)


def test_a_step_is_a_target_of_make_or_a_fixed_action_of_github_s(jobs):
    for job in jobs.values():
        for step in job["steps"]:
            if "uses" in step:
                assert ACTION.fullmatch(step["uses"]), step
            else:
                make, *words = step["run"].split()
                assert make == "make" and {*words} <= {*TARGETS}, step


def test_what_runs_code_may_not_write(jobs):
    for name, job in jobs.items():
        levels = job["permissions"].values()
        runs = any("run" in step for step in job["steps"])
        assert not (runs and "write" in levels), name


def test_what_is_built_is_what_is_published():
    jobs = jobs_of(ROOT / ".github/workflows/publish.yml")
    uploads = [
        step["with"]["path"]
        for step in jobs["build"]["steps"]
        if "upload-pages-artifact" in step.get("uses", "")
    ]
    assert uploads == ["_build/site"]
    assert jobs["publish"]["needs"] == "build"


def test_actionlint_finds_nothing():
    beside = Path(sys.executable).with_name("actionlint")
    program = beside if beside.is_file() else shutil.which("actionlint")
    if program is None:
        pytest.skip("needs actionlint: see requirements-workflow.txt")
    done = subprocess.run(
        [program, *WORKFLOWS], capture_output=True, text=True, cwd=ROOT
    )
    assert done.returncode == 0, done.stdout + done.stderr
