"""SmolLM2's weights in our decoder, beside Hugging Face's library.

Without the weights these tests are skipped by name; ``make test-smollm2``
compares more texts.
"""

import copy
import random

import pytest
import torch
from test_byte_bpe import as_hugging_face, hard_text
from tiny import close

from transformer_course.checkpoints import smollm2
from transformer_course.checkpoints.smollm2 import load_gguf, smollm2_file
from transformer_course.cli import main
from transformer_course.errors import CheckpointError, CourseError
from transformer_course.inference.chat import Conversation, Message, chat_text
from transformer_course.inference.model import TrainedModel

TEXTS = [
    "The capital of Japan is Tokyo.",
    "def add(a, b):\n    return a + b\n\n\nprint(add(2, 40))",
    "吾輩は猫である。名前はまだ無い。",
    "Cats drink milk, and " * 40,
]
QUESTIONS = [
    "What is the capital of Japan?",
    "Write a short poem about a cat that drinks milk.",
]


@pytest.fixture(scope="module")
def file():
    pytest.importorskip("gguf")
    try:
        return smollm2_file()
    except CourseError as error:
        pytest.skip(str(error))


@pytest.fixture(scope="module")
def used(file) -> TrainedModel:
    return TrainedModel.load(file, "cpu")


@pytest.fixture(scope="module")
def ours(used):
    return used.model, used.tokenizer


@pytest.fixture(scope="module")
def theirs(file):
    """The same file, read by Hugging Face's library."""
    transformers = pytest.importorskip("transformers")
    pytest.importorskip("accelerate")
    return transformers.AutoModelForCausalLM.from_pretrained(
        file.parent, gguf_file=file.name, dtype=torch.float32
    ).eval()


def prompts(how_many: int) -> list[str]:
    """Conversations that begin with a question."""
    topics = "cats rain Tokyo music bread trains winter stars tea".split()
    more = [f"Tell me something about {topic}." for topic in topics]
    more += [f"Write one sentence with the word {topic}." for topic in topics]
    asked = (QUESTIONS + more)[:how_many]
    return [chat_text([Message("user", question)]) for question in asked]


def compare_logits(ours, theirs, texts, tolerance):
    model, tokenizer = ours
    for text in texts:
        ids = torch.tensor([tokenizer.encode(text)])
        with torch.no_grad():
            close(model(ids), theirs(ids).logits, tolerance)


def compare_answers(ours, theirs, texts, length):
    """Greedy: the same tokens, up to where two are equally likely."""
    model, tokenizer = ours
    for text in texts:
        ids = tokenizer.encode(text)
        given = torch.tensor([ids])
        mask = torch.ones_like(given)
        with torch.no_grad():
            [expected] = theirs.generate(
                given, attention_mask=mask, max_new_tokens=length,
                do_sample=False, eos_token_id=2, pad_token_id=0,
            )  # fmt: skip
        cache, new = model.new_cache(), given
        found = list(ids)
        with torch.no_grad():
            while len(found) < len(ids) + length and found[-1] != 2:
                new = model.decode(new, cache)[:, -1:].argmax(dim=-1)
                found.append(int(new))
        expected = expected.tolist()
        if found != expected:
            at = next(i for i, id_ in enumerate(found) if id_ != expected[i])
            with torch.no_grad():
                best = model(torch.tensor([found[:at]]))[0, -1]
            close(best[found[at]], best[expected[at]], 1e-4)


def compare_ids(ours, lines):
    tokenizer = ours[1]
    merges = list(tokenizer._ranks)
    theirs = as_hugging_face(tokenizer, merges, sorted(tokenizer._special))
    rng = random.Random(0)
    for _ in range(lines):
        text = hard_text(rng)
        expected = theirs.encode(text, add_special_tokens=False).ids
        assert tokenizer.encode(text) == expected, repr(text)


def test_logits_are_those_of_transformers(ours, theirs):
    # in fp32 rounding comes to 2e-4, by processor and threads
    compare_logits(ours, theirs, TEXTS[:2], 1e-3)


def test_answers_are_those_of_transformers(ours, theirs):
    compare_answers(ours, theirs, prompts(2), 40)


def test_ids_are_those_of_its_tokenizer(ours):
    compare_ids(ours, 500)


@pytest.mark.exhaustive
def test_twenty_texts_twenty_prompts_and_ten_thousand_lines(ours, theirs):
    compare_answers(ours, theirs, prompts(20), 200)
    compare_ids(ours, 10_000)
    # last, because it leaves their model in fp64
    model, tokenizer = ours
    ours = copy.deepcopy(model).double(), tokenizer
    texts = TEXTS + [f"{text[::-1]} {text}" for text in TEXTS] + prompts(12)
    compare_logits(ours, theirs.double(), texts, 1e-4)


def test_it_answers_and_keeps_the_conversation(used):
    talk = Conversation(used)
    said: list[str] = []
    first = talk.answer(QUESTIONS[0], said.append, 20, top_k=1)
    second = talk.answer("And of France?", said.append, 20, top_k=1)
    assert "Tokyo" in first and "Paris" in second
    assert "".join(said) == first + second
    roles = [message.role for message in talk.messages]
    assert roles == ["system", *["user", "assistant"] * 2]


def test_it_continues_a_text_that_begins_with_no_bos(used):
    said: list[str] = []
    ways = {"top_k": 1, "max_length": 12}
    whole = next(used.sample("The capital of Japan is", 0, **ways))
    assert whole.startswith("The capital of Japan is Tokyo")
    assert next(used.sample("The capital of Japan is", 0, said.append, **ways))
    assert "".join(said) == whole


def test_what_was_written_before_an_interruption_counts(used):
    talk = Conversation(used)
    said: list[str] = []

    def say(text: str) -> None:
        said.append(text)
        if len(said) == 4:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        talk.answer(QUESTIONS[0], say, 20, top_k=1)
    assert talk.messages[-1] == Message("assistant", "".join(said[:4]))


def test_a_conversation_without_room_is_refused_and_goes_on(used):
    talk = Conversation(used)
    with pytest.raises(CourseError, match=r"but the model reads 8,192"):
        talk.answer("cat " * 9000, lambda text: None, 20)
    assert [message.role for message in talk.messages] == ["system"]


def test_another_file_is_refused(tmp_path):
    pytest.importorskip("gguf")
    (tmp_path / "a.gguf").write_bytes(b"no weights" * 100)
    with pytest.raises(CheckpointError, match="is no GGUF file"):
        load_gguf(tmp_path / "a.gguf")


@pytest.mark.parametrize("command", ["score {}", "export {} {}-small"])
def test_it_is_neither_scored_nor_exported(tmp_path, command, capsys):
    path = tmp_path / "a.gguf"
    path.touch()
    with pytest.raises(SystemExit):
        main(command.format(path, path).split())
    said = capsys.readouterr().err
    assert "neither scored" in said and said.count("\n") == 1


def test_without_the_package_the_error_says_what_to_install(monkeypatch):
    monkeypatch.setattr(smollm2, "SMOLLM2", "no-such-package")
    with pytest.raises(CourseError, match="make weights"):
        smollm2_file()
