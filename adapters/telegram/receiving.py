"""One raw update at a time is taken in: it is on disk when that returns, or it must not be acknowledged."""

import hashlib
import json
import logging
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Generic, TypeVar

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
from bot import phrases
from bot.channel_store import ChannelStore
from bot.messages import AcceptMessage, ChatId, IncomingMessage, NotAccepted
from bot.state.database import StateFault

log = logging.getLogger(__name__)

REMEMBERED = 500
PARTS_WITHIN = timedelta(seconds=10)
TOPIC = "topic:"
"""What the name of each topic is kept under."""


@dataclass(frozen=True, slots=True)
class AcceptedUpdate:
    """What is left to do for a message, or for a button that was pressed."""

    message: IncomingMessage | None
    """None where a button was pressed that says nothing."""
    awaits_reply: bool = False
    """Whether a Reply to it will come."""
    press: str = ""
    """The id of what Telegram wants to have answered, where it was a button."""
    toast: str = ""
    """What whoever pressed is told in passing."""


class Receiver:
    """Takes updates in, whatever is in them; each one alone, so that a bad one is no harm to the others."""

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
        """`moved` is told the old and the new id of a group, `reach` where the bot can write (no longer)."""
        self._me = me
        self._accept = accept
        self._store = store
        self._moved = moved
        self._reach = reach
        self._presses = presses or ButtonPresses()
        self._now = now
        self._done_moves: _RecentValues[ChatId, ChatId] = _RecentValues()
        self._topics: _RecentValues[ChatId, str] = _RecentValues()
        self._called: _RecentValues[str, datetime] = _RecentValues()
        """When the first part of an album, or of a text that was cut in two, called the bot: the others do not."""

    async def take_in(self, raw: Mapping[str, Any]) -> AcceptedUpdate | None:
        """Take in one update; None where nothing is left to do for it.

        Raises NotAccepted where it cannot be kept: then it must not be acknowledged. What cannot be read is set aside.
        """
        try:
            happened = self._read(raw)
        except Exception as error:  # noqa: BLE001 - whatever it is, it must not stop those that come after it
            if name := await self._set_aside(raw, error):
                # Without the error's text: that may hold what somebody wrote.
                log.error("an update cannot be read and is set aside: %s, %s", name, _error_location(error))
            return None
        try:
            return await self._dispatch(happened)
        except NotAccepted:
            raise
        except StateFault as fault:
            raise NotAccepted(str(fault)) from fault
        except Exception as error:
            if name := await self._set_aside(raw, error):
                log.exception("an update is set aside, since taking it in failed: %s", name)
            return None

    def _read(self, raw: Mapping[str, Any]) -> TelegramEvent | None:
        if isinstance(raw.get("update_id"), int) and not any(kind in raw for kind in ALLOWED_UPDATES):
            return None  # of a kind that was not asked for: asked for long ago, or by another program
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
                if not self._done_moves.get(old):  # the old group and the new one each tell of it
                    await self._moved(old, new)
                    self._done_moves.put(old, new)
            case ReachChanged():
                await self._reach(happened)
            case TopicNamed(chat, topic):
                await self._remember_topic(chat, topic)
        return None

    async def _handle_press(self, query: str, message: IncomingMessage) -> AcceptedUpdate:
        if self._presses.is_anothers(message):
            return AcceptedUpdate(None, press=query, toast=phrases.NOT_YOUR_BUTTONS)
        if self._presses.is_repeated(message):
            return AcceptedUpdate(None, press=query)
        message = replace(message, chat_name=await self._chat_title(message))
        awaits_reply = await self._accept(message)
        self._presses.record_press(message)
        return AcceptedUpdate(message, awaits_reply, press=query)

    async def _add_context(self, said: ReceivedMessage) -> IncomingMessage:
        """The message with what only those before it tell."""
        if said.topic:
            await self._remember_topic(said.message.chat, said.topic)
        title = await self._chat_title(said.message)
        return replace(said.message, chat_name=title, addressed=self._is_addressed(said))

    def _is_addressed(self, said: ReceivedMessage) -> bool:
        """Whether the bot is called, if only by the part that came before."""
        message = said.message
        sender = f"{message.chat} {message.sender}"
        called_at = self._called.get(said.album or f"{sender} {message.id}")
        is_addressed = message.addressed or (
            called_at is not None and abs(message.sent_at - called_at) <= PARTS_WITHIN
        )
        if message.in_room and is_addressed and message.more_soon:
            following = said.album or f"{sender} {int(message.id) + 1}"
            self._called.put(following, message.sent_at)
        return is_addressed

    async def _chat_title(self, message: IncomingMessage) -> str:
        if "/" not in message.chat.name:
            return message.chat_name
        topic = self._topics.get(message.chat)
        if topic is None:
            topic = await self._store.get(f"{TOPIC}{message.chat.name}")
            self._topics.put(message.chat, topic)
        if not (topic and message.chat_name):
            return topic or message.chat_name
        return phrases.TOPIC_TITLE.format(chat=message.chat_name, topic=topic)

    async def _remember_topic(self, chat: ChatId, topic: str) -> None:
        if self._topics.get(chat) != topic:
            await self._store.put(f"{TOPIC}{chat.name}", topic)
            self._topics.put(chat, topic)

    async def _set_aside(self, raw: Mapping[str, Any], error: Exception) -> str:
        """Keep an update as it came; its name, or "" where it was kept before."""
        # As it reads, so that /forget finds in it what somebody said.
        try:
            text = json.dumps(raw, ensure_ascii=False, default=str).encode("utf-8", "replace").decode()
        except RecursionError:  # it could just be read; no message is so deep
            text = "{}"
        number = raw.get("update_id")
        name = str(number) if isinstance(number, int) else hashlib.sha256(text.encode()).hexdigest()[:20]
        try:
            is_new = await self._store.keep_unreadable(name, text, _error_location(error))
        except StateFault as fault:
            raise NotAccepted(str(fault)) from fault
        return name if is_new else ""


def _error_location(error: Exception) -> str:
    """What kind of error, and where in the program."""
    trace = error.__traceback__
    while trace and trace.tb_next:
        trace = trace.tb_next
    code = trace.tb_frame.f_code if trace else None
    place = f" in {Path(code.co_filename).name}, {code.co_name}" if code else ""
    return f"{type(error).__name__}{place}"


Key = TypeVar("Key")
Value = TypeVar("Value")


class _RecentValues(Generic[Key, Value]):
    """What was learnt last, not all that ever was."""

    def __init__(self) -> None:
        self._values: dict[Key, Value] = {}

    def get(self, key: Key) -> Value | None:
        return self._values.get(key)

    def put(self, key: Key, value: Value) -> None:
        self._values.pop(key, None)
        self._values[key] = value
        if len(self._values) > REMEMBERED:
            del self._values[next(iter(self._values))]
