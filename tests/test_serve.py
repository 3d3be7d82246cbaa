"""An OpenAI-compatible endpoint: the official client talks with it."""

import threading
import time
from itertools import islice

import pytest
from test_chat import talker

from transformer_course.cli import serving
from transformer_course.inference.chat import Conversation

openai = pytest.importorskip("openai")
uvicorn = pytest.importorskip("uvicorn")
QUESTION = [{"role": "user", "content": "hello"}]


@pytest.fixture(scope="module")
def used():
    return talker()


@pytest.fixture(scope="module")
def client(used):
    """OpenAI's own, told where ours is."""
    from transformer_course.inference.serving import endpoint

    app = endpoint(used, "tiny", serving.HERE)
    server = uvicorn.Server(uvicorn.Config(app, port=0, log_level="error"))
    thread = threading.Thread(target=server.run)
    thread.start()
    while not server.started:
        time.sleep(0.01)
    [listening] = server.servers[0].sockets
    address = f"http://127.0.0.1:{listening.getsockname()[1]}/v1"
    with openai.OpenAI(
        base_url=address, api_key="any", max_retries=0
    ) as client:
        yield client
    server.should_exit = True
    thread.join()


def ask(client, **settings):
    settings = {"max_tokens": 12, "temperature": 0} | settings
    return client.chat.completions.create(
        model="tiny", messages=QUESTION, **settings
    )


def test_an_answer_is_that_of_chat(client, used):
    heard = []
    wanted = Conversation(used).answer("hello", heard.append, 12, top_k=1)
    whole = ask(client)
    assert whole.choices[0].message.content == wanted
    pieces = list(ask(client, stream=True))
    assert len(pieces) > 3
    said = [one.choices[0].delta.content or "" for one in pieces]
    assert "".join(said) == wanted
    ends = pieces[-1].choices[0].finish_reason, whole.choices[0].finish_reason
    assert ends[0] == ends[1]
    assert whole.usage.completion_tokens <= 12


def test_answers_are_written_side_by_side(client, used):
    rows = []  # of each call of the model
    hook = used.model.embedding.register_forward_pre_hook(
        lambda _, ids: rows.append(len(ids[0]))
    )
    streams = [ask(client, stream=True, max_tokens=400) for _ in range(2)]
    assert all(len(list(islice(stream, 3))) == 3 for stream in streams)
    [stream.close() for stream in streams]
    assert ask(client).choices
    hook.remove()
    assert max(rows) == 2


def test_a_seed_fixes_an_answer(client):
    hot = {"temperature": 1.5, "top_p": 0.9}
    one, same, other = (
        ask(client, seed=seed, **hot).choices[0].message.content
        for seed in (1, 1, 2)
    )
    assert one == same != other


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({"temperature": -1}, "temperature"),
        ({"seed": "one"}, "seed is 'one'"),
        ({"max_tokens": 0}, "at least 1"),
        ({"max_tokens": 5_000}, "room for 999"),
        ({"stop": ["a"]}, "stop"),
        ({"messages": []}, "user's"),
        ({"messages": [{"role": "cook", "content": "?"}]}, "cook"),
    ],
)
def test_what_is_not_understood_is_said(client, settings, told):
    given = {"model": "tiny", "messages": QUESTION} | settings
    with pytest.raises(openai.BadRequestError, match=told):
        client.chat.completions.create(**given)


def test_a_call_that_fails_is_told_and_the_next_one_answered(client, used):
    def fail(*_):
        raise RuntimeError("no memory\nat all")

    hook = used.model.embedding.register_forward_pre_hook(fail)
    with pytest.raises(openai.InternalServerError, match="no memory at all"):
        ask(client, timeout=20)
    with pytest.raises(openai.APIError, match="no memory at all"):
        list(ask(client, stream=True, timeout=20))
    hook.remove()
    assert ask(client).choices


def test_a_page_under_another_name_is_refused(client):
    with pytest.raises(openai.BadRequestError, match="400"):
        client.models.list(extra_headers={"Host": "example.org"})
    assert [one.id for one in client.models.list()] == ["tiny"]


# --- the command -------------------------------------------------------------


def test_the_command_listens_where_it_is_told(monkeypatch, run, used):
    """And is asked by the names of this machine alone."""
    heard = {}

    def listens(app, **settings):
        heard.update(settings, app=app)

    monkeypatch.setattr(serving, "load", lambda *_: used)
    monkeypatch.setattr(uvicorn, "run", listens)
    assert run("serve", "tiny", "--port", "0", "--rows", "2")[0] == 0
    assert (heard["host"], heard["port"]) == ("127.0.0.1", 0)
    assert [one.kwargs for one in heard["app"].user_middleware] == [
        {"allowed_hosts": serving.HERE}
    ]


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--port", "70000"], "expected from 0 to 65535"),
        (["--host", "0.0.0.0"], "add --anyone"),
        (["--rows", "0"], "rows"),
    ],
)
def test_what_the_command_cannot_do_is_refused_at_once(run, options, told):
    status, _, said = run("serve", "never-loaded", *options)
    assert status != 0 and told in said
