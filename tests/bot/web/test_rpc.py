import asyncio
import io
import json
import sys
from collections.abc import AsyncIterator
from dataclasses import fields
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from bot.note_writes import OnceWriter
from bot.state import flushes, inbox
from bot.tools.memory import memory_tools
from bot.web.rpc.protocol import INVALID_PARAMS, INVALID_REQUEST, METHOD_NOT_FOUND, NOT_FOUND, SERVER_ERROR
from memory.status import MemoryStatus
from tests.fakes.commonplace import Commonplace
from tests.fakes.stored_conversation import end_conversation
from tests.fakes.turns import message
from tests.fakes.web_client import TOKEN, WebClient, open_web_client

pytestmark = pytest.mark.filterwarnings("ignore:.*:DeprecationWarning:aiohttp.*")

METHODS = {
    "memory.status",
    "memory.rebuild",
    "memory.health",
    "memory.search",
    "memory.get",
    "memory.write",
    "memory.changes",
    "memory.undo",
    "models.status",
    "sessions.list",
    "rpc.discover",
}
JSON = "application/json"


class Rpc:
    """A program that calls."""

    def __init__(self, site: WebClient) -> None:
        self.site = site

    async def post(self, body: bytes | str, *, status: int = 200, content_type: str = JSON) -> Any:
        """Send a body as it is; give what comes back as JSON, None where nothing does."""
        shown = {"Content-Type": content_type, **self.site.token}
        data = io.BytesIO(body.encode() if isinstance(body, str) else body)
        async with self.site.client.post("/rpc", data=data, headers=shown) as answer:
            text = await answer.text()
            assert answer.status == (204 if status == 200 and not text else status), text
            if not text:
                return None
            assert answer.content_type == "application/json"
            return json.loads(text, parse_constant=pytest.fail)

    async def send(self, document: object) -> Any:
        return await self.post(json.dumps(document))

    async def call(self, method: str, **params: Any) -> dict[str, Any]:
        answer = await self.send({"jsonrpc": "2.0", "method": method, "params": params, "id": 7})
        assert (answer["jsonrpc"], answer["id"]) == ("2.0", 7)
        assert "error" not in answer, answer
        result: dict[str, Any] = answer["result"]
        return result

    async def refused(self, method: str, params: object = None) -> tuple[int, str]:
        """Code and message of the error that it gives."""
        said = {"jsonrpc": "2.0", "method": method, "id": 7, **({} if params is None else {"params": params})}
        answer = await self.send(said)
        assert set(answer) == {"jsonrpc", "id", "error"}
        assert set(answer["error"]) == {"code", "message"}
        assert answer["id"] == 7
        return answer["error"]["code"], answer["error"]["message"]


@pytest.fixture
async def site(tmp_path: Path) -> AsyncIterator[WebClient]:
    async with open_web_client(tmp_path, token=TOKEN) as site:
        yield site


@pytest.fixture
def rpc(site: WebClient) -> Rpc:
    return Rpc(site)


def request(method: str = "memory.search", **members: Any) -> dict[str, Any]:
    params = {"query": "boat"} if method == "memory.search" else {}
    return {"jsonrpc": "2.0", "method": method, "params": params, **members}


# -- the methods -----------------------------------------------------------------------------------------------


async def test_what_is_written_is_found_and_read(rpc: Rpc) -> None:
    written = await rpc.call("memory.write", content="The boat is called Linnea.", target="core")
    assert written == {"path": "MEMORY.md", "line_start": 3, "line_end": 3}
    found = await rpc.call("memory.search", query="name of the boat")
    (hit,) = found["results"]
    assert (found["query"], hit["path"], hit["line_start"]) == ("name of the boat", "MEMORY.md", 3)
    assert {"path", "line_start", "line_end", "snippet", "score", "source"} <= set(hit)
    assert hit["source"] == "fts"
    note = await rpc.call("memory.get", path="MEMORY.md", line=3, limit=1)
    assert note == {
        "path": "MEMORY.md",
        "text": "- The boat is called Linnea.\n",
        "line_start": 3,
        "line_end": 3,
        "total_lines": 3,
        "says": [],
    }


