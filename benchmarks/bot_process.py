"""The bot as benchmarks of conversations start it: a process of its own, its settings, what it costs."""

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
from workspaces import COMMAND, ENVIRONMENT, ROOT, make_workspace, write_config

BOT = str(ROOT / "benchmarks" / "platform_bot.py")
STOP_SECONDS = 10.0
IDLE_SECONDS = 0.03
"""Without any processor time for so long, it has nothing more to do."""


def bot_settings(
    file: Path,
    workspace: Path,
    addresses: Mapping[str, str],
    chain: Mapping[str, str],
    *,
    timezone: str = "UTC",
    token_threshold: int = 6000,
) -> Path:
    """Write a settings file: everybody on the platform may talk, whatever model is named answers, no vectors.

    `addresses` and `chain` are by protocol: where a server is, and `provider/model`.
    """
    tables: dict[str, dict[str, object]] = {
        "access": {"allow": ["fake:*"]},
        "models": {"chain": [chain[kind] for kind in addresses]},
        "limits": {"messages_per_minute": 100_000},
        "memory.embedding": {"provider": "none"},
        "memory.flush": {"token_threshold": token_threshold},
    }
    for kind, address in addresses.items():
        tables[f"providers.{kind}"] = {"kind": kind, "base_url": address, "api_key": KEY}
    lines = [f"workspace = {json.dumps(str(workspace))}", f"timezone = {json.dumps(timezone)}"]
    for name, values in tables.items():
        lines += ["", f"[{name}]", *(f"{key} = {json.dumps(value)}" for key, value in values.items())]
    file.write_text("\n".join(lines) + "\n", "utf-8")
    return file


class BotProcess:
    """One run of it. What it logs goes to a file that all runs share."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process

    @classmethod
    async def run(cls, command: Sequence[str], folder: Path, log: Path) -> "BotProcess":
        """Any command that ends at SIGTERM, in a folder; what it says goes to the log."""
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
        """On the fake platform."""
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
        """Tell it to leave; its exit code, and how long it took. Who does not leave is killed."""
        began = time.monotonic()
        if not self.has_ended:
            self._process.send_signal(signal.SIGTERM)
        try:
            code = await asyncio.wait_for(self._process.wait(), 2 * STOP_SECONDS)
        except TimeoutError:
            await self.kill()
            code = -9
        return code, time.monotonic() - began

    # -- what it costs; Linux alone tells -------------------------------------------------------------------

    def cpu_seconds(self) -> float:
        """Processor time of all its threads so far, to the microsecond."""
        return time.clock_gettime((~self.pid << 3) | 2)  # the kernel's number for the clock of a process

    def megabytes(self, field: str = "VmRSS") -> float:
        """Its memory now; `VmHWM`: at most so far."""
        for line in Path(f"/proc/{self.pid}/status").read_text().splitlines():
            if line.startswith(f"{field}:"):
                return int(line.split()[1]) * 1024 / 1e6
        raise LookupError(field)


# -- as people run it -----------------------------------------------------------------------------------------


@asynccontextmanager
async def service(config: Path, log: Path) -> AsyncIterator[BotProcess]:
    """`commonplace run`, just begun; it is told to leave in the end."""
    bot = await BotProcess.run([*COMMAND, "run", "--config", str(config)], config.parent, log)
    try:
        yield bot
    finally:
        await bot.stop()


@asynccontextmanager
async def service_on(
    channel: str, api: Mapping[str, object], folder: Path, addresses: Mapping[str, str]
) -> AsyncIterator[BotProcess]:
    """The same in a new workspace, on one channel alone, for everybody there.

    `api`: the channel's table of the settings; `addresses`: of models, by protocol.
    """
    config = write_config(
        folder.with_suffix(".toml"),
        make_workspace(folder),
        server={"port": 0},
        access={"allow": [f"{channel}:*"]},
        models={"chain": ["openai/gpt-test"]},
        limits={"messages_per_minute": 100_000},
        memory_embedding={"provider": "none"},
        memory_flush={"token_threshold": 1_000_000},
        providers_openai={"kind": "openai", "base_url": addresses["openai"], "api_key": KEY},
        **{channel: dict(api)},
    )
    async with service(config, folder.with_suffix(".log")) as bot:
        yield bot


def free_port() -> int:
    """One on which nobody listens just now."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        port: int = server.getsockname()[1]
        return port


async def wait_until_idle(bot: BotProcess) -> float:
    """Processor time once nothing is done any more."""
    before = bot.cpu_seconds()
    while True:
        await asyncio.sleep(IDLE_SECONDS)
        if (now := bot.cpu_seconds()) - before < 0.0005:
            return now
        before = now


def find_faults(folder: Path) -> list[str]:
    """What the logs tell of that should not be."""
    faults = []
    for log in folder.glob("*.log"):
        lines = log.read_text("utf-8").splitlines()
        faults += ["\n".join(lines[at : at + 40]) for at, line in enumerate(lines) if " ERROR " in line]
    return faults
