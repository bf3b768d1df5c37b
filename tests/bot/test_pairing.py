"""Strangers and owners: what strangers are told, codes, decisions, and the memory in rooms."""

import asyncio
import re
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory

import apsw
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot import phrases
from bot.access import Access, Standing
from bot.config.settings import AccessSettings
from bot.messages import ChatId, Choice, IncomingMessage, PersonId
from bot.pairing import MAX_REFUSED_STRANGERS, Pairing
from bot.pairing_codes import CODE_LENGTH, CODE_LETTERS, normalize_code
from bot.pairing_requests import sanitize_name
from bot.state import access, inbox
from bot.state.access import Decision
from bot.state.database import State, format_timestamp
from bot.state.inbox import QueuedNotice
from bot.state.migrations import MIGRATIONS
from tests.fakes.clock import FakeClock
from tests.fakes.fresh_state import copy_fresh_state

OWNER, OTHER_OWNER = PersonId("telegram", "1"), PersonId("terminal", "owner")


# -- a house with a door ------------------------------------------------------------------------------------


def person_of(text: str) -> PersonId:
    channel, _, name = text.partition(":")
    return PersonId(channel, name)


@dataclass(slots=True)
class Door:
    """One process's Access, and whoever comes to it."""

    access: Access
    pairing: Pairing
    state: State
    clock: FakeClock
    woken: list[str] = field(default_factory=list)
    count: int = 0

    def message(self, person: str, *, room: bool = False, name: str = "") -> IncomingMessage:
        self.count += 1
        chat = ChatId("telegram", "-100") if room else ChatId.parse(person)
        sender = person_of(person)
        return IncomingMessage(
            str(self.count), chat, sender, "hello", self.clock.now(), sender_name=name, in_room=room
        )

    async def knock(self, person: str, *, room: bool = False, name: str = "") -> str:
        return await self.pairing.greet(self.message(person, room=room, name=name))

    async def standing(self, person: str) -> Standing:
        return await self.access.standing_of(person_of(person))

    async def pair(
        self,
        code: str,
        *,
        guest: bool = False,
        owner: bool = False,
        by: PersonId = OWNER,
        key: str | None = None,
    ) -> str:
        self.count += 1
        decision: Decision = "owner" if owner else "guest" if guest else "allowed"
        return await self.pairing.pair(code, decision=decision, by=by, key=key or f"message-{self.count}")

    async def allow(self, person: str, *, key: str | None = None) -> str:
        self.count += 1
        return await self.pairing.allow(person_of(person), by=OWNER, key=key or f"message-{self.count}")

    async def deny(self, person: str, *, by: PersonId = OWNER, key: str | None = None) -> str:
        self.count += 1
        return await self.pairing.deny(person_of(person), by=by, key=key or f"message-{self.count}")

    async def clear(self, *, key: str | None = None) -> str:
        self.count += 1
        return await self.pairing.clear(by=OWNER, key=key or f"message-{self.count}")

    async def make_owner(self, person: str, *, by: PersonId) -> str:
        self.count += 1
        return await self.pairing.make_owner(person_of(person), by=by, key=f"message-{self.count}")

    async def notices(self) -> list[tuple[str, str]]:
        return [
            (str(each.chat), each.text) for _, each in await self.state.read(inbox.read_undelivered_notices)
        ]

    async def told(self) -> list[QueuedNotice]:
        """What owners were told that is not delivered yet."""
        return [
            each
            for _, each in await self.state.read(inbox.read_undelivered_notices)
            if each.text != phrases.LET_IN
        ]

    async def delivered(self) -> None:
        numbers = [each.number for _, each in await self.state.read(inbox.read_undelivered_notices)]
        await self.state.change(lambda db: inbox.mark_notices_delivered(db, numbers))

    async def rows(self) -> int:
        def count(db: apsw.Connection) -> int:
            tables = ("people", "pairing", "decisions", "rooms", "outbox")
            return sum(db.execute(f"SELECT count(*) FROM {table}").get for table in tables)

        return await self.state.read(count)


def door_of(state: State, clock: FakeClock, rules: AccessSettings) -> Door:
    woken: list[str] = []
    pairing = Pairing(rules, state, now=clock.now, wake=lambda: woken.append(""), home_of=home_of)
    return Door(Access(rules, state), pairing, state, clock, woken)


