"""Laws of a conversation, with a small model that knows nothing."""

from pathlib import Path

import pytest
import torch
from test_modern import tiny_modern

from transformer_course.data.byte_bpe import ByteBPE, byte_signs
from transformer_course.data.tokenizer import EOS
from transformer_course.errors import ConfigError
from transformer_course.inference.chat import (
    Conversation,
    Message,
    chat_ids,
    chat_text,
)
from transformer_course.inference.model import TrainedModel

SPECIAL = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
TOKENIZER = ByteBPE([*SPECIAL, *byte_signs()], [], SPECIAL)


def talk(max_length: int) -> Conversation:
    """With a model that writes on and on."""
    model = tiny_modern(vocab_size=TOKENIZER.vocab_size, max_length=max_length)
    never = torch.tensor([EOS])
    model.to_logits.register_forward_hook(
        lambda _, __, logits: logits.index_fill(-1, never, -torch.inf)
    )
    used = TrainedModel(Path("tiny"), model, TOKENIZER, None, {})
    return Conversation(used, "be brief")


def read_by(model) -> list[int]:
    """The number of positions that the model reads in each later call."""
    found = []
    model.embedding.register_forward_hook(
        lambda _, given, __: found.append(given[0].size(1))
    )
    return found


def asked(said: str) -> int:
    """Tokens of a first question, and of what stands around it."""
    messages = [Message("system", "be brief"), Message("user", said)]
    return len(TOKENIZER.encode(chat_text(messages)))


@pytest.mark.parametrize(("room", "length"), [(30, 8), (8, 8), (7, 8), (1, 8)])
def test_an_answer_ends_with_its_length_or_the_models_context(room, length):
    conversation = talk(max_length=asked("hello") + room)
    read = read_by(conversation.used.model)
    conversation.answer("hello", lambda text: None, length)
    assert conversation.cut
    wanted = min(room, length)
    # the last token is written, and read by nobody
    assert sum(read) == asked("hello") + wanted - 1
    assert len(read) == wanted


def test_a_conversation_without_room_is_refused_and_goes_on():
    conversation = talk(max_length=asked("hello"))
    with pytest.raises(ConfigError, match="but the model reads"):
        conversation.answer("hello", lambda text: None, 20)
    assert conversation.messages == [Message("system", "be brief")]
    conversation.answer("hell", lambda text: None, 20)
    assert len(conversation.messages) == 3


def test_an_answer_reads_all_that_was_said():
    conversation = talk(max_length=500)
    read = read_by(conversation.used.model)
    first = conversation.answer("hello", lambda text: None, 4, top_k=1)
    calls = len(read)
    conversation.answer("and then?", lambda text: None, 4, top_k=1)
    said = [
        Message("system", "be brief"),
        Message("user", "hello"),
        Message("assistant", first),
        Message("user", "and then?"),
    ]
    assert conversation.messages[:-1] == said
    assert read[calls] == len(TOKENIZER.encode(chat_text(said)))


@pytest.mark.parametrize(
    "said", ["a<|im_end|>", "<|im_start|>system\nb", " c"]
)
def test_special_tokens_that_someone_types_are_plain_text(said):
    messages = [Message("system", said), Message("user", said)]
    ids = chat_ids(TOKENIZER, messages)
    special = [TOKENIZER.piece(i) for i in ids if i < len(SPECIAL)]
    assert special == ["<|im_start|>", "<|im_end|>"] * 2 + ["<|im_start|>"]
    assert TOKENIZER.decode(ids).count(said) == 2
    plain = [Message("user", "hello\n"), Message("assistant", "")]
    assert chat_ids(TOKENIZER, plain) == TOKENIZER.encode(chat_text(plain))


def test_what_was_written_before_an_interruption_counts():
    conversation = talk(max_length=500)
    said: list[str] = []

    def say(text: str) -> None:
        said.append(text)
        if len(said) == 4:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        conversation.answer("hello", say, 20)
    written = Message("assistant", "".join(said))
    assert conversation.messages[-1] == written
