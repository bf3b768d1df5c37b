"""Reminders and scheduled prompts: kept in state.db, delivered once when they are due, however late that is noticed."""

import asyncio
import logging
from collections.abc import Callable, Collection
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo

from bot import phrases
from bot.log.context import log_context
from bot.log.tracebacks import error_location
from bot.messages import ChatId, IncomingMessage, PersonId
from bot.state import access, inbox
from bot.state import reminders as stored_reminders
from bot.state.database import State, StateFault, format_timestamp
from bot.state.reminders import ReminderRow
from bot.timeparse import Recurrence, When, due_before, moment_in_full, read_when, rule_in_words
from bot.timeparse.recurrence import on_wall

if TYPE_CHECKING:
    import apsw

log = logging.getLogger(__name__)

MAX_PER_CHAT = 200
MAX_PER_PERSON = 200
"""In all chats together."""
MAX_UNDELIVERED = 1
"""Of what one reminder brings: it is skipped while so much is on its way to the chat, or not answered yet."""
MAX_CHARACTERS = 2_000
CHECK_SECONDS = 15.0
"""So late at most is one noticed to be due after the machine has slept, or its clock was set."""
LATE_AFTER = timedelta(minutes=1)
"""So much later it says when it was due."""
BATCH_SIZE = 100
"""How many are delivered by one transaction."""


_NOTICE_KEY = "reminder-{number}-"
"""How the keys of its notices begin, and the ids of its messages: the moment when it was due follows."""
_PROMPT_KEY = "schedule-{number}-"


class ReminderNotSet(Exception):
    """A reminder that cannot be kept; the text tells why."""


@dataclass(frozen=True, slots=True)
class ReminderRequest:
    """Who asks for a reminder, and where it goes."""

    key: str
    """Names the request for ever: the same when it is made again after a crash."""
    chat: ChatId
    person: PersonId
    sender_name: str = ""
    chat_name: str = ""
    in_room: bool = False


