"""Kill the service at random moments while people talk to it: every message must be answered once, nothing lost.

`python benchmarks/conversations.py [--kills 300] [--messages 1000] [--seed 1] [--signal TERM] [--full-disk]
[--clock]`

A fake platform delivers messages of thirty chats to the service, a real process with its usual parts, and
stores what the service sends and edits. Models of three protocols, in a process of their own, do what the
messages say, and reject what the strictest of their kind reject. Once all is idle, everything is counted:
each message has exactly one answer, in order, and none was sent twice unless a kill fell between the
platform's acceptance and our commit (those are counted too); each fact, edit and reminder exists once; the
notes are intact; every model accepts every chat's history; nothing is left over.

`--signal TERM`: the service gets SIGTERM during its turns, and must exit within ten seconds. `--full-disk`:
the workspace is a small disk that fills up now and then (needs root on Linux). `--clock`: the service's clock
runs fast, across midnights and the end of daylight saving time, and is repeatedly set back an hour.
`--nonces`: the platform recognises a reply that is sent twice, as Discord does.
"""

import argparse
import asyncio
import random
import re
import subprocess
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path

import apsw
from bot_process import STOP_SECONDS, BotProcess, bot_settings
from model_servers import model_servers
from platform_bot import FastClock
from scripted_models import (
    INTERRUPTED,
    MODELS,
    ServerLog,
    item_line,
    parcel_fact,
    read_server_log,
    scripted_servers,
)
from workspaces import ROOT, make_workspace

sys.path.insert(0, str(ROOT))
from tests.fakes.chat_platform import Platform, Post, Shown

CHATS = 30
ITEMS = 400
UP_SECONDS = (0.05, 0.6)
"""Range of seconds that the service is up before it is killed."""
KILLED_AT_START = 0.15
"""Probability that it is killed before it is up."""
DROPPED = 0.05
"""Probability that the connection is lost while it is up."""
QUIET_SECONDS = 90.0
"""Seconds without any progress after which missing answers count as lost."""
DISK_MEGABYTES = 24
CLOCK_STARTS = "2026-10-24T22:30:00+02:00"
CLOCK_CHANGES = datetime(2026, 10, 25, 1, tzinfo=UTC)
"""The end of daylight saving time in Berlin."""
USUAL_FILES = re.compile(r"(?:index|conversations|state)\.db(?:-wal|-shm)?|locks|trash|backups|tmp")
STOPPED = "*(stopped)*"
KINDS = {
    "say": 22,
    "slow": 10,
    "long": 8,
    "write": 15,
    "both": 8,
    "three": 6,
    "edit": 6,
    "remind": 4,
    "/remember": 6,
    "/remind": 4,
    "/stop": 4,
    "edited": 4,
    "/new": 2,
    "/model": 3,
}
NOTED = {"write": "{}", "both": "{}a {}b", "three": "{}", "/remember": "{}"}
"""The facts that a message notes."""


@dataclass(slots=True)
class Said:
    """A message and its expected result."""

    id: str
    chat: str
    number: int
    """In the order of posting."""
    kind: str
    token: str
    argument: str = ""
    instead_of: str = ""
    stopped: bool = False
    """Whether it was stopped: then its result is open, but must occur at most once."""
    at: float = field(default_factory=time.monotonic)

    @property
    def parcels(self) -> list[str]:
        return NOTED.get(self.kind, "").format(self.token, self.token).split()


