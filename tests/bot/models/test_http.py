"""What all providers over HTTP have in common, asked of a server that speaks the least of languages."""

import asyncio
import gzip
import json
import socket
import struct
import time
import tracemalloc
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AsyncExitStack, ExitStack, aclosing
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

import httpx
import pytest
from aiohttp import web

from bot.models import http
from bot.models.connection_pool import ConnectionPool
from bot.models.dialect import AnswerStage, ErrorEvent
from bot.models.errors import (
    BadKey,
    BadRequest,
    ContextTooLong,
    CutOff,
    EmptyAnswer,
    ModelError,
    ModelNotFound,
    OutOfCredit,
    Overloaded,
    RateLimited,
    ServerFailed,
    TimedOut,
    Unreachable,
)
from bot.models.http import HttpModel
from bot.models.options import ModelOptions
from bot.models.protocol import Answer, AssistantMessage, ModelRequest, TextDelta, UserMessage
from bot.models.timeouts import Timeouts
from memory.http_responses import HttpFailure
from tests.fakes.model_server import (
    KEY,
    ModelAnswer,
    ModelServer,
    ReceivedRequest,
    Reply,
    answers,
    drips,
    drops,
    hangs,
    proxy_error,
    streams,
)
from tests.fakes.table_test import table_test

NOW = datetime(2026, 11, 21, 9, 0, tzinfo=UTC)
PLENTY = Timeouts(first_token=10, idle=10, begin=10, total=10)
REQUEST = ModelRequest("Be brief.", (UserMessage("Hello?"),))
PASSWORD = "s3cret-pass"


def event(**fields: object) -> bytes:
    return b"data: " + json.dumps(fields).encode() + b"\n\n"


TEXT, THOUGHT, PING, END = event(text="a"), event(thought="hm"), event(ping=1), event(end=True)


class PlainReader:
    """Events are {"text": …}, {"thought": …}, {"ping": 1}, {"end": true}; with "whole" nothing more need come."""

    def __init__(self) -> None:
        self.stage: AnswerStage = "waiting"
        self.ended = False
        self._whole = False
        self._text = ""

    def read(self, event: bytes) -> str:
        return self.read_whole(json.loads(event))

    def read_whole(self, fields: Mapping[str, Any]) -> str:
        if "thought" in fields and self.stage == "waiting":
            self.stage = "thinking"
        text: str = fields.get("text", "")
        if text:
            self.stage = "answering"
            self._text += text
        self.ended = self.ended or "end" in fields
        self._whole = self._whole or "whole" in fields
        if "error" in fields:
            raise ErrorEvent(HttpFailure(500, fields))
        return text

    def answer(self) -> Answer:
        if not (self.ended or self._whole):
            raise CutOff("ended without an end")
        if not self._text:
            raise EmptyAnswer("said nothing")
        return Answer(AssistantMessage(self._text))


class PlainDialect:
    """Learns at most so many `lessons`."""

    def __init__(self, url: str, key: str, *, lessons: int = 0) -> None:
        self.url = url
        self.headers = {"Authorization": f"Bearer {key}"} if key else {}
        self.lessons = lessons
        self.learnt = 0

    def body(self, request: ModelRequest) -> Mapping[str, Any]:
        return {"system": request.system, "learnt": self.learnt}

    def reader(self) -> PlainReader:
        return PlainReader()

    def kind_of(self, failure: HttpFailure) -> type[ModelError] | None:
        return OutOfCredit if failure.fields.get("error") == "no credit" else None

    def adapt(self, failure: HttpFailure) -> bool:
        del failure
        learns = self.learnt < self.lessons
        self.learnt += learns
        return learns


