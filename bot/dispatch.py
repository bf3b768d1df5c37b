"""Handles a message of a person who may talk: runs a command, or answers in a turn."""

import logging
from collections import OrderedDict
from collections.abc import AsyncGenerator
from contextlib import AbstractAsyncContextManager, aclosing
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

from bot import phrases
from bot.access import Standing
from bot.chat_lock import lock_chat
from bot.commands.command import CommandReply, RetryLast, StopTurn, command_in, run_command
from bot.conversations.conversation import Conversation, find_open_calls, interrupted_result
from bot.conversations.recall import recall
from bot.language.text import localize
from bot.messages import ChatId, IncomingMessage, PersonId, ReplyPart
from bot.metrics import TurnTimer
from bot.model_error_text import explain_no_answer
from bot.models.errors import ModelError
from bot.models.notebook.language import NOTICE_MARK
from bot.sanitize import one_line
from bot.services import Services
from bot.state import models
from bot.state.database import StateFault, run_to_completion
from bot.state.inbox import InboxMessage
from bot.turn_context import TurnContext, without_reading
from memory.errors import MemoryFault

if TYPE_CHECKING:
    from bot.agent import Agent

log = logging.getLogger(__name__)

CACHED_CONVERSATIONS = 64
"""Conversations kept in memory; others are read from disk when they go on."""


@dataclass(frozen=True, slots=True)
class Agents:
    """The agents that answer."""

    with_memory: "Agent"
    for_guests: "Agent"
    """For people who may not use the memory."""