class People:
    """The people, and what they have posted."""

    def __init__(
        self, platform: Platform, chance: random.Random, *, soon: str, now: Callable[[], datetime]
    ) -> None:
        """`soon`: the wanted time of reminders, as written."""
        self.said: dict[str, Said] = {}
        """By id."""
        self._platform = platform
        self._chance = chance
        self._soon = soon
        self._now = now
        self._edited = iter(range(ITEMS))
        self._models = iter(sorted(MODELS) * 100_000)

    @property
    def chats(self) -> list[str]:
        return [f"c{number:02}" for number in range(CHATS)]

    async def talk(self, messages: int, seconds: float) -> None:
        """Post about this many messages within this many seconds."""
        moments = sorted(self._chance.uniform(0, seconds) for _ in range(messages))
        began = time.monotonic()
        left = messages
        for moment in moments:
            await asyncio.sleep(max(0.0, moment - (time.monotonic() - began)))
            if left > 0:
                left -= await self._post_something(left)

    async def _post_something(self, limit: int) -> int:
        """Post a message, or three in a row; return how many."""
        chat = self._chance.choice(self.chats)
        count = 3 if limit >= 3 and self._chance.random() < 0.15 else 1
        posted = 0
        for _ in range(count):
            posted += await self._post_one(chat, self._chance.choices(list(KINDS), list(KINDS.values()))[0])
        return posted

    async def _post_one(self, chat: str, kind: str) -> int:
        match kind:
            case "/stop":
                said = self.post(chat, "slow")
                await asyncio.sleep(self._chance.uniform(0, 0.2))
                said.stopped = True
                for other in self.said.values():  # those answered together with it, or waiting before it
                    if other.chat == chat and not self._is_answered(other):
                        other.stopped = True
                self.post(chat, "/stop")
                return 2
            case "edited":
                said = self.post(chat, "slow")
                await asyncio.sleep(self._chance.uniform(0, 0.2))
                self.post(chat, "say", instead_of=said.id)
                return 2
            case "edit":
                number = next(self._edited, None)
                self.post(chat, "say" if number is None else "edit", f"{number}")
            case "remind" | "/remind":
                self.post(chat, kind, self._soon)
            case "/model":
                self.post(chat, kind, MODELS[next(self._models)])
            case _:
                self.post(chat, kind)
        return 1

    def _is_answered(self, said: Said) -> bool:
        return any(said.id in shown.answers for shown in self._platform.final())

    def post(self, chat: str, kind: str, argument: str = "", *, instead_of: str = "") -> Said:
        number = len(self.said)
        token = f"T{number:05}"
        text = {
            "/remember": f"/remember {parcel_fact(token)}",
            "/remind": f"/remind {argument} look after {token}",
            "/stop": "/stop",
            "/new": "/new",
            "/model": f"/model {argument}",
        }.get(kind, f"{token} {kind} {argument}".rstrip())
        name = f"{instead_of}-edited" if instead_of else f"u{number}"
        said = self.said[name] = Said(name, chat, number, kind, token, argument, instead_of)
        sent_at = self._now().isoformat()
        self._platform.post(Post(name, chat, f"p{chat[1:]}", text, sent_at, edit_of=instead_of))
        return said


# -- checks
# ---------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class Findings:
    """Counts, and violations."""

    counted: dict[str, object] = field(default_factory=dict)
    faults: list[str] = field(default_factory=list)

    def fault(self, what: str, found: Iterable[object]) -> None:
        found = list(found)
        self.counted[what] = len(found)
        if found:
            shown = ", ".join(str(each) for each in found[:5])
            self.faults.append(f"{what}: {len(found)}, such as {shown}")

    def show(self) -> None:
        width = max(map(len, self.counted))
        for name, value in self.counted.items():
            print(f"  {name:{width}}  {value if not isinstance(value, float) else format(value, '.1f')}")
        for fault in self.faults:
            print(f"NOT AS IT MUST BE: {fault}")


def tokens_in(text: str) -> list[str]:
    return re.findall(r"\bT\d{5}\b", text)


def unanswered(people: People, platform: Platform) -> list[Said]:
    """Return messages without a reply; one that replaced another shares its answer."""
    answered = {each for shown in platform.final() for each in shown.answers}
    edits = {said.instead_of: said.id for said in people.said.values() if said.instead_of}
    return [
        said
        for said in people.said.values()
        if not {said.id, said.instead_of, edits.get(said.id, said.id)} & answered
    ]


