"""Moves everything stored for a chat when its platform gives it another id; nothing is lost."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import replace

from bot.conversations.compaction import Compactor
from bot.messages import ChatId, IncomingMessage
from bot.sanitize import one_line
from bot.state import chat_migration
from bot.state.database import State, StateFault, run_to_completion
from bot.state.inbox import InboxMessage, QueuedNotice
from memory.errors import MemoryFault

log = logging.getLogger(__name__)

RETRY_SECONDS = 15.0
"""Seconds before another try when state.db could not be written."""


class ChatMigrations:
    """Maps old chat ids to new ones; messages to the new id wait until everything has moved."""

    def __init__(
        self,
        state: State,
        compactor: Compactor,
        *,
        lock: Callable[[ChatId], AbstractAsyncContextManager[None]],
        retry_seconds: float = RETRY_SECONDS,
    ) -> None:
        """`lock` locks a chat."""
        self._state = state
        self._compactor = compactor
        self._lock = lock
        self._retry_seconds = retry_seconds
        self._new_ids: dict[ChatId, ChatId] = {}
        """New ids by old ids."""
        self._running: dict[ChatId, asyncio.Event] = {}
        """By the old id; set once everything has moved, or could not for now."""
        self._is_loaded = False

    # -- which chat something belongs to ---------------------------------------------------------------------

    def current_chat(self, chat: ChatId) -> ChatId:
        """Return the present id of a chat, or of the chat that it is a part of."""
        while (old := _parent_chat(chat)) in self._new_ids:
            chat = chat_migration.map_chat(chat, old, self._new_ids[old])
        return chat

    def translate_message(self, message: IncomingMessage) -> IncomingMessage:
        """Return a message as one of its chat's present id; its own id refers to no message there."""
        while (old := _parent_chat(message.chat)) in self._new_ids:
            before, edit_of = message.chat, message.edit_of
            message = replace(
                message,
                chat=chat_migration.map_chat(before, old, self._new_ids[old]),
                id=chat_migration.id_after_move(before, message.id),
                edit_of=edit_of and chat_migration.id_after_move(before, edit_of),
                handle="",
            )
        return message

    def translate_inbox_message(self, received: InboxMessage) -> InboxMessage:
        """Translate a message of the inbox."""
        message = self.translate_message(received.message)
        return received if message is received.message else replace(received, message=message, shown=())

    def translate_notice(self, notice: QueuedNotice) -> QueuedNotice:
        """Translate a notice."""
        chat = self.current_chat(notice.chat)
        return notice if chat == notice.chat else replace(notice, chat=chat, shown=())

    # -- moving ---------------------------------------------------------------------------------------------

    async def load(self) -> list[ChatId]:
        """Load the known moves, once; return the old ids whose data has not moved completely. Raises StateFault."""
        if self._is_loaded:
            return []
        known = await self._state.read(chat_migration.read_moves)
        self._is_loaded = True
        self._new_ids = {old: new for old, new, _ in known} | self._new_ids
        unfinished = [old for old, _, done in known if not done]
        self._start_migration(*unfinished)
        return unfinished

    async def record(self, old: ChatId, new: ChatId, *, on_new: Callable[[], None]) -> None:
        """Store that a chat has another id; calls `on_new` if that is new. Raises StateFault.

        `current_chat` knows the new id immediately before `on_new` runs, which has to move waiting messages: nothing
        can come in between, so their order stays.
        """
        old, new = _parent_chat(old), _parent_chat(new)
        if new not in (old, self._new_ids.get(old)):
            await run_to_completion(self._save(old, new, on_new))

    async def _save(self, old: ChatId, new: ChatId, on_new: Callable[[], None]) -> None:
        at = self._state.at()
        await self._state.change(lambda db: chat_migration.save_move(db, old, new, at=at))
        if self._new_ids.get(old) == new:  # reported twice at the same time
            return
        self._new_ids.pop(new, None)  # as in state.db: this id is in use again
        self._new_ids[old] = new
        self._start_migration(old)
        on_new()
        log.info("chat %s is now %s", old, new)

    def _start_migration(self, *moved: ChatId) -> None:
        for old in moved:
            self._running.setdefault(old, asyncio.Event())

    async def wait_until_migrated(self, chat: ChatId) -> None:
        """Wait until everything stored under other ids of a chat has moved, or could not for now."""
        for old, event in list(self._running.items()):
            if self.current_chat(old) == _parent_chat(chat):
                await event.wait()

    async def migrate(
        self,
        old: ChatId,
        *,
        wait_until_idle: Callable[[ChatId], Awaitable[None]],
        on_moved: Callable[[ChatId, ChatId], None],
    ) -> None:
        """Move everything stored under an old id of a chat as soon as its running turn has ended. Raises nothing.

        `wait_until_idle` waits for that turn; `on_moved` gets the old and new id of the chat and of each part.
        """
        old = _parent_chat(old)
        self._start_migration(old)
        event = self._running[old]
        try:
            while True:
                try:
                    await self._run_migration(old, wait_until_idle, on_moved)
                except (StateFault, MemoryFault, OSError) as fault:
                    log.error("could not move the data of chat %s yet: %s", old, one_line(str(fault)))
                except Exception:
                    log.exception("could not move the data of chat %s; the next start tries again", old)
                    return
                else:
                    return
                event.set()  # messages are answered meanwhile, and merged with the rest later
                await asyncio.sleep(self._retry_seconds)
        finally:
            event.set()
            self._running.pop(old, None)

    async def _run_migration(
        self,
        old: ChatId,
        wait_until_idle: Callable[[ChatId], Awaitable[None]],
        on_moved: Callable[[ChatId, ChatId], None],
    ) -> None:
        for part in await self._state.read(lambda db: chat_migration.read_parts(db, old)):
            new = self.current_chat(part)
            if new == part:
                return  # the id is in use again
            async with self._lock(new):
                await wait_until_idle(part)
                async with self._lock(part):
                    await self._rename(part, new)
                    on_moved(part, new)
        await self._state.change(lambda db: chat_migration.mark_moved(db, old))

    async def _rename(self, old: ChatId, new: ChatId) -> None:
        if not await self._state.read(lambda db: chat_migration.can_merge(db, old, new)):
            may_flush = await self._compactor.may_flush(old)
            await self._compactor.end_later(old, flush=may_flush, key=f"moved-{old}-{new}")
        await self._state.change(lambda db: chat_migration.move_rows(db, old, new))


def _parent_chat(chat: ChatId) -> ChatId:
    """Return the chat itself, or the chat that this one is a part of."""
    return ChatId(chat.channel, chat.name.partition("/")[0])
