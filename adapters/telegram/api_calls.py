"""Calls to the Bot API with rate limits and retries, and refusals as exceptions."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
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

from adapters.api_errors import ApiRefused, ChatGone, MessageGone, TargetChanged, TooLong
from adapters.call_retries import MAX_HOLD_SECONDS, PAUSES, call_with_retries
from adapters.telegram.connection_health import retry_after_seconds, translate_library_errors
from adapters.telegram.rate_limiter import RateLimiter
from bot.messages import ChannelFault, ChatId, Choice

if TYPE_CHECKING:
    from adapters.telegram.markdown.messages import Entity

log = logging.getLogger(__name__)

CALL_SECONDS = 60.0
"""For a whole call, so that a server answering byte by byte does not block it."""

Result = TypeVar("Result")


class ThreadGone(TargetChanged):
    """The topic is gone, but not the chat."""


class ChatIdChanged(TargetChanged):
    """The chat has a new id."""

    def __init__(self, chat: int) -> None:
        super().__init__(f"the chat is {chat} now")
        self.chat = chat


class NotModified(ApiRefused):
    """The message already has that content."""


class BadEntities(ApiRefused):
    """The text's entities are invalid."""


class UnknownMethod(ApiRefused):
    """The server does not know the method."""


@dataclass(frozen=True, slots=True)
class Target:
    """Where something is shown."""

    chat: int
    thread: int | None = None
    """Id of a topic."""

    @property
    def is_private(self) -> bool:
        """Whether it is the chat with one person."""
        return self.chat > 0

    @property
    def name(self) -> str:
        """The form of ChatId.name: `-100123`, `-100123/45`."""
        return f"{self.chat}/{self.thread}" if self.thread else str(self.chat)

    @classmethod
    def of(cls, chat: ChatId) -> "Target":
        """Parse a chat's name. Raises ValueError if it is not Telegram's."""
        name, _, thread = chat.name.partition("/")
        return cls(int(name), int(thread) if thread else None)


