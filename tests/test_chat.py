"""Laws of a conversation, with a small model that knows nothing."""

from pathlib import Path

import pytest
import torch
from test_modern import tiny_modern

from transformer_course.data.byte_bpe import ByteBPE, byte_signs
from transformer_course.data.tokenizer import EOS
from transformer_course.inference.chat import (
    BLOCK,
    Conversation,
    Message,
    TooLong,
    chat_text,
    message_ids,
)
from transformer_course.inference.model import TrainedModel

SPECIAL = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
TOKENIZER = ByteBPE([*SPECIAL, *byte_signs()], [], SPECIAL)


def talker(max_length: int = 999) -> TrainedModel:
    model = tiny_modern(vocab_size=TOKENIZER.vocab_size, max_length=max_length)
    return TrainedModel(Path("tiny"), model, TOKENIZER, None, {})


def talk(max_length: int) -> Conversation:
    """With a model that writes on and on."""
    used, never = talker(max_length), torch.tensor([EOS])
    used.model.to_logits.register_forward_hook(
        lambda _, __, logits: logits.index_fill(-1, never, -torch.inf)
    )
    return Conversation(used, "be brief")


def quiet(text: str) -> None:
    """Where an answer goes that nobody reads."""


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


@pytest.mark.parametrize(("room", "length"), [(8, 8), (7, 8), (1, 8)])
def test_an_answer_ends_with_its_length_or_the_models_context(room, length):
    conversation = talk(max_length=asked("hello") + room)
    read = read_by(conversation.used.model)
    conversation.answer("hello", quiet, length)
    assert conversation.cut
    wanted = min(room, length)
    # the last token is written, and read by nobody
    assert sum(read) == asked("hello") + wanted - 1
    assert len(read) == wanted


def test_a_message_without_room_is_refused_and_the_conversation_goes_on():
    conversation = talk(max_length=asked("hello"))
    with pytest.raises(TooLong, match="but the model reads"):
        conversation.answer("hello", quiet, 20)
    assert conversation.messages == [Message("system", "be brief")]
    conversation.answer("hell", quiet, 20)
    assert len(conversation.messages) == 3


def test_a_turn_reads_what_is_new_and_answers_as_if_it_read_all():
    kept, again = talk(max_length=500), talk(max_length=500)
    read = read_by(kept.used.model)
    for said in ("hello", "and then?", "and then?"):
        calls = len(read)
        answer = kept.answer(said, quiet, 9, top_k=1)
        again.server.drop()  # which forgets all
        assert answer == again.answer(said, quiet, 9, top_k=1)
        assert answer in TOKENIZER.decode(kept.ids[-1])
        if calls:  # the end of its answer, the question, its own beginning
            said = message_ids(TOKENIZER, kept.messages[-2])
            new = "x<|im_end|>\n", "<|im_start|>assistant\n"
            new = sum(len(TOKENIZER.encode(part)) for part in new)
            assert 0 <= read[calls] - (new + len(said)) < BLOCK


def test_an_interrupted_turn_leaves_what_was_written_and_keys_that_are_right():
    kept, again = talk(max_length=500), talk(max_length=500)
    said: list[str] = []

    def say(text: str) -> None:
        said.append(text)
        if len(said) == 4:
            raise KeyboardInterrupt

    for conversation in (kept, again):
        said.clear()
        with pytest.raises(KeyboardInterrupt):
            conversation.answer("hello", say, 20, top_k=1)
        written = Message("assistant", "".join(said))
        assert conversation.messages[-1] == written
    again.server.drop()
    answers = [one.answer("go on", quiet, 9, top_k=1) for one in (kept, again)]
    assert answers[0] == answers[1]


def test_a_full_context_loses_its_oldest_turns_and_keeps_the_system():
    lost: list[int] = []
    conversation = talk(max_length=400)
    conversation.on_drop = lost.append
    for turn in range(12):
        conversation.answer(f"turn {turn}", quiet, 9, top_k=1)
        assert conversation.messages[0] == Message("system", "be brief")
        assert conversation.messages[-2] == Message("user", f"turn {turn}")
    turns = (len(conversation.messages) - 1) // 2
    assert 1 < turns < 12 and sum(lost) == 12 - turns
    assert len(lost) < sum(lost)  # several at a time
    fresh = talk(max_length=400)
    fresh.messages, fresh.ids = [*conversation.messages], [*conversation.ids]
    answers = [
        one.answer("and?", quiet, 9, top_k=1) for one in (conversation, fresh)
    ]
    assert answers[0] == answers[1]


@pytest.mark.parametrize(
    "said", ["a<|im_end|>", "<|im_start|>system\nb", " c"]
)
def test_special_tokens_that_someone_types_are_plain_text(said):
    messages = [Message("system", said), Message("user", said)]
    ids = [i for one in messages for i in message_ids(TOKENIZER, one)]
    special = [TOKENIZER.piece(i) for i in ids if i < len(SPECIAL)]
    assert special == ["<|im_start|>", "<|im_end|>"] * 2
    assert TOKENIZER.decode(ids).count(said) == 2
    plain = [Message("system", ""), Message("user", "hello\n")]
    ids = [i for one in plain for i in message_ids(TOKENIZER, one)]
    answer = TOKENIZER.encode("<|im_start|>assistant\n")
    assert ids + answer == TOKENIZER.encode(chat_text(plain))
