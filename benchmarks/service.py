"""Cost of the service's start with Telegram and Discord, and of its idle time.

`python benchmarks/service.py [--rounds 5] [--seconds 60] [--only start|idle]`

The service is a process of its own, as people run it, with the tests' servers for the Bot API and Discord
(REST and gateway). It is started in a new workspace and again in the same one, until `GET /healthz` reports
that all is well; alternating with that, a bare interpreter imports only the libraries that the channels need:
aiohttp, pydantic_settings, telegram.ext and discord. Then it is left alone with some notes, a file watcher, a
long poll and a heartbeat; and the same with one channel alone.
"""

import argparse
import asyncio
import json
import statistics
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import httpx
from bot_process import BotProcess, find_faults, free_port, service
from figures import Report, import_seconds, measure_to_the_end
from workspaces import ROOT, make_workspace, write_config, write_notes

sys.path.insert(0, str(ROOT))
from tests.fakes.bot_api.server import BotApi
from tests.fakes.discord_api.server import DiscordApi

MAX_TIMES_IMPORTS = 2.0
MAX_MEGABYTES = 110.0
MAX_PERCENT = 0.3
SETTLE_SECONDS = 10.0
"""Seconds after the start until the service counts as idle: menus are set, notes are indexed."""
ASK_SECONDS = 0.05
NOTES = 200
BOTH = ("telegram", "discord")
LIBRARIES = {"telegram": "telegram.ext", "discord": "discord"}
NOBODY = "https://127.0.0.1:9/v1"
"""A model's URL, encrypted as real ones are; an idle service does not use it."""


def import_statement(channels: Sequence[str]) -> str:
    """Return the baseline of a start: the import statement that a new interpreter runs."""
    return f"import {', '.join(['aiohttp', 'pydantic_settings', *(LIBRARIES[each] for each in channels)])}"


class Platforms:
    """Both platforms, for one service after the other."""

    def __init__(self, telegram: BotApi, discord: DiscordApi) -> None:
        self.telegram = telegram
        self.discord = discord

    @asynccontextmanager
    async def service(
        self, workspace: Path, channels: Sequence[str]
    ) -> AsyncIterator[tuple[BotProcess, str]]:
        """Start the service on these channels; yield it with the URL of its health check."""
        tables: dict[str, dict[str, object]] = {}
        if "telegram" in channels:
            tables["telegram"] = {"token": self.telegram.token, "api_base": self.telegram.url}
        if "discord" in channels:
            tables["discord"] = {"token": self.discord.token, "api_base": self.discord.api_base}
        port = free_port()
        config = write_config(
            workspace.with_suffix(".toml"),
            workspace,
            server={"port": port},
            access={"allow": [f"{channel}:*" for channel in channels]},
            models={"chain": ["openai/gpt-4.1", "builtin/notebook"]},
            memory_embedding={"provider": "none"},
            providers_openai={"kind": "openai", "base_url": NOBODY, "api_key": "benchmark-key-123456"},
            **tables,
        )
        async with service(config, workspace.with_suffix(".log")) as bot:
            yield bot, f"http://127.0.0.1:{port}/healthz"


@asynccontextmanager
async def open_platforms() -> AsyncIterator[Platforms]:
    """Open platforms on which nobody says anything."""
    async with BotApi() as telegram, DiscordApi() as discord:
        discord.guild("Home", discord.person("anna")).text("general")
        yield Platforms(telegram, discord)


async def wait_until_up(bot: BotProcess, address: str, channels: Sequence[str]) -> float:
    """Wait until all is well; return the CPU time that the service has used.

    Its port opens before its parts do, and it answers the first request once it can.
    """
    async with asyncio.timeout(60), httpx.AsyncClient(trust_env=False, timeout=60) as client:
        while True:
            try:
                answer = await client.get(address)
            except httpx.TransportError:
                if bot.has_ended:
                    sys.exit("the service did not start")
            else:
                if answer.status_code == 200:
                    seconds = bot.cpu_seconds()
                    states = json.loads(answer.content)["channels"]
                    if states != dict.fromkeys(channels, "up"):
                        sys.exit(f"not all channels: {states}")
                    return seconds
            await asyncio.sleep(ASK_SECONDS)


