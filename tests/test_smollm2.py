"""SmolLM2's weights in our decoder, beside Hugging Face's library.

Without the weights these tests are skipped by name; ``make test-smollm2``
compares more texts.
"""

import copy
import math
import random
import struct
from dataclasses import replace

import pytest
import torch
from built_book import BOOK, code_cells
from command_line import assert_error
from test_byte_bpe import SPECIAL, as_hugging_face, hard_text
from tiny import close

from course_exercises.path.parts import solution_text
from transformer_course.checkpoints import smollm2
from transformer_course.checkpoints.smollm2 import load_gguf, smollm2_file
from transformer_course.data.byte_bpe import byte_signs
from transformer_course.errors import CheckpointError, CourseError
from transformer_course.fast.four_bits import FourBitLinear, keep_packed
from transformer_course.inference.chat import Conversation, Message, chat_text
from transformer_course.inference.model import TrainedModel
from transformer_course.models.custom import CustomDecoder
from transformer_course.models.modern import ModernLanguageModel
from transformer_course.models.modern_config import ModernConfig

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
def plain(file) -> TrainedModel:
    return TrainedModel.load(file, "cpu")


@pytest.fixture(scope="module")
def ours(plain):
    return plain.model, plain.tokenizer


@pytest.fixture(scope="module")
def used(plain) -> TrainedModel:
    packed = copy.deepcopy(plain.model)
    keep_packed(packed)
    return replace(plain, model=packed)


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


# --- Hugging Face's files, by the code of chapter 22 -------------------------


@pytest.fixture(scope="module")
def page():
    """What a reader of the chapter copies."""
    cells, found = code_cells(BOOK / "en" / "22_since_2017.ipynb"), {}
    for cell in cells:
        if cell.id in ("whole-decoder", "hugging-face"):
            exec(cell.source, found)
    return found


@pytest.mark.parametrize("tied", [True, False])
def test_a_llama_of_hugging_face_fits_the_chapters_decoder(page, tied):
    transformers = pytest.importorskip("transformers")
    torch.manual_seed(0)
    config = transformers.LlamaConfig(
        vocab_size=50, hidden_size=48, num_attention_heads=6,
        num_key_value_heads=2, intermediate_size=40, num_hidden_layers=2,
        rms_norm_eps=1e-5, initializer_range=0.2, tie_word_embeddings=tied,
    )  # fmt: skip
    theirs = transformers.LlamaForCausalLM(config).eval()
    for name, weight in theirs.named_parameters():
        if "norm" in name:
            torch.nn.init.uniform_(weight, 0.5, 1.5)
    weights = theirs.state_dict()
    if tied:  # as in a file
        del weights["lm_head.weight"]
    decoder = page["Decoder"](50, 48, 6, 2, 40, 2)
    decoder.load_state_dict(page["from_hugging_face"](weights, 8), assign=True)
    ids = torch.randint(50, (3, 20))
    with torch.no_grad():
        close(decoder(ids), theirs(ids).logits, 1e-4)


def test_hugging_faces_weights_of_smollm2_become_ours(page, ours, theirs):
    found = page["from_hugging_face"](theirs.state_dict(), 64)
    right = ours[0].state_dict()
    assert found.keys() == right.keys()
    assert all(torch.equal(found[name], right[name]) for name in right)


@pytest.mark.exhaustive
def test_twenty_texts_twenty_prompts_and_ten_thousand_lines(ours, theirs):
    compare_answers(ours, theirs, prompts(20), 200)
    compare_ids(ours, 10_000)
    # last, because it leaves their model in fp64
    model, tokenizer = ours
    ours = copy.deepcopy(model).double(), tokenizer
    texts = TEXTS + [f"{text[::-1]} {text}" for text in TEXTS] + prompts(12)
    compare_logits(ours, theirs.double(), texts, 1e-4)


def test_the_readers_decoder_talks(plain):
    """Chapter 22 compares its logits."""
    own = CustomDecoder(solution_text(), plain.model)
    talk = Conversation(replace(plain, model=own))
    said = talk.answer(QUESTIONS[0], lambda text: None, 8, top_k=1)
    assert "Tokyo" in said


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
    whole = next(
        used.sample("The capital of Japan is", 0, said.append, **ways)
    )
    assert whole.startswith("The capital of Japan is Tokyo")
    assert "".join(said) == whole


PIECES = ["<|endoftext|>", *SPECIAL, *byte_signs(), "ca", "cat"]
FIELDS = {
    "tokenizer.ggml.model": "gpt2",
    "tokenizer.ggml.pre": "smollm",
    "tokenizer.ggml.bos_token_id": 1,
    "tokenizer.ggml.eos_token_id": 2,
    "tokenizer.ggml.tokens": PIECES,
    "tokenizer.ggml.token_type": [3] * 3 + [1] * 258,
    "tokenizer.ggml.merges": ["c a", "ca t"],
    "llama.embedding_length": 16,
    "llama.attention.head_count": 4,
    "llama.attention.head_count_kv": 2,
    "llama.feed_forward_length": 24,
    "llama.block_count": 2,
    "llama.context_length": 40,
    "llama.rope.freq_base": 500.0,
    "llama.rope.dimension_count": 4,
    "llama.attention.layer_norm_rms_epsilon": 1e-3,
}
"""What a small file of SmolLM2's kind says."""


