"""The bot as benchmarks of conversations start it: a process of its own, its settings, what it costs."""

import asyncio
import json
import signal
import sys
import time
from collections.abc import Mapping
from pathlib import Path

from model_servers import KEY
from workspaces import COMMAND, ENVIRONMENT, ROOT

BOT = str(ROOT / "benchmarks" / "platform_bot.py")
LEAVES_WITHIN = 10.0


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
    async def start(
        cls, config: Path, socket: Path, log: Path, *, clock: str = "", profile: Path | None = None
    ) -> "BotProcess":
        with log.open("ab") as file:
            more = [clock] if clock else []
            profiler = ["-m", "cProfile", "-o", str(profile)] if profile else []
            return cls(
                await asyncio.create_subprocess_exec(
                    sys.executable,
                    *profiler,
                    BOT,
                    str(config),
                    str(socket),
                    *more,
                    cwd=config.parent,
                    env=ENVIRONMENT,
                    stdin=asyncio.subprocess.DEVNULL,
                    stdout=file,
                    stderr=file,
                )
            )

    @classmethod
    async def serve(cls, config: Path, log: Path) -> "BotProcess":
        """As people run it."""
        with log.open("ab") as file:
            return cls(
                await asyncio.create_subprocess_exec(
                    *COMMAND,
                    "run",
                    "--config",
                    str(config),
                    cwd=config.parent,
                    env=ENVIRONMENT,
                    stdin=asyncio.subprocess.DEVNULL,
                    stdout=file,
                    stderr=file,
                )
            )

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def ended(self) -> bool:
        return self._process.returncode is not None

    async def kill(self) -> None:
        if not self.ended:
            self._process.kill()
        await self._process.wait()

    async def leave(self) -> tuple[int, float]:
        """Tell it to leave; its exit code, and how long it took. Who does not leave is killed."""
        began = time.monotonic()
        if not self.ended:
            self._process.send_signal(signal.SIGTERM)
        try:
            code = await asyncio.wait_for(self._process.wait(), 2 * LEAVES_WITHIN)
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
