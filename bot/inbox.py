"""The inbox: each message is stored before its platform is told, and stays open until its answer is delivered."""

from collections.abc import Callable, Collection, Iterable, Sequence
from typing import TYPE_CHECKING

from bot.conversations.conversation import Also
from bot.messages import ChatId, IncomingMessage
from bot.process_lock import ProcessLock
from bot.state import inbox
from bot.state.database import State
from bot.state.inbox import InboxMessage, QueuedNotice

if TYPE_CHECKING:
    from apsw import Connection

    from bot.state.conversations import Row


class Inbox:
    """The messages and notices that this process has to answer and deliver. Its methods raise StateFault."""

    def __init__(self, state: State, process_lock: ProcessLock, *, leased: Collection[str] = ()) -> None:
        """`leased`: channels that only this process can own now; a previous owner that seems alive was only halted."""
        self._state = state
        self._process_lock = process_lock
        self._leased = leased

    async def accept(self, message: IncomingMessage) -> InboxMessage | None:
        """Store a message and return it; None if it is already known."""
        owner, at = self._process_lock.token, self._state.at()
        return await self._state.change(lambda db: inbox.add(db, message, owner=owner, at=at))

    async def edit(self, number: int, message: IncomingMessage) -> None:
        """Replace the text of the waiting message with this number by an edit."""
        owner, at = self._process_lock.token, self._state.at()
        await self._state.change(lambda db: inbox.save_edit(db, number, message, owner=owner, at=at))

    async def merge_parts(self, number: int, whole: IncomingMessage, parts: Collection[int]) -> None:
        """Replace a waiting message by one with all its parts; the parts are done."""
        await self._state.change(lambda db: inbox.merge_parts(db, number, whole, parts))

    async def count_attempt(self, *numbers: int) -> None:
        """Count that messages are begun: after too many crashes they are given up."""
        await self._state.change(lambda db: inbox.count_attempts(db, numbers))

    async def uncount_attempt(self, *numbers: int) -> None:
        """Undo one `count_attempt`: the work ended without a crash."""
        await self._state.change(lambda db: inbox.uncount_attempts(db, numbers))

    async def count_notice_attempt(self, number: int) -> None:
        """Count that a notice is about to be shown, like `count_attempt`."""
        await self._state.change(lambda db: inbox.count_notice_attempt(db, number, change=1))

    async def uncount_notice_attempt(self, number: int) -> None:
        """Undo one `count_notice_attempt`."""
        await self._state.change(lambda db: inbox.count_notice_attempt(db, number, change=-1))

    async def claim(self, serves: Callable[[ChatId], bool]) -> tuple[list[InboxMessage], list[QueuedNotice]]:
        """Take over messages and notices of dead processes, for chats that this process serves; in order of arrival."""
        me = self._process_lock.token
        # Read first: nearly always there is nothing, and then nothing need be written.
        if not any(
            owner != me and serves(chat) and not self._is_handled(owner, chat)
            for owner, chat in await self._state.read(inbox.read_owners)
        ):
            return [], []

        def work(db: "Connection") -> tuple[list[InboxMessage], list[QueuedNotice]]:
            messages = [
                each
                for owner, each in inbox.read_undelivered(db)
                if owner != me
                and serves(each.message.chat)
                and not self._is_handled(owner, each.message.chat)
            ]
            notices = [
                each
                for owner, each in inbox.read_undelivered_notices(db)
                if owner != me and serves(each.chat) and not self._is_handled(owner, each.chat)
            ]
            inbox.change_owner(db, [each.number for each in messages], owner=me)
            inbox.change_notices_owner(db, [each.number for each in notices], owner=me)
            return messages, notices

        return await self._state.change(work)

    def _is_handled(self, owner: str, chat: ChatId) -> bool:
        return chat.channel not in self._leased and self._process_lock.is_alive(owner)

    async def record_shown(self, turn: int, shown: Sequence[str]) -> None:
        """Store which messages of the platform show a reply."""
        await self._state.change(lambda db: inbox.save_shown(db, turn, shown))

    async def mark_delivered(self, turn: int) -> None:
        """Store that a reply was delivered; every message that it answers is done."""
        await self._state.change(lambda db: inbox.mark_delivered(db, turn))

    async def record_notice_shown(self, number: int, shown: Sequence[str]) -> None:
        """Store which messages of the platform show a notice."""
        await self._state.change(lambda db: inbox.save_notice_shown(db, number, shown))

    async def mark_notice_delivered(self, number: int) -> None:
        """Store that a notice was delivered."""
        await self._state.change(lambda db: inbox.mark_notices_delivered(db, [number]))

    async def record_answer(self, turn: int, reply: str) -> None:
        """Store a reply that is not part of a conversation."""
        await self._state.change(lambda db: inbox.save_reply(db, turn, reply))


def mark_begun(turn: int, numbers: Iterable[int]) -> Also:
    """Return a function that stores, along with the entries of these messages, that the turn has begun.

    The last rows that it gets have to be those entries.
    """
    wanted = list(numbers)

    def work(db: "Connection", rows: "Sequence[Row]") -> None:
        mine = rows[len(rows) - len(wanted) :]
        heard = [(number, row.conversation, row.seq) for number, row in zip(wanted, mine, strict=True)]
        inbox.mark_running(db, turn, heard)

    return work


def mark_progress(turn: int) -> Also:
    """Return a function that stores, along with a step, that the turn has made progress."""
    return lambda db, _: inbox.reset_attempts(db, turn)


def mark_answered(turn: int, reply: str) -> Also:
    """Return a function that stores, along with the last step, that the turn's reply is known."""
    return lambda db, _: inbox.save_reply(db, turn, reply)
