"""Messages are taken in one after the other in each channel, first those that were missed; all channels at once."""

import asyncio
import json
import logging
import sys
from collections import OrderedDict, deque
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
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
from bot.messages import NotAccepted, PersonId, WithdrawMessage
from bot.sanitize import one_line
from bot.state.database import StateFault
from bot.supervisor import Supervisor
from bot.tasks import BackgroundTasks

log = logging.getLogger(__name__)

MOST_WAITING = 200
"""Messages of a channel that are held; the others are read from its history when their turn comes."""
AT_ONCE = 4
"""Histories that are read at the same time."""
DELETED_KEPT = 1000
NAMED = 3
"""Channels that a line names."""
NO_HISTORY = (
    "what was missed in {channels} cannot be read: give the bot the permission Read Message History there"
)
DIRECTS_TASK = "discord direct conversations"
"""The task that opens them, as owners read of it."""
GUILDS, SHARD_AWAY, DIRECTS = "guilds of {shard}", "{shard} is away", "direct conversations"


@dataclass(frozen=True, slots=True)
class ReceiveTimes:
    """Seconds."""

    first: float = 1.0
    """Before what failed is tried again; each further failure doubles it."""
    short: float = 4.0
    """The longest in the first minute of failures."""
    longest: float = 60.0
    answer: float = 8.0
    """For an answer, in the first minute of failures; later ten times as long."""
    save: float = 3.0
    """Between two times that it is noted how far all is taken in."""
    slack: float = SLACK.total_seconds()
    """So much of what was taken in is read again in a new session."""
    shards_slack: float = 120.0
    """… where there are shards: one may be dead for as long, before that is noticed, while the others hear on."""


@dataclass(frozen=True, slots=True)
class _UnreadableMessage:
    """A message that cannot be read."""

    id: str
    raw: Mapping[str, Any]
    reason: str


@dataclass(slots=True, eq=False)
class _ChannelQueue:
    channel: int
    is_direct: bool = False
    missed: int | None = None
    """The message after which the history is to be read, before anything else."""
    read_again: bool = False
    """Whether the history may hold more than what was read of it: something was left to it after that."""
    waiting: deque[ReceivedMessage | _UnreadableMessage] = field(default_factory=deque)
    members: dict[int, discord.Member | None] = field(default_factory=dict)
    """Those that were asked for, while there is something to take in."""

    def read_up_to(self) -> int | None:
        """The message up to which all is taken in; None where nobody would have to read again."""
        if self.missed is not None:
            return self.missed
        numbers = [
            int(one.message.id)
            for one in self.waiting
            if isinstance(one, ReceivedMessage) and not one.message.edit_of
        ]
        return min(numbers) - 1 if numbers else None


AcceptMessage = Callable[[ReceivedMessage], Awaitable[bool]]
"""As Accept of `bot.messages`, told of the sender's roles too."""