class PlainServer(ModelServer):
    def __init__(self) -> None:
        super().__init__()
        self.peers: list[object] = []
        """The other end of the connection of each request."""

    @property
    def base_url(self) -> str:
        return self.root

    def add_routes(self, app: web.Application) -> None:
        app.router.add_post("/ask", self.handle)

    async def handle(self, request: web.Request) -> web.StreamResponse:
        assert request.transport
        self.peers.append(request.transport.get_extra_info("peername"))
        return await super().handle(request)

    def objection(self, asked: ReceivedRequest) -> web.Response | None:
        return None

    def events(self, asked: ReceivedRequest, says: ModelAnswer) -> list[bytes]:
        texts = [says.text] if isinstance(says.text, str) else says.text
        return [*(event(text=text) for text in texts), END]

    def error(
        self, status: int, message: str, *, code: str = "", headers: Mapping[str, str] | None = None
    ) -> web.Response:
        return web.json_response(
            {"error": {"message": message, "code": code}}, status=status, headers=headers
        )

    def not_found(self, request: web.Request) -> web.Response:
        return web.Response(status=404, text="404: Not Found")


Open = Callable[..., HttpModel]


@pytest.fixture
async def server() -> AsyncIterator[PlainServer]:
    async with PlainServer() as server:
        yield server


@pytest.fixture
async def open_model(server: PlainServer) -> AsyncIterator[Open]:
    async with AsyncExitStack() as stack:

        def open_it(
            limits: Timeouts = PLENTY,
            *,
            base_url: str = "",
            key: str = KEY,
            lessons: int = 0,
            needs_key: bool = True,
            connect_seconds: float = 10,
        ) -> HttpModel:
            base_url = base_url or server.root
            connection = ConnectionPool(base_url, connect_seconds=connect_seconds)
            stack.push_async_callback(connection.close)
            options = ModelOptions("mine/small", base_url, key, needs_key, limits=limits)
            dialect = PlainDialect(f"{base_url}/ask", key, lessons=lessons)
            return HttpModel(dialect, connection, options, now=lambda: NOW)

        yield open_it


async def said_by(model: HttpModel) -> tuple[list[str], Answer]:
    *deltas, answer = [event async for event in model.stream(REQUEST)]
    assert isinstance(answer, Answer)
    texts = [delta.text for delta in deltas if isinstance(delta, TextDelta)]
    assert len(texts) == len(deltas)
    return texts, answer


async def failure_of(model: HttpModel) -> ModelError:
    with pytest.raises(ModelError) as caught:
        await said_by(model)
    error = caught.value
    assert error.model == "mine/small"
    assert "\n" not in error.detail
    assert error.detail
    return error


# -- an answer ----------------------------------------------------------------------------------------------


async def test_text_streams_as_it_comes_and_the_answer_is_whole(
    server: PlainServer, open_model: Open
) -> None:
    server.enqueue(ModelAnswer(["Hel", "lo."], delay=0.02))
    texts, answer = await said_by(open_model())
    assert (texts, answer.message.text, answer.message.model) == (["Hel", "lo."], "Hello.", "mine/small")
    assert 0.02 <= answer.first_token_seconds < 1


async def test_an_answer_in_one_piece_is_taken_from_a_server_that_does_not_stream(
    server: PlainServer, open_model: Open
) -> None:
    async def late(request: web.Request, asked: ReceivedRequest) -> web.StreamResponse:
        await asyncio.sleep(0.02)
        return await answers('{"text": "Hello.", "end": true}')(request, asked)

    server.enqueue(late)
    texts, answer = await said_by(open_model())
    assert texts == ["Hello."]
    assert 0.02 <= answer.first_token_seconds < 1, "an answer in one piece took its time, too"


async def test_a_packed_answer_is_read_though_none_was_asked_for(
    server: PlainServer, open_model: Open
) -> None:
    packed = gzip.compress(TEXT + END)
    server.enqueue(answers(packed, kind="text/event-stream", headers={"Content-Encoding": "gzip"}))
    assert (await said_by(open_model()))[0] == ["a"]
    assert server.requests[0].headers["Accept-Encoding"] == "identity"


async def test_all_calls_go_over_one_connection(server: PlainServer, open_model: Open) -> None:
    model = open_model()
    for reply in (
        ModelAnswer(["a", "b"]),
        answers('{"text": "a", "end": true}'),
        streams(TEXT, END, b": bye\n\n"),
    ):
        server.enqueue(reply)
        await said_by(model)
    server.enqueue(server.fails(503))
    await failure_of(model)
    await said_by(model)
    assert len(server.peers) == 5
    assert len(set(server.peers)) == 1


