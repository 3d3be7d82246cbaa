"""A model behind OpenAI's interface, on this machine (chapter 21).

The model works in a thread of its own, on all texts at once; each answer is
sent as it is written::

    uvicorn.run(endpoint(used, "smollm2", ("127.0.0.1", "localhost")))
"""

import asyncio
import json
import queue
import threading
import time
import traceback
from collections.abc import AsyncIterator
from itertools import chain
from typing import Any
from uuid import uuid4

import torch
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from transformer_course import checks
from transformer_course.data.byte_bpe import ByteBPE
from transformer_course.data.tokenizer import EOS
from transformer_course.decoding.generate import argmax, drawing
from transformer_course.decoding.translate import TextStreamer
from transformer_course.errors import ConfigError, CourseError
from transformer_course.fast.paged import Server, Text
from transformer_course.inference.chat import (
    ANSWER,
    SYSTEM,
    Message,
    message_ids,
)
from transformer_course.inference.model import TrainedModel

ROLES = ("system", "user", "assistant")
SETTINGS = {
    "temperature": (1.0, float),
    "top_p": (1.0, float),
    "seed": (None, checks.Seed),
    "max_tokens": (None, checks.Size),
    "max_completion_tokens": (None, checks.Size),
    "stream": (False, bool),
}
"""What a request may set beside its messages: the default, and its type."""
REFUSED = {"tools": [], "stop": [], "n": 1, "logprobs": False}
"""What would change the answer, and the value that would not."""
DEFAULT_LENGTH = 500
"""Most tokens of an answer for which nothing else is asked."""


class Engine(threading.Thread):
    """Writes the texts that it is given, all together, for ever.

    A call that fails ends the texts that were being written, whose clients
    would otherwise wait for ever; the next text begins anew.
    """

    def __init__(self, server: Server):
        super().__init__(daemon=True)
        self.server = server
        self.arrived: queue.SimpleQueue[Text] = queue.SimpleQueue()

    def run(self) -> None:
        """Wait for texts while there are none, and write."""
        while True:
            if not (self.server.running or self.server.waiting):
                self.server.add(self.arrived.get())
            while not self.arrived.empty():
                self.server.add(self.arrived.get())
            try:
                self.server.step()
            except Exception as error:
                traceback.print_exc()
                for text in self.server.drop():
                    text.on_error(error)


