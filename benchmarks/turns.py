"""Our own CPU time per turn, and how many chats are answered at once.

`python benchmarks/turns.py [--chats 6] [--turns 100] [--profile FILE]`

The service is a process of its own, with the tests' platform as its channel and a model server that answers
at once, each in a process of its own too. A turn is everything from a message's arrival until the service is
idle: the inbox, the conversation, the call, the reply's delivery. For comparison the same request is made by
httpx alone, decoding its lines as JSON. Then 200 chats write at once to a model that takes a second.
"""

import argparse
import asyncio
import json
import statistics
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx
from bot_process import IDLE_SECONDS, BotProcess, bot_settings, wait_until_idle
from figures import Report, measure_to_the_end
from model_servers import KEY, model_servers
from workspaces import ROOT, make_workspace

sys.path.insert(0, str(ROOT))
from tests.fakes.chat_platform import Platform, Post

if TYPE_CHECKING:
    from aiohttp import web

    from tests.fakes.model_server import ModelServer, ReceivedRequest, Reply

MAX_TIMES_RAW, MAX_TIMES_RAW_WITH_RECALL = 4.0, 5.5
MAX_TIMES_FIRST = 1.3
MAX_SECONDS = 3.0
MAX_MEGABYTES = 40.0
CROWD = 200
CROWD_SECONDS = 1.0
NEIGHBOURS = 5
"""Turn 1 and turn 100 are medians over this many neighbouring turns of every chat."""
MODEL = {"openai": "openai/gpt-test"}
PIECES = [f"word{number} " for number in range(10)]


def instant_server() -> dict[str, "ModelServer"]:
    return _server(0.0)


def slow_server() -> dict[str, "ModelServer"]:
    return _server(CROWD_SECONDS)


def _server(seconds: float) -> dict[str, "ModelServer"]:
    """Return a server that answers in ten pieces; on request it returns the latest request."""
    from aiohttp import web

    from tests.fakes.model_server import ModelAnswer
    from tests.fakes.openai_server import OpenAIServer

    server = OpenAIServer(key=KEY)
    latest: Mapping[str, Any] = {}

    async def reply(request: "web.Request", asked: "ReceivedRequest") -> "web.StreamResponse":
        nonlocal latest
        server.requests.clear()
        if "told" in asked.body:
            return web.json_response(latest)
        if objection := server.objection(asked):
            return objection
        if "again" not in asked.headers:
            latest = asked.body
        await asyncio.sleep(seconds)
        return await server.stream(request, asked, ModelAnswer(PIECES))

    answer: Reply = reply
    server.always(answer)
    return {"openai": server}


# -- the service and its users
# --------------------------------------------------------------------------------


class TurnDriver:
    """Posts messages and waits for their replies."""

    def __init__(self, platform: Platform) -> None:
        self.platform = platform
        self._said = 0
        self._answered: set[str] = set()
        self._news = asyncio.Event()
        platform.changed = self._look

    def _look(self) -> None:
        self._answered = {each for shown in self.platform.final() for each in shown.answers}
        self._news.set()

    def say(self, chat: str) -> str:
        self._said += 1
        text = f"Message {self._said}: the quick brown fox jumps over the lazy dog, and nobody minds."
        post = Post(f"u{self._said}", chat, f"p{chat}", text, datetime.now(UTC).isoformat())
        self.platform.post(post)
        return post.id

    async def answered(self, messages: Sequence[str], seconds: float = 60.0) -> bool:
        """Wait until each has its complete reply; return False after this many seconds."""
        wanted = set(messages)
        try:
            async with asyncio.timeout(seconds):
                while not wanted <= self._answered:
                    self._news.clear()
                    await self._news.wait()
        except TimeoutError:
            return False
        return True


@asynccontextmanager
async def run_turn_service(
    folder: Path, addresses: Mapping[str, str], *, recall: bool = True, profile: Path | None = None
) -> AsyncIterator[tuple[BotProcess, TurnDriver]]:
    """Start the service in a new workspace, without compaction, which would disturb the measurement."""
    workspace = make_workspace(folder / "w")
    config = bot_settings(
        folder / "config.toml",
        workspace,
        addresses,
        MODEL,
        token_threshold=1_000_000,
        recall=recall,
    )
    async with Platform(folder / "platform.sock", twice=0.0, latency=0.0) as platform:
        talk = TurnDriver(platform)
        bot = await BotProcess.start(config, platform.socket, folder / "log", profile=profile)
        try:
            async with asyncio.timeout(60):
                await platform.up.wait()
            yield bot, talk
        finally:
            await bot.stop()


# -- the cost of a turn --------------------------------------------------------------------------------------


