"""`/mcp`: who gets in, what is refused, and what sessions leave behind."""

import asyncio
import json
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from mcp_types import TextContent

from bot.config.settings import Settings
from bot.mcp import library
from bot.services import Services
from bot.web.mcp import client_servers
from tests.fakes.http_service import HttpService, serve_http
from tests.fakes.mcp_programs import MCP_TOKEN, PROTOCOLS, SESSIONS, STATELESS, connect_over_http
from tests.fakes.web_client import TOKEN

pytestmark = pytest.mark.filterwarnings("ignore::mcp.shared.exceptions.MCPDeprecationWarning")

OTHER_TOKEN = "another-token-of-a-program-987654"
PROGRAMS = {
    "tokens": {
        "cursor": {"token": MCP_TOKEN, "rights": "write"},
        "zed": {"token": OTHER_TOKEN},
    }
}
INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "raw", "version": "1"},
    },
}
BOTH = "application/json, text/event-stream"


def request(
    method: str = "POST",
    body: Any = INITIALIZE,
    *,
    token: str = MCP_TOKEN,
    path: str = "/mcp",
    **headers: str,
) -> bytes:
    """Return the bytes of a request; underscores in names of headers stand for dashes."""
    text = body if isinstance(body, bytes) else json.dumps(body).encode()
    given = {"Host": "127.0.0.1", "Accept": BOTH, "Content_Type": "application/json", **headers}
    if token:
        given["Authorization"] = f"Bearer {token}"
    if method == "POST":
        given["Content_Length"] = str(len(text))
    lines = [
        f"{method} {path} HTTP/1.1",
        *(f"{name.replace('_', '-')}: {value}" for name, value in given.items()),
    ]
    return "\r\n".join([*lines, "", ""]).encode() + (text if method == "POST" else b"")


def status_of(came: bytes) -> int:
    return int(came.split(b" ", 2)[1])


async def ask(served: HttpService, *arguments: Any, **options: Any) -> bytes:
    return await served.say(request(*arguments, Connection="close", **options), ends=False)


def headers_of(came: bytes) -> Mapping[str, str]:
    lines = came.partition(b"\r\n\r\n")[0].decode().split("\r\n")[1:]
    return {name.lower(): value for name, _, value in (line.partition(": ") for line in lines)}


def threads_of(services: Services) -> Iterator[asyncio.Task[Any]]:
    return (each for each in asyncio.all_tasks() if each.get_name().startswith("MCP"))


# -- who gets in --------------------------------------------------------------------------------------------


async def test_without_a_token_of_a_program_the_route_does_not_exist(tmp_path: Path) -> None:
    async with serve_http(tmp_path) as (served, _):
        for method in ("GET", "POST", "DELETE"):
            assert status_of(await ask(served, method)) == 404
            unknown = await ask(served, method, path="/nothing")
            known = await ask(served, method)
            assert unknown.partition(b"\r\n\r\n")[2] == known.partition(b"\r\n\r\n")[2]
    async with serve_http(tmp_path, token=TOKEN) as (served, _):
        assert status_of(await ask(served)) == 401
        assert status_of(await ask(served, token=TOKEN)) == 404


@pytest.mark.parametrize("mode", PROTOCOLS)
async def test_a_program_uses_the_notes_by_its_own_name(tmp_path: Path, mode: str) -> None:
    async with (
        serve_http(tmp_path, token=TOKEN, mcp=PROGRAMS) as (served, services),
        connect_over_http(served.port, mode=mode) as client,
    ):
        assert len((await client.list_tools()).tools) == 6
        written = await client.call_tool("memory_write", {"content": "milk", "target": "daily"})
        assert not written.is_error
        changes = await client.call_tool("memory_changes", {})
        assert [each["who"] for each in changes.structured_content["changes"]] == ["cursor over MCP"]
        assert (services.settings.memory_folder / written.structured_content["path"]).exists()
        async with connect_over_http(served.port, token=OTHER_TOKEN, mode=mode) as reader:
            assert len((await reader.list_tools()).tools) == 3
            refused = await reader.call_tool("memory_write", {"content": "x", "target": "daily"})
            assert "under [mcp.tokens.zed]" in refused.structured_content["error"]
            assert (await reader.call_tool("memory_changes", {})).structured_content["changes"] == []


