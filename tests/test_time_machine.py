"""The training time machine: its data, its page, and what its script needs."""

import json

import course_time_machine as machine
import pytest
from bs4 import BeautifulSoup
from built_book import build_project

from experiments import store
from transformer_course.errors import CourseError

HOSTILE = '</script><img src=x onerror="alert(1)"> & <!-- "'
SENTENCES = [
    ("the cat sleeps", "猫 が 寝る"),
    (HOSTILE, "引用"),
    ("one two", "一 二"),
]
WRITTEN = {
    "greedy": [["犬 が 寝る", "", "一 一"], ["猫 が 寝る", HOSTILE, "一 二"]],
    "beam": [["犬", "引", "二 二"], ["猫 が 寝る", "引用", "一 二"]],
    "sampled": [["が が", "a" + HOSTILE, "三"], ["猫", "用", "<b>一</b>"]],
}


def epoch(number, samples, **figures):
    """A record as trainings write them."""
    figures = {"train_nll": 5 / number, "dev_nll": 4 / number} | figures
    return {"kind": "epoch", "epoch": number, "samples": samples, **figures}


def asked(number, *ways):
    """The samples of an epoch, in some ways of decoding."""
    return [
        {"src": src, "tgt": tgt} | {w: WRITTEN[w][number][n] for w in ways}
        for n, (src, tgt) in enumerate(SENTENCES)
    ]


def greedy(*written):
    """Samples that were decoded greedily only."""
    return [{"src": "x", "tgt": "y", "greedy": out} for out in written]


DRAWN = [{"src": "", "tgt": "", "sampled": "猫"}]
RUNS = {
    "whole": [
        epoch(1, asked(0, *machine.WAYS), dev_perplexity=1234.5),
        epoch(2, asked(1, *machine.WAYS), dev_bleu=12.34, dev_accuracy=0.5),
        {"kind": "average", "epochs": [1, 2], "dev_nll": 1.2}
        | {"samples": asked(1, "greedy")},
    ],
    "greedy": [epoch(n, greedy("a b", "c")) for n in range(1, 31)],
    "drawn": [epoch(1, DRAWN, train_nll=float("nan"))],
    "grid/first": [epoch(1, greedy("a"))],
    "silent": [epoch(1, [])],
    "restless": [epoch(1, greedy("a")), epoch(2, DRAWN)],
}


@pytest.fixture(scope="module", autouse=True)
def stored(tmp_path_factory):
    """Some stored runs, in place of the repository's."""
    root = tmp_path_factory.mktemp("runs")
    for name, records in RUNS.items():
        file = root / name / machine.FILE
        file.parent.mkdir(parents=True)
        file.write_text("\n".join(map(json.dumps, records)), encoding="utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(store, "folder", lambda name: root / name)
        yield root


def page(name="whole"):
    """A time machine, parsed as a browser would."""
    return BeautifulSoup(machine.render(name, "fig-m"), "html.parser")


def data_of(soup):
    """What the page hands to the script."""
    (element,) = soup.select("script")
    assert element["type"] == "application/json"
    return json.loads(element.string)


# --- the data ----------------------------------------------------------------


def test_the_page_holds_what_was_stored():
    moments = data_of(page())["moments"]
    for number, moment in enumerate(moments[:2]):
        for way, written in WRITTEN.items():
            shown = ["".join(segments) for segments in moment["said"][way]]
            assert shown == written[number]
    assert moments[2]["said"]["beam"] == [None] * 3  # not stored there
    assert [m["key"] for m in moments] == ["epoch-1", "epoch-2", "average"]
    first, second, last = (moment["changed"] for moment in moments)
    assert (first["greedy"], last["beam"]) == ("", "")
    assert second["greedy"] == "3 of 3 changed since epoch 1"
    assert last["greedy"] == "0 of 3 changed since epoch 2"


def test_no_sample_becomes_markup():
    soup = page()
    assert not soup.select("img, b")
    assert HOSTILE in [dd.get_text() for dd in soup.select("dd")]


def test_only_what_was_stored_is_offered():
    assert list(data_of(page("greedy"))["ways"]) == ["greedy"]
    drawn = page("drawn")
    assert {dt.get_text() for dt in drawn.select(".tm-live dt")} == {"model"}
    first, second, last = (m["figures"] for m in data_of(page())["moments"])
    assert first["train_nll"] == "5.00"
    assert first["dev_perplexity"] == "1,234" and "dev_bleu" not in first
    assert second["dev_bleu"] == "12.3" and second["dev_accuracy"] == "50.0"
    assert "train_nll" not in last
    assert "train_nll" not in data_of(drawn)["moments"][0]["figures"]


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("no-such", "'no-such' is not there.*drawn, greedy, grid/first"),
        ("silent", "'silent' holds no samples.*whole"),
        ("restless", "other sentences at epoch-2 than at epoch-1"),
    ],
)
def test_a_run_that_cannot_be_shown_is_an_error(name, message):
    with pytest.raises(CourseError, match=message):
        machine.render(name, "fig-m")


