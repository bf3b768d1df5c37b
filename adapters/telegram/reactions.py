"""A reaction on messages that wait for their turn: set on arrival, removed with the answer."""

import asyncio
import logging
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field

from adapters.api_errors import ApiRefused
from adapters.telegram.api_calls import ApiCalls, Target
from bot.messages import ChannelFault, ChatId, IncomingMessage
from bot.recent_dict import RecentDict
from bot.tasks import BackgroundTasks

log = logging.getLogger(__name__)

RECEIVED_EMOJI = "👀"
MAX_MESSAGES = 10_000
MAX_SECONDS = 2.0
"""Maximum seconds that an answer waits for reactions to be removed; after that they go later."""


@dataclass(slots=True)
class _Reaction:
    is_there: bool = True
    """Set, or possibly set."""
    tried: asyncio.Event = field(default_factory=asyncio.Event)
    """Set after the attempt, even a failed one."""


class Reactions:
    """Tracks which messages wait and which are being answered; failures are ignored."""

    def __init__(self, calls: ApiCalls, tasks: BackgroundTasks) -> None:
        """`tasks`: runs calls that nobody waits for."""
        self._calls = calls
        self._tasks = tasks
        self._answered: dict[ChatId, Counter[str]] = {}
        """Ids of the messages whose replies are being shown."""
        self._open: RecentDict[tuple[ChatId, str], _Reaction | None] = RecentDict(MAX_MESSAGES)
        """Messages that will get an answer; None for those that did not have to wait."""

    def received(self, message: IncomingMessage) -> None:
        """Record a message that will get a reply; mark it if another reply comes first."""
        number = _message_number(message.id)
        if number is None:
            return
        answered = self._answered.get(message.chat, ())
        # Its own reply may have started already; an edit ends the running reply.
        waits = bool(answered) and message.id not in answered and message.edit_of not in answered
        mark = _Reaction() if waits else None
        self._open[message.chat, message.id] = mark
        if mark:
            self._tasks.start(self._add_reaction(message.chat, number, mark))

    @contextmanager
    def showing(self, message: IncomingMessage | None) -> Iterator[None]:
        """Record that a reply to a message is being shown meanwhile."""
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
        """Remove the reactions of messages that have been answered.

        The caller waits for that: after a crash in between, a restart answers again and removes them.
        """
        under_way: list[asyncio.Event] = []
        for each in ids:
            number = _message_number(each)
            # An earlier process may have marked its messages.
            mark = self._open.pop((chat, each), _UNTRIED)
            if number is not None and mark:
                done = asyncio.Event()
                under_way.append(done)
                self._tasks.start(self._remove_reaction(chat, number, mark, done))
        with suppress(TimeoutError):
            async with asyncio.timeout(MAX_SECONDS):
                for done in under_way:
                    await done.wait()

    async def _add_reaction(self, chat: ChatId, number: int, mark: _Reaction) -> None:
        try:
            await self._calls.react(Target.of(chat), number, RECEIVED_EMOJI)
        except ApiRefused:
            mark.is_there = False
        except ChannelFault as fault:
            mark.is_there = not fault.retry_after
            log.debug("could not set a reaction: %s", fault)
        finally:
            mark.tried.set()

    async def _remove_reaction(self, chat: ChatId, number: int, mark: _Reaction, done: asyncio.Event) -> None:
        try:
            await mark.tried.wait()
            if mark.is_there:
                await self._calls.react(Target.of(chat), number)
        except (ApiRefused, ChannelFault) as fault:
            log.debug("could not remove a reaction: %s", fault)
        finally:
            done.set()


_UNTRIED = _Reaction()
_UNTRIED.tried.set()


def _message_number(message: str) -> int | None:
    """Return Telegram's message id; None for other ids, such as a press's."""
    number = message.partition(".")[0]
    return int(number) if number.isdigit() else None
