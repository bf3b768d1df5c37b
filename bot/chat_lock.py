"""One turn at a time in a chat, across processes: two terminals may talk in the same conversation."""

import asyncio
import fcntl
import hashlib
import os
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path

from bot.messages import ChatId
from memory.disk import make_private_folder

POLL_SECONDS = 0.02


@asynccontextmanager
async def lock_chat(folder: Path, chat: ChatId) -> AsyncIterator[None]:
    """Wait until no other process answers in the chat, and hold the others off; a process that dies lets go.

    A model may take minutes, so there is no limit: whoever waits can stop. Raises OSError where no lock can be had.
    """
    from filelock import FileLock, Timeout

    folder.mkdir(parents=True, exist_ok=True)  # noqa: ASYNC240 - microseconds
    # Not bound to a thread: a turn may be closed from another one than began it.
    lock = FileLock(folder / f"chat-{_lock_name(chat)}.lock", thread_local=False)
    while True:
        try:
            lock.acquire(timeout=0)
        except Timeout:
            await asyncio.sleep(POLL_SECONDS)
        else:
            break
    try:
        yield
    finally:
        lock.release()


@contextmanager
def occupy_chat(folder: Path, chat: ChatId) -> Iterator[bool]:
    """Be at a chat whose locks are in `folder`; gives whether another process is there already.

    Both are answered, one turn at a time, each its own messages; in which order, depends on who gets the lock first.
    Raises OSError where no lock can be had.
    """
    make_private_folder(folder)
    fd = os.open(folder / f"talk-{_lock_name(chat)}.lock", os.O_RDWR | os.O_CREAT, 0o600)
    try:
        others = False
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            others = True
        fcntl.flock(fd, fcntl.LOCK_SH)  # at most an instant away: nobody stays alone with it
        yield others
    finally:
        os.close(fd)


def _lock_name(chat: ChatId) -> str:
    return hashlib.sha256(str(chat).encode("utf-8", "surrogatepass")).hexdigest()[:32]
