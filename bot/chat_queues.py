"""One thing at a time in each chat, many chats at once, everything in the order in which it came."""

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
    """A queue for each chat that has something waiting; each is worked off by a task of its own.

    A chat gives up its place after each piece of work, so that one with much to do keeps nobody waiting.
    """

    def __init__(
        self,
        work: Callable[[Item, deque[Item]], Awaitable[None]],
        *,
        tasks: BackgroundTasks,
        at_once: int,
        ready: Callable[[ChatId], Awaitable[None]] = _ready_now,
    ) -> None:
        """`work` is given the next item and what waits behind it in the same chat, of which it may take more.

        `at_once`: chats of one channel that are worked for at the same time. `ready` waits for what must have
        happened before anything is begun in a chat.
        """
        self._work = work
        self._ready = ready
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
            self._tasks.start(self._run_queue(chat, lane))
        if first:
            lane.appendleft(item)
        else:
            lane.append(item)

    def move(self, place_of: Callable[[ChatId], ChatId], change: Callable[[Item], Item]) -> None:
        """Have what waits in a chat wait in another, where `place_of` tells so, before all that waits there.

        What is worked on goes on where it is. `change` makes of an item the same for the other chat.
        """
        for chat, lane in list(self._lanes.items()):
            if (new := place_of(chat)) != chat:
                moved = [change(item) for item in lane]
                lane.clear()
                for item in reversed(moved):
                    self.put(new, item, first=True)

    def list_waiting(self, chat: ChatId) -> deque[Item]:
        """What waits in a chat, next first."""
        return self._lanes.get(chat) or deque()

    def close(self) -> None:
        """Begin nothing any more."""
        self._closed = True

    async def _run_queue(self, chat: ChatId, lane: deque[Item]) -> None:
        room = self._rooms[chat.channel]
        try:
            while lane and not self._closed:
                async with room:
                    await self._ready(chat)
                    if lane and not self._closed:  # it may have been relocated meanwhile
                        await self._run_next(lane)
        finally:
            del self._lanes[chat]

    async def _run_next(self, lane: deque[Item]) -> None:
        try:
            await self._work(lane.popleft(), lane)
        except Exception:  # what waits behind it is nobody else's
            log.exception("something in a chat broke off; what waits there goes on")
