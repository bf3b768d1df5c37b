"""A mark on messages that have to wait for their turn: put there when they come, taken off with their answer."""

import asyncio
import logging
from collections import Counter, OrderedDict
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field

from adapters.telegram.api_calls import ApiCalls, ApiRefused, Target
from bot.messages import ChannelFault, ChatId, IncomingMessage
from bot.tasks import BackgroundTasks

log = logging.getLogger(__name__)

RECEIVED_EMOJI = "👀"
MESSAGES_KEPT = 10_000
MOST_SECONDS = 2.0
"""So long an answer is not done with, where its messages still have their marks; they go later then."""


@dataclass(slots=True)
class _Reaction:
    is_there: bool = True
    """Or may be."""
    tried: asyncio.Event = field(default_factory=asyncio.Event)
    """Set once it was put, or could not be."""


class Reactions:
    """Who waits, and who is answered just now. Nothing here is worth failing over."""

    def __init__(self, calls: ApiCalls, tasks: BackgroundTasks) -> None:
        """`tasks`: where calls are made that nobody waits for."""
        self._calls = calls
        self._tasks = tasks
        self._answered: dict[ChatId, Counter[str]] = {}
        """Ids of the messages that replies are being shown to."""
        self._open: OrderedDict[tuple[ChatId, str], _Reaction | None] = OrderedDict()
        """Messages that will have an answer; None for those that did not have to wait."""

    def received(self, message: IncomingMessage) -> None:
        """Note a message to which a reply will come; mark it where another's comes first."""
        number = _message_number(message.id)
        if number is None:
            return
        answered = self._answered.get(message.chat, ())
        # Its own reply may have begun before this is called; an edit puts an end to the one that runs.
        waits = bool(answered) and message.id not in answered and message.edit_of not in answered
        mark = _Reaction() if waits else None
        self._open[message.chat, message.id] = mark
        while len(self._open) > MESSAGES_KEPT:
            self._open.popitem(last=False)
        if mark:
            self._tasks.start(self._add_reaction(message.chat, number, mark))

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

    async def answered(self, chat: ChatId, ids: Iterable[str]) -> None:
        """Take the marks off messages that have their answer now.

        That is waited for: whoever is killed before it is done answers again, and takes them off then.
        """
        under_way: list[asyncio.Event] = []
        for each in ids:
            number = _message_number(each)
            # What came to an earlier process may have been marked by that one.
            mark = self._open.pop((chat, each), _UNTRIED)
            if number is not None and mark:
                done = asyncio.Event()
                under_way.append(done)
                self._tasks.start(self._remove_reaction(chat, number, mark, done))
        with suppress(TimeoutError):
            async with asyncio.timeout(MOST_SECONDS):
                for done in under_way:
                    await done.wait()

    async def _add_reaction(self, chat: ChatId, number: int, mark: _Reaction) -> None:
        try:
            await self._calls.react(Target.of(chat), number, RECEIVED_EMOJI)
        except ApiRefused:
            mark.is_there = False
        except ChannelFault as fault:
            mark.is_there = not fault.retry_after
            log.debug("a message has no mark, as far as is known: %s", fault)
        finally:
            mark.tried.set()

    async def _remove_reaction(self, chat: ChatId, number: int, mark: _Reaction, done: asyncio.Event) -> None:
        try:
            await mark.tried.wait()
            if mark.is_there:
                await self._calls.react(Target.of(chat), number)
        except (ApiRefused, ChannelFault) as fault:
            log.debug("a mark stays: %s", fault)
        finally:
            done.set()


_UNTRIED = _Reaction()
_UNTRIED.tried.set()


def _message_number(message: str) -> int | None:
    """Telegram's own number of a message; None where it is none of its, such as a press."""
    number = message.partition(".")[0]
    return int(number) if number.isdigit() else None
