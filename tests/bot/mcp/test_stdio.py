"""`commonplace mcp`: a process that a program starts, and what it makes of anything on its input."""

import asyncio
import json
import os
import shlex
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import anyio
import pytest
from mcp.shared.message import SessionMessage
from mcp_types import JSONRPCNotification, JSONRPCRequest, JSONRPCResponse

from bot.config.settings import load_workspace_settings
from bot.mcp.stdio import MAX_LINE_BYTES, LineReader, LineTooLong, Refused, open_stdio, parse_line
from bot.process_lock import is_workspace_open
from tests.fakes.commonplace import ROOT, Commonplace, CommonplaceHere
from tests.fakes.mcp_programs import PROTOCOLS, start_over_stdio

INITIALIZE = (
    b'{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},'
    b'"clientInfo":{"name":"raw","version":"1"}}}\n'
)
PING = b'{"jsonrpc":"2.0","id":2,"method":"ping"}\n'


@pytest.fixture
def commonplace(tmp_path: Path) -> Commonplace:
    return Commonplace(tmp_path)


@pytest.fixture
def pipe() -> Iterator[tuple[int, int]]:
    ends = os.pipe()
    yield ends
    for each in ends:
        try:
            os.close(each)
        except OSError:
            continue


# -- lines --------------------------------------------------------------------------------------------------


def test_lines_are_read_whatever_the_pieces_they_come_in(pipe: tuple[int, int]) -> None:
    reader = LineReader(pipe[0])
    for piece in (b"on", b"e\ntw", b"o\n\nthr"):
        os.write(pipe[1], piece)
    assert [reader.read_line() for _ in range(3)] == [b"one", b"two", b""]
    os.close(pipe[1])
    assert reader.read_line() is None  # what has no end was cut off


def test_a_line_that_is_too_long_is_skipped(tmp_path: Path) -> None:
    file = tmp_path / "lines"
    file.write_bytes(b"x" * (3 * MAX_LINE_BYTES) + b"\nshort\n" + b"y" * (MAX_LINE_BYTES + 1) + b"\nlast\n")
    fd = os.open(file, os.O_RDONLY)
    reader = LineReader(fd)
    for expected in (b"short", b"last"):
        with pytest.raises(LineTooLong):
            reader.read_line()
        assert reader.read_line() == expected
    os.close(fd)


def test_what_is_no_message_is_answered() -> None:
    for line, code, request in (
        (b"{", -32700, None),
        (b"\xff\xfe", -32700, None),
        (b"[" * 100_000, -32700, None),
        (b'{"jsonrpc":"2.0","id":3,"method":"a\\ud800"}', -32700, None),
        (b"[]", -32600, None),
        (b"1", -32600, None),
        (b'{"jsonrpc":"1.0","id":"x","method":"ping"}', -32600, "x"),
        (b'{"jsonrpc":"2.0","id":3,"method":4}', -32600, 3),
        (b'{"jsonrpc":"2.0","id":true,"method":4}', -32600, None),
    ):
        parsed = parse_line(line)
        assert isinstance(parsed, Refused), line[:50]
        assert (parsed.answer.error.code, parsed.answer.id) == (code, request), line[:50]
    assert isinstance(parse_line(PING), JSONRPCRequest)
    assert isinstance(parse_line(b'{"jsonrpc":"2.0","method":"x"}'), JSONRPCNotification)


async def test_messages_go_both_ways_and_mistakes_are_answered_at_once(pipe: tuple[int, int]) -> None:
    out_of, into = os.pipe()
    async with open_stdio(pipe[0], into) as (incoming, outgoing), asyncio.timeout(10):
        await asyncio.to_thread(os.write, pipe[1], b"nonsense\n \n" + PING)
        message = await incoming.receive()
        assert isinstance(message, SessionMessage)
        assert isinstance(message.message, JSONRPCRequest)
        await outgoing.send(SessionMessage(JSONRPCNotification(jsonrpc="2.0", method="hello")))
        await outgoing.send(SessionMessage(JSONRPCResponse(jsonrpc="2.0", id=2, result={})))
        came = b""
        while came.count(b"\n") < 3:
            came += await asyncio.to_thread(os.read, out_of, 65_536)
        os.close(pipe[1])
        assert [each async for each in incoming] == []
    refused, said, answered = map(json.loads, came.splitlines())
    assert refused["error"]["code"] == -32700
    assert refused["id"] is None
    assert said == {"jsonrpc": "2.0", "method": "hello"}
    assert answered == {"jsonrpc": "2.0", "id": 2, "result": {}}
    os.close(into)
    os.close(out_of)