async def test_each_token_opens_its_own_door_and_no_other(tmp_path: Path) -> None:
    routes = {
        "GET": ("/", "/metrics", "/notes", "/search?q=x", "/mcp"),
        "POST": ("/rpc", "/rebuild", "/undo", "/sign-out", "/mcp"),
        "DELETE": ("/mcp",),
    }
    async with serve_http(tmp_path, token=TOKEN, mcp=PROGRAMS) as (served, _):
        for method, paths in routes.items():
            for path in paths:
                for token in (TOKEN, MCP_TOKEN, OTHER_TOKEN, "", "wrong" * 5):
                    opens = token == TOKEN if path != "/mcp" else token in (MCP_TOKEN, OTHER_TOKEN)
                    came = await ask(served, method, path=path, token=token)
                    # Ten wrong tokens from one address have to wait, which is a refusal as well.
                    assert (status_of(came) not in (401, 429)) == opens, (method, path, token, came[:200])
        form = b"token=" + MCP_TOKEN.encode()
        kind = "application/x-www-form-urlencoded"
        came = await ask(served, "POST", form, path="/sign-in", token="", Content_Type=kind)
        assert status_of(came) in (401, 429)
        assert b"Set-Cookie" not in came


async def test_wrong_tokens_are_counted_and_right_ones_still_taken(tmp_path: Path) -> None:
    async with serve_http(tmp_path, mcp=PROGRAMS) as (served, _):
        for _ in range(10):
            came = await ask(served, token="guess" * 6)
            assert status_of(came) == 401
            assert headers_of(came)["www-authenticate"] == "Bearer"
        came = await ask(served, token="guess" * 6)
        assert status_of(came) == 429
        assert status_of(await ask(served)) == 200


async def test_a_program_with_an_outdated_token_does_not_lock_the_owner_out(tmp_path: Path) -> None:
    async with serve_http(tmp_path, token="short", mcp=PROGRAMS) as (served, _):
        for _ in range(11):
            came = await ask(served, token="outdated" * 3)
        assert status_of(came) == 429
        assert status_of(await ask(served, "GET", path="/", token="short")) == 200
        for _ in range(11):
            came = await ask(served, "GET", path="/", token="guess" * 6)
        assert status_of(came) == 429
        assert status_of(await ask(served)) == 200


@pytest.mark.parametrize("method", ["GET", "POST", "DELETE"])
async def test_other_sites_and_other_names_are_refused(tmp_path: Path, method: str) -> None:
    async with serve_http(tmp_path, mcp=PROGRAMS) as (served, _):
        for headers in (
            {"Origin": "http://evil.example"},
            {"Sec_Fetch_Site": "cross-site"},
            {"Sec_Fetch_Site": "cross-site", "Sec_Fetch_Mode": "navigate"},
            {"Host": "evil.example"},
        ):
            assert status_of(await ask(served, method, **headers)) == 403, headers
        own = {"Origin": "http://127.0.0.1"}
        assert status_of(await ask(served, method, **own)) != 403
    async with serve_http(tmp_path, token=TOKEN, mcp=PROGRAMS) as (served, _):
        assert (
            status_of(await ask(served, method, Host="notes.example")) != 403
        )  # behind a proxy, with a token


# -- what is refused ----------------------------------------------------------------------------------------