async def test_equal_writes_are_two(rpc: Rpc) -> None:
    first, second = [await rpc.call("memory.write", content="Tea.", target="core") for _ in range(2)]
    assert first["line_start"] + 1 == second["line_start"]


async def test_the_status_has_every_field_of_the_memorys(rpc: Rpc) -> None:
    await rpc.call("memory.write", content="One note", target="daily")
    status = await rpc.call("memory.status")
    assert {field.name for field in fields(MemoryStatus)} < set(status)
    assert (status["files"], status["cache"]) == (1, {"entries": 0, "hits": 0, "misses": 0})
    assert status["rebuilding"] == {"running": False, "last": None}


async def test_a_rebuild_gives_its_report_and_the_status_tells_of_it(rpc: Rpc) -> None:
    await rpc.call("memory.write", content="One note", target="daily")
    report = await rpc.call("memory.rebuild")
    assert {
        "added": 1,
        "changed": 0,
        "removed": 0,
        "problems": [],
        "running": False,
    }.items() <= report.items()
    assert report["vectors"] == {"embedded": 0, "missing": 0, "error": "", "provider": ""}
    last = (await rpc.call("memory.status"))["rebuilding"]["last"]
    assert last["report"]["added"] == 1
    assert datetime.fromisoformat(last["at"]).tzinfo is not None


async def test_a_rebuild_that_is_not_waited_for_goes_on(rpc: Rpc, site: WebClient) -> None:
    await rpc.call("memory.write", content="One note", target="daily")
    assert await rpc.call("memory.rebuild", wait=False) == {"running": True}
    await site.services.index_rebuilder.run()  # the same one, or one more
    status = await rpc.call("memory.status")
    assert status["rebuilding"]["last"]["report"]["added"] == 1


async def test_models_are_told_with_their_state_and_moments(rpc: Rpc) -> None:
    (model,) = (await rpc.call("models.status"))["models"]
    assert (model["model"], model["state"], model["in_chain"]) == ("builtin/notebook", "ready", True)
    assert (model["paused_until"], model["last_answer_at"], model["last_failure_at"]) == ("", "", "")
    assert model["rests_until"] == "", "the deprecated name"


async def test_sessions_are_the_latest_conversations_without_a_word_of_them(
    rpc: Rpc, site: WebClient
) -> None:
    state = site.services.state
    said = json.dumps({"text": "Nobody is to read this"})
    for chat, entries in (("telegram:5", 2), ("terminal:main", 1)):
        await state.append(None, chat, [("recalled", "{}"), *[("user", said)] * entries], after=0)
    await state.change(lambda db: flushes.save_chat(db, "telegram:5", name="Anna", flush=True))
    await end_conversation(state, "terminal:main")
    await state.append(
        None, "terminal:main", [("user", said), ("assistant", said), ("result", said)], after=0
    )
    listed = (await rpc.call("sessions.list"))["sessions"]
    assert "Nobody" not in json.dumps(listed)
    assert [(each["chat"], each["name"], each["messages"]) for each in listed] == [
        ("terminal:main", "", 2),
        ("telegram:5", "Anna", 2),
    ]
    assert all(not each["running"] and not each["ended_at"] for each in listed)
    assert datetime.fromisoformat(listed[0]["last_at"]) <= datetime.now(UTC)
    await end_conversation(state, "telegram:5")
    assert (await rpc.call("sessions.list", limit=2))["sessions"][1]["ended_at"]
    assert len((await rpc.call("sessions.list", limit=1))["sessions"]) == 1


async def test_sessions_tell_where_something_is_being_answered(rpc: Rpc, site: WebClient) -> None:
    state, said = site.services.state, message("Hello", chat="terminal:main")
    (row,) = await state.append(None, "terminal:main", [("user", "{}")], after=0)
    received = await state.change(lambda db: inbox.add(db, said, owner="", at=state.at()))
    assert received
    running = [each["running"] for each in (await rpc.call("sessions.list"))["sessions"]]
    heard = [(received.number, row.conversation, row.seq)]
    await state.change(lambda db: inbox.mark_running(db, received.number, heard))
    running += [each["running"] for each in (await rpc.call("sessions.list"))["sessions"]]
    await state.change(lambda db: inbox.save_reply(db, received.number, "Hi"))
    running += [each["running"] for each in (await rpc.call("sessions.list"))["sessions"]]
    assert running == [False, True, False]