class Receiver:
    """Takes in what is said, each message at least once and in the order of its channel."""

    def __init__(
        self,
        accept: AcceptMessage,
        store: ChannelStore,
        *,
        people: Callable[[], Awaitable[Sequence[PersonId]]],
        hampered: Callable[[str], None],
        pauses: ReceiveTimes,
        withdraw: WithdrawMessage | None = None,
        since: datetime | None = None,
        supervisor: Supervisor | None = None,
    ) -> None:
        """`people`: those with whom a direct conversation is opened, so that it is known where they write.

        `withdraw` is called with each message that is deleted; `hampered` is told what is wrong, in one line
        with the mend, or "". `since`: until when another instance has answered. `supervisor` opens the direct
        conversations, and knows if that fails.
        """
        self._accept = accept
        self._store = store
        self._people = people
        self._hampered = hampered
        self._pauses = pauses
        self._withdraw = withdraw
        self._deleted: OrderedDict[int, None] = OrderedDict()
        """Messages that are gone, the latest of them."""
        self._told_from = sys.maxsize
        """From which message on we are told of those that are deleted."""
        self._away: set[int] = set()
        """Shards that cannot be heard."""
        self._heard = ReadCursor(store, slack=timedelta(seconds=pauses.slack), since=since)
        self._lanes: dict[int, _ChannelQueue] = {}
        self._supervisor = supervisor or Supervisor()
        self._beside = BackgroundTasks()
        self._opening: asyncio.Task[None] | None = None
        self._reading = asyncio.Semaphore(AT_ONCE)
        self._client: discord.Client | None = None
        self._session = 0
        self._session_mark = 0
        """Up to which message all was taken in when the session began."""
        self._awaited: dict[int, int] = {}
        """Guilds of which nothing was told yet in this session, with their shards."""
        self._unknown: set[int] = set()
        """Shards of which not all guilds are known yet."""
        self._held: list[discord.Message] = []
        self._unread: OrderedDict[int, str] = OrderedDict()
        """Names of channels whose history is closed to the bot."""
        self._refusal = ""
        self._is_text_hidden = False

    async def load(self) -> None:
        """Read how far an earlier process came. Raises StateFault."""
        await self._heard.load()

    async def keep_saving(self) -> None:
        """Note now and then how far all is taken in, so that a crash costs no more than reading it again."""
        while True:
            await asyncio.sleep(self._pauses.save)
            await self._save()

    async def close(self) -> None:
        """Leave off; what is not taken in yet is read again next time."""
        self._beside.cancel()
        await self._beside.wait()
        await self._save()

    async def _save(self) -> None:
        pending = {
            channel: up_to
            for channel, lane in self._lanes.items()
            if (up_to := lane.read_up_to()) is not None
        }
        try:
            await self._heard.save(pending)
        except StateFault as fault:
            log.debug("discord: %s", fault)

    # -- what happens ---------------------------------------------------------------------------------------

    def connected(self, client: discord.Client, shard: int) -> None:
        """A session begins, and what was said before it is to be looked for."""
        if client is not self._client:
            self._client = client
            self._unknown = set(range(client.shard_count or 1))
            if len(self._unknown) > 1:
                self._heard.slack = timedelta(seconds=self._pauses.shards_slack)
            self._awaited.clear()
            self._away = set(self._unknown)
            self._heard.begin_anew(*(GUILDS.format(shard=each) for each in self._unknown))
        self._away.discard(shard)
        self._told_from = time_snowflake(datetime.now(UTC))
        self._unknown.add(shard)
        self._session += 1
        self._heard.begin(GUILDS.format(shard=shard), DIRECTS)
        self._heard.settle(SHARD_AWAY.format(shard=shard))
        self._session_mark = self._heard.mark
        self._awaited |= {guild.id: shard for guild in client.guilds if guild.shard_id == shard}
        self._unread.clear()
        self._report_problems()
        if self._opening:
            self._opening.cancel()
        opening = partial(self._open_directs, client, self._session)
        self._opening = self._beside.start(self._supervisor.run(DIRECTS_TASK, opening))

    def disconnected(self, shard: int) -> None:
        """A shard cannot be heard, while others may: what they hear tells nothing of how far all is taken in."""
        self._away.add(shard)
        self._heard.begin(SHARD_AWAY.format(shard=shard))

    def resumed(self, shard: int) -> None:
        """A shard goes on where it was."""
        self._away.discard(shard)
        self._heard.settle(SHARD_AWAY.format(shard=shard))

    def guild_available(self, guild: discord.Guild) -> None:
        """Look for what was missed in a guild."""
        self._awaited.pop(guild.id, None)
        mark = min(self._heard.mark, self._heard.away.pop(guild.id, self._heard.mark))
        if mark:
            behind = self._heard.behind
            for missed in find_missed(guild, lambda channel: behind.get(channel, mark)):
                if missed.is_readable:
                    self._read_from(missed.channel, missed.after)
                else:
                    self._record_unreadable(missed.channel, missed.name)
        for channel in (*guild.channels, *guild.threads):
            self._heard.behind.pop(channel.id, None)
        self._release_waiting(guild.id)

    def guild_unavailable(self, guild: discord.Guild) -> None:
        """A guild cannot be heard: from here on something may be missed in it."""
        self._heard.away.setdefault(guild.id, self._heard.mark)

    def guilds_known(self, shard: int) -> None:
        """What is left to look for stands in no guild: threads that are closed, direct conversations of before."""
        for guild in [guild for guild, its_shard in self._awaited.items() if its_shard == shard]:
            self._heard.away.setdefault(guild, self._session_mark)
            del self._awaited[guild]
        self._release_waiting(None)
        self._unknown.discard(shard)
        if not self._unknown:
            self._read_remaining()
        self._heard.settle(GUILDS.format(shard=shard))

    def _read_remaining(self) -> None:
        client, mark = self._client, self._heard.mark
        for guild in [guild for guild in self._heard.away if client and client.get_guild(guild) is None]:
            del self._heard.away[guild]  # the bot is not in it any more
        for channel, after in self._heard.behind.items():
            self._read_from(channel, after)
        self._heard.behind.clear()
        if client and mark:
            for thread in self._heard.threads:
                if client.get_channel(thread) is None:
                    self._read_from(thread, mark)

    def said(self, message: discord.Message) -> None:
        """Put a message behind the others of its channel."""
        guild = message.guild
        if guild and guild.id in self._awaited:
            self._held.append(message)
            return
        self._heard.see(message.id)
        self._enqueue(message.channel.id, self._parse(message, read_message))

    def edited(self, message: discord.Message) -> None:
        """Put what somebody wrote in a message's place behind the others of its channel."""
        if message.edited_at and time_snowflake(message.edited_at) < oldest_message(
            is_direct=message.guild is None
        ):
            return  # told again since something else of it has changed: somebody has pinned it, or opened a thread
        self._enqueue(message.channel.id, self._parse(message, read_edit))

    def deleted(self, channel: int, messages: Collection[int]) -> None:
        """Have messages left unanswered that are deleted before anything is begun for them."""
        for message in messages:
            self._deleted[message] = None
            if len(self._deleted) > DELETED_KEPT:
                self._deleted.popitem(last=False)
            self._beside.start(self._withdraw_from(channel, message))

    def may_be_deleted(self, message: int) -> bool:
        """Whether a message may be gone without our having been told of it."""
        return bool(self._away) or message < self._told_from

    async def _withdraw_from(self, channel: int, message: int) -> None:
        """Tell the assistant, in each of the chats in which the message may wait."""
        if self._withdraw is None:
            return
        people = [person for person, direct in self._heard.direct.items() if direct == channel]
        chats = [channel_chat(channel), *(direct_chat(person_id(int(person))) for person in people)]
        for chat in (
            *chats,
            channel_chat(message),
        ):  # the last one: a thread of its own, to be opened by the answer
            await self._withdraw(chat, str(message))

    def unreadable(self, event: str, raw: Mapping[str, Any], error: Exception) -> None:
        """Set aside what the library could not read."""
        if event in ("MESSAGE_CREATE", "MESSAGE_UPDATE") and str(raw.get("channel_id", "")).isdigit():
            self._enqueue(
                int(raw["channel_id"]),
                _UnreadableMessage(str(raw.get("id", "")), raw, _error_location(error)),
            )
        else:
            # Without the error's text: that may hold what somebody wrote.
            log.error("Discord: %s cannot be read: %s", event, _error_location(error))

    def _release_waiting(self, guild: int | None) -> None:
        """Take in what was said in a guild, or anywhere, before it was known what was missed there."""
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
        except Exception as error:  # noqa: BLE001 - whatever it is, it must not stop those that come after it
            raw = {"id": str(message.id), "channel_id": str(message.channel.id), "content": message.content}
            return _UnreadableMessage(str(message.id), raw, _error_location(error))
        if said and said.is_hidden:
            if client and not client.intents.message_content:  # else there was nothing that could be read
                self.set_text_hidden(True)
            return None
        return said if said and said.message.addressed else None

    def _enqueue(self, channel: int, said: ReceivedMessage | _UnreadableMessage | None) -> None:
        if said is None:
            return
        lane = self._lanes.get(channel)
        if lane is None:
            lane = self._start_worker(_ChannelQueue(channel))
        if isinstance(said, ReceivedMessage) and not said.message.in_room:
            lane.is_direct = True
            mark = self._session_mark
            if mark and not said.message.edit_of and channel not in self._heard.direct.values():
                lane.missed = min(lane.missed or mark, mark)  # this may not be the first that somebody wrote
        lane.waiting.append(said)
        if len(lane.waiting) <= MOST_WAITING:
            return
        up_to = lane.read_up_to()
        if up_to is None:  # nothing but edits, of which the history tells no more than the latest
            lane.waiting.popleft()
        else:
            lane.missed = up_to
            lane.waiting.clear()
            lane.read_again = True

    def _read_from(self, channel: int, after: int, *, is_direct: bool = False) -> None:
        lane = self._lanes.get(channel)
        if lane is None:
            lane = self._start_worker(_ChannelQueue(channel))
        lane.is_direct |= is_direct
        lane.read_again = True
        up_to = lane.read_up_to()
        lane.missed = after if up_to is None else min(after, up_to)

    def _start_worker(self, lane: _ChannelQueue) -> _ChannelQueue:
        self._lanes[lane.channel] = lane
        self._beside.start(self._run_queue(lane))
        return lane

    def _new_backoff(self) -> Backoff:
        return Backoff(BackoffTimes(self._pauses.first, self._pauses.short, self._pauses.longest))

    def _answer_seconds(self, backoff: Backoff) -> float:
        return self._pauses.answer * (1 if backoff.is_recent else 10)

    # -- direct conversations -------------------------------------------------------------------------------

    async def _open_directs(self, client: discord.Client, session: int) -> None:
        """Look for what was missed in direct conversations, of which Discord tells nothing. Raises StateFault."""
        mark = self._heard.mark
        if mark:
            # One whose first message is still being taken in is not noted yet.
            begun = {lane.channel for lane in self._lanes.values() if lane.is_direct}
            for channel in {*self._heard.direct.values(), *begun}:
                self._read_from(channel, self._heard.behind.pop(channel, mark), is_direct=True)
        backoff = self._new_backoff()
        while session == self._session:
            try:
                async with limit_response_time(self._answer_seconds(backoff)):
                    await self._open_new_directs(client, mark)
                break
            except TRANSIENT_ERRORS as error:
                log.debug("discord: direct conversations cannot be opened: %s", type(error).__name__)
                await wait_longer(backoff)
        if session == self._session:
            self._heard.settle(DIRECTS)

    async def _open_new_directs(self, client: discord.Client, mark: int) -> None:
        for person in await self._people():
            if person.channel != CHANNEL or not person.id.isdecimal() or person.id in self._heard.direct:
                continue
            try:
                channel = await client.create_dm(discord.Object(int(person.id)))
            except (discord.Forbidden, discord.NotFound):
                continue
            except discord.HTTPException as error:
                if error.status == 400:  # no such person, or one with whom bots cannot talk
                    continue
                raise
            await self._heard.remember_direct(person.id, channel.id)
            if mark:
                self._read_from(channel.id, mark, is_direct=True)

    # -- one channel ----------------------------------------------------------------------------------------

    async def _run_queue(self, lane: _ChannelQueue) -> None:
        try:
            while lane.missed is not None or lane.waiting:
                try:
                    await self._handle_waiting(lane)
                except Exception:
                    log.exception(
                        "Discord: what was said in %s could not be taken in", channel_chat(lane.channel)
                    )
                    await asyncio.sleep(self._pauses.longest)
        finally:
            if lane.missed is None and not lane.waiting:
                del self._lanes[lane.channel]

    async def _handle_waiting(self, lane: _ChannelQueue) -> None:
        if lane.missed is not None:
            await self._read_missed(lane)
            return
        first = lane.waiting[0]
        await self._accept_one(lane, first)
        if lane.waiting and lane.waiting[0] is first:
            lane.waiting.popleft()

    async def _read_missed(self, lane: _ChannelQueue) -> None:
        """Take in what the history of a channel holds; it is tried for as long as it may become better."""
        backoff = self._new_backoff()
        while lane.missed is not None:
            client = self._client
            after = max(lane.missed, oldest_message(is_direct=lane.is_direct))
            lane.read_again = False
            try:
                if client is None or client.is_closed():
                    raise ConnectionError
                async with self._reading, limit_response_time(self._answer_seconds(backoff)):
                    channel = await find_channel(client, lane.channel, is_direct=lane.is_direct)
                    page = await read_page(client, lane.channel, after)
            except HistoryUnreadable as error:
                if not (error.is_gone or lane.is_direct):
                    self._record_unreadable(lane.channel, "")
                lane.missed = None
                return
            except TRANSIENT_ERRORS as error:
                log.debug("discord: a history cannot be read just now: %s", type(error).__name__)
                await wait_longer(backoff)
                continue
            backoff.record_success()
            self._record_readable(lane.channel)
            if not await self._accept_page(lane, client, channel, page):
                continue  # a new session has begun: more may be missed than was known
            if len(page) < PAGE and not lane.read_again:
                lane.missed = None

    async def _accept_page(
        self, lane: _ChannelQueue, client: discord.Client, channel: Any, page: Sequence[dict[str, Any]]
    ) -> bool:
        """Take in part of a history; false where it is to be read from another message on."""
        for raw in page:
            expected = lane.missed
            said: ReceivedMessage | _UnreadableMessage | None
            try:
                message = parse_message(client, channel, raw)
            except Exception as error:  # noqa: BLE001 - as with those that come as they are written
                said = _UnreadableMessage(str(raw["id"]), raw, _error_location(error))
            else:
                said = self._parse(message, read_message)
            if said is not None:
                await self._accept_one(lane, said)
            if lane.missed != expected:
                return False
            lane.missed = int(raw["id"])
        return True

    async def _accept_one(self, lane: _ChannelQueue, said: ReceivedMessage | _UnreadableMessage) -> None:
        """Hand a message to the assistant until it is safe there; nothing behind it overtakes it."""
        backoff = self._new_backoff()
        while True:
            try:
                if isinstance(said, _UnreadableMessage):
                    await self._set_aside(said)
                elif _message_number(said) in self._deleted:
                    return
                elif not self._heard.has_seen(said.message.id):
                    async with limit_response_time(self._answer_seconds(backoff)):
                        said_fully = await self._with_roles(lane, said)
                    await self._pass_on(lane, said_fully)
            except (NotAccepted, StateFault) as refusal:
                self._set_refusal(str(refusal))
                await wait_longer(backoff)
            except TRANSIENT_ERRORS as error:
                log.debug("discord: a member cannot be asked for just now: %s", type(error).__name__)
                await wait_longer(backoff)
            else:
                self._set_refusal("")
                return

    async def _with_roles(self, lane: _ChannelQueue, said: ReceivedMessage) -> ReceivedMessage:
        """Ask for the sender's roles where they are not told, as in the history."""
        guild = self._client.get_guild(said.guild) if self._client else None
        if said.roles is not None or guild is None:
            return said
        person = int(said.message.sender.id)
        if person not in lane.members:
            lane.members[person] = await find_member(guild, person)
        member = lane.members[person]
        if member is None:
            return replace(
                said, guild=0, roles=()
            )  # what counts for those in the guild counts for them no more
        return replace(
            said, roles=read_roles(member), message=replace(said.message, sender_name=display_name(member))
        )

    async def _pass_on(self, lane: _ChannelQueue, said: ReceivedMessage) -> None:
        message = said.message
        try:
            await self._accept(said)
        except (NotAccepted, StateFault):
            raise
        except Exception as error:
            raw = {"id": message.id, "channel_id": str(lane.channel), "content": message.text}
            log.exception("Discord: a message is set aside, since taking it in failed: %s", message.id)
            await self._set_aside(_UnreadableMessage(message.id, raw, _error_location(error)), is_told=True)
            return
        self._heard.mark_read(message.id)
        if _message_number(said) in self._deleted:  # while it was being taken in
            await self._withdraw_from(lane.channel, _message_number(said))
        if (
            said.last_edit
        ):  # told again whenever something else of the message changes, such as a thread below it
            self._heard.mark_read(said.last_edit)
        if not message.in_room:
            await self._heard.remember_direct(message.sender.id, lane.channel)
        elif said.in_thread and not message.edit_of:
            await self._heard.remember_thread(lane.channel, int(message.id))

    async def _set_aside(self, bad: _UnreadableMessage, *, is_told: bool = False) -> None:
        """Keep a message as it came, so that those behind it can be taken in."""
        # As it reads, so that /forget finds in it what somebody said.
        text = json.dumps(bad.raw, ensure_ascii=False, default=str).encode("utf-8", "replace").decode()
        if await self._store.keep_unreadable(bad.id, text, bad.reason) and not is_told:
            # Without the error's text: that may hold what somebody wrote.
            log.error("Discord: a message cannot be read and is set aside: %s, %s", bad.id, bad.reason)

    # -- what is wrong --------------------------------------------------------------------------------------

    def set_text_hidden(self, is_hidden: bool) -> None:
        """Note whether Discord has kept from the bot what somebody said to it."""
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
            lines.append(NO_HISTORY.format(channels=", ".join([*names[:NAMED], *more])))
        self._hampered("; ".join(filter(None, lines)))


def _message_number(said: ReceivedMessage) -> int:
    """The platform's number of a message, or of the one that was edited."""
    return int(said.message.edit_of or said.message.id)


def _error_location(error: Exception) -> str:
    """What kind of error, and where in the program."""
    trace = error.__traceback__
    while trace and trace.tb_next:
        trace = trace.tb_next
    code = trace.tb_frame.f_code if trace else None
    place = f" in {Path(code.co_filename).name}, {code.co_name}" if code else ""
    return f"{type(error).__name__}{place}"