async def test_what_is_no_request_of_mcp_gets_an_answer_and_opens_no_session(tmp_path: Path) -> None:
    async with serve_http(tmp_path, mcp=PROGRAMS) as (served, _):
        for status, arguments in (
            (400, {"body": b"{"}),
            (400, {"body": b"\xff\xfe"}),
            (400, {"body": b"[" * 10_000}),
            (400, {"body": []}),
            (400, {"body": {"jsonrpc": "2.0", "id": 1, "method": 7}}),
            (400, {"body": {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}}),
            (404, {"Mcp_Session_Id": "0" * 32}),
            (404, {"method": "DELETE", "Mcp_Session_Id": "0" * 32}),
            (400, {"MCP_Protocol_Version": "1999-01-01"}),
            (406, {"Accept": "text/html"}),
            (413, {"body": b'"' + b"x" * 1_100_000 + b'"'}),
            (415, {"Content_Encoding": "gzip"}),
            (405, {"method": "PUT"}),
        ):
            came = await ask(served, **arguments)
            assert status_of(came) == status, (arguments.keys(), came[:300])
        assert status_of(await ask(served, Content_Type="text/plain")) in (400, 415)


async def test_a_new_session_ends_the_longest_idle_one(tmp_path: Path) -> None:
    ping = {"jsonrpc": "2.0", "id": 2, "method": "ping"}
    async with serve_http(tmp_path, mcp=PROGRAMS) as (served, _):

        async def opened() -> str:
            came = await ask(served)
            assert status_of(came) == 200
            return headers_of(came)["mcp-session-id"]

        async def is_open(session: str) -> bool:
            return status_of(await ask(served, body=ping, Mcp_Session_Id=session)) == 200

        others = headers_of(await ask(served, token=OTHER_TOKEN))["mcp-session-id"]
        for status, arguments in (
            (400, {"body": b"{"}),
            (400, {"body": ping}),
            (406, {"Accept": "text/html"}),
        ):
            assert status_of(await ask(served, **arguments)) == status  # none of these counts
        sessions = [await opened() for _ in range(client_servers.MAX_SESSIONS_EACH)]
        assert await is_open(sessions[0])
        streams = []
        for session in sessions[1:3]:
            reader, writer = await asyncio.open_connection("127.0.0.1", served.port)
            writer.write(request("GET", Mcp_Session_Id=session))
            await reader.readuntil(b"\r\n\r\n")
            streams.append(writer)
        sessions += [await opened(), await opened()]
        assert not await is_open(sessions[3])
        assert not await is_open(sessions[4])
        for session in (*sessions[:3], *sessions[5:]):
            assert await is_open(session)
        assert status_of(await ask(served, body=ping, token=OTHER_TOKEN, Mcp_Session_Id=others)) == 200
        for writer in streams:
            writer.transport.abort()


async def test_programs_that_die_while_they_begin_lock_nobody_out(tmp_path: Path) -> None:
    async with serve_http(tmp_path, mcp=PROGRAMS) as (served, _):
        for number in range(60):
            _, writer = await asyncio.open_connection("127.0.0.1", served.port)
            writer.write(request())
            await asyncio.sleep(0.001 * (number % 20))
            writer.transport.abort()
            if number % 3 == 0:
                assert status_of(await ask(served)) == 200


async def test_sessions_with_open_streams_are_never_ended_for_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(client_servers, "MAX_SESSIONS_EACH", 2)
    async with serve_http(tmp_path, mcp=PROGRAMS) as (served, _):
        streams = []
        for _ in range(2):
            session = headers_of(await ask(served))["mcp-session-id"]
            reader, writer = await asyncio.open_connection("127.0.0.1", served.port)
            writer.write(request("GET", Mcp_Session_Id=session))
            await reader.readuntil(b"\r\n\r\n")
            streams.append(writer)
        full = await ask(served)
        assert status_of(full) == 503
        assert b"Too many open sessions" in full
        assert status_of(await ask(served, token=OTHER_TOKEN)) == 200  # others have room of their own
        for writer in streams:
            writer.transport.abort()


