"""Admits messages, answers them in the order of each chat, and runs the background work of conversations."""

import asyncio
import logging
from collections import deque
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import aclosing, suppress
from dataclasses import replace
from functools import partial

from bot import phrases
from bot.access import Standing
from bot.attempts import MAX_TURN_ATTEMPTS, READING_ATTEMPTS, Attempts, has_no_attempts_left
from bot.chat_migration import ChatMigrations
from bot.chat_queues import ChatQueues
from bot.commands.command import command_in
from bot.delivery import Delivery
from bot.dispatch import Agents, Dispatcher
from bot.language.current import speaking
from bot.log.context import log_context
from bot.message_batch import add_parts_of_stopped_turn, peek_batch, take_command_parts, take_similar
from bot.messages import Adapter, ChatId, IncomingMessage, NotAccepted, ReplyPart
from bot.models.errors import ModelError
from bot.reply_task import ReplyTask
from bot.running_turns import RunningTurn, RunningTurns
from bot.sanitize import one_line
from bot.services import Services
from bot.state.database import StateFault, run_to_completion
from bot.state.inbox import InboxMessage, QueuedNotice, merge_edit
from bot.tasks import BackgroundTasks
from bot.turn_context import TurnContext
from bot.withdrawals import Withdrawals
from memory.errors import MemoryFault

log = logging.getLogger(__name__)

MAX_CONCURRENT_TURNS = 256
"""Chats that are answered at the same time; the others wait."""
SCAN_SECONDS = 15.0
"""Seconds between two looks for messages that other processes, dead or alive, have left to this one."""
DISK_FULL_RETRY_SECONDS = (2.0, 10.0, 30.0, 60.0)
"""Seconds before each retry of a turn for which state.db had no room; the last one repeats."""
MORE_PARTS_SECONDS = 1.0
"""Seconds to wait for the next part of a message that is on its way, such as the next picture of an album."""
MAX_MORE_PARTS = 20
PARKING_GRACE = 1.5
"""Seconds that parked turns have to release what they use."""


