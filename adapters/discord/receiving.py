"""Read each channel's messages in order, missed ones first; channels run concurrently."""

import asyncio
import json
import logging
import sys
from collections import OrderedDict, deque
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

import discord
from discord.utils import time_snowflake

from adapters.backoff import Backoff, BackoffTimes, wait_longer
from adapters.discord.connection_health import INTENT_OFF
from adapters.discord.history import (
    PAGE,
    TRANSIENT_ERRORS,
    HistoryUnreadable,
    find_channel,
    find_member,
    find_missed,
    oldest_message,
    read_page,
)
from adapters.discord.incoming import (
    CHANNEL,
    ReceivedMessage,
    channel_chat,
    direct_chat,
    display_name,
    person_id,
    read_edit,
    read_message,
    read_roles,
)
from adapters.discord.private_api import parse_message
from adapters.discord.read_cursor import SLACK, ReadCursor
from adapters.discord.response_timeouts import limit_response_time
from bot.channel_store import ChannelStore
from bot.log.tracebacks import error_location
from bot.messages import NotAccepted, PersonId, WithdrawMessage
from bot.recent_dict import RecentDict
from bot.sanitize import one_line
from bot.state.database import StateFault
from bot.supervisor import Supervisor
from bot.tasks import BackgroundTasks
from memory.translatable import Translatable, join_texts

log = logging.getLogger(__name__)

MAX_WAITING_MESSAGES = 200
"""Messages held per channel; further ones are read from its history when they are due."""
AT_ONCE = 4
"""Histories read concurrently."""
MAX_DELETED = 1000
NAMED = 3
"""Channels named in a log line."""
DIRECTS_TASK = "discord direct conversations"
"""Name of the task that opens them, as shown to owners."""
GUILDS, SHARD_AWAY, DIRECTS = "guilds of {shard}", "{shard} is away", "direct conversations"


@dataclass(frozen=True, slots=True)
class ReceiveTimes(BackoffTimes):
    """Durations in seconds."""

    answer: float = 8.0
    """For an answer in the first minute of failures; later ten times as long."""
    save: float = 3.0
    """Between two saves of the read cursor."""
    slack: float = SLACK.total_seconds()
    """How much is read again in a new session."""
    shards_slack: float = 120.0
    """The same with shards: one may be dead this long before it is noticed, while others still receive."""


@dataclass(frozen=True, slots=True)
class _UnreadableMessage:
    """A message that could not be parsed."""

    id: str
    raw: Mapping[str, Any]
    reason: str


@dataclass(slots=True, eq=False)
class _ChannelQueue:
    channel: int
    is_direct: bool = False
    missed: int | None = None
    """Message id after which the history is to be read, before anything else."""
    read_again: bool = False
    """Whether the history may hold more than was read: messages were left to it after that."""
    waiting: deque[ReceivedMessage | _UnreadableMessage] = field(default_factory=deque)
    members: dict[int, discord.Member | None] = field(default_factory=dict)
    """Members already fetched while the queue is not empty."""

    def read_up_to(self) -> int | None:
        """Return the message id up to which everything was read; None if nothing needs to be read again."""
        if self.missed is not None:
            return self.missed
        numbers = [
            int(one.message.id)
            for one in self.waiting
            if isinstance(one, ReceivedMessage) and not one.message.edit_of
        ]
        return min(numbers) - 1 if numbers else None


AcceptMessage = Callable[[ReceivedMessage], Awaitable[bool]]
"""Like AcceptMessage of `bot.messages`, but with the sender's roles."""


