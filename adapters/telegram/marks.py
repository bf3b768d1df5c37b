"""A mark on messages that have to wait for their turn: put there when they come, taken off with their answer."""

import asyncio
import logging
from collections import Counter, OrderedDict
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from adapters.telegram.calls import Calls, Place, Refused
from bot.messages import ChannelFault, ChatId, IncomingMessage
from bot.tasks import Tasks

log = logging.getLogger(__name__)

HEARD = "👀"
MESSAGES_KEPT = 10_000


class Marks:
    """Who waits, and who is answered just now. Nothing here is worth failing over."""

    def __init__(self, calls: Calls, tasks: Tasks) -> None:
        """`tasks`: where calls are made that nobody waits for."""
        self._calls = calls
        self._tasks = tasks
        self._answered: dict[ChatId, Counter[str]] = {}
        """Ids of the messages that replies are being shown to."""
        self._open: OrderedDict[tuple[ChatId, str], asyncio.Event | None] = OrderedDict()
        """Messages that will have an answer; of those with a mark, what is set once it is there."""

    def received(self, message: IncomingMessage) -> None:
        """Note a message to which a reply will come; mark it where another's comes first."""
        number = _number_of(message.id)
        if number is None:
            return
        answered = self._answered.get(message.chat, ())
        # Its own reply may have begun before this is called; an edit puts an end to the one that runs.
        waits = bool(answered) and message.id not in answered and message.edit_of not in answered
        done = asyncio.Event() if waits else None
        self._open[message.chat, message.id] = done
        if done:
            self._tasks.start(self._mark(message.chat, number, done))
        while len(self._open) > MESSAGES_KEPT:
            _, oldest = self._open.popitem(last=False)
            _set(oldest)

    @contextmanager
    def showing(self, message: IncomingMessage | None) -> Iterator[None]:
        """Note that a reply to a message is shown meanwhile."""
        if message is None:
            yield
            return
        answered = self._answered.setdefault(message.chat, Counter())
        answered[message.id] += 1
        try:
            yield
        finally:
            answered[message.id] -= 1
            if not answered[message.id]:
                del answered[message.id]
            if not answered:
                self._answered.pop(message.chat, None)

    def answered(self, chat: ChatId, ids: Iterable[str]) -> None:
        """Take the mark off messages that have their answer now."""
        for each in ids:
            number = _number_of(each)
            if (chat, each) in self._open:
                _set(self._open.pop((chat, each)))
            elif number is not None:  # it came to an earlier process, which may have marked it
                self._tasks.start(self._put(chat, number, ""))

    def gone(self, chat: ChatId) -> None:
        """Wait for no more answers in a chat."""
        for key in [key for key in self._open if key[0] == chat]:
            _set(self._open.pop(key))

    async def _mark(self, chat: ChatId, number: int, done: asyncio.Event) -> None:
        await self._put(chat, number, HEARD)
        await done.wait()
        await self._put(chat, number, "")

    async def _put(self, chat: ChatId, number: int, emoji: str) -> None:
        try:
            await self._calls.react(Place.of(chat), number, emoji)
        except (Refused, ChannelFault) as fault:
            log.debug("telegram: %s", fault)


def _number_of(message: str) -> int | None:
    """Telegram's own number of a message; None where it is none of its, such as a press."""
    number = message.partition(".")[0]
    return int(number) if number.isdigit() else None


def _set(done: asyncio.Event | None) -> None:
    if done:
        done.set()