def missing_reminders(people: People, platform: Platform) -> list[Said]:
    """Return reminders that were promised but have not come."""
    came = {token for shown in platform.final() if not shown.answers for token in tokens_in(shown.text)}
    return [
        said
        for said in people.said.values()
        if said.kind in ("remind", "/remind") and not said.stopped and said.token not in came
    ]


def check_answers(found: Findings, people: People, platform: Platform) -> None:
    """Check that each message has one answer that mentions it, and that a chat's answers come in order."""
    found.fault("messages without an answer", (said.id for said in unanswered(people, platform)))
    texts = whole_texts(platform)
    by_message: dict[str, list[Shown]] = defaultdict(list)
    for shown in platform.final():
        for each in shown.answers:
            by_message[each].append(shown)
    found.fault(
        "messages answered by two replies",
        (name for name, shown in by_message.items() if len({each.key for each in shown}) > 1),
    )
    off: list[str] = []
    edited = {said.instead_of for said in people.said.values()}
    for name, replies in by_message.items():
        said = people.said.get(name)
        if said is None:
            off.append(f"{name} was never said")
        elif not (said.stopped or said.kind.startswith("/") or name in edited):
            text = texts[replies[-1].key]
            if STOPPED in text:  # edited in the same turn: the next reply answers everything
                text += "".join(texts[each.key] for each in platform.final() if each.chat == said.chat)
            if said.token not in text:
                off.append(f"{name} ({said.kind}): {text[:90]!r}")
    found.fault("answers that do not speak of their message", off)
    ignored: list[str] = []
    for said in people.said.values():
        if said.instead_of and not said.stopped:
            ids = (said.id, said.instead_of)
            told = [texts[each.key] for name in ids for each in by_message[name]]
            if not any(said.token in text for text in told):
                ignored.append(f"{said.id}: {[text[:60] for text in told]}")
    found.fault("edited texts that were not answered", ignored)
    found.fault("answers out of order", out_of_order(people, platform))


def out_of_order(people: People, platform: Platform) -> Iterator[str]:
    """Yield messages whose answer was complete before that of an earlier message of the chat."""
    latest: dict[str, int] = {}
    complete = sorted(platform.final(), key=lambda shown: shown.final_at or 0)
    last_of = {shown.key: shown for shown in complete}
    for shown in complete:
        if last_of[shown.key] is not shown:
            continue  # it was sent again
        for each in shown.answers:
            said = people.said.get(each)
            if said is None or said.kind == "/stop" or said.stopped or said.instead_of:
                continue
            if said.number < latest.get(said.chat, -1):
                yield f"{each} in {said.chat}"
            latest[said.chat] = max(said.number, latest.get(said.chat, -1))


def whole_texts(platform: Platform) -> dict[str, str]:
    """Return the text shown for each reply, by its key: its latest messages, joined."""
    texts = {}
    for key, shown in platform.replies().items():
        pages = {each.place: each.text for each in shown}
        texts[key] = "".join(pages[place] for place in sorted(pages))
    return texts


def check_doubles(found: Findings, platform: Platform, *, killed: bool) -> None:
    """Check that a reply is shown once, unless a kill or a lost connection hid its acceptance from us."""
    excused: list[str] = []
    unexcused: list[str] = []
    for key, shown in platform.replies().items():
        places: dict[int, list[Shown]] = defaultdict(list)
        for each in shown:
            places[each.place].append(each)
        for place, several in places.items():
            for first, second in pairwise(several):
                known = first.kept or first.connection == second.connection or not killed
                (unexcused if known else excused).append(f"{key}, message {place + 1}")
    found.counted["sent twice, for a kill between acceptance and commit"] = len(excused)
    found.fault("sent twice for no such reason", unexcused)
    unfinished = [
        key
        for key, shown in platform.replies().items()
        if not any(each.final_at is not None for each in shown)
    ]
    found.fault("replies that were begun and never ended", unfinished)
    found.fault("what no adapter may do", platform.faults)


