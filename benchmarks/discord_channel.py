"""Cost of Discord as a channel: time from a message to the first visible text, and to a command's acknowledgement.

`python benchmarks/discord_channel.py [--messages 60]`

The service is a process of its own, as people run it, with the tests' Discord server (REST and gateway) and a
model server that answers at once. Each message is sent once everything is idle.
"""

import argparse
import asyncio
import statistics
import sys
import tempfile
import time
from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager
from pathlib import Path

import httpx
from bot_process import BotProcess, find_faults, service_on, wait_until_idle
from figures import Report, import_seconds, measure_to_the_end
from model_servers import model_servers
from turns import instant_server, measure_raw_call
from workspaces import ROOT

sys.path.insert(0, str(ROOT))
from tests.fakes.discord_api.server import DiscordApi

MAX_MS = 25.0
BETWEEN_SECONDS = 1.3
IMPORTS = "import aiohttp.web, discord"


def service(
    folder: Path, addresses: Mapping[str, str], api: DiscordApi
) -> AbstractAsyncContextManager[BotProcess]:
    """Start the service with Discord only."""
    return service_on("discord", {"token": api.token, "api_base": api.api_base}, folder, addresses)


async def measure(arguments: argparse.Namespace) -> list[str]:
    report = Report()
    with tempfile.TemporaryDirectory() as name, model_servers(instant_server) as addresses:
        async with DiscordApi() as api:
            anna = api.person("anna")
            channel = api.guild("Home", anna).text("general")
            imports = statistics.median(import_seconds(IMPORTS) for _ in range(3))
            began = time.monotonic()
            async with service(Path(name) / "cost", addresses, api) as bot:
                await api.wait_until_connected(within=60)
                print("start until the session is there")
                report.figure("wall s", time.monotonic() - began)
                report.figure("CPU s", bot.cpu_seconds())
                report.figure(f"CPU s of `{IMPORTS}` alone", imports)
                await asyncio.sleep(3)  # commands are registered, notes are scanned
                first_wall, first_cpu, whole, raw = [], [], [], []
                async with httpx.AsyncClient() as client:
                    for _ in range(arguments.messages):
                        await asyncio.sleep(BETWEEN_SECONDS)
                        before, replies = await wait_until_idle(bot), len(anna.dm.replies)
                        began = time.monotonic()
                        await anna.say("The quick brown fox jumps over the lazy dog, and nobody minds.")
                        await api.wait_until(lambda: len(anna.dm.replies) > replies, within=10)  # noqa: B023
                        first_wall.append(1000 * (time.monotonic() - began))
                        first_cpu.append(1000 * (bot.cpu_seconds() - before))
                        whole.append(1000 * (await wait_until_idle(bot) - before))
                        raw.append(await measure_raw_call(client, addresses["openai"]))
                print(f"a direct message, with a model that answers at once; medians of {arguments.messages}")
                report.figure("until something can be seen, wall ms", statistics.median(first_wall))
                report.figure(
                    "until something can be seen, our CPU ms", statistics.median(first_cpu), limit=MAX_MS
                )
                report.figure("until nothing more is done, CPU ms", statistics.median(whole))
                report.figure("the model's call by httpx alone, CPU ms", statistics.median(raw))
                heard_wall, heard_cpu = [], []
                for _ in range(arguments.messages):
                    await asyncio.sleep(BETWEEN_SECONDS)
                    before, began = await wait_until_idle(bot), time.monotonic()
                    used = await anna.use("usage", channel)
                    await api.wait_until(lambda: used.acknowledged is not None, within=10)  # noqa: B023
                    heard_wall.append(1000 * (time.monotonic() - began))
                    heard_cpu.append(1000 * (bot.cpu_seconds() - before))
                print(f"a slash command; medians of {arguments.messages}")
                report.figure("until it is acknowledged, wall ms", statistics.median(heard_wall))
                report.figure(
                    "until it is acknowledged, our CPU ms", statistics.median(heard_cpu), limit=MAX_MS
                )
                report.figure("refused by Discord", len(api.refusals), limit=0)
                report.figure("MB after that", bot.megabytes())
        report.failed += find_faults(Path(name))
    return report.failed


def main() -> None:
    """Print every figure; exit with 1 if one exceeds its limit."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--messages", type=int, default=60)
    arguments = parser.parse_args()
    measure_to_the_end(measure(arguments))


if __name__ == "__main__":
    main()
