"""The front door: who may come in, what is done with a message, how to stop it, and what goes on by itself."""

import asyncio
import logging
from collections import OrderedDict, deque
from collections.abc import AsyncGenerator, Sequence
from contextlib import AbstractAsyncContextManager, aclosing, suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from bot import phrases
from bot.access import Access, Standing
from bot.assignment import Assignment
from bot.chat_lock import chat_locked
from bot.commands.command import CommandContext, run_command, split_command
from bot.conversation import Conversation
from bot.delivery import Delivery
from bot.inbox import Inbox
from bot.lanes import Lanes
from bot.limits import DailyBudget, MessageRate
from bot.messages import Adapter, ChatId, IncomingMessage, PersonId, ReplyPart
from bot.model_trouble import no_answer
from bot.models.errors import ModelError
from bot.plain_text import one_line
from bot.recall import recall
from bot.state.database import State, StateFault, to_the_end
from bot.state.inbox import Notice, Received
from bot.tasks import Tasks
from bot.turn import Turn
from memory.errors import MemoryFault

if TYPE_CHECKING:
    from bot.agent import Agent
    from bot.compaction import Compactor
    from memory.memory import Memory

log = logging.getLogger(__name__)

TURNS_AT_ONCE = 256
"""Chats that are answered at the same time; the others wait for their turn."""
CONVERSATIONS_KEPT = 64
"""Conversations kept in memory; the others are read again from disk when they go on."""
ATTEMPTS = 10
"""How often a message is taken up again by a new process before it is taken for what ends the processes."""
ROUND_SECONDS = 15.0
"""How often it is looked for what other processes, dead or alive, have left to this one."""
DISK_PAUSES = (2.0, 10.0, 30.0, 60.0)
"""Seconds after which a turn is tried again that state.db had no room for; the last one again and again."""
PARKING_GRACE = 1.5
"""Seconds that parked turns get to let go of what they use."""


@dataclass(frozen=True, slots=True)
class House:
    """What the assistant is made of."""

    agent: "Agent"
    guest_agent: "Agent"
    """Answers those who may not use the memory."""
    access: Access
    context: CommandContext
    memory: "Memory"
    state: State
    inbox: Inbox
    compactor: "Compactor"
    rate: MessageRate
    budget: DailyBudget
    locks: Path
    """A folder that all processes share."""