def check_notes(found: Findings, people: People, notes: Path, *, excused: set[str]) -> None:
    """Check that every fact is noted once and every line is intact."""
    lines: list[tuple[str, str]] = []
    torn: list[str] = []
    for path in sorted(notes.rglob("*")):
        if path.is_dir():
            continue
        if path.suffix != ".md":
            torn.append(f"{path.name} is no note")
            continue
        text = path.read_bytes().decode("utf-8", "replace")
        if "\ufffd" in text or not text.endswith("\n"):
            torn.append(f"the end of {path.name}")
        lines += [(path.name, line) for line in text.splitlines()]
    shape = re.compile(r"- (?:\d\d:\d\d )?Parcel (T\d{5}[ab]?) is on the shelf\.")
    found_in = Counter[str]()
    flushed = Counter[str]()
    for name, line in lines:
        if match := shape.fullmatch(line):
            found_in[match[1]] += 1
        elif "Parcel" in line:
            torn.append(f"{name}: {line[:80]!r}")
        flushed.update(re.findall(r"\bF\d{5}\b", line))
    found.fault("torn lines of the notes", torn)
    wanted = {name: said for said in people.said.values() for name in said.parcels}
    found.counted["facts noted by the model or by /remember"] = len(found_in)
    found.fault("facts that stand twice", (name for name, times in found_in.items() if times > 1))
    found.fault(
        "facts lost",
        (
            name
            for name, said in wanted.items()
            if not (found_in[name] or said.stopped or said.token in excused)
        ),
    )
    found.fault("facts that nobody told", (name for name in found_in if name not in wanted))
    items = [line for name, line in lines if name == "items.md" and line.startswith("- ")]
    states = dict.fromkeys(range(ITEMS), "new")
    optional = set()
    for said in people.said.values():
        if said.kind == "edit":
            states[int(said.argument)] = said.token
            if said.stopped or said.token in excused:
                optional.add(int(said.argument))
    off = [] if len(items) == ITEMS else [f"there are {len(items)} items"]
    for number, line in enumerate(items[:ITEMS]):
        allowed = {states[number], "new"} if number in optional else {states[number]}
        if line not in {f"- {item_line(number, state)}" for state in allowed}:
            off.append(line)
    found.counted["items edited"] = sum(state != "new" for state in states.values())
    found.fault("items that are not as they were edited", off)
    found.counted["sections by flushes"] = len(flushed)
    found.fault(
        "sections by flushes that stand twice", (name for name, times in flushed.items() if times > 1)
    )


def check_reminders(found: Findings, people: People, platform: Platform, *, excused: set[str]) -> None:
    """Check that each reminder came once; one sent again after a kill has the same key."""
    keys: dict[str, set[str]] = defaultdict(set)
    for shown in platform.final():
        if not shown.answers:
            for token in tokens_in(shown.text):
                keys[token].add(shown.key)
    missing = [said.id for said in missing_reminders(people, platform) if said.token not in excused]
    found.counted["reminders that came"] = len(keys)
    found.fault("reminders that did not come", missing)
    found.fault("reminders that came twice", (token for token, by in keys.items() if len(by) > 1))


def check_models(found: Findings, told: ServerLog, *, stopped: bool) -> None:
    """Check that no model was sent a history that it rejects."""
    found.counted["requests to models"] = told.requests
    found.counted["of these, flushes and summaries"] = told.notes_asked
    found.fault("histories refused", told.refused)
    found.fault("calls of tools given up", told.given_up)
    for reason, times in sorted(told.failed.items()):
        found.counted[f"tools said {reason!r}"] = times
        if INTERRUPTED in reason and not stopped:
            found.faults.append("a call was interrupted though nobody stopped it")


