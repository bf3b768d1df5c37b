"""Calls to the Bot API: each at its pace, again where that helps, and what a refusal means as a type."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from telegram import (
    Bot,
    InlineKeyboardButton,
    InlineKeyboardMarkup,
    InputFile,
    LinkPreviewOptions,
    MessageEntity,
    ReactionTypeEmoji,
    ReplyParameters,
)
from telegram.error import (
    BadRequest,
    ChatMigrated,
    Forbidden,
    InvalidToken,
    NetworkError,
    RetryAfter,
    TelegramError,
)

from adapters.telegram.connection_health import retry_after_seconds, translate_library_errors
from adapters.telegram.rate_limiter import RateLimiter
from bot.messages import ChannelFault, ChatId, Choice

if TYPE_CHECKING:
    from adapters.telegram.markdown.messages import Entity

log = logging.getLogger(__name__)

CALL_SECONDS = 60.0
"""For a whole call: a server that sends an answer byte by byte is not waited for without end."""
PAUSES = (0.5, 2.0)
"""Seconds before a call is made again that failed on its way."""
LONGEST_HOLD = 30.0
"""Seconds that Telegram may want to be left alone without the reply being put off."""

Result = TypeVar("Result")


class ApiRefused(Exception):
    """Base of what Telegram refuses for good; the text is Telegram's own word for it."""


class ChatGone(ApiRefused):
    """Nothing can be said in this chat any more: blocked, kicked, deleted, closed, forbidden to write."""


class ThreadGone(ApiRefused):
    """The topic is gone; the chat is not."""


class ChatIdChanged(ApiRefused):
    """The chat has another id now."""

    def __init__(self, chat: int) -> None:
        super().__init__(f"the chat is {chat} now")
        self.chat = chat


class MessageGone(ApiRefused):
    """The message that was to be edited or deleted is not there, or too old for it."""


class TooLong(ApiRefused):
    """The text has more characters than Telegram takes."""


class NotModified(ApiRefused):
    """The message says that already."""


class BadEntities(ApiRefused):
    """The text's format was not understood."""


class UnknownMethod(ApiRefused):
    """The server does not know the method."""


@dataclass(frozen=True, slots=True)
class Target:
    """Where something is shown."""

    chat: int
    thread: int | None = None
    """A topic's number."""

    @property
    def is_private(self) -> bool:
        """Whether it is the chat with one person."""
        return self.chat > 0

    @property
    def name(self) -> str:
        """As in ChatId.name: `-100123`, `-100123/45`."""
        return f"{self.chat}/{self.thread}" if self.thread else str(self.chat)

    @classmethod
    def of(cls, chat: ChatId) -> "Target":
        """Read a chat's name; raise ValueError where it is none of Telegram's."""
        name, _, thread = chat.name.partition("/")
        return cls(int(name), int(thread) if thread else None)


