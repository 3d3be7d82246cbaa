"""What a learner reads in Japanese; ``test_japanese`` has the texts' rules."""

import ast
import re
import tomllib

import pytest
from built_book import ROOT

from course_exercises import language
from course_exercises.catalogue.masks.causal_mask import EXERCISE
from course_exercises.contents import EXERCISES
from course_exercises.engine.diagnose import diagnose
from course_exercises.engine.show import WIDTH
from course_exercises.language import VARIABLE, beside, columns, digest_of
from course_exercises.path import parts
from tools.exercise_notebooks import SOURCES, learner_notebook
from tools.translate.rules import avoided
from transformer_course.cli import own

PACKAGE = ROOT / "course_exercises"
TEXT = (PACKAGE / "messages.ja.toml").read_text("utf-8")


@pytest.fixture
def japanese(monkeypatch):
    monkeypatch.setenv(VARIABLE, "ja")


def test_a_wrong_answer_is_answered_in_japanese(japanese):
    inverted = EXERCISE.mistakes[0].implementation
    lines = diagnose(EXERCISE, inverted).text.splitlines()
    assert max(map(columns, lines)) <= WIDTH
    assert not any(re.match("[、。）」]", line.strip()) for line in lines)
    text = "".join(lines)
    for said in ("まだ正しくありません", "未来のところで True", "正しい結果"):
        assert said in text
    assert "（トークンが一つ）" in text and "第06章" in text
    assert "正解です" in diagnose(EXERCISE, EXERCISE.solution).text


def test_the_command_speaks_it_too(japanese, tmp_path, capsys, monkeypatch):
    monkeypatch.setenv(VARIABLE, "en")
    file = tmp_path / "my_transformer.py"
    own.start(file, language="ja")
    text = file.read_text("utf-8")
    assert "それぞれのトークンに" in text and "私の Transformer" in text
    stub = parts.stub("causal_mask")
    wrong = "return torch.ones(length, length).bool().triu(1)[None, None]"
    code = stub.replace("raise NotImplementedError  # your code here", wrong)
    file.write_text(text.replace(stub, code), "utf-8")
    with pytest.raises(SystemExit):
        own.check(file, language="ja")
    said = capsys.readouterr().out
    assert "誤り：causal inverted" in said and "未来のところで True" in said


def test_what_is_stale_is_english(tmp_path):
    path = tmp_path / "text.ja.md"
    fresh, stale = digest_of("One  text."), digest_of("Another text.")
    path.write_text(f"<!-- a {fresh} -->\n\n文\n\n<!-- b {stale} -->\n\n文\n")
    assert language.translated(path, "a", "One text.") == "文"
    assert language.translated(path, "b", "One text.") == "One text."
    assert language.translated(path, "c", "One text.") == "One text."


def code_of(source: str) -> str:
    tree = ast.parse(source)
    for node in ast.walk(tree):
        kinds = (ast.FunctionDef, ast.ClassDef)
        if isinstance(node, kinds) and ast.get_docstring(node):
            node.body[0].value = ast.Constant("")
    return ast.dump(tree)


def test_a_stub_in_japanese_has_the_code_of_the_english(monkeypatch):
    english = {name: one.stub for name, one in EXERCISES.items()}
    monkeypatch.setenv(VARIABLE, "ja")
    for name, exercise in EXERCISES.items():
        stub = exercise.stub
        assert code_of(stub) == code_of(english[name])
        if beside(exercise.texts).exists():
            assert stub != english[name]


def test_a_notebook_keeps_its_language(japanese):
    cells = learner_notebook(SOURCES / "06_masks.md").cells
    assert cells[0].source.startswith("# 演習：マスク\n")
    assert cells[1].source.startswith(f"%env {VARIABLE}=ja\n")
    stub = next(cell.source for cell in cells if cell.id == "causal_mask")
    assert "それぞれのトークンに" in stub


def said_in(source: str) -> list[str]:
    """The words that a module says: what is given to ``say`` as it stands."""
    return [
        node.args[0].value
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Call)
        and getattr(node.func, "id", "") == "say"
        and isinstance(node.args[0], ast.Constant)
    ]


def test_all_that_is_said_has_its_japanese_with_the_same_values():
    messages = tomllib.loads(TEXT)
    files = [*PACKAGE.rglob("*.py"), ROOT / "tools/exercise_notebooks.py"]
    sources = [path.read_text("utf-8") for path in files]
    said = {words for source in sources for words in said_in(source)}
    assert said <= messages.keys()
    strings = {
        node.value
        for source in sources
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Constant)
    }
    assert messages.keys() <= strings, "nothing else says it"
    for english, words in messages.items():
        values = re.compile(r"\{[^}]*\}|`[^`]+`")
        assert sorted(values.findall(words)) == sorted(values.findall(english))
    assert not [word for word in avoided() if re.search(word, TEXT)]