def home_of(person: PersonId) -> ChatId | None:
    """Owners are at home on one channel, and the first one is told nothing, as in most of these tests."""
    return ChatId("discord", f"private-{person.id}") if person.channel == "discord" else None


@pytest.fixture
async def state(tmp_path: Path) -> AsyncIterator[State]:
    async with State(copy_fresh_state(tmp_path / "state.db")) as opened:
        yield opened


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def door(state: State, clock: FakeClock) -> Door:
    return door_of(state, clock, AccessSettings(owners=("telegram:1",), guests=("discord:*",)))


def code_in(told: str) -> str:
    found = re.search(rf"^`/pair ([{CODE_LETTERS}]{{{CODE_LENGTH}}})`$", told, re.MULTILINE)
    assert found, told
    return found[1]


async def test_a_stranger_gets_a_code_and_the_line_that_an_owner_sends(door: Door) -> None:
    told = await door.knock("telegram:77")
    assert told == phrases.PAIRING.format(code=code_in(told), minutes=60)
    assert await door.standing("telegram:77") is Standing.STRANGER


async def test_a_code_lets_its_person_in_with_the_memory_which_the_owner_is_told(door: Door) -> None:
    answer = await door.pair(code_in(await door.knock("telegram:77", name="Ann")))
    assert await door.standing("telegram:77") is Standing.ALLOWED
    assert answer.startswith("Ann (telegram:77) can talk with me now, and read and write all of the memory.")
    assert "\n" not in answer
    assert await door.notices() == [("telegram:77", phrases.LET_IN)]
    assert door.woken


async def test_a_code_with_guest_lets_in_without_the_memory(door: Door) -> None:
    answer = await door.pair(code_in(await door.knock("telegram:77")), guest=True, by=OTHER_OWNER)
    assert await door.standing("telegram:77") is Standing.GUEST
    assert "without the memory" in answer


@pytest.mark.parametrize(
    "written", ["{}", " {} ", "{}-", "–{}—", "{0[0]}{0[1]}{0[2]}{0[3]} {0[4]}{0[5]}-{0[6]}{0[7]}"]
)
async def test_a_code_counts_in_small_letters_and_in_groups(door: Door, written: str) -> None:
    code = code_in(await door.knock("telegram:77"))
    await door.pair(written.format(code).lower())
    assert await door.standing("telegram:77") is Standing.ALLOWED


async def test_what_is_no_code_is_answered_with_the_form_and_not_counted(door: Door) -> None:
    for text in ("", "-", "ABC", "CDFHJKMNP", "x" * 100_000):
        assert await door.pair(text) == phrases.PAIR_FORM.format(length=CODE_LENGTH)
    for text in ("ＣＤＦＨＪＫＭＮ", "\ud800DFHJKMN", "ÄÄÄÄÄÄÄÄ", "'; DROP "):
        assert await door.pair(text) in (phrases.PAIR_WRONG, phrases.PAIR_FORM.format(length=CODE_LENGTH))
    assert await door.rows() == 4 - (normalize_code("'; DROP ") != "'; DROP ")


async def test_who_asks_again_is_told_the_same_code_whose_hour_begins_anew(door: Door) -> None:
    first = code_in(await door.knock("telegram:77"))
    assert code_in(await door.knock("telegram:77")) == first, "a second message does not meet silence"
    door.clock.seconds += 599
    assert code_in(await door.knock("telegram:77")) == first
    assert await door.knock("telegram:77") == "", "a flood does"
    door.clock.seconds += 1
    again = await door.knock("telegram:77")
    assert code_in(again) == first
    assert "within 60 min" in again
    door.clock.seconds += 3599
    assert code_in(await door.knock("telegram:77")) == first, "it stays theirs for as long as they ask"
    door.clock.seconds += 3600
    assert code_in(await door.knock("telegram:77")) != first
    assert await door.pair(first) == phrases.PAIR_WRONG
    assert await door.standing("telegram:77") is Standing.STRANGER


async def test_the_fourth_gets_no_code_until_one_is_used_or_too_old(door: Door) -> None:
    codes = []
    for number in range(3):
        codes.append(code_in(await door.knock(f"telegram:{number + 70}")))
        door.clock.seconds += 60
    assert [await door.knock("telegram:74") for _ in range(4)] == [*[phrases.STRANGER] * 3, ""]
    assert await door.knock("telegram:75") == phrases.STRANGER
    await door.pair(codes[2])
    code_in(await door.knock("telegram:74"))
    assert await door.knock("telegram:75") == phrases.STRANGER
    door.clock.seconds += 3600 - 180
    code_in(await door.knock("telegram:75"))