def check_left_over(found: Findings, workspace: Path) -> None:
    """Check that nothing is waiting, no lock is held, and no file is left over."""
    private = workspace / ".commonplace"
    db = apsw.Connection(str(private / "state.db"), flags=apsw.SQLITE_OPEN_READONLY)
    try:
        for what, sql in (
            ("messages left in the inbox", "SELECT number, state FROM inbox WHERE state != 'delivered'"),
            ("notices left in the outbox", "SELECT number, key FROM outbox WHERE NOT delivered"),
            ("effects without a result", "SELECT key, intent FROM effects WHERE result IS NULL"),
            (
                "texts kept of what is done",
                "SELECT number FROM inbox WHERE payload != '' OR reply IS NOT NULL",
            ),
        ):
            found.fault(what, db.execute(sql).fetchall())
        found.fault(
            "state.db is not sound", (row for row in db.execute("PRAGMA integrity_check") if row != ("ok",))
        )
        found.counted["entries of conversations"] = db.execute("SELECT count(*) FROM entries").get
    finally:
        db.close()
    found.fault("locks that are held", held_locks(private))
    drafts = len(list((private / "tmp").glob("*")))
    found.counted["drafts of notes, which the service removes after an hour"] = drafts
    names = {path.relative_to(private).parts[0] for path in private.rglob("*") if path.is_file()}
    found.fault("files left over", (name for name in names if not USUAL_FILES.fullmatch(name)))
    found.counted["state.db, MB"] = (private / "state.db").stat().st_size / 1e6


def held_locks(private: Path) -> Iterator[str]:
    from filelock import FileLock, Timeout

    for path in private.rglob("*.lock"):
        try:
            with FileLock(path, timeout=0):
                pass
        except Timeout:
            yield path.name


def check_log(found: Findings, log: Path) -> None:
    """Check that the log has no tracebacks, which only our own bugs cause."""
    text = log.read_text("utf-8", "replace")
    ends = re.findall(r"^(\w[\w.]*(?:Error|Exception|Fault|Refused|Exit)\b.*)$", text, re.MULTILINE)
    found.counted["lines of log"] = text.count("\n")
    found.fault("tracebacks", ends[:5] if "Traceback" in text else ())


# -- the run -------------------------------------------------------------------------------------------------


class Trial:
    """One workspace, with a service that is stopped again and again."""

    def __init__(
        self, folder: Path, config: Path, platform: Platform, people: People, chance: random.Random
    ) -> None:
        self.folder = folder
        self.people = people
        self.platform = platform
        self.chance = chance
        self.clock = ""
        self.rounds = 0
        self.ended_by_itself: list[int] = []
        self.starts: list[float] = []
        self.leaves: list[float] = []
        self.kills = Counter[str]()
        self._config = config
        self.log = folder / "bot.log"

    async def start(self) -> BotProcess:
        self.rounds += 1
        return await BotProcess.start(self._config, self.platform.socket, self.log, clock=self.clock)

    async def wait_until_up(self, bot: BotProcess) -> None:
        began = time.monotonic()
        while not self.platform.up.is_set():
            if bot.has_ended or time.monotonic() - began > 60:
                raise SystemExit(f"the service did not start:\n{self.log.read_text()[-3000:]}")
            await asyncio.sleep(0.005)
        self.starts.append(time.monotonic() - began)

    async def up(self) -> BotProcess:
        bot = await self.start()
        await self.wait_until_up(bot)
        return bot

    async def killed(self, messages: int) -> None:
        """Do one run that ends with SIGKILL, sometimes before it is up."""
        bot = await self.start()
        at_start = bool(self.starts) and self.chance.random() < KILLED_AT_START
        if at_start:
            seconds = self.chance.uniform(0, max(self.starts[-5:]))
        else:
            await self.wait_until_up(bot)
            seconds = self.chance.uniform(*UP_SECONDS)
        talking = asyncio.create_task(self.people.talk(messages, seconds))
        if self.chance.random() < DROPPED:
            asyncio.get_running_loop().call_later(seconds / 2, self.platform.drop)
        await asyncio.sleep(seconds)
        if bot.has_ended:
            self.ended_by_itself.append(self.rounds)
        self.kills["while it started" if at_start else "while it was up"] += 1
        self.kills["with messages not answered yet"] += bool(unanswered(self.people, self.platform))
        await bot.kill()
        await talking
        await self._gone()

    async def told_to_leave(self, messages: int) -> None:
        """Do one run that ends with SIGTERM during turns."""
        bot = await self.up()
        seconds = self.chance.uniform(0.2, 1.5)
        await self.people.talk(messages, seconds)
        code, took = await bot.stop()
        self.leaves.append(took)
        if code or took > STOP_SECONDS:
            raise SystemExit(f"told to leave, it ended with {code} after {took:.1f} s")
        await self._gone()

    async def _gone(self) -> None:
        await self.platform.down.wait()

    async def quiet(self) -> None:
        """Wait until every message is answered and every reminder has come, or until there is no more progress."""
        latest = time.monotonic()

        def progress() -> None:
            nonlocal latest
            latest = time.monotonic()

        self.platform.changed = progress
        while unanswered(self.people, self.platform) or missing_reminders(self.people, self.platform):
            if time.monotonic() - latest > QUIET_SECONDS:
                break
            await asyncio.sleep(0.1)
        await asyncio.sleep(1.0)

    async def finish(self) -> None:
        """Do the last run: everything remaining, then each chat's history with each model."""
        bot = await self.up()
        await self.quiet()
        for model in MODELS.values():
            for chat in self.people.chats:
                self.people.post(chat, "/model", model)
                self.people.post(chat, "say")
        await self.quiet()
        code, took = await bot.stop()
        self.leaves.append(took)
        if code or took > STOP_SECONDS:
            raise SystemExit(f"told to leave, it ended with {code} after {took:.1f} s")