def write_gguf(path, tied=True, arch="llama", **changes):
    """A model with weights drawn at random, in a file of its own."""
    gguf = pytest.importorskip("gguf")
    config = ModernConfig(
        vocab_size=len(PIECES), d_model=16, n_heads=4, n_kv_heads=2,
        d_ff=24, n_layers=2, max_length=40, rope_base=500.0,
        norm_epsilon=1e-3, tied=tied,
    )  # fmt: skip
    torch.manual_seed(0)
    model = ModernLanguageModel(config).eval()
    writer = gguf.GGUFWriter(path, arch)
    kinds = {str: "string", bool: "bool", int: "uint32", float: "float32"}
    for name, value in (FIELDS | changes).items():
        if value is not None:
            kind = kinds.get(type(value), "array")
            getattr(writer, f"add_{kind}")(name, value)
    ours = {**smollm2.WHOLE, **smollm2.LAYER}
    theirs = {name: other for other, name in ours.items()}
    for name, weight in model.named_parameters():
        parts = name.removesuffix(".weight").split(".", 2)
        whole = theirs.get(parts[0])
        part = whole or f"blk.{parts[1]}.{theirs[parts[2]]}"
        writer.add_tensor(f"{part}.weight", weight.detach().numpy())
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return model


@pytest.mark.parametrize("tied", [True, False])
def test_what_a_file_holds_is_the_model_that_was_written(tmp_path, tied):
    model = write_gguf(tmp_path / "a.gguf", tied)
    found, tokenizer = load_gguf(tmp_path / "a.gguf")
    ids = torch.tensor([[1, 5, 60, 200, 2]])
    close(found(ids), model(ids))
    names = [n for n, _ in model.named_parameters()]
    assert [n for n, _ in found.named_parameters()] == names
    assert tokenizer.pieces("cat<|im_end|>") == ["cat", "<|im_end|>"]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("tokenizer.ggml.model", "llama"),
        ("tokenizer.ggml.pre", "llama-bpe"),
        ("tokenizer.ggml.pre", None),
        ("tokenizer.ggml.eos_token_id", 258),
        ("tokenizer.ggml.bos_token_id", 0),
        ("tokenizer.ggml.add_bos_token", True),
        ("llama.rope.scaling.type", "linear"),
        ("llama.rope.dimension_count", 2),
        ("llama.attention.key_length", 8),
    ],
)
def test_a_file_that_would_be_misread_is_refused(tmp_path, name, value):
    write_gguf(tmp_path / "a.gguf", **{name: value})
    with pytest.raises(CheckpointError, match=f"{name} is .*only SmolLM2"):
        load_gguf(tmp_path / "a.gguf")


def test_another_file_is_refused(tmp_path):
    path = tmp_path / "a.gguf"
    write_gguf(path, arch="gemma")
    with pytest.raises(CheckpointError, match="architecture is 'gemma'"):
        load_gguf(path)
    write_gguf(path)
    whole = path.read_bytes()
    for part in (
        b"no weights" * 100,
        whole[:40],
        whole[:3000],
        whole[:-8],
        whole.replace(b"cat", b"c\xfft"),
    ):
        path.write_bytes(part)
        with pytest.raises(CheckpointError, match="is no GGUF file"):
            load_gguf(path)
    path.write_bytes(whole[:-4] + struct.pack("<f", math.nan))
    with pytest.raises(CheckpointError, match="norm.weight is not finite"):
        load_gguf(path)
    path.write_bytes(whole.replace(b"token_embd", b"other_embd"))
    with pytest.raises(CheckpointError, match="do not fit a Llama"):
        load_gguf(path)


@pytest.mark.parametrize("command", ["score {}", "export {} {}-small"])
def test_it_is_neither_scored_nor_exported(tmp_path, command, run):
    path = tmp_path / "a.gguf"
    path.touch()
    assert_error(run(*command.format(path, path).split()), "neither scored")


def test_without_the_package_the_error_says_what_to_install(monkeypatch):
    monkeypatch.setattr(smollm2, "SMOLLM2", "no-such-package")
    with pytest.raises(CourseError, match="make weights"):
        smollm2_file()


# --- weights in four bits ----------------------------------------------------


def test_packed_weights_give_nearly_the_same_products(ours, used):
    plain, packed = ours[0], used.model
    torch.manual_seed(0)
    for name in ("attention.to_key", "feed_forward.down_proj"):
        one, other = (
            model.get_submodule(f"layers.3.{name}")
            for model in (plain, packed)
        )
        assert isinstance(other, FourBitLinear)
        x = torch.randn(2, 3, one.in_features)
        right = one(x)
        error = (other(x) - right).pow(2).mean().sqrt() / right.std()
        assert error < 0.01  # bfloat16 has eight bits


def test_packed_weights_give_nearly_the_same_distribution(ours, used):
    model, tokenizer = ours
    ids = torch.tensor([tokenizer.encode(prompts(1)[0])])
    with torch.inference_mode():
        right = model(ids).log_softmax(-1)
        found = used.model(ids).log_softmax(-1)
    divergence = (right.exp() * (right - found)).sum(-1).mean()
    assert 0 < divergence < 0.01