async def test_who_has_a_code_keeps_it_however_many_others_ask(door: Door) -> None:
    code = code_in(await door.knock("telegram:70"))
    for minute in range(0, 180, 11):
        for other in range(71, 80):
            await door.knock(f"telegram:{other}")
        assert code_in(await door.knock("telegram:70")) == code, minute
        door.clock.seconds += 11 * 60
    assert (await door.pair(code)).startswith("telegram:70")


async def test_an_owner_empties_the_list_so_that_others_can_ask(watched: Door) -> None:
    codes = [code_in(await watched.knock(f"telegram:{number}")) for number in (70, 71, 72)]
    assert await watched.knock("telegram:77") == phrases.STRANGER
    assert await watched.clear(key="clear-1") == (
        "Done: 3 turned away. They can ask again in an hour; anyone else can ask now."
    )
    assert await watched.clear(key="clear-1") == phrases.PAIR_CLEARED.format(count=3), "after a crash too"
    assert await watched.clear() == phrases.PAIR_NOBODY
    assert await watched.pairing.list_pending() == ()
    assert await watched.knock("telegram:70") == phrases.STRANGER, "their turn has been"
    code = code_in(await watched.knock("telegram:77"))
    assert "cleared" in await watched.pair(codes[0])
    assert (await watched.pair(code)).startswith("telegram:77")
    watched.clock.seconds += 3600
    assert code_in(await watched.knock("telegram:70")) not in codes
    assert "telegram:71" in await watched.allow("telegram:71"), "it keeps nobody out for good"


async def test_where_pairing_is_off_a_stranger_is_turned_away_three_times_in_ten_minutes(
    state: State, clock: FakeClock
) -> None:
    door = door_of(state, clock, AccessSettings(pairing=False))
    assert [await door.knock("telegram:77") for _ in range(4)] == [*[phrases.STRANGER] * 3, ""]
    clock.seconds += 599
    assert await door.knock("telegram:77") == ""
    clock.seconds += 1
    assert await door.knock("telegram:77") == phrases.STRANGER
    assert await door.pair("CDFHJKMN") == phrases.PAIRING_OFF
    assert await door.rows() == 0


async def test_in_a_room_a_stranger_meets_silence(door: Door) -> None:
    assert await door.knock("telegram:77", room=True) == ""
    assert await door.rows() == 0


@pytest.mark.thorough
@pytest.mark.parametrize("pairing", [True, False])
async def test_a_flood_of_strangers_leaves_no_trace(state: State, clock: FakeClock, pairing: bool) -> None:
    door = door_of(state, clock, AccessSettings(pairing=pairing))
    told = [await door.knock(f"telegram:{number}", name="x" * 10_000) for number in range(3000)]
    assert sum(map(bool, told)) == MAX_REFUSED_STRANGERS + (3 if pairing else 0)
    assert await door.rows() == (3 if pairing else 0)
    assert len(door.pairing._refused) == MAX_REFUSED_STRANGERS
    clock.seconds += 600
    assert await door.knock("telegram:2999") == phrases.STRANGER
    assert len(door.pairing._refused) == 1


async def test_a_clock_set_back_makes_no_code_older_than_an_hour_count(door: Door) -> None:
    code = code_in(await door.knock("telegram:77"))
    door.clock.seconds -= 1800
    assert await door.pair(code) == phrases.PAIR_WRONG
    code_in(await door.knock("telegram:77"))


async def test_after_ten_wrong_codes_an_owner_waits_and_the_other_one_does_not(door: Door) -> None:
    code = code_in(await door.knock("telegram:77"))
    for _ in range(10):
        assert await door.pair("CCCCCCCC") == phrases.PAIR_WRONG
        door.clock.seconds += 30
    assert await door.pair(code) == phrases.PAIR_WAIT.format(minutes=5)
    assert await door.standing("telegram:77") is Standing.STRANGER
    door.clock.seconds += 299
    assert await door.pair(code) == phrases.PAIR_WAIT.format(minutes=1)
    await door.pair(code_in(await door.knock("telegram:78")), by=OTHER_OWNER)
    assert await door.standing("telegram:78") is Standing.ALLOWED
    door.clock.seconds += 1
    await door.pair(code)
    assert await door.standing("telegram:77") is Standing.ALLOWED


