"""An hour's traffic in minutes: does the service grow, leak tasks, files or sockets, or lose anything?

`python benchmarks/soak.py [--turns 10000] [--chats 60] [--seed 1] [--trace] [--keep DIR]`

The service is a process of its own, on Telegram and Discord at once, with servers that behave like them.
Sixty chats send the next message as soon as the last is answered, new people come and go, strangers knock,
owners rebuild the index, notes are edited, renamed and removed from outside, and somebody polls the HTTP
pages. The models and the embedding service fail at random in ten ways, and now and then all at once. After
each tenth everybody is silent for a moment; what the process then holds must equal what it held after the
first tenth. At the end each message must have its answer, once and in order, each fact must be noted once,
and the index must equal one built from scratch. `--trace` lists the lines of code that hold more memory than
after the first tenth.
"""

import argparse
import asyncio
import json
import logging
import os
import random
import re
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import AsyncIterator, Coroutine, Iterable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
from bot_process import STOP_SECONDS, BotProcess
from conversations import Findings, check_left_over
from crash import CheckFailed, read_vectors
from model_servers import KEY, model_servers
from process_watch import Held, held_by
from scripted_models import MODELS, item_line, read_server_log
from soak_people import (
    ITEMS,
    Count,
    DiscordPlace,
    Place,
    Talks,
    TelegramPlace,
    check_facts,
    check_talks,
    missing_reminders,
)
from soak_servers import WELL, failing_servers
from workspaces import COMMAND, ENVIRONMENT, ROOT, MadeUpNotes, make_workspace, write_config, write_notes

sys.path.insert(0, str(ROOT))
from tests.fakes.bot_api.server import BotApi
from tests.fakes.discord_api.limits import Limits
from tests.fakes.discord_api.server import DiscordApi
from tests.fakes.embedding_server import KEY as EMBEDDING_KEY
from tests.fakes.index_checks import assert_sound, read_index_contents

TENTHS = 10
MAX_GROWTH = 1.04
"""Maximum growth of memory since the first tenth."""
FLAT = 1.01
"""Maximum growth of memory, when idle, over the second half: what still grows then would grow for ever."""
MAY_BE_OPENED = Counter({"index.db": 4, "conversations.db": 4})
"""Files that may be open: for searching, indexing and rebuilding, and one that SQLite closes once no lock is held."""
GROWN_TURNS = 1000
"""With fewer turns the process is still warming up after the first tenth, so its memory is printed, not checked."""
SAMPLE_SECONDS = 2.0
LOOK_SECONDS = 200.0
"""With `--trace`, a look takes half a minute on a quiet machine."""
LOOKS_AGAIN = 8
REST_SECONDS = 60.0
RESTING = 0.02
"""Maximum share of a core when idle."""
ROOMS_OF = 10
"""Every tenth chat is a group."""
VISITORS_OF = 20
"""Every twentieth turn is that of a new person."""
NOTES = 300
"""Notes at the beginning, as after some time of use."""
SERVER_TOKEN = "soak-token-0123456789"
WIDENED = ["create_message", "edit_message", "delete_message", "typing", "history", "create_dm", "webhook"]
WIDE = Limits(per_second=500, routes=dict.fromkeys(WIDENED, (100, 1.0)))
"""Discord's limits, so wide that nothing waits for them."""
OWNERS = (
    "/memory rebuild", "/memory status", "/models reset", "/models reset", "/models", "/reindex", "/config",
    "/memory search parcel", "/forget nothingofthekind", "/pair", "/backup",
)  # fmt: skip
ONCE = ("/memory rebuild", "/backup", "/reindex")
"""Commands that open something permanently are run before anything is counted."""
MAX_SOCKETS = {"telegram": 34, "discord": 64, "openai": 16, "anthropic": 16, "gemini": 16, "embedding": 10}
"""Maximum kept connections by peer: as many as the pools hold, for Discord for 15 s."""


