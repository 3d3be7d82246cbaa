"""What is asked of the machine."""

import platform

import pytest

from transformer_course.device import cpu_family


@pytest.mark.parametrize(
    ("windows", "family"),
    [
        ("AMD64 Family 26 Model 68 Stepping 0, AuthenticAMD", 26),
        ("Intel64 Family 6 Model 158 Stepping 10, GenuineIntel", 6),
        ("arm", None),
        ("", None),
    ],
)
def test_family_where_no_file_says_it(tmp_path, monkeypatch, windows, family):
    monkeypatch.setattr(platform, "processor", lambda: windows)
    assert cpu_family(tmp_path / "none") == family


def test_family_that_linux_says(tmp_path):
    info = tmp_path / "cpuinfo"
    info.write_text("processor\t: 0\ncpu family\t: 25\nmodel\t\t: 17\n")
    assert cpu_family(info) == 25
    arm = tmp_path / "arm"
    arm.write_text("processor\t: 0\nCPU implementer\t: 0x41\n")
    assert cpu_family(arm) is None
