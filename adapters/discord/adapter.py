"""Discord as a channel."""

import asyncio
import logging
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import partial
from math import inf
from typing import TYPE_CHECKING

import discord

from adapters.discord.access_groups import access_groups
from adapters.discord.api_calls import CALL_SECONDS, PAUSES, ApiCalls, ApiRefused, ChatGone, MessageGone
from adapters.discord.autocomplete import Autocomplete, AutocompleteSources
from adapters.discord.command_registration import CommandRegistration
from adapters.discord.connection import ConnectionEvents, GatewayConnection
from adapters.discord.connection import ConnectionTimes as Waiting
from adapters.discord.direct_channels import DirectChannels
from adapters.discord.incoming import CHANNEL, PERSON, ReceivedMessage, direct_chat
from adapters.discord.interaction_handle import InteractionHandle, parse_handle
from adapters.discord.interactions import Interactions
from adapters.discord.private_api import http_client
from adapters.discord.rate_limiter import SETTLE_SECONDS, RateLimiter
from adapters.discord.reply_targets import (
    DIRECT,
    ChannelTarget,
    InteractionTarget,
    OtherTarget,
    ReplyTarget,
    ShownMessages,
)
from adapters.discord.threads import assign_thread, find_thread_channel, open_thread
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
from bot.sanitize import one_line
from bot.supervisor import Supervisor
from bot.tasks import BackgroundTasks

if TYPE_CHECKING:
    from bot.access import Access, Standing
    from bot.commands.command import Command
    from bot.config.discord import DiscordSettings

log = logging.getLogger(__name__)

DISCORD = CHANNEL
COMMANDS_TASK = "discord commands"
"""The task that makes them known, as owners read of it."""
CHATS_KEPT = 10_000
GONE_SECONDS = 10.0
"""For so long nothing is tried in a chat where nothing could be said; what is to be said waits."""

LOOK_SECONDS = 10.0
"""How long to wait for Discord to say whether a message still exists; after that the message is answered."""


@dataclass(frozen=True, slots=True)
class DiscordTimes:
    """How long Discord is waited for; seconds."""

    call: float = CALL_SECONDS
    pauses: Sequence[float] = PAUSES
    """Before a call is made again that failed on its way."""
    settle: float = SETTLE_SECONDS
    """After the first words of a reply, until it is shown in part."""
    receiving: Waiting = field(default_factory=Waiting)


