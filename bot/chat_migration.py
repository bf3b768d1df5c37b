"""Chats that their platform calls by another id from now on: what is kept of them goes over, and nothing is lost."""

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
"""After which it is tried again to take over what state.db had no room for."""


class ChatMigrations:
    """Which chat goes by which id. What is said in the new one waits until all has gone over."""

    def __init__(
        self,
        state: State,
        compactor: Compactor,
        *,
        hold: Callable[[ChatId], AbstractAsyncContextManager[None]],
        again_seconds: float = RETRY_SECONDS,
    ) -> None:
        """`hold` keeps everybody else from a chat."""
        self._state = state
        self._compactor = compactor
        self._hold = hold
        self._again_seconds = again_seconds
        self._new: dict[ChatId, ChatId] = {}
        """By the old id."""
        self._under_way: dict[ChatId, asyncio.Event] = {}
        """By the old id; set once all has gone over, or could not for now."""
        self._known = False

    # -- where things belong --------------------------------------------------------------------------------

    def current_chat(self, chat: ChatId) -> ChatId:
        """The id by which a chat, or the one that it is a part of, goes now."""
        while (old := _parent_chat(chat)) in self._new:
            chat = chat_migration.map_chat(chat, old, self._new[old])
        return chat

    def translate_message(self, message: IncomingMessage) -> IncomingMessage:
        """Give a message as one of the chat in which it is answered; its own id is no message there."""
        while (old := _parent_chat(message.chat)) in self._new:
            before, edit_of = message.chat, message.edit_of
            message = replace(
                message,
                chat=chat_migration.map_chat(before, old, self._new[old]),
                id=chat_migration.id_after_move(before, message.id),
                edit_of=edit_of and chat_migration.id_after_move(before, edit_of),
                handle="",
            )
        return message

    def translate_inbox_message(self, received: InboxMessage) -> InboxMessage:
        """The same for a message that is in the inbox."""
        message = self.translate_message(received.message)
        return received if message is received.message else replace(received, message=message, shown=())

    def translate_notice(self, notice: QueuedNotice) -> QueuedNotice:
        """The same for what nobody asked for."""
        chat = self.current_chat(notice.chat)
        return notice if chat == notice.chat else replace(notice, chat=chat, shown=())

    # -- moving ---------------------------------------------------------------------------------------------

    async def load(self) -> list[ChatId]:
        """Read once what is known from before; give the old ids of which not all has gone over yet."""
        if self._known:
            return []
        known = await self._state.read(chat_migration.moves)
        self._known = True
        self._new = {old: new for old, new, _ in known} | self._new
        unfinished = [old for old, _, done in known if not done]
        self._start_migration(*unfinished)
        return unfinished

    async def record(self, old: ChatId, new: ChatId, *, noted: Callable[[], None]) -> None:
        """Note that a chat has another id; on disk when this returns. `noted` is called where that is news.

        From that moment on, and not a step earlier, `current_chat` knows of it: what waits is put elsewhere before
        anything else happens, or it would get out of order.
        """
        old, new = _parent_chat(old), _parent_chat(new)
        if new not in (old, self._new.get(old)):
            await run_to_completion(self._note(old, new, noted))

    async def _note(self, old: ChatId, new: ChatId, noted: Callable[[], None]) -> None:
        at = self._state.at()
        await self._state.change(lambda db: chat_migration.save_move(db, old, new, at=at))
        if self._new.get(old) == new:  # told twice at the same time
            return
        self._new.pop(new, None)  # as in state.db: it lives
        self._new[old] = new
        self._start_migration(old)
        noted()
        log.info("the chat %s is %s from now on", old, new)

    def _start_migration(self, *moved: ChatId) -> None:
        for old in moved:
            self._under_way.setdefault(old, asyncio.Event())

    async def wait_until_migrated(self, chat: ChatId) -> None:
        """Wait until all that was kept of a chat by another id has gone over, or could not for now."""
        for old, event in list(self._under_way.items()):
            if self.current_chat(old) == _parent_chat(chat):
                await event.wait()

    async def migrate(
        self,
        old: ChatId,
        *,
        quiet: Callable[[ChatId], Awaitable[None]],
        gone_over: Callable[[ChatId, ChatId], None],
    ) -> None:
        """Have all that is kept of a chat by an old id go over, as soon as what runs there has ended.

        `quiet` waits for that; `gone_over` is told old and new id of the chat and of each part. Raises nothing.
        """
        old = _parent_chat(old)
        self._start_migration(old)
        event = self._under_way[old]
        try:
            while True:
                try:
                    await self._run_migration(old, quiet, gone_over)
                except (StateFault, MemoryFault, OSError) as fault:
                    log.error("what is kept of %s has not gone over yet: %s", old, one_line(str(fault)))
                except Exception:
                    log.exception(
                        "what is kept of %s has not gone over; it is tried with the next start", old
                    )
                    return
                else:
                    return
                event.set()  # what is said meanwhile is answered, and joined with the rest later
                await asyncio.sleep(self._again_seconds)
        finally:
            event.set()
            self._under_way.pop(old, None)

    async def _run_migration(
        self,
        old: ChatId,
        quiet: Callable[[ChatId], Awaitable[None]],
        gone_over: Callable[[ChatId, ChatId], None],
    ) -> None:
        for part in await self._state.read(lambda db: chat_migration.read_parts(db, old)):
            new = self.current_chat(part)
            if new == part:
                return  # it lives again
            async with self._hold(new):
                await quiet(part)
                async with self._hold(part):
                    await self._rename(part, new)
                    gone_over(part, new)
        await self._state.change(lambda db: chat_migration.mark_moved(db, old))

    async def _rename(self, old: ChatId, new: ChatId) -> None:
        if not await self._state.read(lambda db: chat_migration.can_merge(db, old, new)):
            may_flush = await self._compactor.may_flush(old)
            await self._compactor.end_later(old, flush=may_flush, key=f"moved-{old}-{new}")
        await self._state.change(lambda db: chat_migration.move_rows(db, old, new))


def _parent_chat(chat: ChatId) -> ChatId:
    """The chat of which this one may be a part."""
    return ChatId(chat.channel, chat.name.partition("/")[0])
