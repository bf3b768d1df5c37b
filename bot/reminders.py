"""Reminders and scheduled prompts: stored in state.db, delivered once when they are due, however late."""

import asyncio
import logging
from collections.abc import Callable, Collection
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo

from bot import phrases
from bot.language.codes import ENGLISH
from bot.language.current import speaking
from bot.language.people import PeopleLanguages
from bot.log.context import log_context
from bot.log.tracebacks import error_location
from bot.messages import ChatId, IncomingMessage, PersonId
from bot.state import access, inbox
from bot.state import reminders as stored_reminders
from bot.state.database import State, StateFault, format_timestamp
from bot.state.reminders import ReminderRow
from bot.timeparse import Recurrence, When, due_before, moment_in_full, read_when, rule_in_words
from bot.timeparse.recurrence import on_wall
from memory.surrogates import replace_surrogates

if TYPE_CHECKING:
    import apsw

log = logging.getLogger(__name__)

MAX_PER_CHAT = 200
MAX_PER_PERSON = 200
"""In all chats together."""
MAX_UNDELIVERED = 1
"""Undelivered or unanswered occurrences of one reminder; further ones are skipped."""
MAX_CHARACTERS = 2_000
CHECK_SECONDS = 15.0
"""Seconds between checks: the maximum delay after the machine has slept or its clock was set."""
LATE_AFTER = timedelta(minutes=1)
"""A reminder this late also says when it was due."""
MAX_NUMBER = (1 << 63) - 1
"""The largest integer that SQLite takes."""
BATCH_SIZE = 100
"""Reminders delivered in one transaction."""


_NOTICE_KEY = "reminder-{number}-"
"""Start of the keys of its notices; the due time follows."""
_PROMPT_KEY = "schedule-{number}-"
"""Start of the ids of its messages; the due time follows."""


class ReminderNotSet(Exception):
    """A reminder cannot be stored; the text says why."""


@dataclass(frozen=True, slots=True)
class ReminderRequest:
    """Who asks for a reminder, and which chat it goes to."""

    key: str
    """Permanent key of the request, the same after a crash."""
    chat: ChatId
    person: PersonId
    sender_name: str = ""
    chat_name: str = ""
    in_room: bool = False


