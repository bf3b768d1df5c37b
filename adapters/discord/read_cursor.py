"""How far all that was said on Discord is taken in, kept so that what was missed can be told after a restart."""

import asyncio
import logging
from collections import OrderedDict
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta

from discord.utils import snowflake_time, time_snowflake

from bot.channel_store import ChannelStore

log = logging.getLogger(__name__)

UP_TO = "heard"
"""The message up to which all is taken in, whatever its channel."""
BEHIND = "behind:"
"""… but not in these channels: up to which message it is there."""
AWAY = "away:"
"""… nor in these guilds, which cannot be heard for now: up to which message it is there."""
DIRECT = "dm:"
"""The direct conversation with each person, since Discord tells bots of none."""
THREAD = "thread:"
"""Threads in which the bot was spoken to, with a message in each: Discord tells bots only of those that are open."""

SLACK = timedelta(seconds=5)
"""Messages of the same moment do not always come in the order of their numbers."""
RECENT = 5000
"""Some 1 MB. What is read again beyond them is found in the inbox, which takes in nothing twice."""
MOST_DIRECT = 500
THREADS_KEPT = timedelta(days=30)
THREAD_NOTED_AGAIN = timedelta(days=1)


class ReadCursor:
    """One mark for all channels, and one more for each in which not all before it is taken in.

    Numbers of messages hold the moment at which they were written, so that one mark serves all channels. It stays
    where it was from the beginning of a session until it is known what was missed before that.
    """

    def __init__(
        self, store: ChannelStore, *, slack: timedelta = SLACK, since: datetime | None = None
    ) -> None:
        """`since`: until when another instance has answered; nothing of before is for us."""
        self._store = store
        self._since = time_snowflake(since) if since else 0
        self.slack = slack
        """So much of what was heard last is not yet taken to be all that was said until then."""
        self._mark = 0
        self._highest = 0
        self._unsettled: set[str] = set()
        self._saved_mark = 0
        self._saved: dict[str, int] = {}
        """What is behind, by key."""
        self.behind: dict[int, int] = {}
        """Channels of an earlier process that nobody has looked at yet."""
        self.away: dict[int, int] = {}
        """Guilds that cannot be heard."""
        self.direct: dict[str, int] = {}
        """Direct conversations, by person."""
        self.threads: dict[int, int] = {}
        self._recent: OrderedDict[str, None] = OrderedDict()

    async def load(self) -> None:
        """Read what an earlier process has left. Raises StateFault."""
        self._mark = _parse_number(await self._store.get(UP_TO))
        if self._since > self._mark:
            self._mark = self._since
            await self._store.put(UP_TO, str(self._mark))
        if not self._mark:  # the first time: nothing of before this is for us, and all from now on
            self._mark = time_snowflake(_now())
            await self._store.put(UP_TO, str(self._mark))
        self._saved_mark = self._mark
        self.behind = await self._read_numbers(BEHIND)
        self.away = await self._read_numbers(AWAY)
        self._saved = self._merge_behind({})
        self.behind = {channel: max(message, self._since) for channel, message in self.behind.items()}
        self.away = {guild: max(message, self._since) for guild, message in self.away.items()}
        direct = await self._store.list_prefix(DIRECT)
        self.direct = {key.removeprefix(DIRECT): _parse_number(value) for key, value in direct.items()}
        for person in sorted(self.direct, key=lambda one: self.direct[one])[:-MOST_DIRECT]:
            del self.direct[person]
            await self._store.put(f"{DIRECT}{person}", "")
        self.threads = await self._read_numbers(THREAD)
        oldest = _now() - THREADS_KEPT
        for thread, message in list(self.threads.items()):
            if snowflake_time(message) < oldest:
                del self.threads[thread]
                await self._store.put(f"{THREAD}{thread}", "")

    async def _read_numbers(self, prefix: str) -> dict[int, int]:
        found = await self._store.list_prefix(prefix)
        return {_parse_number(key.removeprefix(prefix)): _parse_number(value) for key, value in found.items()}

    # -- the mark -------------------------------------------------------------------------------------------

    @property
    def mark(self) -> int:
        """The message up to which all is taken in."""
        if not self._unsettled and self._highest:
            self._mark = max(self._mark, message_id_before(self._highest, self.slack))
        return self._mark

    def see(self, message: int) -> None:
        """Note that a message came, whoever wrote it."""
        self._highest = max(self._highest, message)

    def begin(self, *parts: str) -> None:
        """Until all `parts` are settled too, nobody knows what was missed from now on."""
        self._mark = self.mark
        self._unsettled |= set(parts)

    def begin_anew(self, *parts: str) -> None:
        """As `begin`, where of all that was to be settled before nothing more will be told."""
        self._mark = self.mark
        self._unsettled = set(parts)

    def settle(self, part: str) -> None:
        """What was missed in one part is known now."""
        self._unsettled.discard(part)

    # -- what was taken in ----------------------------------------------------------------------------------

    def has_seen(self, message: str) -> bool:
        """Whether a message was taken in by this process, not too long ago."""
        return message in self._recent

    def mark_read(self, message: str) -> None:
        """Note that a message was taken in."""
        self._recent[message] = None
        if len(self._recent) > RECENT:
            self._recent.popitem(last=False)

    async def remember_direct(self, person: str, channel: int) -> None:
        """Keep where a person talks with the bot. Raises StateFault."""
        if self.direct.get(person) != channel:
            await self._store.put(f"{DIRECT}{person}", str(channel))
            self.direct[person] = channel

    async def remember_thread(self, thread: int, message: int) -> None:
        """Keep that the bot was spoken to in a thread. Raises StateFault."""
        noted = self.threads.get(thread)
        if noted is None or snowflake_time(message) - snowflake_time(noted) > THREAD_NOTED_AGAIN:
            await self._store.put(f"{THREAD}{thread}", str(message))
            self.threads[thread] = message

    # -- on disk --------------------------------------------------------------------------------------------

    async def save(self, pending: Mapping[int, int]) -> None:
        """Put the marks on disk; `pending`: channels that are behind, and up to which message. Raises StateFault."""
        mark = self.mark
        behind = self._merge_behind(pending)
        # What is behind first: a crash in between may leave too much to be read again, never too little.
        await asyncio.gather(
            *(
                self._store.put(key, str(message))
                for key, message in behind.items()
                if self._saved.get(key) != message
            )
        )
        if mark != self._saved_mark:
            await self._store.put(UP_TO, str(mark))
        gone = [key for key in self._saved if key not in behind]
        await asyncio.gather(*(self._store.put(key, "") for key in gone))
        self._saved_mark, self._saved = mark, behind

    def _merge_behind(self, pending: Mapping[int, int]) -> dict[str, int]:
        channels = {**self.behind, **pending}
        return {
            **{f"{BEHIND}{channel}": message for channel, message in channels.items()},
            **{f"{AWAY}{guild}": message for guild, message in self.away.items()},
        }


def message_id_before(message: int, span: timedelta) -> int:
    """The number that a message would have that was written so much earlier."""
    return max(message - (int(span.total_seconds() * 1000) << 22), 0)


def _parse_number(text: str) -> int:
    return int(text) if text.isdigit() else 0


def _now() -> datetime:
    return datetime.now(UTC)