class Receiver:
    """Accepts messages, each at least once and in the order of its channel."""

    def __init__(
        self,
        accept: AcceptMessage,
        store: ChannelStore,
        *,
        people: Callable[[], Awaitable[Sequence[PersonId]]],
        problem: Callable[[str], None],
        pauses: ReceiveTimes,
        withdraw: WithdrawMessage | None = None,
        since: datetime | None = None,
        supervisor: Supervisor | None = None,
    ) -> None:
        """`people`: persons whose direct channels are opened, to learn where they write.

        `withdraw` is called with each deleted message. `problem` gets the current problem with its remedy in one
        line, or "". `since`: until when another instance has answered. `supervisor` opens the direct channels.
        """
        self._accept = accept
        self._store = store
        self._people = people
        self._set_problem = problem
        self._pauses = pauses
        self._withdraw = withdraw
        self._deleted: RecentDict[int, None] = RecentDict(MAX_DELETED)
        """Ids of the latest deleted messages."""
        self._told_from = sys.maxsize
        """Message id from which on deletions are reported to us."""
        self._away: set[int] = set()
        """Shards that are disconnected."""
        self._cursor = ReadCursor(store, slack=timedelta(seconds=pauses.slack), since=since)
        self._queues: dict[int, _ChannelQueue] = {}
        self._supervisor = supervisor or Supervisor()
        self._background = BackgroundTasks()
        self._opening: asyncio.Task[None] | None = None
        self._reading = asyncio.Semaphore(AT_ONCE)
        self._client: discord.Client | None = None
        self._session = 0
        self._session_mark = 0
        """Message id up to which everything was read when the session started."""
        self._awaited: dict[int, int] = {}
        """Guilds not yet reported in this session, with their shards."""
        self._unknown: set[int] = set()
        """Shards whose guilds are not all known yet."""
        self._held: list[discord.Message] = []
        self._unread: OrderedDict[int, str] = OrderedDict()
        """Names of channels whose history the bot may not read."""
        self._refusal = ""
        self._is_text_hidden = False

    async def load(self) -> None:
        """Read how far an earlier process came. Raises StateFault."""
        await self._cursor.load()

    async def keep_saving(self) -> None:
        """Save the cursor regularly, so that little is read again after a crash."""
        while True:
            await asyncio.sleep(self._pauses.save)
            await self._save()

    async def close(self) -> None:
        """Stop; messages not yet accepted are read again next time."""
        self._background.cancel()
        await self._background.wait()
        await self._save()

    async def _save(self) -> None:
        pending = {
            channel: up_to
            for channel, queue in self._queues.items()
            if (up_to := queue.read_up_to()) is not None
        }
        try:
            await self._cursor.save(pending)
        except StateFault as fault:
            log.debug("discord: %s", fault)

    # -- events ---------------------------------------------------------------------------------------------

    def connected(self, client: discord.Client, shard: int) -> None:
        """Start a session: look for messages missed before it."""
        if client is not self._client:
            self._client = client
            self._unknown = set(range(client.shard_count or 1))
            if len(self._unknown) > 1:
                self._cursor.slack = timedelta(seconds=self._pauses.shards_slack)
            self._awaited.clear()
            self._away = set(self._unknown)
            self._cursor.restart(*(GUILDS.format(shard=each) for each in self._unknown))
        self._away.discard(shard)
        self._told_from = time_snowflake(datetime.now(UTC))
        self._unknown.add(shard)
        self._session += 1
        self._cursor.begin(GUILDS.format(shard=shard), DIRECTS)
        self._cursor.settle(SHARD_AWAY.format(shard=shard))
        self._session_mark = self._cursor.mark
        self._awaited |= {guild.id: shard for guild in client.guilds if guild.shard_id == shard}
        self._unread.clear()
        self._report_problems()
        if self._opening:
            self._opening.cancel()
        opening = partial(self._open_directs, client, self._session)
        self._opening = self._background.start(self._supervisor.run(DIRECTS_TASK, opening))

    def disconnected(self, shard: int) -> None:
        """Record a disconnected shard; messages of other shards then do not advance the mark."""
        self._away.add(shard)
        self._cursor.begin(SHARD_AWAY.format(shard=shard))

    def resumed(self, shard: int) -> None:
        """Record that a shard resumed its session."""
        self._away.discard(shard)
        self._cursor.settle(SHARD_AWAY.format(shard=shard))

    def guild_available(self, guild: discord.Guild) -> None:
        """Look for messages missed in a guild."""
        self._awaited.pop(guild.id, None)
        mark = min(self._cursor.mark, self._cursor.away.pop(guild.id, self._cursor.mark))
        if mark:
            behind = self._cursor.behind
            for missed in find_missed(guild, lambda channel: behind.get(channel, mark)):
                if missed.is_readable:
                    self._read_from(missed.channel, missed.after)
                else:
                    self._record_unreadable(missed.channel, missed.name)
        for channel in (*guild.channels, *guild.threads):
            self._cursor.behind.pop(channel.id, None)
        self._release_waiting(guild.id)

    def guild_unavailable(self, guild: discord.Guild) -> None:
        """Record an unavailable guild, where messages may be missed from here on."""
        self._cursor.away.setdefault(guild.id, self._cursor.mark)

    def guilds_known(self, shard: int) -> None:
        """Look in closed threads and known direct channels, once all guilds are known."""
        for guild in [guild for guild, its_shard in self._awaited.items() if its_shard == shard]:
            self._cursor.away.setdefault(guild, self._session_mark)
            del self._awaited[guild]
        self._release_waiting(None)
        self._unknown.discard(shard)
        if not self._unknown:
            self._read_remaining()
        self._cursor.settle(GUILDS.format(shard=shard))

    def _read_remaining(self) -> None:
        client, mark = self._client, self._cursor.mark
        for guild in [guild for guild in self._cursor.away if client and client.get_guild(guild) is None]:
            del self._cursor.away[guild]  # the bot has left it
        for channel, after in self._cursor.behind.items():
            self._read_from(channel, after)
        self._cursor.behind.clear()
        if client and mark:
            for thread in self._cursor.threads:
                if client.get_channel(thread) is None:
                    self._read_from(thread, mark)

    def said(self, message: discord.Message) -> None:
        """Queue a new message behind the others of its channel."""
        guild = message.guild
        if guild and guild.id in self._awaited:
            self._held.append(message)
            return
        self._cursor.see(message.id)
        self._enqueue(message.channel.id, self._parse(message, read_message))

    def edited(self, message: discord.Message) -> None:
        """Queue an edited message behind the others of its channel."""
        if message.edited_at and time_snowflake(message.edited_at) < oldest_message(
            is_direct=message.guild is None
        ):
            return  # reported for another change, such as a pin or a new thread
        self._enqueue(message.channel.id, self._parse(message, read_edit))

    def deleted(self, channel: int, messages: Collection[int]) -> None:
        """Withdraw deleted messages that were not yet answered."""
        for message in messages:
            self._deleted[message] = None
            self._background.start(self._withdraw_from(channel, message))

    def may_be_deleted(self, message: int) -> bool:
        """Return whether a message may have been deleted without an event reaching us."""
        return bool(self._away) or message < self._told_from

    async def _withdraw_from(self, channel: int, message: int) -> None:
        """Withdraw the message in each chat where it may be queued."""
        if self._withdraw is None:
            return
        people = [person for person, direct in self._cursor.direct.items() if direct == channel]
        chats = [channel_chat(channel), *(direct_chat(person_id(int(person))) for person in people)]
        # The last one is the thread that the answer would open.
        for chat in (*chats, channel_chat(message)):
            await self._withdraw(chat, str(message))

    def unreadable(self, event: str, raw: Mapping[str, Any], error: Exception) -> None:
        """Set aside an event that the library could not parse."""
        if event in ("MESSAGE_CREATE", "MESSAGE_UPDATE") and str(raw.get("channel_id", "")).isdigit():
            self._enqueue(
                int(raw["channel_id"]),
                _UnreadableMessage(str(raw.get("id", "")), raw, error_location(error)),
            )
        else:
            # Without the error's text, which may quote a message.
            log.error("Discord: could not read the event %s: %s", event, error_location(error))

    def _release_waiting(self, guild: int | None) -> None:
        """Queue the held messages of a guild, or all of them, now that missed ones are known."""
        held, self._held = self._held, []
        for message in held:
            if guild is not None and (message.guild is None or message.guild.id != guild):
                self._held.append(message)
            else:
                self.said(message)

    def _parse(
        self, message: discord.Message, read: Callable[[discord.Message, int], ReceivedMessage | None]
    ) -> ReceivedMessage | _UnreadableMessage | None:
        client = self._client
        try:
            said = read(message, client.user.id if client and client.user else 0)
        except Exception as error:  # noqa: BLE001 - one bad message must not stop later ones
            raw = {"id": str(message.id), "channel_id": str(message.channel.id), "content": message.content}
            return _UnreadableMessage(str(message.id), raw, error_location(error))
        if said and said.is_hidden:
            if client and not client.intents.message_content:  # otherwise the message had no text
                self.set_text_hidden(True)
            return None
        return said if said and said.message.addressed else None

    def _enqueue(self, channel: int, received: ReceivedMessage | _UnreadableMessage | None) -> None:
        if received is None:
            return
        queue = self._queues.get(channel)
        if queue is None:
            queue = self._start_worker(_ChannelQueue(channel))
        if isinstance(received, ReceivedMessage) and not received.message.in_room:
            queue.is_direct = True
            mark = self._session_mark
            if mark and not received.message.edit_of and channel not in self._cursor.direct.values():
                queue.missed = min(queue.missed or mark, mark)  # this may not be the person's first message
        queue.waiting.append(received)
        if len(queue.waiting) <= MAX_WAITING_MESSAGES:
            return
        up_to = queue.read_up_to()
        if up_to is None:  # only edits, of which the history has just the latest
            queue.waiting.popleft()
        else:
            queue.missed = up_to
            queue.waiting.clear()
            queue.read_again = True

    def _read_from(self, channel: int, after: int, *, is_direct: bool = False) -> None:
        queue = self._queues.get(channel)
        if queue is None:
            queue = self._start_worker(_ChannelQueue(channel))
        queue.is_direct |= is_direct
        queue.read_again = True
        up_to = queue.read_up_to()
        queue.missed = after if up_to is None else min(after, up_to)

    def _start_worker(self, queue: _ChannelQueue) -> _ChannelQueue:
        self._queues[queue.channel] = queue
        self._background.start(self._run_queue(queue))
        return queue

    def _answer_seconds(self, backoff: Backoff) -> float:
        return self._pauses.answer * (1 if backoff.is_recent else 10)

    # -- direct channels ------------------------------------------------------------------------------------

    async def _open_directs(self, client: discord.Client, session: int) -> None:
        """Look for missed messages in direct channels, which Discord does not list. Raises StateFault."""
        mark = self._cursor.mark
        if mark:
            # A channel whose first message is still being accepted is not stored yet.
            begun = {queue.channel for queue in self._queues.values() if queue.is_direct}
            for channel in {*self._cursor.direct.values(), *begun}:
                self._read_from(channel, self._cursor.behind.pop(channel, mark), is_direct=True)
        backoff = Backoff(self._pauses)
        while session == self._session:
            try:
                async with limit_response_time(self._answer_seconds(backoff)):
                    await self._open_new_directs(client, mark)
                break
            except TRANSIENT_ERRORS as error:
                log.debug("discord: could not open direct channels: %s", type(error).__name__)
                await wait_longer(backoff)
        if session == self._session:
            self._cursor.settle(DIRECTS)

    async def _open_new_directs(self, client: discord.Client, mark: int) -> None:
        for person in await self._people():
            if person.channel != CHANNEL or not person.id.isdecimal() or person.id in self._cursor.direct:
                continue
            try:
                channel = await client.create_dm(discord.Object(int(person.id)))
            except (discord.Forbidden, discord.NotFound):
                continue
            except discord.HTTPException as error:
                if error.status == 400:  # no such person, or one that bots cannot write to
                    continue
                raise
            await self._cursor.remember_direct(person.id, channel.id)
            if mark:
                self._read_from(channel.id, mark, is_direct=True)

    # -- one channel ----------------------------------------------------------------------------------------

    async def _run_queue(self, queue: _ChannelQueue) -> None:
        try:
            while queue.missed is not None or queue.waiting:
                try:
                    await self._handle_waiting(queue)
                except Exception:
                    log.exception("Discord: could not accept the messages in %s", channel_chat(queue.channel))
                    await asyncio.sleep(self._pauses.longest)
        finally:
            if queue.missed is None and not queue.waiting:
                del self._queues[queue.channel]

    async def _handle_waiting(self, queue: _ChannelQueue) -> None:
        if queue.missed is not None:
            await self._read_missed(queue)
            return
        first = queue.waiting[0]
        await self._accept_one(queue, first)
        if queue.waiting and queue.waiting[0] is first:
            queue.waiting.popleft()

    async def _read_missed(self, queue: _ChannelQueue) -> None:
        """Read a channel's history; retried until it works or is refused."""
        backoff = Backoff(self._pauses)
        while queue.missed is not None:
            client = self._client
            after = max(queue.missed, oldest_message(is_direct=queue.is_direct))
            queue.read_again = False
            try:
                if client is None or client.is_closed():
                    raise ConnectionError
                async with self._reading, limit_response_time(self._answer_seconds(backoff)):
                    channel = await find_channel(client, queue.channel, is_direct=queue.is_direct)
                    page = await read_page(client, queue.channel, after)
            except HistoryUnreadable as error:
                if not (error.is_gone or queue.is_direct):
                    self._record_unreadable(queue.channel, "")
                queue.missed = None
                return
            except TRANSIENT_ERRORS as error:
                log.debug("discord: could not read a history: %s", type(error).__name__)
                await wait_longer(backoff)
                continue
            backoff.record_success()
            self._record_readable(queue.channel)
            if not await self._accept_page(queue, client, channel, page):
                continue  # a new session started, and more may have been missed
            if len(page) < PAGE and not queue.read_again:
                queue.missed = None

    async def _accept_page(
        self, queue: _ChannelQueue, client: discord.Client, channel: Any, page: Sequence[dict[str, Any]]
    ) -> bool:
        """Accept a page of history; return False if reading must restart at another message."""
        for raw in page:
            expected = queue.missed
            said: ReceivedMessage | _UnreadableMessage | None
            try:
                message = parse_message(client, channel, raw)
            except Exception as error:  # noqa: BLE001 - as for new messages
                said = _UnreadableMessage(str(raw["id"]), raw, error_location(error))
            else:
                said = self._parse(message, read_message)
            if said is not None:
                await self._accept_one(queue, said)
            if queue.missed != expected:
                return False
            queue.missed = int(raw["id"])
        return True

    async def _accept_one(self, queue: _ChannelQueue, received: ReceivedMessage | _UnreadableMessage) -> None:
        """Retry until the assistant has stored a message; later ones wait."""
        backoff = Backoff(self._pauses)
        while True:
            try:
                if isinstance(received, _UnreadableMessage):
                    await self._set_aside(received)
                elif _message_number(received) in self._deleted:
                    return
                elif not self._cursor.has_seen(received.message.id):
                    async with limit_response_time(self._answer_seconds(backoff)):
                        said_fully = await self._with_roles(queue, received)
                    await self._pass_on(queue, said_fully)
            except (NotAccepted, StateFault) as refusal:
                self._set_refusal(str(refusal))
                await wait_longer(backoff)
            except TRANSIENT_ERRORS as error:
                log.debug("discord: could not fetch a member: %s", type(error).__name__)
                await wait_longer(backoff)
            else:
                self._set_refusal("")
                return

    async def _with_roles(self, queue: _ChannelQueue, received: ReceivedMessage) -> ReceivedMessage:
        """Fetch the sender's roles if they are unknown, as in a history."""
        guild = self._client.get_guild(received.guild) if self._client else None
        if received.roles is not None or guild is None:
            return received
        person = int(received.message.sender.id)
        if person not in queue.members:
            queue.members[person] = await find_member(guild, person)
        member = queue.members[person]
        if member is None:
            return replace(received, guild=0, roles=())  # the rules for members no longer apply to them
        return replace(
            received,
            roles=read_roles(member),
            message=replace(received.message, sender_name=display_name(member)),
        )

    async def _pass_on(self, queue: _ChannelQueue, received: ReceivedMessage) -> None:
        message = received.message
        try:
            await self._accept(received)
        except (NotAccepted, StateFault):
            raise
        except Exception as error:
            raw = {"id": message.id, "channel_id": str(queue.channel), "content": message.text}
            log.exception("Discord: could not accept message %s; it is set aside", message.id)
            await self._set_aside(_UnreadableMessage(message.id, raw, error_location(error)), is_told=True)
            return
        self._cursor.mark_read(message.id)
        if _message_number(received) in self._deleted:  # deleted meanwhile
            await self._withdraw_from(queue.channel, _message_number(received))
        if received.last_edit:  # reported again for other changes of the message, such as a new thread
            self._cursor.mark_read(received.last_edit)
        if not message.in_room:
            await self._cursor.remember_direct(message.sender.id, queue.channel)
        elif received.in_thread and not message.edit_of:
            await self._cursor.remember_thread(queue.channel, int(message.id))

    async def _set_aside(self, bad: _UnreadableMessage, *, is_told: bool = False) -> None:
        """Store a message as received, so that later ones can be accepted."""
        # As plain text, so that /forget finds words in it.
        text = json.dumps(bad.raw, ensure_ascii=False, default=str).encode("utf-8", "replace").decode()
        if await self._store.keep_unreadable(bad.id, text, bad.reason) and not is_told:
            # Without the error's text, which may quote a message.
            log.error("Discord: could not read message %s; it is set aside: %s", bad.id, bad.reason)

    # -- problems -------------------------------------------------------------------------------------------

    def set_text_hidden(self, is_hidden: bool) -> None:
        """Record whether Discord hides the text of messages to the bot."""
        if self._is_text_hidden != is_hidden:
            self._is_text_hidden = is_hidden
            self._report_problems()

    def _set_refusal(self, why: str) -> None:
        if self._refusal != why:
            self._refusal = why
            self._report_problems()

    def _record_unreadable(self, channel: int, name: str) -> None:
        known = self._client.get_channel(channel) if self._client else None
        name = name or getattr(known, "name", "") or str(channel_chat(channel))
        if channel not in self._unread:
            self._unread[channel] = one_line(name)
            self._report_problems()

    def _record_readable(self, channel: int) -> None:
        if self._unread.pop(channel, ""):
            self._report_problems()

    def _report_problems(self) -> None:
        lines = [self._refusal, INTENT_OFF if self._is_text_hidden else ""]
        if names := [f"#{name}" for name in self._unread.values()]:
            more = ["…"] if len(names) > NAMED else []
            lines.append(
                Translatable(
                    "missed messages in {channels} cannot be read: give the bot the permission Read Message "
                    "History there",
                    channels=", ".join([*names[:NAMED], *more]),
                )
            )
        self._set_problem(join_texts(*lines))


def _message_number(received: ReceivedMessage) -> int:
    """Return the id of a message, or of the one that was edited."""
    return int(received.message.edit_of or received.message.id)