class Assistant:
    """Takes messages from every channel and has the replies shown in their chats."""

    def __init__(
        self,
        services: Services,
        *,
        agents: Agents,
        delivery: Delivery,
        turns_at_once: int = MAX_CONCURRENT_TURNS,
        disk_pauses: Sequence[float] = DISK_FULL_RETRY_SECONDS,
    ) -> None:
        """`delivery` shows replies; see `Services` for the rest."""
        self.services = services
        commands = services.commands
        self._at_once = {command.name for command in commands if command.at_once}
        self._only_tell = {command.name for command in commands if command.only_tells}
        self._dispatcher = Dispatcher(services, agents, stop=self.stop)
        self._attempts = Attempts(services.inbox)
        self._delivery = delivery
        self._migrations = ChatMigrations(services.state, services.compactor, lock=self._dispatcher.lock_chat)
        self._withdrawals = Withdrawals(services.channels, delivery)
        self._disk_pauses = disk_pauses
        self._tasks = BackgroundTasks()
        self._queues: ChatQueues[InboxMessage] = ChatQueues(
            self._handle, tasks=self._tasks, at_once=turns_at_once, ready=self._wait_until_ready
        )
        self._notices: ChatQueues[QueuedNotice] = ChatQueues(
            self._deliver_notice, tasks=self._tasks, at_once=turns_at_once
        )
        self._turns = RunningTurns(self._migrations.current_chat)
        self._joined: dict[int, list[str]] = {}
        """By turn: ids of the messages after the first that the turn heard in an earlier process."""
        self._gathering: set[ChatId] = set()
        """Chats that wait for more parts of their next message."""
        self._stopped_before: dict[int, int] = {}
        """By the number of a message stopped while its other parts were awaited: the number of the stopping message."""
        self._woken = services.wake_event
        self._leaving = False

    def attach(self, adapter: Adapter) -> None:
        """Register the adapter that shows a channel's replies."""
        self.services.channels.attach(adapter)

    def serves(self, chat: ChatId) -> bool:
        """Return whether this process can show anything in this chat."""
        return self.services.channels.serves(chat)

    # -- what comes in ------------------------------------------------------------------------------------

    async def accept(self, message: IncomingMessage) -> bool:
        """Accept a message and return whether it will be answered, after those its chat is still waiting for.

        When this returns, the message is on disk and will be answered even after a crash. `/stop` and the like do not
        wait. A message that was accepted before, is not meant for the bot or comes from a stranger goes no further.
        Raises NotAccepted if the message cannot be stored.
        """
        if message.in_room and not message.addressed:
            return False
        try:
            return await self._accept(self._migrations.translate_message(message))
        except StateFault as fault:
            raise NotAccepted(str(fault)) from fault

    async def _accept(self, message: IncomingMessage) -> bool:
        standing = await self.services.access.standing_of(message.sender, message.groups)
        if standing is Standing.STRANGER:
            self.services.metrics.count_refusal(message.chat.channel)
            with speaking(self.services.languages.of(message)):
                return self._notify(message, await self.services.pairing.greet(message))
        if standing is not Standing.OWNER and (
            wait := self.services.rate.check(message.sender, message.sent_at)
        ):
            self.services.metrics.count_refusal(message.chat.channel)
            if not self.services.rate.should_notify(message.sender):
                return False
            with speaking(await self._load_language(message)):
                return self._notify(message, phrases.TOO_MANY_MESSAGES.format(seconds=wait))
        await self._load_language(message)
        # If this were cancelled in between, the message would be on disk and known, but nobody would answer it.
        return await run_to_completion(self._admit(message))

    async def _load_language(self, message: IncomingMessage) -> str:
        return await self.services.languages.load(message.sender, told=message.language)

    async def _admit(self, message: IncomingMessage) -> bool:
        """Store a message and queue it in its chat; one that is already known does not count against the rate limit."""
        is_new = False
        try:
            if message.edit_of and await self._edit_queued(message):
                is_new = True
                return False  # the message that it edits gets the reply
            received = await self.services.inbox.accept(message)
            is_new = received is not None
        finally:
            if not is_new:
                self.services.rate.uncount(message.sender, message.sent_at)
        if received is not None:
            self.services.metrics.messages[message.chat.channel] += 1
        if received is not None and not self._leaving:
            instead = message.edit_of and self._turns.stop_answering(message.chat, message.edit_of)
            self._resume_message(received, first=bool(instead))
        return received is not None

    async def answer(self, message: IncomingMessage) -> AsyncGenerator[ReplyPart, None]:
        """Yield the reply to a message whose sender waits for it in this process; it does not go through the inbox.

        Raises ModelError, MemoryFault or StateFault if there is no reply.
        """
        async with aclosing(self._dispatcher.answer(message)) as parts:
            async for part in parts:
                yield part

    async def withdraw(self, chat: ChatId, message: str) -> None:
        """Leave a message unanswered that its sender has withdrawn; a turn that has begun goes on."""
        await self._withdrawals.withdraw(
            self._queues.list_waiting(self._migrations.current_chat(chat)), message
        )

    async def resume(self) -> None:
        """Go on with what was left by an earlier process, or by one without a channel for it. Raises StateFault."""
        for chat in await self._migrations.load():
            self._migrate_chat(chat)
        messages, notices = await self.services.inbox.claim(self.serves)
        for each in messages:
            await self._load_language(each.message)
        for each in messages:
            if each.turn and each.turn != each.number:
                self._joined.setdefault(each.turn, []).append(each.message.id)
        for each in messages:
            if not each.turn or each.turn == each.number:
                self._resume_message(each)
        for notice in notices:
            notice = self._migrations.translate_notice(notice)
            self._notices.put(notice.chat, notice)

    def background_tasks(self) -> Mapping[str, Callable[[], Awaitable[None]]]:
        """Return the background work by name: messages and notices of other processes, idle conversations.

        Each runs until it is cancelled, and may be started again after a failure.
        """
        return {
            "inbox": partial(self._run_forever, self._resume_others, self._woken),
            # Separate, since a flush may keep a model busy for minutes, and a reminder must not wait for that.
            "conversations": partial(self._run_forever, self._maintain_conversations, asyncio.Event()),
        }

    async def _run_forever(self, work: Callable[[], Awaitable[None]], wake_event: asyncio.Event) -> None:
        while True:
            wake_event.clear()
            try:
                await work()
            except (StateFault, MemoryFault, ModelError) as error:
                log.warning("%s", one_line(str(error)))
            with suppress(TimeoutError):
                async with asyncio.timeout(SCAN_SECONDS):
                    await wake_event.wait()

    async def _resume_others(self) -> None:
        await self.resume()
        await self._delivery.save_queued()

    async def _maintain_conversations(self) -> None:
        if not await self.services.budget.is_spent():
            with log_context(f"conversations {self.services.now().isoformat()}"):
                await self.services.compactor.run_pending(self._dispatcher.lock_chat)

    def _notify(self, message: IncomingMessage, text: str) -> bool:
        if text:
            self._tasks.start(self._delivery.answer_once(message, text))
        return bool(text)

    async def _edit_queued(self, message: IncomingMessage) -> bool:
        """Replace the text of a waiting message, or of an earlier edit of it; return whether there was one.

        The queue changes first, so that no turn takes the old text. After a crash in between, the edit comes again.
        """
        queue = self._queues.list_waiting(message.chat)
        for index, waiting in enumerate(queue):
            is_meant = message.edit_of in (waiting.message.id, waiting.message.edit_of)
            if is_meant and waiting.state == "waiting":
                queue[index] = replace(waiting, message=merge_edit(waiting.message, message))
                await self.services.inbox.edit(waiting.number, message)
                return True
        return False

    def _resume_message(self, received: InboxMessage, *, first: bool = False) -> None:
        # Its chat may have been renamed while it was stored.
        received = self._migrations.translate_inbox_message(received)
        command = command_in(received.message)
        concurrent = self._at_once if received.message.alone else self._at_once | self._only_tell
        if command and command[0] in concurrent:
            self._tasks.start(self._handle_concurrently(received))
        else:
            self._queues.put(received.message.chat, received, first=first)

    # -- one message, or several in a row -----------------------------------------------------------------

    async def _handle_concurrently(self, received: InboxMessage) -> None:
        """Answer a command that need not wait for its chat."""
        language = self.services.languages.of(received.message)  # at once: a stop may come any moment
        with log_context(_turn_key(received), chat=received.message.chat), speaking(language):
            await self._answer_concurrently(received)

    async def _answer_concurrently(self, received: InboxMessage) -> None:
        turn = self._new_reply_task(received, self._new_turn_context(received, deque()))
        async with self._attempts.counted_while_shown(received):
            delivered = await self._delivery.deliver_reply(received, turn, shown=list(received.shown))
        if delivered:
            await self._delivery.mark_done(received.number)

    async def _handle(self, received: InboxMessage, behind: deque[InboxMessage]) -> None:
        """Answer a message and deliver the reply; errors end here, so that the chat's queue goes on."""
        language = self.services.languages.of(received.message)  # at once: a stop may come any moment
        with log_context(_turn_key(received), chat=received.message.chat), speaking(language):
            await self._answer_in_turn(received, behind)

    async def _answer_in_turn(self, received: InboxMessage, behind: deque[InboxMessage]) -> None:
        message = received.message
        self.services.metrics.record_stage("waiting", since=received.taken_up)
        stopped = self._stopped_before.pop(received.number, None)
        if parts := take_command_parts(received, behind):
            received = await self._merge_album(received, parts)
        context, shown = self._new_turn_context(received, behind), list(received.shown)
        context.answers += [each.message.id for each in parts]
        if stopped is not None:
            add_parts_of_stopped_turn(received, behind, context, before=stopped)
        is_stopped, pauses = asyncio.Event(), list(self._disk_pauses)
        if stopped is not None:
            is_stopped.set()
        try:
            while True:
                turn = self._new_reply_task(received, context)
                self._turns.put(message.chat, RunningTurn(turn, context, is_stopped))
                if is_stopped.is_set():
                    turn.stop()
                try:
                    async with self._attempts.counted_while_shown(received):
                        delivered = await self._delivery.deliver_reply(received, turn, shown=shown)
                finally:
                    await turn.stop_and_wait()
                if not turn.goes_on:
                    break
                await self._wait_for_disk_room(pauses, is_stopped)
        finally:
            self._turns.remove(message.chat)
        if delivered:
            for each in (received, *parts):  # the parts of a command may not be marked as done
                await self._delivery.mark_done(each.number)
        if not self._leaving:
            await self._dispatcher.run_afterwards(context)
        if self._migrations.current_chat(message.chat) != message.chat:
            self._migrate_chat(message.chat)  # it may have stored something under the old id too late

    async def _wait_for_disk_room(self, pauses: list[float], is_stopped: asyncio.Event) -> None:
        """Wait until the disk has room for the rest of a turn, or until the turn is stopped.

        What the turn has heard is on disk, and it goes on where it broke off.
        """
        while not is_stopped.is_set():
            with suppress(TimeoutError):
                async with asyncio.timeout(pauses[0] if len(pauses) == 1 else pauses.pop(0)):
                    await is_stopped.wait()
            if (
                await self.services.state.has_disk_space()
            ):  # otherwise a model would be asked and paid for nothing
                break
        await self._delivery.save_queued()  # store which messages show the turn before there are more of them

    async def _merge_album(self, received: InboxMessage, parts: Sequence[InboxMessage]) -> InboxMessage:
        """Return the command with the attachments of its whole album: it is meant for all of them."""
        attachments = (attachment for each in (received, *parts) for attachment in each.message.attachments)
        whole = replace(received.message, attachments=tuple(attachments), more_soon=False)
        try:
            await self.services.inbox.merge_parts(received.number, whole, [each.number for each in parts])
        except StateFault as fault:
            log.error("%s", fault)  # after a crash the other parts are answered by themselves
        return replace(received, message=whole)

    async def _wait_until_ready(self, chat: ChatId) -> None:
        """Wait for a running migration of the chat, and for all parts of its next message."""
        await self._migrations.wait_until_migrated(chat)
        self._gathering.add(chat)
        try:
            await self._wait_for_more_parts(self._queues.list_waiting(chat))
            await self._withdrawals.check_next(self._queues.list_waiting(chat), peek_batch)
        finally:
            self._gathering.discard(chat)

    async def _wait_for_more_parts(self, queue: deque[InboxMessage]) -> None:
        """Wait briefly, since they may never come; what waits can be edited, stopped and moved meanwhile."""
        known = 0
        for _ in range(MAX_MORE_PARTS):
            batch = peek_batch(queue)
            if len(batch) <= known or batch[0].state != "waiting" or not batch[-1].message.more_soon:
                return
            known = len(batch)
            await asyncio.sleep(MORE_PARTS_SECONDS)

    def _new_reply_task(self, received: InboxMessage, context: TurnContext) -> ReplyTask:
        message = received.message

        async def stopped(reply: str) -> None:
            """Store that a turn was stopped before anybody sees it, so that it stays so."""
            if not context.parked:
                try:
                    await self.services.inbox.record_answer(received.number, reply)
                except StateFault as fault:
                    log.error("%s", fault)

        return ReplyTask(
            self._make_reply(received, context),
            explain=partial(self._dispatcher.explain_error, message),
            stopped=stopped,
            is_resumable=lambda error: (
                isinstance(error, StateFault) and bool(self._disk_pauses) and not message.alone
            ),
            answers=context.answers,
        )

    def _new_turn_context(self, received: InboxMessage, behind: deque[InboxMessage]) -> TurnContext:
        message = received.message
        context = TurnContext(
            message.chat,
            message.sender,
            turn=received.number,
            edit_of=message.edit_of,
            answers=[message.id, *self._joined.pop(received.number, ())],
            take_waiting=partial(take_similar, message, behind),
            read=self.services.reader.read,
            count_attempts=self._attempts.count_while_reading,
        )
        if received.state == "running" and received.heard is not None:
            context.start_seq = received.heard - 1
            context.conversation = received.conversation
        return context

    async def _make_reply(
        self, received: InboxMessage, context: TurnContext
    ) -> AsyncGenerator[ReplyPart, None]:
        """Yield the reply to a message as it grows."""
        message = received.message
        if received.reply is not None and received.attempts < MAX_TURN_ATTEMPTS:
            yield ReplyPart(received.reply, final=True)
        elif has_no_attempts_left(received) or received.attempts >= MAX_TURN_ATTEMPTS:
            log.error("gave up message %s of %s: it crashed the program repeatedly", message.id, message.chat)
            self.services.metrics.turns[message.chat.channel, "failed"] += 1
            limit, text = (
                (READING_ATTEMPTS, phrases.FILES_SET_ASIDE)
                if has_no_attempts_left(received)
                else (MAX_TURN_ATTEMPTS, phrases.GIVEN_UP)
            )
            if received.attempts == limit and received.reply is None:
                await self._dispatcher.leave_unanswered(received, context)
            yield ReplyPart(text, final=True)
        else:
            async with aclosing(
                self._dispatcher.answer(message, received=received, context=context)
            ) as parts:
                async for part in parts:
                    yield part

    # -- the end of things --------------------------------------------------------------------------------

    async def stop(self, chat: ChatId, *, before: int = 0) -> bool:
        """Stop the turn that runs in a chat, or the sending of its reply; return whether there was one.

        `before`: the number of the message that asks for it. It may be late: what was said after it goes on.
        """
        running = self._turns.find(chat)
        if running is None:
            return self._cancel_waiting(chat, before)
        return (not before or running.context.turn < before) and (
            running.stop() or running.turn.sending.stop()
        )

    def _cancel_waiting(self, chat: ChatId, before: int) -> bool:
        """Cancel a message that still waits for its other parts; return whether there was one."""
        queue = self._queues.list_waiting(chat)
        if chat not in self._gathering or not queue or queue[0].number in self._stopped_before:
            return False
        if before and queue[0].number > before:
            return False
        self._stopped_before[queue[0].number] = before
        return True

    @property
    def is_idle(self) -> bool:
        """Whether nothing is running."""
        return not self._tasks.running

    async def wait_until_idle(self) -> None:
        """Wait until every accepted message is answered."""
        await self._tasks.wait()

    async def close(self, timeout_seconds: float) -> None:
        """Let running work finish for `timeout_seconds` seconds, then park it: it goes on with the next start."""
        self._leaving = True
        self._queues.close()
        self._notices.close()
        if not await self._tasks.wait(timeout_seconds):
            self._turns.park()
            self._tasks.cancel()
            if not await self._tasks.wait(PARKING_GRACE):
                log.warning("some turns did not stop in time; they continue after the next start")
        await self._delivery.save_queued()

    # -- chats that get another id ------------------------------------------------------------------------

    async def rename_chat(self, old: ChatId, new: ChatId) -> None:
        """Store that a chat has another id from now on. Raises StateFault.

        May be called as often as the platform reports it. A running turn ends under the old id, which its adapter shows
        under the new one. Waiting messages are answered under the new id, before later ones; a message that still comes
        with the old id belongs to the new one.
        """

        def on_new() -> None:
            self._queues.move(self._migrations.current_chat, self._migrations.translate_inbox_message)
            self._notices.move(self._migrations.current_chat, self._migrations.translate_notice)
            self._migrate_chat(old)

        await self._migrations.record(old, new, on_new=on_new)

    def _migrate_chat(self, chat: ChatId) -> None:
        """Move what is stored under the old id of a chat; if the program is stopping, the next start does it."""
        if not self._leaving and self.serves(chat):
            self._tasks.start(
                self._migrations.migrate(
                    chat, wait_until_idle=self._turns.wait_until_idle, on_moved=self._dispatcher.rename_chat
                )
            )

    # -- notices ------------------------------------------------------------------------------------------

    async def _deliver_notice(self, notice: QueuedNotice, behind: deque[QueuedNotice]) -> None:
        del behind
        language = await self.services.languages.of_chat(notice.chat)
        with log_context(f"notice-{notice.number}", chat=notice.chat), speaking(language):
            if notice.attempts >= MAX_TURN_ATTEMPTS:
                log.error(
                    "gave up notice %d to %s: it crashed the program repeatedly", notice.number, notice.chat
                )
                notice = replace(notice, text=phrases.NOTICE_GIVEN_UP, shown=(), choices=())
            async with self._attempts.counted_while_shown(notice):
                await self._delivery.deliver_notice(notice)


def _turn_key(received: InboxMessage) -> str:
    """Return the permanent key of a turn; it stays the same after a restart."""
    return f"message-{received.number}"