async def test_every_method_is_discovered_with_the_parameters_of_the_tools(rpc: Rpc, site: WebClient) -> None:
    document = await rpc.call("rpc.discover")
    methods = {each["name"]: each for each in document["methods"]}
    assert set(methods) == METHODS
    assert document["openrpc"] == "1.3.2"
    assert all(each["summary"].endswith(".") for each in methods.values())
    for tool in memory_tools(site.services.memory, OnceWriter(site.services.memory, site.services.state))[:3]:
        schemas = {
            each["name"]: each["schema"] for each in methods[tool.spec.name.replace("_", ".", 1)]["params"]
        }
        assert schemas == tool.spec.parameters["properties"]


# -- what is wrong ---------------------------------------------------------------------------------------------


BAD_CALLS: list[tuple[str, object, int, str]] = [
    ("memory.serch", {}, METHOD_NOT_FOUND, 'did you mean "memory.search"?'),
    ("m" * 100_000, {}, METHOD_NOT_FOUND, "The methods are: memory.status,"),
    ("", {}, METHOD_NOT_FOUND, "memory.get"),
    ("memory.search", {}, INVALID_PARAMS, '"query" is missing'),
    ("memory.search", None, INVALID_PARAMS, '"query" is missing'),
    ("memory.search", {"query": "a", "limit": 0}, INVALID_PARAMS, '"limit" should be greater than'),
    ("memory.search", {"query": "a", "limit": 10**40}, INVALID_PARAMS, "less than or equal to 50"),
    ("memory.search", {"query": "a", "lim": 1}, INVALID_PARAMS, 'did you mean "limit"?'),
    ("memory.search", {"query": ["a"]}, INVALID_PARAMS, '"query" should be a valid string, not ["a"]'),
    ("memory.search", ["a", 5], INVALID_PARAMS, "memory.search takes query (string), limit"),
    ("memory.changes", {"limit": 0}, INVALID_PARAMS, '"limit" should be greater than'),
    ("memory.undo", {}, INVALID_PARAMS, '"number" is missing'),
    ("memory.undo", {"number": 9}, NOT_FOUND, "There is no change 9."),
    ("memory.status", {"a": 1}, INVALID_PARAMS, "memory.status takes no arguments."),
    ("memory.search", {"query": 5}, INVALID_PARAMS, '"query" should be a valid string, not 5'),
    ("memory.search", {"query": True}, INVALID_PARAMS, '"query" should be a valid string, not true'),
    ("memory.search", {"query": None}, INVALID_PARAMS, '"query" is missing'),
    ("memory.search", {"query": "a", "limit": "x"}, INVALID_PARAMS, '"limit" should be a valid integer'),
    ("memory.search", {"query": "a", "limit": "5"}, INVALID_PARAMS, '"limit" should be a valid integer'),
    ("memory.search", {"query": "a", "limit": True}, INVALID_PARAMS, '"limit" should be a valid integer'),
    ("memory.search", {"query": "a", "limit": {}}, INVALID_PARAMS, '"limit" should be a valid integer'),
    ("memory.search", {"query": "a", "lim": None}, INVALID_PARAMS, 'did you mean "limit"?'),
    ("memory.get", {}, INVALID_PARAMS, '"path" is missing'),
    ("memory.get", {"path": 5}, INVALID_PARAMS, '"path" should be a valid string'),
    ("memory.get", {"path": "MEMORY.md", "line": "1"}, INVALID_PARAMS, '"line" should be a valid integer'),
    ("memory.get", {"path": "MEMORY.md", "line": False}, INVALID_PARAMS, '"line" should be a valid integer'),
    ("memory.get", {"path": "MEMORY.md", "limit": [1]}, INVALID_PARAMS, '"limit" should be a valid integer'),
    ("memory.write", {"content": 5, "target": "core"}, INVALID_PARAMS, '"content" should be a valid string'),
    ("memory.write", {"content": "a"}, INVALID_PARAMS, '"target" is missing'),
    ("memory.write", {"content": "a", "target": 1}, INVALID_PARAMS, "\"target\" should be 'core' or 'daily'"),
    ("memory.rebuild", {"wait": 1}, INVALID_PARAMS, '"wait" should be a valid boolean'),
    ("memory.rebuild", {"wait": "no"}, INVALID_PARAMS, '"wait" should be a valid boolean'),
    ("memory.health", {"seconds": 1}, INVALID_PARAMS, '"seconds" is not a parameter'),
    ("models.status", {"model": "a"}, INVALID_PARAMS, '"model" is not a parameter'),
    ("sessions.list", {"limit": "10"}, INVALID_PARAMS, '"limit" should be a valid integer'),
    ("sessions.list", {"limit": True}, INVALID_PARAMS, '"limit" should be a valid integer'),
    ("rpc.discover", {"method": "a"}, INVALID_PARAMS, '"method" is not a parameter'),
    ("memory.write", {"content": "a", "target": "x"}, INVALID_PARAMS, "should be 'core' or 'daily', not"),
    ("memory.write", {"content": " ", "target": "core"}, INVALID_PARAMS, "nothing to write"),
    ("memory.get", {"path": "../state.db"}, INVALID_PARAMS, ""),
    ("memory.get", {"path": "a\0b.md"}, INVALID_PARAMS, ""),
    ("memory.get", {"path": "x.md"}, NOT_FOUND, "x.md"),
    ("memory.get", {"path": "MEMORY.md", "line": 10**30}, SERVER_ERROR, "there is no line"),
    ("sessions.list", {"limit": 0}, INVALID_PARAMS, "greater than or equal to 1"),
]


