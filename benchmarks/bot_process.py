"""The bot process of conversation benchmarks: its settings, its start and stop, and its cost."""

import asyncio
import json
import signal
import socket
import sys
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

from model_servers import KEY
from workspaces import COMMAND, ENVIRONMENT, ROOT, make_workspace, write_config, write_notes

BOT = str(ROOT / "benchmarks" / "platform_bot.py")
STOP_SECONDS = 10.0
IDLE_SECONDS = 0.03
"""Seconds without CPU time after which the process counts as idle."""


def bot_settings(
    file: Path,
    workspace: Path,
    addresses: Mapping[str, str],
    chain: Mapping[str, str],
    *,
    timezone: str = "UTC",
    token_threshold: int = 6000,
    recall: bool = True,
) -> Path:
    """Write a settings file: everybody on the platform may talk, the named models answer, no embeddings.

    `addresses` and `chain` are by protocol: a server's URL, and `provider/model`.
    """
    tables: dict[str, dict[str, object]] = {
        "access": {"allow": ["fake:*"]},
        "models": {"chain": [chain[kind] for kind in addresses]},
        "limits": {"messages_per_minute": 100_000},
        "memory.embedding": {"provider": "none"},
        "memory.flush": {"token_threshold": token_threshold},
        "memory.recall": {"automatic": recall},
    }
    for kind, address in addresses.items():
        tables[f"providers.{kind}"] = {"kind": kind, "base_url": address, "api_key": KEY}
    lines = [f"workspace = {json.dumps(str(workspace))}", f"timezone = {json.dumps(timezone)}"]
    for name, values in tables.items():
        lines += ["", f"[{name}]", *(f"{key} = {json.dumps(value)}" for key, value in values.items())]
    file.write_text("\n".join(lines) + "\n", "utf-8")
    return file


class BotProcess:
    """One run of the bot. All runs share a log file."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process

    @classmethod
    async def run(cls, command: Sequence[str], folder: Path, log: Path) -> "BotProcess":
        """Start any command that ends on SIGTERM, in a folder; its output goes to the log."""
        with log.open("ab") as file:
            return cls(
                await asyncio.create_subprocess_exec(
                    *command,
                    cwd=folder,
                    env=ENVIRONMENT,
                    stdin=asyncio.subprocess.DEVNULL,
                    stdout=file,
                    stderr=file,
                )
            )

    @classmethod
    async def start(
        cls, config: Path, platform: Path, log: Path, *, clock: str = "", profile: Path | None = None
    ) -> "BotProcess":
        """Start it on the fake platform."""
        profiler = ["-m", "cProfile", "-o", str(profile)] if profile else []
        command = [sys.executable, *profiler, BOT, str(config), str(platform), *([clock] if clock else [])]
        return await cls.run(command, config.parent, log)

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def has_ended(self) -> bool:
        return self._process.returncode is not None

    async def kill(self) -> None:
        if not self.has_ended:
            self._process.kill()
        await self._process.wait()

    async def stop(self) -> tuple[int, float]:
        """Send SIGTERM; return the exit code and the seconds it took. Kills it if it does not exit."""
        began = time.monotonic()
        if not self.has_ended:
            self._process.send_signal(signal.SIGTERM)
        try:
            code = await asyncio.wait_for(self._process.wait(), 2 * STOP_SECONDS)
        except TimeoutError:
            await self.kill()
            code = -9
        return code, time.monotonic() - began

    # -- cost, on Linux only --------------------------------------------------------------------------------

    def cpu_seconds(self) -> float:
        """Return the CPU time of all its threads so far, to the microsecond."""
        return time.clock_gettime((~self.pid << 3) | 2)  # the kernel's id for a process's CPU clock

    def megabytes(self, field: str = "VmRSS") -> float:
        """Return its current memory; `VmHWM` for the maximum so far."""
        for line in Path(f"/proc/{self.pid}/status").read_text().splitlines():
            if line.startswith(f"{field}:"):
                return int(line.split()[1]) * 1024 / 1e6
        raise LookupError(field)


# -- as people run it
# -----------------------------------------------------------------------------------------


@asynccontextmanager
async def service(config: Path, log: Path) -> AsyncIterator[BotProcess]:
    """Start `commonplace run`, and stop it on exit."""
    bot = await BotProcess.run([*COMMAND, "run", "--config", str(config)], config.parent, log)
    try:
        yield bot
    finally:
        await bot.stop()


@asynccontextmanager
async def service_on(
    channel: str,
    api: Mapping[str, object],
    folder: Path,
    addresses: Mapping[str, str],
    *,
    notes: int = 0,
    recall: bool = True,
) -> AsyncIterator[BotProcess]:
    """Start `commonplace run` in a new workspace with one channel, open to everybody there.

    `api`: the channel's table of the settings; `addresses`: of models, by protocol; `notes`: how many made-up ones
    there are; `recall`: whether they are searched with each message.
    """
    workspace = make_workspace(folder)
    write_notes(workspace / "memory", notes)
    config = write_config(
        folder.with_suffix(".toml"),
        workspace,
        server={"port": 0},
        access={"allow": [f"{channel}:*"]},
        models={"chain": ["openai/gpt-test"]},
        limits={"messages_per_minute": 100_000},
        memory_embedding={"provider": "none"},
        memory_flush={"token_threshold": 1_000_000},
        memory_recall={"automatic": recall},
        providers_openai={"kind": "openai", "base_url": addresses["openai"], "api_key": KEY},
        **{channel: dict(api)},
    )
    async with service(config, folder.with_suffix(".log")) as bot:
        yield bot


def free_port() -> int:
    """Return a port that is currently free."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        port: int = server.getsockname()[1]
        return port


async def wait_until_idle(bot: BotProcess) -> float:
    """Return its CPU time once it is idle."""
    before = bot.cpu_seconds()
    while True:
        await asyncio.sleep(IDLE_SECONDS)
        if (now := bot.cpu_seconds()) - before < 0.0005:
            return now
        before = now


def find_faults(folder: Path) -> list[str]:
    """Return the problems that the logs contain."""
    faults = []
    for log in folder.glob("*.log"):
        lines = log.read_text("utf-8").splitlines()
        faults += ["\n".join(lines[at : at + 40]) for at, line in enumerate(lines) if " ERROR " in line]
    return faults
