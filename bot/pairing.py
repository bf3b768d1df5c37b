"""Strangers who ask to be let in, and what owners decide about them."""

import logging
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from bot import phrases
from bot.access import TERMINAL, Standing, standing_of
from bot.buttons import buttons_for
from bot.language.current import speaking
from bot.language.people import MAX_CODE_CHARS, PeopleLanguages
from bot.language.text import join_sentences
from bot.messages import ChatId, Choice, IncomingMessage, PersonId
from bot.pairing_codes import CODE_LENGTH, find_by_code, generate_code, normalize_code
from bot.pairing_requests import (
    CODE_LIFETIME,
    format_minutes,
    format_stranger,
    minutes_left,
    pairing_choices,
    sanitize_name,
)
from bot.sanitize import one_line
from bot.state import access, inbox
from bot.state.access import Decision, PairingRequest
from bot.state.database import format_timestamp
from bot.state.languages import save_told
from bot.timeparse import moment_in_short

if TYPE_CHECKING:
    from apsw import Connection

    from bot.config.settings import AccessSettings
    from bot.state.database import State

log = logging.getLogger(__name__)

MAX_PENDING_CODES = 3
"""How many can wait at a time. Whoever comes then is turned away, and the owners hear of it."""
REFUSALS_PER_PERIOD = 3
"""How often a stranger is answered within REFUSAL_PERIOD: a second message gets an answer, a flood does not."""
REFUSAL_PERIOD = timedelta(minutes=10)
MAX_REFUSED_STRANGERS = 200
"""How many strangers are told within REFUSAL_PERIOD that they cannot talk here; the rest of a flood meets silence."""
MAX_ANNOUNCEMENTS = 6
"""How many strangers an owner is told of within ANNOUNCEMENT_PERIOD. No more than three ask at once, but whoever opens
accounts by the dozen fills each place that an owner's no has freed."""
ANNOUNCEMENT_PERIOD = timedelta(hours=1)
MAX_WRONG_CODES = 10
WRONG_CODES_PERIOD = timedelta(minutes=10)
ANSWER_RETENTION = timedelta(days=30)

_TURNED_AWAY_KEY = "turned away "
"""How the keys of the notices begin that tell owners that some were turned away."""