class DiscordAdapter:
    """The bot that has one token."""

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
        pace: RateLimiter | None = None,
        patience: DiscordTimes | None = None,
        is_ours: Callable[[], bool] = lambda: True,
        since: datetime | None = None,
        supervisor: Supervisor | None = None,
    ) -> None:
        """`people`: owners, and others who were let in; `sources`: what can be picked while a command is filled in.

        `threads`: what is said to the bot in a channel is answered in a thread of its own. `withdraw` is called with
        each message that is deleted. `is_ours`: whether the bot
        is this process's just now; where it is not, nothing is asked of Discord. `since`: until when another
        instance has answered. `supervisor` keeps the commands up to date and opens direct conversations, and knows if
        that fails.
        """
        patience = patience or DiscordTimes()
        self._supervisor = supervisor or Supervisor()
        self.threads = threads
        """As above; it can be changed while the adapter runs."""
        self._accept: AcceptMessage = _refuse_for_now
        self._health = ChannelHealth("starting")
        self._client: discord.Client | None = None
        self._connection = GatewayConnection(
            settings,
            store,
            people=people,
            told=ConnectionEvents(health=self._set_health, opened=self._prepare_client),
            withdraw=withdraw,
            patience=patience.receiving,
            is_ours=is_ours,
            since=since,
            supervisor=self._supervisor,
        )

        async def standing(said: ReceivedMessage) -> "Standing":
            return await access.standing_of(said.message.sender, access_groups(said))

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
        self._calls = ApiCalls(self._connection.client, pauses=patience.pauses, call_seconds=patience.call)
        self._directs = DirectChannels(self._calls, store)
        self._pace = pace or RateLimiter()
        self._settle = patience.settle
        self._shown = ShownMessages()
        self._beside = BackgroundTasks()
        self._latest: OrderedDict[str, str] = OrderedDict()
        """The id of the latest message of each chat."""
        self._gone: dict[str, float] = {}
        """Chats in which nothing can be said, which the log knows of; and when that was tried last."""

    @property
    def name(self) -> str:
        """The channel's name."""
        return DISCORD

    @property
    def health(self) -> ChannelHealth:
        """How the channel fares just now."""
        problem = self._registration.problem
        if self._health.state != "up" or not problem:
            return self._health
        return ChannelHealth("up", "; ".join(filter(None, [self._health.detail, problem])))

    def serves(self, chat: ChatId) -> bool:
        """Tell whether a chat is one of Discord's."""
        return chat.channel == DISCORD and chat.name.removeprefix(PERSON).isdecimal()

    def home_of(self, person: PersonId) -> ChatId | None:
        """The direct conversation with a person, whether there is one already or not."""
        return direct_chat(person) if person.id.isdecimal() else None

    async def fetch(self, attachment: Attachment, write: WriteChunk, *, most: int) -> None:
        """Get a file that somebody sent."""
        await self._connection.fetch(attachment, write, most=most)

    async def close(self) -> None:
        """Leave off what goes on beside."""
        await self._interactions.close()
        self._beside.cancel()
        await self._beside.wait()

    # -- receiving ------------------------------------------------------------------------------------------

    async def run(self, accept: AcceptMessage) -> None:
        """Receive until cancelled, however long Discord cannot be reached, or knows the token not."""
        self._accept = accept
        await self._connection.run(self._accept_message)

    async def _accept_message(self, said: ReceivedMessage) -> bool:
        message = assign_thread(said.message, self._client) if self.threads else said.message
        message = replace(message, groups=access_groups(said))
        self._remember_message(message)
        return await self._accept(message)

    async def is_withdrawn(self, message: IncomingMessage) -> bool:
        """Ask Discord whether a message is still there, where it may have been deleted while nobody heard of it."""
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
            log.debug("discord: it cannot be seen whether a message is still there: %s", error)
        return False

    async def _find_channel(self, message: IncomingMessage) -> int:
        """The channel in which a message stands."""
        name = message.chat.name
        if name.startswith(PERSON):
            return await self._directs.channel_of(name.removeprefix(PERSON))
        return find_thread_channel(message) or int(name)

    def _remember_message(self, message: IncomingMessage) -> None:
        chat = message.chat.name
        if message.id.isdigit():  # neither an edit nor a command or press
            self._latest[chat] = message.id
            self._latest.move_to_end(chat)
            while len(self._latest) > CHATS_KEPT:
                self._latest.popitem(last=False)

    def _set_health(self, health: ChannelHealth) -> None:
        self._health = health

    def _prepare_client(self, client: discord.Client) -> None:
        if self._client is None and client.user:
            log.info("on Discord as %s", one_line(str(client.user)))
        self._client = client
        self._interactions.listen(client)
        if self._registering:
            self._registering.cancel()
        self._registering = self._beside.start(
            self._supervisor.run(COMMANDS_TASK, partial(self._registration.register, client))
        )

    # -- showing --------------------------------------------------------------------------------------------

    async def render(self, reply: Reply) -> None:
        """Show a reply as it grows; one that nobody can be shown any more is done with."""
        from adapters.discord.reply_streamer import (
            ReplyStreamer,  # brings the reading of Markdown, of no use before
        )

        answerable = parse_handle(reply.to.handle) if reply.to else None
        # Whoever calls the bot again and again where it may not speak brings no ban upon it.
        wait = self._gone.get(reply.chat.name, -inf) + GONE_SECONDS - time.monotonic()
        if wait > 0 and not answerable:
            raise ChannelFault("nothing could be said there a moment ago", retry_after=wait)
        try:
            place, shown, elsewhere = await self._choose_target(reply, answerable)
            await ReplyStreamer(
                place,
                self._pace,
                key=reply.key,
                shown=shown,
                keep=reply.keep,
                answers=reply.to,
                reply_to=lambda: self._reply_to(reply, place),
                elsewhere=elsewhere,
                ours=self._shown,
                settle_seconds=self._settle,
                sending=reply.sending,
            ).show(reply.parts)
            self._gone.pop(reply.chat.name, None)
        except ChatGone as gone:
            self._record_gone(reply.chat, str(gone), is_command=answerable is not None)
        except ApiRefused as refused:  # even that it cannot be shown
            log.error("nothing of a reply can be shown in %s: %s", reply.chat, one_line(str(refused)))

    async def _choose_target(
        self, reply: Reply, answerable: InteractionHandle | None
    ) -> tuple[ReplyTarget, Sequence[str], Callable[[], Awaitable[OtherTarget]]]:
        """Where a reply is shown, which messages show it already, and where it goes on if that comes to its end."""
        message, shown = reply.to, reply.shown
        if message and any(each.startswith(DIRECT) for each in shown):
            return (
                ChannelTarget(self._calls, await self._directs.channel_of(message.sender.id)),
                shown,
                _raise_gone,
            )
        if message is None or answerable is None:
            return ChannelTarget(self._calls, await self._reply_channel(reply)), shown, _raise_gone
        if answerable.replaces:  # what is chosen takes the place of what was to be chosen from
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
            known=self._shown,
            acknowledged=lambda: self._interactions.acknowledged(message),
        )

    async def _fallback_target(
        self, reply: Reply, message: IncomingMessage, answerable: InteractionHandle
    ) -> OtherTarget:
        """Where the answer to a command is told that cannot be told as such: in private what was private."""
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
        """What a reply is put to: in rooms the message; where two people talk, only if something came in between."""
        message = reply.to
        if message is None or find_thread_channel(message) not in (
            None,
            place.number,
        ):  # its thread begins with it
            return None
        number = message.id.partition(".")[0]
        if not number.isdigit():
            return None
        if message.in_room or self._latest.get(reply.chat.name, message.id) != message.id:
            return int(number)
        return None

    def _record_gone(self, chat: ChatId, why: str, *, is_command: bool) -> None:
        # A command is answered where nothing may be written, too: this says nothing of the chat.
        if is_command:
            log.warning("a command in %s cannot be answered any more: %s", chat, one_line(why))
            return
        if chat.name not in self._gone:
            log.warning("nothing can be said in %s any more: %s", chat, one_line(why))
        self._gone[chat.name] = time.monotonic()


async def _raise_gone() -> OtherTarget:
    raise ChatGone("it cannot be said anywhere else")


async def _refuse_for_now(_: IncomingMessage) -> bool:
    raise NotAccepted("the assistant is not there yet: try again in a moment")
