"""The Discord channel."""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import partial
from math import inf
from typing import TYPE_CHECKING

import discord

from adapters.api_errors import ApiRefused, ChatGone, MessageGone
from adapters.call_retries import PAUSES
from adapters.discord.access_groups import access_groups
from adapters.discord.api_calls import CALL_SECONDS, ApiCalls
from adapters.discord.autocomplete import Autocomplete, AutocompleteSources
from adapters.discord.command_registration import CommandRegistration
from adapters.discord.connection import ConnectionEvents, GatewayConnection
from adapters.discord.connection import ConnectionTimes as Waiting
from adapters.discord.direct_channels import DirectChannels
from adapters.discord.incoming import CHANNEL, PERSON, ReceivedMessage, direct_chat
from adapters.discord.interaction_handle import InteractionHandle, parse_handle
from adapters.discord.interactions import Interactions
from adapters.discord.private_api import http_client
from adapters.discord.rate_limiter import RateLimiter
from adapters.discord.reply_targets import (
    DIRECT,
    ChannelTarget,
    InteractionTarget,
    OtherTarget,
    ReplyTarget,
    ShownMessages,
)
from adapters.discord.threads import assign_thread, find_thread_channel, open_thread
from adapters.latest_part import SETTLE_SECONDS
from bot.channel_store import ChannelStore
from bot.messages import (
    AcceptMessage,
    Attachment,
    ChannelFault,
    ChannelHealth,
    ChatId,
    IncomingMessage,
    NotAccepted,
    PersonId,
    Reply,
    WithdrawMessage,
    WriteChunk,
)
from bot.recent_dict import RecentDict
from bot.sanitize import one_line
from bot.supervisor import Supervisor
from bot.tasks import BackgroundTasks
from memory.translatable import join_texts

if TYPE_CHECKING:
    from bot.access import Access, Standing
    from bot.commands.command import Command
    from bot.config.discord import DiscordSettings

log = logging.getLogger(__name__)

DISCORD = CHANNEL
COMMANDS_TASK = "discord commands"
"""Name of the task that registers the commands, as shown to owners."""
MAX_CHATS = 10_000
GONE_SECONDS = 10.0
"""Seconds during which a chat that refused a message is not tried again; replies to it wait."""

LOOK_SECONDS = 10.0
"""Seconds to wait for Discord to say whether a message still exists; after that the message is answered."""


@dataclass(frozen=True, slots=True)
class DiscordTimes:
    """Durations in seconds."""

    call: float = CALL_SECONDS
    pauses: Sequence[float] = PAUSES
    """Before each retry of a call that failed in transit."""
    settle: float = SETTLE_SECONDS
    """After the first words of a reply, before it is shown in part."""
    receiving: Waiting = field(default_factory=Waiting)


