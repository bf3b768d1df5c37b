"""What is done with a message of somebody who may talk: a command runs, or a turn answers."""

import logging
from collections import OrderedDict
from collections.abc import AsyncGenerator
from contextlib import AbstractAsyncContextManager, aclosing
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

from bot import phrases
from bot.access import Standing
from bot.assignment import Assignment, as_it_stands
from bot.chat_lock import chat_locked
from bot.commands.command import AnswerAgain, Stop, Told, command_in, run_command
from bot.conversations.conversation import Conversation, interrupted, open_calls
from bot.conversations.recall import recall
from bot.measures import TurnWatch
from bot.messages import ChatId, IncomingMessage, PersonId, ReplyPart
from bot.model_trouble import no_answer
from bot.models.errors import ModelError
from bot.models.notebook.language import NOTICE_MARK
from bot.plain_text import one_line
from bot.services import Services
from bot.state import models
from bot.state.database import StateFault, to_the_end
from bot.state.inbox import Received
from memory.errors import MemoryFault

if TYPE_CHECKING:
    from bot.agent import Agent

log = logging.getLogger(__name__)

CONVERSATIONS_KEPT = 64
"""Conversations kept in memory; the others are read again from disk when they go on."""


@dataclass(frozen=True, slots=True)
class Agents:
    """Who answers."""

    with_memory: "Agent"
    for_guests: "Agent"
    """Those who may not use the memory."""