class ApiCalls:
    """Makes the bot's calls. Raises ApiRefused, and ChannelFault if a later call may work."""

    def __init__(
        self,
        bot: Bot,
        rate_limiter: RateLimiter,
        *,
        pauses: Sequence[float] = PAUSES,
        call_seconds: float = CALL_SECONDS,
    ) -> None:
        self._bot = bot
        self._pace = rate_limiter
        self._pauses = pauses
        self._call_seconds = call_seconds
        self.has_drafts = True
        """Whether the server supports drafts, as far as known."""
        self._courtesies_from = 0.0
        """Time from which optional calls are allowed again."""

    # -- messages -------------------------------------------------------------------------------------------

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
        """Send a message and return its id. `growing`: the rate limit was already waited for; no retries."""

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
        """Replace a message's text and buttons; an unchanged one is not an error."""

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
        """Show a text as being written for half a minute; only in private chats. `draft`: its id, not 0.

        The caller has waited for the rate limit. If the server has no drafts, `has_drafts` becomes False.
        """

        async def call(plain: bool) -> None:
            shown = [] if plain else _to_library_entities(entities)
            await self._bot.send_message_draft(place.chat, draft, text, place.thread, entities=shown)

        try:
            await self._send_formatted(call, place, growing=True)
        except (ChatGone, ChatIdChanged, ThreadGone):
            raise
        except (BadEntities, TooLong):  # specific to this text
            raise
        except ApiRefused as refused:
            if self.has_drafts:
                log.info("this server has no drafts; replies grow by edits: %s", refused)
            self.has_drafts = False
            raise

    async def send_file(
        self, place: Target, name: str, content: bytes, *, reply_to: int | None = None
    ) -> int:
        """Send a file and return the message's id."""

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
        """Delete a message, if it exists."""
        with suppress(MessageGone):
            await self.ask(lambda: self._bot.delete_message(place.chat, message))

    # -- other calls ----------------------------------------------------------------------------------------

    async def typing(self, place: Target) -> None:
        """Show the typing indicator for five seconds."""
        await self._try_once(lambda: self._bot.send_chat_action(place.chat, "typing", place.thread))

    async def react(self, place: Target, message: int, emoji: str = "") -> None:
        """Set the bot's reaction; "" removes it, with retries, as it would otherwise stay."""
        reaction = [ReactionTypeEmoji(emoji)] if emoji else []

        async def call() -> bool:
            return await self._bot.set_message_reaction(place.chat, message, reaction=reaction)

        await (self._try_once(call) if emoji else self.ask(call))

    async def answer_callback(self, press: str, toast: str = "") -> None:
        """Confirm a button press; `toast`: a short text that only the sender sees."""
        await self.ask(lambda: self._bot.answer_callback_query(press, toast or None), again=False)

    async def remove_buttons(self, place: Target, message: int) -> None:
        """Remove a message's buttons, if it has any."""
        with suppress(MessageGone, NotModified):
            await self.ask(lambda: self._bot.edit_message_reply_markup(place.chat, message))

    async def ask(self, call: Callable[[], Awaitable[Result]], *, again: bool = True) -> Result:
        """Make a call that shows nothing, with retries if it failed in transit."""
        return await call_with_retries(partial(self._call_once, call), self._pauses if again else ())

    async def _try_once(self, call: Callable[[], Awaitable[object]]) -> None:
        """Make an optional call once, unless Telegram limits the rate of such calls."""
        now = asyncio.get_running_loop().time()
        if now < self._courtesies_from:
            raise ChannelFault("Telegram is rate-limiting the bot", retry_after=self._courtesies_from - now)
        try:
            await self.ask(call, again=False)
        except ChannelFault as fault:
            self._courtesies_from = max(self._courtesies_from, now + fault.retry_after)
            raise

    # -- sending --------------------------------------------------------------------------------------------

    async def _send_formatted(
        self,
        call: Callable[[bool], Awaitable[Result]],
        place: Target,
        *,
        growing: bool,
    ) -> Result:
        """Show a text with format and buttons, or as plain text if Telegram rejects them."""
        try:
            return await self._send_paced(lambda: call(False), place, growing=growing)
        except ApiRefused as refused:
            if growing or type(refused) not in (ApiRefused, BadEntities):
                raise
            log.warning("Telegram refused the format of a reply; sending it as plain text: %s", refused)
            return await self._send_paced(lambda: call(True), place)

    async def _send_paced(
        self, call: Callable[[], Awaitable[Result]], place: Target, *, growing: bool = False
    ) -> Result:
        """Make a call that shows something, within the chat's rate limit and with retries.

        A call whose answer was lost may have been carried out and is then shown twice, which is better than not at
        all. A growing reply is not retried, as more follows.
        """
        pauses = list(self._pauses)
        while True:
            turn = None if growing else await self._pace.wait_for_slot(place.chat, urgent=True)
            try:
                return await self._call_once(call)
            except UnknownMethod as unknown:
                if growing:
                    raise
                # Every server can send, so a proxy in between answered, such as one just starting.
                raise ChannelFault(f"Telegram could not be reached: {unknown}") from unknown
            except ChannelFault as fault:
                if fault.retry_after:
                    self._pace.pause(place.chat, fault.retry_after)
                    if growing or fault.retry_after > MAX_HOLD_SECONDS:
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
    """Return our exception for an error of the library.

    Telegram has no error codes for refusals; the texts are from its server's source
    (github.com/tdlib/telegram-bot-api) and MTProto's errors, which are in capitals.
    """
    said = error.message
    match error:
        case RetryAfter():
            return ChannelFault(
                f"Telegram is rate-limiting the bot: {said}", retry_after=retry_after_seconds(error)
            )
        case ChatMigrated():
            return ChatIdChanged(error.new_chat_id)
        case Forbidden():
            return ChatGone(said)
        case InvalidToken():  # 404 for an unknown method, 401 for a wrong token
            return UnknownMethod(said) if "unauthorized" not in said.lower() else ChannelFault(said)
        case BadRequest():
            return _find_refusal(said)
        case NetworkError():
            return ChannelFault(f"Telegram could not be reached: {said}")
        case _:
            return ChannelFault(said)


_REFUSALS: Sequence[tuple[type[ApiRefused], Sequence[str]]] = (
    (ApiRefused, ("reply_message_id_invalid",)),  # of a message being sent, which works without the reply
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
    # A deleted message is no reason not to answer.
    return ReplyParameters(message, allow_sending_without_reply=True) if message else None


def _keyboard(choices: Sequence[Choice]) -> InlineKeyboardMarkup | None:
    rows = [
        [InlineKeyboardButton(each.label, callback_data=each.says)]
        for each in choices
        if 0 < len(each.says.encode()) <= 64
    ]
    return InlineKeyboardMarkup(rows) if rows else None
