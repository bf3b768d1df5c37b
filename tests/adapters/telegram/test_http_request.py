import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress

import pytest
from aiohttp import web
from telegram import InputFile
from telegram.error import NetworkError, RetryAfter, TimedOut
from telegram.request import RequestData
from telegram.request._requestparameter import RequestParameter

from adapters.telegram.connection_health import retry_after_seconds
from adapters.telegram.http_request import AiohttpRequest, find_proxy
from tests.fakes.table_test import table_test

TOKEN = "123456:SECRET-OF-THE-BOT"


@asynccontextmanager
async def server(answer: Callable[[web.BaseRequest], Awaitable[web.StreamResponse]]) -> AsyncIterator[str]:
    runner = web.ServerRunner(web.Server(answer))
    await runner.setup()
    try:
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        yield f"http://127.0.0.1:{runner.addresses[0][1]}"
    finally:
        await runner.cleanup()


@asynccontextmanager
async def raw_server(answer: bytes) -> AsyncIterator[str]:
    """Whoever asks anything gets this, and the connection is closed."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(answer)
        writer.close()

    listener = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with listener:
        yield f"http://127.0.0.1:{listener.sockets[0].getsockname()[1]}"


@asynccontextmanager
async def request(base: str) -> AsyncIterator[AiohttpRequest]:
    made = AiohttpRequest(base, connections=2)
    try:
        yield made
    finally:
        await made.shutdown()


async def test_fields_are_sent_as_a_form_and_files_beside_them() -> None:
    seen: list[object] = []

    async def answer(asked: web.BaseRequest) -> web.Response:
        form = await asked.post()
        files = [each for each in form.values() if isinstance(each, web.FileField)]
        seen.append({name: each for name, each in form.items() if isinstance(each, str)})
        seen.extend((each.name, each.filename, each.file.read()) for each in files)
        return web.json_response({"ok": True, "result": True})

    file = InputFile(b"print()", filename='nä"me.py')
    plain = RequestData(
        [RequestParameter.from_input("text", "5 > 4 & ü"), RequestParameter.from_input("chat_id", 7)]
    )
    with_file = RequestData(
        [RequestParameter.from_input("document", file), RequestParameter.from_input("chat_id", 7)]
    )
    async with server(answer) as base, request(base) as made:
        assert await made.post(f"{base}/send", plain) is True
        assert await made.post(f"{base}/send", with_file) is True
    assert seen == [
        {"text": "5 > 4 & ü", "chat_id": "7"},
        {"chat_id": "7"},
        ("document", 'nä"me.py', b"print()"),
    ]


@pytest.mark.thorough
async def test_silence_is_a_timeout_and_a_long_poll_may_be_silent_for_longer() -> None:
    async def answer(_: web.BaseRequest) -> web.Response:
        await asyncio.sleep(0.4)
        return web.json_response({"ok": True, "result": []})

    async with server(answer) as base, request(base) as made:
        with pytest.raises(TimedOut):
            await made.post(f"{base}/getUpdates", read_timeout=0.1)
        assert await made.post(f"{base}/getUpdates", read_timeout=5) == []


async def test_nobody_is_followed_to_another_address() -> None:
    asked: list[str] = []

    async def answer(request: web.BaseRequest) -> web.Response:
        asked.append(request.path)
        raise web.HTTPFound("/elsewhere")

    async with server(answer) as base, request(base) as made:
        assert (await made.do_request(f"{base}/bot{TOKEN}/getMe", "POST"))[0] == 302
    assert asked == [f"/bot{TOKEN}/getMe"]


@table_test(
    "said",
    [
        b"",
        b"nonsense\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nshort",
        b"HTTP/1.1 2x0 ?\r\n\r\n",
    ],
)
async def test_what_is_no_answer_is_a_network_error_without_the_token(said: bytes) -> None:
    async with raw_server(said) as base, request(base) as made:
        with pytest.raises(NetworkError) as error:
            await made.post(f"{base}/bot{TOKEN}/getMe")
    assert "SECRET" not in str(error.value)
    assert str(error.value)


async def test_an_answer_that_does_not_end_is_a_network_error() -> None:
    async def answer(asked: web.BaseRequest) -> web.StreamResponse:
        endless = web.StreamResponse()
        await endless.prepare(asked)
        with suppress(ConnectionError):
            while True:
                await endless.write(bytes(1 << 20))
        return endless

    async with server(answer) as base, request(base) as made:
        with pytest.raises(NetworkError, match="more than 2 MB"):
            await made.post(f"{base}/bot{TOKEN}/getMe")


async def test_a_download_says_how_long_telegram_wants_to_be_left_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("PTB_TIMEDELTA", "1")  # as connection.py has it

    async def answer(_: web.BaseRequest) -> web.StreamResponse:
        return web.Response(status=429, headers={"Retry-After": "7"})

    async def write(piece: bytes) -> None:
        raise AssertionError(piece)

    async with server(answer) as base, request(base) as made:
        with pytest.raises(RetryAfter) as error:
            await made.download(f"{base}/file/bot{TOKEN}/one", write)
    assert retry_after_seconds(error.value) == 7.0


async def test_who_cannot_be_reached_is_a_network_error_without_the_token() -> None:
    async with raw_server(b"") as base:
        pass
    async with request(base) as made:
        with pytest.raises(NetworkError, match="Cannot connect to host") as error:
            await made.post(f"{base}/bot{TOKEN}/getMe")
    assert "SECRET" not in str(error.value)


async def test_once_closed_nothing_is_asked() -> None:
    made = AiohttpRequest("http://127.0.0.1:9", connections=1)
    await made.shutdown()
    with pytest.raises(NetworkError, match="closed"):
        await made.post("http://127.0.0.1:9/bot/getMe")


async def test_a_proxy_of_the_environment_stands_in_between(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    async def answer(request: web.BaseRequest) -> web.Response:
        asked.append(request.raw_path)
        return web.json_response({"ok": True, "result": True})

    async with server(answer) as proxy:
        monkeypatch.setenv("HTTP_PROXY", proxy)
        monkeypatch.delenv("NO_PROXY", raising=False)
        monkeypatch.delenv("no_proxy", raising=False)
        async with request("http://telegram.test") as made:
            assert await made.post("http://telegram.test/bot/getMe") is True
    assert asked == ["http://telegram.test/bot/getMe"]


def test_which_proxy_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)
    assert find_proxy("https://api.telegram.org") is None
    monkeypatch.setenv("ALL_PROXY", "proxy.example:3128")
    assert find_proxy("https://api.telegram.org") == "http://proxy.example:3128"
    monkeypatch.setenv("HTTPS_PROXY", "http://me:pass@secure.example")
    assert find_proxy("https://api.telegram.org") == "http://me:pass@secure.example"
    monkeypatch.setenv("NO_PROXY", "telegram.org,127.0.0.1")
    assert find_proxy("https://api.telegram.org") is None
    assert find_proxy("http://127.0.0.1:8081") is None


async def test_nothing_is_asked_while_another_instance_has_the_bot() -> None:
    ours = False
    made = AiohttpRequest("http://127.0.0.1:9", connections=1, is_ours=lambda: ours)
    try:
        with pytest.raises(NetworkError, match="another instance has this bot now"):
            await made.post("http://127.0.0.1:9/bot/getMe")
        ours = True
        with pytest.raises(NetworkError, match="Cannot connect to host"):
            await made.post("http://127.0.0.1:9/bot/getMe")
    finally:
        await made.shutdown()