class FillingDisk:
    """A disk that is full now and then."""

    def __init__(self, folder: Path) -> None:
        self._filler = folder / "filler"
        self.times = 0

    def fill(self) -> None:
        self.times += 1
        with self._filler.open("wb", buffering=0) as file:
            for size in (1 << 20, 1 << 12):
                try:
                    while True:
                        file.write(b"\0" * size)
                except OSError:
                    continue

    def free(self) -> None:
        self._filler.unlink(missing_ok=True)

    async def now_and_then(self, chance: random.Random) -> None:
        try:
            while True:
                await asyncio.sleep(chance.uniform(0.5, 3))
                await asyncio.to_thread(self.fill)
                await asyncio.sleep(chance.uniform(0.3, 2))
                self.free()
        finally:
            self.free()


@contextmanager
def small_disk(folder: Path) -> Iterator[Path]:
    folder.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", f"size={DISK_MEGABYTES}m", "commonplace", str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        print(f"skipped: no small disk can be made here: {done.stderr.strip()}")
        sys.exit(0)
    try:
        yield folder
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=False)


@asynccontextmanager
async def running(task: "asyncio.Task[None]") -> AsyncIterator[None]:
    try:
        yield
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def trial(arguments: argparse.Namespace, folder: Path, workspace: Path) -> Findings:
    chance = random.Random(arguments.seed)
    clock = FastClock(time.time(), CLOCK_STARTS, 150.0, 3600.0, 40.0) if arguments.clock else None
    now = clock.now if clock else lambda: datetime.now(UTC)
    make_workspace(workspace)
    items = "".join(f"- {item_line(number, 'new')}\n" for number in range(ITEMS))
    (workspace / "memory" / "items.md").write_text(f"# Items\n\n{items}", "utf-8")
    found = Findings()
    with model_servers(scripted_servers) as addresses:
        config = bot_settings(
            folder / "config.toml",
            workspace,
            addresses,
            MODELS,
            timezone="Europe/Berlin",
            token_threshold=arguments.token_threshold,
        )
        async with Platform(
            folder / "platform.sock", chance=random.Random(arguments.seed), nonces=arguments.nonces
        ) as platform:
            people = People(platform, chance, soon="20m" if clock else "4s", now=now)
            run = Trial(folder, config, platform, people, chance)
            run.clock = str(clock) if clock else ""
            began = time.monotonic()
            per_round = arguments.messages / arguments.kills
            disk = FillingDisk(workspace)
            trouble = (
                disk.now_and_then(random.Random(arguments.seed)) if arguments.full_disk else asyncio.sleep(0)
            )
            async with running(asyncio.ensure_future(trouble)):
                for number in range(1, arguments.kills + 1):
                    due = round(number * per_round) - len(people.said)
                    if arguments.full_disk:
                        await full_disk_round(run, max(0, due))
                    elif arguments.signal == "TERM":
                        await run.told_to_leave(max(0, due))
                    else:
                        await run.killed(max(0, due))
                    if number % 25 == 0:
                        left = len(unanswered(people, platform))
                        print(
                            f"  {number} of {arguments.kills}: {len(people.said)} said, {left} not answered yet, "
                            f"{time.monotonic() - began:.0f} s",
                            flush=True,
                        )
            await run.finish()
            found.counted["runs of the service"] = run.rounds
            found.counted |= {f"ended {when}": times for when, times in run.kills.items()}
            found.counted["messages"] = len(people.said)
            found.counted["replies and notices"] = len(platform.replies())
            found.counted["seconds"] = time.monotonic() - began
            found.counted["longest leave after SIGTERM, s"] = max(run.leaves)
            if arguments.full_disk:
                found.counted["times that the disk was full"] = disk.times
            if clock:
                found.counted["the service's clock at the end"] = clock.now().isoformat(timespec="seconds")
                if clock.now() < CLOCK_CHANGES:
                    found.faults.append(
                        "the end of daylight saving time was not reached: more --kills, please"
                    )
            found.fault("runs that ended by themselves", run.ended_by_itself)
            told = await asyncio.to_thread(read_server_log, addresses["openai"])
            excused: set[str] = set()
            check_answers(found, people, platform)
            check_doubles(found, platform, killed=arguments.signal == "KILL")
            check_notes(found, people, workspace / "memory", excused=excused)
            check_reminders(found, people, platform, excused=excused)
            check_models(found, told, stopped=any(said.stopped for said in people.said.values()))
            check_left_over(found, workspace)
            check_log(found, run.log)
    return found