@dataclass(frozen=True, slots=True)
class Starts:
    """Results of several starts."""

    spent: list[float] = field(default_factory=list)
    walls: list[float] = field(default_factory=list)
    megabytes: list[float] = field(default_factory=list)


async def measure_start(report: Report, platforms: Platforms, folder: Path, rounds: int) -> None:
    """Alternate starts and imports: the first start in a new workspace, the next one in the same."""
    for channels in (BOTH, ("telegram",), ("discord",)):
        imports: list[float] = []
        starts = {"the first of all": Starts(), "the next one": Starts()}
        for number in range(rounds):
            imports.append(await asyncio.to_thread(import_seconds, import_statement(channels)))
            name = make_workspace(folder / f"start-{'-'.join(channels)}-{number}")
            for each in starts.values():
                began = time.monotonic()
                async with platforms.service(name, channels) as (bot, address):
                    each.spent.append(await wait_until_up(bot, address, channels))
                    each.walls.append(time.monotonic() - began)
                    each.megabytes.append(bot.megabytes())
        bare = statistics.median(imports)
        print(f"start until all is well, with {' and '.join(channels)}; medians of {rounds}")
        report.figure(f"CPU s of `{import_statement(channels)}` alone", bare)
        for called, each in starts.items():
            most = MAX_TIMES_IMPORTS if channels == BOTH else None
            report.figure(f"{called}: wall s", statistics.median(each.walls))
            report.figure(f"{called}: CPU s", statistics.median(each.spent))
            report.figure(
                f"{called}: CPU, times that of the imports", statistics.median(each.spent) / bare, limit=most
            )
            report.figure(f"{called}: MB then", statistics.median(each.megabytes))


async def measure_idle(report: Report, folder: Path, seconds: float) -> None:
    """Measure all three concurrently, since they only wait."""
    await asyncio.gather(
        *(
            _measure_idle_channels(report, folder, channels, seconds)
            for channels in (BOTH, ("telegram",), ("discord",))
        )
    )


async def _measure_idle_channels(
    report: Report, folder: Path, channels: Sequence[str], seconds: float
) -> None:
    name = folder / f"idle-{'-'.join(channels)}"
    write_notes(make_workspace(name) / "memory", NOTES)
    async with open_platforms() as platforms, platforms.service(name, channels) as (bot, address):
        await wait_until_up(bot, address, channels)
        await asyncio.sleep(SETTLE_SECONDS)
        before, megabytes, began = bot.cpu_seconds(), bot.megabytes(), time.monotonic()
        await asyncio.sleep(seconds)
        percent = 100 * (bot.cpu_seconds() - before) / (time.monotonic() - began)
        print(f"idle for {seconds:g} s, with {' and '.join(channels)}, the watcher and {NOTES} notes")
        report.figure(f"MB {SETTLE_SECONDS:g} s after the start", megabytes, limit=MAX_MEGABYTES)
        report.figure("MB then", bot.megabytes(), limit=MAX_MEGABYTES)
        report.figure("MB at most", bot.megabytes("VmHWM"))
        report.figure("CPU, % of a core", percent, limit=MAX_PERCENT)
        report.figure("threads", _threads(bot))


def _threads(bot: BotProcess) -> int:
    return len(list(Path(f"/proc/{bot.pid}/task").iterdir()))


async def measure(arguments: argparse.Namespace) -> list[str]:
    report = Report()
    with tempfile.TemporaryDirectory() as name:
        if arguments.only != "idle":
            async with open_platforms() as platforms:
                await measure_start(report, platforms, Path(name), arguments.rounds)
        if arguments.only != "start":
            await measure_idle(report, Path(name), arguments.seconds)
        report.failed += find_faults(Path(name))
    return report.failed


def main() -> None:
    """Print every figure; exit with 1 if one exceeds its limit."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--only", choices=("start", "idle"))
    arguments = parser.parse_args()
    measure_to_the_end(measure(arguments))


if __name__ == "__main__":
    main()