class Assistant:
    """Takes messages from every channel and has the replies rendered where they belong."""

    def __init__(
        self,
        house: House,
        *,
        delivery: Delivery,
        woken: asyncio.Event | None = None,
        turns_at_once: int = TURNS_AT_ONCE,
        disk_pauses: Sequence[float] = DISK_PAUSES,
    ) -> None:
        """`woken` is set by whoever has put something into state.db that is to be taken up."""
        self._house = house
        self._context = replace(house.context, stop=self.stop)
        self._at_once = {command.name for command in house.context.commands if command.at_once}
        self._delivery = delivery
        self._disk_pauses = disk_pauses
        self._tasks = Tasks()
        self._lanes: Lanes[Received] = Lanes(self._handle, tasks=self._tasks, at_once=turns_at_once)
        self._notices: Lanes[Notice] = Lanes(self._tell, tasks=self._tasks, at_once=turns_at_once)
        self._conversations: OrderedDict[ChatId, Conversation] = OrderedDict()
        self._turns: dict[ChatId, tuple[Turn, Assignment]] = {}
        self._joined: dict[int, list[str]] = {}
        """By turn: ids of the messages beside the first that a turn of an earlier process had heard."""
        self._asides: dict[ChatId, str] = {}
        """What is to be told in a line below the next reply."""
        self._woken = woken or asyncio.Event()
        self._leaving = False

    def attach(self, adapter: Adapter) -> None:
        """Make a channel's adapter the one that shows what is said there."""
        self._delivery.attach(adapter)

    def serves(self, chat: ChatId) -> bool:
        """Whether anything can be shown in this chat by this process."""
        return self._delivery.serves(chat)

    # -- what comes in ------------------------------------------------------------------------------------

    async def accept(self, message: IncomingMessage) -> None:
        """Take a message in; it is answered after those that its chat is still waiting for.

        When this returns the message is on disk, and the assistant's to answer, also after a crash; raises
        StateFault where it cannot be. `/stop` and its like do not wait. A message that was accepted before, one
        that is not meant for the bot, and one of a stranger go no further.
        """
        if message.in_room and not message.addressed:
            return
        standing = await self._house.access.standing_of(message.sender)
        if refusal := await self._refusal(message, standing):
            self._tasks.start(self._delivery.passing(message, refusal))
            return
        if standing is Standing.STRANGER or (standing < Standing.OWNER and self._is_too_much(message)):
            return
        first = False
        if message.edit_of:
            found = await self._house.inbox.find(message.chat, message.edit_of)
            if found and found[1] == "waiting" and await self._change_waiting(found[0], message):
                return
            first = found is not None and self._stop_answering(message.chat, message.edit_of)
        received = await self._house.inbox.accept(message)
        if received is not None and not self._leaving:
            self._take_up(received, first=first)

    async def take_up(self) -> None:
        """Go on with what an earlier process, or one that has no channel for it, has left."""
        messages, notices = await self._house.inbox.claim(self.serves)
        for each in messages:
            if each.turn and each.turn != each.number:
                self._joined.setdefault(each.turn, []).append(each.message.id)
        for each in messages:
            if not each.turn or each.turn == each.number:
                self._take_up(each)
        for notice in notices:
            self._notices.put(notice.chat, notice)

    async def look_after(self) -> None:
        """Do what nobody asks for, until cancelled: messages and notices of others, conversations that lie idle."""
        while True:
            self._woken.clear()
            try:
                await self.take_up()
                await self._delivery.catch_up()
                await self._house.compactor.look_after(self._hold)
            except (StateFault, MemoryFault, ModelError) as error:
                log.warning("%s", one_line(str(error)))
            except Exception:
                log.exception("looking after the conversations broke off; it goes on")
            with suppress(TimeoutError):
                await asyncio.wait_for(self._woken.wait(), ROUND_SECONDS)

    async def _refusal(self, message: IncomingMessage, standing: Standing) -> str:
        if standing is Standing.STRANGER:
            return await self._house.access.greet(message)
        return ""

    def _is_too_much(self, message: IncomingMessage) -> bool:
        """Whether a person has sent more than one may in a minute; tells it once."""
        rate = self._house.rate
        if not (wait := rate.wait(message.sender, message.sent_at)):
            return False
        if rate.is_to_be_told(message.sender):
            text = phrases.TOO_MANY_MESSAGES.format(seconds=wait)
            self._tasks.start(self._delivery.passing(message, text))
        return True

    async def _change_waiting(self, number: int, message: IncomingMessage) -> bool:
        """Put another text in the place of one that waits."""
        lane = self._lanes.waiting(message.chat)
        for place, each in enumerate(lane):
            if each.number == number:
                changed = replace(each.message, text=message.text)
                if await self._house.inbox.change_text(number, changed):
                    for place, waiting in enumerate(lane):  # it may have moved up meanwhile
                        if waiting.number == number:
                            lane[place] = replace(waiting, message=changed)
                            return True
        return False

    def _stop_answering(self, chat: ChatId, message: str) -> bool:
        """Stop the turn that answers a message, since another is put in its place; tell whether there was one."""
        turn, assignment = self._turns.get(chat, (None, None))
        return turn is not None and assignment is not None and message in assignment.answers and turn.stop()

    def _take_up(self, received: Received, *, first: bool = False) -> None:
        command = split_command(received.message.text)
        if command and command[0] in self._at_once:
            self._tasks.start(self._handle_beside(received))
        else:
            self._lanes.put(received.message.chat, received, first=first)

    # -- one message, or several in a row -----------------------------------------------------------------

    async def _handle_beside(self, received: Received) -> None:
        """Answer a command that waits for nothing that its chat is busy with."""
        turn = self._made(received, self._assignment(received, deque()))
        if await self._delivery.reply(received, turn, shown=list(received.shown)):
            await self._delivery.done(received.number)

    async def _handle(self, received: Received, behind: deque[Received]) -> None:
        """Have a message answered and the reply delivered; whatever goes wrong ends here, so that the lane goes on."""
        message = received.message
        assignment, shown = self._assignment(received, behind), list(received.shown)
        pauses = list(self._disk_pauses)
        while True:
            turn = self._made(received, assignment)
            self._turns[message.chat] = turn, assignment
            try:
                delivered = await self._delivery.reply(received, turn, shown=shown)
            finally:
                await turn.end()
                del self._turns[message.chat]
            if not (isinstance(turn.error, StateFault) and pauses and not message.alone):
                break
            # There was no room on the disk. What was heard is there, and the turn goes on where it broke off.
            await asyncio.sleep(pauses[0] if len(pauses) == 1 else pauses.pop(0))
        if delivered:
            await self._delivery.done(received.number)
        if assignment.since is not None:
            await self._afterwards(message.chat, assignment)

    def _made(self, received: Received, assignment: Assignment) -> Turn:
        in_words = partial(self._in_words, received.message)
        return Turn(self._reply(received, assignment), in_words=in_words, answers=assignment.answers)

    def _assignment(self, received: Received, behind: deque[Received]) -> Assignment:
        message = received.message
        assignment = Assignment(
            message.chat,
            message.sender,
            turn=received.number,
            answers=[message.id, *self._joined.pop(received.number, ())],
            take=partial(_alike, message, behind),
        )
        if received.state == "running" and received.heard is not None:
            assignment.since = received.heard - 1
            assignment.conversation = received.conversation
        return assignment

    async def _reply(self, received: Received, assignment: Assignment) -> AsyncGenerator[ReplyPart, None]:
        """Yield the reply to a message as it grows."""
        message = received.message
        if received.reply is not None:
            yield ReplyPart(received.reply, final=True)
        elif received.attempts > ATTEMPTS:
            log.error("message %s of %s was given up: the program ended over it", message.id, message.chat)
            yield ReplyPart(phrases.GIVEN_UP, final=True)
        else:
            async with aclosing(self.answer(message, received=received, assignment=assignment)) as parts:
                async for part in parts:
                    yield part

    async def answer(
        self,
        message: IncomingMessage,
        *,
        received: Received | None = None,
        assignment: Assignment | None = None,
    ) -> AsyncGenerator[ReplyPart, None]:
        """Yield the reply to a message as it grows; without a place in the inbox for who waits for it in this process.

        Raises ModelError, MemoryFault, StateFault where there is none.
        """
        house = self._house
        if assignment is None:
            assignment = Assignment(message.chat, message.sender, answers=[message.id])
        standing = await house.access.standing_of(message.sender)
        open_here = await house.access.memory_is_open(message)
        again = False
        if standing is Standing.STRANGER:  # shut out since it was accepted
            yield ReplyPart(phrases.STRANGER, final=True)
            return
        if command := split_command(message.text):
            name, rest = command
            run = partial(
                run_command,
                name,
                rest,
                message=message,
                standing=standing,
                memory_is_open=open_here,
                key=f"message-{received.number}" if received else f"message-{message.id}",
                context=self._context,
            )
            if name in self._at_once:
                reply = await run()
            else:
                async with self._hold(message.chat):
                    reply = await run()
            if isinstance(reply, str):
                yield ReplyPart(reply, final=True)
                return
            again = True
        elif not message.text.strip():
            yield ReplyPart(phrases.NOTHING_SAID, final=True)
            return
        try:
            async with self._hold(message.chat):
                turn = self._turn(message, assignment, standing=standing, open_here=open_here, again=again)
                async with aclosing(turn) as parts:
                    async for part in parts:
                        yield part
        except (asyncio.CancelledError, GeneratorExit):
            if assignment.since is None and not again and not assignment.parked:  # stopped before it began
                await to_the_end(self._hear_all_the_same(message, assignment))
            raise

    async def _hear_all_the_same(self, message: IncomingMessage, assignment: Assignment) -> None:
        try:
            conversation = self._conversation(message.chat)
            await conversation.load()
            assignment.to_hear = assignment.to_hear or [Received(assignment.turn, message)]
            await assignment.hear(conversation)
        except StateFault as fault:
            log.error("%s", fault)

    async def _turn(
        self,
        message: IncomingMessage,
        assignment: Assignment,
        *,
        standing: Standing,
        open_here: bool,
        again: bool,
    ) -> AsyncGenerator[ReplyPart, None]:
        """Answer a message, or, `again`, what was said before it."""
        house, chat = self._house, message.chat
        conversation = self._conversation(chat)
        await conversation.load()
        if assignment.since is not None and assignment.conversation != conversation.id:
            assignment.since = None  # another process has begun a new conversation since it was heard
        if again:
            if not await conversation.retract():
                yield ReplyPart(phrases.NOTHING_TO_RETRY, final=True)
                return
            standing = min(standing, await self._standing_of_last(conversation, message))
        with_memory = standing >= Standing.ALLOWED and open_here
        assignment.with_memory = with_memory
        # A room is of one piece: what is said there may be noted where its memory is open, whoever speaks.
        assignment.may_flush = open_here and (message.in_room or standing >= Standing.ALLOWED)
        await house.compactor.know(chat, name=message.title, flush=assignment.may_flush)
        if assignment.since is None and not again:
            if (
                with_memory
                and conversation.id is None
                and (notes := await recall(house.memory, house.context.now))
            ):
                await conversation.remember(notes)
            assignment.to_hear = assignment.to_hear or [
                Received(assignment.turn, message),
                *assignment.take(),
            ]
            assignment.answers += [
                each.message.id for each in assignment.to_hear if each.message.id not in assignment.answers
            ]
            await to_the_end(assignment.hear(conversation))
            await self._compact(conversation, assignment)
        if standing < Standing.OWNER and await house.budget.is_spent():
            yield ReplyPart(phrases.BUDGET_SPENT, final=True)
            return
        assignment.prefer = await house.state.chosen_model(str(chat))
        agent = house.agent if with_memory else house.guest_agent
        async with aclosing(agent.run_turn(conversation, assignment)) as parts:
            async for part in parts:
                if part.final and (aside := self._asides.pop(chat, "")):
                    part = replace(part, text=f"{part.text}\n\n{aside}")
                yield part

    async def _standing_of_last(self, conversation: Conversation, message: IncomingMessage) -> Standing:
        """How far the person is trusted whose words are answered again: it need not be who asks for that."""
        speaker = conversation.last_speaker
        if not message.in_room or not speaker or speaker == str(message.sender):
            return Standing.OWNER
        channel, _, person = speaker.partition(":")
        return max(Standing.GUEST, await self._house.access.standing_of(PersonId(channel, person)))

    async def _compact(self, conversation: Conversation, assignment: Assignment) -> None:
        """Shorten a conversation that has become too long, and note what mattered before that."""
        compactor = self._house.compactor
        if await compactor.needs_compaction(conversation):
            done = await compactor.compact(conversation, cause="threshold", flush=assignment.may_flush)
            if done.told:
                self._asides[conversation.chat] = done.told

    async def _afterwards(self, chat: ChatId, assignment: Assignment) -> None:
        """Do what a person need not wait for, once the reply is there."""
        conversation = self._conversations.get(chat)
        if conversation is None or self._leaving:
            return
        try:
            if await self._house.compactor.needs_compaction(conversation):
                async with self._hold(chat):
                    await conversation.load()
                    await self._compact(conversation, assignment)
        except (StateFault, MemoryFault, ModelError) as error:
            log.warning("the conversation in %s was not shortened: %s", chat, one_line(str(error)))
        except Exception:
            log.exception("the conversation in %s was not shortened", chat)

    def _in_words(self, message: IncomingMessage, error: BaseException) -> str:
        """Say what a person is told of an error; the details go to the log."""
        match error:
            case ModelError():
                log.warning("no model answered in %s: %s", message.chat, one_line(str(error)))
                return no_answer(error)
            case MemoryFault():
                return str(error)
            case StateFault():
                log.error("%s", error)
                return phrases.CANNOT_KEEP if message.alone else phrases.CANNOT_KEEP_YET
            case _:
                log.error("a turn in %s failed", message.chat, exc_info=error)
                return phrases.OUR_FAULT

    # -- the end of things --------------------------------------------------------------------------------

    async def stop(self, chat: ChatId) -> bool:
        """End the turn that runs in a chat, at once; return whether there was one."""
        turn, _ = self._turns.get(chat, (None, None))
        return turn is not None and turn.stop()

    async def idle(self) -> None:
        """Wait until every message that was accepted is answered."""
        await self._tasks.ended()

    async def close(self, patience: float) -> None:
        """Let what runs come to its end for `patience` seconds, then park it: it goes on with the next start."""
        self._leaving = True
        self._lanes.close()
        self._notices.close()
        if await self._tasks.ended(patience):
            return
        for _, assignment in self._turns.values():
            assignment.parked = True
        self._tasks.cancel()
        if not await self._tasks.ended(PARKING_GRACE):
            log.warning("some turns did not let go; they go on with the next start")

    # -- conversations ------------------------------------------------------------------------------------

    def _hold(self, chat: ChatId) -> AbstractAsyncContextManager[None]:
        return chat_locked(self._house.locks, chat)

    async def _tell(self, notice: Notice, behind: deque[Notice]) -> None:
        del behind
        await self._delivery.notice(notice)

    def _conversation(self, chat: ChatId) -> Conversation:
        conversation = self._conversations.pop(chat, None) or Conversation(self._house.state, chat)
        self._conversations[chat] = conversation
        while len(self._conversations) > CONVERSATIONS_KEPT:
            self._conversations.popitem(last=False)
        return conversation


def _alike(message: IncomingMessage, behind: deque[Received]) -> list[Received]:
    """Take what the same person has said next, where it may be answered together."""
    taken: list[Received] = []
    while behind and not message.alone:
        following = behind[0]
        if (
            following.state != "waiting"
            or following.message.sender != message.sender
            or following.message.alone
            or split_command(following.message.text)
            or not following.message.text.strip()
        ):
            break
        taken.append(behind.popleft())
    return taken
