"""A new state.db, copied from a template: hundreds of tests need one, and creating it takes many commits."""

import asyncio
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Thread

from bot.state.database import State
from memory.disk import make_private_folder


def copy_fresh_state(path: Path) -> Path:
    """Copy a new state.db to `path` unless a file exists there; return the path."""
    if not path.exists():
        make_private_folder(path.parent)
        path.touch(0o600)
        path.write_bytes(_fresh_state())
    return path


@cache
def _fresh_state() -> bytes:
    async def make(path: Path) -> None:
        async with State(path):
            pass

    with TemporaryDirectory() as folder:
        path = Path(folder) / "state.db"
        beside = Thread(target=lambda: asyncio.run(make(path)))  # a loop may be running in this thread
        beside.start()
        beside.join()
        return path.read_bytes()