class Reminders:
    """The reminders of all chats. Its methods raise StateFault."""

    def __init__(
        self,
        state: State,
        *,
        now: Callable[[], datetime],
        zone: str,
        owners: Collection[str] = (),
        languages: PeopleLanguages | None = None,
        check_seconds: float = CHECK_SECONDS,
    ) -> None:
        """`now` is in the owner's time zone, `zone` (an IANA name); `owners` of the settings are never blocked."""
        self._owners = owners
        self._languages = languages or PeopleLanguages(state)
        self.zone = ZoneInfo(zone)
        self._state = state
        self._now = now
        self._check_seconds = check_seconds
        self._changed = asyncio.Event()
        self._faulty = False
        self._in_one_zone = False
        """Whether all pending reminders are known to follow this zone."""
        self._started: datetime | None = None
        """When `run` was first called."""

    def set_owners(self, owners: Collection[str]) -> None:
        """Use these owners from now on."""
        self._owners = owners

    def parse(self, text: str, *, asked_at: datetime | None = None) -> tuple[When, str]:
        """Parse the time at the beginning of a line; return it with the rest. Raises TimeParseError.

        `asked_at`: when the line was written, if that was long ago; "in 20 minutes" counts from there.
        """
        return read_when(text, asked_at or self._now(), self.zone)

    async def find(self, key: str) -> ReminderRow | None:
        """Return the reminder that was added under a key."""
        return await self._state.read(lambda db: stored_reminders.find(db, key))

    async def add(
        self, request: ReminderRequest, when: When, text: str, *, prompt: bool = False
    ) -> ReminderRow:
        """Store a reminder, or a prompt for the assistant, and return it with its number.

        A retry with the same key returns the first one. Raises ReminderNotSet if the text is too long, or if the chat
        or the person has too many.
        """
        text = replace_surrogates(text)
        if len(text) > MAX_CHARACTERS:
            raise ReminderNotSet(phrases.REMINDER_LONG.format(length=len(text), limit=MAX_CHARACTERS))
        row = ReminderRow(
            number=0,
            key=request.key,
            chat=str(request.chat),
            person=str(request.person),
            sender_name=request.sender_name,
            chat_name=request.chat_name,
            in_room=request.in_room,
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
            _check_room(db, row)
            return stored_reminders.add(db, row, at=self._state.at())

        added = await self._state.change(write)
        self._changed.set()
        return added

    async def list_active(self, chat: ChatId) -> tuple[ReminderRow, ...]:
        """Return the pending reminders of a chat, the next one first."""
        return await self._state.read(lambda db: stored_reminders.read_active(db, str(chat)))

    async def list_upcoming(self, *, limit: int) -> tuple[ReminderRow, ...]:
        """Return pending reminders and prompts of all chats, the next one first; for owners."""
        return await self._state.read(lambda db: stored_reminders.read_upcoming(db, limit=limit))

    async def cancel(
        self, number: int, *, chat: ChatId | None, owner: bool, key: str, elsewhere: bool = True
    ) -> ReminderRow | None:
        """Cancel a reminder of this chat, or, for an owner, any reminder or prompt; None if there is none pending.

        `chat`: None for an owner who is in no chat. `elsewhere`: whether an owner may mean one of another chat.
        """
        if number > MAX_NUMBER:
            return None
        where = None if owner and elsewhere else str(chat)
        return await self._state.change(
            lambda db: stored_reminders.cancel(
                db, number, chat=where, prompts=owner, key=key, at=self._state.at()
            )
        )

    async def move(self, number: int, when: When) -> ReminderRow | None:
        """Move any pending reminder or prompt to another time, for an owner; None if there is none pending.

        One that recurs is moved as a whole. Raises ReminderNotSet if the new time would end its recurrence.
        """
        zone = self.zone.key if when.on_wall or when.rule else ""

        def write(db: "apsw.Connection") -> ReminderRow | None:
            row = stored_reminders.read_one(db, number)
            if row is None or row.state != "active":
                return None
            if row.rule and not when.rule:
                raise ReminderNotSet(phrases.REMINDER_REPEATS)
            stored_reminders.move(db, number, due_at=format_timestamp(when.due), rule=when.rule, zone=zone)
            return stored_reminders.read_one(db, number)

        moved = await self._state.change(write) if number <= MAX_NUMBER else None
        self._changed.set()
        return moved

    async def restore(self, number: int) -> ReminderRow | None:
        """Make a cancelled reminder or prompt pending again, for an owner; None if it is not known any more.

        One that recurs continues with its next time. Raises ReminderNotSet if its only time has passed, or if others
        have taken its place meanwhile.
        """

        def write(db: "apsw.Connection") -> ReminderRow | None:
            row = stored_reminders.read_one(db, number)
            if row is None or row.state in ("done", "broken"):
                return None
            if row.state == "cancelled":
                now = self._now()
                due_at = row.due_at
                if due_at <= format_timestamp(now):
                    following = _next_occurrence(row, now)
                    if not isinstance(following, datetime):
                        raise ReminderNotSet(phrases.REMINDER_PASSED)
                    due_at = format_timestamp(following)
                _check_room(db, row)
                stored_reminders.restore(db, number, due_at=due_at, at=self._state.at())
            return stored_reminders.read_one(db, number)

        restored = await self._state.change(write) if number <= MAX_NUMBER else None
        self._changed.set()
        return restored

    def next_due(self, row: ReminderRow, *, seconds: bool = False, name_zone: bool = True) -> str:
        """Return in full when it is due next."""
        due = datetime.fromisoformat(row.due_at)
        return moment_in_full(due, self.zone, seconds=seconds, name_zone=name_zone)

    async def run(self, serves: Callable[[ChatId], bool], wake: Callable[[], None]) -> None:
        """Deliver due reminders of the chats that `serves` accepts, until cancelled or until it raises an error.

        It may be called again after that. A delivery is a row in the outbox or inbox, written in one transaction with
        the reminder's new state; `wake` is called afterwards. Other processes may do the same at the same time.
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
                    log.error("reminders are delayed: %s", fault)
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
        except (ValueError, TypeError):  # a damaged row must not delay others
            return self._check_seconds
        return min(max(ahead, 0.0), self._check_seconds)

    async def _apply_zone(self, serves: Callable[[ChatId], bool]) -> None:
        """Move reminders set for a time of day in another time zone to the same time in this one.

        Overdue reminders are delivered first, for the time at which they were due.
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
        log.info("moved reminders to the time zone %s: %d", zone, count)

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
                # A prompt is for the model, a reminder for the person who set it.
                language = ENGLISH if row.prompt else self._languages.read(db, row.person)
                with log_context(f"reminder-{row.number}-{row.due_at}", chat=row.chat), speaking(language):
                    self._deliver(db, row, now, started)
            except (ValueError, LookupError, TypeError, OSError) as error:
                db.execute("ROLLBACK TO reminder")
                log.error(
                    "reminder %d in state.db is damaged and was dropped: %s",
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
            log.info("reminder %d was not delivered: its person is blocked", row.number)
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


def _check_room(db: "apsw.Connection", row: ReminderRow) -> None:
    """Raise ReminderNotSet if the chat or the person of a reminder has as many as they may have."""
    if stored_reminders.count_active(db, row.chat) >= MAX_PER_CHAT:
        raise ReminderNotSet(phrases.REMINDERS_FULL.format(limit=MAX_PER_CHAT))
    if stored_reminders.count_of_person(db, row.person) >= MAX_PER_PERSON:
        raise ReminderNotSet(phrases.REMINDERS_FULL_OF_PERSON.format(limit=MAX_PER_PERSON))


def _count_waiting(db: "apsw.Connection", row: ReminderRow) -> int:
    """Return how many of its occurrences are not delivered or not answered yet."""
    if row.prompt:
        return inbox.count_open_with_prefix(db, _PROMPT_KEY.format(number=row.number))
    return inbox.count_undelivered_with_prefix(db, _NOTICE_KEY.format(number=row.number))


def is_readable(row: ReminderRow) -> bool:
    """Return whether its time and rule can be parsed: not if the row is damaged or from a newer version."""
    try:
        format_recurrence(row)
        return datetime.fromisoformat(row.due_at).tzinfo is not None
    except (ValueError, LookupError):
        return False


def format_recurrence(row: ReminderRow) -> str:
    """Return in words how it recurs; "" for once."""
    return rule_in_words(Recurrence.parse(row.rule)) if row.rule else ""


def _next_occurrence(row: ReminderRow, now: datetime) -> "datetime | stored_reminders.ReminderState":
    """Return when it is due next, or its final state; with an unreadable rule, this was its last occurrence."""
    if not row.rule:
        return "done"
    try:
        # Counted from now: a reminder that was missed several times comes once.
        return Recurrence.parse(row.rule).next_after(now, ZoneInfo(row.zone)) or "done"
    except (ValueError, LookupError, OSError) as error:
        log.error(
            "reminder %d will not recur, its rule %r cannot be parsed: %s",
            row.number,
            row.rule,
            error_location(error),
        )
        return "broken"


def _move_to_zone(row: ReminderRow, zone: ZoneInfo) -> datetime | None:
    """Return when it is due at the same time of day in another zone; None if the row cannot be read."""
    try:
        due = datetime.fromisoformat(row.due_at).astimezone(ZoneInfo(row.zone))
        elapses = row.rule and Recurrence.parse(row.rule).unit == "minutes"
        return due if elapses else on_wall(due.replace(tzinfo=None), zone)
    except (ValueError, LookupError, OSError, OverflowError):
        return None  # reported when it is due


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
        return True  # no chat at all: it is delivered here, and found to be broken