async def test_the_session_ends_once_all_is_answered(pipe: tuple[int, int]) -> None:
    out_of, into = os.pipe()
    os.write(pipe[1], PING + b'{"jsonrpc":"2.0","id":"7","method":"ping"}\n' + PING)
    os.write(pipe[1], b'{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7}}\n')
    os.close(pipe[1])
    async with open_stdio(pipe[0], into) as (incoming, outgoing), asyncio.timeout(5):
        assert len([await incoming.receive() for _ in range(4)]) == 4
        for _ in range(2):  # the id is used twice, and the other request is not wanted any more
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(incoming.receive(), 0.1)
            await outgoing.send(SessionMessage(JSONRPCResponse(jsonrpc="2.0", id=2, result={})))
        with pytest.raises(anyio.EndOfStream):
            await incoming.receive()
    assert os.read(out_of, 65_536).count(b"\n") == 2
    os.close(into)
    os.close(out_of)


async def test_answers_that_nobody_reads_are_not_waited_for(pipe: tuple[int, int]) -> None:
    out_of, into = os.pipe()
    os.close(out_of)
    os.write(pipe[1], PING)
    async with open_stdio(pipe[0], into) as (incoming, outgoing), asyncio.timeout(5):
        await incoming.receive()
        await outgoing.send(SessionMessage(JSONRPCResponse(jsonrpc="2.0", id=2, result={})))
        os.write(pipe[1], PING)
        await incoming.receive()
        os.close(pipe[1])
        with pytest.raises(anyio.EndOfStream):
            await incoming.receive()
    os.close(into)


def test_without_the_library_the_command_says_how_to_install_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bot.mcp.library.find_spec", lambda name: None)
    monkeypatch.setattr("bot.cli.main._claim_streams", lambda: (0, 1))
    told = CommonplaceHere(tmp_path).error_of("mcp")
    assert "make mcp" in told
    assert "commonplace[" not in told  # on PyPI, that is another program