class Answering:
    """Makes replies, each as a stream of parts. Whoever calls it sees to the order within a chat."""

    def __init__(self, services: Services, agents: Agents, *, stop: Stop) -> None:
        """`stop` ends what runs in a chat."""
        self._services = services
        self._agents = agents
        self._stop = stop
        self._beside = {each.name for each in services.commands if each.at_once or each.only_tells}
        self._conversations: OrderedDict[ChatId, Conversation] = OrderedDict()
        self._asides: dict[ChatId, str] = {}
        """What is to be told in a line below the next reply."""

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
        if assignment is None:
            assignment = Assignment(
                message.chat, message.sender, answers=[message.id], read=self._services.reader.read
            )
        watch = self._services.measures.begin_turn(message.chat.channel)
        try:
            async with aclosing(self._answer(message, received, assignment, watch)) as parts:
                async for part in parts:
                    yield part
            watch.end()
        except BaseException as error:
            goes_on = isinstance(error, StateFault) and not message.alone
            watch.break_off(error, goes_on=assignment.parked or goes_on)
            # Stopped, or broken off by a fault of ours; but a turn that waits for the disk goes on.
            if not (assignment.parked or isinstance(error, StateFault)):
                await to_the_end(self._leave_whole(message, assignment))
            raise

    async def _answer(
        self,
        message: IncomingMessage,
        received: Received | None,
        assignment: Assignment,
        watch: TurnWatch,
    ) -> AsyncGenerator[ReplyPart, None]:
        services = self._services
        standing = await services.access.standing_of(message.sender, message.groups)
        open_here = await services.access.memory_is_open(message)
        again = False
        if standing is Standing.STRANGER:  # shut out since it was accepted
            watch.outcome = "refused"
            yield ReplyPart(phrases.STRANGER, final=True)
            return
        if command := command_in(message):
            name, rest = command
            run = partial(
                run_command,
                name,
                rest,
                message=message,
                standing=standing,
                memory_is_open=open_here,
                key=f"message-{received.number}" if received else f"message-{message.id}",
                number=received.number if received else 0,
                stop=self._stop,
                services=self._services,
            )
            if name in self._beside:
                if received and received.taken_over:
                    await self._count(assignment)
                reply = await run()
            else:
                async with self.hold(message.chat):
                    await self._count(assignment)
                    reply = await run()
            if not isinstance(reply, AnswerAgain):
                told = reply if isinstance(reply, Told) else Told(reply)
                watch.outcome = "command"
                yield ReplyPart(told.text, final=True, choices=told.choices)
                return
            again = True
        elif message.is_blank:
            watch.outcome = "told"
            yield ReplyPart(phrases.NOTHING_SAID, final=True)
            return
        elif (
            assignment.since is None
            and not assignment.to_hear
            and (sentence := self._services.reader.instead(message))
        ):
            if not (more := assignment.take()):
                watch.outcome = "told"
                yield ReplyPart(sentence, final=True)
                return
            assignment.to_hear = [Received(assignment.turn, message), *more]
        async with self.hold(message.chat):
            turn = self._turn(
                message,
                received,
                assignment,
                watch,
                standing=standing,
                open_here=open_here,
                again=again,
            )
            async with aclosing(turn) as parts:
                async for part in parts:
                    yield part

    async def set_aside(self, received: Received, assignment: Assignment) -> None:
        """Leave a message in its conversation without doing anything about it: the process has died over it.

        That is tried once: it is counted too. Raises StateFault.
        """
        await self._count(assignment)
        if assignment.since is None:
            assignment.to_hear = assignment.to_hear or [received]
        async with self.hold(received.message.chat):
            await self._leave_whole(received.message, assignment)

    async def _leave_whole(self, message: IncomingMessage, assignment: Assignment) -> None:
        """See that what was said stands in the conversation, and a result with each call, however early it ended."""
        if assignment.since is None and (command_in(message) or message.is_blank):
            return
        try:
            conversation = self._conversation(message.chat)
            await conversation.load()
            if assignment.since is None:
                assignment.to_hear = assignment.to_hear or [Received(assignment.turn, message)]
                assignment.read = as_it_stands  # whoever stops it does not wait for what came along
                await assignment.hear(conversation)
                # Not to be shortened afterwards: nobody has settled whether it may go into the notes before.
                self._conversations.pop(message.chat, None)
            elif assignment.conversation == conversation.id and (
                calls := open_calls(assignment.progress(conversation))
            ):
                await conversation.append(*map(interrupted, calls))
        except StateFault as fault:
            log.error("%s", fault)

    async def _turn(
        self,
        message: IncomingMessage,
        received: Received | None,
        assignment: Assignment,
        watch: TurnWatch,
        *,
        standing: Standing,
        open_here: bool,
        again: bool,
    ) -> AsyncGenerator[ReplyPart, None]:
        """Answer a message, or, `again`, what was said before it."""
        services, chat = self._services, message.chat
        conversation = self._conversation(chat)
        if assignment.since is not None:
            await self._count(assignment)
        await conversation.load()
        if assignment.since is not None and assignment.conversation != conversation.id:
            assignment.since = None  # another process has begun a new conversation since it was heard
        if again:
            if not await conversation.retract():
                watch.outcome = "told"
                yield ReplyPart(phrases.NOTHING_TO_RETRY, final=True)
                return
            standing = min(standing, await self._standing_of_last(conversation, message))
        with_memory = standing >= Standing.ALLOWED and open_here
        assignment.with_memory = with_memory
        assignment.in_room = message.in_room
        # A room is of one piece: what is said there may be noted where its memory is open, whoever speaks.
        assignment.may_flush = open_here and (message.in_room or standing >= Standing.ALLOWED)
        await services.compactor.know(chat, name=message.title, flush=assignment.may_flush)
        if assignment.since is None and not again:
            if not assignment.to_hear:
                assignment.to_hear = [received or Received(assignment.turn, message), *assignment.take()]
            assignment.answers += [
                each.message.id for each in assignment.to_hear if each.message.id not in assignment.answers
            ]
            async with assignment.counting(assignment.to_hear):
                if with_memory and conversation.id is None and (notes := await self._recall()):
                    await conversation.remember(notes)
                await assignment.hear(conversation)
            assignment.counted = True
        else:
            await self._count(assignment)
        if await services.budget.is_spent():
            watch.outcome = "refused"
            yield ReplyPart(phrases.BUDGET_SPENT, final=True)
            return
        await self._compact(conversation, assignment)
        assignment.prefer = await services.state.chosen_model(str(chat))
        assignment.told_no_model = await services.state.read(
            lambda db: models.was_told_no_model(db, str(chat))
        )
        agent = self._agents.with_memory if with_memory else self._agents.for_guests
        async with aclosing(agent.run_turn(conversation, assignment)) as parts:
            async for part in parts:
                watch.shows()
                if part.final and NOTICE_MARK in part.text and not assignment.told_no_model:
                    await services.state.change(lambda db: models.note_told_no_model(db, str(chat)))
                if part.final and (aside := self._asides.pop(chat, "")):
                    part = replace(part, text=f"{part.text}\n\n{aside}")
                yield part

    async def _recall(self) -> str:
        began = self._services.measures.clock()
        notes = await recall(self._services.memory, self._services.now)
        self._services.measures.took("recall", since=began)
        return notes

    async def _count(self, assignment: Assignment) -> None:
        """Note once that this process works at it: it is not our end when the disk has no room."""
        if assignment.turn and not assignment.counted:
            await self._services.inbox.tried(assignment.turn)
            assignment.counted = True

    async def _standing_of_last(self, conversation: Conversation, message: IncomingMessage) -> Standing:
        """How far the person is trusted whose words are answered again: it need not be who asks for that."""
        speaker = conversation.last_speaker
        if not message.in_room or not speaker or speaker == str(message.sender):
            return Standing.OWNER
        channel, _, person = speaker.partition(":")
        return max(Standing.GUEST, await self._services.access.standing_of(PersonId(channel, person)))

    async def _compact(self, conversation: Conversation, assignment: Assignment) -> None:
        """Shorten a conversation that has become too long, and note what mattered before that."""
        compactor = self._services.compactor
        if await compactor.needs_compaction(conversation):
            done = await compactor.compact(conversation, cause="threshold", flush=assignment.may_flush)
            if done.told:
                self._asides[conversation.chat] = done.told

    async def afterwards(self, assignment: Assignment) -> None:
        """Do what a person need not wait for, once the reply is there."""
        chat = assignment.chat
        conversation = self._conversations.get(chat)
        if conversation is None or assignment.since is None:
            return
        try:
            if (
                await self._services.compactor.needs_compaction(conversation)
                and not await self._services.budget.is_spent()
            ):
                async with self.hold(chat):
                    await conversation.load()
                    await self._compact(conversation, assignment)
        except (StateFault, MemoryFault, ModelError) as error:
            log.warning("the conversation in %s was not shortened: %s", chat, one_line(str(error)))
        except Exception:
            log.exception("the conversation in %s was not shortened", chat)

    def in_words(self, message: IncomingMessage, error: BaseException) -> str:
        """Say what a person is told of an error; the details go to the log."""
        match error:
            case ModelError():
                log.warning("no model answered in %s: %s", message.chat, one_line(str(error)))
                return no_answer(error)
            case MemoryFault():
                return self._services.memory.unplaced(str(error))
            case StateFault():
                log.error("%s", error)
                return phrases.CANNOT_KEEP if message.alone else phrases.CANNOT_KEEP_YET
            case _:
                log.error("a turn in %s failed", message.chat, exc_info=error)
                return phrases.OUR_FAULT

    def moved(self, old: ChatId, new: ChatId) -> None:
        """What was kept by a chat's old id in state.db is kept by its new one now."""
        self._conversations.pop(old, None)
        self._conversations.pop(new, None)
        if aside := self._asides.pop(old, ""):
            self._asides[new] = aside

    def hold(self, chat: ChatId) -> AbstractAsyncContextManager[None]:
        return chat_locked(self._services.own_locks.get(chat.channel, self._services.locks), chat)

    def _conversation(self, chat: ChatId) -> Conversation:
        conversation = self._conversations.pop(chat, None) or Conversation(self._services.state, chat)
        self._conversations[chat] = conversation
        while len(self._conversations) > CONVERSATIONS_KEPT:
            self._conversations.popitem(last=False)
        return conversation