class DiscordAdapter:
    """The bot of one token."""

    def __init__(
        self,
        settings: "DiscordSettings",
        *,
        store: ChannelStore,
        access: "Access",
        people: Callable[[], Awaitable[Sequence[PersonId]]],
        commands: Sequence["Command"],
        sources: AutocompleteSources,
        threads: bool = False,
        withdraw: WithdrawMessage | None = None,
        rate_limiter: RateLimiter | None = None,
        times: DiscordTimes | None = None,
        is_ours: Callable[[], bool] = lambda: True,
        since: datetime | None = None,
        supervisor: Supervisor | None = None,
    ) -> None:
        """`people`: owners and others with access; `sources`: values for autocomplete.

        `threads`: answer messages in a channel in a new thread each. `withdraw` is called with each deleted
        message. `is_ours` returns whether this process holds the bot; otherwise nothing is sent to Discord.
        `since`: until when another instance has answered. `supervisor` runs command registration and opens direct
        channels.
        """
        times = times or DiscordTimes()
        self._supervisor = supervisor or Supervisor()
        self.threads = threads
        """May be changed while the adapter runs."""
        self._accept: AcceptMessage = _refuse_for_now
        self._health = ChannelHealth("starting")
        self._client: discord.Client | None = None
        self._connection = GatewayConnection(
            settings,
            store,
            people=people,
            events=ConnectionEvents(health=self._set_health, opened=self._prepare_client),
            withdraw=withdraw,
            times=times.receiving,
            is_ours=is_ours,
            since=since,
            supervisor=self._supervisor,
        )

        async def standing(received: ReceivedMessage) -> "Standing":
            return await access.standing_of(received.message.sender, access_groups(received))

        self._interactions = Interactions(
            self._accept_message,
            commands=commands,
            completion=Autocomplete(
                sources, commands=commands, standing=standing, memory_is_open=access.is_memory_open
            ),
        )
        self._registration = CommandRegistration(
            store, commands=commands, guilds=[int(server) for server in settings.servers]
        )
        self._registering: asyncio.Task[None] | None = None
        self._calls = ApiCalls(self._connection.client, pauses=times.pauses, call_seconds=times.call)
        self._directs = DirectChannels(self._calls, store)
        self._pace = rate_limiter or RateLimiter()
        self._settle = times.settle
        self._known_messages = ShownMessages()
        self._background = BackgroundTasks()
        self._latest: RecentDict[str, str] = RecentDict(MAX_CHATS)
        """Id of the latest message by chat."""
        self._gone: dict[str, float] = {}
        """Chats that refused a message, which was logged, and when each was last tried."""

    @property
    def name(self) -> str:
        return DISCORD

    @property
    def health(self) -> ChannelHealth:
        """The channel's current health, including a problem with the commands."""
        problem = self._registration.problem
        if self._health.state != "up" or not problem:
            return self._health
        return ChannelHealth("up", join_texts(self._health.detail, problem))

    def serves(self, chat: ChatId) -> bool:
        """Return whether a chat belongs to Discord."""
        return chat.channel == DISCORD and chat.name.removeprefix(PERSON).isdecimal()

    def home_of(self, person: PersonId) -> ChatId | None:
        """Return the direct chat with a person, even if Discord has not opened it yet."""
        return direct_chat(person) if person.id.isdecimal() else None

    async def fetch(self, attachment: Attachment, write: WriteChunk) -> None:
        """Download a received file. Raises AttachmentLost and ChannelFault."""
        await self._connection.fetch(attachment, write)

    async def close(self) -> None:
        """Stop background tasks."""
        await self._interactions.close()
        self._background.cancel()
        await self._background.wait()

    # -- receiving ------------------------------------------------------------------------------------------

    async def run(self, accept: AcceptMessage) -> None:
        """Receive until cancelled, even while Discord is unreachable or rejects the token."""
        self._accept = accept
        await self._connection.run(self._accept_message)

    async def _accept_message(self, received: ReceivedMessage) -> bool:
        message = assign_thread(received.message, self._client) if self.threads else received.message
        message = replace(message, groups=access_groups(received))
        self._remember_message(message)
        return await self._accept(message)

    async def is_withdrawn(self, message: IncomingMessage) -> bool:
        """Ask Discord whether a message that may have been deleted unnoticed is gone; False if it does not answer."""
        number = message.edit_of or message.id
        if not (number.isdigit() and self._connection.may_be_deleted(int(number))):
            return False
        try:
            async with asyncio.timeout(LOOK_SECONDS):
                channel = await self._find_channel(message)
                await self._calls.make(
                    lambda client: http_client(client).get_message(channel, int(number)), again=False
                )
        except MessageGone:
            return True
        except (ApiRefused, ChannelFault, TimeoutError) as error:
            log.debug("discord: could not check whether a message still exists: %s", error)
        return False

    async def _find_channel(self, message: IncomingMessage) -> int:
        """Return the channel of a message."""
        name = message.chat.name
        if name.startswith(PERSON):
            return await self._directs.channel_of(name.removeprefix(PERSON))
        return find_thread_channel(message) or int(name)

    def _remember_message(self, message: IncomingMessage) -> None:
        if message.id.isdigit():  # neither an edit nor an interaction
            self._latest[message.chat.name] = message.id

    def _set_health(self, health: ChannelHealth) -> None:
        self._health = health

    def _prepare_client(self, client: discord.Client) -> None:
        if self._client is None and client.user:
            log.info("connected to Discord as %s", one_line(str(client.user)))
        self._client = client
        self._interactions.listen(client)
        if self._registering:
            self._registering.cancel()
        self._registering = self._background.start(
            self._supervisor.run(COMMANDS_TASK, partial(self._registration.register, client))
        )

    # -- showing --------------------------------------------------------------------------------------------

    async def render(self, reply: Reply) -> None:
        """Show a reply as it grows; drop it if its chat is gone for good. Raises ChannelFault."""
        # These load the Markdown parser, needed only here.
        from adapters.discord.markdown.messages import FORMAT
        from adapters.discord.message_sender import DiscordSender
        from adapters.reply_streamer import ReplyStreamer

        answerable = parse_handle(reply.to.handle) if reply.to else None
        # Discord bans bots that keep trying where they may not speak.
        wait = self._gone.get(reply.chat.name, -inf) + GONE_SECONDS - time.monotonic()
        if wait > 0 and not answerable:
            raise ChannelFault("this chat rejected a message a moment ago", retry_after=wait)
        try:
            place, shown, elsewhere = await self._choose_target(reply, answerable)
            sender = DiscordSender(
                place,
                self._pace,
                key=reply.key,
                shown=shown,
                answers=reply.to,
                reply_to=lambda: self._reply_to(reply, place),
                elsewhere=elsewhere,
                ours=self._known_messages,
            )
            await ReplyStreamer(
                sender,
                FORMAT,
                shown=shown,
                keep=reply.keep,
                is_answer=reply.to is not None,
                settle_seconds=self._settle,
                sending=reply.sending,
            ).show(reply.parts)
            self._gone.pop(reply.chat.name, None)
        except ChatGone as gone:
            self._record_gone(reply.chat, str(gone), is_command=answerable is not None)
        except ApiRefused as refused:  # even the error text was refused
            log.error("cannot show a reply in %s: %s", reply.chat, one_line(str(refused)))

    async def _choose_target(
        self, reply: Reply, answerable: InteractionHandle | None
    ) -> tuple[ReplyTarget, Sequence[str], Callable[[], Awaitable[OtherTarget]]]:
        """Return where to show a reply, the messages that show it already, and where to continue if that ends."""
        message, shown = reply.to, reply.shown
        if message and any(each.startswith(DIRECT) for each in shown):
            return (
                ChannelTarget(self._calls, await self._directs.channel_of(message.sender.id)),
                shown,
                _raise_gone,
            )
        if message is None or answerable is None:
            return ChannelTarget(self._calls, await self._reply_channel(reply)), shown, _raise_gone
        if answerable.replaces:  # the chosen answer replaces the buttons
            shown = shown or (str(answerable.buttons),)
        return (
            await self._interaction_target(reply, message, answerable, is_begun=bool(shown)),
            shown,
            (lambda: self._fallback_target(reply, message, answerable)),
        )

    async def _interaction_target(
        self, reply: Reply, message: IncomingMessage, answerable: InteractionHandle, *, is_begun: bool
    ) -> InteractionTarget:
        return InteractionTarget(
            self._calls,
            answerable,
            is_begun=is_begun,
            channel=None
            if answerable.private
            else ChannelTarget(self._calls, await self._reply_channel(reply)),
            known=self._known_messages,
            acknowledged=lambda: self._interactions.acknowledged(message),
        )

    async def _fallback_target(
        self, reply: Reply, message: IncomingMessage, answerable: InteractionHandle
    ) -> OtherTarget:
        """Return where to answer a command that expired: privately if the command was private."""
        if answerable.private:
            channel = await self._directs.channel_of(message.sender.id)
            return OtherTarget(ChannelTarget(self._calls, channel), is_direct=True)
        return OtherTarget(ChannelTarget(self._calls, await self._reply_channel(reply)), is_direct=False)

    async def _reply_channel(self, reply: Reply) -> int:
        name = reply.chat.name
        if name.startswith(PERSON):
            return await self._directs.channel_of(name.removeprefix(PERSON))
        channel = find_thread_channel(reply.to)
        if channel and reply.to and not await open_thread(self._calls, reply.to, channel):
            return channel
        return int(name)

    def _reply_to(self, reply: Reply, place: ReplyTarget) -> int | None:
        """Return the message to reply to: always in rooms; in direct chats only if others came in between."""
        message = reply.to
        # A thread of its own starts with the message, so no reference is needed there.
        if message is None or find_thread_channel(message) not in (None, place.number):
            return None
        number = message.id.partition(".")[0]
        if not number.isdigit():
            return None
        if message.in_room or self._latest.get(reply.chat.name, message.id) != message.id:
            return int(number)
        return None

    def _record_gone(self, chat: ChatId, why: str, *, is_command: bool) -> None:
        # Commands are answered even where the bot may not write, so this says nothing about the chat.
        if is_command:
            log.warning("a command in %s can no longer be answered: %s", chat, one_line(why))
            return
        if chat.name not in self._gone:
            log.warning("cannot send messages in %s: %s", chat, one_line(why))
        self._gone[chat.name] = time.monotonic()


async def _raise_gone() -> OtherTarget:
    raise ChatGone("there is nowhere else to send it")


async def _refuse_for_now(_: IncomingMessage) -> bool:
    raise NotAccepted("the assistant is still starting: try again in a moment")
