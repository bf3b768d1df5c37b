"""The journal of messages: each is on disk before its platform is told, and open until its answer is delivered."""

from collections.abc import Callable, Collection, Iterable, Sequence
from typing import TYPE_CHECKING

from bot.conversations.conversation import Also
from bot.messages import ChatId, Choice, IncomingMessage
from bot.process_lock import ProcessLock
from bot.state import inbox
from bot.state.database import State
from bot.state.inbox import InboxMessage, QueuedNotice

if TYPE_CHECKING:
    from apsw import Connection

    from bot.state.conversations import Row


class Inbox:
    """What is to be answered and delivered by this process."""

    def __init__(self, state: State, presence: ProcessLock, *, leased: Collection[str] = ()) -> None:
        """`leased`: channels that no other process of this workspace can have, even if it lives still, as halted."""
        self._state = state
        self._presence = presence
        self._leased = leased

    async def accept(self, message: IncomingMessage) -> InboxMessage | None:
        """Take a message in; None where it was delivered before. It is on disk when this returns."""
        owner, at = self._presence.token, self._state.at()
        return await self._state.change(lambda db: inbox.add(db, message, owner=owner, at=at))

    async def edit(self, number: int, message: IncomingMessage) -> None:
        """Take in an edit by putting its text in the place of the message with that number, which still waits."""
        owner, at = self._presence.token, self._state.at()
        await self._state.change(lambda db: inbox.save_edit(db, number, message, owner=owner, at=at))

    async def merge_parts(self, number: int, whole: IncomingMessage, parts: Collection[int]) -> None:
        """Keep a message that waits together with what came along with its other parts; those are done with."""
        await self._state.change(lambda db: inbox.merge_parts(db, number, whole, parts))

    async def count_attempt(self, *numbers: int) -> None:
        """Note that messages are begun; what this process dies over is begun again so often and no more."""
        await self._state.change(lambda db: inbox.tried(db, numbers))

    async def uncount_attempt(self, *numbers: int) -> None:
        """Take back one `tried` of messages: what was begun has ended without a crash."""
        await self._state.change(lambda db: inbox.not_tried(db, numbers))

    async def notice_tried(self, number: int) -> None:
        """Note that a notice is about to be shown, as `tried` does for messages."""
        await self._state.change(lambda db: inbox.notice_tried(db, number, change=1))

    async def notice_not_tried(self, number: int) -> None:
        """Take back one `notice_tried`."""
        await self._state.change(lambda db: inbox.notice_tried(db, number, change=-1))

    async def claim(self, serves: Callable[[ChatId], bool]) -> tuple[list[InboxMessage], list[QueuedNotice]]:
        """Take up what nobody who lives sees to, of the chats that this process serves; in order of arrival."""
        me = self._presence.token
        # Told by reading alone first: nearly always there is nothing, and nothing need be written.
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
        return chat.channel not in self._leased and self._presence.is_alive(owner)

    async def queue_notice(
        self, chat: ChatId, text: str, *, key: str, choices: Sequence[Choice] = ()
    ) -> QueuedNotice | None:
        """Take in what is to be told a chat without being asked; None where that was done before."""
        owner, at = self._presence.token, self._state.at()
        return await self._state.change(
            lambda db: inbox.add_notice(db, str(chat), text, key=key, owner=owner, at=at, choices=choices)
        )

    async def record_shown(self, turn: int, shown: Sequence[str]) -> None:
        """Note which messages of the platform show a reply."""
        await self._state.change(lambda db: inbox.save_shown(db, turn, shown))

    async def mark_delivered(self, turn: int) -> None:
        """Note that a reply has been delivered: all that it answers is done."""
        await self._state.change(lambda db: inbox.mark_delivered(db, turn))

    async def record_notice_shown(self, number: int, shown: Sequence[str]) -> None:
        """Note which messages of the platform show a notice."""
        await self._state.change(lambda db: inbox.save_notice_shown(db, number, shown))

    async def mark_notice_delivered(self, number: int) -> None:
        """Note that a notice has been delivered."""
        await self._state.change(lambda db: inbox.mark_notices_delivered(db, [number]))

    async def record_answer(self, turn: int, reply: str) -> None:
        """Note a reply that stands in no conversation."""
        await self._state.change(lambda db: inbox.save_reply(db, turn, reply))


def mark_begun(turn: int, numbers: Iterable[int]) -> Also:
    """What notes, with the entries that messages become, that the turn has begun; the last rows are theirs."""
    wanted = list(numbers)

    def work(db: "Connection", rows: "Sequence[Row]") -> None:
        mine = rows[len(rows) - len(wanted) :]
        heard = [(number, row.conversation, row.seq) for number, row in zip(wanted, mine, strict=True)]
        inbox.mark_running(db, turn, heard)

    return work


def mark_progress(turn: int) -> Also:
    """What notes, with a step that is on disk, that a turn gets on."""
    return lambda db, _: inbox.reset_attempts(db, turn)


def mark_answered(turn: int, reply: str) -> Also:
    """What notes, with the last step of a turn, that its reply is known."""
    return lambda db, _: inbox.save_reply(db, turn, reply)
