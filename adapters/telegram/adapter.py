"""The Telegram channel."""

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from telegram import Bot, File
from telegram.error import TelegramError

from adapters.api_errors import ApiRefused, ChatGone
from adapters.call_retries import PAUSES
from adapters.latest_part import SETTLE_SECONDS
from adapters.telegram.api_calls import CALL_SECONDS, ApiCalls, Target
from adapters.telegram.button_presses import ButtonPresses
from adapters.telegram.command_menus import CommandMenus
from adapters.telegram.connection_health import ConnectionHealth, ReconnectTimes, translate_library_errors
from adapters.telegram.http_request import AiohttpRequest
from adapters.telegram.incoming import ReachChanged
from adapters.telegram.incoming_contents import MAX_FETCH_BYTES
from adapters.telegram.incoming_text import BotIdentity
from adapters.telegram.local_files import copy_file
from adapters.telegram.polling import ANSWER_SECONDS, POLL_SECONDS, poll
from adapters.telegram.rate_limiter import RateLimiter
from adapters.telegram.reactions import Reactions
from adapters.telegram.receiving import AcceptedUpdate, Receiver
from bot import phrases
from bot.channel_store import ChannelStore
from bot.messages import (
    AcceptMessage,
    Attachment,
    AttachmentLost,
    ChannelFault,
    ChannelHealth,
    ChatId,
    IncomingMessage,
    PersonId,
    Reply,
    ReplyPart,
    WriteChunk,
)
from bot.recent_dict import RecentDict
from bot.sanitize import one_line
from bot.state.database import StateFault
from bot.supervisor import Supervisor
from bot.tasks import BackgroundTasks

if TYPE_CHECKING:
    from adapters.telegram.webhook import Webhook
    from bot.access import Access
    from bot.commands.command import Command
    from bot.config.telegram import TelegramSettings
    from bot.web.webhooks import WebhookRoute

log = logging.getLogger(__name__)

TELEGRAM = "telegram"
MENUS_TASK = "telegram menus"
"""Name of the task that keeps the menus up to date, as shown to owners."""
PRESS = "press-"
OFFICIAL_API = "https://api.telegram.org/"
MAX_CHATS = 10_000
NOT_STARTED = "can't initiate conversation"
"""Telegram's error for a person who has never written to the bot."""


@dataclass(frozen=True, slots=True)
class TelegramTimes:
    """Durations in seconds."""

    call: float = CALL_SECONDS
    pauses: Sequence[float] = PAUSES
    """Before each retry of a call that failed in transit."""
    settle: float = SETTLE_SECONDS
    """After the first words of a reply, before it is shown in part."""
    poll: int = POLL_SECONDS
    grace: float = ANSWER_SECONDS
    waits: ReconnectTimes = field(default_factory=ReconnectTimes)


