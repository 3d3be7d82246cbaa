"""``start`` and ``check`` as they are typed; ``watch`` is in ``browser/``."""

import pytest

from course_exercises.path import parts
from transformer_course.cli import own
from transformer_course.errors import CourseError


def test_a_file_is_left_as_it_is_and_what_it_lacks_is_printed(run, tmp_path):
    file = tmp_path / "mine.py"
    assert "is written" in run("start", file)[2]
    whole = file.read_text("utf-8")
    assert "It has all parts" in run("start", file)[2]
    stub = parts.stub("bleu")
    file.write_text(whole.replace(stub, ""), "utf-8")
    status, printed, said = run("start", file)
    assert (status, printed.strip()) == (0, stub.strip())
    assert "Missing parts: 1" in said
    assert file.read_text("utf-8") == whole.replace(stub, "")


def test_a_watched_file_is_checked_whenever_it_is_saved(
    monkeypatch, tmp_path, capsys
):
    """What is wrong with it, or that it is absent, ends nothing."""
    file, seen = tmp_path / "mine.py", []
    saves = iter(["one", None, "bad", "two"])

    def check_once(checker, path, laws, page):
        seen.append(path.read_text("utf-8") if path.exists() else "absent")
        if seen[-1] in ("absent", "bad"):
            raise CourseError(f"it is {seen[-1]}")
        return True

    def pause(seconds):
        text = next(saves, "")
        if text == "":
            raise KeyboardInterrupt
        if text:
            file.write_text(text, "utf-8")

    monkeypatch.setattr(own, "_check_once", check_once)
    monkeypatch.setattr(own.time, "sleep", pause)
    with pytest.raises(KeyboardInterrupt):
        own.check(file, watch=True)
    assert seen == ["absent", "one", "bad", "two"]
    said = capsys.readouterr().err
    assert "error: it is absent" in said and "error: it is bad" in said