async def test_a_command_that_runs_again_after_a_crash_gives_the_same_answer_and_does_nothing_more(
    door: Door,
) -> None:
    code = code_in(await door.knock("telegram:77", name="Ann"))
    answer = await door.pair(code, guest=True, key="message-900")
    await door.deny("telegram:77", key="message-901")
    assert await door.pair(code, guest=True, key="message-900") == answer
    assert await door.standing("telegram:77") is Standing.STRANGER
    assert len(await door.notices()) == 1
    allowed = await door.allow("telegram:77", key="message-902")
    denied = phrases.BLOCKED.format(who="Ann (telegram:77)", person="telegram:77")
    assert await door.deny("telegram:77", key="message-901") == denied
    assert await door.allow("telegram:77", key="message-902") == allowed
    assert await door.standing("telegram:77") is Standing.ALLOWED
    for _ in range(20):
        assert await door.pair("CCCCCCCC", key="message-903") == phrases.PAIR_WRONG
    await door.pair(code_in(await door.knock("telegram:78")))
    assert await door.standing("telegram:78") is Standing.ALLOWED


async def test_who_never_could_talk_is_kept_out_by_name_and_one_who_could_can_no_longer(door: Door) -> None:
    await door.knock("telegram:77", name="Ann")
    for _ in range(2):
        assert (await door.deny("telegram:77")).startswith("Ann (telegram:77) is blocked and")
    await door.allow("telegram:77")
    assert (await door.deny("telegram:77")).startswith("Ann (telegram:77) is blocked and")
    assert (await door.deny("telegram:78")).startswith("telegram:78 is blocked and")


async def test_who_has_become_an_owner_since_asks_no_more(state: State, clock: FakeClock) -> None:
    before = door_of(state, clock, AccessSettings())
    for person in ("telegram:1", "telegram:77"):
        await before.knock(person)
    now = door_of(state, clock, AccessSettings(owners=("telegram:1",)))
    assert [each.person for each in await before.pairing.list_pending()] == ["telegram:1", "telegram:77"]
    assert [each.person for each in await now.pairing.list_pending()] == ["telegram:77"]


async def test_who_has_become_an_owner_since_takes_no_place_of_those_who_ask(
    state: State, clock: FakeClock
) -> None:
    for person in ("telegram:1", "telegram:77", "telegram:78"):
        await door_of(state, clock, AccessSettings()).knock(person)
    now = door_of(state, clock, AccessSettings(owners=("telegram:1",)))
    assert code_in(await now.knock("telegram:79"))
    assert await now.knock("telegram:80") == phrases.STRANGER


async def test_who_has_written_before_is_told_when_an_owner_allows_it(door: Door) -> None:
    await door.knock("telegram:77")
    await door.allow("telegram:77")
    await door.allow("telegram:78")
    assert await door.notices() == [("telegram:77", phrases.LET_IN)]


async def test_who_may_use_the_memory_becomes_a_guest_and_an_owner_does_not(door: Door) -> None:
    for person, standing in (("telegram:77", Standing.GUEST), (str(OWNER), Standing.OWNER)):
        await door.allow(person)
        await door.pairing.make_guest(PersonId.parse(person), by=OTHER_OWNER, key=f"guest {person}")
        assert await door.standing(person) is standing


async def test_who_is_denied_gets_no_code_and_loses_the_one_there_was(door: Door) -> None:
    code = code_in(await door.knock("telegram:77"))
    await door.deny("telegram:77")
    assert await door.pair(code) == phrases.PAIR_BLOCKED.format(who="telegram:77", person="telegram:77")
    assert await door.standing("telegram:77") is Standing.STRANGER
    assert await door.knock("telegram:77") == phrases.STRANGER
    await door.deny("discord:5")
    assert (await door.standing("discord:5"), await door.standing("discord:6")) == (
        Standing.STRANGER,
        Standing.GUEST,
    )


async def test_who_is_allowed_while_a_code_waits_is_told_and_the_code_is_void(door: Door) -> None:
    code = code_in(await door.knock("telegram:77"))
    await door.allow("telegram:77")
    assert await door.standing("telegram:77") is Standing.ALLOWED
    assert await door.notices() == [("telegram:77", phrases.LET_IN)]
    assert await door.pair(code, guest=True) == phrases.PAIR_USED.format(who="telegram:77")
    assert await door.standing("telegram:77") is Standing.ALLOWED
    await door.allow("discord:6")
    assert await door.standing("discord:6") is Standing.ALLOWED
    assert len(await door.notices()) == 1


