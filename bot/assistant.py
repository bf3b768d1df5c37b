"""The front door: who may come in, command or turn, one thing at a time per chat, and how to stop."""

import asyncio
import logging
from collections import OrderedDict, deque
from collections.abc import AsyncGenerator, Callable, Coroutine, Sequence
from contextlib import aclosing
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bot import phrases
from bot.access import Standing, standing_of
from bot.chat_lock import chat_locked
from bot.commands.command import Command, CommandContext, run_command, split_command
from bot.conversation import Conversation
from bot.messages import Adapter, ChatId, IncomingMessage, ReplyPart
from bot.model_trouble import no_answer
from bot.models.errors import ModelError
from bot.plain_text import one_line
from bot.state.database import State, StateFault
from bot.turn import Turn
from memory.errors import MemoryFault

if TYPE_CHECKING:
    from bot.agent import Agent
    from bot.config import AccessSettings
    from bot.models.fallback import FallbackModel
    from bot.upkeep import Upkeep
    from memory.memory import Memory

log = logging.getLogger(__name__)

TURNS_AT_ONCE = 128
"""Chats that are answered at the same time; the others wait for their turn."""
CONVERSATIONS_KEPT = 64
"""Conversations kept in memory; the others are read again from disk when they go on."""
RENDERING_GRACE = 1.0
"""Seconds that a stopped turn gets at the end to be shown as stopped."""


