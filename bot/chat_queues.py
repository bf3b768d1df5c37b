"""Queues that handle one item at a time in each chat, and many chats at once, in order of arrival."""

import asyncio
import logging
from collections import defaultdict, deque
from collections.abc import Awaitable, Callable
from typing import Generic, TypeVar

from bot.messages import ChatId
from bot.tasks import BackgroundTasks

Item = TypeVar("Item")

log = logging.getLogger(__name__)


async def _ready_now(chat: ChatId) -> None:
    del chat


class ChatQueues(Generic[Item]):
    """A queue for each chat with waiting items; each has a task of its own.

    A chat gives up its slot after each item, so that a busy one does not delay the others.
    """

    def __init__(
        self,
        work: Callable[[Item, deque[Item]], Awaitable[None]],
        *,
        tasks: BackgroundTasks,
        at_once: int,
        ready: Callable[[ChatId], Awaitable[None]] = _ready_now,
    ) -> None:
        """`work` gets the next item and the queue behind it, from which it may take more.

        `at_once`: chats of one channel that are handled at the same time. `ready` waits for everything that must happen
        before a chat's next item.
        """
        self._work = work
        self._ready = ready
        self._tasks = tasks
        self._slots: defaultdict[str, asyncio.Semaphore] = defaultdict(lambda: asyncio.Semaphore(at_once))
        """By channel, so that a channel that cannot be reached takes no slots of others."""
        self._queues: dict[ChatId, deque[Item]] = {}
        self._closed = False

    def put(self, chat: ChatId, item: Item, *, first: bool = False) -> None:
        """Add an item to a chat's queue; `first`: at its front."""
        queue = self._queues.get(chat)
        if queue is None:
            queue = self._queues[chat] = deque()
            self._tasks.start(self._run_queue(chat, queue))
        if first:
            queue.appendleft(item)
        else:
            queue.append(item)

    def move(self, new_chat_of: Callable[[ChatId], ChatId], change: Callable[[Item], Item]) -> None:
        """Move waiting items to the front of other chats' queues, as `new_chat_of` maps them.

        A running item stays where it is. `change` translates an item for its new chat.
        """
        for chat, queue in list(self._queues.items()):
            if (new := new_chat_of(chat)) != chat:
                moved = [change(item) for item in queue]
                queue.clear()
                for item in reversed(moved):
                    self.put(new, item, first=True)

    def list_waiting(self, chat: ChatId) -> deque[Item]:
        """Return the waiting items of a chat, the next one first."""
        return self._queues.get(chat) or deque()

    def close(self) -> None:
        """Begin no further items."""
        self._closed = True

    async def _run_queue(self, chat: ChatId, queue: deque[Item]) -> None:
        slots = self._slots[chat.channel]
        try:
            while queue and not self._closed:
                async with slots:
                    await self._ready(chat)
                    if queue and not self._closed:  # it may have been moved meanwhile
                        await self._run_next(queue)
        finally:
            del self._queues[chat]

    async def _run_next(self, queue: deque[Item]) -> None:
        try:
            await self._work(queue.popleft(), queue)
        except Exception:  # the items behind it must still be handled
            log.exception("an item of a chat's queue failed; the queue goes on")