class ApiCalls:
    """What the bot asks of Telegram. Raises Refused, and ChannelFault where it may work later."""

    def __init__(
        self,
        bot: Bot,
        pace: RateLimiter,
        *,
        pauses: Sequence[float] = PAUSES,
        call_seconds: float = CALL_SECONDS,
    ) -> None:
        self._bot = bot
        self._pace = pace
        self._pauses = pauses
        self._call_seconds = call_seconds
        self.has_drafts = True
        """Whether drafts can be shown, as far as is known."""
        self._courtesies_from = 0.0
        """When Telegram can be bothered again with what nobody would miss."""

    # -- what is shown --------------------------------------------------------------------------------------

    async def send(
        self,
        place: Target,
        text: str,
        entities: Sequence["Entity"] = (),
        *,
        reply_to: int | None = None,
        choices: Sequence[Choice] = (),
        growing: bool = False,
    ) -> int:
        """Send a message, return its id. `growing`: its turn was waited for, and it is not tried again."""

        async def call(plain: bool) -> int:
            sent = await self._bot.send_message(
                place.chat,
                text,
                entities=[] if plain else _to_library_entities(entities),
                message_thread_id=place.thread,
                reply_parameters=None if plain else _reply_parameters(reply_to),
                reply_markup=None if plain else _keyboard(choices),
                link_preview_options=_NO_PREVIEW,
            )
            return sent.message_id

        return await self._send_formatted(call, place, growing=growing)

    async def edit(
        self,
        place: Target,
        message: int,
        text: str,
        entities: Sequence["Entity"] = (),
        *,
        choices: Sequence[Choice] = (),
        growing: bool = False,
    ) -> None:
        """Put another text into a message; the same once more is no error."""

        async def call(plain: bool) -> None:
            await self._bot.edit_message_text(
                text,
                place.chat,
                message,
                entities=[] if plain else _to_library_entities(entities),
                reply_markup=None if plain else _keyboard(choices),
                link_preview_options=_NO_PREVIEW,
            )

        with suppress(NotModified):
            await self._send_formatted(call, place, growing=growing)

    async def draft(self, place: Target, draft: int, text: str, entities: Sequence["Entity"] = ()) -> None:
        """Show a text for half a minute as one that is being written; only in private chats. `draft`: not 0.

        Its turn was waited for. Where this server has no drafts, `has_drafts` is false from then on.
        """

        async def call(plain: bool) -> None:
            shown = [] if plain else _to_library_entities(entities)
            await self._bot.send_message_draft(place.chat, draft, text, place.thread, entities=shown)

        try:
            await self._send_formatted(call, place, growing=True)
        except (ChatGone, ChatIdChanged, ThreadGone):
            raise
        except (BadEntities, TooLong):  # a matter of this text
            raise
        except ApiRefused as refused:
            if self.has_drafts:
                log.info("replies grow by edits, since this server shows no drafts: %s", refused)
            self.has_drafts = False
            raise

    async def send_file(
        self, place: Target, name: str, content: bytes, *, reply_to: int | None = None
    ) -> int:
        """Send a file, return the message's id."""

        async def call() -> int:
            sent = await self._bot.send_document(
                place.chat,
                InputFile(content, filename=name),
                message_thread_id=place.thread,
                reply_parameters=_reply_parameters(reply_to),
            )
            return sent.message_id

        return await self._send_paced(call, place)

    async def delete(self, place: Target, message: int) -> None:
        """Take a message back; one that is gone already is no error."""
        with suppress(MessageGone):
            await self.ask(lambda: self._bot.delete_message(place.chat, message))

    # -- what is not a message ------------------------------------------------------------------------------

    async def typing(self, place: Target) -> None:
        """Show for five seconds that an answer is on its way."""
        await self._try_once(lambda: self._bot.send_chat_action(place.chat, "typing", place.thread))

    async def react(self, place: Target, message: int, emoji: str = "") -> None:
        """Put an emoji to a message; "" takes it away, which is tried again: else it would stay for ever."""
        reaction = [ReactionTypeEmoji(emoji)] if emoji else []

        async def call() -> bool:
            return await self._bot.set_message_reaction(place.chat, message, reaction=reaction)

        await (self._try_once(call) if emoji else self.ask(call))

    async def answer_callback(self, press: str, toast: str = "") -> None:
        """Let the button that somebody pressed come to rest; `toast`: what they alone are told for a moment."""
        await self.ask(lambda: self._bot.answer_callback_query(press, toast or None), again=False)

    async def remove_buttons(self, place: Target, message: int) -> None:
        """Take the buttons off a message; one that has none is no error."""
        with suppress(MessageGone, NotModified):
            await self.ask(lambda: self._bot.edit_message_reply_markup(place.chat, message))

    async def ask(self, call: Callable[[], Awaitable[Result]], *, again: bool = True) -> Result:
        """Make a call that shows nothing, once more or twice where it failed on its way."""
        pauses = list(self._pauses) if again else []
        while True:
            try:
                return await self._call_once(call)
            except ChannelFault as fault:
                wait = max(fault.retry_after, pauses.pop(0)) if pauses else LONGEST_HOLD + 1
                if wait > LONGEST_HOLD:
                    raise
                await asyncio.sleep(wait)

    async def _try_once(self, call: Callable[[], Awaitable[object]]) -> None:
        """Make a call that nobody would miss, once, and not while Telegram wants to be left alone with such."""
        now = asyncio.get_running_loop().time()
        if now < self._courtesies_from:
            raise ChannelFault("Telegram has asked for patience", retry_after=self._courtesies_from - now)
        try:
            await self.ask(call, again=False)
        except ChannelFault as fault:
            self._courtesies_from = max(self._courtesies_from, now + fault.retry_after)
            raise

    # -- how ------------------------------------------------------------------------------------------------

    async def _send_formatted(
        self,
        call: Callable[[bool], Awaitable[Result]],
        place: Target,
        *,
        growing: bool,
    ) -> Result:
        """Show a text, and the text alone where Telegram takes offence at what is around it: never nothing."""
        try:
            return await self._send_paced(lambda: call(False), place, growing=growing)
        except ApiRefused as refused:
            if growing or type(refused) not in (ApiRefused, BadEntities):
                raise
            log.warning("a text is shown without its format: Telegram refused it: %s", refused)
            return await self._send_paced(lambda: call(True), place)

    async def _send_paced(
        self, call: Callable[[], Awaitable[Result]], place: Target, *, growing: bool = False
    ) -> Result:
        """Make a call that shows something: at the pace of its chat, and again where that may help.

        A call whose answer was lost may have been carried out: what it says is then there twice, which is less bad
        than not at all. A reply that grows is not tried again: there will be more of it.
        """
        pauses = list(self._pauses)
        while True:
            turn = None if growing else await self._pace.wait_for_slot(place.chat, urgent=True)
            try:
                return await self._call_once(call)
            except UnknownMethod as unknown:
                if growing:
                    raise
                # Each server knows how to send: this is somebody in between, such as a proxy that has just begun.
                raise ChannelFault(f"Telegram could not be reached: {unknown}") from unknown
            except ChannelFault as fault:
                if fault.retry_after:
                    self._pace.pause(place.chat, fault.retry_after)
                    if growing or fault.retry_after > LONGEST_HOLD:
                        raise
                elif growing or not pauses:
                    raise
                else:
                    await asyncio.sleep(pauses.pop(0))
            finally:
                if turn:
                    turn.finish()

    async def _call_once(self, call: Callable[[], Awaitable[Result]]) -> Result:
        try:
            with translate_library_errors():
                async with asyncio.timeout(self._call_seconds):
                    return await call()
        except TelegramError as error:
            raise translate_error(error) from error
        except TimeoutError as error:
            raise ChannelFault(f"Telegram gave no answer within {self._call_seconds:.0f} s") from error