@pytest.mark.thorough
async def test_an_answer_does_not_wait_for_a_server_that_leaves_the_connection_open(
    server: PlainServer, open_model: Open
) -> None:
    server.enqueue(streams(TEXT, END, ends=False))
    began = time.monotonic()
    assert (await said_by(open_model()))[1].message.text == "a"
    assert time.monotonic() - began < 8, "it would be open for an hour, and be waited for 10 s"


async def test_what_comes_after_the_end_is_not_read(server: PlainServer, open_model: Open) -> None:
    server.enqueue(streams(TEXT + END + event(text="b") + b"data: {nonsense\n\n"))
    assert (await said_by(open_model()))[0] == ["a"]


# -- too long -----------------------------------------------------------------------------------------------

# One of them is short: where much else goes on, the others may take longer.
SIGN, IDLE, BEGIN, TOTAL = (
    replace(PLENTY, first_token=0.1),
    replace(PLENTY, idle=0.15),
    replace(PLENTY, begin=0.3),
    replace(PLENTY, total=0.45),
)


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("reply", "limits", "seconds", "words"),
    [
        (hangs(), SIGN, 0.1, "did not respond within 0.1 s"),
        (streams(ends=False), SIGN, 0.1, "did not respond within 0.1 s"),
        (drips(b": ping\n\n", 0.01), SIGN, 0.1, "did not respond within 0.1 s"),
        (drips(PING, 0.01), SIGN, 0.1, "did not respond within 0.1 s"),
        (drips(b"x", 0.01), SIGN, 0.1, "did not respond within 0.1 s"),
        (
            streams(b"{", kind="application/json", ends=False),
            SIGN,
            0.1,
            "did not respond within 0.1 s",
        ),
        (streams(TEXT, ends=False), IDLE, 0.15, "sent nothing for 0.15 s in the middle of its answer"),
        (streams(THOUGHT, ends=False), IDLE, 0.15, "sent nothing for 0.15 s in the middle of its answer"),
        (drips(THOUGHT, 0.02), BEGIN, 0.3, "had not begun to answer after 0.3 s"),
        (drips(TEXT, 0.02), TOTAL, 0.45, "had not finished its answer after 0.45 s"),
    ],
    ids=[
        "before the head",
        "after the head",
        "comments",
        "pings",
        "letters",
        "in one piece",
        "in the middle",
        "while thinking",
        "endless thought",
        "endless text",
    ],
)
async def test_whatever_it_is_that_hangs_it_is_left_in_time(
    server: PlainServer, open_model: Open, reply: Reply, limits: Timeouts, seconds: float, words: str
) -> None:
    server.enqueue(reply)
    began = time.monotonic()
    error = await failure_of(open_model(limits))
    assert (type(error), error.detail) == (TimedOut, words)
    assert seconds * 0.9 <= time.monotonic() - began < 8, "the others would leave it after 10 s"


