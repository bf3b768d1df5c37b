"""Telegram as a channel."""

import asyncio
import logging
from collections import OrderedDict
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from telegram import Bot, File
from telegram.error import TelegramError

from adapters.telegram.calls import CALL_SECONDS, PAUSES, Calls, Gone, Place, Refused
from adapters.telegram.condition import Condition, Waits, library_errors
from adapters.telegram.incoming import Reach
from adapters.telegram.incoming_text import Me
from adapters.telegram.local_files import copy_file
from adapters.telegram.marks import Marks
from adapters.telegram.menu import Menus
from adapters.telegram.pace import SETTLE_SECONDS, Pace
from adapters.telegram.polling import GRACE_SECONDS, POLL_SECONDS, poll
from adapters.telegram.presses import Presses
from adapters.telegram.receiving import Receiver, TakenIn
from adapters.telegram.request import Request
from bot import phrases
from bot.channel_store import ChannelStore
from bot.messages import (
    Accept,
    Attachment,
    AttachmentLost,
    ChannelFault,
    ChannelHealth,
    ChatId,
    IncomingMessage,
    PersonId,
    Reply,
    ReplyPart,
    Write,
)
from bot.plain_text import one_line
from bot.state.database import StateFault
from bot.supervision import Supervisor
from bot.tasks import Tasks

if TYPE_CHECKING:
    from adapters.telegram.webhook import Webhook
    from bot.access import Access
    from bot.commands.command import Command
    from bot.config.telegram import TelegramSettings
    from bot.web.hooks import Hook

log = logging.getLogger(__name__)

TELEGRAM = "telegram"
MENUS_TASK = "telegram menus"
"""The task that keeps them up to date, as owners read of it."""
PRESS = "press-"
OFFICIAL = "https://api.telegram.org/"
CHATS_KEPT = 10_000
NOT_STARTED = "can't initiate conversation"
"""What Telegram says where a person has never written to the bot."""


@dataclass(frozen=True, slots=True)
class Patience:
    """How long Telegram is waited for; seconds."""

    call: float = CALL_SECONDS
    pauses: Sequence[float] = PAUSES
    """Before a call is made again that failed on its way."""
    settle: float = SETTLE_SECONDS
    """After the first words of a reply, until it is shown in part."""
    poll: int = POLL_SECONDS
    grace: float = GRACE_SECONDS
    waits: Waits = field(default_factory=Waits)


