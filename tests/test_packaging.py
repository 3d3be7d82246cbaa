"""What is built for others: the wheel, its extras, its version."""

import re
import subprocess
import sys
import tomllib
import zipfile
from importlib.metadata import requires, version

import pytest
import yaml
from built_book import ROOT
from command_line import assert_error
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name as canonical
from wheel_file import build_wheel

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
PACKAGES = ("transformer_course", "course_exercises")


def test_a_check_without_its_extra_names_it():
    code = "import sys; sys.modules['cloudpickle'] = None; "
    code += "import course_exercises.check"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True
    )
    assert "'transformer-course[exercises]'" in done.stderr.splitlines()[-1]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    return zipfile.ZipFile(build_wheel(tmp_path_factory.mktemp("wheel")))


def test_the_wheel_holds_both_packages_whole_and_nothing_else(wheel):
    sources = {
        path.relative_to(ROOT).as_posix()
        for package in PACKAGES
        for path in (ROOT / package).rglob("*")
        if path.is_file()
        and "__pycache__" not in path.parts
        and not path.name.startswith(".")
    }
    info = f"transformer_course-{version('transformer-course')}.dist-info/"
    packed = {name for name in wheel.namelist() if not name.startswith(info)}
    assert packed == sources
    assert "transformer_course/py.typed" in packed
    weights = [n for n in packed if n.endswith("/model.safetensors")]
    assert len(weights) == 6


def test_the_version_is_the_same_everywhere():
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text("utf-8"))
    log = (ROOT / "CHANGELOG.md").read_text("utf-8")
    released = re.findall(r"^## \[(\d\S+)\] - (\S+)$", log, re.M)
    stated = PROJECT["project"]["version"]
    assert (stated, cited["date-released"]) == released[0]
    assert stated == cited["version"] == version("transformer-course")
    page = (ROOT / "book/en/lecturers.md").read_text("utf-8")
    assert f"Version {stated}." in page
    assert f"title  = {{{cited['title']}}}" in page


def distributions(extra):
    """What an extra installs, its own extras included."""
    found = set()
    for text in requires("transformer-course"):
        one = Requirement(text)
        if one.marker and one.marker.evaluate({"extra": extra}):
            more = map(distributions, one.extras)
            found |= set().union(*more) or {canonical(one.name)}
    return found


def test_what_is_locked_is_all_that_is_named():
    """requirements.txt, extras and groups name; constraints.txt says which."""
    locked = {
        canonical(line.partition("==")[0])
        for line in (ROOT / "constraints.txt").read_text().splitlines()
        if not line.startswith("#")
    }
    named = (ROOT / "requirements.txt").read_text().splitlines()
    named = [line for line in named if line and line[0] not in "#-"]
    for group in PROJECT["dependency-groups"].values():
        named += [one for one in group if isinstance(one, str)]
    named += requires("transformer-course")
    names = {canonical(Requirement(one).name) for one in named}
    assert names - {"transformer-course"} <= locked


@pytest.mark.parametrize(
    ("module", "args"),
    [
        ("sacrebleu", ["score-files", "a", "a"]),
        ("pooch", ["data", "fetch", "small_parallel_enja"]),
    ],
)
def test_what_misses_is_named_with_what_installs_it(
    run, monkeypatch, tmp_path, module, args
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a").write_text("red cat .")
    monkeypatch.setenv("TRANSFORMER_COURSE_CACHE", str(tmp_path))
    monkeypatch.delenv("TRANSFORMER_COURSE_MIRROR", raising=False)
    for name in [n for n in sys.modules if module in n.split(".")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, module, None)
    assert module in distributions("train")
    assert_error(run(*args), module, "pip install 'transformer-course[train]'")