# --- what is new -------------------------------------------------------------


@pytest.mark.parametrize(
    ("before", "text", "segments"),
    [
        (None, "猫", ["猫"]),
        ("", "猫", ["", "猫"]),
        ("猫", "", [""]),
        ("猫が寝る", "犬が寝る。", ["", "犬", "が寝る", "。"]),
        ("いいえ 猫 が", "いい 猫 が", ["", "いい", " 猫 が"]),
        ("a cat sat", "a black cat sat", ["a ", "black", " cat sat"]),
        ("a cat", "a fat dog", ["a ", "fat dog"]),
    ],
)
def test_new_is_what_was_not_there_before(before, text, segments):
    assert machine.mark_new(text, before) == segments
    assert "".join(segments) == text


# --- the page ----------------------------------------------------------------


def test_without_the_script_a_page_can_be_read():
    soup = page()
    assert soup.select(".tm-live")
    assert all(part.has_attr("hidden") for part in soup.select(".tm-live"))
    for part in soup.select("[hidden]"):
        part.extract()
    assert not soup.select("button, input")
    text = soup.get_text()
    for number, _ in enumerate(SENTENCES):
        assert all(WRITTEN[way][0][number] in text for way in machine.WAYS)
        assert WRITTEN["greedy"][1][number] in text
    assert "(nothing)" in text  # "" would look forgotten
    assert {"5.00", "2.50", "12.3"} <= {
        cell.get_text() for cell in soup.select("td")
    }


# --- Sphinx ------------------------------------------------------------------

DIRECTIVE = """
```{time-machine} NAME
:caption: What *it* said.
:label: fig-NAME
```
"""
EXTENSIONS = "myst_parser course_time_machine"


def test_a_page_with_time_machines(tmp_path):
    machines = [DIRECTIVE.replace("NAME", run) for run in ("whole", "greedy")]
    text = "".join(["# One\n\n{numref}`fig-greedy`\n", *machines])
    assert not build_project(tmp_path, EXTENSIONS, {"index": text})
    page = BeautifulSoup((tmp_path / "html/index.html").read_text("utf-8"))
    assert page.select_one('a[href="#fig-greedy"]').get_text() == "Fig. 2"
    machines = page.select("figure > .time-machine")
    anchors = [data_of(one)["anchor"] for one in machines]
    assert anchors == ["fig-whole", "fig-greedy"]
    ids = [element["id"] for element in page.select("[id]")]
    assert len(ids) == len(set(ids))


def test_mistakes_are_warnings_and_so_end_the_build(tmp_path):
    wrong = {
        DIRECTIVE.replace("NAME", "no-such"): "runs with samples: drawn",
        "```{time-machine} whole\n:label: x\n```": "give a :caption:",
        "```{time-machine} whole\n:caption: x\n```": "give a :label:",
    }
    text = "\n\n".join(["# One", *wrong, ""])
    warnings = build_project(tmp_path, EXTENSIONS, {"index": text})
    assert all(message in warnings for message in wrong.values())
