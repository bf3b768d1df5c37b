"""One turn at a time in a chat, across processes: two terminals may share a conversation."""

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
    """Hold the lock of a chat; waits until no other process answers in it. Raises OSError if it cannot be locked.

    The system releases the lock if the process dies. There is no time limit, since a model may take minutes.
    """
    from filelock import FileLock, Timeout

    folder.mkdir(parents=True, exist_ok=True)  # noqa: ASYNC240 - microseconds
    # Not bound to a thread: a turn may be closed from another thread than the one that began it.
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
    """Mark a chat as in use; yields whether another process uses it already. Raises OSError if it cannot be locked.

    Both get answers to their own messages, one turn at a time; the lock decides the order.
    """
    make_private_folder(folder)
    fd = os.open(folder / f"talk-{_lock_name(chat)}.lock", os.O_RDWR | os.O_CREAT, 0o600)
    try:
        others = False
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            others = True
        fcntl.flock(fd, fcntl.LOCK_SH)  # waits an instant at most: nobody keeps the exclusive lock
        yield others
    finally:
        os.close(fd)


def _lock_name(chat: ChatId) -> str:
    return hashlib.sha256(str(chat).encode("utf-8", "surrogatepass")).hexdigest()[:32]
