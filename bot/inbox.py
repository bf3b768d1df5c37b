"""The journal of messages: each is on disk before its platform is told, and open until its answer is delivered."""

from collections.abc import Callable, Collection, Iterable, Sequence
from typing import TYPE_CHECKING

from bot.conversations.conversation import Also
from bot.messages import ChatId, Choice, IncomingMessage
from bot.presence import Presence
from bot.state import inbox
from bot.state.database import State
from bot.state.inbox import Notice, Received

if TYPE_CHECKING:
    from apsw import Connection

    from bot.state.conversations import Row


class Inbox:
    """What is to be answered and delivered by this process."""

    def __init__(self, state: State, presence: Presence, *, leased: Collection[str] = ()) -> None:
        """`leased`: channels that no other process of this workspace can have, even if it lives still, as halted."""
        self._state = state
        self._presence = presence
        self._leased = leased

    async def accept(self, message: IncomingMessage) -> Received | None:
        """Take a message in; None where it was delivered before. It is on disk when this returns."""
        owner, at = self._presence.token, self._state.at()
        return await self._state.change(lambda db: inbox.add(db, message, owner=owner, at=at))

    async def edit(self, number: int, message: IncomingMessage) -> None:
        """Take in an edit by putting its text in the place of the message with that number, which still waits."""
        owner, at = self._presence.token, self._state.at()
        await self._state.change(lambda db: inbox.edit(db, number, message, owner=owner, at=at))

    async def gather(self, number: int, whole: IncomingMessage, parts: Collection[int]) -> None:
        """Keep a message that waits together with what came along with its other parts; those are done with."""
        await self._state.change(lambda db: inbox.gather(db, number, whole, parts))

    async def tried(self, *numbers: int) -> None:
        """Note that messages are begun; what this process dies over is begun again so often and no more."""
        await self._state.change(lambda db: inbox.tried(db, numbers))

    async def not_tried(self, *numbers: int) -> None:
        """Take back one `tried` of messages: what was begun has ended without a crash."""
        await self._state.change(lambda db: inbox.not_tried(db, numbers))

    async def notice_tried(self, number: int) -> None:
        """Note that a notice is about to be shown, as `tried` does for messages."""
        await self._state.change(lambda db: inbox.notice_tried(db, number, change=1))

    async def notice_not_tried(self, number: int) -> None:
        """Take back one `notice_tried`."""
        await self._state.change(lambda db: inbox.notice_tried(db, number, change=-1))

    async def claim(self, serves: Callable[[ChatId], bool]) -> tuple[list[Received], list[Notice]]:
        """Take up what nobody who lives sees to, of the chats that this process serves; in order of arrival."""
        me = self._presence.token
        # Told by reading alone first: nearly always there is nothing, and nothing need be written.
        if not any(
            owner != me and serves(chat) and not self._is_seen_to(owner, chat)
            for owner, chat in await self._state.read(inbox.owners)
        ):
            return [], []

        def work(db: "Connection") -> tuple[list[Received], list[Notice]]:
            messages = [
                each
                for owner, each in inbox.unfinished(db)
                if owner != me
                and serves(each.message.chat)
                and not self._is_seen_to(owner, each.message.chat)
            ]
            notices = [
                each
                for owner, each in inbox.undelivered(db)
                if owner != me and serves(each.chat) and not self._is_seen_to(owner, each.chat)
            ]
            inbox.take_over(db, [each.number for each in messages], owner=me)
            inbox.take_over_notices(db, [each.number for each in notices], owner=me)
            return messages, notices

        return await self._state.change(work)

    def _is_seen_to(self, owner: str, chat: ChatId) -> bool:
        return chat.channel not in self._leased and self._presence.is_alive(owner)

    async def put(
        self, chat: ChatId, text: str, *, key: str, choices: Sequence[Choice] = ()
    ) -> Notice | None:
        """Take in what is to be told a chat without being asked; None where that was done before."""
        owner, at = self._presence.token, self._state.at()
        return await self._state.change(
            lambda db: inbox.put(db, str(chat), text, key=key, owner=owner, at=at, choices=choices)
        )

    async def show(self, turn: int, shown: Sequence[str]) -> None:
        """Note which messages of the platform show a reply."""
        await self._state.change(lambda db: inbox.show(db, turn, shown))

    async def deliver(self, turn: int) -> None:
        """Note that a reply has been delivered: all that it answers is done."""
        await self._state.change(lambda db: inbox.deliver(db, turn))

    async def show_notice(self, number: int, shown: Sequence[str]) -> None:
        """Note which messages of the platform show a notice."""
        await self._state.change(lambda db: inbox.show_notice(db, number, shown))

    async def deliver_notice(self, number: int) -> None:
        """Note that a notice has been delivered."""
        await self._state.change(lambda db: inbox.deliver_notices(db, [number]))

    async def answer(self, turn: int, reply: str) -> None:
        """Note a reply that stands in no conversation."""
        await self._state.change(lambda db: inbox.answer(db, turn, reply))


def begun(turn: int, numbers: Iterable[int]) -> Also:
    """What notes, with the entries that messages become, that the turn has begun; the last rows are theirs."""
    wanted = list(numbers)

    def work(db: "Connection", rows: "Sequence[Row]") -> None:
        mine = rows[len(rows) - len(wanted) :]
        heard = [(number, row.conversation, row.seq) for number, row in zip(wanted, mine, strict=True)]
        inbox.begin(db, turn, heard)

    return work


def got_on(turn: int) -> Also:
    """What notes, with a step that is on disk, that a turn gets on."""
    return lambda db, _: inbox.got_on(db, turn)


def answered(turn: int, reply: str) -> Also:
    """What notes, with the last step of a turn, that its reply is known."""
    return lambda db, _: inbox.answer(db, turn, reply)
