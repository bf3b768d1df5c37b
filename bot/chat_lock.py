"""One turn at a time in a chat, across processes: two terminals may talk in the same conversation."""

import asyncio
import hashlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from bot.messages import ChatId

LOOK_AGAIN_SECONDS = 0.02


@asynccontextmanager
async def chat_locked(folder: Path, chat: ChatId) -> AsyncIterator[None]:
    """Wait until no other process answers in the chat, and hold the others off; a process that dies lets go.

    A model may take minutes, so there is no limit: whoever waits can stop. Raises OSError where no lock can be had.
    """
    from filelock import FileLock, Timeout

    folder.mkdir(parents=True, exist_ok=True)  # noqa: ASYNC240 - microseconds
    name = hashlib.sha256(str(chat).encode("utf-8", "surrogatepass")).hexdigest()[:32]
    # Not bound to a thread: a turn may be closed from another one than began it.
    lock = FileLock(folder / f"chat-{name}.lock", thread_local=False)
    while True:
        try:
            lock.acquire(timeout=0)
        except Timeout:
            await asyncio.sleep(LOOK_AGAIN_SECONDS)
        else:
            break
    try:
        yield
    finally:
        lock.release()
