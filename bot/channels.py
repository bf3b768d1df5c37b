"""The channels that are open."""

import logging
from collections.abc import Callable, Mapping

from bot import phrases
from bot.messages import (
    Adapter,
    Attachment,
    AttachmentLost,
    ChannelFault,
    ChannelHealth,
    ChatId,
    IncomingMessage,
    PersonId,
    TracksWithdrawals,
    WriteChunk,
)

log = logging.getLogger(__name__)


class Channels:
    """The open channels by name; finds the adapter that shows something in a chat."""

    def __init__(self, *, is_stopped: Callable[[str], bool] = lambda name: False) -> None:
        """`is_stopped` returns whether a channel's task has failed and waits for its restart."""
        self._adapters: dict[str, Adapter] = {}
        self._is_stopped = is_stopped

    def attach(self, adapter: Adapter) -> None:
        """Add a channel's adapter."""
        self._adapters[adapter.name] = adapter

    def adapter_of(self, chat: ChatId) -> Adapter:
        """Return the adapter of a chat. Raises LookupError if its channel is not open."""
        return self._adapters[chat.channel]

    def serves(self, chat: ChatId) -> bool:
        """Return whether anything can be shown in this chat."""
        adapter = self._adapters.get(chat.channel)
        return adapter is not None and adapter.serves(chat)

    def home_of(self, person: PersonId) -> ChatId | None:
        """Return the chat for messages that only this person should read; None if there is none."""
        adapter = self._adapters.get(person.channel)
        return adapter.home_of(person) if adapter else None

    def health(self) -> Mapping[str, ChannelHealth]:
        """Return the state of each channel."""
        stopped = ChannelHealth("down", phrases.CHANNEL_STOPPED)
        return {
            name: stopped if self._is_stopped(name) else adapter.health
            for name, adapter in self._adapters.items()
        }

    async def is_withdrawn(self, message: IncomingMessage) -> bool:
        """Return whether a message was withdrawn without anybody being told, as far as its channel knows."""
        adapter = self._adapters.get(message.chat.channel)
        try:
            return isinstance(adapter, TracksWithdrawals) and await adapter.is_withdrawn(message)
        except ChannelFault:
            return False
        except Exception:  # other messages of the chat have to be answered all the same
            log.exception("could not check whether message %s was deleted", message.id)
            return False

    async def fetch(self, chat: ChatId, attachment: Attachment, write: WriteChunk) -> None:
        """Write the content of an attachment piece by piece. Raises AttachmentLost, ChannelFault, OSError."""
        adapter = self._adapters.get(chat.channel)
        if adapter is None:
            raise AttachmentLost(phrases.ATTACHMENT_GONE)
        await adapter.fetch(attachment, write)