class Dispatcher:
    """Makes replies, each as a stream of parts; the caller keeps the order within a chat."""

    def __init__(self, services: Services, agents: Agents, *, stop: StopTurn) -> None:
        """`stop` ends the running turn of a chat."""
        self._services = services
        self._agents = agents
        self._stop = stop
        self._concurrent = {each.name for each in services.commands if each.at_once or each.only_tells}
        self._conversations: OrderedDict[ChatId, Conversation] = OrderedDict()
        self._notices: dict[ChatId, str] = {}
        """Notices to append to the next reply of a chat."""

    async def answer(
        self,
        message: IncomingMessage,
        *,
        received: InboxMessage | None = None,
        context: TurnContext | None = None,
    ) -> AsyncGenerator[ReplyPart, None]:
        """Yield the reply to a message as it grows; `received` is None for a caller that waits in this process.

        Raises ModelError, MemoryFault or StateFault if there is no reply.
        """
        if context is None:
            context = TurnContext(
                message.chat, message.sender, answers=[message.id], read=self._services.reader.read
            )
        timer = self._services.metrics.begin_turn(message.chat.channel)
        try:
            async with aclosing(self._answer(message, received, context, timer)) as parts:
                async for part in parts:
                    yield part
            timer.end()
        except BaseException as error:
            goes_on = isinstance(error, StateFault) and not message.alone
            timer.fail(error, goes_on=context.parked or goes_on)
            # Stopped, or failed because of us; a turn that waits for the disk goes on later.
            if not (context.parked or isinstance(error, StateFault)):
                await run_to_completion(self._complete_conversation(message, context))
            raise

    async def _answer(
        self,
        message: IncomingMessage,
        received: InboxMessage | None,
        context: TurnContext,
        timer: TurnTimer,
    ) -> AsyncGenerator[ReplyPart, None]:
        services = self._services
        standing = await services.access.standing_of(message.sender, message.groups)
        open_here = await services.access.is_memory_open(message)
        retry = False
        if standing is Standing.STRANGER:  # refused since the message was accepted
            timer.outcome = "refused"
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
            if name in self._concurrent:
                if received and received.taken_over:
                    await self._count_attempt(context)
                reply = await run()
            else:
                async with self.lock_chat(message.chat):
                    await self._count_attempt(context)
                    reply = await run()
            if not isinstance(reply, RetryLast):
                shown = reply if isinstance(reply, CommandReply) else CommandReply(reply)
                timer.outcome = "command"
                yield ReplyPart(shown.text, final=True, choices=shown.choices)
                return
            retry = True
        elif message.is_blank:
            timer.outcome = "told"
            yield ReplyPart(phrases.EMPTY_MESSAGE, final=True)
            return
        elif (
            context.start_seq is None
            and not context.new_messages
            and (sentence := self._services.reader.direct_reply(message))
        ):
            if not (more := context.take_waiting()):
                timer.outcome = "told"
                yield ReplyPart(sentence, final=True)
                return
            context.new_messages = [InboxMessage(context.turn, message), *more]
        async with self.lock_chat(message.chat):
            turn = self._run_turn(
                message,
                received,
                context,
                timer,
                standing=standing,
                open_here=open_here,
                retry=retry,
            )
            async with aclosing(turn) as parts:
                async for part in parts:
                    yield part

    async def leave_unanswered(self, received: InboxMessage, context: TurnContext) -> None:
        """Leave a message in its conversation without an answer, because the process died over it.

        This is tried once and counts as an attempt. Raises StateFault.
        """
        await self._count_attempt(context)
        if context.start_seq is None:
            context.new_messages = context.new_messages or [received]
        async with self.lock_chat(received.message.chat):
            await self._complete_conversation(received.message, context)

    async def _complete_conversation(self, message: IncomingMessage, context: TurnContext) -> None:
        """Store what was said and a result for each open call, even if the turn ended early."""
        if context.start_seq is None and (command_in(message) or message.is_blank):
            return
        try:
            conversation = self._load_conversation(message.chat)
            await conversation.load()
            if context.start_seq is None:
                context.new_messages = context.new_messages or [InboxMessage(context.turn, message)]
                context.read = without_reading  # whoever stops a turn does not wait for attachments
                await context.add_messages(conversation)
            elif context.conversation == conversation.id and (
                calls := find_open_calls(context.load_progress(conversation))
            ):
                await conversation.append(*map(interrupted_result, calls))
        except StateFault as fault:
            log.error("%s", fault)

    async def _run_turn(
        self,
        message: IncomingMessage,
        received: InboxMessage | None,
        context: TurnContext,
        timer: TurnTimer,
        *,
        standing: Standing,
        open_here: bool,
        retry: bool,
    ) -> AsyncGenerator[ReplyPart, None]:
        """Answer a message; with `retry`, answer the previous one once more."""
        services, chat = self._services, message.chat
        conversation = self._load_conversation(chat)
        if context.start_seq is not None:
            await self._count_attempt(context)
        await conversation.load()
        if context.start_seq is not None and context.conversation != conversation.id:
            context.start_seq = None  # another process has started a new conversation since
        if retry:
            if not await conversation.retract():
                timer.outcome = "told"
                yield ReplyPart(phrases.NOTHING_TO_RETRY, final=True)
                return
            standing = min(standing, await self._last_standing(conversation, message))
        with_memory = standing >= Standing.ALLOWED and open_here
        context.with_memory = with_memory
        context.groups = message.groups
        context.in_room = message.in_room
        # A room counts as one: with its memory open, everything said there may be noted, whoever speaks.
        context.may_flush = open_here and (message.in_room or standing >= Standing.ALLOWED)
        await services.compactor.save_chat(chat, name=message.title, flush=context.may_flush)
        if context.start_seq is None and not retry:
            if not context.new_messages:
                context.new_messages = [
                    received or InboxMessage(context.turn, message),
                    *context.take_waiting(),
                ]
            context.answers += [
                each.message.id for each in context.new_messages if each.message.id not in context.answers
            ]
            async with context.count_attempts(context.new_messages):
                if with_memory and conversation.id is None and (notes := await self._recall_notes()):
                    await conversation.save_recalled(notes)
                await context.add_messages(conversation)
            context.counted = True
        else:
            await self._count_attempt(context)
        agent = self._agents.with_memory if with_memory else self._agents.for_guests
        if await services.budget.is_spent():
            timer.outcome = "refused"
            told = await agent.write_requested(conversation, context, model="")
            yield ReplyPart("\n\n".join(filter(None, [phrases.BUDGET_SPENT, told])), final=True)
            return
        await self._compact(conversation, flush=context.may_flush)
        context.prefer = await services.state.read_chosen_model(str(chat))
        context.told_no_model = await services.state.read(lambda db: models.was_told_no_model(db, str(chat)))
        async with aclosing(agent.run_turn(conversation, context)) as parts:
            async for part in parts:
                timer.mark_first_text()
                if part.final and NOTICE_MARK in part.text and not context.told_no_model:
                    await services.state.change(lambda db: models.mark_told_no_model(db, str(chat)))
                if part.final and (notice := self._notices.pop(chat, "")):
                    part = replace(part, text=f"{part.text}\n\n{notice}")
                yield part

    async def _recall_notes(self) -> str:
        began = self._services.metrics.clock()
        notes = await recall(self._services.memory, self._services.now)
        self._services.metrics.record_stage("recall", since=began)
        return notes

    async def _count_attempt(self, context: TurnContext) -> None:
        """Store once that this process works on the turn; waiting for disk space does not count."""
        if context.turn and not context.counted:
            await self._services.inbox.count_attempt(context.turn)
            context.counted = True

    async def _last_standing(self, conversation: Conversation, message: IncomingMessage) -> Standing:
        """Return the standing of the person whose words are answered again; somebody else may have asked for it."""
        speaker = conversation.last_speaker
        if not message.in_room or not speaker or speaker == str(message.sender):
            return Standing.OWNER
        channel, _, person = speaker.partition(":")
        return max(Standing.GUEST, await self._services.access.standing_of(PersonId(channel, person)))

    async def _compact(self, conversation: Conversation, *, flush: bool) -> None:
        """Compact a conversation that has become too long; with `flush`, after its facts were flushed to the notes."""
        compactor = self._services.compactor
        if await compactor.needs_compaction(conversation):
            done = await compactor.compact(conversation, cause="threshold", flush=flush)
            if done.notice:
                self._notices[conversation.chat] = done.notice

    async def run_afterwards(self, context: TurnContext) -> None:
        """Compact the conversation after the reply, so that nobody waits for it; errors are logged."""
        chat = context.chat
        conversation = self._conversations.get(chat)
        if conversation is None or context.may_flush is None:  # the turn ended before it began
            return
        try:
            if (
                await self._services.compactor.needs_compaction(conversation)
                and not await self._services.budget.is_spent()
            ):
                async with self.lock_chat(chat):
                    await conversation.load()
                    await self._compact(conversation, flush=context.may_flush)
        except (StateFault, MemoryFault, ModelError) as error:
            log.warning("could not compact the conversation in %s: %s", chat, one_line(str(error)))
        except Exception:
            log.exception("could not compact the conversation in %s", chat)

    def explain_error(self, message: IncomingMessage, error: BaseException) -> str:
        """Return what a person is told about an error; the details go to the log."""
        match error:
            case ModelError():
                log.warning("no model answered in %s: %s", message.chat, one_line(str(error)))
                return explain_no_answer(error)
            case MemoryFault():
                return localize(self._services.memory.redact_server_address(error.text))
            case StateFault():
                log.error("%s", error)
                return phrases.CANNOT_SAVE if message.alone else phrases.CANNOT_SAVE_YET
            case _:
                log.error("a turn in %s failed", message.chat, exc_info=error)
                return phrases.OUR_FAULT

    def rename_chat(self, old: ChatId, new: ChatId) -> None:
        """Forget cached data of both ids after a chat's rows in state.db have been renamed."""
        self._conversations.pop(old, None)
        self._conversations.pop(new, None)
        if notice := self._notices.pop(old, ""):
            self._notices[new] = notice

    def lock_chat(self, chat: ChatId) -> AbstractAsyncContextManager[None]:
        return lock_chat(self._services.own_locks.get(chat.channel, self._services.locks), chat)

    def _load_conversation(self, chat: ChatId) -> Conversation:
        conversation = self._conversations.pop(chat, None) or Conversation(self._services.state, chat)
        self._conversations[chat] = conversation
        while len(self._conversations) > CACHED_CONVERSATIONS:
            self._conversations.popitem(last=False)
        return conversation
