"""The turns that are being answered, one in each chat."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass

from bot.messages import ChatId
from bot.reply_task import ReplyTask
from bot.turn_context import TurnContext


@dataclass(frozen=True, slots=True, eq=False)
class RunningTurn:
    """A chat's turn from its beginning to its end, including its waits for disk space."""

    turn: ReplyTask
    context: TurnContext
    is_stopped: asyncio.Event
    """Set if the turn was stopped while nothing of it ran: before it began, or while it waits for disk space."""

    def stop(self) -> bool:
        """Stop the turn now; return False if it has already ended."""
        if self.turn.stop():
            return True
        if self.turn.goes_on:
            self.is_stopped.set()
        return self.turn.goes_on


class RunningTurns:
    """The turns that run now, one in each chat."""

    def __init__(self, current_chat: Callable[[ChatId], ChatId]) -> None:
        """`current_chat` returns the id that a chat has now."""
        self._current_chat = current_chat
        self._turns: dict[ChatId, RunningTurn] = {}

    def put(self, chat: ChatId, turn: RunningTurn) -> None:
        """Record the turn that runs in a chat, also where it takes the place of an earlier try."""
        self._turns[chat] = turn

    def remove(self, chat: ChatId) -> None:
        """Forget the turn of a chat, which has ended."""
        del self._turns[chat]

    def park(self) -> None:
        """Mark all turns as parked: the next start continues them."""
        for running in self._turns.values():
            running.context.parked = True

    def find(self, chat: ChatId) -> RunningTurn | None:
        """Return the turn that runs in a chat, also one that began under an earlier id of the chat."""
        before = (each for old, each in self._turns.items() if self._current_chat(old) == chat)
        return self._turns.get(chat) or next(before, None)

    def stop_answering(self, chat: ChatId, message: str) -> bool:
        """Stop the turn that answers a message which is being replaced; return whether there was one.

        A turn that answers other messages as well goes on, since those would get no answer.
        """
        running = self.find(chat)
        if running is None:
            return False
        context = running.context
        alone = context.answers == [message]  # or an earlier edit of it
        again = len(context.answers) == 1 and context.edit_of == message
        return (alone or again) and running.stop()

    async def wait_until_idle(self, chat: ChatId) -> None:
        """Wait until the turn that runs in a chat has ended."""
        if chat in self._turns:
            await self._turns[chat].turn.wait()