async def test_an_error_whose_body_hangs_is_told_by_its_status(
    server: PlainServer, open_model: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(http, "ERROR_SECONDS", 0.1)

    async def half(request: web.Request, _: ReceivedRequest) -> web.StreamResponse:
        response = web.StreamResponse(status=429, headers={"Retry-After": "7"})
        await response.prepare(request)
        await asyncio.sleep(3600)
        return response

    server.enqueue(half)
    error = await failure_of(open_model())
    assert (type(error), error.retry_after) == (RateLimited, 7)


@pytest.mark.thorough
async def test_a_reader_who_takes_their_time_is_not_the_models_silence(
    server: PlainServer, open_model: Open
) -> None:
    server.enqueue(ModelAnswer(["a", "b"], delay=0.02))
    limits = replace(PLENTY, idle=0.6, begin=0.9, total=0.9)
    texts = []
    async for part in open_model(limits).stream(REQUEST):
        if isinstance(part, TextDelta):
            texts.append(part.text)
            await asyncio.sleep(0.65)
    assert texts == ["a", "b"]


async def test_a_server_that_takes_no_connection_is_left_in_time(open_model: Open) -> None:
    with socket.socket() as full, ExitStack() as stack:
        full.bind(("127.0.0.1", 0))
        full.listen(0)
        for _ in range(3):  # more than its queue holds: the next one is left without an answer
            waiting = stack.enter_context(socket.socket())
            waiting.setblocking(False)
            waiting.connect_ex(full.getsockname())
        model = open_model(base_url=f"http://127.0.0.1:{full.getsockname()[1]}", connect_seconds=0.15)
        began = time.monotonic()
        error = await failure_of(model)
    assert isinstance(error, TimedOut)
    assert error.detail.startswith("had no free connection to 127.0.0.1:")
    assert time.monotonic() - began < 8, "the system itself tries for two minutes"


# -- broken off ---------------------------------------------------------------------------------------------


def resets(*pieces: bytes) -> Reply:
    """A connection that is reset, after these bytes of an answer."""

    async def reply(request: web.Request, _: ReceivedRequest) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        if pieces:
            await response.prepare(request)
        for piece in pieces:
            await response.write(piece)
        assert request.transport
        await asyncio.sleep(0.02)
        sock = request.transport.get_extra_info("socket")
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        request.transport.abort()
        return response

    return reply


@pytest.mark.parametrize(
    ("reply", "kind"),
    [
        (drops(), Unreachable),
        (resets(), Unreachable),
        (resets(TEXT), CutOff),
        (ModelAnswer(["a", "b"], cut_after=1), CutOff),
        (streams(TEXT), CutOff),
        (streams(), CutOff),
        (streams(b'data: {"text": "a'), CutOff),
    ],
    ids=["dropped", "reset", "reset later", "cut", "no end", "nothing", "half an event"],
)
async def test_a_connection_that_is_lost_is_told_apart(
    server: PlainServer, open_model: Open, reply: Reply | ModelAnswer, kind: type[ModelError]
) -> None:
    server.enqueue(reply)
    assert type(await failure_of(open_model())) is kind


@table_test(
    "base_url",
    [
        "http://127.0.0.1:1",
        "http://name.invalid",
        f"http://{'a' * 70}.invalid",
        "http://a..invalid",
        "http://a b",
        "http://127.0.0.1:99999",
        "ftp://127.0.0.1",
        "nonsense",
        "",
    ],
)
async def test_where_nobody_is_there_it_is_unreachable(base_url: str) -> None:
    connection = ConnectionPool(base_url, connect_seconds=5)
    model = HttpModel(
        PlainDialect(f"{base_url}/ask", KEY), connection, ModelOptions("mine/small", base_url, KEY)
    )
    assert type(await failure_of(model)) is Unreachable
    await connection.close()


@pytest.mark.parametrize("proxy", ["nonsense://127.0.0.1", "socks5://127.0.0.1:1", "http://[", "http://a:x"])
async def test_a_proxy_of_no_use_is_one_error(
    open_model: Open, monkeypatch: pytest.MonkeyPatch, proxy: str
) -> None:
    monkeypatch.setenv("ALL_PROXY", proxy.replace("://", f"://me:{PASSWORD}@"))
    error = await failure_of(open_model())
    assert type(error) is Unreachable
    assert PASSWORD not in error.detail


async def test_a_closed_connection_is_one_error(server: PlainServer) -> None:
    for used in (True, False):
        connection = ConnectionPool(server.root, connect_seconds=5)
        options = ModelOptions("mine/small", server.root, KEY)
        model = HttpModel(PlainDialect(f"{server.root}/ask", KEY), connection, options)
        if used:
            await said_by(model)
        await connection.close()
        await connection.close()
        assert type(await failure_of(model)) is Unreachable
    assert len(server.requests) == 1


async def test_closing_the_connection_ends_a_call_that_waits(server: PlainServer) -> None:
    connection = ConnectionPool(server.root, connect_seconds=5)
    options = ModelOptions("mine/small", server.root, KEY, limits=PLENTY)
    model = HttpModel(PlainDialect(f"{server.root}/ask", KEY), connection, options)
    server.enqueue(hangs())
    call = asyncio.create_task(failure_of(model))
    await server.wait_for_requests()
    await connection.close()
    async with asyncio.timeout(8):
        assert isinstance(await call, Unreachable)


# -- refused ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (400, BadRequest),
        (401, BadKey),
        (402, OutOfCredit),
        (403, BadKey),
        (404, ModelNotFound),
        (408, TimedOut),
        (413, ContextTooLong),
        (418, BadRequest),
        (429, RateLimited),
        (499, ServerFailed),
        (500, ServerFailed),
        (502, ServerFailed),
        (521, ServerFailed),
        (529, Overloaded),
    ],
)
async def test_a_status_alone_says_what_is_the_matter(
    server: PlainServer, open_model: Open, status: int, kind: type[ModelError]
) -> None:
    server.enqueue(proxy_error(status))
    error = await failure_of(open_model())
    mend = {
        BadKey: " (check the provider's api_key)",
        ModelNotFound: " (there is nothing at /ask: check the provider's base_url)",
    }.get(kind, "")
    assert (type(error), error.detail) == (kind, f"answered {status}{mend}")


