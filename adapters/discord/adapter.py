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

from adapters.discord.calls import CALL_SECONDS, PAUSES, Calls, Gone, MessageGone, Refused
from adapters.discord.completion import Completion, Sources
from adapters.discord.connection import Connection, Told
from adapters.discord.connection import Patience as Waiting
from adapters.discord.directs import Directs
from adapters.discord.groups import groups_of
from adapters.discord.handle import Answerable, read_handle
from adapters.discord.incoming import CHANNEL, PERSON, Said, chat_with
from adapters.discord.interactions import Interactions
from adapters.discord.library import http_of
from adapters.discord.pace import SETTLE_SECONDS, Pace
from adapters.discord.places import DIRECT, AsAnswer, Elsewhere, InChannel, Place, Shown
from adapters.discord.registration import Registration
from adapters.discord.threads import channel_with, open_thread, with_own_thread
from bot.channel_store import ChannelStore
from bot.messages import (
    Accept,
    Attachment,
    ChannelFault,
    ChannelHealth,
    ChatId,
    IncomingMessage,
    NotAccepted,
    PersonId,
    Reply,
    Withdraw,
    Write,
)
from bot.plain_text import one_line
from bot.supervision import Supervisor
from bot.tasks import Tasks

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
class Patience:
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
        sources: Sources,
        threads: bool = False,
        withdraw: Withdraw | None = None,
        pace: Pace | None = None,
        patience: Patience | None = None,
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
        patience = patience or Patience()
        self._supervisor = supervisor or Supervisor()
        self.threads = threads
        """As above; it can be changed while the adapter runs."""
        self._accept: Accept = _not_yet
        self._health = ChannelHealth("starting")
        self._client: discord.Client | None = None
        self._connection = Connection(
            settings,
            store,
            people=people,
            told=Told(health=self._report, opened=self._opened),
            withdraw=withdraw,
            patience=patience.receiving,
            is_ours=is_ours,
            since=since,
            supervisor=self._supervisor,
        )

        async def standing(said: Said) -> "Standing":
            return await access.standing_of(said.message.sender, groups_of(said))

        self._interactions = Interactions(
            self._take_in,
            commands=commands,
            completion=Completion(
                sources, commands=commands, standing=standing, memory_is_open=access.memory_is_open
            ),
        )
        self._registration = Registration(
            store, commands=commands, guilds=[int(server) for server in settings.servers]
        )
        self._registering: asyncio.Task[None] | None = None
        self._calls = Calls(self._connection.client, pauses=patience.pauses, call_seconds=patience.call)
        self._directs = Directs(self._calls, store)
        self._pace = pace or Pace()
        self._settle = patience.settle
        self._shown = Shown()
        self._beside = Tasks()
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
        return chat_with(person) if person.id.isdecimal() else None

    async def fetch(self, attachment: Attachment, write: Write, *, most: int) -> None:
        """Get a file that somebody sent."""
        await self._connection.fetch(attachment, write, most=most)

    async def close(self) -> None:
        """Leave off what goes on beside."""
        await self._interactions.close()
        self._beside.cancel()
        await self._beside.ended()

    # -- receiving ------------------------------------------------------------------------------------------

    async def run(self, accept: Accept) -> None:
        """Receive until cancelled, however long Discord cannot be reached, or knows the token not."""
        self._accept = accept
        await self._connection.run(self._take_in)

    async def _take_in(self, said: Said) -> bool:
        message = with_own_thread(said.message, self._client) if self.threads else said.message
        message = replace(message, groups=groups_of(said))
        self._note(message)
        return await self._accept(message)

    async def is_withdrawn(self, message: IncomingMessage) -> bool:
        """Ask Discord whether a message is still there, where it may have been deleted while nobody heard of it."""
        number = message.edit_of or message.id
        if not (number.isdigit() and self._connection.may_be_deleted(int(number))):
            return False
        try:
            async with asyncio.timeout(LOOK_SECONDS):
                channel = await self._channel_with(message)
                await self._calls.make(
                    lambda client: http_of(client).get_message(channel, int(number)), again=False
                )
        except MessageGone:
            return True
        except (Refused, ChannelFault, TimeoutError) as error:
            log.debug("discord: it cannot be seen whether a message is still there: %s", error)
        return False

    async def _channel_with(self, message: IncomingMessage) -> int:
        """The channel in which a message stands."""
        name = message.chat.name
        if name.startswith(PERSON):
            return await self._directs.channel_of(name.removeprefix(PERSON))
        return channel_with(message) or int(name)

    def _note(self, message: IncomingMessage) -> None:
        chat = message.chat.name
        if message.id.isdigit():  # neither an edit nor a command or press
            self._latest[chat] = message.id
            self._latest.move_to_end(chat)
            while len(self._latest) > CHATS_KEPT:
                self._latest.popitem(last=False)

    def _report(self, health: ChannelHealth) -> None:
        self._health = health

    def _opened(self, client: discord.Client) -> None:
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
        from adapters.discord.showing import Showing  # brings the reading of Markdown, of no use before

        answerable = read_handle(reply.to.handle) if reply.to else None
        # Whoever calls the bot again and again where it may not speak brings no ban upon it.
        wait = self._gone.get(reply.chat.name, -inf) + GONE_SECONDS - time.monotonic()
        if wait > 0 and not answerable:
            raise ChannelFault("nothing could be said there a moment ago", retry_after=wait)
        try:
            place, shown, elsewhere = await self._place_of(reply, answerable)
            await Showing(
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
        except Gone as gone:
            self._note_gone(reply.chat, str(gone), is_command=answerable is not None)
        except Refused as refused:  # even that it cannot be shown
            log.error("nothing of a reply can be shown in %s: %s", reply.chat, one_line(str(refused)))

    async def _place_of(
        self, reply: Reply, answerable: Answerable | None
    ) -> tuple[Place, Sequence[str], Callable[[], Awaitable[Elsewhere]]]:
        """Where a reply is shown, which messages show it already, and where it goes on if that comes to its end."""
        message, shown = reply.to, reply.shown
        if message and any(each.startswith(DIRECT) for each in shown):
            return InChannel(self._calls, await self._directs.channel_of(message.sender.id)), shown, _nowhere
        if message is None or answerable is None:
            return InChannel(self._calls, await self._channel_of(reply)), shown, _nowhere
        if answerable.replaces:  # what is chosen takes the place of what was to be chosen from
            shown = shown or (str(answerable.buttons),)
        return (
            await self._as_answer(reply, message, answerable, is_begun=bool(shown)),
            shown,
            (lambda: self._beside_answer(reply, message, answerable)),
        )

    async def _as_answer(
        self, reply: Reply, message: IncomingMessage, answerable: Answerable, *, is_begun: bool
    ) -> AsAnswer:
        return AsAnswer(
            self._calls,
            answerable,
            is_begun=is_begun,
            channel=None if answerable.private else InChannel(self._calls, await self._channel_of(reply)),
            known=self._shown,
            acknowledged=lambda: self._interactions.acknowledged(message),
        )

    async def _beside_answer(
        self, reply: Reply, message: IncomingMessage, answerable: Answerable
    ) -> Elsewhere:
        """Where the answer to a command is told that cannot be told as such: in private what was private."""
        if answerable.private:
            channel = await self._directs.channel_of(message.sender.id)
            return Elsewhere(InChannel(self._calls, channel), is_direct=True)
        return Elsewhere(InChannel(self._calls, await self._channel_of(reply)), is_direct=False)

    async def _channel_of(self, reply: Reply) -> int:
        name = reply.chat.name
        if name.startswith(PERSON):
            return await self._directs.channel_of(name.removeprefix(PERSON))
        channel = channel_with(reply.to)
        if channel and reply.to and not await open_thread(self._calls, reply.to, channel):
            return channel
        return int(name)

    def _reply_to(self, reply: Reply, place: Place) -> int | None:
        """What a reply is put to: in rooms the message; where two people talk, only if something came in between."""
        message = reply.to
        if message is None or channel_with(message) not in (None, place.number):  # its thread begins with it
            return None
        number = message.id.partition(".")[0]
        if not number.isdigit():
            return None
        if message.in_room or self._latest.get(reply.chat.name, message.id) != message.id:
            return int(number)
        return None

    def _note_gone(self, chat: ChatId, why: str, *, is_command: bool) -> None:
        # A command is answered where nothing may be written, too: this says nothing of the chat.
        if is_command:
            log.warning("a command in %s cannot be answered any more: %s", chat, one_line(why))
            return
        if chat.name not in self._gone:
            log.warning("nothing can be said in %s any more: %s", chat, one_line(why))
        self._gone[chat.name] = time.monotonic()


async def _nowhere() -> Elsewhere:
    raise Gone("it cannot be said anywhere else")


async def _not_yet(_: IncomingMessage) -> bool:
    raise NotAccepted("the assistant is not there yet: try again in a moment")
