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
    """Every channel by its name; what is to be shown somewhere goes to the one that has it."""

    def __init__(self, *, is_stopped: Callable[[str], bool] = lambda name: False) -> None:
        """`is_stopped` tells whether the task that runs a channel has failed and waits to be started again."""
        self._adapters: dict[str, Adapter] = {}
        self._is_stopped = is_stopped

    def attach(self, adapter: Adapter) -> None:
        """Open a channel."""
        self._adapters[adapter.name] = adapter

    def adapter_of(self, chat: ChatId) -> Adapter:
        """The channel of a chat; raises LookupError where it is not open."""
        return self._adapters[chat.channel]

    def serves(self, chat: ChatId) -> bool:
        """Whether anything can be shown in this chat."""
        adapter = self._adapters.get(chat.channel)
        return adapter is not None and adapter.serves(chat)

    def home_of(self, person: PersonId) -> ChatId | None:
        """Where a person is told something that others should not read; None where there is no such."""
        adapter = self._adapters.get(person.channel)
        return adapter.home_of(person) if adapter else None

    def health(self) -> Mapping[str, ChannelHealth]:
        """How each channel fares."""
        stopped = ChannelHealth("down", phrases.CHANNEL_STOPPED)
        return {
            name: stopped if self._is_stopped(name) else adapter.health
            for name, adapter in self._adapters.items()
        }

    async def is_withdrawn(self, message: IncomingMessage) -> bool:
        """Whether a message was taken back while nobody was told of it, as far as its channel knows."""
        adapter = self._adapters.get(message.chat.channel)
        try:
            return isinstance(adapter, TracksWithdrawals) and await adapter.is_withdrawn(message)
        except ChannelFault:
            return False
        except Exception:  # what waits in the chat is to be answered all the same
            log.exception("could not find out whether message %s was deleted", message.id)
            return False

    async def fetch(self, chat: ChatId, attachment: Attachment, write: WriteChunk, most: int) -> None:
        """Get what came along with a message of a chat; raises AttachmentLost, ChannelFault, OSError."""
        adapter = self._adapters.get(chat.channel)
        if adapter is None:
            raise AttachmentLost(phrases.ATTACHMENT_GONE)
        await adapter.fetch(attachment, write, most=most)