async def test_the_providers_own_code_goes_before_the_status(server: PlainServer, open_model: Open) -> None:
    server.enqueue(answers('{"error": "no credit"}', status=429))
    error = await failure_of(open_model())
    assert (type(error), error.detail) == (OutOfCredit, "answered 429 (no credit)")


async def test_an_error_in_the_middle_is_the_providers_own(server: PlainServer, open_model: Open) -> None:
    server.enqueue(streams(TEXT, event(error={"message": "our disk broke"})))
    error = await failure_of(open_model())
    assert (type(error), error.detail) == (ServerFailed, "answered 500 (our disk broke)")


@pytest.mark.parametrize("status", [301, 302, 307, 308])
async def test_nobody_is_followed_elsewhere(server: PlainServer, open_model: Open, status: int) -> None:
    server.enqueue(answers(b"", status=status, headers={"Location": f"{server.root}/ask"}))
    error = await failure_of(open_model())
    assert "check the provider's base_url" in error.detail
    assert len(server.requests) == 1


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"Retry-After": "20"}, 20),
        ({"Retry-After": "1.5"}, 1.5),
        ({"retry-after-ms": "250", "Retry-After": "1"}, 0.25),
        ({"Retry-After": "Sat, 21 Nov 2026 09:01:30 GMT"}, 90),
        ({"Retry-After": "Sat, 21 Nov 2026 08:00:00 GMT"}, 0),
        ({"Retry-After": "soon"}, None),
        ({"Retry-After": "Sat, 21 Nov 99999999999999999999 09:00:00 GMT"}, None),
        ({}, None),
    ],
)
async def test_how_long_to_wait_is_taken_from_what_they_say(
    server: PlainServer, open_model: Open, headers: Mapping[str, str], seconds: float | None
) -> None:
    server.enqueue(server.fails(429, headers=headers))
    assert (await failure_of(open_model())).retry_after == seconds


@pytest.mark.parametrize("lessons", [0, 1, 2])
async def test_each_lesson_is_asked_again_once_and_at_once(
    server: PlainServer, open_model: Open, lessons: int
) -> None:
    server.always(server.fails(400))
    began = time.monotonic()
    assert isinstance(await failure_of(open_model(lessons=lessons)), BadRequest)
    assert time.monotonic() - began < 5
    assert [asked.body["learnt"] for asked in server.requests] == list(range(lessons + 1))


async def test_what_was_learnt_is_answered(server: PlainServer, open_model: Open) -> None:
    server.enqueue(server.fails(400))
    assert (await said_by(open_model(lessons=1)))[1].message.text == "Hello."


async def test_two_calls_that_are_refused_at_once_both_profit_from_the_lesson(
    server: PlainServer, open_model: Open
) -> None:
    server.enqueue(server.fails(400), server.fails(400))
    model = open_model(lessons=1)
    answers = await asyncio.gather(said_by(model), said_by(model))
    assert [answer.message.text for _, answer in answers] == ["Hello.", "Hello."]
    assert len(server.requests) <= 4