@dataclass(frozen=True, slots=True)
class Look:
    """What the process holds while everybody is silent."""

    turns: int
    seconds: float
    held: Held
    inside: Mapping[str, Any]
    """As counted by `watched_bot`."""

    @property
    def tasks(self) -> Counter[str]:
        return Counter(self.inside["tasks"])


@dataclass(slots=True)
class Soak:
    """One run."""

    folder: Path
    turns: int
    tenths: int
    quiet: float
    """Seconds of silence before each look."""
    chance: random.Random
    telegram: BotApi
    discord: DiscordApi
    notes: int = NOTES
    trace: bool = False
    talks: Talks = field(init=False)
    looks: list[Look] = field(default_factory=list)
    samples: list[tuple[int, Held]] = field(default_factory=list)
    """Samples under load, with the number of turns so far."""
    http: Counter[str] = field(default_factory=Counter)
    edits: Counter[str] = field(default_factory=Counter)
    strangers: int = 0
    visitors: int = 0
    leave: tuple[int, float] = (0, 0.0)
    seconds: float = 0.0
    ports: dict[int, str] = field(default_factory=dict)
    """Names of the peers by port."""
    _going: asyncio.Event = field(default_factory=asyncio.Event)

    def __post_init__(self) -> None:
        self.talks = Talks(self.chance)

    @property
    def workspace(self) -> Path:
        return self.folder / "w"

    @property
    def log(self) -> Path:
        return self.folder / "bot.log"

    # -- the service -----------------------------------------------------------------------------------------

    def configure(self, addresses: Mapping[str, str], chats: int) -> Path:
        """Create workspace, settings, and everybody who may talk."""
        make_workspace(self.workspace)
        items = "".join(f"- {item_line(number, 'new')}\n" for number in range(ITEMS))
        (self.workspace / "memory" / "items.md").write_text(f"# Items\n\n{items}", "utf-8")
        write_notes(self.workspace / "memory" / "own", self.notes, size=2500, seed=3)
        visitors = self.turns // VISITORS_OF + chats
        telegram = [2, *(1000 + number for number in range(chats)), *(500_000 + n for n in range(visitors))]
        discord = [self.discord.person(f"p{number}").id for number in range(chats)]
        discord += [self.discord.person(f"visitor{number}").id for number in range(visitors)]
        providers: dict[str, dict[str, object]] = {
            f"providers_{kind}": {"kind": kind, "base_url": addresses[kind], "api_key": KEY}
            for kind in MODELS
        }
        return write_config(
            self.folder / "config.toml",
            self.workspace,
            server={"port": 0, "token": SERVER_TOKEN},
            telegram={"token": self.telegram.token, "api_base": self.telegram.url},
            discord={"token": self.discord.token, "api_base": self.discord.api_base},
            access={
                "owners": ["telegram:1", f"discord:{self.discord.person('owner').id}"],
                "allow": [f"telegram:{number}" for number in telegram] + [f"discord:{each}" for each in discord],
            },
            models={
                "chain": [*MODELS.values(), "builtin/notebook"],
                "retry_delay": 0.05,
                "timeout": 10.0,
                "first_token_timeout": 3.0,
                "idle_timeout": 2.0,
                "total_timeout": 30.0,
            },
            limits={"messages_per_minute": 1000},
            memory_embedding={
                "provider": "openai",
                "base_url": addresses["embedding"],
                "api_key": EMBEDDING_KEY,
                "dimensions": 256,
            },
            # Low, so that every conversation reaches its maximum length in the first tenth.
            memory_flush={"token_threshold": 800},
            memory_reindex={"interval_minutes": 1},
            **providers,
        )  # fmt: skip

    @asynccontextmanager
    async def service(self, config: Path) -> AsyncIterator[BotProcess]:
        """Start the service, and stop it on exit."""
        trace = ["--trace"] if self.trace else []
        watched = [
            sys.executable,
            str(ROOT / "benchmarks" / "watched_bot.py"),
            str(self.folder / "inside.json"),
        ]
        bot = await BotProcess.run([*watched, *trace, "run", "--config", str(config)], self.folder, self.log)
        try:
            await self.telegram.wait_until_polling(within=90)
            await self.discord.wait_until_connected(within=90)
            await self.discord.wait_until(
                lambda: self.discord.calls_of("put_commands"), within=90, what="the menu of commands"
            )
            yield bot
        finally:
            self.leave = await bot.stop()

    # -- actors ----------------------------------------------------------------------------------------------

    def places(self, chats: int) -> list[Place]:
        """Return the chats, half of them in either channel, some of them groups."""
        owner = self.discord.person("owner")
        guild = self.discord.guild("Home", owner, *(self.discord.person(f"p{n}") for n in range(chats)))
        found: list[Place] = []
        for number in range(chats):
            room = number // 2 % ROOMS_OF == 0
            if number % 2:
                someone = self.discord.person(f"p{number}")
                channel = guild.text(f"room{number}") if room else None
                found.append(DiscordPlace(self.discord, someone, channel))
            else:
                person = self.telegram.person(1000 + number, f"P{number}")
                group = self.telegram.supergroup(f"Room {number}", person) if room else None
                found.append(TelegramPlace(self.telegram, person, group))
        return found

    async def talk(self, place: Place, until: int) -> None:
        while self.talks.turns < until:
            await self.talks.round(place)

    async def visit(self, until: int) -> None:
        """Have people come once, one after the other."""
        while self.talks.turns < until:
            if self.visitors * VISITORS_OF < self.talks.turns:
                number = self.visitors
                self.visitors += 1
                visitor: Place
                if number % 2:
                    visitor = DiscordPlace(self.discord, self.discord.person(f"visitor{number}"))
                else:
                    visitor = TelegramPlace(self.telegram, self.telegram.person(500_000 + number))
                await self.talks.round(visitor)
            await asyncio.sleep(0.05)

    async def own(self) -> None:
        """Have owners run their commands."""
        places = self._owners()
        for number in range(1_000_000):
            await self._going.wait()
            wish = self.chance.choice(OWNERS)
            if not await self.talks.ask(places[number % 2], wish):
                self.talks.faults.append(f"an owner's {wish} was not answered")
            await asyncio.sleep(self.chance.uniform(1, 5))

    def _owners(self) -> tuple[Place, Place]:
        telegram = TelegramPlace(self.telegram, self.telegram.person(1, "Owner"))
        return telegram, DiscordPlace(self.discord, self.discord.person("owner"))

    async def knock(self) -> None:
        """Have strangers write, each for the first time."""
        while True:
            await self._going.wait()
            self.strangers += 1
            if self.strangers % 2:
                await self.telegram.person(900_000 + self.strangers).say("Hello?")
            else:
                await self.discord.person(f"stranger{self.strangers}").say("Hello?")
            await asyncio.sleep(self.chance.uniform(1, 4))

    async def edit_notes(self) -> None:
        """Edit notes from outside."""
        notes, folder = MadeUpNotes(2), self.workspace / "memory" / "own"
        for number in range(1_000_000):
            await self._going.wait()
            there = sorted(folder.rglob("*.md"))
            what = (
                "new"
                if len(there) < self.notes
                else self.chance.choice(("new", "change", "rename", "remove", "add"))
            )
            at = self.chance.choice(there) if there else folder
            match what:
                case "new":
                    place = folder / f"{number % 5}" / f"note-{number}.md"
                    place.parent.mkdir(parents=True, exist_ok=True)
                    place.write_text(notes.note(2500), "utf-8")
                    if len(there) > self.notes:
                        at.unlink()
                case "change":
                    paragraphs = at.read_text("utf-8").split("\n\n")
                    paragraphs[self.chance.randrange(len(paragraphs))] = notes.sentence()
                    draft = at.with_suffix(".draft")
                    draft.write_text("\n\n".join(paragraphs).rstrip() + "\n", "utf-8")
                    draft.replace(at)
                case "rename":
                    at.rename(at.with_name(f"renamed-{number}.md"))
                case "remove":
                    at.unlink()
                case "add":
                    with at.open("a", encoding="utf-8") as file:
                        file.write(f"- {notes.sentence()}\n")
            self.edits[what] += 1
            await asyncio.sleep(self.chance.uniform(0.1, 0.8))

    async def watch_http(self) -> None:
        """Poll the HTTP pages."""
        port = await self._port()
        search = {"jsonrpc": "2.0", "id": 1, "method": "memory.search", "params": {"query": "parcel shelf"}}
        async with httpx.AsyncClient(
            base_url=f"http://127.0.0.1:{port}",
            headers={"Authorization": f"Bearer {SERVER_TOKEN}"},
            timeout=60,
            trust_env=False,
        ) as client:
            while True:
                await self._going.wait()
                for method, path in (
                    ("GET", "/healthz"),
                    ("GET", "/metrics"),
                    ("GET", "/"),
                    ("POST", "/rpc"),
                ):
                    try:
                        told = await client.request(method, path, json=search if method == "POST" else None)
                        self.http[f"{method} {path}: {told.status_code}"] += 1
                    except httpx.HTTPError as error:
                        self.http[f"{method} {path}: {type(error).__name__}"] += 1
                await asyncio.sleep(3)

    async def _port(self) -> int:
        while True:
            if found := re.search(r"listening on http://127\.0\.0\.1:(\d+)", self.log.read_text("utf-8")):
                return int(found[1])
            await asyncio.sleep(0.1)

    async def sample(self, bot: BotProcess) -> None:
        while True:
            await self._going.wait()
            self.samples.append((self.talks.turns, held_by(bot.pid, self.ports)))
            await asyncio.sleep(SAMPLE_SECONDS)

    # -- the run ---------------------------------------------------------------------------------------------

    async def run(self, bot: BotProcess, places: Sequence[Place]) -> None:
        """Run everything, tenth after tenth, and inspect the process after each."""
        for wish in ONCE:
            for owner in self._owners():
                await self.talks.ask(owner, wish)
        began = time.monotonic()
        beside: list[Coroutine[Any, Any, None]] = [
            self.own(), self.knock(), self.edit_notes(), self.watch_http(), self.sample(bot),
        ]  # fmt: skip
        tasks = [asyncio.create_task(each) for each in beside]
        try:
            for tenth in range(1, self.tenths + 1):
                self._going.set()
                until = self.turns * tenth // self.tenths
                await asyncio.gather(*(self.talk(place, until) for place in places), self.visit(until))
                self._going.clear()
                await asyncio.sleep(self.quiet)
                await at_rest(bot)
                look = await self._look(bot, time.monotonic() - began)
                self.looks.append(look)
                print(row(look), flush=True)
                with (self.folder / "looks.jsonl").open("a") as file:
                    file.write(json.dumps(look.inside) + "\n")
                for task in tasks:
                    if task.done():
                        task.result()
                self.seconds = time.monotonic() - began
            await self._look_again(bot)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _look_again(self, bot: BotProcess) -> None:
        """Look again: temporary objects, such as a request that waits for its retry, are not leaks."""
        for _ in range(LOOKS_AGAIN):
            if not any(left_over(self.looks[0], self.looks[-1]).values()):
                break
            await asyncio.sleep(self.quiet)
            self.looks[-1] = await self._look(bot, self.looks[-1].seconds)

    async def _look(self, bot: BotProcess, seconds: float) -> Look:
        file = self.folder / "inside.json"
        file.unlink(missing_ok=True)
        os.kill(bot.pid, signal.SIGUSR1)
        ends = time.monotonic() + LOOK_SECONDS
        while not file.exists():
            if bot.has_ended or time.monotonic() > ends:
                raise SystemExit(f"the service does not answer:\n{self.log.read_text('utf-8')[-3000:]}")
            await asyncio.sleep(0.02)
        # The process has just trimmed its heap, as the service does after each scan of the notes.
        held = held_by(bot.pid, self.ports)
        return Look(self.talks.turns, seconds, held, json.loads(file.read_text("utf-8")))