async def test_a_call_that_cannot_be_is_told_why(rpc: Rpc) -> None:
    await rpc.call("memory.write", content="One note", target="core")
    for method, params, code, told in BAD_CALLS:
        found, text = await rpc.refused(method, params)
        assert (found, told.lower() in text.lower()) == (code, True), (method, params, found, text)
        assert len(text) < 600
    assert {method for method, _, code, _ in BAD_CALLS if code == INVALID_PARAMS} == METHODS


@pytest.mark.thorough
async def test_thousands_of_unknown_parameters_are_refused_in_no_time_and_few_words(rpc: Rpc) -> None:
    code, text = await rpc.refused("memory.search", {f"parameter {number}": 1 for number in range(30_000)})
    assert code == INVALID_PARAMS
    assert len(text) < 600


async def test_a_fault_of_the_memory_is_an_error_of_ours(rpc: Rpc, site: WebClient) -> None:
    await rpc.call("memory.write", content="One note", target="core")
    (site.folder / "memory" / "bytes.md").write_bytes(b"\x00\xff\xfe\x00" * 50)
    folder = site.folder / "memory" / "folder.md"
    folder.mkdir()
    code, text = await rpc.refused("memory.get", {"path": "folder.md"})
    assert code in {SERVER_ERROR, INVALID_PARAMS, NOT_FOUND}
    assert "folder.md" in text


# -- HTTP ------------------------------------------------------------------------------------------------------


async def test_only_post_is_understood(site: WebClient) -> None:
    for method in ("GET", "HEAD", "PUT", "DELETE", "OPTIONS", "PATCH"):
        answer = await site.client.request(method, "/rpc", headers=site.token)
        assert (answer.status, answer.headers["Allow"]) == (405, "POST"), method