@pytest.mark.parametrize(
    ("person", "answer"),
    [
        ("telegram:1", phrases.DENY_OWNER.format(who="telegram:1")),
        ("terminal:owner", phrases.DENY_TERMINAL),
    ],
)
async def test_an_owner_of_the_settings_cannot_be_denied(door: Door, person: str, answer: str) -> None:
    assert await door.deny(person) == answer
    assert await door.allow(person) == phrases.ALLOW_OWNER.format(who=person)
    assert await door.standing(person) is Standing.OWNER
    assert await door.rows() == 0


async def test_what_one_process_decides_counts_in_the_other_at_once(
    door: Door, clock: FakeClock, tmp_path: Path
) -> None:
    async with State(tmp_path / "state.db") as state:
        other = door_of(state, clock, AccessSettings(owners=("telegram:1",)))
        code = code_in(await door.knock("telegram:77"))
        assert await other.standing("telegram:77") is Standing.STRANGER
        await other.pair(code)
        assert await door.standing("telegram:77") is Standing.ALLOWED
        await door.deny("telegram:77")
        assert await other.standing("telegram:77") is Standing.STRANGER


async def test_of_two_owners_who_press_the_same_button_the_later_one_is_told_how_it_stands(
    door: Door,
) -> None:
    code = code_in(await door.knock("telegram:77", name="Ann"))
    await door.pair(code, guest=True)
    for _ in range(20):
        assert await door.pair(code, by=OTHER_OWNER) == (
            "Ann (telegram:77) was already let in with that code."
        )
    assert await door.standing("telegram:77") is Standing.GUEST
    assert len(await door.notices()) == 1
    await door.pair(code_in(await door.knock("telegram:78")), by=OTHER_OWNER)
    assert await door.standing("telegram:78") is Standing.ALLOWED, "none of these was a wrong code"


# -- owners by a command at the terminal --------------------------------------------------------------------


async def test_a_code_makes_an_owner_at_the_terminal_for_good_and_deny_takes_it_back(
    door: Door, clock: FakeClock, state: State
) -> None:
    code = code_in(await door.knock("telegram:77", name="Ann"))
    answer = await door.pair(code, owner=True, by=OTHER_OWNER)
    assert answer == phrases.LET_IN_BY_OWNER["owner"].format(who="Ann (telegram:77)", person="telegram:77")
    assert await door.notices() == [("telegram:77", phrases.LET_IN_AS_OWNER)]
    after_restart = door_of(state, clock, AccessSettings(owners=("telegram:1",)))
    for each in (door, after_restart):
        assert await each.standing("telegram:77") is Standing.OWNER
        assert await each.standing("telegram:1") is Standing.OWNER, "owners of the settings stay"
    assert (await door.deny("telegram:77", by=OTHER_OWNER)).startswith("Ann (telegram:77) is blocked and")
    assert await after_restart.standing("telegram:77") is Standing.STRANGER


async def test_nobody_makes_or_unmakes_an_owner_from_a_channel(door: Door) -> None:
    code = code_in(await door.knock("telegram:77"))
    assert await door.pair(code, owner=True) == phrases.PAIR_OWNER_NOT_HERE
    assert await door.make_owner("telegram:77", by=OWNER) == phrases.PAIR_OWNER_NOT_HERE
    assert await door.standing("telegram:77") is Standing.STRANGER
    await door.pair(code, owner=True, by=OTHER_OWNER)
    assert await door.allow("telegram:77") == phrases.ALLOW_OWNER.format(who="telegram:77")
    answer = phrases.DENY_PAIRED_OWNER.format(who="telegram:77", person="telegram:77")
    assert await door.deny("telegram:77") == answer
    assert await door.standing("telegram:77") is Standing.OWNER


async def test_who_was_let_in_before_becomes_an_owner_by_id(door: Door) -> None:
    code = code_in(await door.knock("telegram:77", name="Ann"))
    await door.pair(code)
    told = await door.pair(code, owner=True, by=OTHER_OWNER)
    assert told == f"Ann (telegram:77) was already let in with that code. {phrases.PAIR_OWNER_USED}"
    assert (await door.make_owner("telegram:77", by=OTHER_OWNER)).startswith("Ann (telegram:77) is an owner")
    assert await door.standing("telegram:77") is Standing.OWNER
    unknown = await door.make_owner("telegram:78", by=OTHER_OWNER)
    assert unknown == phrases.PAIR_OWNER_UNKNOWN.format(person="telegram:78")
    assert await door.standing("telegram:78") is Standing.STRANGER