async def at_rest(bot: BotProcess) -> None:
    """Wait until the process is idle, for example after a rebuild that was just requested."""
    ends = time.monotonic() + REST_SECONDS
    spent = bot.cpu_seconds()
    while time.monotonic() < ends:
        await asyncio.sleep(1)
        before, spent = spent, bot.cpu_seconds()
        if spent - before < RESTING:
            break


# -- what it held
# ---------------------------------------------------------------------------------------------

HEAD = (
    f"{'turns':>7}{'minutes':>9}{'RSS MB':>9}{'PSS MB':>9}{'C, used':>9}{'C, kept':>9}{'SQLite':>8}"
    f"{'objects':>9}{'tasks':>7}{'files':>7}{'sockets':>9}{'threads':>9}{'children':>10}"
)


def row(look: Look) -> str:
    """Return one line of the table; memory allocated by C code, and freed but kept by the allocator, in MB."""
    held, allocated = look.held, look.inside["allocated"]
    return (
        f"{look.turns:7}{look.seconds / 60:9.1f}{held.rss:9.1f}{held.pss:9.1f}{allocated.get('used', 0.0):9.1f}"
        f"{allocated.get('kept', 0.0):9.1f}{allocated['sqlite']:8.1f}{look.inside['objects']:9}{look.tasks.total():7}"
        f"{held.descriptors:7}{held.sockets:9}{held.threads:9}{held.children:10}"
    )


