"""The site for a server, and the workflow that publishes it."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from built_book import EDITIONS, ROOT, Site, is_foreign, not_ready, site_of

from tools import site
from tools.lectures.reveal import NoReveal

WORKFLOWS = sorted((ROOT / ".github/workflows").glob("*.yml"))
TARGETS = re.findall(
    r"^([a-z-]+):", (ROOT / "Makefile").read_text("utf-8"), re.M
)
ACTION = re.compile(r"actions/[\w-]+@v\d+\.\d+\.\d+")
EXPRESSION = re.compile(r"\$\{\{.*?\}\}")

# --- the folder --------------------------------------------------------------


@pytest.fixture(scope="module", params=EDITIONS)
def made(request, tmp_path_factory) -> Path:
    """A site in the place of an older one, without slides."""
    if reason := not_ready(request.param):
        pytest.skip(reason)
    target = tmp_path_factory.mktemp("server") / "site"
    target.mkdir()
    (target / "stale.html").touch()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("tools.lectures.reveal.find_spec", lambda name: None)
        missing = site.gather(request.param, site_of(request.param), target)
    assert "the slides need reveal.js" in missing
    return target


def test_the_site_is_the_book_with_what_a_class_needs(made):
    for name in ("index.html", "404.html", "search.html", site.NO_JEKYLL):
        assert (made / name).is_file(), name
    for name in ("index.html", "figures/index.html", "handouts/04.html"):
        assert (made / site.CLASS / name).is_file(), name


def test_nothing_of_an_earlier_site_stays(made):
    assert not (made / "stale.html").exists()
    assert [path.name for path in made.parent.iterdir()] == [made.name]


def test_no_address_counts_from_the_top_of_the_server(made):
    """So the site may lie at any depth. ``404.html`` has its base."""
    for path, page in Site(made).pages.items():
        asked = [*page.links, *page.loads]
        above = [
            address
            for address in asked
            if address.startswith("/") and not is_foreign(address)
        ]
        assert not above, f"{path.name}: {above}"


def test_a_site_that_cannot_be_made_leaves_the_earlier_one(tmp_path):
    target, book = tmp_path / "site", tmp_path / "book"
    for folder in (target, book):
        folder.mkdir()
        (folder / "index.html").write_text(folder.name)
    with pytest.raises(NoReveal, match="holds no dist/reveal.js"):
        site.gather("en", book, target, reveal=str(tmp_path))
    assert (target / "index.html").read_text() == "site"


# --- the workflow ------------------------------------------------------------


def read(path: Path) -> dict:
    """A workflow; YAML 1.1 takes its word ``on`` for true."""
    found = yaml.safe_load(path.read_text("utf-8"))
    return {"on" if key is True else key: part for key, part in found.items()}


@pytest.fixture(params=WORKFLOWS, ids=[path.stem for path in WORKFLOWS])
def workflow(request) -> dict:
    """Each of them."""
    return read(request.param)


def steps(workflow: dict) -> list[dict]:
    """The steps of all jobs."""
    return [step for job in workflow["jobs"].values() for step in job["steps"]]


def test_a_workflow_has_what_github_asks_for(workflow):
    assert {"name", "on", "permissions", "concurrency", "jobs"} <= {*workflow}
    for job in workflow["jobs"].values():
        assert job["timeout-minutes"] <= 120
        assert re.search(r"-\d", job["runs-on"]), "a version, not the latest"
        needs = job.get("needs", [])
        for name in [needs] if isinstance(needs, str) else needs:
            assert name in workflow["jobs"]


def test_a_workflow_only_calls_the_makefile(workflow):
    commands = [step["run"] for step in steps(workflow) if "run" in step]
    assert commands
    for command in commands:
        make, *words = command.split()
        assert make == "make" and {*words} <= {*TARGETS}, command


def test_actions_are_github_s_own_at_one_version(workflow):
    used = [step["uses"] for step in steps(workflow) if "uses" in step]
    assert all(ACTION.fullmatch(action) for action in used), used
    assert all(("uses" in step) != ("run" in step) for step in steps(workflow))


def test_only_what_publishes_may_write(workflow):
    assert workflow["permissions"] == {}
    for name, job in workflow["jobs"].items():
        may = job["permissions"]
        writes = {scope for scope, level in may.items() if level == "write"}
        runs = any("run" in step for step in job["steps"])
        allowed = set() if runs else {"pages", "id-token"}
        assert writes <= allowed, f"{name} runs code, and may write {writes}"


def test_what_a_step_asks_of_another_is_there(workflow):
    """``steps.NAME.outputs``, of a step above it in the same job."""
    for job in workflow["jobs"].values():
        named = set()
        for part in [*job["steps"], job.get("environment", {})]:
            asked = " ".join(EXPRESSION.findall(yaml.safe_dump(part)))
            assert {*re.findall(r"\bsteps\.(\w+)", asked)} <= named, part
            named.add(part.get("id"))


def test_what_is_built_is_what_is_published():
    published = read(ROOT / ".github/workflows/publish.yml")
    build, publish = (published["jobs"][n] for n in ("build", "publish"))
    uploads = [
        step["with"]["path"]
        for step in build["steps"]
        if "upload-pages-artifact" in step.get("uses", "")
    ]
    assert uploads == ["_build/site"]
    assert publish["needs"] == "build"
    assert published["concurrency"]["cancel-in-progress"] is False


def test_actionlint_finds_nothing():
    beside = Path(sys.executable).with_name("actionlint")
    program = beside if beside.is_file() else shutil.which("actionlint")
    if program is None:
        pytest.skip("needs actionlint: see requirements-workflow.txt")
    done = subprocess.run(
        [program, *WORKFLOWS], capture_output=True, text=True, cwd=ROOT
    )
    assert done.returncode == 0, done.stdout + done.stderr