class Reminders:
    """What is due when, for every chat."""

    def __init__(
        self,
        state: State,
        *,
        now: Callable[[], datetime],
        zone: str,
        owners: Collection[str] = (),
        check_seconds: float = CHECK_SECONDS,
    ) -> None:
        """`now` is on the owner's clock, in `zone` (an IANA name); `owners` by the settings, who are never kept out."""
        self._owners = owners
        self.zone = ZoneInfo(zone)
        self._state = state
        self._now = now
        self._check_seconds = check_seconds
        self._changed = asyncio.Event()
        self._faulty = False
        self._in_one_zone = False
        """Whether all that is to come was seen to follow this zone."""
        self._started: datetime | None = None
        """When `run` was called for the first time."""

    def set_owners(self, owners: Collection[str]) -> None:
        """Have these be the owners from now on."""
        self._owners = owners

    def parse(self, text: str, *, asked_at: datetime | None = None) -> tuple[When, str]:
        """Read the moment with which a line begins, and the rest, as `read_when` does; raise NoMoment.

        `asked_at`: when that was written, where that is long ago; "in 20 minutes" counts from there.
        """
        return read_when(text, asked_at or self._now(), self.zone)

    async def find(self, key: str) -> ReminderRow | None:
        """What was added under a key before."""
        return await self._state.read(lambda db: stored_reminders.find(db, key))

    async def add(
        self, asked: ReminderRequest, when: When, text: str, *, prompt: bool = False
    ) -> ReminderRow:
        """Keep a reminder, or a prompt that is said to the assistant; once on disk, give it with its number.

        A second time with the same key gives the first. Raises NotSet where the text is too long, or where the chat or
        the person has as many as it may.
        """
        text = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        if len(text) > MAX_CHARACTERS:
            raise ReminderNotSet(phrases.REMINDER_LONG.format(length=len(text), limit=MAX_CHARACTERS))
        row = ReminderRow(
            number=0,
            key=asked.key,
            chat=str(asked.chat),
            person=str(asked.person),
            sender_name=asked.sender_name,
            chat_name=asked.chat_name,
            in_room=asked.in_room,
            text=text,
            prompt=prompt,
            due_at=format_timestamp(when.due),
            rule=when.rule,
            zone=self.zone.key if when.on_wall or when.rule else "",
            state="active",
        )

        def write(db: "apsw.Connection") -> ReminderRow:
            if found := stored_reminders.find(db, row.key):
                return found
            if stored_reminders.count_active(db, row.chat) >= MAX_PER_CHAT:
                raise ReminderNotSet(phrases.REMINDERS_FULL.format(limit=MAX_PER_CHAT))
            if stored_reminders.count_of_person(db, row.person) >= MAX_PER_PERSON:
                raise ReminderNotSet(phrases.REMINDERS_FULL_OF_PERSON.format(limit=MAX_PER_PERSON))
            return stored_reminders.add(db, row, at=self._state.at())

        added = await self._state.change(write)
        self._changed.set()
        return added

    async def list_active(self, chat: ChatId) -> tuple[ReminderRow, ...]:
        """What is to come in a chat, the nearest first."""
        return await self._state.read(lambda db: stored_reminders.active(db, str(chat)))

    async def cancel(self, number: int, *, chat: ChatId, owner: bool, key: str) -> ReminderRow | None:
        """End one: only of this chat and no prompt, unless an owner wants it; None where there is none to come."""
        return await self._state.change(
            lambda db: stored_reminders.cancel(
                db, number, chat=None if owner else str(chat), prompts=owner, key=key, at=self._state.at()
            )
        )

    def next_due(self, row: ReminderRow, *, seconds: bool = False, name_zone: bool = True) -> str:
        """When it is due next, in full."""
        due = datetime.fromisoformat(row.due_at)
        return moment_in_full(due, self.zone, seconds=seconds, name_zone=name_zone)

    async def run(self, serves: Callable[[ChatId], bool], wake: Callable[[], None]) -> None:
        """Deliver what is due for the chats that `serves` tells, until cancelled; call it again where it failed.

        Delivered is: a row in the outbox or inbox, in one transaction with what becomes of the reminder; `wake` is
        called after it. Other processes may do the same beside it.
        """
        self._started = self._started or self._now()
        while True:
            self._changed.clear()
            wait = self._check_seconds
            try:
                if not self._in_one_zone:
                    await self._apply_zone(serves)
                if count := await self._deliver_due(serves, self._started):
                    wake()
                wait = 0.0 if count == BATCH_SIZE else await self._seconds_until_next()
                self._faulty = False
            except StateFault as fault:
                if not self._faulty:
                    log.error("reminders have to wait: %s", fault)
                self._faulty = True
            try:
                async with asyncio.timeout(wait):
                    await self._changed.wait()
            except TimeoutError:
                pass

    async def _seconds_until_next(self) -> float:
        now = self._now()
        due = await self._state.read(lambda db: stored_reminders.next_due(db, format_timestamp(now)))
        if due is None:
            return self._check_seconds
        try:
            ahead = (datetime.fromisoformat(due) - now).total_seconds()
        except (ValueError, TypeError):  # a damaged row, which holds up no other
            return self._check_seconds
        return min(max(ahead, 0.0), self._check_seconds)

    async def _apply_zone(self, serves: Callable[[ChatId], bool]) -> None:
        """Have what is meant at a time of day come at that time in this zone, where the settings named another.

        What is overdue is delivered first, for the moment for which it was set.
        """
        zone, now = self.zone.key, format_timestamp(self._now())
        rows = await self._state.read(lambda db: stored_reminders.read_in_other_zones(db, zone))
        self._in_one_zone = not rows

        def moved(row: ReminderRow) -> datetime | None:
            follows = row.due_at > now and _serves_chat(row.chat, serves)
            return _move_to_zone(row, self.zone) if follows else None

        if not any(map(moved, rows)):
            return

        def move(db: "apsw.Connection") -> int:
            count = 0
            for row in stored_reminders.read_in_other_zones(db, zone):
                if due := moved(row):
                    stored_reminders.reschedule(db, row.number, due_at=format_timestamp(due), zone=zone)
                    count += 1
            return count

        count = await self._state.change(move)
        log.info("reminders that follow the time zone, which is %s now: %d", zone, count)

    async def _deliver_due(self, serves: Callable[[ChatId], bool], started: datetime) -> int:
        now = self._now()
        chats = await self._state.read(lambda db: stored_reminders.read_due_chats(db, format_timestamp(now)))
        served = {chat for chat in chats if _serves_chat(chat, serves)}
        if not served:
            return 0
        return await self._state.change(lambda db: self._claim_due(db, now, served, started))

    def _claim_due(
        self, db: "apsw.Connection", now: datetime, chats: Collection[str], started: datetime
    ) -> int:
        rows = stored_reminders.read_due(db, format_timestamp(now), chats, limit=BATCH_SIZE)
        for row in rows:
            db.execute("SAVEPOINT reminder")
            try:
                with log_context(f"reminder-{row.number}-{row.due_at}", chat=row.chat):
                    self._deliver(db, row, now, started)
            except (ValueError, LookupError, TypeError, OSError) as error:
                db.execute("ROLLBACK TO reminder")
                log.error(
                    "reminder %d in state.db cannot be read and is given up: %s",
                    row.number,
                    error_location(error),
                )
                stored_reminders.finish(db, row.number, "broken", at=format_timestamp(now))
            db.execute("RELEASE reminder")
        return len(rows)

    def _deliver(self, db: "apsw.Connection", row: ReminderRow, now: datetime, started: datetime) -> None:
        due = datetime.fromisoformat(row.due_at)
        late = due < started or now - due > LATE_AFTER
        following = _next_occurrence(row, now)
        broken = following == "broken"
        skipped = 0
        if row.person not in self._owners and access.read_decision(db, row.person) == "denied":
            log.info("reminder %d is not delivered: its person is kept out", row.number)
        elif _count_waiting(db, row) >= MAX_UNDELIVERED:
            skipped = row.skipped + 1
        elif row.prompt:
            inbox.add(
                db,
                _to_message(row, now, self._render_text(row, now, late=late, broken=broken)),
                owner="",
                at=format_timestamp(now),
            )
        else:
            text = self._render_text(row, now, late=late, broken=broken)
            key = f"{_NOTICE_KEY.format(number=row.number)}{row.due_at}"
            inbox.add_notice(db, row.chat, text, key=key, owner="", at=format_timestamp(now))
        if isinstance(following, datetime):
            stored_reminders.advance(db, row.number, format_timestamp(following), skipped=skipped)
        else:
            stored_reminders.finish(db, row.number, following, at=format_timestamp(now))

    def _render_text(self, row: ReminderRow, now: datetime, *, late: bool, broken: bool) -> str:
        text = row.text if row.prompt else phrases.REMINDER.format(text=row.text)
        if late:
            phrase = phrases.SCHEDULED_LATE if row.prompt else phrases.REMINDER_LATE
            text = phrase.format(
                text=row.text, due=due_before(datetime.fromisoformat(row.due_at), now, self.zone)
            )
        notes = [phrases.REMINDER_SKIPPED.format(count=row.skipped)] if row.skipped else []
        if broken:
            notes.append(phrases.REMINDER_UNREADABLE.format(number=row.number))
        return "\n\n".join([text, *notes])