def test_a_workspace_that_is_not_there_is_not_created(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bot.cli.main._claim_streams", lambda: (0, 1))
    here = CommonplaceHere(tmp_path)
    folder = tmp_path / "no such"
    (tmp_path / "config.toml").write_text(
        'baseURL = "https://example.org"'
    )  # of a project where an editor is
    told = here.error_of("mcp", "--workspace", str(folder))
    create = told.partition("create it with: commonplace ")[2]
    assert told.startswith(f"commonplace: there is no workspace at {folder}; correct the path, or ")
    assert not folder.exists()
    here.output_of(*shlex.split(create))
    assert load_workspace_settings(None, folder).file == folder / "config.toml"


# -- processes ----------------------------------------------------------------------------------------------


@pytest.mark.thorough
@pytest.mark.parametrize("mode", PROTOCOLS)
async def test_a_program_starts_it_and_uses_the_notes(commonplace: Commonplace, mode: str) -> None:
    async with start_over_stdio(commonplace, name="Claude Desktop", mode=mode) as client:
        assert len((await client.list_tools()).tools) == 6
        written = await client.call_tool("memory_write", {"content": "The boat leaks.", "target": "daily"})
        assert not written.is_error
        found = await client.call_tool("memory_search", {"query": "boat"})
        assert found.structured_content["results"][0]["snippet"] == "- The boat leaks."
        assert len((await client.list_resources()).resources) == 1
        path = written.structured_content["path"]
    listed = json.loads(commonplace.output_of("memory", "changes", "--json"))["changes"]
    assert [(each["path"], each["who"]) for each in listed] == [(path, "“Claude Desktop” over MCP")]
    assert not is_workspace_open(commonplace.folder / "workspace" / ".commonplace" / "locks")


@pytest.mark.thorough
async def test_rights_are_an_option(commonplace: Commonplace) -> None:
    async with start_over_stdio(commonplace, "--rights", "read", "--conversations") as client:
        names = {each.name for each in (await client.list_tools()).tools}
        assert names == {"memory_search", "memory_get", "memory_changes", "conversation_get"}
        refused = await client.call_tool("memory_write", {"content": "x", "target": "daily"})
        told = refused.structured_content["error"]
        assert told.endswith("; start commonplace mcp with --rights append.")


def call(number: int, tool: str, /, **arguments: object) -> bytes:
    params = {"name": tool, "arguments": arguments}
    request = {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params}
    return json.dumps(request).encode() + b"\n"


@pytest.mark.thorough
@pytest.mark.parametrize("notes", [0, 2000])
def test_what_was_asked_before_the_end_of_input_is_answered(commonplace: Commonplace, notes: int) -> None:
    commonplace.memory.mkdir()
    for number in range(notes):
        text = f"# Boat {number}\n\nBoat {number} lies in the harbour, and its sail is dry.\n"
        (commonplace.memory / f"{number}.md").write_text(text)
    writes = [
        call(each, "memory_write", content=f"Box {each} is red.", target="daily") for each in range(10, 15)
    ]
    said = [
        INITIALIZE,
        b'{"jsonrpc":"2.0","method":"notifications/initialized"}\n',
        *writes,
        call(20, "memory_search", query="harbour sail"),
        b"nonsense\n",
        call(21, "memory_get", path="nothing.md"),
    ]
    done = commonplace("mcp", stdin=b"".join(said))
    assert done.returncode == 0, done
    assert "Traceback" not in done.stderr
    answers = {
        each.get("id"): each for each in map(json.loads, done.stdout.splitlines()) if "method" not in each
    }
    assert answers.keys() == {1, *range(10, 15), 20, None, 21}
    assert [each for each in answers if "error" in answers[each]] == [None]
    assert answers[21]["result"]["isError"]
    found = answers[20]["result"]["structuredContent"]["results"]
    assert bool(found) == bool(notes)
    changes = json.loads(commonplace.output_of("memory", "changes", "--json"))["changes"]
    assert {each["new"][-1] for each in changes} == {f"- Box {each} is red." for each in range(10, 15)}


@pytest.mark.thorough
def test_a_signal_ends_it_while_nobody_reads_the_answers(commonplace: Commonplace) -> None:
    commonplace.memory.mkdir()
    (commonplace.memory / "long.md").write_text("The boat leaks.\n" * 1000)
    with start(commonplace) as process:
        assert ask(process, INITIALIZE)["id"] == 1
        assert process.stdin
        process.stdin.write(b"".join(call(each, "memory_get", path="long.md") for each in range(20)))
        process.stdin.close()
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(2)
        process.terminate()
        assert process.wait(5) == 0


def start(commonplace: Commonplace, *arguments: str) -> "subprocess.Popen[bytes]":
    return subprocess.Popen(
        [*commonplace.command, "mcp", *arguments],
        cwd=commonplace.folder,
        env=commonplace.environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


def ask(process: "subprocess.Popen[bytes]", *lines: bytes) -> dict[str, object]:
    assert process.stdin
    assert process.stdout
    process.stdin.write(b"".join(lines))
    process.stdin.flush()
    answer: dict[str, object] = json.loads(process.stdout.readline())
    return answer


@pytest.mark.thorough
@pytest.mark.parametrize("end", ["input", signal.SIGTERM, signal.SIGINT])
def test_it_ends_with_its_input_or_a_signal(commonplace: Commonplace, end: object) -> None:
    with start(commonplace) as process:
        assert ask(process, INITIALIZE)["id"] == 1
        assert process.stdin
        if isinstance(end, signal.Signals):
            process.send_signal(end)
        else:
            process.stdin.close()
        assert process.wait(10) == 0
        assert process.stdout
        assert process.stdout.read() == b""
        assert process.stderr
        assert b"Traceback" not in process.stderr.read()


@pytest.mark.thorough
def test_at_a_terminal_it_says_what_it_waits_for(commonplace: Commonplace) -> None:
    ours, terminal = os.openpty()
    with subprocess.Popen(
        [*commonplace.command, "mcp"],
        cwd=commonplace.folder,
        env=commonplace.environment,
        stdin=terminal,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        os.close(terminal)
        assert process.stderr
        assert process.stderr.readline() == b"Waiting for a program on standard input; Ctrl-D ends.\n"
        os.write(ours, b"\x04")
        assert process.wait(10) == 0
    os.close(ours)


@pytest.mark.thorough
def test_nonsense_on_its_input_ends_nothing(commonplace: Commonplace) -> None:
    with start(commonplace) as process:
        assert ask(process, b"\x00\xff nonsense\n")["error"]
        assert ask(process, b"x" * (2 * MAX_LINE_BYTES), b"\n")["error"]
        assert (
            ask(process, b'{"jsonrpc":"2.0","id":9,"method":"tools/list"}\n')["id"] == 9
        )  # before initialize
        assert "result" in ask(process, INITIALIZE)
        assert "result" in ask(process, PING)
        process.terminate()


@pytest.mark.thorough
def test_a_program_that_is_killed_leaves_nothing_behind(commonplace: Commonplace) -> None:
    script = (
        "import subprocess, sys, time\n"
        "child = subprocess.Popen([*sys.argv[1:], 'mcp'], stdin=subprocess.PIPE, stdout=subprocess.PIPE)\n"
        f"child.stdin.write({INITIALIZE!r}); child.stdin.flush()\n"
        "child.stdout.readline(); print(child.pid, flush=True); time.sleep(60)\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", script, *commonplace.command],
        cwd=commonplace.folder,
        env=commonplace.environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    ) as parent:
        assert parent.stdout
        child = int(parent.stdout.readline())
        parent.kill()
    for _ in range(100):
        try:
            os.kill(child, 0)
        except ProcessLookupError:
            break
        stat = Path(f"/proc/{child}/stat")
        if stat.exists() and stat.read_text().rpartition(")")[2].split()[0] == "Z":
            break
        signal.sigtimedwait([], 0.1)
    else:
        pytest.fail("it still runs")
    assert not is_workspace_open(commonplace.folder / "workspace" / ".commonplace" / "locks")


@pytest.mark.thorough
def test_what_our_code_prints_never_gets_between_the_messages(tmp_path: Path) -> None:
    script = (
        "import sys, os\n"
        "import memory.memory as m\n"
        "start = m.Memory.__init__\n"
        "def noisy(*a, **k):\n"
        "    print('noise'); os.write(1, b'more noise'); os.system('echo noise of a child')\n"
        "    start(*a, **k)\n"
        "m.Memory.__init__ = noisy\n"
        "from bot.cli.main import main\n"
        "sys.exit(main(['mcp']))\n"
    )
    commonplace = Commonplace(tmp_path)
    done = subprocess.run(
        [sys.executable, "-c", script],
        cwd=tmp_path,
        env={**commonplace.environment, "PYTHONPATH": str(ROOT)},
        input=INITIALIZE,
        capture_output=True,
        timeout=30,
        check=False,
    )
    assert b"noise" not in done.stdout
    for each in (b"noise\n", b"more noise", b"noise of a child"):
        assert each in done.stderr


@pytest.mark.thorough
def test_settings_that_cannot_be_used_are_one_line_on_standard_error(commonplace: Commonplace) -> None:
    (commonplace.folder / "config.toml").write_text("wrkspace = 1\n")
    assert "did you mean workspace" in commonplace.error_of("mcp", "--config", "config.toml", code=2)
