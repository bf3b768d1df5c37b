"""The parent's side of a local model's process: lines go in, events come out, and it can be killed."""

import asyncio
import json
import os
import signal
import sys
import tempfile
from asyncio.subprocess import PIPE, Process
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any, Self

from bot.child_environment import child_environment
from memory.http_responses import one_line

MAX_EVENT_BYTES = 1 << 20
"""Maximum bytes of one event."""
CATCH_UP_SECONDS = 0.05
"""Seconds after a deadline for reading events that came before it: the loop may have been busy."""

WorkerEvent = Mapping[str, Any]


class WorkerDied(Exception):
    """The process has ended; the message says how, as the end of a sentence."""


class WorkerProcess:
    """One process, from its start to its end."""

    def __init__(self, process: Process, errors: IO[bytes]) -> None:
        self.window = 0
        """Tokens that the model takes; 0 before it is loaded."""
        self.started = asyncio.get_running_loop().time()
        self._process = process
        self._errors = errors
        self._events: asyncio.Queue[WorkerEvent | None] = asyncio.Queue()
        self._how_it_ended = ""
        self._killed = False
        self._life = asyncio.create_task(self._live())

    @classmethod
    async def start(cls, path: Path, window: int | None) -> Self:
        """Start a process that loads the file. Raises OSError."""
        # Otherwise ggml would start a debugger when it crashes.
        environment = child_environment({"GGML_NO_BACKTRACE": "1"})
        errors = tempfile.TemporaryFile()  # noqa: SIM115 - it lives as long as the process
        try:
            process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-P", "-m", "bot.models.llama_cpp.worker", str(path), str(window or 0)),
                stdin=PIPE,
                stdout=PIPE,
                stderr=errors,
                env=environment,
                limit=MAX_EVENT_BYTES,
                start_new_session=True,  # Ctrl-C in the terminal is not meant for it
            )
        except BaseException:
            errors.close()
            raise
        return cls(process, errors)

    @property
    def pid(self) -> int:
        """Its process id."""
        return self._process.pid

    @property
    def has_ended(self) -> bool:
        """Whether no more events can come."""
        return self._killed or self._process.returncode is not None

    def send(self, message: Mapping[str, object]) -> None:
        """Send it a line; ignored if it has ended."""
        if self._process.stdin and not self.has_ended:
            self._process.stdin.write(json.dumps(message).encode() + b"\n")

    async def next_event(self, deadline: float) -> WorkerEvent:
        """Return the next event that arrived by `deadline` on the loop's clock. Raises TimeoutError or WorkerDied."""
        latest = max(deadline, asyncio.get_running_loop().time() + CATCH_UP_SECONDS)
        try:
            async with asyncio.timeout_at(latest):
                event = await self._events.get()
        except TimeoutError:
            if self._events.empty():  # else it was our loop that was late
                raise
            event = self._events.get_nowait()
        if event is None:
            self._events.put_nowait(None)
            raise WorkerDied(self._how_it_ended)
        return event

    def kill(self) -> None:
        """Kill it at once."""
        self._killed = True
        if self._process.returncode is None:
            self._process.kill()

    async def wait_closed(self) -> None:
        """Wait until it has exited and its pipes are closed."""
        await asyncio.shield(self._life)

    async def _live(self) -> None:
        assert self._process.stdout
        try:
            while line := await self._process.stdout.readline():
                self._events.put_nowait(json.loads(line))
        except ValueError:  # not a line of ours
            self.kill()
        code = await self._process.wait()
        with self._errors as errors:
            self._how_it_ended = _describe_exit(code, _last_line(errors))
        self._events.put_nowait(None)


def _describe_exit(code: int, said: str) -> str:
    how = f"with exit code {code}"
    if code < 0:
        how = f"by {signal.Signals(-code).name}"
    if code == -signal.SIGKILL:
        how += ", as where memory runs out"
    return f"{how}: {said}" if said else how


def _last_line(errors: IO[bytes]) -> str:
    end = errors.seek(0, os.SEEK_END)
    errors.seek(max(0, end - 4096))
    lines = errors.read().decode("utf-8", "replace").split("\n")
    return next((one_line(line) for line in reversed(lines) if line.strip()), "")
