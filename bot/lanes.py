"""One thing at a time in each chat, many chats at once, everything in the order in which it came."""

import asyncio
import logging
from collections import defaultdict, deque
from collections.abc import Awaitable, Callable
from typing import Generic, TypeVar

from bot.messages import ChatId
from bot.tasks import Tasks

Item = TypeVar("Item")

log = logging.getLogger(__name__)


class Lanes(Generic[Item]):
    """A queue for each chat that has something waiting; each is worked off by a task of its own.

    A chat gives up its place after each piece of work, so that one with much to do keeps nobody waiting.
    """

    def __init__(
        self, work: Callable[[Item, deque[Item]], Awaitable[None]], *, tasks: Tasks, at_once: int
    ) -> None:
        """`work` is given the next item and what waits behind it in the same chat, of which it may take more.

        `at_once`: chats of one channel that are worked for at the same time.
        """
        self._work = work
        self._tasks = tasks
        self._rooms: defaultdict[str, asyncio.Semaphore] = defaultdict(lambda: asyncio.Semaphore(at_once))
        """By channel: one that cannot be reached, and keeps its places, takes none of another's."""
        self._lanes: dict[ChatId, deque[Item]] = {}
        self._closed = False

    def put(self, chat: ChatId, item: Item, *, first: bool = False) -> None:
        """Add to a chat's lane; `first`: before all that waits there."""
        lane = self._lanes.get(chat)
        if lane is None:
            lane = self._lanes[chat] = deque()
            self._tasks.start(self._work_off(chat, lane))
        if first:
            lane.appendleft(item)
        else:
            lane.append(item)

    def waiting(self, chat: ChatId) -> deque[Item]:
        """What waits in a chat, next first."""
        return self._lanes.get(chat) or deque()

    def close(self) -> None:
        """Begin nothing any more."""
        self._closed = True

    async def _work_off(self, chat: ChatId, lane: deque[Item]) -> None:
        room = self._rooms[chat.channel]
        try:
            while lane and not self._closed:
                async with room:
                    if not self._closed:
                        await self._work_on(lane)
        finally:
            del self._lanes[chat]

    async def _work_on(self, lane: deque[Item]) -> None:
        try:
            await self._work(lane.popleft(), lane)
        except Exception:  # what waits behind it is nobody else's
            log.exception("something in a chat broke off; what waits there goes on")
