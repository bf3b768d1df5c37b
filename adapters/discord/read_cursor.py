"""How far Discord's messages were read, stored so that missed ones are found after a restart."""

import asyncio
import logging
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta

from discord.utils import snowflake_time, time_snowflake

from bot.channel_store import ChannelStore
from bot.recent_dict import RecentDict

log = logging.getLogger(__name__)

UP_TO = "heard"
"""Key of the message id up to which everything was read, in any channel."""
BEHIND = "behind:"
"""Channels read less far, each with its message id."""
AWAY = "away:"
"""Guilds unavailable for now and read less far, each with its message id."""
DIRECT = "dm:"
"""Direct channels by person, as Discord does not list them for bots."""
THREAD = "thread:"
"""Threads where the bot was addressed, each with a message id: Discord lists only open threads."""

SLACK = timedelta(seconds=5)
"""Messages of the same moment may arrive out of order."""
RECENT = 5000
"""About 1 MB. Older messages read again are recognized by the inbox."""
MAX_DIRECT_CHANNELS = 500
THREAD_RETENTION = timedelta(days=30)
THREAD_NOTED_AGAIN = timedelta(days=1)


class ReadCursor:
    """One mark for all channels, and separate marks for channels that are behind it.

    Message ids contain their time, so one mark serves all channels. It stays where it was at a session's start
    until it is known what was missed before.
    """

    def __init__(
        self, store: ChannelStore, *, slack: timedelta = SLACK, since: datetime | None = None
    ) -> None:
        """`since`: until when another instance answered; earlier messages are not ours."""
        self._store = store
        self._since = time_snowflake(since) if since else 0
        self.slack = slack
        """How far the mark stays behind the latest message."""
        self._mark = 0
        self._highest = 0
        self._unsettled: set[str] = set()
        self._saved_mark = 0
        self._saved: dict[str, int] = {}
        """Stored marks of what is behind, by key."""
        self.behind: dict[int, int] = {}
        """Channels left behind by an earlier process and not yet checked."""
        self.away: dict[int, int] = {}
        """Unavailable guilds."""
        self.direct: dict[str, int] = {}
        """Direct channels by person."""
        self.threads: dict[int, int] = {}
        self._recent: RecentDict[str, None] = RecentDict(RECENT)

    async def load(self) -> None:
        """Read the state of an earlier process. Raises StateFault."""
        self._mark = _parse_number(await self._store.get(UP_TO))
        if self._since > self._mark:
            self._mark = self._since
            await self._store.put(UP_TO, str(self._mark))
        if not self._mark:  # the first start: only messages from now on are ours
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
        for person in sorted(self.direct, key=lambda one: self.direct[one])[:-MAX_DIRECT_CHANNELS]:
            del self.direct[person]
            await self._store.put(f"{DIRECT}{person}", "")
        self.threads = await self._read_numbers(THREAD)
        oldest = _now() - THREAD_RETENTION
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
        """Id of the message up to which everything was read."""
        if not self._unsettled and self._highest:
            self._mark = max(self._mark, message_id_before(self._highest, self.slack))
        return self._mark

    def see(self, message: int) -> None:
        """Record that a message arrived, from anyone."""
        self._highest = max(self._highest, message)

    def begin(self, *parts: str) -> None:
        """Hold the mark until all `parts` are settled."""
        self._mark = self.mark
        self._unsettled |= set(parts)

    def restart(self, *parts: str) -> None:
        """Like `begin`, but drop all earlier parts, which nothing will settle any more."""
        self._mark = self.mark
        self._unsettled = set(parts)

    def settle(self, part: str) -> None:
        """Record that it is known what was missed in a part."""
        self._unsettled.discard(part)

    # -- messages -------------------------------------------------------------------------------------------

    def has_seen(self, message: str) -> bool:
        """Return whether this process recently read a message."""
        return message in self._recent

    def mark_read(self, message: str) -> None:
        """Record that a message was read."""
        self._recent[message] = None

    async def remember_direct(self, person: str, channel: int) -> None:
        """Store a person's direct channel. Raises StateFault."""
        if self.direct.get(person) != channel:
            await self._store.put(f"{DIRECT}{person}", str(channel))
            self.direct[person] = channel

    async def remember_thread(self, thread: int, message: int) -> None:
        """Store that the bot was addressed in a thread. Raises StateFault."""
        noted = self.threads.get(thread)
        if noted is None or snowflake_time(message) - snowflake_time(noted) > THREAD_NOTED_AGAIN:
            await self._store.put(f"{THREAD}{thread}", str(message))
            self.threads[thread] = message

    # -- on disk --------------------------------------------------------------------------------------------

    async def save(self, pending: Mapping[int, int]) -> None:
        """Store the marks; `pending`: channels that are behind, with their message ids. Raises StateFault."""
        mark = self.mark
        behind = self._merge_behind(pending)
        # What is behind first: after a crash too much may be read again, but never too little.
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
    """Return the id of a message written `span` earlier."""
    return max(message - (int(span.total_seconds() * 1000) << 22), 0)


def _parse_number(text: str) -> int:
    return int(text) if text.isdigit() else 0


def _now() -> datetime:
    return datetime.now(UTC)
