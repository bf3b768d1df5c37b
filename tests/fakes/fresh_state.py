"""A state.db as a first start leaves it, laid down at once: hundreds of tests want one, and it is many commits."""

import asyncio
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Thread

from bot.state.database import State
from memory.disk import make_private_folder


def copy_fresh_state(path: Path) -> Path:
    """Lay down at `path` what State has made elsewhere, unless something is there; return the path."""
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
        beside = Thread(target=lambda: asyncio.run(make(path)))  # a loop may be running here
        beside.start()
        beside.join()
        return path.read_bytes()
