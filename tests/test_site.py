"""The workflows: what they run, and what they may do."""

import re
from pathlib import Path

import yaml
from built_book import ROOT

WORKFLOWS = sorted((ROOT / ".github/workflows").glob("*.yml"))
ACTION = re.compile(r"actions/[\w-]+@[0-9a-f]{40}")


def jobs_of(path: Path) -> dict[str, dict]:
    """The jobs of a workflow."""
    return yaml.safe_load(path.read_text("utf-8"))["jobs"]


JOBS = [job for path in WORKFLOWS for job in jobs_of(path).values()]


def test_actions_are_github_s_own_each_at_one_commit():
    for step in (step for job in JOBS for step in job["steps"]):
        assert "run" in step or ACTION.fullmatch(step["uses"]), step


def test_what_runs_code_may_not_write():
    for job in JOBS:
        runs = any("run" in step for step in job["steps"])
        assert not runs or "write" not in job["permissions"].values(), job


def test_what_is_built_is_what_is_published():
    jobs = jobs_of(ROOT / ".github/workflows/publish.yml")
    uploads = [
        step["with"]["path"]
        for step in jobs["build"]["steps"]
        if "upload-pages-artifact" in step.get("uses", "")
    ]
    assert uploads == ["_build/site"]
    assert jobs["publish"]["needs"] == "build"
