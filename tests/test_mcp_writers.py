"""Five programs, over both transports, and a chat write at once: nothing is lost, and the record is what is on disk."""

import asyncio
import json
import subprocess
from pathlib import Path

import httpx
import pytest
from mcp import Client

from bot.state.changes import read_changes
from bot.state.database import State
from tests.fakes.commonplace import Commonplace
from tests.fakes.free_port import free_port
from tests.fakes.mcp_programs import PROTOCOLS, connect_over_http, start_over_stdio
from tests.replay import read_notes, replay

WRITES = 8
SAID = 5
TOKENS = {"Zed": "the-token-of-zed-0123456789", "Goose": "the-token-of-goose-987654321"}

pytestmark = [
    pytest.mark.thorough,
    pytest.mark.filterwarnings("ignore::mcp.shared.exceptions.MCPDeprecationWarning"),
]


async def write(client: Client, name: str) -> None:
    """Write lines into two notes, correct each second one, and take one back."""
    for number in range(WRITES):
        target = "core" if number % 4 == 3 else "daily"
        content = f"{name} notes that box {number} is red"
        written = await client.call_tool("memory_write", {"content": content, "target": target})
        assert not written.is_error, written
        if number % 2:
            found = {"path": written.structured_content["path"], "old": content, "new": f"{content} or blue"}
            edited = await client.call_tool("memory_edit", found)
            assert not edited.is_error, edited
    undone = await client.call_tool("memory_undo", {})
    assert not undone.is_error, undone


async def wait_until_healthy(port: int) -> None:
    async with httpx.AsyncClient(trust_env=False) as client, asyncio.timeout(30):
        while True:
            try:
                if (await client.get(f"http://127.0.0.1:{port}/healthz")).is_success:
                    return
            except httpx.TransportError:
                await asyncio.sleep(0.1)


async def test_nothing_is_lost_and_the_record_is_what_is_on_disk(tmp_path: Path) -> None:
    commonplace, port = Commonplace(tmp_path), free_port()
    tokens = {name: {"token": token, "rights": "write"} for name, token in TOKENS.items()}
    tables = "".join(
        f"[mcp.tokens.{name}]\n" + "".join(f"{key} = {json.dumps(value)}\n" for key, value in each.items())
        for name, each in tokens.items()
    )
    (tmp_path / "config.toml").write_text(f"[server]\nport = {port}\n{tables}")
    names = ["Cursor", "Claude Desktop", "VS Code", *TOKENS]
    with commonplace.start("run", stdin=subprocess.PIPE, stderr=subprocess.DEVNULL) as service:
        await wait_until_healthy(port)
        assert service.stdin

        async def started(name: str, mode: str) -> None:
            async with start_over_stdio(commonplace, name=name, mode=mode) as client:
                await write(client, name)

        async def connected(name: str, mode: str) -> None:
            async with connect_over_http(port, token=TOKENS[name], mode=mode) as client:
                await write(client, name)

        async def chat() -> None:
            assert service.stdin
            for number in range(SAID):
                service.stdin.write(f"Remember that the chat has box {number}.\n")
                service.stdin.flush()
                await asyncio.sleep(1.0)

        async with asyncio.timeout(120), asyncio.TaskGroup() as group:
            group.create_task(chat())
            for number, name in enumerate(names):
                work = connected if name in TOKENS else started
                group.create_task(work(name, PROTOCOLS[number % 2]))
        folder = commonplace.memory
        for _ in range(150):
            text = "".join(map(Path.read_text, folder.glob("*.md")))
            if all(f"chat has box {number}" in text for number in range(SAID)):
                break
            await asyncio.sleep(0.2)
        else:
            pytest.fail(f"the chat did not note everything: {text}")
        service.terminate()
        assert service.wait(15) == 0
    notes = read_notes(folder)
    lines = [line for each in notes.values() for line in each]
    for name in names:
        for number in range(WRITES):
            content = f"{name} notes that box {number} is red"
            # The latest change of each was a correction, which it has taken back.
            expected = content if number % 2 == 0 or number == WRITES - 1 else f"{content} or blue"
            assert [line for line in lines if content in line] == [f"- {expected}"]
    async with State(commonplace.folder / "workspace" / ".commonplace" / "state.db") as state:
        changes = await state.read(lambda db: read_changes(db, limit=10_000))
    assert replay(changes) == notes
    made = [each.origin.client.strip("“”") for each in changes if each.origin.made_by == "mcp"]
    assert {name: made.count(name) for name in names} == dict.fromkeys(names, WRITES + WRITES // 2 + 1)
    assert sum(each.origin.made_by in ("tool", "agent") for each in changes) == SAID