async def full_disk_round(run: Trial, messages: int) -> None:
    """Do a run of some seconds while the disk fills up; restart if there was no space to start."""
    began = time.monotonic()
    bot = await run.start()
    while not run.platform.up.is_set():
        await asyncio.sleep(0.02)
        if bot.has_ended:
            run.kills["by itself, as there was no room to start"] += 1
            bot = await run.start()
        if time.monotonic() - began > 60:
            raise SystemExit(f"the service did not start:\n{run.log.read_text()[-3000:]}")
    await run.people.talk(messages, 4.0)
    if bot.has_ended:
        run.ended_by_itself.append(run.rounds)
    await bot.stop()
    await run.platform.down.wait()


def main() -> None:
    """Print the table; exit with 1 on any violation."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--kills", type=int, default=300, help="how often the service is ended")
    parser.add_argument("--messages", type=int, default=1000, help="how many messages are posted")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--signal", choices=("KILL", "TERM"), default="KILL")
    parser.add_argument("--full-disk", action="store_true")
    parser.add_argument("--clock", action="store_true")
    parser.add_argument("--nonces", action="store_true")
    parser.add_argument(
        "--token-threshold", type=int, default=900, help="from which conversations are compacted"
    )
    parser.add_argument("--keep", type=Path, help="a folder for what is left, to look at afterwards")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = arguments.keep or Path(name)
        folder.mkdir(parents=True, exist_ok=True)
        if arguments.full_disk:
            with small_disk(folder / "disk") as disk:
                found = asyncio.run(trial(arguments, folder, disk / "w"))
        else:
            found = asyncio.run(trial(arguments, folder, folder / "w"))
    found.show()
    print(f"not as it must be: {len(found.faults) or 'nothing'}")
    sys.exit(bool(found.faults))


if __name__ == "__main__":
    main()
