"""Cost of the service's pages: the status page, its progress, a search.

`python benchmarks/status_page.py [--notes 1000] [--requests 20]`

The service is a process of its own, with a thousand notes and five models that have been used for a day. A
page is sent as a whole, so its first byte costs as much as all of it. Requests are so far apart that each has
the notes scanned, as with a real person; that is the larger part of the cost.
"""

import argparse
import asyncio
import random
import statistics
import sys
import tempfile
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import httpx
from bot_process import BotProcess, find_faults, free_port, service
from figures import Report, measure_to_the_end
from workspaces import make_workspace, write_config, write_notes

from bot.models.errors import Overloaded
from bot.models.health import CallOutcome, RouteName
from bot.models.protocol import Usage
from bot.state.database import State

MAX_MS = 20.0
APART_SECONDS = 0.7
"""Longer than the memory assumes that the notes are unchanged."""
MODELS = tuple(f"openai/model-{number}" for number in range(5))
CALLS_AN_HOUR = 6
NOBODY = "http://127.0.0.1:9/v1"
"""A model's URL, which is never used."""


async def write_history(private: Path) -> None:
    """Write a day of all models, as the service itself would have recorded it."""
    chance, now = random.Random(1), time.time()
    outcomes = [
        CallOutcome(
            RouteName(model),
            now - 3600 * hour,
            Overloaded("overloaded", model=model) if chance.random() < 0.1 else None,
            Usage(1000, 200),
            chance.lognormvariate(-0.2, 0.5),
            4.0,
        )
        for hour in range(24)
        for model in MODELS
        for _ in range(CALLS_AN_HOUR)
    ]
    async with State(private / "state.db") as state:
        await state.record_outcomes(outcomes)


@asynccontextmanager
async def indexed_service(folder: Path, *, notes: int) -> AsyncIterator[tuple[BotProcess, httpx.AsyncClient]]:
    workspace, port = make_workspace(folder / "workspace"), free_port()
    write_notes(workspace / "memory", notes)
    await write_history(workspace / ".commonplace")
    config = write_config(
        folder / "config.toml",
        workspace,
        server={"port": port},
        models={"chain": [*MODELS, "builtin/notebook"]},
        memory_embedding={"provider": "none"},
        providers_openai={"kind": "openai", "base_url": NOBODY, "api_key": "benchmark-key-123456"},
    )
    base = f"http://127.0.0.1:{port}"
    async with (
        service(config, folder / "service.log") as bot,
        httpx.AsyncClient(base_url=base, trust_env=False) as client,
    ):
        ends = time.monotonic() + 60
        while not await is_indexed(client, notes):
            if bot.has_ended or time.monotonic() > ends:
                sys.exit("the service did not start")
            await asyncio.sleep(0.1)
        yield bot, client


async def is_indexed(client: httpx.AsyncClient, notes: int) -> bool:
    try:
        answer = await client.get("/healthz")
    except httpx.TransportError:
        return False
    return answer.is_success and answer.json()["memory"].get("files") == notes


async def measure_cost(
    bot: BotProcess, client: httpx.AsyncClient, path: str, times: int
) -> tuple[float, float, float]:
    """Return CPU ms of the first request and of the median of the next, and the page's kilobytes."""
    spent: list[float] = []
    for _ in range(times + 1):
        await asyncio.sleep(APART_SECONDS)
        before = bot.cpu_seconds()
        page = await client.get(path, headers={"Accept": "text/html"})
        spent.append(1000 * (bot.cpu_seconds() - before))
        page.raise_for_status()
    return spent[0], statistics.median(spent[1:]), len(page.content) / 1000


async def measure(arguments: argparse.Namespace) -> list[str]:
    report = Report()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        async with indexed_service(folder, notes=arguments.notes) as (bot, client):
            for path in ("/", "/progress", "/search?q=what+was+said"):
                first, then, kilobytes = await measure_cost(bot, client, path, arguments.requests)
                print(f"{path} with {arguments.notes} notes, {kilobytes:.0f} kB")
                report.figure("CPU ms of the first request", first)
                report.figure(
                    f"CPU ms of the next {arguments.requests}, median",
                    then,
                    limit=MAX_MS if path == "/" else None,
                )
        report.failed += find_faults(folder)
    return report.failed


def main() -> None:
    """Print every figure; exit with 1 if one exceeds its limit."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--notes", type=int, default=1000)
    parser.add_argument("--requests", type=int, default=20)
    arguments = parser.parse_args()
    measure_to_the_end(measure(arguments))


if __name__ == "__main__":
    main()
