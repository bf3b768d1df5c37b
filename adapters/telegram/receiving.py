"""Accept raw updates one at a time: each is stored when that returns, or must not be acknowledged."""

import hashlib
import json
import logging
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any

from telegram import Update

from adapters.telegram.button_presses import ButtonPresses
from adapters.telegram.incoming import (
    ALLOWED_UPDATES,
    ButtonPress,
    GroupMigrated,
    ReachChanged,
    ReceivedMessage,
    TelegramEvent,
    TopicNamed,
    read_update,
)
from adapters.telegram.incoming_text import BotIdentity
from bot import english, phrases
from bot.channel_store import ChannelStore
from bot.language.codes import closest_language
from bot.language.current import speaking
from bot.log.tracebacks import error_location
from bot.messages import AcceptMessage, ChatId, IncomingMessage, NotAccepted
from bot.recent_dict import RecentDict
from bot.state.database import StateFault

log = logging.getLogger(__name__)

REMEMBERED = 500
PARTS_WINDOW = timedelta(seconds=10)
TOPIC = "topic:"
"""Prefix of the keys for topics' names."""


@dataclass(frozen=True, slots=True)
class AcceptedUpdate:
    """What is left to do for an accepted message or press."""

    message: IncomingMessage | None
    """None for a press of a button without a command."""
    awaits_reply: bool = False
    """Whether a Reply will follow."""
    press: str = ""
    """Id of the callback query to answer, for a press."""
    toast: str = ""
    """Short text for the person who pressed."""


class Receiver:
    """Accepts any update; each on its own, so that a bad one does not affect others."""

    def __init__(
        self,
        me: BotIdentity,
        accept: AcceptMessage,
        store: ChannelStore,
        *,
        moved: Callable[[ChatId, ChatId], Awaitable[None]],
        reach: Callable[[ReachChanged], Awaitable[None]],
        presses: ButtonPresses | None = None,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        """`moved` gets a group's old and new id; `reach` gets changes of the right to write."""
        self._me = me
        self._accept = accept
        self._store = store
        self._moved = moved
        self._reach = reach
        self._presses = presses or ButtonPresses()
        self._now = now
        self._done_moves: RecentDict[ChatId, ChatId] = RecentDict(REMEMBERED)
        self._topics: RecentDict[ChatId, str] = RecentDict(REMEMBERED)
        self._called: RecentDict[str, datetime] = RecentDict(REMEMBERED)
        """When the first part of an album or split text addressed the bot, as only the first does."""

    async def take_in(self, raw: Mapping[str, Any]) -> AcceptedUpdate | None:
        """Accept one update; return None if nothing is left to do for it.

        Raises NotAccepted if it cannot be stored; then it must not be acknowledged. Unreadable updates are set
        aside.
        """
        try:
            happened = self._read(raw)
        except Exception as error:  # noqa: BLE001 - one bad update must not stop later ones
            if name := await self._set_aside(raw, error):
                # Without the error's text, which may quote a message.
                log.error("could not read update %s; it is set aside: %s", name, error_location(error))
            return None
        try:
            return await self._dispatch(happened)
        except NotAccepted:
            raise
        except StateFault as fault:
            raise NotAccepted(str(fault)) from fault
        except Exception as error:
            if name := await self._set_aside(raw, error):
                log.exception("could not accept update %s; it is set aside", name)
            return None

    def _read(self, raw: Mapping[str, Any]) -> TelegramEvent | None:
        if isinstance(raw.get("update_id"), int) and not any(kind in raw for kind in ALLOWED_UPDATES):
            return None  # of a type that another program or an earlier version asked for
        return read_update(Update.de_json(dict(raw)), self._me, now=self._now())

    async def _dispatch(self, happened: TelegramEvent | None) -> AcceptedUpdate | None:
        match happened:
            case ReceivedMessage():
                message = await self._add_context(happened)
                return AcceptedUpdate(message, await self._accept(message))
            case ButtonPress(query, None):
                return AcceptedUpdate(None, press=query)
            case ButtonPress(query, IncomingMessage() as message):
                return await self._handle_press(query, message)
            case GroupMigrated(old, new):
                if not self._done_moves.get(old):  # the old and the new group both report it
                    await self._moved(old, new)
                    self._done_moves[old] = new
            case ReachChanged():
                await self._reach(happened)
            case TopicNamed(chat, topic):
                await self._remember_topic(chat, topic)
        return None

    async def _handle_press(self, query: str, message: IncomingMessage) -> AcceptedUpdate:
        if self._presses.is_anothers(message):
            with speaking(closest_language(message.language)):
                return AcceptedUpdate(None, press=query, toast=phrases.NOT_YOUR_BUTTONS)
        if self._presses.is_repeated(message):
            return AcceptedUpdate(None, press=query)
        message = replace(message, chat_name=await self._chat_title(message))
        awaits_reply = await self._accept(message)
        self._presses.record_press(message)
        return AcceptedUpdate(message, awaits_reply, press=query)

    async def _add_context(self, received: ReceivedMessage) -> IncomingMessage:
        """Add what only earlier updates have told."""
        if received.topic:
            await self._remember_topic(received.message.chat, received.topic)
        title = await self._chat_title(received.message)
        return replace(received.message, chat_name=title, addressed=self._is_addressed(received))

    def _is_addressed(self, received: ReceivedMessage) -> bool:
        """Return whether the message or its earlier part addresses the bot."""
        message = received.message
        sender = f"{message.chat} {message.sender}"
        called_at = self._called.get(received.album or f"{sender} {message.id}")
        is_addressed = message.addressed or (
            called_at is not None and abs(message.sent_at - called_at) <= PARTS_WINDOW
        )
        if message.in_room and is_addressed and message.more_soon:
            following = received.album or f"{sender} {int(message.id) + 1}"
            self._called[following] = message.sent_at
        return is_addressed

    async def _chat_title(self, message: IncomingMessage) -> str:
        if "/" not in message.chat.name:
            return message.chat_name
        topic = self._topics.get(message.chat)
        if topic is None:
            topic = await self._store.get(f"{TOPIC}{message.chat.name}")
            self._topics[message.chat] = topic
        if not (topic and message.chat_name):
            return topic or message.chat_name
        return english.TOPIC_TITLE.format(chat=message.chat_name, topic=topic)

    async def _remember_topic(self, chat: ChatId, topic: str) -> None:
        if self._topics.get(chat) != topic:
            await self._store.put(f"{TOPIC}{chat.name}", topic)
            self._topics[chat] = topic

    async def _set_aside(self, raw: Mapping[str, Any], error: Exception) -> str:
        """Store an update as received; return its name, or "" if it was stored before."""
        # As plain text, so that /forget finds words in it.
        try:
            text = json.dumps(raw, ensure_ascii=False, default=str).encode("utf-8", "replace").decode()
        except RecursionError:  # barely readable; no message is that deep
            text = "{}"
        number = raw.get("update_id")
        name = str(number) if isinstance(number, int) else hashlib.sha256(text.encode()).hexdigest()[:20]
        try:
            is_new = await self._store.keep_unreadable(name, text, error_location(error))
        except StateFault as fault:
            raise NotAccepted(str(fault)) from fault
        return name if is_new else ""