async def measure_turns(
    report: Report, folder: Path, *, recall: bool, chats: int, turns: int, profile: Path | None = None
) -> None:
    """Measure each turn of every chat, and the raw call for the first and the last ones.

    `recall`: whether the notes are searched with each message.
    """
    ours: list[list[float]] = [[] for _ in range(turns)]
    raw: list[list[float]] = [[] for _ in range(turns)]
    measured = [*range(NEIGHBOURS), *range(turns - NEIGHBOURS, turns)]
    with model_servers(instant_server) as addresses:
        async with (
            run_turn_service(folder / "cost", addresses, recall=recall, profile=profile) as (bot, talk),
            httpx.AsyncClient() as client,
        ):
            await talk.answered([talk.say("warm")])
            await asyncio.sleep(3)  # work after its start
            for chat in range(chats):
                for turn in range(turns):
                    before = await wait_until_idle(bot)
                    if not await talk.answered([talk.say(f"c{chat}")]):
                        raise SystemExit("no answer")
                    ours[turn].append(1000 * (await wait_until_idle(bot) - before))
                    if turn in measured:
                        raw[turn].append(await measure_raw_call(client, addresses["openai"]))
    first, last = ours[:NEIGHBOURS], ours[turns - NEIGHBOURS :]
    first_ms, last_ms = (statistics.median(each for turn in part for each in turn) for part in (first, last))
    raw_first, raw_last = (
        statistics.median(each for turn in part for each in turn)
        for part in (raw[:NEIGHBOURS], raw[turns - NEIGHBOURS :])
    )
    how = "with" if recall else "without"
    print(f"CPU ms a turn, {how} automatic recall, medians of {NEIGHBOURS} turns in each of {chats} chats")
    report.figure("turn 1", first_ms)
    report.figure("turn 1: the same request by httpx alone", raw_first)
    for turn in range(10, turns, 10):
        window = ours[max(0, turn - 3) : turn + 2]
        report.figure(f"turn {turn}", statistics.median(each for found in window for each in found))
    report.figure(f"turn {turns}", last_ms)
    report.figure(f"turn {turns}: the same request by httpx alone", raw_last)
    most = MAX_TIMES_RAW_WITH_RECALL if recall else MAX_TIMES_RAW
    report.figure(f"turn {turns} / the same request by httpx alone", last_ms / raw_last, limit=most)
    report.figure(f"turn {turns} / turn 1", last_ms / first_ms, limit=MAX_TIMES_FIRST)


async def measure_raw_call(client: httpx.AsyncClient, base_url: str) -> float:
    """Return the CPU ms of the service's latest request, each after a pause as there; a median of three."""
    url = f"{base_url}/chat/completions"
    fields = (await client.post(url, json={"told": True})).json()
    headers = {"Authorization": f"Bearer {KEY}", "Content-Type": "application/json", "again": "1"}
    spent = []
    for _ in range(3):
        await asyncio.sleep(2 * IDLE_SECONDS)  # without a pause everything would be in the processor's caches
        began = time.process_time()
        content = json.dumps(fields, ensure_ascii=False).encode()
        async with client.stream("POST", url, content=content, headers=headers) as response:
            async for line in response.aiter_lines():
                if line.startswith("data:") and line != "data: [DONE]":
                    json.loads(line[5:])
        spent.append(1000 * (time.process_time() - began))
    return statistics.median(spent)


# -- many chats at once
# ---------------------------------------------------------------------------------------


async def measure_crowd(report: Report, folder: Path, *, profile: Path | None = None) -> None:
    """Have everybody write at the same moment; then three messages in a row."""
    with model_servers(slow_server) as addresses:
        async with run_turn_service(folder / "crowd", addresses, profile=profile) as (bot, talk):
            await talk.answered([talk.say("warm")])
            await asyncio.sleep(3)
            before = bot.megabytes()
            chats = [f"c{number:03}" for number in range(CROWD)]
            spent, began = bot.cpu_seconds(), time.monotonic()
            said = [talk.say(chat) for chat in chats]
            complete = await talk.answered(said)
            seconds = time.monotonic() - began
            spent = bot.cpu_seconds() - spent
            print(f"{CROWD} chats at once, a model that takes {CROWD_SECONDS:g} s")
            report.figure("seconds until all were answered", seconds if complete else 60.0, limit=MAX_SECONDS)
            report.figure("of processor time a chat, ms", 1000 * spent / CROWD)
            report.figure("MB more, at most", bot.megabytes("VmHWM") - before, limit=MAX_MEGABYTES)
            began = time.monotonic()
            several = {chat: [talk.say(chat) for _ in range(3)] for chat in chats}
            complete = await talk.answered([each for row in several.values() for each in row])
            report.figure("seconds for three messages in a row in each", time.monotonic() - began)
            report.figure(
                "messages not answered in order", find_out_of_order(talk.platform, several), limit=0
            )
            report.figure("MB more, at most, by then", bot.megabytes("VmHWM") - before, limit=MAX_MEGABYTES)
            if not complete:
                report.failed.append("not all of them were answered")


def find_out_of_order(platform: Platform, several: Mapping[str, Sequence[str]]) -> int:
    answers: dict[str, list[str]] = {}
    for shown in sorted(platform.final(), key=lambda each: each.final_at or 0):
        answers.setdefault(shown.chat, []).extend(shown.answers)
    return sum(
        [each for each in answers.get(chat, ()) if each in row] != row for chat, row in several.items()
    )


async def measure(arguments: argparse.Namespace) -> list[str]:
    report = Report()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if arguments.only != "crowd":
            for recall in (False, True):
                await measure_turns(
                    report,
                    folder / f"recall-{recall}",
                    recall=recall,
                    chats=arguments.chats,
                    turns=arguments.turns,
                    profile=arguments.profile,
                )
        if arguments.only != "cost":
            await measure_crowd(report, folder, profile=arguments.profile)
    return report.failed


def main() -> None:
    """Print every figure; exit with 1 if one exceeds its limit."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--chats", type=int, default=6)
    parser.add_argument("--turns", type=int, default=100)
    parser.add_argument("--only", choices=("cost", "crowd"))
    parser.add_argument(
        "--profile", type=Path, help="have cProfile write here; what is measured is then slower"
    )
    arguments = parser.parse_args()
    measure_to_the_end(measure(arguments))


if __name__ == "__main__":
    main()
