"""Upgrades copies of a state.db in processes that are killed at one statement after the other: STATE FOLDER FIRST STEP.

For each, it prints a line of JSON: whether SIGKILL ended the process, the format it left, and whether an upgrade
afterwards gives the same rows as one without interruption. The last line says "end".
"""

import asyncio
import json
import os
import shutil
import signal
import sys
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

import apsw

from bot.archives.backup import Backups
from bot.state.database import State
from tests.fakes.stored_formats import Rows, read_file


def main(state: Path, folder: Path, first: int, step: int) -> None:
    """Kill at statement `first`, `first + step`, … until an upgrade has no more statements."""
    whole = _copy(state, folder / "whole")
    _upgrade(whole)
    wanted = _rows(whole)
    number, killed = first, True
    while killed:
        path = _copy(state, folder / str(number))
        killed = _run_and_kill(path, number)
        left, _ = read_file(path)
        _upgrade(path)
        is_complete = _rows(path) == wanted
        print(json.dumps({"killed": killed, "left": left, "complete": is_complete}), flush=True)
        shutil.rmtree(path.parent)
        number += step
    print('"end"')


def _rows(path: Path) -> Rows:
    """Return all rows but the record of upgrades, which says when they were."""
    _, rows = read_file(path)
    return {table: each for table, each in rows.items() if table != "upgrades"}


def _copy(state: Path, folder: Path) -> Path:
    folder.mkdir()
    return Path(shutil.copy(state, folder / "state.db"))


def _upgrade(path: Path) -> None:
    backups = Backups(notes=path.parent / "notes", private=path.parent, now=lambda: datetime.now(UTC))

    async def run() -> None:
        async with State(path, back_up=lambda: backups.make_before_upgrade().file.name):
            pass

    asyncio.run(run())


def _run_and_kill(path: Path, number: int) -> bool:
    """Upgrade in a child that kills itself before its statement `number`; return whether it came to that."""
    child = os.fork()
    if child == 0:
        count = partial(_count, [number])  # one for all connections: the backup has its own
        apsw.connection_hooks.append(lambda db: db.set_exec_trace(count))
        _upgrade(path)
        os._exit(0)
    _, status = os.waitpid(child, 0)
    return os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL


def _count(left: list[int], cursor: object, statement: str, bindings: object) -> bool:
    del cursor, statement, bindings
    left[0] -= 1
    if not left[0]:
        os.kill(os.getpid(), signal.SIGKILL)
    return True


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4]))