async def test_an_answer_that_was_whole_is_one_even_if_the_server_is_lost_then(
    server: PlainServer, open_model: Open
) -> None:
    whole = event(text="Hello.", whole=True)
    server.enqueue(streams(whole, ends=False), streams(whole, cut=True))
    for _ in range(2):
        assert (await said_by(open_model(replace(PLENTY, idle=0.1))))[1].message.text == "Hello."


async def test_a_window_that_a_refusal_names_as_a_number_is_passed_on(
    server: PlainServer, open_model: Open
) -> None:
    server.enqueue(answers('{"error": {"code": 413, "n_ctx": 4096}}', status=413))
    error = await failure_of(open_model())
    assert isinstance(error, ContextTooLong)
    assert error.window == 4096


@pytest.mark.parametrize(
    ("reply", "kind", "mend"),
    [
        (answers("<html></html>", kind="text/html"), EmptyAnswer, "answered with a web page"),
        (answers("404: Not Found", status=404, kind="text/plain"), ModelNotFound, "there is nothing at /ask"),
    ],
)
async def test_a_wrong_address_is_told_as_one(
    server: PlainServer, open_model: Open, reply: Reply, kind: type[ModelError], mend: str
) -> None:
    server.enqueue(reply)
    error = await failure_of(open_model())
    assert type(error) is kind
    assert error.detail.endswith("check the provider's base_url" + ")" * (kind is ModelNotFound))
    assert mend in error.detail


# -- too much, and unreadable -------------------------------------------------------------------------------


