"""The service while somebody opens more connections than it has file descriptors, and finishes no request."""

import asyncio
import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest

from tests.fakes.commonplace import ROOT, leads_elsewhere
from tests.fakes.free_port import free_port
from tests.fakes.many_clients import HALF_HEAD, open_clients

DESCRIPTORS = 256
ALLOWED_LOG_BYTES = 20_000


@dataclass(frozen=True, slots=True)
class Running:
    """The service in a process of its own, with few descriptors; its standard input is a channel."""

    process: asyncio.subprocess.Process
    port: int
    folder: Path

    @property
    def log_bytes(self) -> int:
        return (self.folder / "log").stat().st_size

    @property
    def descriptors(self) -> int:
        return sum(1 for _ in Path(f"/proc/{self.process.pid}/fd").iterdir())

    async def health(self) -> tuple[int, float]:
        """The status of /healthz over a new connection, and how long it took."""
        began = time.monotonic()
        async with httpx.AsyncClient(trust_env=False, timeout=10) as client:
            answer = await client.get(f"http://127.0.0.1:{self.port}/healthz")
        return answer.status_code, time.monotonic() - began

    async def say(self, text: str, *, until: str) -> str:
        """Write a line to the channel; return all that comes until some words do."""
        assert self.process.stdin
        assert self.process.stdout
        self.process.stdin.write(f"{text}\n".encode())
        await self.process.stdin.drain()
        came = ""
        async with asyncio.timeout(20):
            while until not in came:
                line = await self.process.stdout.readline()
                assert line, f"the service has ended: {came}"
                came += line.decode()
        return came


@asynccontextmanager
async def running(folder: Path) -> AsyncIterator[Running]:
    port = free_port()
    environment = {name: value for name, value in os.environ.items() if not leads_elsewhere(name)}
    settings = {"COMMONPLACE_SERVER__PORT": str(port), "COMMONPLACE_WORKSPACE": str(folder / "workspace")}
    with (folder / "log").open("wb") as log:
        process = await asyncio.create_subprocess_exec(
            *("sh", "-c", f'ulimit -n {DESCRIPTORS} && exec "$@"', "sh"),
            *(sys.executable, "-m", "bot", "run"),
            cwd=folder,
            env=environment | settings | {"PYTHONPATH": str(ROOT), "HOME": str(folder)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log,
        )
    service = Running(process, port, folder)
    try:
        async with asyncio.timeout(40):
            while True:
                with contextlib.suppress(httpx.TransportError):
                    if (await service.health())[0] == 200:
                        break
                assert process.returncode is None, (folder / "log").read_text()
                await asyncio.sleep(0.1)
        yield service
        process.send_signal(signal.SIGTERM)
        async with asyncio.timeout(20):
            assert await process.wait() == 0
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()


@pytest.mark.thorough
@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="it is counted in /proc what is open")
async def test_notes_and_health_go_on_beside_three_times_as_many_half_requests_as_there_are_descriptors(
    tmp_path: Path,
) -> None:
    async with running(tmp_path) as service:
        await service.say("/remember The boiler was serviced in May", until="Noted in")
        before, logged = service.descriptors, service.log_bytes
        for number in range(2):  # the second crowd comes while the first is still there
            async with open_clients(service.port, 3 * DESCRIPTORS, HALF_HEAD):
                for note in range(3):
                    status, seconds = await service.health()
                    assert (status, seconds < 2) == (200, True), seconds
                    await service.say(f"/remember The key {number}-{note} is with Anna", until="Noted in")
                assert "boiler was serviced" in await service.say("/recall boiler", until="serviced")
                assert service.descriptors < DESCRIPTORS - 50, "some are kept for notes"
        assert service.log_bytes - logged < ALLOWED_LOG_BYTES, (tmp_path / "log").read_text()[-4000:]
        async with asyncio.timeout(10):
            while service.descriptors > before + 3:  # noqa: ASYNC110 - some may be of what was loaded meanwhile
                await asyncio.sleep(0.05)
        assert (await service.health())[0] == 200
    (daily,) = (tmp_path / "workspace" / "memory").glob("*.md")
    assert daily.read_text("utf-8").count("is with Anna") == 6