def _count_waiting(db: "apsw.Connection", row: ReminderRow) -> int:
    """Return how much of what it brought has not reached the chat, or is not answered, yet."""
    if row.prompt:
        return inbox.count_open_with_prefix(db, _PROMPT_KEY.format(number=row.number))
    return inbox.count_undelivered_with_prefix(db, _NOTICE_KEY.format(number=row.number))


def is_readable(row: ReminderRow) -> bool:
    """Return whether its moment and its rule can be read: not in a damaged row, or one of a newer version."""
    try:
        format_recurrence(row)
        return datetime.fromisoformat(row.due_at).tzinfo is not None
    except (ValueError, LookupError):
        return False


def format_recurrence(row: ReminderRow) -> str:
    """How it comes round again; "" for once."""
    return rule_in_words(Recurrence.parse(row.rule)) if row.rule else ""


def _next_occurrence(row: ReminderRow, now: datetime) -> "datetime | stored_reminders.ReminderState":
    """When it comes round again, or what has become of it. One whose rule cannot be read has come all the same."""
    if not row.rule:
        return "done"
    try:
        # From now, not from when it was due: one that was missed often comes once.
        return Recurrence.parse(row.rule).next_after(now, ZoneInfo(row.zone)) or "done"
    except (ValueError, LookupError, OSError) as error:
        log.error(
            "reminder %d will not come again, its rule %r cannot be read: %s",
            row.number,
            row.rule,
            error_location(error),
        )
        return "broken"


def _move_to_zone(row: ReminderRow, zone: ZoneInfo) -> datetime | None:
    """When a reminder is due, at the same time of day in another zone; None where it cannot be read."""
    try:
        due = datetime.fromisoformat(row.due_at).astimezone(ZoneInfo(row.zone))
        elapses = row.rule and Recurrence.parse(row.rule).unit == "minutes"
        return due if elapses else on_wall(due.replace(tzinfo=None), zone)
    except (ValueError, LookupError, OSError, OverflowError):
        return None  # told when it is due


def _to_message(row: ReminderRow, now: datetime, text: str) -> IncomingMessage:
    channel, _, person = row.person.partition(":")
    return IncomingMessage(
        id=f"{_PROMPT_KEY.format(number=row.number)}{row.due_at}",
        chat=ChatId.parse(row.chat),
        sender=PersonId(channel, person),
        text=text,
        sent_at=now,
        sender_name=row.sender_name,
        chat_name=row.chat_name,
        in_room=row.in_room,
        alone=True,
    )


def _serves_chat(chat: str, serves: Callable[[ChatId], bool]) -> bool:
    try:
        return serves(ChatId.parse(chat))
    except ValueError:
        return True  # nobody's: it is taken up, and found to be broken
