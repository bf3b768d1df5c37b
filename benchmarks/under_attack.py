"""Run the service under an attack: start it, talk to it and watch it until the attack is over."""

import asyncio
import http.client
import json
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from bot_process import BotProcess, free_port
from workspaces import COMMAND, ROOT, make_workspace, write_config

sys.path.insert(0, str(ROOT))
from tests.fakes.bot_api.server import BotApi
from tests.fakes.discord_api.server import DiscordApi
from tests.fakes.model_server import ModelAnswer
from tests.fakes.openai_server import OpenAIServer

TOKEN = "a token that nobody guesses"
OWNER = 7
"""The owner's id on Telegram."""
DESCRIPTORS = 1024
"""Soft limit of open files, as on most systems."""
PROBE_SECONDS = 0.1
"""Seconds between two requests for /healthz."""
MAX_PROBE_SECONDS = 30.0
NOTE_SECONDS = 1.1
"""Seconds between two notes; Telegram wants a second between two replies."""
WRITTEN_SECONDS = 90.0
"""Seconds for writing the last notes after the attack."""

Tables = Mapping[str, dict[str, object]]


@dataclass(frozen=True, slots=True)
class AttackTarget:
    """What an attack is given."""

    port: int
    """Of the service's HTTP server, on 127.0.0.1."""
    api: BotApi
    """Telegram; create people with `api.person`."""
    discord: DiscordApi
    """Discord, if the service is on it too."""
    folder: Path
    """The workspace, for notes to prepare."""
    seconds: float
    """Duration of an attack that has no end of its own."""


@dataclass(frozen=True, slots=True)
class Scenario:
    """An attack."""

    name: str
    attack: Callable[[AttackTarget], Awaitable[None]]
    tables: Tables = field(default_factory=dict)
    """Settings beyond the usual ones, as for `write_config`; a table replaces the usual one."""
    prepare: Callable[[Path], None] = lambda folder: None
    """Called with the workspace before the start."""
    people: Callable[[DiscordApi], Tables] | None = None
    """Creates people on Discord and returns the settings that give them access; None: Telegram only."""
    replies: Sequence[str] = ()
    """Replies of its language model, in order; without any, the notebook answers."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """How the service fared."""

    longest_wait: float
    """Of /healthz in seconds, over a new connection each time."""
    failed_probes: int
    """Requests for /healthz that were not answered with 200."""
    notes: int
    """Notes that the owner asked for."""
    lost: int
    """Of these, notes that were never written."""
    log_kilobytes: float
    megabytes: float
    """Maximum resident memory."""


async def run_scenario(scenario: Scenario, seconds: float) -> Outcome:
    """Start the service in a new workspace, attack it, and watch it."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "workspace"
        scenario.prepare(make_workspace(folder))
        async with (
            BotApi() as api,
            DiscordApi() as discord,
            _model(scenario.replies) as models,
            _service(folder, api, {**models, **scenario.tables, **_on_discord(scenario, discord)}) as (
                bot,
                port,
                log,
            ),
        ):
            before = log.stat().st_size
            if scenario.people:
                await discord.wait_until_connected(within=60)
            target = AttackTarget(port, api, discord, folder, seconds)
            async with _run_probe(port) as probe:
                notes = asyncio.create_task(_note_things(api))
                await scenario.attack(target)
                notes.cancel()
                told = await _noted(notes)
            lost = await _count_lost(folder / "memory", told)
            return Outcome(
                longest_wait=probe["longest"],
                failed_probes=int(probe["failed"]),
                notes=len(told),
                lost=lost,
                log_kilobytes=(log.stat().st_size - before) / 1000,
                megabytes=bot.megabytes("VmHWM"),
            )


def _on_discord(scenario: Scenario, discord: DiscordApi) -> Tables:
    if scenario.people is None:
        return {}
    return {"discord": {"token": discord.token, "api_base": discord.api_base}, **scenario.people(discord)}