class Pairing:
    """Lets strangers ask for access, and owners decide: each decision once under its key.

    No decision is held here: another process may have changed it.
    """

    def __init__(
        self,
        rules: "AccessSettings",
        state: "State",
        *,
        now: Callable[[], datetime],
        wake: Callable[[], None] = lambda: None,
        home_of: Callable[[PersonId], ChatId | None] = lambda person: None,
        languages: PeopleLanguages | None = None,
        name_of: "Callable[[Connection, PersonId], str]" = lambda db, person: "",
    ) -> None:
        """`wake` is called when a notice has been put into the outbox.

        `home_of` tells where an owner is told who asks to be let in; None for nowhere. `name_of` returns what somebody
        is called who has not asked; "" if unknown.
        """
        self._rules = rules
        self._state = state
        self._now = now
        self._wake = wake
        self._home_of = home_of
        self._languages = languages or PeopleLanguages(state)
        self._name_of = name_of
        self._refused: OrderedDict[PersonId, tuple[datetime, int]] = OrderedDict()
        """Strangers who were told lately that they cannot talk here: since when, how often; the earliest first."""
        self._turned_away_at: datetime | None = None
        """When owners were told last that some who asked were turned away."""

    def renew(self, rules: "AccessSettings") -> None:
        """Have these rules count from now on."""
        self._rules = rules

    # -- strangers ----------------------------------------------------------------------------------------

    async def greet(self, message: IncomingMessage) -> str:
        """What a stranger is told; "" for nothing at all.

        Nothing in rooms, nor more than three times in ten minutes. However many strangers there are, no more than
        three codes and two hundred names are held. Of whoever gets a new code the owners are told, and once an hour
        that others were turned away. Whoever asks again is told the same code, and its hour begins anew.
        """
        if message.in_room:
            return ""
        if self._rules.pairing:
            turned_away: list[datetime] = []
            text = await self._state.change(lambda db: self._issue_code(db, message, turned_away))
            if turned_away:  # only after the commit: a failed transaction has told nobody
                self._turned_away_at = turned_away[-1]
                log.info("the list of people waiting for approval is full; /pair clear empties it")
            if text:
                self._wake()
            if text is not None:
                return text
        return phrases.STRANGER if self._should_refuse(message.sender) else ""

    def _issue_code(
        self, db: "Connection", message: IncomingMessage, turned_away: list[datetime]
    ) -> str | None:
        """A stranger's code in words, "" where it was told just now; None for who gets none.

        `turned_away`: given the time where owners are told that somebody found no place.
        """
        person, now = str(message.sender), self._now()
        decided = access.read_decision(db, person)
        if decided == "denied":
            return None
        if (
            decided
        ):  # let in since the message came; a code would put another decision in the place of that one
            return ""
        everybody = self._list_strangers(db, now)
        stranger = next((each for each in everybody if each.person == person), None)
        if stranger is None:
            if access.is_cleared(
                db, person, since=format_timestamp(now - CODE_LIFETIME), until=format_timestamp(now)
            ):
                return None
            if len(everybody) >= MAX_PENDING_CODES:
                if self._announce_turned_away(db, now):
                    turned_away.append(now)
                return None
            stranger = PairingRequest(
                person,
                generate_code(),
                str(message.chat),
                sanitize_name(message.sender_name),
                told_at=format_timestamp(now),
                at=format_timestamp(now),
            )
            log.info(
                "%s is waiting for approval%s",
                one_line(person),
                self._hint(db, message.sender, stranger.code),
            )
            for owner, home in self._owner_homes(db).items():
                with speaking(self._languages.read(db, owner)):
                    self._announce(db, stranger, owner=owner, home=home)
        elif not format_timestamp(now - REFUSAL_PERIOD) < stranger.told_at <= format_timestamp(now):
            stranger = replace(
                stranger,
                chat=str(message.chat),
                told_at=format_timestamp(now),
                told=1,
                at=format_timestamp(now),
            )
        elif stranger.told < REFUSALS_PER_PERIOD:
            stranger = replace(
                stranger, chat=str(message.chat), told=stranger.told + 1, at=format_timestamp(now)
            )
        else:
            return ""
        access.save_pairing_request(db, stranger)
        save_told(db, person, message.language[:MAX_CODE_CHARS])
        return phrases.PAIRING.format(code=stranger.code, minutes=minutes_left(stranger, now))

    def _owner_homes(self, db: "Connection") -> dict[str, ChatId]:
        """Where each owner is told something, for those who can be."""
        found = {}
        for owner in dict.fromkeys((*self._rules.owners, *access.read_owners(db))):
            channel, _, name = owner.partition(":")
            if home := self._home_of(PersonId(channel, name)):
                found[owner] = home
        return found

    def _announce(self, db: "Connection", stranger: PairingRequest, *, owner: str, home: ChatId) -> None:
        """Tell an owner who asks to be let in; of a flood, that it is one, and then nothing for some time."""
        now, key = self._now(), f"asks {owner} "
        before = inbox.read_notice_times(
            db, key, since=format_timestamp(now - ANNOUNCEMENT_PERIOD), until=format_timestamp(now)
        )
        if len(before) >= MAX_ANNOUNCEMENTS:
            return
        text = phrases.ASKS.format(
            who=format_stranger(stranger),
            code=stranger.code,
            person=stranger.person,
            minutes=minutes_left(stranger, now),
        )
        if len(before) == MAX_ANNOUNCEMENTS - 1:
            again = datetime.fromisoformat(before[0]) + ANNOUNCEMENT_PERIOD
            text = f"{text}\n\n{phrases.ASKS_NO_MORE.format(time=moment_in_short(again, now))}"
        choices = pairing_choices(stranger)
        inbox.add_notice(
            db,
            str(home),
            text,
            key=f"{key}{stranger.code}",
            owner="",
            at=format_timestamp(now),
            choices=choices,
        )

    def _announce_turned_away(self, db: "Connection", now: datetime) -> bool:
        """Tell the owners that somebody found no place; return False where they were told within the hour."""
        last = self._turned_away_at
        if last is not None and now - ANNOUNCEMENT_PERIOD < last <= now:
            return False
        since, at = format_timestamp(now - ANNOUNCEMENT_PERIOD), format_timestamp(now)
        for owner, home in self._owner_homes(db).items():
            key = f"{_TURNED_AWAY_KEY}{owner} "
            if not inbox.read_notice_times(db, key, since=since, until=at):
                with speaking(self._languages.read(db, owner)):
                    text = phrases.ASKS_TURNED_AWAY.format(count=MAX_PENDING_CODES)
                    choices = buttons_for((Choice(phrases.CHOICE_CLEAR, "/pair clear"),))
                inbox.add_notice(db, str(home), text, key=f"{key}{at}", owner="", at=at, choices=choices)
        return True

    def _hint(self, db: "Connection", person: PersonId, code: str) -> str:
        """Return how the person who runs this becomes its owner; "" on a channel that has one."""
        owners = (*self._rules.owners, *access.read_owners(db))
        if any(owner.startswith(f"{person.channel}:") for owner in owners):
            return ""
        return f'; if that is you, become the owner with: commonplace chat -m "/pair {code} owner"'

    def _should_refuse(self, person: PersonId) -> bool:
        """Return whether to tell a stranger that they cannot talk here: at most three times in ten minutes."""
        now, refused = self._now(), self._refused
        while refused and not now - REFUSAL_PERIOD < next(iter(refused.values()))[0] <= now:
            refused.popitem(last=False)
        since, count = refused.get(person, (now, 0))
        if count >= REFUSALS_PER_PERIOD or (not count and len(refused) >= MAX_REFUSED_STRANGERS):
            return False
        refused[person] = since, count + 1
        return True

    # -- what owners decide: each once under its key, which is the same when it is run again after a crash ----

    async def list_pending(self) -> tuple[PairingRequest, ...]:
        """Who asks to be let in, whoever has asked for longest first; not who is, by the settings of now."""
        return await self._state.change(lambda db: self._list_strangers(db, self._now()))

    def _list_strangers(self, db: "Connection", now: datetime) -> tuple[PairingRequest, ...]:
        return tuple(each for each in self._load_pending(db, now) if self._is_pending_stranger(each))

    def _is_pending_stranger(self, request: PairingRequest) -> bool:
        channel, _, name = request.person.partition(":")
        return standing_of(PersonId(channel, name), self._rules) is Standing.STRANGER

    async def pair(self, code: str, *, decision: Decision = "allowed", by: PersonId, key: str) -> str:
        """Let in whom a code was given to, and tell them; return the answer to the owner who sent it.

        Only at the terminal may somebody be made an owner.
        """
        if decision == "owner" and by.channel != TERMINAL:
            return phrases.PAIR_OWNER_NOT_HERE
        given = normalize_code(code)
        if not self._rules.pairing:
            return phrases.PAIRING_OFF
        if len(given) != CODE_LENGTH:
            return phrases.PAIR_FORM.format(length=CODE_LENGTH)

        def work(db: "Connection") -> str:
            now = self._now()
            since, until = format_timestamp(now - WRONG_CODES_PERIOD), format_timestamp(now)
            wrong = access.read_wrong_codes(db, str(by), since=since, until=until)
            if len(wrong) >= MAX_WRONG_CODES:
                again = datetime.fromisoformat(wrong[-MAX_WRONG_CODES]) + WRONG_CODES_PERIOD
                return phrases.PAIR_WAIT.format(minutes=format_minutes(again - now))
            stranger = find_by_code(given, self._load_pending(db, now))
            if stranger is None:
                if (decided := access.read_answer(db, _key_of(given))) is not None:
                    return (
                        join_sentences([decided, phrases.PAIR_OWNER_USED]) if decision == "owner" else decided
                    )
                self._record(db, key, phrases.PAIR_WRONG, by=by, wrong_code=True)
                return phrases.PAIR_WRONG
            return self._let_in(db, stranger, decision, by=by, key=key)

        return await self._run_once(key, work)

    async def has_turned_someone_away(self) -> bool:
        """Return whether somebody who asked in the last hour found no place, in whichever process."""
        now = self._now()
        since, until = format_timestamp(now - ANNOUNCEMENT_PERIOD), format_timestamp(now)
        if self._turned_away_at is not None and now - ANNOUNCEMENT_PERIOD < self._turned_away_at <= now:
            return True
        return bool(
            await self._state.read(
                lambda db: inbox.read_notice_times(db, _TURNED_AWAY_KEY, since=since, until=until)
            )
        )

    async def clear(self, *, by: PersonId, key: str) -> str:
        """Void the codes of all who wait, who get no other for an hour; return the answer to the owner."""

        def work(db: "Connection") -> str:
            waiting = self._list_strangers(db, self._now())
            for each in waiting:
                text = phrases.PAIR_WAS_CLEARED.format(who=format_stranger(each), person=each.person)
                self._record_answer(db, each, text, by=by)
            access.clear_pairing_requests(db, at=format_timestamp(self._now()))
            answer = phrases.PAIR_CLEARED.format(count=len(waiting)) if waiting else phrases.PAIR_NOBODY
            self._record(db, key, answer, by=by)
            return answer

        self._turned_away_at = None
        return await self._run_once(key, work)

    async def make_owner(self, person: PersonId, *, by: PersonId, key: str) -> str:
        """Make somebody an owner who was let in before, or is waiting to be; only at the terminal."""
        if by.channel != TERMINAL:
            return phrases.PAIR_OWNER_NOT_HERE

        def work(db: "Connection") -> str:
            stranger = self._find_stranger(db, person)
            if standing_of(person, self._rules) is Standing.OWNER:
                return phrases.ALLOW_OWNER.format(who=format_stranger(stranger))
            if not stranger.code and access.read_decision(db, str(person)) is None:
                return phrases.PAIR_OWNER_UNKNOWN.format(person=person)
            return self._let_in(db, stranger, "owner", by=by, key=key)

        return await self._run_once(key, work)

    async def allow(self, person: PersonId, *, by: PersonId, key: str) -> str:
        """Let a person talk, with the memory; give the answer to the owner."""
        return await self._admit(person, "allowed", by=by, key=key)

    async def make_guest(self, person: PersonId, *, by: PersonId, key: str) -> str:
        """Let a person talk, without the memory; give the answer to the owner. No owner becomes a guest."""
        return await self._admit(person, "guest", by=by, key=key)

    async def _admit(self, person: PersonId, decision: Decision, *, by: PersonId, key: str) -> str:
        def work(db: "Connection") -> str:
            stranger = self._find_stranger(db, person)
            if standing_of(person, self._rules, access.read_decision(db, str(person))) is Standing.OWNER:
                return phrases.ALLOW_OWNER.format(who=format_stranger(stranger))
            return self._let_in(db, stranger, decision, by=by, key=key)

        return await self._run_once(key, work)

    async def deny(self, person: PersonId, *, by: PersonId, key: str) -> str:
        """Block a person, whatever `allow` and `guests` say; give the answer to the owner."""
        if person.channel == TERMINAL:
            return phrases.DENY_TERMINAL

        def work(db: "Connection") -> str:
            stranger = self._find_stranger(db, person)
            told = {"who": format_stranger(stranger), "person": person}
            if standing_of(person, self._rules) is Standing.OWNER:
                return phrases.DENY_OWNER.format(**told)
            if access.read_decision(db, str(person)) == "owner" and by.channel != TERMINAL:
                return phrases.DENY_PAIRED_OWNER.format(**told)
            access.save_decision(
                db, str(person), "denied", name=stranger.name, by=str(by), at=format_timestamp(self._now())
            )
            answer = phrases.BLOCKED.format(**told)
            self._record(db, key, answer, by=by)
            self._record_answer(db, stranger, phrases.PAIR_BLOCKED.format(**told), by=by)
            return answer

        return await self._run_once(key, work)

    async def decide_once(self, work: "Callable[[Connection], str]", *, by: PersonId, key: str) -> str:
        """Run what an owner decides in one transaction, once under its key; return its answer."""

        def decide(db: "Connection") -> str:
            answer = work(db)
            self._record(db, key, answer, by=by)
            return answer

        return await self._run_once(key, decide)

    async def _run_once(self, key: str, work: "Callable[[Connection], str]") -> str:
        """Return what was answered to this `key` before, or else the answer of `work`; in one transaction."""

        def answer_once(db: "Connection") -> str:
            before = access.read_answer(db, key)
            return work(db) if before is None else before

        answer = await self._state.change(answer_once)
        self._wake()
        return answer

    def _let_in(
        self, db: "Connection", stranger: PairingRequest, decision: Decision, *, by: PersonId, key: str
    ) -> str:
        at = format_timestamp(self._now())
        access.save_decision(db, stranger.person, decision, name=stranger.name, by=str(by), at=at)
        if stranger.chat:
            with speaking(self._languages.read(db, stranger.person)):
                text = phrases.LET_IN_AS_OWNER if decision == "owner" else phrases.LET_IN
            inbox.add_notice(db, stranger.chat, text, key=f"let-in-{key}", owner="", at=at)
        answer = phrases.LET_IN_BY_OWNER[decision].format(
            who=format_stranger(stranger), person=stranger.person
        )
        self._record(db, key, answer, by=by)
        self._record_answer(db, stranger, phrases.PAIR_USED.format(who=format_stranger(stranger)), by=by)
        return answer

    def _find_stranger(self, db: "Connection", person: PersonId) -> PairingRequest:
        """Who asks to be let in, or the same without a code who does not."""
        asking = (each for each in self._load_pending(db, self._now()) if each.person == str(person))
        name = access.read_name(db, str(person)) or sanitize_name(self._name_of(db, person))
        return next(asking, PairingRequest(str(person), code="", chat="", name=name, told_at="", at=""))

    def _record_answer(
        self, db: "Connection", stranger: PairingRequest, answer: str, *, by: PersonId
    ) -> None:
        """Keep what whoever sends a code is told after somebody has decided about it; owners may be several."""
        if stranger.code:
            self._record(db, _key_of(stranger.code), answer, by=by)

    def _load_pending(self, db: "Connection", now: datetime) -> tuple[PairingRequest, ...]:
        # A code that is from the future was given before the clock was set back: how old it is, nobody knows.
        return access.read_pairing_requests(
            db, since=format_timestamp(now - CODE_LIFETIME), until=format_timestamp(now)
        )

    def _record(
        self, db: "Connection", key: str, answer: str, *, by: PersonId, wrong_code: bool = False
    ) -> None:
        now = self._now()
        before, wrong_before = (
            format_timestamp(now - ANSWER_RETENTION),
            format_timestamp(now - WRONG_CODES_PERIOD),
        )
        access.delete_answers(db, before=before, wrong_before=wrong_before)
        access.save_answer(db, key, answer, owner=str(by), wrong_code=wrong_code, at=format_timestamp(now))


def _key_of(code: str) -> str:
    """Where it is noted what became of a code."""
    return f"code {code.encode('ascii', 'replace').decode()}"