class Assistant:
    """Takes messages from every channel and has the replies rendered where they belong."""

    def __init__(
        self,
        *,
        agent: "Agent",
        guest_agent: "Agent",
        access: "AccessSettings",
        commands: Sequence[Command],
        memory: "Memory",
        state: State,
        model: "FallbackModel",
        locks: Path,
        upkeep: "Upkeep | None" = None,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
        turns_at_once: int = TURNS_AT_ONCE,
    ) -> None:
        """`guest_agent` answers those who may not use the memory; `locks` is a folder that all processes share."""
        self._agent = agent
        self._guest_agent = guest_agent
        self._access = access
        self._state = state
        self._locks = locks
        self._context = CommandContext(
            commands=commands, memory=memory, state=state, model=model, stop=self.stop, upkeep=upkeep, now=now
        )
        self._at_once = {command.name for command in commands if command.at_once}
        self._adapters: dict[str, Adapter] = {}
        self._conversations: OrderedDict[ChatId, Conversation] = OrderedDict()
        self._lanes: dict[ChatId, deque[IncomingMessage]] = {}
        self._turns: dict[ChatId, Turn] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._room = asyncio.Semaphore(turns_at_once)

    def attach(self, adapter: Adapter) -> None:
        """Make a channel's adapter the one that renders the replies to its messages."""
        self._adapters[adapter.name] = adapter

    async def accept(self, message: IncomingMessage) -> None:
        """Take a message in; it is answered after those that its chat is still waiting for.

        `/stop` and its like do not wait. From here on the message is the assistant's to answer.
        """
        command = split_command(message.text)
        if command and command[0] in self._at_once:
            self._start(self._deliver(message, self._turn(message)))
        elif message.chat in self._lanes:
            self._lanes[message.chat].append(message)
        else:
            self._lanes[message.chat] = deque([message])
            self._start(self._work_off(message.chat))

    async def answer(self, message: IncomingMessage) -> AsyncGenerator[ReplyPart, None]:
        """Yield the reply to a message as it grows.

        Raises ModelError, MemoryFault, StateFault where there is none.
        """
        standing = standing_of(message.sender, self._access)
        again = False
        if standing is Standing.STRANGER:
            yield ReplyPart(phrases.STRANGER, final=True)
            return
        if command := split_command(message.text):
            name, rest = command
            reply = await run_command(name, rest, message=message, standing=standing, context=self._context)
            if isinstance(reply, str):
                yield ReplyPart(reply, final=True)
                return
            again = True
        elif not message.text.strip():
            yield ReplyPart(phrases.NOTHING_SAID, final=True)
            return
        async with aclosing(self._turn_in(message, standing, again=again)) as parts:
            async for part in parts:
                yield part

    async def _turn_in(
        self, message: IncomingMessage, standing: Standing, *, again: bool
    ) -> AsyncGenerator[ReplyPart, None]:
        """Answer a message, or, `again`, what was said before it."""
        agent = self._agent if standing >= Standing.ALLOWED else self._guest_agent
        conversation = self._conversation(message.chat)
        async with chat_locked(self._locks, message.chat):
            if again and not await conversation.retract():
                yield ReplyPart(phrases.NOTHING_TO_RETRY, final=True)
                return
            prefer = await self._state.chosen_model(str(message.chat))
            if again:
                turn = agent.go_on(conversation, prefer=prefer)
            else:
                turn = agent.run_turn(conversation, message.text, prefer=prefer)
            async with aclosing(turn) as parts:
                async for part in parts:
                    yield part

    async def stop(self, chat: ChatId) -> bool:
        """End the turn that runs in a chat, at once; return whether there was one."""
        turn = self._turns.get(chat)
        return turn is not None and turn.stop()

    async def idle(self) -> None:
        """Wait until every message that was accepted is answered."""
        while self._tasks:
            await self._wait(None)

    async def close(self, patience: float) -> None:
        """Let what runs come to its end for `patience` seconds, then stop it; what was said is on disk."""
        await self._wait(patience)
        if waiting := sum(map(len, self._lanes.values())):
            log.warning("messages that waited for their turn and are not answered: %d", waiting)
        for lane in self._lanes.values():
            lane.clear()
        for turn in self._turns.values():
            turn.stop()
        await self._wait(RENDERING_GRACE)
        for task in self._tasks:
            task.cancel()
        await self._wait(None)

    # -- lanes ----------------------------------------------------------------------------------------------

    def _start(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _wait(self, seconds: float | None) -> None:
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=seconds)

    async def _work_off(self, chat: ChatId) -> None:
        """Answer what waits in a chat's lane, in order; the lane goes when it is empty."""
        lane = self._lanes[chat]
        try:
            while lane:
                async with self._room:
                    if not lane:  # cleared while it waited for room
                        break
                    message = lane.popleft()
                    self._turns[chat] = turn = self._turn(message)
                    await self._deliver(message, turn)
        finally:
            self._turns.pop(chat, None)
            del self._lanes[chat]

    def _turn(self, message: IncomingMessage) -> Turn:
        return Turn(self.answer(message), in_words=lambda error: self._in_words(error, message))

    async def _deliver(self, message: IncomingMessage, turn: Turn) -> None:
        """Have one reply rendered; whatever goes wrong ends here, so that the lane goes on.

        A turn whose reply cannot be shown still comes to its end: what was to be noted is noted.
        """
        try:
            try:
                async with aclosing(turn.parts()) as parts:
                    await self._adapters[message.chat.channel].render(message, parts)
            except (Exception, asyncio.CancelledError) as error:
                if isinstance(error, asyncio.CancelledError) and _being_cancelled():
                    raise
                log.exception(
                    "the reply to message %s of %s was not delivered", one_line(message.id), message.chat
                )
            await turn.ended()
        finally:
            await turn.end()

    def _in_words(self, error: BaseException, message: IncomingMessage) -> str:
        """Say what a person is told of an error; the details go to the log."""
        match error:
            case ModelError():
                log.warning("no model answered in %s: %s", message.chat, one_line(str(error)))
                return no_answer(error)
            case MemoryFault():
                return str(error)
            case StateFault():
                log.error("%s", error)
                owner = standing_of(message.sender, self._access) is Standing.OWNER
                return str(error) if owner else phrases.CANNOT_KEEP
            case _:
                log.error("a turn in %s failed", message.chat, exc_info=error)
                return phrases.OUR_FAULT

    def _conversation(self, chat: ChatId) -> Conversation:
        conversation = self._conversations.pop(chat, None) or Conversation(self._state, chat)
        self._conversations[chat] = conversation
        while len(self._conversations) > CONVERSATIONS_KEPT:
            self._conversations.popitem(last=False)
        return conversation


def _being_cancelled() -> bool:
    """Tell a cancellation of this task from one that comes out of what it awaits, such as a lost connection's."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0