async def test_an_answer_without_measure_is_not_taken_in(
    server: PlainServer, open_model: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(http, "ANSWER_BYTES", 1 << 20)
    for reply in (drips(event(text="x" * 50_000), 0), answers(b'"' + b"x" * (2 << 20) + b'"')):
        server.enqueue(reply)
        error = await failure_of(open_model())
        assert (type(error), error.detail) == (EmptyAnswer, "sent more than 1 MB")


async def test_an_event_without_an_end_is_not_taken_in(
    server: PlainServer, open_model: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bot.models.sse.MAX_EVENT_BYTES", 1 << 20)
    server.enqueue(drips(b"data: " + b"x" * 60_000, 0))
    error = await failure_of(open_model())
    assert isinstance(error, EmptyAnswer)
    assert error.detail.startswith("sent an event of more than ")


async def test_of_a_huge_error_the_beginning_is_read(server: PlainServer, open_model: Open) -> None:
    server.enqueue(answers(b'{"error": "' + b"x" * (8 << 20), status=500))
    error = await failure_of(open_model())
    assert (type(error), error.detail) == (ServerFailed, "answered 500")


@pytest.mark.thorough
@pytest.mark.parametrize("status", [200, 500])
async def test_what_is_packed_like_a_bomb_is_not_unpacked(
    server: PlainServer, open_model: Open, status: int
) -> None:
    server.enqueue(answers("", status=500))
    await failure_of(open_model())  # what is imported when it is first used would count
    bomb = gzip.compress(gzip.compress(bytes(40 << 20)))
    server.enqueue(answers(bomb, status=status, headers={"Content-Encoding": "gzip, gzip"}))
    tracemalloc.start()
    try:
        assert isinstance(await failure_of(open_model()), EmptyAnswer if status == 200 else ServerFailed)
        assert tracemalloc.get_traced_memory()[1] < 8 << 20
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(
    "reply",
    [
        answers("{nonsense", kind="application/json"),
        answers("[" * 100_000, kind="application/json"),
        answers(b"no gzip", kind="text/event-stream", headers={"Content-Encoding": "gzip"}),
        streams(b"data: {nonsense\n\n"),
        streams(b"data: [1]\n\n"),
        streams(b'data: {"text": 5}\n\n'),
        streams(b"data: " + b"[" * 100_000 + b"\n\n"),
        streams(END),
    ],
    ids=["JSON", "deep JSON", "packed", "event", "list", "number", "deep event", "nothing"],
)
async def test_what_cannot_be_read_is_no_answer(server: PlainServer, open_model: Open, reply: Reply) -> None:
    server.enqueue(reply)
    assert isinstance(await failure_of(open_model()), EmptyAnswer | CutOff)


# -- leaving early ------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Left:
    """A reply that drips until the other end is gone."""

    noticed: asyncio.Event

    async def __call__(self, request: web.Request, _: ReceivedRequest) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await response.prepare(request)
        try:
            while True:
                await response.write(TEXT)
                await asyncio.sleep(0.005)
        except ConnectionError:
            self.noticed.set()
        return response


async def test_closing_early_ends_the_call(server: PlainServer, open_model: Open) -> None:
    left = Left(asyncio.Event())
    server.enqueue(left)
    model = open_model()
    async with aclosing(model.stream(REQUEST)) as parts:
        assert await anext(parts) == TextDelta("a")
    async with asyncio.timeout(8):
        await left.noticed.wait()
    assert (await said_by(model))[1].message.text == "Hello."


@pytest.mark.parametrize("reply", [hangs(), streams(TEXT, ends=False)], ids=["before", "in the middle"])
async def test_being_cancelled_is_no_error_of_the_model(
    server: PlainServer, open_model: Open, reply: Reply
) -> None:
    server.enqueue(reply)
    model = open_model()
    call = asyncio.create_task(said_by(model))
    await server.wait_for_requests()
    await asyncio.sleep(0.02)
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    assert (await said_by(model))[1].message.text == "Hello."


async def test_more_calls_at_once_than_connections_leave_none_behind(
    server: PlainServer, open_model: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bot.models.connection_pool.CALLS_AT_ONCE", 2)
    model = open_model()
    server.enqueue(hangs(), hangs())
    calls = [asyncio.create_task(said_by(model)) for _ in range(3)]
    await server.wait_for_requests(2)
    for call in calls:
        call.cancel()
    await asyncio.wait(calls)
    async with asyncio.timeout(8):
        assert len(await asyncio.gather(*(said_by(model) for _ in range(5)))) == 5


# -- keys ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("key", ["two\nlines-of-key", "a key", "schlüssel", "key\r\nX-Evil: 1", "\x00key"])
async def test_a_key_that_is_none_is_not_sent(server: PlainServer, open_model: Open, key: str) -> None:
    error = await failure_of(open_model(key=key))
    assert isinstance(error, BadKey)
    assert key not in error.detail
    assert server.requests == []


async def test_without_a_key_only_those_are_asked_that_need_none(
    server: PlainServer, open_model: Open
) -> None:
    error = await failure_of(open_model(key=""))
    assert (type(error), error.detail) == (BadKey, "has no API key: set the provider's api_key")
    assert server.requests == []
    await said_by(open_model(key="", needs_key=False))


def echoes(status: int) -> Reply:
    """A server that repeats whatever it was told."""

    async def reply(_: web.Request, asked: ReceivedRequest) -> web.StreamResponse:
        told = f"no: {asked.headers['Authorization']} {PASSWORD} from {dict(asked.headers)}"
        return web.json_response({"error": {"message": told}}, status=status)

    return reply


@pytest.mark.parametrize("status", [400, 401, 403, 429, 500])
async def test_no_secret_comes_back(server: PlainServer, open_model: Open, status: int) -> None:
    server.enqueue(echoes(status))
    error = await failure_of(open_model(base_url=server.root.replace("://", f"://me:{PASSWORD}@")))
    assert len(server.requests) == 1
    assert KEY not in error.detail
    assert PASSWORD not in error.detail


async def test_no_secret_is_told_of_an_address(open_model: Open) -> None:
    for address in (f"http://me:{PASSWORD}@127.0.0.1:1", f"ftp://me:{PASSWORD}@host"):
        detail = (await failure_of(open_model(base_url=address))).detail
        assert PASSWORD not in detail
        assert "me:" not in detail


def test_the_limits_hold_for_the_connecting_too() -> None:
    assert replace(PLENTY, first_token=3).connect == 3
    assert Timeouts().connect <= 10


async def test_the_client_is_made_once_and_only_when_needed() -> None:
    connection = ConnectionPool("http://127.0.0.1:1", connect_seconds=1)
    await connection.close()
    connection = ConnectionPool("http://127.0.0.1:1", connect_seconds=1)
    assert isinstance(connection.client, httpx.AsyncClient)
    assert connection.client is connection.client
    await connection.close()