class TelegramAdapter:
    """The bot of one token; its connection is open, but Telegram may not have answered yet."""

    def __init__(
        self,
        bot: Bot,
        settings: "TelegramSettings",
        *,
        store: ChannelStore,
        access: "Access",
        owners: Sequence[str],
        commands: Sequence["Command"],
        moved: Callable[[ChatId, ChatId], Awaitable[None]],
        rate_limiter: RateLimiter | None = None,
        times: TelegramTimes | None = None,
        supervisor: Supervisor | None = None,
    ) -> None:
        """`moved` gets the old and new id of a group, and returns when that is stored.

        `supervisor` runs the task of the menus.
        """
        self._bot = bot
        self._store = store
        self._pace = rate_limiter or RateLimiter()
        self._times = times or TelegramTimes()
        self._calls = ApiCalls(bot, self._pace, pauses=self._times.pauses, call_seconds=self._times.call)
        self._menus = CommandMenus(bot, store, commands=commands, owners=owners)
        self._access = access
        self._moved = moved
        self._webhook = self._open_webhook(settings) if settings.mode == "webhook" else None
        self._health = ChannelHealth("starting")
        self._supervisor = supervisor or Supervisor()
        self._background = BackgroundTasks()
        self._reactions = Reactions(self._calls, self._background)
        self._latest: RecentDict[str, str] = RecentDict(MAX_CHATS)
        """Id of the latest message by chat."""
        self._gone: set[str] = set()
        """Chats where the bot cannot write, which was logged."""
        self._moves: dict[int, int] = {}
        self._presses = ButtonPresses()

    @property
    def name(self) -> str:
        return TELEGRAM

    @property
    def health(self) -> ChannelHealth:
        """The channel's current health."""
        return self._health

    @property
    def hooks(self) -> "Sequence[WebhookRoute]":
        """Webhook routes that Telegram calls; none when polling."""
        return self._webhook.hooks if self._webhook else ()

    def serves(self, chat: ChatId) -> bool:
        """Return whether a chat belongs to Telegram."""
        return chat.channel == TELEGRAM

    def home_of(self, person: PersonId) -> ChatId | None:
        """Return the private chat with a person, which has the person's id."""
        return ChatId(TELEGRAM, person.id) if person.id.isdecimal() else None

    def _open_webhook(self, settings: "TelegramSettings") -> "Webhook":
        from adapters.telegram.webhook import Webhook  # loads aiohttp

        return Webhook(self._bot, settings, report=self._set_health, times=self._times.waits)

    async def close(self) -> None:
        """Stop background tasks."""
        self._background.cancel()
        await self._background.wait()

    # -- receiving ------------------------------------------------------------------------------------------

    async def run(self, accept: AcceptMessage) -> None:
        """Receive until cancelled, even while Telegram is unreachable or rejects the token."""
        me = await self._fetch_identity()
        log.info("connected to Telegram as @%s", me.username)
        menus = self._background.start(self._supervisor.run(MENUS_TASK, self._menus.register))
        try:
            await self._receive(me, accept)
        finally:
            menus.cancel()

    async def _receive(self, me: BotIdentity, accept: AcceptMessage) -> None:
        receiver = Receiver(
            me,
            accept,
            self._store,
            moved=self._handle_move,
            reach=self._handle_reach_change,
            presses=self._presses,
        )

        async def take_in(raw: Mapping[str, Any]) -> None:
            if taken := await receiver.take_in(raw):
                self._acknowledge(taken)

        if self._webhook:
            await self._webhook.serve(take_in)
        else:
            times = self._times
            await poll(
                self._bot,
                take_in,
                report=self._set_health,
                seconds=times.poll,
                grace=times.grace,
                times=times.waits,
            )

    async def _fetch_identity(self) -> BotIdentity:
        """Ask Telegram who the bot is until it answers."""
        condition = ConnectionHealth(self._set_health, self._times.waits, token=self._bot.token)
        while True:
            try:
                with translate_library_errors():
                    async with asyncio.timeout(self._times.call):
                        me = await self._bot.get_me(read_timeout=condition.answer_seconds(self._times.call))
                if type(me.id) is not int or not isinstance(me.username or "", str):
                    # The library checks no types, and a bad id would set every message aside.
                    raise TelegramError("its answer does not name the bot")
            except (TelegramError, TimeoutError) as error:
                await asyncio.sleep(condition.record_failure(error))
            else:
                return BotIdentity(me.id, me.username or "")

    def _set_health(self, health: ChannelHealth) -> None:
        self._health = health

    def _acknowledge(self, taken: AcceptedUpdate) -> None:
        """Show that a message or press was received; nothing important."""
        if taken.press:
            self._background.start(
                self._ignore_failures(self._calls.answer_callback(taken.press, taken.toast))
            )
        message = taken.message
        if message is None:
            return
        chat = message.chat.name
        self._gone.discard(chat)
        if not (taken.press or message.edit_of):
            self._latest[chat] = message.id
        if taken.awaits_reply:
            self._background.start(self._register(message.sender))
            self._reactions.received(message)
            if taken.press and message.in_room and self._presses.find_owner(message) is None:
                # Its answer is a new message, and a choice is made once.
                drop = self._calls.remove_buttons(Target.of(message.chat), int(message.handle))
                self._background.start(self._ignore_failures(drop))

    async def _register(self, person: PersonId) -> None:
        with suppress(StateFault):
            await self._menus.register_for(person, await self._access.standing_of(person))

    async def _handle_move(self, old: ChatId, new: ChatId) -> None:
        """Move everything stored about a group to its new id."""
        self._moves[Target.of(old).chat] = Target.of(new).chat
        await self._moved(old, new)

    async def _migrate_chat(self, old: ChatId, new: ChatId) -> None:
        try:
            await self._moved(old, new)
        except StateFault as fault:
            log.error("%s is now %s, but its stored data could not be moved: %s", old, new, fault)

    async def _handle_reach_change(self, reach: ReachChanged) -> None:
        if reach.closed:
            self._record_gone(reach.chat, reach.closed)
        else:
            self._gone.discard(reach.chat.name)

    # -- showing --------------------------------------------------------------------------------------------

    async def render(self, reply: Reply) -> None:
        """Show a reply as it grows; drop it if its chat is gone for good. Raises ChannelFault."""
        # These load the Markdown parser, needed only here.
        from adapters.reply_streamer import ReplyStreamer
        from adapters.telegram.markdown.messages import FORMAT
        from adapters.telegram.message_sender import TelegramSender

        message = reply.to
        place = Target.of(reply.chat)
        place = Target(self._moves.get(place.chat, place.chat), place.thread)
        shown = reply.shown
        if not shown and message and not reply.in_passing and self._replaces_button_message(message):
            shown = (message.handle,)  # the chosen answer replaces the buttons
            if message.in_room:
                await reply.keep(shown)  # after a restart the owner of the buttons is unknown
        answered: list[str] = []

        async def keep(ids: Sequence[str]) -> None:
            self._presses.record_answer(self._moves.get(place.chat, place.chat), message, ids)
            await reply.keep(ids)

        self._presses.record_answer(place.chat, message, shown)
        with self._reactions.showing(message):
            try:
                sender = TelegramSender(
                    self._calls,
                    self._pace,
                    place,
                    key=reply.key,
                    reply_to=lambda: self._reply_to(reply),
                    moved=lambda old, new: self._handle_move_while_shown(place, old, new),
                )
                await ReplyStreamer(
                    sender,
                    FORMAT,
                    shown=shown,
                    keep=keep,
                    is_answer=message is not None,
                    settle_seconds=self._times.settle,
                    sending=reply.sending,
                ).show(_collect_ids(reply.parts, answered))
            except ChatGone as gone:
                self._record_gone(reply.chat, str(gone))
            except ApiRefused as refused:  # even the error text was refused
                log.error("cannot show a reply in %s: %s", reply.chat, one_line(str(refused)))
        await self._reactions.answered(reply.chat, answered)

    def _replaces_button_message(self, press: IncomingMessage) -> bool:
        """Return whether the answer replaces the message with the button: in rooms only for its owner."""
        if not press.id.startswith(PRESS):
            return False
        return not press.in_room or self._presses.find_owner(press) == press.sender

    def _reply_to(self, reply: Reply) -> int | None:
        """Return the message to reply to: always in rooms; in private chats only if others came in between."""
        if reply.to is None:
            return None
        if reply.to.in_room or self._latest.get(reply.chat.name, reply.to.id) != reply.to.id:
            return _message_number(reply.to)
        return None

    def _handle_move_while_shown(self, place: Target, old: int, new: int) -> None:
        self._moves[old] = new
        names = (Target(chat, place.thread).name for chat in (old, new))
        self._background.start(self._migrate_chat(*(ChatId(TELEGRAM, name) for name in names)))

    def _record_gone(self, chat: ChatId, why: str) -> None:
        if chat.name not in self._gone:
            self._gone.add(chat.name)
            if NOT_STARTED in why.lower():
                log.warning("%s has not pressed Start yet, so the bot cannot send messages there", chat)
            else:
                log.warning("cannot send messages in %s: %s", chat, one_line(why))

    # -- attachments ----------------------------------------------------------------------------------------

    async def fetch(self, attachment: Attachment, write: WriteChunk) -> None:
        """Download a received file. Raises AttachmentLost and ChannelFault."""
        try:
            file = await self._calls.ask(lambda: self._bot.get_file(attachment.handle))
            await self._download(file, write)
        except ApiRefused as refused:
            if "too big" in str(refused).lower():
                too_large = phrases.ATTACHMENT_TOO_LARGE.format(most=MAX_FETCH_BYTES >> 20)
                raise AttachmentLost(too_large) from refused
            raise AttachmentLost(phrases.ATTACHMENT_GONE) from refused

    async def _download(self, file: File, write: WriteChunk) -> None:
        if not file.file_path:
            raise AttachmentLost(phrases.ATTACHMENT_GONE)
        path = Path(file.file_path)
        if path.is_absolute():
            # A path of a self-hosted Bot API server; Telegram's own server never names local files.
            if self._bot.base_file_url.startswith(OFFICIAL_API):
                raise AttachmentLost(phrases.ATTACHMENT_GONE)
            await copy_file(path, write, token=self._bot.token)
            return
        address = file.file_path
        if "://" not in address:  # the library found a local file of that name by chance
            address = f"{self._bot.base_file_url}/{address}"
        request = self._bot.request
        assert isinstance(request, AiohttpRequest)
        # No retry: the first try's chunks are already written. The attachment reader fetches the file again.
        await self._calls.ask(lambda: request.download(address, write), again=False)

    async def _ignore_failures(self, call: Coroutine[Any, Any, None]) -> None:
        """Make an optional call; a failure is only logged at debug level."""
        try:
            await call
        except (ApiRefused, ChannelFault) as fault:
            log.debug("telegram: %s", fault)


async def _collect_ids(parts: AsyncIterator[ReplyPart], answered: list[str]) -> AsyncIterator[ReplyPart]:
    """Pass the parts on, and put the ids of the messages they answer into `answered`."""
    async for part in parts:
        if part.final:
            answered[:] = part.answers
        yield part


def _message_number(message: IncomingMessage) -> int | None:
    """Return Telegram's message id; for a press, that of the message with the button."""
    number = message.handle if message.id.startswith(PRESS) else message.id.partition(".")[0]
    return int(number) if number.isdigit() else None
