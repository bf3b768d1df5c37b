"""Runs a child process that reads one file of a stranger, and ends it in time."""

import asyncio
import sys
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import Callable
from contextlib import suppress
from typing import BinaryIO

from bot.child_environment import child_environment

PIECE_BYTES = 1 << 16


async def run_child(
    module: str, *arguments: str, file: BinaryIO, seconds: float, take: Callable[[bytes], bool]
) -> bool:
    """Run `python -m module` with a file as its standard input; return whether it exited with status 0.

    `take` gets each piece of its output and returns whether to go on; otherwise, or after `seconds`, the process is
    killed. Raises OSError if the process cannot be started.
    """
    process = await start_child(module, *arguments, file=file)
    try:
        async with asyncio.timeout(seconds):
            if not await _listen(process, take):
                return False
            return await process.wait() == 0
    except TimeoutError:
        return False
    finally:
        if process.returncode is None:
            with suppress(ProcessLookupError):
                process.kill()
            await asyncio.shield(process.wait())


async def start_child(module: str, *arguments: str, file: BinaryIO) -> Process:
    """Start the process. Raises OSError."""
    file.seek(0)
    return await asyncio.create_subprocess_exec(
        *(sys.executable, "-P", "-m", module, *arguments),
        stdin=file,
        stdout=PIPE,
        stderr=DEVNULL,
        env=child_environment(),
        start_new_session=True,  # keeps a Ctrl-C in the terminal from it
    )


async def _listen(process: Process, take: Callable[[bytes], bool]) -> bool:
    assert process.stdout
    while piece := await process.stdout.read(PIECE_BYTES):
        if not take(piece):
            return False
    return True