async def test_what_a_form_could_send_is_not_taken(rpc: Rpc) -> None:
    for content_type in (
        *("text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "nonsense"),
        *("application/json; charset=latin-1", "application/json; charset=utf-16", "application/jsonp", ""),
    ):
        answer = await rpc.post(json.dumps(request(id=1)), status=415, content_type=content_type)
        assert answer["error"]["code"] == INVALID_REQUEST
        assert "application/json" in answer["error"]["message"]


async def test_json_is_taken_by_all_its_names(rpc: Rpc) -> None:
    for content_type in (
        *("application/json; charset=utf-8", 'Application/JSON;charset="UTF-8"', "application/json-rpc"),
    ):
        assert "result" in await rpc.post(json.dumps(request(id=1)), content_type=content_type)


async def test_a_notification_has_an_empty_answer(rpc: Rpc, site: WebClient) -> None:
    write = request("memory.write", params={"content": "Quietly noted.", "target": "core"})
    assert await rpc.send(write) is None
    assert await rpc.send([write, write]) is None
    assert (site.folder / "memory/MEMORY.md").read_text("utf-8").count("Quietly noted.") == 3


async def test_a_batch_may_rely_on_what_stands_before_in_it(rpc: Rpc) -> None:
    write = request("memory.write", params={"content": "The boat is red.", "target": "core"}, id="w")
    written, found = await rpc.send([write, request(id="s")])
    assert (written["id"], found["id"]) == ("w", "s")
    assert found["result"]["results"][0]["snippet"] == "- The boat is red."


async def test_a_request_may_be_a_mebibyte_long_and_no_more(rpc: Rpc) -> None:
    body = json.dumps(request(id=1)).encode()
    assert "result" in await rpc.post(body.ljust(1024 * 1024))
    answer = await rpc.post(body.ljust(1024 * 1024 + 1), status=413)
    assert answer["error"]["code"] == INVALID_REQUEST


async def test_a_request_that_does_not_arrive_is_given_up(
    site: WebClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bot.web.request_body.BODY_SECONDS", 0.05)
    server = site.client.server
    reader, writer = await asyncio.open_connection(server.host, server.port)
    writer.write(
        f"POST /rpc HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {TOKEN}\r\n".encode()
        + b"Content-Type: application/json\r\nContent-Length: 100\r\n\r\n{"
    )
    async with asyncio.timeout(5):
        assert b" 408 " in await reader.readline()
    writer.close()


async def test_another_site_cannot_call(rpc: Rpc) -> None:
    async with rpc.site.client.post(
        "/rpc",
        data=json.dumps(request(id=1)),
        headers={"Content-Type": "application/json", "Origin": "https://evil.example", **rpc.site.token},
    ) as answer:
        assert answer.status == 403


@pytest.mark.thorough
async def test_nothing_of_it_is_imported_before_the_first_call(tmp_path: Path) -> None:
    code = (
        "import sys, bot.app, bot.web.app; "
        "print([name for name in sys.modules if name.startswith('bot.web.rpc.') and name != 'bot.web.rpc.route'])"
    )
    running = await asyncio.create_subprocess_exec(
        sys.executable,
        "-W",
        "ignore",
        "-c",
        code,
        stdout=asyncio.subprocess.PIPE,
        cwd=Path(__file__).parents[3],
    )
    out, _ = await running.communicate()
    assert out.decode().strip() == "[]"


@pytest.mark.thorough
async def test_the_command_line_and_calls_tell_the_same(rpc: Rpc, site: WebClient) -> None:
    await rpc.call("memory.write", content="The boat is called Linnea.", target="core")
    run = Commonplace(site.folder)

    async def told(*arguments: str) -> dict[str, Any]:
        line = await asyncio.to_thread(
            run.output_of, "memory", *arguments, "--json", "--workspace", str(site.folder)
        )
        document: dict[str, Any] = json.loads(line)
        return document

    assert await told("search", "boat") == await rpc.call("memory.search", query="boat")
    assert await told("get", "MEMORY.md") == await rpc.call("memory.get", path="MEMORY.md")
    assert set(await told("status")) | {"rebuilding"} == set(await rpc.call("memory.status"))
    assert set(await told("health")) == set(await rpc.call("memory.health"))
    assert set(await told("index", "--rebuild")) | {"running"} == set(await rpc.call("memory.rebuild"))
    written = await told("write", "More", "--target", "core")
    assert set(written) == set(await rpc.call("memory.write", content="Yet more", target="core"))
