"""A conversation with a published model that answers (chapter 23)."""

from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import chain
from typing import Any, NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor

from transformer_course.console import Say
from transformer_course.data.byte_bpe import ByteBPE
from transformer_course.data.tokenizer import EOS
from transformer_course.decoding.generate import drawing
from transformer_course.decoding.translate import TextStreamer
from transformer_course.errors import ConfigError
from transformer_course.fast.paged import Server, Text
from transformer_course.inference.model import TrainedModel
from transformer_course.models.modern import ModernLanguageModel

BLOCK = 16
"""Positions that a conversation keeps or forgets together."""
SYSTEM = "You are a helpful AI assistant named SmolLM, trained by Hugging Face"
"""What SmolLM2 is told where nobody tells it anything else."""


class TooLong(ConfigError):
    """A message that does not fit into the model's context."""


class Message(NamedTuple):
    """What one side said."""

    role: str
    """system, user or assistant."""
    content: str


START, END = "<|im_start|>", "<|im_end|>"
"""Where a message begins, and where it ends."""
ANSWER = f"{START}assistant\n"
"""How a message of the model begins."""


def chat_text(messages: list[Message]) -> str:
    """A conversation as SmolLM2 was trained to read it, its answer to come.

    The template is ChatML; the model's GGUF file carries it as
    ``tokenizer.chat_template``.
    """
    if messages[0].role != "system":
        messages = [Message("system", SYSTEM), *messages]
    parts = (f"{START}{role}\n{content}{END}\n" for role, content in messages)
    return "".join(parts) + ANSWER


def message_ids(tokenizer: ByteBPE, message: Message) -> list[int]:
    """Ids of a message; a special token in its content is plain text.

    What someone writes can so not end a message, nor begin another role's.
    """
    plain = f"{message.role}\n{message.content}"
    return [
        *tokenizer.encode(START),
        *tokenizer.encode(plain, special=False),
        *tokenizer.encode(f"{END}\n"),
    ]


class WholeServer(Server):
    """Reads all of a text for each token, by a model that keeps nothing."""

    def logits(self, texts: list[Text]) -> Float[Tensor, "texts vocab"]:
        """Logits of the next token."""
        ids = torch.tensor([text.ids for text in texts])
        return self.model.decode(ids.to(self.blocks.kept.device))[:, -1]


@dataclass
class Conversation:
    """Messages to and from a model, which reads what is new.

    A server writes the answers, one text at a time, and keeps keys and values
    of what it has read. Where the context is full, the oldest turns are
    dropped until half of it is free: what is left has other positions and is
    read again, which should not happen each time.

    Raises:
        ConfigError: the model was not trained to answer.
    """

    used: TrainedModel
    system: str = SYSTEM
    on_drop: Callable[[int], object] = lambda turns: None
    """Called with the number of turns that are dropped."""
    messages: list[Message] = field(default_factory=list)
    ids: list[list[int]] = field(default_factory=list)
    """Those of each message; of an answer those that the model wrote."""
    cut: bool = False
    """Whether the last answer had not ended where it had to."""
    server: Server = field(init=False)

    def __post_init__(self):
        if not isinstance(self.used.tokenizer, ByteBPE):
            raise ConfigError(
                f"{self.used.path} was not trained to answer: chat with "
                "smollm2, or let it continue a text (generate)."
            )
        self._add(Message("system", self.system))
        model = self.used.model
        keeps = isinstance(model, ModernLanguageModel)
        kind = Server if keeps else WholeServer
        blocks = -(-model.config.max_length // BLOCK)
        self.server = kind(model, rows=1, blocks=blocks, size=BLOCK)

    def answer(self, said: str, say: Say, length: int, **settings: Any) -> str:
        """Answer a message; what was written counts if it is interrupted.

        Args:
            said: by the user.
            say: called with text as it is written.
            length: most tokens of the answer.
            settings: of :func:`~.generate.drawing`.

        Raises:
            TooLong: the message leaves no room for an answer.
        """
        tokenizer = self.used.tokenizer
        longest = self.used.model.config.max_length
        self._make_room(Message("user", said), length)
        ids = [*chain.from_iterable(self.ids), *tokenizer.encode(ANSWER)]
        shown = TextStreamer(tokenizer)
        text = Text(
            ids,
            min(length, longest - len(ids)),
            drawing(**settings),
            lambda token: say(shown.add(token)),
        )
        self.cut = False
        try:
            self.server.add(text)
            while self.server.step():
                pass
            self.cut = text.ids[-1] != EOS
        finally:
            self.server.leave(text)
            say(shown.end())
            self.messages.append(Message("assistant", shown.shown))
            self.ids.append(tokenizer.encode(ANSWER) + text.written)
            self.ids[-1] += tokenizer.encode(f"{END}\n")
        return shown.shown

    def _add(self, message: Message) -> None:
        self.messages.append(message)
        self.ids.append(message_ids(self.used.tokenizer, message))

    def _make_room(self, message: Message, length: int) -> None:
        """Add a message; where it does not fit, drop the oldest turns.

        Args:
            message: of the user.
            length: most tokens of its answer.

        Raises:
            TooLong: it does not fit even alone.
        """
        self._add(message)
        longest = self.used.model.config.max_length
        opening = len(self.used.tokenizer.encode(ANSWER))
        sizes = [len(ids) for ids in self.ids]
        total, dropped = sum(sizes) + opening, 0
        if total + min(length, longest // 2) > longest:
            while total > longest // 2 and 2 * dropped + 2 < len(sizes):
                total -= sum(sizes[2 * dropped + 1 : 2 * dropped + 3])
                dropped += 1
        if total >= longest:
            del self.messages[-1], self.ids[-1]
            raise TooLong(
                f"the message and what stands around it have {total:,} "
                f"tokens, but the model reads {longest:,}: say less."
            )
        if dropped:
            del (
                self.messages[1 : 2 * dropped + 1],
                self.ids[1 : 2 * dropped + 1],
            )
            self.on_drop(dropped)