async def test_too_many_streams_at_once_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client_servers, "MAX_REQUESTS_EACH", 2)
    async with serve_http(tmp_path, mcp=PROGRAMS) as (served, _):
        streams = []
        for _ in range(2):
            opened = await ask(served)
            reader, writer = await asyncio.open_connection("127.0.0.1", served.port)
            writer.write(request("GET", Mcp_Session_Id=headers_of(opened)["mcp-session-id"]))
            await reader.readuntil(b"\r\n\r\n")
            streams.append(writer)
        refused = await ask(served)
        assert status_of(refused) == 503
        assert headers_of(refused)["retry-after"] == "10"
        assert b"too many requests" in refused
        streams[0].transport.abort()
        await asyncio.sleep(0.5)
        assert status_of(await ask(served)) == 200
        streams[1].transport.abort()


async def test_without_the_library_the_answer_says_how_to_install_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(library, "find_spec", lambda name: None)
    async with serve_http(tmp_path, mcp=PROGRAMS) as (served, _):
        assert "make mcp" in caplog.text
        came = await ask(served)
    assert status_of(came) == 503
    assert b"make mcp" in came


# -- sessions -----------------------------------------------------------------------------------------------


async def test_a_program_that_dies_leaves_no_session(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client_servers, "SESSION_SECONDS", 1.0)
    async with serve_http(tmp_path, mcp=PROGRAMS) as (served, _):
        sessions = [headers_of(await ask(served))["mcp-session-id"] for _ in range(3)]
        writers = []
        for session in sessions:
            reader, writer = await asyncio.open_connection("127.0.0.1", served.port)
            writer.write(request("GET", Mcp_Session_Id=session))
            assert b"200 OK" in await reader.readuntil(b"\r\n\r\n")
            writers.append(writer)
        await asyncio.sleep(1.5)  # an open stream keeps a session
        ping = {"jsonrpc": "2.0", "id": 2, "method": "ping"}
        assert status_of(await ask(served, body=ping, Mcp_Session_Id=sessions[0])) == 200
        for writer in writers:
            writer.transport.abort()
        await asyncio.sleep(2.5)
        for session in sessions:
            assert status_of(await ask(served, body=ping, Mcp_Session_Id=session)) == 404


async def test_a_stream_that_is_to_be_resumed_begins_anew(tmp_path: Path) -> None:
    async with serve_http(tmp_path, mcp=PROGRAMS) as (served, _):
        session = headers_of(await ask(served))["mcp-session-id"]
        reader, writer = await asyncio.open_connection("127.0.0.1", served.port)
        writer.write(request("GET", Mcp_Session_Id=session, Last_Event_ID="7"))
        assert b"200 OK" in await reader.readuntil(b"\r\n\r\n")
        writer.transport.abort()


