"""The front door: who may come in, in which order messages are answered, and what goes on by itself."""

import asyncio
import logging
from collections import deque
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import aclosing, suppress
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice

from bot import phrases
from bot.access import Standing
from bot.answering import Agents, Answering
from bot.assignment import Assignment
from bot.attempts import ATTEMPTS, READING_ATTEMPTS, Attempts, is_spent
from bot.commands.command import command_in
from bot.delivery import Delivery
from bot.lanes import Lanes
from bot.log.work import working_on
from bot.messages import Adapter, ChatId, IncomingMessage, NotAccepted, ReplyPart
from bot.models.errors import ModelError
from bot.moves import Moves
from bot.plain_text import one_line
from bot.services import Services
from bot.state.database import StateFault, to_the_end
from bot.state.inbox import Notice, Received, edited
from bot.tasks import Tasks
from bot.turn import Turn
from bot.withdrawals import Withdrawals
from memory.errors import MemoryFault

log = logging.getLogger(__name__)

TURNS_AT_ONCE = 256
"""Chats that are answered at the same time; the others wait for their turn."""
ROUND_SECONDS = 15.0
"""How often it is looked for what other processes, dead or alive, have left to this one."""
DISK_PAUSES = (2.0, 10.0, 30.0, 60.0)
"""Seconds after which a turn is tried again that state.db had no room for; the last one again and again."""
MORE_SECONDS = 1.0
"""How long it is waited for what belongs to a message and is on its way, such as the next picture of an album."""
MORE_AT_MOST = 20
ATTACHED_AT_MOST = 20
"""Pictures, documents and the like of messages in a row that are answered together: what is more has its own turn."""
PARKING_GRACE = 1.5
"""Seconds that parked turns get to let go of what they use."""


@dataclass(frozen=True, slots=True, eq=False)
class _Running:
    """The turn of a chat from its beginning to its end, including its waits for room on the disk."""

    turn: Turn
    assignment: Assignment
    is_stopped: asyncio.Event
    """Set where it was stopped while nothing of it ran: before it began, or while it waits for room."""

    def stop(self) -> bool:
        """End it now; return False where it has ended already."""
        if self.turn.stop():
            return True
        if self.turn.goes_on:
            self.is_stopped.set()
        return self.turn.goes_on


