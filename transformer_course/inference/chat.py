"""A conversation with a published model that answers (chapter 22)."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import torch

from transformer_course.console import Say
from transformer_course.data.byte_bpe import ByteBPE
from transformer_course.data.tokenizer import EOS
from transformer_course.decoding.generate import sample
from transformer_course.decoding.translate import TextStreamer
from transformer_course.errors import ConfigError
from transformer_course.inference.model import TrainedModel

SYSTEM = "You are a helpful AI assistant named SmolLM, trained by Hugging Face"
"""What SmolLM2 is told where nobody tells it anything else."""


class Message(NamedTuple):
    """What one side said."""

    role: str
    """system, user or assistant."""
    content: str


def chat_text(messages: list[Message]) -> str:
    """A conversation as SmolLM2 was trained to read it, its answer to come.

    The template is ChatML; the model's GGUF file carries it as
    ``tokenizer.chat_template``.
    """
    return "".join(_parts(messages))


def chat_ids(tokenizer: ByteBPE, messages: list[Message]) -> list[int]:
    """Ids of a conversation; a special token in a message is plain text.

    What someone writes can so not end a message, nor begin another role's.
    """
    return [
        i
        for place, part in enumerate(_parts(messages))
        for i in tokenizer.encode(part, special=place % 2 == 0)
    ]


def _parts(messages: list[Message]) -> Iterator[str]:
    """The template's text: a special token, plain text, and so on."""
    if messages[0].role != "system":
        messages = [Message("system", SYSTEM), *messages]
    for role, content in messages:
        yield from ("<|im_start|>", f"{role}\n{content}", "<|im_end|>", "\n")
    yield from ("<|im_start|>", "assistant\n")


@dataclass
class Conversation:
    """Messages to and from a model; each answer reads all of them.

    Raises:
        ConfigError: the model was not trained to answer.
    """

    used: TrainedModel
    system: str = SYSTEM
    messages: list[Message] = field(default_factory=list)
    cut: bool = False
    """Whether the last answer had not ended where it had to."""

    def __post_init__(self):
        if not isinstance(self.used.tokenizer, ByteBPE):
            raise ConfigError(
                f"{self.used.path} was not trained to answer: chat with "
                "smollm2, or let it continue a text (generate)."
            )
        self.messages.insert(0, Message("system", self.system))

    def answer(self, said: str, say: Say, length: int, **settings: Any) -> str:
        """Answer a message; what was written counts if it is interrupted.

        Args:
            said: by the user.
            say: called with text as it is written.
            length: most tokens of the answer.
            settings: of :func:`~.generate.sample`.

        Raises:
            ConfigError: the conversation leaves no room for an answer.
        """
        self.messages.append(Message("user", said))
        ids = chat_ids(self.used.tokenizer, self.messages)
        longest = self.used.model.config.max_length
        if len(ids) >= longest:
            self.messages.pop()
            raise ConfigError(
                f"the conversation has {len(ids):,} tokens, but the model "
                f"reads {longest:,}: begin a new one, or say less."
            )
        text = TextStreamer(self.used.tokenizer)
        self.cut = False
        try:
            sample(
                self.used.model,
                prefix=torch.tensor([ids[1:]]),
                start=ids[0],
                max_length=min(len(ids) + length, longest) - 1,
                on_token=lambda token: say(text.add(int(token))),
                **settings,
            )
            self.cut = text.ids[-1] != EOS
        finally:
            say(text.end())
            self.messages.append(Message("assistant", text.shown))
        return text.shown