async def test_who_was_made_an_owner_while_a_message_came_in_gets_no_code(door: Door) -> None:
    await door.pair(code_in(await door.knock("telegram:77")), owner=True, by=OTHER_OWNER)
    assert await door.knock("telegram:77") == "", "it was looked up before who that is"
    assert await door.pairing.list_pending() == ()
    assert await door.standing("telegram:77") is Standing.OWNER


async def test_an_owner_by_command_is_told_who_asks(door: Door) -> None:
    await door.pair(code_in(await door.knock("discord:1234")), owner=True, by=OTHER_OWNER)
    await door.delivered()
    await door.knock("telegram:78", name="Bo")
    assert [str(each.chat) for each in await door.told()] == ["discord:private-1234"]


async def test_the_log_says_how_to_become_an_owner_until_the_channel_has_one(
    state: State, clock: FakeClock, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", logger="bot.pairing")
    door = door_of(state, clock, AccessSettings(owners=("discord:5",)))
    code = code_in(await door.knock("telegram:77"))
    assert caplog.messages == [
        "telegram:77 is waiting for approval; if that is you, become the owner with: "
        f'commonplace chat -m "/pair {code} owner"'
    ]
    await door.pair(code, owner=True, by=OTHER_OWNER)
    caplog.clear()
    await door.knock("telegram:78")
    assert caplog.messages == ["telegram:78 is waiting for approval"]


async def test_codes_that_an_earlier_version_gave_still_count(tmp_path: Path, clock: FakeClock) -> None:
    file, at = tmp_path / "earlier.db", format_timestamp(clock.now())
    earlier = MIGRATIONS[: MIGRATIONS.index(access.m016_owners)]
    db = apsw.Connection(str(file))
    for migration in earlier:
        migration(db)
    db.execute(f"PRAGMA user_version = {len(earlier)}")
    db.execute("INSERT INTO pairing VALUES ('telegram:77', 'CDFHJKMN', 'telegram:77', 'Ann', ?, ?)", (at, at))
    db.close()
    async with State(file) as state:
        door = door_of(state, clock, AccessSettings())
        assert code_in(await door.knock("telegram:77")) == "CDFHJKMN"
        await door.pair("CDFHJKMN", owner=True, by=OTHER_OWNER)
        assert await door.standing("telegram:77") is Standing.OWNER


# -- owners are told who asks -------------------------------------------------------------------------------


@pytest.fixture
def watched(state: State, clock: FakeClock) -> Door:
    """Of three owners one is at home nowhere."""
    return door_of(state, clock, AccessSettings(owners=("discord:1", "telegram:1", "discord:2")))


async def test_owners_are_told_of_whoever_gets_a_code_with_the_answers_to_choose_from(watched: Door) -> None:
    code = code_in(await watched.knock("telegram:77", name="*Ann*\n/deny"))
    first, second = await watched.told()
    assert [str(first.chat), str(second.chat)] == ["discord:private-1", "discord:private-2"]
    assert first.text == second.text
    assert first.text.startswith("Ann /deny (telegram:77) would like to talk with me.")
    choices = (
        Choice("Let in", f"/pair {code}"),
        Choice("As guest", f"/pair {code} guest"),
        Choice("Block", "/deny telegram:77"),
    )
    assert first.choices == second.choices == choices
    assert all(f"`{each.says}`" in first.text for each in choices), "it can be answered without buttons"
    assert watched.woken


async def test_owners_are_not_told_again_until_there_is_a_new_code(watched: Door) -> None:
    await watched.knock("telegram:77")
    await watched.delivered()
    watched.clock.seconds += 601
    assert "/pair" in await watched.knock("telegram:77")
    assert await watched.told() == []
    watched.clock.seconds += 3600
    code = code_in(await watched.knock("telegram:77"))
    assert {each.choices[0].says for each in await watched.told()} == {f"/pair {code}"}


async def test_owners_are_told_nothing_of_whom_they_keep_out_and_of_rooms(watched: Door) -> None:
    await watched.knock("telegram:70", room=True)
    await watched.deny("telegram:71")
    await watched.knock("telegram:71")
    assert await watched.told() == []


async def test_owners_are_told_that_others_were_turned_away_once_that_can_be_written(
    watched: Door, state: State
) -> None:
    for number in range(72, 75):
        await watched.knock(f"telegram:{number}")
    await watched.delivered()
    full = "CREATE TEMP TRIGGER full BEFORE INSERT ON outbox BEGIN SELECT RAISE(ABORT, 'full'); END"
    await state.change(lambda db: db.execute(full))
    with pytest.raises(apsw.ConstraintError):
        await watched.knock("telegram:75")
    await state.change(lambda db: db.execute("DROP TRIGGER full"))
    await watched.knock("telegram:76")
    assert [each.text for each in await watched.told()] == [phrases.ASKS_TURNED_AWAY.format(count=3)] * 2


async def test_owners_are_told_once_an_hour_that_others_were_turned_away(
    watched: Door, clock: FakeClock, state: State
) -> None:
    for number in range(72, 75):
        await watched.knock(f"telegram:{number}")
    assert not await watched.pairing.has_turned_someone_away()
    await watched.delivered()
    for number in range(75, 80):
        await watched.knock(f"telegram:{number}")
        watched.access = door_of(
            state, clock, watched.access._rules
        ).access  # a restart tells it no second time
    first, second = await watched.told()
    assert [str(first.chat), str(second.chat)] == ["discord:private-1", "discord:private-2"]
    assert first.text == phrases.ASKS_TURNED_AWAY.format(count=3)
    assert first.choices == (Choice("Turn all away", "/pair clear"),)
    assert await watched.pairing.has_turned_someone_away()
    await watched.delivered()
    clock.seconds += 3599
    assert await watched.pairing.has_turned_someone_away()
    clock.seconds += 1
    assert not await watched.pairing.has_turned_someone_away()
    for number in range(72, 76):
        await watched.knock(f"telegram:{number}")
    assert [each.text for each in await watched.told()][-1] == first.text


async def test_a_flood_of_accounts_does_not_flood_an_owner_who_says_no_to_each(
    watched: Door, clock: FakeClock, state: State
) -> None:
    for number in range(40):
        await watched.knock(f"telegram:{number + 70}")
        await watched.deny(f"telegram:{number + 70}")
        clock.seconds += 60
        if number == 20:
            watched.access = door_of(state, clock, watched.access._rules).access  # a restart forgets nothing
    told = [each.text for each in await watched.told() if each.chat.name == "private-1"]
    assert len(told) == 6
    assert [text.endswith("any more until 10:00. `/pair` lists who is waiting.") for text in told] == [
        *[False] * 5,
        True,
    ]
    await watched.delivered()
    clock.seconds = 3600
    code_in(await watched.knock("telegram:7"))
    (notice, _) = await watched.told()
    assert "any more until 10:01" in notice.text


async def test_who_asks_is_listed_until_the_code_is_too_old(watched: Door) -> None:
    assert await watched.pairing.list_pending() == ()
    await watched.knock("telegram:77", name="Ann")
    watched.clock.seconds += 60
    await watched.knock("telegram:78")
    assert [each.person for each in await watched.pairing.list_pending()] == ["telegram:77", "telegram:78"]
    watched.clock.seconds += 3540
    assert [each.person for each in await watched.pairing.list_pending()] == ["telegram:78"]


async def test_answers_are_not_kept_for_ever(door: Door) -> None:
    for number in range(50):
        await door.deny("telegram:77", key=f"message-{number}")
        await door.pair("CCCCCCCC", by=PersonId("telegram", str(number)))
        door.clock.seconds += 86_400
    assert await door.rows() <= 1 + 30 + 1


def test_a_strangers_name_cannot_pass_for_words_of_ours() -> None:
    assert sanitize_name("Ann\n\n**Owner** [yes](http://x)\u202e `/pair`") == "Ann Owner yeshttp//x /pair"
    assert len(sanitize_name("x" * 1000)) == 40
    assert sanitize_name("\ud800\x1b[31m") == ""


# -- rooms --------------------------------------------------------------------------------------------------


async def test_the_memory_is_closed_in_a_room_until_an_owner_opens_it(door: Door) -> None:
    room = door.message("telegram:1", room=True)
    assert await door.access.is_memory_open(door.message("telegram:1"))
    assert not await door.access.is_memory_open(room)
    await door.access.open_memory(room.chat, memory=True)
    assert await door.access.is_memory_open(room)
    await door.access.open_memory(room.chat, memory=False)
    assert not await door.access.is_memory_open(room)
    assert await door.access.is_memory_open(door.message("telegram:1"))


# -- any sequence -------------------------------------------------------------------------------------------

STEPS = st.one_of(
    st.tuples(st.just("knock"), st.integers(0, 6)),
    st.tuples(st.just("wait"), st.sampled_from([1, 300, 599, 600, 1500, 3599, 3600])),
    st.tuples(st.just("pair"), st.integers(0, 9)),
    st.tuples(st.just("guess"), st.integers(1, 11)),
    st.tuples(st.just("deny"), st.integers(0, 6)),
    st.tuples(st.just("allow"), st.integers(0, 6)),
    st.tuples(st.just("restart"), st.just(0)),
)


@settings(max_examples=12, deadline=None)
@given(st.lists(STEPS, min_size=5, max_size=40))
def test_at_most_three_codes_count_each_once_and_for_an_hour(steps: list[tuple[str, int]]) -> None:
    asyncio.run(follow(steps))


@pytest.mark.thorough
@settings(max_examples=200, deadline=None)
@given(st.lists(STEPS, min_size=5, max_size=80))
def test_at_most_three_codes_count_each_once_and_for_an_hour_whatever_happens(
    steps: list[tuple[str, int]],
) -> None:
    asyncio.run(follow(steps))


async def follow(steps: list[tuple[str, int]]) -> None:
    """Carry out the steps, and compare each with what a plain book of codes says."""
    clock = FakeClock()
    given: list[tuple[str, str, float]] = []  # code, person, when
    void: dict[str, str] = {}  # code, what whoever sends it again is told
    let_in: dict[str, Standing] = {}
    wrong: list[float] = []

    def valid() -> dict[str, str]:
        return {code: who for code, who, at in given if clock.seconds - at < 3600 and code not in void}

    async def attempt(door: Door, code: str) -> None:
        before = valid()
        may = len([at for at in wrong if clock.seconds - at < 600]) < 10
        answer = await door.pair(code)
        if not may:
            assert "Too many wrong codes" in answer
        elif code in before:
            assert answer.startswith(before[code])
            void[code] = phrases.PAIR_USED.format(who=before[code])
            let_in[before[code]] = Standing.ALLOWED
        elif code in void:
            assert answer == void[code]
        else:
            assert answer == phrases.PAIR_WRONG
            wrong.append(clock.seconds)

    with TemporaryDirectory() as folder:
        async with State(copy_fresh_state(Path(folder) / "state.db")) as state:
            door = door_of(state, clock, AccessSettings(owners=("telegram:1",)))
            for what, number in steps:
                person = f"telegram:{number + 70}"
                match what:
                    case "knock" if let_in.get(person, Standing.STRANGER) is Standing.STRANGER:
                        told = await door.knock(person)
                        if "/pair" in told:
                            assert person not in let_in, "who was denied gets no code"
                            code, mine = (
                                code_in(told),
                                [each for each, who in valid().items() if who == person],
                            )
                            assert mine in ([], [code])
                            given.append((code, person, clock.seconds))
                        else:
                            assert told in ("", phrases.STRANGER)
                            assert person in valid().values() or len(valid()) == 3 or person in let_in
                    case "wait":
                        clock.seconds += number
                    case "pair" if number < len(given):
                        await attempt(door, given[-1 - number][0])
                    case "guess":
                        for _ in range(number):
                            await attempt(door, "CCCCCCCC")
                    case "deny" | "allow":
                        await (door.deny(person) if what == "deny" else door.allow(person))
                        said = phrases.PAIR_BLOCKED if what == "deny" else phrases.PAIR_USED
                        told = said.format(who=person, person=person)
                        void |= {code: told for code, who in valid().items() if who == person}
                        let_in[person] = Standing.STRANGER if what == "deny" else Standing.ALLOWED
                    case "restart":
                        door.access = door_of(state, clock, AccessSettings(owners=("telegram:1",))).access
                assert len(valid()) <= 3
                for each in range(70, 77):
                    expected = let_in.get(f"telegram:{each}", Standing.STRANGER)
                    assert await door.standing(f"telegram:{each}") is expected