class Assistant:
    """Takes messages from every channel and has the replies rendered where they belong."""

    def __init__(
        self,
        services: Services,
        *,
        agents: Agents,
        delivery: Delivery,
        turns_at_once: int = TURNS_AT_ONCE,
        disk_pauses: Sequence[float] = DISK_PAUSES,
    ) -> None:
        """`delivery` shows replies. The rest: see `Services`."""
        self.services = services
        commands = services.commands
        self._at_once = {command.name for command in commands if command.at_once}
        self._only_tell = {command.name for command in commands if command.only_tells}
        self._answering = Answering(services, agents, stop=self.stop)
        self._attempts = Attempts(services.inbox)
        self._delivery = delivery
        self._moves = Moves(services.state, services.compactor, hold=self._answering.hold)
        self._withdrawals = Withdrawals(services.channels, delivery)
        self._disk_pauses = disk_pauses
        self._tasks = Tasks()
        self._lanes: Lanes[Received] = Lanes(
            self._handle, tasks=self._tasks, at_once=turns_at_once, ready=self._ready
        )
        self._notices: Lanes[Notice] = Lanes(self._tell, tasks=self._tasks, at_once=turns_at_once)
        self._turns: dict[ChatId, _Running] = {}
        self._joined: dict[int, list[str]] = {}
        """By turn: ids of the messages beside the first that a turn of an earlier process had heard."""
        self._gathering: set[ChatId] = set()
        """Chats in which it is waited for what belongs to the message that is next."""
        self._stopped_before: dict[int, int] = {}
        """By the number of a message whose rest was waited for when it was stopped: the number of the one that did."""
        self._woken = services.woken
        self._leaving = False

    def attach(self, adapter: Adapter) -> None:
        """Make a channel's adapter the one that shows what is said there."""
        self.services.channels.attach(adapter)

    def serves(self, chat: ChatId) -> bool:
        """Whether anything can be shown in this chat by this process."""
        return self.services.channels.serves(chat)

    # -- what comes in ------------------------------------------------------------------------------------

    async def accept(self, message: IncomingMessage) -> bool:
        """Take a message in; it is answered after those that its chat is still waiting for. Tell whether it will be.

        When this returns the message is on disk, and the assistant's to answer, also after a crash; raises
        NotAccepted where it cannot be. `/stop` and its like do not wait. A message that was accepted before, one
        that is not meant for the bot, and one of a stranger go no further.
        """
        if message.in_room and not message.addressed:
            return False
        try:
            return await self._accept(self._moves.message(message))
        except StateFault as fault:
            raise NotAccepted(str(fault)) from fault

    async def _accept(self, message: IncomingMessage) -> bool:
        standing = await self.services.access.standing_of(message.sender, message.groups)
        if standing is Standing.STRANGER:
            self.services.measures.refused(message.chat.channel)
            return self._say_in_passing(message, await self.services.access.greet(message))
        if standing is not Standing.OWNER and (
            wait := self.services.rate.wait(message.sender, message.sent_at)
        ):
            self.services.measures.refused(message.chat.channel)
            told = self.services.rate.is_to_be_told(message.sender)
            return self._say_in_passing(
                message, phrases.TOO_MANY_MESSAGES.format(seconds=wait) if told else ""
            )
        # Cut between the two, it would be on disk, known when it is delivered again, and in nobody's hands.
        return await to_the_end(self._take_in(message))

    async def _take_in(self, message: IncomingMessage) -> bool:
        """Put a message on disk and into its lane; what is not new there counts for nobody's minute."""
        is_new = False
        try:
            if message.edit_of and await self._change_waiting(message):
                is_new = True
                return False  # what answers is the reply to the one that it is an edit of
            received = await self.services.inbox.accept(message)
            is_new = received is not None
        finally:
            if not is_new:
                self.services.rate.take_back(message.sender, message.sent_at)
        if received is not None:
            self.services.measures.messages[message.chat.channel] += 1
        if received is not None and not self._leaving:
            instead = message.edit_of and self._stop_answering(message.chat, message.edit_of)
            self._take_up(received, first=bool(instead))
        return received is not None

    async def answer(self, message: IncomingMessage) -> AsyncGenerator[ReplyPart, None]:
        """Yield the reply to a message of who waits for it in this process; it has no place in the inbox.

        Raises ModelError, MemoryFault, StateFault where there is none.
        """
        async with aclosing(self._answering.answer(message)) as parts:
            async for part in parts:
                yield part

    async def withdraw(self, chat: ChatId, message: str) -> None:
        """Leave a message unanswered that its sender has taken back; a turn that has begun goes on."""
        await self._withdrawals.withdraw(self._lanes.waiting(self._moves.place_of(chat)), message)

    async def take_up(self) -> None:
        """Go on with what an earlier process, or one that has no channel for it, has left."""
        for chat in await self._moves.load():
            self._carry_over(chat)
        messages, notices = await self.services.inbox.claim(self.serves)
        for each in messages:
            if each.turn and each.turn != each.number:
                self._joined.setdefault(each.turn, []).append(each.message.id)
        for each in messages:
            if not each.turn or each.turn == each.number:
                self._take_up(each)
        for notice in notices:
            notice = self._moves.notice(notice)
            self._notices.put(notice.chat, notice)

    def background_tasks(self) -> Mapping[str, Callable[[], Awaitable[None]]]:
        """Return what the assistant does unasked, by name: messages and notices of others, idle conversations.

        Each runs until it is cancelled, and may be started again after it failed.
        """
        return {
            "inbox": partial(self._again_and_again, self._take_up_others, self._woken),
            # A model may take minutes over a flush, and a reminder must not wait for that.
            "conversations": partial(self._again_and_again, self._look_after_conversations, asyncio.Event()),
        }

    async def _again_and_again(self, work: Callable[[], Awaitable[None]], woken: asyncio.Event) -> None:
        while True:
            woken.clear()
            try:
                await work()
            except (StateFault, MemoryFault, ModelError) as error:
                log.warning("%s", one_line(str(error)))
            with suppress(TimeoutError):
                async with asyncio.timeout(ROUND_SECONDS):
                    await woken.wait()

    async def _take_up_others(self) -> None:
        await self.take_up()
        await self._delivery.catch_up()

    async def _look_after_conversations(self) -> None:
        if not await self.services.budget.is_spent():
            with working_on(f"conversations {self.services.now().isoformat()}"):
                await self.services.compactor.look_after(self._answering.hold)

    def _say_in_passing(self, message: IncomingMessage, text: str) -> bool:
        if text:
            self._tasks.start(self._delivery.passing(message, text))
        return bool(text)

    async def _change_waiting(self, message: IncomingMessage) -> bool:
        """Put another text in the place of one that waits, or of an earlier edit of it; tell whether there was one.

        Here first: from now on nobody hears the old one. A crash before it is on disk brings the edit once more.
        """
        lane = self._lanes.waiting(message.chat)
        for place, waiting in enumerate(lane):
            meant = message.edit_of in (waiting.message.id, waiting.message.edit_of)
            if meant and waiting.state == "waiting":
                lane[place] = replace(waiting, message=edited(waiting.message, message))
                await self.services.inbox.edit(waiting.number, message)
                return True
        return False

    def _stop_answering(self, chat: ChatId, message: str) -> bool:
        """Stop the turn that answers a message, since another is put in its place; tell whether there was one.

        One that answers others as well goes on: they would have no answer.
        """
        running = self._running_in(chat)
        if running is None:
            return False
        assignment = running.assignment
        alone = assignment.answers == [message]  # or an earlier edit of it
        again = len(assignment.answers) == 1 and assignment.edit_of == message
        return (alone or again) and running.stop()

    def _take_up(self, received: Received, *, first: bool = False) -> None:
        received = self._moves.received(received)  # its chat may have moved while it was written down
        command = command_in(received.message)
        beside = self._at_once if received.message.alone else self._at_once | self._only_tell
        if command and command[0] in beside:
            self._tasks.start(self._handle_beside(received))
        else:
            self._lanes.put(received.message.chat, received, first=first)

    # -- one message, or several in a row -----------------------------------------------------------------

    async def _handle_beside(self, received: Received) -> None:
        """Answer a command that waits for nothing that its chat is busy with."""
        with working_on(_key_of(received), chat=received.message.chat):
            await self._answer_beside(received)

    async def _answer_beside(self, received: Received) -> None:
        turn = self._made(received, self._assignment(received, deque()))
        async with self._attempts.counted_while_shown(received):
            delivered = await self._delivery.reply(received, turn, shown=list(received.shown))
        if delivered:
            await self._delivery.done(received.number)

    async def _handle(self, received: Received, behind: deque[Received]) -> None:
        """Have a message answered and the reply delivered; whatever goes wrong ends here, so that the lane goes on."""
        with working_on(_key_of(received), chat=received.message.chat):
            await self._answer_in_turn(received, behind)

    async def _answer_in_turn(self, received: Received, behind: deque[Received]) -> None:
        message = received.message
        self.services.measures.took("waiting", since=received.taken_up)
        stopped = self._stopped_before.pop(received.number, None)
        if parts := _parts_of_command(received, behind):
            received = await self._gathered(received, parts)
        assignment, shown = self._assignment(received, behind), list(received.shown)
        assignment.answers += [each.message.id for each in parts]
        if stopped is not None:
            _hear_what_belongs_to(received, behind, assignment, before=stopped)
        is_stopped, pauses = asyncio.Event(), list(self._disk_pauses)
        if stopped is not None:
            is_stopped.set()
        try:
            while True:
                turn = self._made(received, assignment)
                self._turns[message.chat] = _Running(turn, assignment, is_stopped)
                if is_stopped.is_set():
                    turn.stop()
                try:
                    async with self._attempts.counted_while_shown(received):
                        delivered = await self._delivery.reply(received, turn, shown=shown)
                finally:
                    await turn.end()
                if not turn.goes_on:
                    break
                await self._wait_for_room(pauses, is_stopped)
        finally:
            del self._turns[message.chat]
        if delivered:
            for each in (received, *parts):  # those of a command may not have been noted as done with
                await self._delivery.done(each.number)
        if not self._leaving:
            await self._answering.afterwards(assignment)
        if self._moves.place_of(message.chat) != message.chat:
            self._carry_over(message.chat)  # it may have left something there that came too late

    async def _wait_for_room(self, pauses: list[float], is_stopped: asyncio.Event) -> None:
        """Wait until the disk has room for the rest of a turn, or until the turn is stopped.

        What the turn has heard is on disk, and it goes on where it broke off.
        """
        while not is_stopped.is_set():
            with suppress(TimeoutError):
                async with asyncio.timeout(pauses[0] if len(pauses) == 1 else pauses.pop(0)):
                    await is_stopped.wait()
            if await self.services.state.has_room():  # else a model would be asked, and paid, in vain
                break
        await self._delivery.catch_up()  # which messages show it, before there are more of them

    async def _gathered(self, received: Received, parts: Sequence[Received]) -> Received:
        """A command that is said with an album is meant for all of it."""
        along = (attachment for each in (received, *parts) for attachment in each.message.attachments)
        whole = replace(received.message, attachments=tuple(along), more_soon=False)
        try:
            await self.services.inbox.gather(received.number, whole, [each.number for each in parts])
        except StateFault as fault:
            log.error("%s", fault)  # after a crash the other parts come by themselves
        return replace(received, message=whole)

    async def _ready(self, chat: ChatId) -> None:
        """Let a move come to its end, and what belongs together come in, before anything is begun in a chat."""
        await self._moves.settled(chat)
        self._gathering.add(chat)
        try:
            await self._wait_for_more(self._lanes.waiting(chat))
            await self._withdrawals.look(self._lanes.waiting(chat), _row)
        finally:
            self._gathering.discard(chat)

    async def _wait_for_more(self, lane: deque[Received]) -> None:
        """Not for long, since it may never come. What waits can be edited meanwhile, stopped, and moved."""
        known = 0
        for _ in range(MORE_AT_MOST):
            row = _row(lane)
            if len(row) <= known or row[0].state != "waiting" or not row[-1].message.more_soon:
                return
            known = len(row)
            await asyncio.sleep(MORE_SECONDS)

    def _made(self, received: Received, assignment: Assignment) -> Turn:
        message = received.message

        async def stopped(reply: str) -> None:
            """A turn that was stopped stays so: that is on disk before anybody sees it."""
            if not assignment.parked:
                try:
                    await self.services.inbox.answer(received.number, reply)
                except StateFault as fault:
                    log.error("%s", fault)

        return Turn(
            self._reply(received, assignment),
            in_words=partial(self._answering.in_words, message),
            stopped=stopped,
            waits=lambda error: (
                isinstance(error, StateFault) and bool(self._disk_pauses) and not message.alone
            ),
            answers=assignment.answers,
        )

    def _assignment(self, received: Received, behind: deque[Received]) -> Assignment:
        message = received.message
        assignment = Assignment(
            message.chat,
            message.sender,
            turn=received.number,
            edit_of=message.edit_of,
            answers=[message.id, *self._joined.pop(received.number, ())],
            take=partial(_alike, message, behind),
            read=self.services.reader.read,
            counting=self._attempts.counted,
        )
        if received.state == "running" and received.heard is not None:
            assignment.since = received.heard - 1
            assignment.conversation = received.conversation
        return assignment

    async def _reply(self, received: Received, assignment: Assignment) -> AsyncGenerator[ReplyPart, None]:
        """Yield the reply to a message as it grows."""
        message = received.message
        if received.reply is not None and received.attempts < ATTEMPTS:
            yield ReplyPart(received.reply, final=True)
        elif is_spent(received) or received.attempts >= ATTEMPTS:
            log.error("message %s of %s was given up: the program ended over it", message.id, message.chat)
            self.services.measures.turns[message.chat.channel, "failed"] += 1
            limit, told = (
                (READING_ATTEMPTS, phrases.FILES_SET_ASIDE)
                if is_spent(received)
                else (ATTEMPTS, phrases.GIVEN_UP)
            )
            if received.attempts == limit and received.reply is None:
                await self._answering.set_aside(received, assignment)
            yield ReplyPart(told, final=True)
        else:
            async with aclosing(
                self._answering.answer(message, received=received, assignment=assignment)
            ) as parts:
                async for part in parts:
                    yield part

    # -- the end of things --------------------------------------------------------------------------------

    async def stop(self, chat: ChatId, *, before: int = 0) -> bool:
        """End the turn that runs in a chat, at once, or the sending of its reply; return whether there was one.

        `before`: the number of the message that wants it, which may be late: what was said after it goes on.
        """
        running = self._running_in(chat)
        if running is None:
            return self._stop_gathering(chat, before)
        return (not before or running.assignment.turn < before) and (
            running.stop() or running.turn.sending.stop()
        )

    def _stop_gathering(self, chat: ChatId, before: int) -> bool:
        """End what would be begun in a chat as soon as all that belongs to it has come."""
        lane = self._lanes.waiting(chat)
        if chat not in self._gathering or not lane or lane[0].number in self._stopped_before:
            return False
        if before and lane[0].number > before:
            return False
        self._stopped_before[lane[0].number] = before
        return True

    @property
    def is_idle(self) -> bool:
        """Whether nothing runs just now."""
        return not self._tasks.running

    async def idle(self) -> None:
        """Wait until every message that was accepted is answered."""
        await self._tasks.ended()

    async def close(self, patience: float) -> None:
        """Let what runs come to its end for `patience` seconds, then park it: it goes on with the next start."""
        self._leaving = True
        self._lanes.close()
        self._notices.close()
        if not await self._tasks.ended(patience):
            for running in self._turns.values():
                running.assignment.parked = True
            self._tasks.cancel()
            if not await self._tasks.ended(PARKING_GRACE):
                log.warning("some turns did not let go; they go on with the next start")
        await self._delivery.catch_up()

    # -- chats that get another id ------------------------------------------------------------------------

    async def moved(self, old: ChatId, new: ChatId) -> None:
        """Take in that a chat goes by another id from now on; that is on disk when this returns. Raises StateFault.

        To be told as often as the platform says so. What runs there comes to its end in the old id, which its adapter
        shows in the new one; what waits there is answered in the new one, and before what is said there. A message
        that comes with the old id later on belongs to the new one.
        """

        def noted() -> None:
            self._lanes.relocate(self._moves.place_of, self._moves.received)
            self._notices.relocate(self._moves.place_of, self._moves.notice)
            self._carry_over(old)

        await self._moves.note(old, new, noted=noted)

    def _carry_over(self, chat: ChatId) -> None:
        """Have what is kept of a chat by its old id go over; where the program leaves, with the next start."""
        if not self._leaving and self.serves(chat):
            self._tasks.start(self._moves.carry_out(chat, quiet=self._quiet, gone_over=self._answering.moved))

    async def _quiet(self, chat: ChatId) -> None:
        """Wait for the end of the turn that runs in a chat."""
        if chat in self._turns:
            await self._turns[chat].turn.ended()

    def _running_in(self, chat: ChatId) -> _Running | None:
        """The turn that runs in a chat, also one that has begun while the chat had another id."""
        before = (each for place, each in self._turns.items() if self._moves.place_of(place) == chat)
        return self._turns.get(chat) or next(before, None)

    # -- notices ------------------------------------------------------------------------------------------

    async def _tell(self, notice: Notice, behind: deque[Notice]) -> None:
        del behind
        with working_on(f"notice-{notice.number}", chat=notice.chat):
            if notice.attempts >= ATTEMPTS:
                log.error(
                    "notice %d to %s was given up: the program ended over it", notice.number, notice.chat
                )
                notice = replace(notice, text=phrases.NOTICE_GIVEN_UP, shown=(), choices=())
            async with self._attempts.counted_while_shown(notice):
                await self._delivery.notice(notice)