def more(first: Counter[str], last: Counter[str]) -> list[str]:
    """Return what there is more of."""
    return [f"{name}: {first[name]} → {count}" for name, count in last.items() if count > first[name]]


def left_over(first: Look, last: Look) -> dict[str, list[str]]:
    """Return what there is more of at the end, by kind."""
    return {
        "tasks": more(first.tasks, last.tasks),
        "threads": more(*(Counter(each.inside["threads"]) for each in (first, last))),
        "files": more(first.held.files | MAY_BE_OPENED, last.held.files),
        "sockets": more(*(Counter(other=each.held.peers["other"]) for each in (first, last))),
        "children": more(Counter(), Counter(children=last.held.children)),
    }


def max_of(counters: Iterable[Counter[str]]) -> Counter[str]:
    """Return the maximum of each count."""
    most: Counter[str] = Counter()
    for each in counters:
        most |= each
    return most


def check_held(looks: Sequence[Look], samples: Sequence[tuple[int, Held]], turns: int) -> Count:
    """Compare the end with the end of the first tenth."""
    count = Count()
    first, last = looks[0], looks[-1]
    middle = looks[(len(looks) - 1) // 2]
    loaded = [under_load(samples, turns * at) for at in (0.15, 0.95)]
    for what, before, after, most in (
        ("memory, silent", first.held.rss, last.held.rss, MAX_GROWTH),
        ("memory, silent, second half", middle.held.rss, last.held.rss, FLAT),
        ("memory, under load", loaded[0], loaded[1], MAX_GROWTH),
    ):
        percent, wanted = 100 * (after / before - 1), 100 * (most - 1)
        print(
            f"  {what + ', MB':40}{before:9.1f} → {after:.1f}, {percent:+.1f} %"
            f"  (wanted: at most {wanted:+.0f} %)"
        )
        too_much = turns >= GROWN_TURNS and after > most * before
        count.fault(f"{what}: too much more", [f"{percent:+.1f} %"] if too_much else [])
    for what, found in left_over(first, last).items():
        # In a short run, what is opened for the first time looks like a leak.
        count.fault(f"{what} that are left", found if turns >= GROWN_TURNS else [])
    pools = [Counter({name: each.held.peers[name] for name in MAX_SOCKETS}) for each in looks]
    count.fault("more connections than are kept for later", more(Counter(MAX_SOCKETS), max_of(pools)))
    # A pool only notices a closed connection when it is next used.
    forsaken = last.held.forsaken - first.held.forsaken > len(MAX_SOCKETS)
    count.fault("sockets whose other side is gone", [str(last.held.forsaken)] if forsaken else [])
    return count


def under_load(samples: Sequence[tuple[int, Held]], turns: float) -> float:
    """Return the memory at about this many turns: the median of nearby samples."""
    return statistics.median(
        held.rss for _, held in sorted(samples, key=lambda each: abs(each[0] - turns))[:15]
    )


def show_growth(looks: Sequence[Look], limit: int = 12) -> None:
    """Print the kinds of objects of which there are more, which is not necessarily wrong."""
    start, end = looks[0].inside, looks[-1].inside
    first, last = Counter(start["types"]), Counter(end["types"])
    grown = Counter({name: count - first[name] for name, count in last.items() if count > first[name]})
    print("more objects than after the first tenth, the most of them:")
    for name, by in grown.most_common(limit):
        print(f"  {name:50}{first[name]:9} → {last[name]}  (+{by})")
    first, last = Counter(start["bytes"]), Counter(end["bytes"])
    for name, by in (last - first).most_common(limit):
        print(f"  {name:50}{first[name] / 1e6:9.1f} → {last[name] / 1e6:.1f} MB  (+{by / 1e6:.1f})")
    for line in end["growth"]:
        print(f"  {line}")


# -- final state
# ----------------------------------------------------------------------------------------------


def check_index(soak: Soak, config: Path) -> Count:
    """Check that the index, brought up to date, equals one built from scratch."""
    count = Count()
    problems: list[str] = []
    _index(config)
    fresh = make_workspace(soak.folder / "fresh", soak.workspace / "memory")
    anew = config.with_name("fresh.toml")
    anew.write_text(config.read_text("utf-8").replace(str(soak.workspace), str(fresh)), "utf-8")
    _index(anew)
    ours, new = (each / ".commonplace" / "index.db" for each in (soak.workspace, fresh))
    try:
        assert_sound(ours)
        if read_vectors(ours) != read_vectors(new):
            problems.append("the vectors differ")
    except (AssertionError, CheckFailed) as error:
        problems.append(f"it is not sound: {error}")
    here, there = read_index_contents(ours), read_index_contents(new)
    problems += [path for path in sorted({*here, *there}) if here.get(path) != there.get(path)]
    count.counted["notes in the index"] = len(here)
    count.fault("notes that a new index holds otherwise", problems)
    return count


def _index(config: Path) -> None:
    subprocess.run(
        [*COMMAND, "memory", "index", "--config", str(config)],
        cwd=config.parent,
        env=ENVIRONMENT,
        check=True,
        stdout=subprocess.DEVNULL,
    )


def check_words(soak: Soak) -> Count:
    """Check log, platforms and HTTP for problems."""
    count = Count()
    log = soak.log.read_text("utf-8", "replace")
    lines = log.splitlines()
    count.counted["lines of log"] = len(lines)
    errors = [
        line[:300] for line in lines if re.search(r" ERROR | CRITICAL |\"level\": ?\"(error|critical)", line)
    ]
    count.fault("errors in the log", errors)
    count.fault("tracebacks in the log", ["see the log"] if "Traceback" in log else [])
    refused = [f"{each.method}: {each.description}" for each in soak.telegram.refusals]
    refused += [f"{each.name}: {each.description} {each.reasons}" for each in soak.discord.refusals]
    count.fault("calls that a platform refused", refused)
    odd = (
        f"{what} ({times})"
        for what, times in soak.http.items()
        if not re.search(r": (200|401|404|405)$", what)
    )
    count.fault("odd answers of the HTTP side", odd)
    count.fault("other", soak.talks.faults)
    code, took = soak.leave
    count.fault(
        "told to leave, it did not", [f"{code} after {took:.1f} s"] if code or took > STOP_SECONDS else []
    )
    count.counted |= {f"HTTP, {what}": times for what, times in sorted(soak.http.items())}
    count.counted |= {f"notes from outside: {what}": times for what, times in sorted(soak.edits.items())}
    count.counted |= {"visitors": soak.visitors, "strangers": soak.strangers}
    return count


def note_lines(folder: Path) -> Iterator[str]:
    for path in sorted(folder.rglob("*.md")):
        yield from path.read_text("utf-8").splitlines()


def say_well(base_url: str) -> dict[str, int]:
    """Make all servers behave from now on; return what has gone wrong so far."""
    answer = httpx.post(f"{base_url}/chat/completions", json=WELL, timeout=30, trust_env=False)
    happened: dict[str, int] = answer.raise_for_status().json()
    return happened


def show(counts: Sequence[Count]) -> list[str]:
    """Print the counts; return the violations."""
    wrong = []
    for count in counts:
        for what, number in count.counted.items():
            print(f"  {what:62}{number:8}")
        for what, found in count.wrong.items():
            print(f"  {what:62}{len(found):8}")
            if found:
                wrong.append(f"{what}: {', '.join(found[:6])}")
    return wrong


async def measure(arguments: argparse.Namespace, folder: Path) -> list[str]:
    with model_servers(failing_servers) as addresses:
        async with BotApi() as telegram, DiscordApi(limits=WIDE) as discord:
            discord.acknowledge_seconds = 30.0  # nothing is timed here, and the machine is busy
            where = {**addresses, "telegram": telegram.url, "discord": discord.url}
            soak = Soak(
                folder,
                arguments.turns,
                arguments.looks,
                arguments.quiet,
                random.Random(arguments.seed),
                telegram,
                discord,
                arguments.notes,
                arguments.trace,
            )
            config = soak.configure(addresses, arguments.chats)
            soak.ports = {httpx.URL(address).port or 0: name for name, address in where.items()}
            places = soak.places(arguments.chats)
            async with soak.service(config) as bot:
                print(HEAD, flush=True)
                await soak.run(bot, places)
                happened = await asyncio.to_thread(say_well, addresses["openai"])
                _, done = check_talks(soak.talks)
                with suppress(AssertionError):  # reported below
                    await telegram.wait_until(
                        lambda: not missing_reminders(soak.talks, done)[0], within=60, what="all reminders"
                    )
                cpu = bot.cpu_seconds()
            told = await asyncio.to_thread(read_server_log, addresses["openai"])
            index = await asyncio.to_thread(check_index, soak, config)
        turns = soak.talks.turns
        print(
            f"{turns} turns and {soak.talks.commands} commands in {soak.seconds:.0f} s, seed {arguments.seed}"
        )
        print(f"  {1000 * cpu / turns:.1f} ms of processor time a turn, everything together")
        print(f"  trouble: {', '.join(f'{what} {times}' for what, times in sorted(happened.items()))}")
        held = check_held(soak.looks, soak.samples, turns)
        show_growth(soak.looks)
        talks, done = check_talks(soak.talks)
        lost, twice = missing_reminders(soak.talks, done)
        talks.fault("reminders lost", lost)
        talks.fault("reminders that came twice", twice)
        talks.fault("histories that a model did not take", told.refused)
        facts = check_facts(soak.talks, done, list(note_lines(soak.workspace / "memory")))
        wrong = show([held, talks, facts, index, check_words(soak)])
        left = Findings()
        check_left_over(left, soak.workspace)
        left.show()
        return [*wrong, *left.faults]


def main() -> None:
    """Print what was held and counted; exit with 1 on any violation."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--turns", type=int, default=10_000)
    parser.add_argument("--chats", type=int, default=60)
    parser.add_argument("--notes", type=int, default=NOTES, help="there are from the beginning")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--looks", type=int, default=TENTHS, help="at the process, the first after 1/N")
    parser.add_argument("--quiet", type=float, default=6.0, help="seconds of silence before each")
    parser.add_argument("--trace", action="store_true", help="tell which lines hold more memory; slow")
    parser.add_argument(
        "--keep", type=Path, help="a new folder for what is otherwise thrown away, each look included"
    )
    arguments = parser.parse_args()
    logging.disable()  # the platforms would log every cancelled request
    with tempfile.TemporaryDirectory() as name:
        folder = arguments.keep or Path(name) / "soak"
        folder.mkdir()  # never one that a service of an earlier run may still use
        wrong = asyncio.run(measure(arguments, folder))
    print("not as promised:" if wrong else "all as promised")
    for each in wrong:
        print(f"  {each}")
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