def translate_error(error: TelegramError) -> Exception:
    """What an error of the library's is to us.

    Telegram gives what it refuses no code of its own; the words are those of its server's source
    (github.com/tdlib/telegram-bot-api) and of MTProto's errors, in capitals.
    """
    said = error.message
    match error:
        case RetryAfter():
            return ChannelFault(f"Telegram asks for patience: {said}", retry_after=retry_after_seconds(error))
        case ChatMigrated():
            return ChatIdChanged(error.new_chat_id)
        case Forbidden():
            return ChatGone(said)
        case InvalidToken():  # of a call: 404; of a wrong token: 401
            return UnknownMethod(said) if "unauthorized" not in said.lower() else ChannelFault(said)
        case BadRequest():
            return _find_refusal(said)
        case NetworkError():
            return ChannelFault(f"Telegram could not be reached: {said}")
        case _:
            return ChannelFault(said)


_REFUSALS: Sequence[tuple[type[ApiRefused], Sequence[str]]] = (
    (ApiRefused, ("reply_message_id_invalid",)),  # of a message that is sent; sent without, it is taken
    (BadEntities, ("can't parse entities", "entity_", "entities_too_long", "can't find end of")),
    (TooLong, ("message is too long", "message_too_long", "text is too long")),
    (ThreadGone, ("message thread not found", "topic_deleted", "topic_id_invalid")),
    (
        MessageGone,
        (
            "message to edit not found",
            "message can't be edited",
            "message to delete not found",
            "message can't be deleted",
            "message_id_invalid",
            "message_edit_time_expired",
            "message_author_required",
            "message identifier is not specified",
            "there is no text in the message to edit",
        ),
    ),
    (
        ChatGone,
        (
            "chat not found",
            "not enough rights",
            "have no rights",
            "need administrator rights",
            "chat_write_forbidden",
            "chat_send_plain_forbidden",
            "chat_guest_send_forbidden",
            "user_banned_in_channel",
            "chat_restricted",
            "topic_closed",
            "user_is_blocked",
            "user is deactivated",
            "peer_id_invalid",
            "group chat was deactivated",
            "channel_private",
            "chat_admin_required",
        ),
    ),
)


def _find_refusal(said: str) -> ApiRefused:
    words = said.lower()
    if "message is not modified" in words:
        return NotModified(said)
    for kind, signs in _REFUSALS:
        if any(sign in words for sign in signs):
            return kind(said)
    return ApiRefused(said)


_NO_PREVIEW = LinkPreviewOptions(is_disabled=True)


def _to_library_entities(entities: Sequence["Entity"]) -> list[MessageEntity]:
    return [
        MessageEntity(
            each.type, each.offset, each.length, url=each.url or None, language=each.language or None
        )
        for each in entities
    ]


def _reply_parameters(message: int | None) -> ReplyParameters | None:
    # Deleted meanwhile, it is no reason for not answering.
    return ReplyParameters(message, allow_sending_without_reply=True) if message else None


def _keyboard(choices: Sequence[Choice]) -> InlineKeyboardMarkup | None:
    rows = [
        [InlineKeyboardButton(each.label, callback_data=each.says)]
        for each in choices
        if 0 < len(each.says.encode()) <= 64
    ]
    return InlineKeyboardMarkup(rows) if rows else None