def _key_of(received: Received) -> str:
    """What names a turn for ever, also after a restart."""
    return f"message-{received.number}"


def _alike(message: IncomingMessage, behind: deque[Received]) -> list[Received]:
    """Take what the same person has said next, where it may be answered together."""
    taken = _belonging_to(message, behind)
    for _ in taken:
        behind.popleft()
    return taken


def _row(lane: deque[Received]) -> list[Received]:
    """What is next in a lane, with what may be answered together with it."""
    return [lane[0], *_belonging_to(lane[0].message, islice(lane, 1, None))] if lane else []


def _belonging_to(message: IncomingMessage, behind: Iterable[Received]) -> list[Received]:
    found, attached = list[Received](), len(message.attachments)
    for following in behind:
        more = len(following.message.attachments)
        if not _goes_with(message, following) or (more and attached + more > ATTACHED_AT_MOST):
            break
        attached += more
        found.append(following)
    return found


def _parts_of_command(received: Received, behind: deque[Received]) -> list[Received]:
    """Take the other parts of an album to which a command is the caption."""
    if received.state != "waiting" or not received.message.attachments or not command_in(received.message):
        return []
    parts = list[Received]()
    for each in _belonging_to(received.message, behind) if received.message.more_soon else ():
        # Each part of an album says that more of it may come, the last one as well.
        if not each.message.more_soon or each.message.text.strip():
            break
        parts.append(behind.popleft())
    return parts


def _goes_with(message: IncomingMessage, following: Received) -> bool:
    return (
        following.state == "waiting"
        and following.message.sender == message.sender
        and not (message.alone or following.message.alone)
        and not command_in(following.message)
        and not following.message.is_blank
    )


def _hear_what_belongs_to(
    received: Received, behind: deque[Received], assignment: Assignment, *, before: int
) -> None:
    """Have a turn that is stopped at its beginning hear what came with its message, as far as it came `before`."""
    if command_in(received.message):
        return
    assignment.to_hear = [received]
    for each in _belonging_to(received.message, behind):
        if before and each.number > before:
            break
        assignment.to_hear.append(behind.popleft())
    assignment.answers[:] = [each.message.id for each in assignment.to_hear]