class Chats:
    """Requests for answers, and what is sent back.

    Args:
        used: a model that was trained to answer.
        name: what it is called in requests.
        server: what writes.

    Raises:
        ConfigError: the model was not trained to answer.
    """

    def __init__(self, used: TrainedModel, name: str, server: Server):
        if not isinstance(used.tokenizer, ByteBPE):
            raise ConfigError(
                f"{name} was not trained to answer: serve smollm2."
            )
        self.tokenizer, self.name = used.tokenizer, name
        self.engine = Engine(server)
        self.engine.start()

    async def models(self, request: Request) -> Response:
        """The one model."""
        model = {"id": self.name, "object": "model", "owned_by": "you"}
        return JSONResponse({"object": "list", "data": [model]})

    async def complete(self, request: Request) -> Response:
        """Answer a chat, whole or as it is written."""
        try:
            asked = await request.json()
            text, pieces, settings = self._text(asked)
            self.engine.server.check(text)
        except (ValueError, CourseError) as error:
            return JSONResponse(_told(error, "invalid_request_error"), 400)
        self.engine.arrived.put(text)
        head = {
            "id": f"chatcmpl-{uuid4().hex}",
            "created": int(time.time()),
            "model": self.name,
        }
        if settings["stream"]:
            events = self._events(head, text, pieces)
            return StreamingResponse(events, media_type="text/event-stream")
        try:
            written = [piece async for piece in self._pieces(text, pieces)]
        except Exception as error:
            return JSONResponse(_told(error, "server_error"), 500)
        message = {"role": "assistant", "content": "".join(written)}
        choice = {"index": 0, "message": message, **_end(text)}
        made = len(text.ids) - text.prompt
        usage = {
            "prompt_tokens": text.prompt,
            "completion_tokens": made,
            "total_tokens": text.prompt + made,
        }
        kind = {"object": "chat.completion"}
        return JSONResponse(
            head | kind | {"choices": [choice], "usage": usage}
        )

    def _text(self, asked: Any) -> tuple[Text, asyncio.Queue, dict[str, Any]]:
        """The text that a request asks for, and where its tokens arrive.

        Raises:
            ConfigError: the request cannot be understood.
        """
        messages, settings = _checked(asked)
        if messages[0].role != "system":
            messages = [Message("system", SYSTEM), *messages]
        ids = (message_ids(self.tokenizer, one) for one in messages)
        prompt = [*chain.from_iterable(ids), *self.tokenizer.encode(ANSWER)]
        generator = torch.Generator(self.engine.server.blocks.kept.device)
        if settings["seed"] is None:
            generator.seed()
        else:
            generator.manual_seed(settings["seed"])
        heat, top_p = settings["temperature"], settings["top_p"]
        pick = argmax
        if heat != 0:
            pick = drawing(heat, top_p=top_p, generator=generator)
        arrived: asyncio.Queue[int | Exception] = asyncio.Queue()
        loop = asyncio.get_running_loop()

        def tell(what: int | Exception) -> None:
            loop.call_soon_threadsafe(arrived.put_nowait, what)

        length = settings["max_completion_tokens"] or settings["max_tokens"]
        text = Text(prompt, length or DEFAULT_LENGTH, pick, tell, tell)
        return text, arrived, settings

    async def _pieces(
        self, text: Text, arrived: asyncio.Queue
    ) -> AsyncIterator[str]:
        """What is written, as it is written.

        Raises:
            Exception: what ended it while it was written.
        """
        shown = TextStreamer(self.tokenizer)
        try:
            for _ in range(text.longest):
                token = await arrived.get()
                if isinstance(token, Exception):
                    raise token
                if piece := shown.add(token):
                    yield piece
                if token == EOS:
                    break
            if piece := shown.end():
                yield piece
        finally:
            text.ended = True  # nobody listens any more

    async def _events(
        self, head: dict, text: Text, arrived: asyncio.Queue
    ) -> AsyncIterator[str]:
        """The same as server-sent events."""

        def event(delta: dict, **end: Any) -> str:
            choice = {"index": 0, "delta": delta, "finish_reason": None} | end
            kind = {"object": "chat.completion.chunk"}
            return (
                f"data: {json.dumps(head | kind | {'choices': [choice]})}\n\n"
            )

        yield event({"role": "assistant", "content": ""})
        try:
            async for piece in self._pieces(text, arrived):
                yield event({"content": piece})
            yield event({}, **_end(text))
        except Exception as error:
            told = json.dumps(_told(error, "server_error"))
            yield f"data: {told}\n\n"
        yield "data: [DONE]\n\n"


def endpoint(
    used: TrainedModel, name: str, hosts: tuple[str, ...], rows: int = 8
) -> Starlette:
    """An application that answers chats at ``/v1/chat/completions``.

    Args:
        used: a model that was trained to answer.
        name: what it is called in requests.
        hosts: names of this machine in addresses; others are refused, so that
            no page of the web can reach it under a name of its own.
        rows: most answers that are written at once.
    """
    chats = Chats(used, name, Server(used.model, rows))
    return Starlette(
        routes=[
            Route("/v1/models", chats.models),
            Route("/v1/chat/completions", chats.complete, methods=["POST"]),
        ],
        middleware=[Middleware(TrustedHostMiddleware, allowed_hosts=hosts)],
    )


def _checked(asked: Any) -> tuple[list[Message], dict[str, Any]]:
    """The messages and the settings of a request.

    Raises:
        ConfigError: it cannot be understood.
    """
    if not isinstance(asked, dict) or not isinstance(
        asked.get("messages"), list
    ):
        raise ConfigError("the request has no list of messages: send one.")
    for name, usual in REFUSED.items():
        if asked.get(name) not in (None, usual):
            raise ConfigError(f"{name!r} is not known here: leave it out.")
    messages = []
    for one in asked["messages"]:
        one = one if isinstance(one, dict) else {}
        role, content = one.get("role"), one.get("content")
        if role not in ROLES or not isinstance(content, str):
            raise ConfigError(
                f"a message has the role {role!r} and the content "
                f"{content!r}: expected one of {', '.join(ROLES)}, and a text."
            )
        messages.append(Message(role, content))
    if not messages or messages[-1].role != "user":
        raise ConfigError("the last message must be the user's.")
    settings = {}
    for name, (default, kind) in SETTINGS.items():
        settings[name] = default
        if (value := asked.get(name)) is not None:
            checks.require_fits(name, value, kind)
            settings[name] = value
    return messages, settings


def _told(error: Exception, kind: str) -> dict[str, Any]:
    """An error in a line, as clients of OpenAI read it."""
    message = " ".join(str(error).split()) or type(error).__name__
    return {"error": {"message": message, "type": kind}}


def _end(text: Text) -> dict[str, str]:
    ended = text.ids[-1] == EOS
    return {"finish_reason": "stop" if ended else "length"}