async def test_programs_that_leave_early_are_not_logged_as_bugs(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    ping = {"jsonrpc": "2.0", "id": 2, "method": "ping"}
    async with serve_http(tmp_path, mcp=PROGRAMS) as (served, _):
        session = headers_of(await ask(served))["mcp-session-id"]
        for method in ("POST", "GET") * 10:
            reader, writer = await asyncio.open_connection("127.0.0.1", served.port)
            writer.write(request(method, ping, Mcp_Session_Id=session))
            # The answer, or the head of the stream; not the end.
            await reader.readuntil(b"}}\r\n" if method == "POST" else b"\r\n\r\n")
            writer.transport.abort()
            await asyncio.sleep(0.05)
    assert [each.getMessage() for each in caplog.records if each.levelname == "ERROR"] == []


async def test_a_session_that_is_deleted_is_gone(tmp_path: Path) -> None:
    async with serve_http(tmp_path, mcp=PROGRAMS) as (served, _):
        session = headers_of(await ask(served))["mcp-session-id"]
        # Another program's token does not reach it, nor learn that it exists.
        assert status_of(await ask(served, "DELETE", token=OTHER_TOKEN, Mcp_Session_Id=session)) == 404
        assert status_of(await ask(served, "DELETE", Mcp_Session_Id=session)) == 200
        assert status_of(await ask(served, "DELETE", Mcp_Session_Id=session)) == 404


@pytest.mark.parametrize("mode", PROTOCOLS)
async def test_the_service_stops_in_time_with_streams_open(tmp_path: Path, mode: str) -> None:
    began = 0.0
    async with serve_http(tmp_path, mcp=PROGRAMS) as (served, services):
        reader, writer = await asyncio.open_connection("127.0.0.1", served.port)
        if mode == SESSIONS:
            session = headers_of(await ask(served))["mcp-session-id"]
            writer.write(request("GET", Mcp_Session_Id=session))
        else:
            meta = {
                "io.modelcontextprotocol/protocolVersion": STATELESS,
                "io.modelcontextprotocol/clientCapabilities": {},
            }
            listen = {
                "jsonrpc": "2.0",
                "id": 1,
                "method": "subscriptions/listen",
                "params": {"notifications": {"resourcesListChanged": True}, "_meta": meta},
            }
            writer.write(
                request("POST", listen, MCP_Protocol_Version=STATELESS, Mcp_Method="subscriptions/listen")
            )
        assert b"200 OK" in await reader.readuntil(b"\r\n\r\n")
        began = time.monotonic()
    assert time.monotonic() - began < 5.0
    assert not list(threads_of(services))
    async with asyncio.timeout(5):
        await reader.read()
    writer.close()


async def test_tokens_follow_the_settings_while_running(tmp_path: Path) -> None:
    async with serve_http(tmp_path / "notes", mcp=PROGRAMS) as (served, services):
        session = headers_of(await ask(served))["mcp-session-id"]
        reader, writer = await asyncio.open_connection("127.0.0.1", served.port)
        writer.write(request("GET", Mcp_Session_Id=session))
        await reader.readuntil(b"\r\n\r\n")
        tools = {"jsonrpc": "2.0", "id": 2, "method": "tools/list"}
        assert b"memory_edit" in await ask(served, body=tools, Mcp_Session_Id=session)
        await _reload(services, cursor={"token": MCP_TOKEN, "rights": "read"})
        async with asyncio.timeout(5):
            await reader.readuntil(b"0\r\n\r\n")  # the stream of the session with the former rights ends
        writer.close()
        assert status_of(await ask(served, body=tools, Mcp_Session_Id=session)) == 404
        async with connect_over_http(served.port) as client:
            assert len((await client.list_tools()).tools) == 3
        assert status_of(await ask(served, token=OTHER_TOKEN)) == 401
        await _reload(services)
        assert status_of(await ask(served)) == 404
        await _reload(services, new={"token": OTHER_TOKEN})
        assert status_of(await ask(served, token=OTHER_TOKEN)) == 200


async def _reload(services: Services, **tokens: Mapping[str, str]) -> None:
    current = services.live_settings
    read = Settings.model_validate({"workspace": services.settings.workspace, "mcp": {"tokens": tokens}})
    before = current._read
    current._read = lambda _: read
    try:
        changes = await current.reload()
    finally:
        current._read = before
    assert all(each.startswith("mcp.tokens") for each in changes.live)
    assert not changes.restart


async def test_a_search_answers_like_the_one_of_json_rpc(tmp_path: Path) -> None:
    async with (
        serve_http(tmp_path, mcp=PROGRAMS) as (served, services),
        connect_over_http(served.port) as client,
    ):
        await services.memory.write("The boat leaks.")
        call = {"jsonrpc": "2.0", "id": 1, "method": "memory.search", "params": {"query": "boat"}}
        came = await ask(served, "POST", call, path="/rpc", token="")
        (by_rpc,) = json.loads(came.partition(b"\r\n\r\n")[2])["result"]["results"]
        found = await client.call_tool("memory_search", {"query": "boat"})
        (by_mcp,) = found.structured_content["results"]
        assert {key: by_rpc[key] for key in by_mcp} | {"score": 0} == by_mcp | {"score": 0}
        (content,) = found.content
        assert isinstance(content, TextContent)
        assert json.loads(content.text) == found.structured_content
