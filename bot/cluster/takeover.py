"""Take over the conversations of a dead instance: a separate process serves its workspace here."""

import asyncio
import logging
import sys
import time
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

from bot.child_environment import child_environment
from bot.cluster.instance import workspace_id
from bot.cluster.lease import Lease
from bot.supervisor import Supervisor

log = logging.getLogger(__name__)

POLL_SECONDS = 1.0
QUICK_SECONDS = 60.0
"""A takeover process that ends sooner than this has failed."""
MAX_FAILURES = 3
"""Failures in a row after which the channel is served from this instance's workspace, without the conversations."""
FAILURE_RESET_SECONDS = 600.0
"""Seconds after the last failure until a takeover is tried again."""
UNNEEDED_SECONDS = 60.0
"""Seconds that a takeover process may have nothing to do, such as when the other instance came back first."""
STUCK_SECONDS = 60.0
"""Seconds after which a running process that has not taken a free lease is stopped; for example, the other instance
may live but no longer want that channel."""
STOP_SECONDS = 6.0
PRIVATE_FOLDER = ".commonplace"


@dataclass(slots=True, eq=False)
class _TakeoverProcess:
    folder: Path
    name: str
    process: Process | None = None
    begun: float = 0.0
    failures: list[float] = field(default_factory=list)
    """Times of its failures in a row."""
    needed_at: float = 0.0
    served_at: float = 0.0
    """When it was last seen to hold one of the leases."""


class Takeovers:
    """Runs a process for each of several workspaces while nobody else serves its channels; an async context manager.

    Leaving stops the processes.
    """

    def __init__(
        self,
        folders: Sequence[Path],
        *,
        name: str,
        command: Callable[[Path], Sequence[str]],
        want: Callable[[str], object],
        notes: Callable[[Path], str] = lambda _: "",
        supervisor: Supervisor | None = None,
    ) -> None:
        """`folders`: workspaces of other instances; `name`: this instance's name.

        `command` returns the command line that serves a workspace until SIGTERM. `want` gets the id of each such
        workspace, so that its holder learns that somebody waits. `notes` returns why the notes in such a workspace
        are not ours; "" if they are.
        """
        self._want = want
        self._processes = [_TakeoverProcess(folder, f"{name} for {folder.name}") for folder in folders]
        self._command = command
        self._notes = notes
        self._supervisor = supervisor or Supervisor()
        self._leases: list[Lease] = []
        self._looking: asyncio.Task[None] | None = None
        self._leaving = False

    async def __aenter__(self) -> Self:
        if self._processes:
            self._looking = self._supervisor.start("stand-ins", self._supervise)
        return self

    async def __aexit__(self, *_: object) -> None:
        self._leaving = True
        if self._looking:
            self._looking.cancel()
            await asyncio.gather(self._looking, return_exceptions=True)
        await asyncio.gather(*(_stop_process(each) for each in self._processes))

    def serve_if_known(self, lease: Lease) -> None:
        """Let a takeover process serve this lease if one of the workspaces held it last."""
        self._leases.append(lease)

    def forget_leases(self) -> None:
        """Forget all leases; running processes stop after a while."""
        self._leases.clear()

    def is_left_to_takeover(self, lease: Lease) -> bool:
        """Return whether a free lease is left to one of the takeover processes."""
        return not self._leaving and any(
            each.failures[MAX_FAILURES - 1 :] == [] for each in self._takeover_for(lease)
        )

    def served_folder(self, lease: Lease) -> Path | None:
        """Return the folder of the workspace whose takeover process holds the lease; None if none does."""
        for each in self._processes:
            if each.process and each.process.returncode is None and lease.holder == each.name:
                return each.folder
        return None

    def _takeover_for(self, lease: Lease) -> list[_TakeoverProcess]:
        wanted = lease.last_workspace
        if not wanted:
            return []
        return [each for each in self._processes if workspace_id(each.folder / PRIVATE_FOLDER) == wanted]

    async def _supervise(self) -> None:
        while True:
            for each in self._processes:
                if workspace := workspace_id(each.folder / PRIVATE_FOLDER):  # none before its first start
                    self._want(workspace)
            for lease in self._leases:
                for each in self._takeover_for(lease):
                    if lease.is_held:
                        continue
                    if lease.is_free or lease.holder == each.name:
                        each.needed_at = time.monotonic()
                    if lease.holder == each.name:
                        each.served_at = each.needed_at
            for each in self._processes:
                try:
                    await self._update_process(each)
                except OSError as error:
                    self._count_failure(each, str(error))
            await asyncio.sleep(POLL_SECONDS)

    async def _update_process(self, each: _TakeoverProcess) -> None:
        now = time.monotonic()
        if each.failures and now - each.failures[-1] > FAILURE_RESET_SECONDS:
            each.failures.clear()
        if each.process and each.process.returncode is not None:
            code, lasted = each.process.returncode, now - each.begun
            each.process = None
            if lasted < QUICK_SECONDS:
                self._count_failure(each, f"it exited with {code} after {lasted:.0f} s")
            else:
                each.failures.clear()
                log.warning("the stand-in for %s exited with %d", each.folder, code)
        is_needed = bool(each.needed_at) and now - each.needed_at < UNNEEDED_SECONDS
        if each.process and not is_needed:
            log.info("%s: its stand-in is no longer needed", each.folder)
            await _stop_process(each)
        elif each.process and now - max(each.begun, each.served_at) > STUCK_SECONDS:
            each.failures = [now] * MAX_FAILURES
            log.error("the stand-in for %s cannot take a free lease; stopping it", each.folder)
            await _stop_process(each)
        elif not each.process and is_needed and len(each.failures) < MAX_FAILURES:
            if wrong := self._notes(each.folder):
                each.failures = [now] * MAX_FAILURES
                log.error("no stand-in for %s: %s", each.folder, wrong)
                return
            each.begun = now
            each.process = await self._start_process(each)
            log.info(
                "%s: started a stand-in for its conversations, process %d", each.folder, each.process.pid
            )

    async def _start_process(self, each: _TakeoverProcess) -> Process:
        return await asyncio.create_subprocess_exec(
            *self._command(each.folder),
            stdin=PIPE,  # it leaves at end of input: this process may be killed
            stdout=DEVNULL,
            env=child_environment({"COMMONPLACE_INSTANCE__NAME": each.name}, secrets=True),
        )

    def _count_failure(self, each: _TakeoverProcess, why: str) -> None:
        each.failures.append(time.monotonic())
        if len(each.failures) >= MAX_FAILURES:
            log.error(
                "the stand-in for %s failed %d times; not restarting it for now: %s",
                each.folder,
                MAX_FAILURES,
                why,
            )
        else:
            log.warning("the stand-in for %s failed; restarting it: %s", each.folder, why)


async def _stop_process(each: _TakeoverProcess) -> None:
    """Ask the process to leave and wait for it, so that a running turn can finish."""
    process, each.process = each.process, None
    if process is None or process.returncode is not None:
        return
    with suppress(ProcessLookupError):
        process.terminate()
    try:
        async with asyncio.timeout(STOP_SECONDS):
            await process.wait()
    except TimeoutError:
        with suppress(ProcessLookupError):
            process.kill()
        await process.wait()


def takeover_command(config: Path | None, folder: Path) -> list[str]:
    """Return the command that runs the service for another workspace, with the same settings and without HTTP."""
    arguments = ["--config", str(config)] if config else []
    return [sys.executable, "-P", "-m", "bot", "run", "--stand-in", "--workspace", str(folder), *arguments]
