"""A guest who sends more and larger files than the service can read: it goes on for everybody else, and stays small."""

import asyncio
import sqlite3
import subprocess
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import aiohttp
import pytest

from bot import phrases
from bot.attempts import READING_ATTEMPTS
from tests.fakes.bot_api.people import Person
from tests.fakes.bot_api.server import BotApi
from tests.fakes.commonplace import Commonplace
from tests.fakes.free_port import free_port
from tests.fakes.pdf_file import slow_pdf

TOPICS = 40
LARGE = b"All work and no play makes Jack a dull boy.\n" * (19 * (1 << 20) // 44)
MAX_MEGABYTES = 300
"""In a container of 512 MB that leaves room for the processes that read files."""
SECONDS = 45.0
CONFIG = """
[access]
owners = ["telegram:1"]
guests = ["telegram:3"]
[limits]
messages_per_minute = 1000
[memory.embedding]
provider = "none"
"""


class Service:
    """`commonplace run` on Telegram; a context manager that kills it at the end."""

    def __init__(self, folder: Path, api: BotApi) -> None:
        self.api = api
        self.port = free_port()
        self.commonplace = Commonplace(folder)
        (folder / "config.toml").write_text(CONFIG)
        self.commonplace.environment |= {
            "TELEGRAM_BOT_TOKEN": api.token,
            "COMMONPLACE_TELEGRAM__API_BASE": api.url,
            "COMMONPLACE_SERVER__PORT": str(self.port),
        }
        self._process: subprocess.Popen[str] | None = None
        self._log = folder / "log"

    @asynccontextmanager
    async def run(self) -> AsyncIterator[subprocess.Popen[str]]:
        with self._log.open("ab") as log:
            process = self.commonplace.start("run", "--config", "config.toml", stderr=log.fileno())
        try:
            since = len(self.api.calls)
            await self.api.wait_until(
                lambda: any(call.method == "getUpdates" for call in self.api.calls[since:]), within=60
            )
            yield process
        finally:
            process.kill()
            await asyncio.to_thread(process.communicate)

    def attempts(self) -> list[int]:
        """Of what is not answered, as it stands on disk."""
        with sqlite3.connect(self.commonplace.memory.parent / ".commonplace" / "state.db") as db:
            return [
                row[0]
                for row in db.execute("SELECT attempts FROM inbox WHERE state = 'waiting' ORDER BY number")
            ]


def children_of(pid: int) -> Iterator[int]:
    for status in Path("/proc").glob("[0-9]*/status"):
        with suppress(OSError, ProcessLookupError):
            if f"\nPPid:\t{pid}\n" in status.read_text():
                yield int(status.parent.name)


def is_running(pid: int) -> bool:
    try:
        return "State:\tZ" not in Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return False


def megabytes(pid: int, field: str = "VmHWM") -> float:
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith(f"{field}:"):
            return int(line.split()[1]) / 1024
    return 0.0


@pytest.fixture
async def api() -> AsyncIterator[BotApi]:
    async with BotApi() as api:
        yield api


@pytest.fixture
def service(tmp_path: Path, api: BotApi) -> Service:
    return Service(tmp_path, api)


async def reading(process: subprocess.Popen[str]) -> None:
    """Wait until a file is being read in a process of its own."""
    async with asyncio.timeout(40):
        while not list(children_of(process.pid)):
            assert process.poll() is None
            await asyncio.sleep(0.02)


async def longest_wait(port: int, until: asyncio.Event) -> float:
    """Ask for /healthz until it is enough; the longest time that an answer took."""
    longest = 0.0
    async with aiohttp.ClientSession() as session:
        while not until.is_set():
            began = time.monotonic()
            async with session.get(f"http://127.0.0.1:{port}/healthz") as answer:
                await answer.read()
            longest = max(longest, time.monotonic() - began)
            await asyncio.sleep(0.05)
    return longest


async def ask(person: Person, name: str) -> float:
    """Send a text file and wait for the answer to it; how long that took."""
    began = time.monotonic()
    sent = await person.document(b"The meeting is on Tuesday.", "When is the meeting?", name=name)
    await person.world.wait_until(
        lambda: any(reply.reply_to == sent.id or reply.id > sent.id for reply in person.chat.replies),
        within=30,
    )
    return time.monotonic() - began


@pytest.mark.thorough
async def test_a_guest_with_large_files_in_forty_topics(service: Service, api: BotApi) -> None:
    anna, mallory = api.person(1, "Anna"), api.person(3, "Mallory")
    await anna.start()
    forum = api.forum("House", anna, mallory)
    pdf, enough = slow_pdf(), asyncio.Event()
    async with service.run() as process:
        waits = asyncio.create_task(longest_wait(service.port, enough))
        for number in range(TOPICS):
            topic = await api.open_topic(forum, f"Topic {number}", mallory)
            files = [(pdf, "a.pdf"), (pdf, "b.pdf"), (pdf, "c.pdf")]
            files.insert(0 if number % 2 else 3, (LARGE, "large.txt"))
            for data, name in files:
                await mallory.document(data, "@commonplace_bot Read this", forum, name=name, topic=topic)
        ends = time.monotonic() + SECONDS
        await reading(process)
        took: list[float] = []
        while time.monotonic() < ends:
            took.append(await ask(anna, f"{len(took)}.txt"))
            await asyncio.sleep(1)
        enough.set()
        longest, peak = await waits, megabytes(process.pid)
        print(f"peak {peak:.0f} MB, /healthz {longest:.2f} s, answers {max(took):.1f} s of {len(took)}")
        assert process.poll() is None
    assert len(took) > 5
    assert peak < MAX_MEGABYTES
    assert longest < 2.0


@pytest.mark.thorough
async def test_what_kills_the_service_twice_is_set_aside_by_the_third_start(
    service: Service, api: BotApi
) -> None:
    anna, mallory = api.person(1, "Anna"), api.person(3, "Mallory")
    await anna.start()
    await mallory.start()
    for start in range(READING_ATTEMPTS):
        async with service.run() as process:
            if not start:
                await mallory.document(slow_pdf(), "What is in it?", name="slow.pdf")
            await reading(process)
            (child, *_) = children_of(process.pid)
            process.kill()
            await asyncio.to_thread(process.wait)
        assert service.attempts() == [start + 1]
        async with asyncio.timeout(10):
            while is_running(child):  # noqa: ASYNC110 - what was reading ends with it
                await asyncio.sleep(0.02)
    async with service.run():
        await mallory.chat.answer(containing=phrases.FILES_SET_ASIDE[:40])
        await ask(anna, "fine.txt")
        assert service.attempts() == []
