"""Cost of serving programs over MCP: until the first answer, and of a search.

`python benchmarks/mcp_server.py [--notes 1000] [--starts 10] [--searches 20]`

A client starts `commonplace mcp` anew each time it starts itself, so the processor time until `initialize` is
answered is what people wait for. A search is compared with the same one by JSON-RPC, asked in turn.
"""

import argparse
import asyncio
import json
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import httpx
from bot_process import BotProcess, find_faults, free_port, service
from figures import Report, measure_to_the_end
from workspaces import ENVIRONMENT, make_workspace, write_config, write_notes

MAX_START_SECONDS = 1.5
APART_SECONDS = 0.7
"""Longer than the memory assumes that the notes are unchanged."""
TOKEN = "the-token-of-a-benchmark"
QUERY = "what was said about the harbour"
INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 0,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "benchmark", "version": "1"},
    },
}
SEARCH = {"name": "memory_search", "arguments": {"query": QUERY}}


async def start_once(config: Path) -> float:
    """Return the CPU seconds of a new process until it has answered `initialize`."""
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        *("-m", "bot", "mcp", "--config", str(config)),
        env=ENVIRONMENT,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
    )
    assert process.stdin
    assert process.stdout
    process.stdin.write(json.dumps(INITIALIZE).encode() + b"\n")
    answer = json.loads(await process.stdout.readline())
    spent = BotProcess(process).cpu_seconds()
    process.stdin.close()
    if "result" not in answer or await process.wait():
        sys.exit(f"commonplace mcp failed: {answer}")
    return spent


async def post(
    client: httpx.AsyncClient, path: str, document: dict[str, Any], **headers: str
) -> httpx.Response:
    sent = {
        "Accept": "application/json, text/event-stream",
        **{name.replace("_", "-"): value for name, value in headers.items()},
    }
    answer = await client.post(path, json=document, headers=sent)
    answer.raise_for_status()
    return answer


async def measure_service(bot: BotProcess, client: httpx.AsyncClient, report: Report, times: int) -> None:
    async def cost(path: str, document: dict[str, Any], **headers: str) -> tuple[float, httpx.Response]:
        await asyncio.sleep(APART_SECONDS)
        before = bot.cpu_seconds()
        answer = await post(client, path, document, **headers)
        return 1000 * (bot.cpu_seconds() - before), answer

    token = {"Authorization": f"Bearer {TOKEN}"}
    first, answer = await cost("/mcp", INITIALIZE, **token)
    session = {**token, "Mcp_Session_Id": answer.headers["mcp-session-id"]}
    print("over HTTP")
    report.figure("CPU ms until the first `initialize` is answered", first, limit=1000 * MAX_START_SECONDS)
    second, _ = await cost("/mcp", INITIALIZE, **token)
    report.figure("CPU ms of the next one", second)
    by_mcp, by_rpc = list[float](), list[float]()
    for number in range(times + 1):
        call = {"jsonrpc": "2.0", "id": number + 1, "method": "tools/call", "params": SEARCH}
        spent, answer = await cost("/mcp", call, **session)
        assert '"isError":false' in answer.text
        by_mcp.append(spent)
        call = {"jsonrpc": "2.0", "id": 1, "method": "memory.search", "params": SEARCH["arguments"]}
        by_rpc.append((await cost("/rpc", call))[0])
    report.figure(f"CPU ms of a search by MCP, median of {times}", statistics.median(by_mcp[1:]))
    report.figure("… by JSON-RPC", statistics.median(by_rpc[1:]))


async def wait_until_indexed(bot: BotProcess, client: httpx.AsyncClient, notes: int) -> None:
    ends = time.monotonic() + 60
    while not bot.has_ended and time.monotonic() < ends:
        try:
            answer = await client.get("/healthz")
            if answer.is_success and answer.json()["memory"].get("files") == notes:
                return
        except httpx.TransportError:
            pass
        await asyncio.sleep(0.1)
    sys.exit("the service did not start")


async def measure(arguments: argparse.Namespace) -> list[str]:
    report = Report()
    with tempfile.TemporaryDirectory() as name:
        folder, port = Path(name), free_port()
        workspace = make_workspace(folder / "workspace")
        write_notes(workspace / "memory", arguments.notes)
        config = write_config(
            folder / "config.toml",
            workspace,
            server={"port": port},
            memory_embedding={"provider": "none"},
            mcp_tokens_benchmark={"token": TOKEN},
        )
        spent = [await start_once(config) for _ in range(arguments.starts)]
        print(f"`commonplace mcp`, started {arguments.starts} times beside {arguments.notes} notes")
        report.figure(
            "CPU s until `initialize` is answered, median", statistics.median(spent), limit=MAX_START_SECONDS
        )
        report.figure("… at most", max(spent))
        async with (
            service(config, folder / "service.log") as bot,
            httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}", trust_env=False, timeout=30) as client,
        ):
            await wait_until_indexed(bot, client, arguments.notes)
            await measure_service(bot, client, report, arguments.searches)
        report.failed += find_faults(folder)
    return report.failed


def main() -> None:
    """Print every figure; exit with 1 if one exceeds its limit."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--notes", type=int, default=1000)
    parser.add_argument("--starts", type=int, default=10)
    parser.add_argument("--searches", type=int, default=20)
    measure_to_the_end(measure(parser.parse_args()))


if __name__ == "__main__":
    main()