@asynccontextmanager
async def _model(replies: Sequence[str]) -> AsyncIterator[Tables]:
    """Run a model with these replies; yield the settings to use it."""
    if not replies:
        yield {}
        return
    async with OpenAIServer() as server:
        server.enqueue(*(ModelAnswer([text[: len(text) // 2], text[len(text) // 2 :]]) for text in replies))
        yield {
            "models": {"chain": [f"openai/{server.model}"]},
            "providers_openai": {"base_url": server.base_url, "api_key": server.key},
        }
        if server.left:
            raise RuntimeError(
                f"{server.left} of {len(replies)} replies were never asked for: give more --seconds"
            )


@asynccontextmanager
async def _service(folder: Path, api: BotApi, tables: Tables) -> AsyncIterator[tuple[BotProcess, int, Path]]:
    port, log = free_port(), folder.with_suffix(".log")
    usual: Tables = {
        "server": {"port": port, "token": TOKEN},
        "access": {"owners": [f"telegram:{OWNER}"]},
        "memory_embedding": {"provider": "none"},
        "telegram": {"token": api.token, "api_base": api.url},
    }
    config = write_config(folder.with_suffix(".toml"), folder, **{**usual, **tables})
    limited = ("sh", "-c", f'ulimit -Sn {DESCRIPTORS} && exec "$@"', "sh")
    bot = await BotProcess.run([*limited, *COMMAND, "run", "--config", str(config)], folder.parent, log)
    try:
        await api.wait_until_polling(within=60)
        await asyncio.sleep(2)  # menus are set
        yield bot, port, log
    finally:
        await bot.stop()


# -- polling /healthz, in a process of its own that nothing here delays --------------------------------------


@asynccontextmanager
async def _run_probe(port: int) -> AsyncIterator[dict[str, float]]:
    """Poll /healthz; yields a table that is filled at the end."""
    prober = await asyncio.create_subprocess_exec(
        *(sys.executable, __file__, str(port)),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
    )
    found: dict[str, float] = {}
    try:
        yield found
    finally:
        printed, _ = await prober.communicate(b"")  # end of its standard input
        found.update(json.loads(printed))


def probe(port: int) -> dict[str, float]:
    """Poll until standard input ends; return the longest wait in seconds, and the number of failures."""
    import select

    longest = failed = looks = 0.0
    while not select.select([sys.stdin], [], [], PROBE_SECONDS)[0]:
        began, well = time.monotonic(), False
        with suppress(OSError, http.client.HTTPException):
            client = http.client.HTTPConnection("127.0.0.1", port, timeout=MAX_PROBE_SECONDS)
            client.request("GET", "/healthz")
            well = client.getresponse().status == 200
            client.close()
        longest = max(longest, time.monotonic() - began)
        failed += not well
        looks += 1
    return {"longest": longest, "failed": failed, "looks": looks}


# -- the owner, who keeps noting things ----------------------------------------------------------------------


async def _note_things(api: BotApi) -> list[str]:
    """Have the owner ask for a note every second until cancelled; return the content of each."""
    owner = api.person(OWNER, "Anna")
    told: list[str] = []
    with suppress(asyncio.CancelledError):
        while True:
            text = f"note {len(told):03} of the owner"
            await owner.say(f"/remember {text}")
            told.append(text)
            await asyncio.sleep(NOTE_SECONDS)
    return told


async def _noted(notes: "asyncio.Task[list[str]]") -> list[str]:
    return await notes


async def _count_lost(memory: Path, told: list[str]) -> int:
    """Return how many are not in the notes after allowing time to write them."""
    until = time.monotonic() + WRITTEN_SECONDS
    while True:
        written = _written(memory)
        lost = sum(written.count(text) != 1 for text in told)
        if not lost or time.monotonic() > until:
            return lost
        await asyncio.sleep(0.2)


def _written(memory: Path) -> str:
    return "".join(each.read_text("utf-8") for each in memory.glob("*.md"))


if __name__ == "__main__":
    print(json.dumps(probe(int(sys.argv[1]))))