class TelegramAdapter:
    """The bot that has one token. Its connection is open already, though nobody may have answered yet."""

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
        pace: Pace | None = None,
        patience: Patience | None = None,
        supervisor: Supervisor | None = None,
    ) -> None:
        """`moved` is told the old and the new id of a group, and has noted it when it returns.

        `supervisor` keeps the menus up to date, and knows if that fails.
        """
        self._bot = bot
        self._store = store
        self._pace = pace or Pace()
        self._patience = patience or Patience()
        self._calls = Calls(bot, self._pace, pauses=self._patience.pauses, call_seconds=self._patience.call)
        self._menus = Menus(bot, store, commands=commands, owners=owners)
        self._access = access
        self._moved = moved
        self._webhook = self._opened(settings) if settings.mode == "webhook" else None
        self._health = ChannelHealth("starting")
        self._supervisor = supervisor or Supervisor()
        self._beside = Tasks()
        self._marks = Marks(self._calls, self._beside)
        self._latest: OrderedDict[str, str] = OrderedDict()
        """The id of the latest message of each chat."""
        self._gone: set[str] = set()
        """Chats in which nothing can be said, and which the log knows of."""
        self._moves: dict[int, int] = {}
        self._presses = Presses()

    @property
    def name(self) -> str:
        """The channel's name."""
        return TELEGRAM

    @property
    def health(self) -> ChannelHealth:
        """How the channel fares just now."""
        return self._health

    @property
    def hooks(self) -> "Sequence[Hook]":
        """What Telegram calls, where it does."""
        return self._webhook.hooks if self._webhook else ()

    def serves(self, chat: ChatId) -> bool:
        """Tell whether a chat is one of Telegram's."""
        return chat.channel == TELEGRAM

    def home_of(self, person: PersonId) -> ChatId | None:
        """The private chat with a person has that person's id."""
        return ChatId(TELEGRAM, person.id) if person.id.isdecimal() else None

    def _opened(self, settings: "TelegramSettings") -> "Webhook":
        from adapters.telegram.webhook import Webhook  # brings aiohttp

        return Webhook(self._bot, settings, report=self._report, waits=self._patience.waits)

    async def close(self) -> None:
        """Leave off what goes on beside."""
        self._beside.cancel()
        await self._beside.ended()

    # -- receiving ------------------------------------------------------------------------------------------

    async def run(self, accept: Accept) -> None:
        """Receive until cancelled, however long Telegram cannot be reached, or knows the token not."""
        me = await self._introduce()
        log.info("on Telegram as @%s", me.username)
        menus = self._beside.start(self._supervisor.run(MENUS_TASK, self._menus.register))
        try:
            await self._receive(me, accept)
        finally:
            menus.cancel()

    async def _receive(self, me: Me, accept: Accept) -> None:
        receiver = Receiver(
            me,
            accept,
            self._store,
            moved=self._has_moved,
            reach=self._reach_changed,
            presses=self._presses,
        )

        async def take_in(raw: Mapping[str, Any]) -> None:
            if taken := await receiver.take_in(raw):
                self._acknowledge(taken)

        if self._webhook:
            await self._webhook.serve(take_in)
        else:
            patience = self._patience
            await poll(
                self._bot,
                take_in,
                report=self._report,
                seconds=patience.poll,
                grace=patience.grace,
                waits=patience.waits,
            )

    async def _introduce(self) -> Me:
        """Ask Telegram who this bot is, until it tells."""
        condition = Condition(self._report, self._patience.waits, token=self._bot.token)
        while True:
            try:
                with library_errors():
                    async with asyncio.timeout(self._patience.call):
                        me = await self._bot.get_me(
                            read_timeout=condition.answer_seconds(self._patience.call)
                        )
                if type(me.id) is not int or not isinstance(me.username or "", str):
                    # The library takes anything, and each message that is compared with it would be set aside.
                    raise TelegramError("it does not tell who the bot is")
            except (TelegramError, TimeoutError) as error:
                await asyncio.sleep(condition.failed(error))
            else:
                return Me(me.id, me.username or "")

    def _report(self, health: ChannelHealth) -> None:
        self._health = health

    def _acknowledge(self, taken: TakenIn) -> None:
        """Show that a message or a press was heard; nothing that must not be lost."""
        if taken.press:
            self._beside.start(self._quietly(self._calls.heard_press(taken.press, taken.toast)))
        message = taken.message
        if message is None:
            return
        chat = message.chat.name
        self._gone.discard(chat)
        if not (taken.press or message.edit_of):
            self._latest[chat] = message.id
            self._latest.move_to_end(chat)
            while len(self._latest) > CHATS_KEPT:
                self._latest.popitem(last=False)
        if taken.awaits_reply:
            self._beside.start(self._register(message.sender))
            self._marks.received(message)
            if taken.press and message.in_room and self._presses.owner_of(message) is None:
                # Its answer will not stand in its place, and a choice is made once.
                drop = self._calls.drop_choices(Place.of(message.chat), int(message.handle))
                self._beside.start(self._quietly(drop))

    async def _register(self, person: PersonId) -> None:
        with suppress(StateFault):
            await self._menus.register_for(person, await self._access.standing_of(person))

    async def _has_moved(self, old: ChatId, new: ChatId) -> None:
        """Have all that is kept of a group go over to its new id."""
        self._moves[Place.of(old).chat] = Place.of(new).chat
        await self._moved(old, new)

    async def _move(self, old: ChatId, new: ChatId) -> None:
        try:
            await self._moved(old, new)
        except StateFault as fault:
            log.error("%s is %s now, and what is kept of it could not go over: %s", old, new, fault)

    async def _reach_changed(self, reach: Reach) -> None:
        if reach.closed:
            self._note_gone(reach.chat, reach.closed)
        else:
            self._gone.discard(reach.chat.name)

    # -- showing --------------------------------------------------------------------------------------------

    async def render(self, reply: Reply) -> None:
        """Show a reply as it grows; one that nobody can be shown any more is done with."""
        from adapters.telegram.showing import Showing  # brings the reading of Markdown, of no use before

        message = reply.to
        place = Place.of(reply.chat)
        place = Place(self._moves.get(place.chat, place.chat), place.thread)
        shown = reply.shown
        if not shown and message and not reply.in_passing and self._is_for_its_place(message):
            shown = (message.handle,)  # what is chosen takes the place of what was to be chosen from
            if message.in_room:
                await reply.keep(shown)  # after a restart it is not known any more whose that is
        answered: list[str] = []

        async def keep(ids: Sequence[str]) -> None:
            self._presses.note_answer(self._moves.get(place.chat, place.chat), message, ids)
            await reply.keep(ids)

        self._presses.note_answer(place.chat, message, shown)
        with self._marks.showing(message):
            try:
                await Showing(
                    self._calls,
                    self._pace,
                    place,
                    key=reply.key,
                    shown=shown,
                    keep=keep,
                    reply_to=lambda: self._reply_to(reply),
                    moved=lambda old, new: self._moved_while_shown(place, old, new),
                    is_answer=message is not None,
                    settle_seconds=self._patience.settle,
                    sending=reply.sending,
                ).show(_noting(reply.parts, answered))
            except Gone as gone:
                self._note_gone(reply.chat, str(gone))
        await self._marks.answered(reply.chat, answered)

    def _is_for_its_place(self, press: IncomingMessage) -> bool:
        """Whether the answer to a press takes the place of the message with the button: of one's own, in a room."""
        if not press.id.startswith(PRESS):
            return False
        return not press.in_room or self._presses.owner_of(press) == press.sender

    def _reply_to(self, reply: Reply) -> int | None:
        """What a reply is put to: in rooms the message; where two people talk, only if something came in between."""
        if reply.to is None:
            return None
        if reply.to.in_room or self._latest.get(reply.chat.name, reply.to.id) != reply.to.id:
            return _number_of(reply.to)
        return None

    def _moved_while_shown(self, place: Place, old: int, new: int) -> None:
        self._moves[old] = new
        names = (Place(chat, place.thread).name for chat in (old, new))
        self._beside.start(self._move(*(ChatId(TELEGRAM, name) for name in names)))

    def _note_gone(self, chat: ChatId, why: str) -> None:
        if chat.name not in self._gone:
            self._gone.add(chat.name)
            if NOT_STARTED in why.lower():
                log.warning("%s has not pressed Start yet, so nothing can be said there", chat)
            else:
                log.warning("nothing can be said in %s any more: %s", chat, one_line(why))

    # -- what came along ------------------------------------------------------------------------------------

    async def fetch(self, attachment: Attachment, write: Write, *, most: int) -> None:
        """Get a file that somebody sent."""
        size = 0

        async def write_bounded(piece: bytes) -> None:
            nonlocal size
            size += len(piece)
            if size > most:
                raise AttachmentLost(phrases.ATTACHMENT_TOO_LARGE.format(most=most >> 20))
            await write(piece)

        if attachment.size > most:
            raise AttachmentLost(phrases.ATTACHMENT_TOO_LARGE.format(most=most >> 20))
        try:
            file = await self._calls.ask(lambda: self._bot.get_file(attachment.handle))
            if (file.file_size or 0) > most:
                raise AttachmentLost(phrases.ATTACHMENT_TOO_LARGE.format(most=most >> 20))
            await self._download(file, write_bounded, most)
        except Refused as refused:
            if "too big" in str(refused).lower():  # Telegram gives bots no more than 20 MB
                raise AttachmentLost(phrases.ATTACHMENT_TOO_LARGE.format(most=20)) from refused
            raise AttachmentLost(phrases.ATTACHMENT_GONE) from refused

    async def _download(self, file: File, write: Write, most: int) -> None:
        """Hand on what a file holds; of one on this computer no more than shows that it is more than `most`."""
        if not file.file_path:
            raise AttachmentLost(phrases.ATTACHMENT_GONE)
        path = Path(file.file_path)
        if path.is_absolute():
            # Where a server of one's own has put it; Telegram's own names no files of ours.
            if self._bot.base_file_url.startswith(OFFICIAL):
                raise AttachmentLost(phrases.ATTACHMENT_GONE)
            await copy_file(path, write, most=most, token=self._bot.token)
            return
        address = file.file_path
        if "://" not in address:  # the library has found one here that has its name by chance
            address = f"{self._bot.base_file_url}/{address}"
        request = self._bot.request
        assert isinstance(request, Request)
        # Once: what came of a first try would stand before the second. Who reads the file asks again for all of it.
        await self._calls.ask(lambda: request.download(address, write), again=False)

    async def _quietly(self, call: Coroutine[Any, Any, None]) -> None:
        """Make a call that is a courtesy: where it fails, nothing is lost."""
        try:
            await call
        except (Refused, ChannelFault) as fault:
            log.debug("telegram: %s", fault)


async def _noting(parts: AsyncIterator[ReplyPart], answered: list[str]) -> AsyncIterator[ReplyPart]:
    """Give the parts on, and put the ids of what they answer into `answered`."""
    async for part in parts:
        if part.final:
            answered[:] = part.answers
        yield part


def _number_of(message: IncomingMessage) -> int | None:
    """Telegram's own number of a message; of a press, of the message that holds the button."""
    number = message.handle if message.id.startswith(PRESS) else message.id.partition(".")[0]
    return int(number) if number.isdigit() else None
