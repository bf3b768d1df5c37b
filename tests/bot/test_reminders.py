import asyncio
import json
import logging
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from zoneinfo import ZoneInfo

import apsw
import pytest

from bot.messages import ChatId, IncomingMessage, PersonId
from bot.models.protocol import ToolCall
from bot.reminders import (
    MAX_CHARACTERS,
    MAX_PER_CHAT,
    MAX_PER_PERSON,
    ReminderNotSet,
    ReminderRequest,
    Reminders,
)
from bot.state import access, inbox
from bot.state import reminders as stored_reminders
from bot.state.database import State, format_timestamp
from bot.state.inbox import QueuedNotice
from bot.state.migrations import MIGRATIONS
from bot.state.reminders import ReminderRow
from bot.state.rows import select_first
from bot.tools.reminders import reminder_tools
from bot.tools.toolbox import Toolbox, ToolUse
from tests.fakes.fresh_state import copy_fresh_state

BERLIN = ZoneInfo("Europe/Berlin")
HERE, THERE = ChatId("telegram", "1"), ChatId("discord", "2")
ANNA, BEN = PersonId("telegram", "7"), PersonId("telegram", "8")


class Wall:
    """A clock that is set by hand."""

    def __init__(self) -> None:
        self.time = datetime(2026, 11, 18, 10, 15, tzinfo=BERLIN)
        self.looks = 0
        """How often reminders have looked at it."""

    def now(self) -> datetime:
        return self.time

    def look(self) -> datetime:
        self.looks += 1
        return self.time

    def pass_(self, **amount: float) -> None:
        self.time = (self.time.astimezone(UTC) + timedelta(**amount)).astimezone(BERLIN)


@pytest.fixture
def wall() -> Wall:
    return Wall()


@pytest.fixture
async def state(tmp_path: Path, wall: Wall) -> AsyncIterator[State]:
    async with State(copy_fresh_state(tmp_path / "state.db"), now=wall.now) as state:
        yield state


@pytest.fixture
def reminders(state: State, wall: Wall) -> Reminders:
    return opened(state, wall)


def opened(state: State, wall: Wall, zone: str = "Europe/Berlin") -> Reminders:
    return Reminders(state, now=wall.look, zone=zone, check_seconds=0.01)


async def add(
    reminders: Reminders,
    line: str,
    *,
    key: str = "",
    chat: ChatId = HERE,
    person: PersonId = ANNA,
    prompt: bool = False,
) -> int:
    when, text = reminders.parse(line)
    return (await reminders.add(ReminderRequest(key or line, chat, person), when, text, prompt=prompt)).number


async def notices(state: State) -> list[str]:
    return [notice.text for notice in await waiting_notices(state)]


async def waiting_notices(state: State) -> list[QueuedNotice]:
    return [notice for _, notice in await state.read(inbox.read_undelivered_notices)]


async def reach_the_chats(state: State) -> None:
    """Have all notices be delivered, and all messages answered."""
    notices = [notice.number for notice in await waiting_notices(state)]
    await state.change(lambda db: inbox.mark_notices_delivered(db, notices))
    for received in [received for _, received in await state.read(inbox.read_undelivered)]:
        await state.change(partial(inbox.mark_delivered, turn=received.number))


async def prompts(state: State) -> list[IncomingMessage]:
    return [received.message for _, received in await state.read(inbox.read_undelivered)]


async def row(state: State, number: int) -> ReminderRow:
    found = await state.read(
        lambda db: select_first(db, ReminderRow, "FROM reminders WHERE number = ?", number)
    )
    assert found is not None
    return found


@asynccontextmanager
async def running(
    reminders: Reminders, serves: Callable[[ChatId], bool] = lambda _: True, woken: list[int] | None = None
) -> AsyncIterator[None]:
    task = asyncio.create_task(reminders.run(serves, lambda: (woken if woken is not None else []).append(1)))
    await asyncio.sleep(0)
    try:
        yield
    finally:
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task


async def settled(wall: Wall) -> None:
    """Let the loop go round with the time of now: it looks once to deliver, and once more for what is next."""
    enough = wall.looks + 6
    async with asyncio.timeout(20):
        while wall.looks < enough:  # noqa: ASYNC110
            await asyncio.sleep(0.005)


async def test_a_reminder_is_delivered_once_when_it_is_due(
    reminders: Reminders, state: State, wall: Wall
) -> None:
    woken: list[int] = []
    async with running(reminders, woken=woken):
        number = await add(reminders, "20m tea *now*")
        await settled(wall)
        assert await notices(state) == []
        wall.pass_(minutes=20)
        await settled(wall)
        assert await notices(state) == ["⏰ tea *now*"]
        wall.pass_(days=3)
        await settled(wall)
    assert await notices(state) == ["⏰ tea *now*"]
    assert (await row(state, number)).state == "done"
    assert woken == [1]
    assert (await waiting_notices(state))[0].chat == HERE


async def test_who_is_kept_out_is_reminded_of_nothing(reminders: Reminders, state: State, wall: Wall) -> None:
    async with running(reminders):
        number = await add(reminders, "every day 9:00 tea")
        at = format_timestamp(wall.now())
        await state.change(
            lambda db: access.save_decision(db, str(ANNA), "denied", name="", by="terminal:owner", at=at)
        )
        wall.pass_(days=1)
        await settled(wall)
        assert await notices(state) == []
        assert (await row(state, number)).state == "active", "it comes again for who is let in again"


async def test_what_is_added_is_not_waited_for_in_vain(state: State, tmp_path: Path) -> None:
    slow = Reminders(state, now=lambda: datetime.now(BERLIN), zone="Europe/Berlin", check_seconds=60)
    async with running(slow):
        await asyncio.sleep(0.05)
        began = asyncio.get_running_loop().time()
        await add(slow, "1s x")
        while not await notices(state):
            await asyncio.sleep(0.01)
            assert asyncio.get_running_loop().time() - began < 20, "it looks by itself after 60 s"
        assert asyncio.get_running_loop().time() - began > 0.9


async def test_one_that_was_missed_says_when_it_was_due(
    reminders: Reminders, state: State, wall: Wall
) -> None:
    await add(reminders, "today 18:00 tea")
    await add(reminders, "today 18:00 what is new?", key="prompt", prompt=True)
    wall.pass_(days=1)
    async with running(reminders):
        await settled(wall)
    assert await notices(state) == ["⏰ tea\n\n(due yesterday 18:00)"]
    assert [each.text for each in await prompts(state)] == ["what is new?\n\n(due yesterday 18:00)"]


async def test_one_that_was_missed_by_seconds_while_down_says_so(
    reminders: Reminders, state: State, wall: Wall
) -> None:
    await add(reminders, "3s tea")
    wall.pass_(seconds=10)
    async with running(reminders):
        await settled(wall)
    assert await notices(state) == ["⏰ tea\n\n(due 10:15)"]


async def test_one_that_was_missed_often_comes_once_and_goes_on(
    reminders: Reminders, state: State, wall: Wall
) -> None:
    number = await add(reminders, "every day at 18:00 tea")
    wall.pass_(days=9)
    async with running(reminders):
        await settled(wall)
        assert await notices(state) == ["⏰ tea\n\n(due Wednesday 18 November 18:00)"]
        await reach_the_chats(state)
        wall.time = datetime(2026, 11, 27, 18, 0, tzinfo=BERLIN)
        await settled(wall)
    assert await notices(state) == ["⏰ tea"]
    assert (await row(state, number)).due_at.startswith("2026-11-28T17:00:00")


async def test_a_prompt_becomes_a_message_of_who_scheduled_it(
    reminders: Reminders, state: State, wall: Wall
) -> None:
    when, text = reminders.parse("every day at 18:00 what is planned?")
    asked = ReminderRequest("k", HERE, ANNA, "Anna", "Family", in_room=True)
    number = (await reminders.add(asked, when, text, prompt=True)).number
    wall.time = datetime(2026, 11, 18, 18, 0, tzinfo=BERLIN)
    async with running(reminders):
        await settled(wall)
    (message,) = await prompts(state)
    assert message.id == f"schedule-{number}-2026-11-18T17:00:00.000+00:00"
    assert (message.chat, message.sender, message.text) == (HERE, ANNA, "what is planned?")
    assert (message.sender_name, message.chat_name, message.in_room) == ("Anna", "Family", True)
    assert await notices(state) == []


async def test_a_clock_that_is_set_back_brings_nothing_twice(
    reminders: Reminders, state: State, wall: Wall
) -> None:
    await add(reminders, "20m once")
    await add(reminders, "every 30 minutes again")
    async with running(reminders):
        wall.pass_(minutes=31)
        await settled(wall)
        assert sorted(await notices(state)) == ["⏰ again", "⏰ once\n\n(due 10:35)"]
        await reach_the_chats(state)
        wall.pass_(hours=-1)
        await settled(wall)
        wall.pass_(minutes=50)
        await settled(wall)
        assert await notices(state) == []
        wall.pass_(minutes=10, hours=1)
        await settled(wall)
    assert len(await notices(state)) == 1


async def test_a_clock_that_is_set_forward_brings_it_once(
    reminders: Reminders, state: State, wall: Wall
) -> None:
    await add(reminders, "every 30 minutes again")
    async with running(reminders):
        wall.pass_(hours=5)
        await settled(wall)
        await settled(wall)
    assert await notices(state) == ["⏰ again\n\n(due 10:45)"]


async def test_only_what_is_for_a_served_chat_is_taken_up(
    reminders: Reminders, state: State, wall: Wall
) -> None:
    await add(reminders, "1m here")
    await add(reminders, "1m there", chat=THERE)
    wall.pass_(seconds=70)
    async with running(reminders, serves=lambda chat: chat == THERE):
        await settled(wall)
    assert [notice.chat for notice in await waiting_notices(state)] == [THERE]


async def test_the_same_key_adds_nothing(reminders: Reminders, wall: Wall) -> None:
    first = await add(reminders, "20m tea", key="message-1")
    wall.pass_(minutes=5)
    assert await add(reminders, "20m tea", key="message-1") == first
    (kept,) = await reminders.list_active(HERE)
    assert kept.due_at.startswith("2026-11-18T09:35:00")


async def test_one_is_ended_by_its_chat_or_by_an_owner(reminders: Reminders) -> None:
    first, second = await add(reminders, "20m one"), await add(reminders, "20m two")
    prompt = await add(reminders, "20m three", prompt=True)
    assert await reminders.cancel(first, chat=THERE, owner=False, key="a") is None
    assert await reminders.cancel(prompt, chat=HERE, owner=False, key="b") is None
    assert await reminders.cancel(first, chat=HERE, owner=False, key="c")
    assert await reminders.cancel(first, chat=HERE, owner=False, key="c"), "told again after a crash"
    assert await reminders.cancel(first, chat=HERE, owner=False, key="d") is None
    assert await reminders.cancel(second, chat=THERE, owner=True, key="e")
    assert [each.number for each in await reminders.list_active(HERE)] == [prompt]


async def test_what_is_ended_does_not_come(reminders: Reminders, state: State, wall: Wall) -> None:
    number = await add(reminders, "every minute tea")
    await reminders.cancel(number, chat=HERE, owner=False, key="k")
    wall.pass_(hours=1)
    async with running(reminders):
        await settled(wall)
    assert await notices(state) == []


async def test_one_whose_last_notice_still_waits_is_skipped_and_says_so_later(
    reminders: Reminders, state: State, wall: Wall
) -> None:
    number = await add(reminders, "every minute tea")
    async with running(reminders):
        for _ in range(4):
            wall.pass_(minutes=1)
            await settled(wall)
        assert await notices(state) == ["⏰ tea"]
        assert (await row(state, number)).skipped == 3
        await reach_the_chats(state)
        wall.pass_(minutes=1)
        await settled(wall)
        (text,) = await notices(state)
        assert text == "⏰ tea\n\n(skipped 3× in between, because the last one was still waiting)"
        await reach_the_chats(state)
        wall.pass_(minutes=1)
        await settled(wall)
    assert await notices(state) == ["⏰ tea"], "what was told is not told again"


async def test_a_prompt_that_still_runs_is_not_asked_a_second_time(
    reminders: Reminders, state: State, wall: Wall
) -> None:
    await add(reminders, "every minute what is new?", prompt=True)
    async with running(reminders):
        for _ in range(3):
            wall.pass_(minutes=1)
            await settled(wall)
        (first,) = await prompts(state)
        await state.change(lambda db: inbox.mark_running(db, 1, [(1, 1, 1)]))
        wall.pass_(minutes=1)
        await settled(wall)
        assert await prompts(state) == [first], "it runs"
        await reach_the_chats(state)
        wall.pass_(minutes=1)
        await settled(wall)
    (second,) = await prompts(state)
    assert second.text.startswith("what is new?\n\n(skipped 3× in between")


async def test_two_hundred_every_minute_keep_no_more_than_that_waiting(
    reminders: Reminders, state: State, wall: Wall
) -> None:
    for each in range(MAX_PER_PERSON):
        await add(reminders, f"every minute number {each}")
    async with running(reminders):
        for _ in range(5):
            wall.pass_(minutes=1)
            await settled(wall)
            await settled(wall)
    assert len(await notices(state)) == MAX_PER_PERSON


async def test_there_is_a_limit_for_a_chat_for_a_person_and_for_a_text(reminders: Reminders) -> None:
    for each in range(MAX_PER_CHAT):
        await add(reminders, "20m tea", key=f"key-{each}")
    with pytest.raises(ReminderNotSet, match="200"):
        await add(reminders, "20m tea", key="one more")
    assert await add(reminders, "20m tea", key="key-0"), "it stands already"
    with pytest.raises(ReminderNotSet, match="You already have 200"):
        await add(reminders, "20m tea", key="elsewhere", chat=THERE)
    assert await add(reminders, "20m tea", key="Ben's", chat=THERE, person=BEN), (
        "it is a bound for each person"
    )
    await reminders.cancel(1, chat=HERE, owner=False, key="k")
    assert await add(reminders, "20m tea", key="elsewhere", chat=THERE)
    with pytest.raises(ReminderNotSet, match="2001"):
        await add(reminders, f"20m {'x' * (MAX_CHARACTERS + 1)}", chat=THERE)


@pytest.mark.parametrize(
    ("column", "value", "comes"),
    [
        ("rule", "every moon", True),
        ("zone", "Nowhere/At_All", True),
        ("due_at", "2026", False),
        ("chat", "?", False),
    ],
)
async def test_a_row_that_cannot_be_read_holds_up_no_other(
    reminders: Reminders,
    state: State,
    wall: Wall,
    caplog: pytest.LogCaptureFixture,
    column: str,
    value: str,
    comes: bool,
) -> None:
    bad = await add(reminders, "every 20 minutes bad")
    good = await add(reminders, "every day at 11:00 good")
    await state.change(
        lambda db: db.execute(f"UPDATE reminders SET {column} = ? WHERE number = ?", (value, bad))
    )
    wall.pass_(hours=1)
    async with running(reminders):
        await settled(wall)
    told = [text.split("\n")[0] for text in await notices(state)]
    assert sorted(told) == (["⏰ bad", "⏰ good"] if comes else ["⏰ good"])
    assert (await row(state, bad)).state == "broken"
    assert (await row(state, good)).state == "active"
    assert sum(f"reminder {bad}" in record.getMessage() for record in caplog.records) == 1


async def test_a_moment_far_ahead_that_cannot_be_read_holds_up_no_other(
    reminders: Reminders, state: State, wall: Wall
) -> None:
    bad = await add(reminders, "2027-01-01 9:00 bad")
    await add(reminders, "20m good")
    await state.change(
        lambda db: db.execute("UPDATE reminders SET due_at = '2026-13-01' WHERE number = ?", (bad,))
    )
    async with running(reminders):
        await settled(wall)
        wall.pass_(minutes=20)
        await settled(wall)
    assert await notices(state) == ["⏰ good"]


@pytest.mark.parametrize("damage", ["rule = 'every moon'", "zone = 'Nowhere/At_All'"])
async def test_one_that_cannot_come_again_says_so(
    reminders: Reminders, state: State, wall: Wall, damage: str
) -> None:
    bad = await add(reminders, "every 20 minutes tea")
    await state.change(lambda db: db.execute(f"UPDATE reminders SET {damage}"))
    wall.pass_(minutes=20)
    async with running(reminders):
        await settled(wall)
    (text,) = await notices(state)
    assert text.startswith("⏰ tea\n\n(")
    assert f"reminder {bad}" in text
    assert "won't come again" in text


@pytest.mark.parametrize(
    ("now", "line", "zone", "due", "following"),
    [
        # 8:00 is 8:00 on the clock of the new zone, at once and ever after.
        (
            "2026-11-18T10:15+01:00",
            "every day 8:00 tea",
            "America/New_York",
            "2026-11-19 08:00",
            "2026-11-20 08:00",
        ),
        ("2026-11-18T10:15+01:00", "tomorrow 9:00 tea", "Europe/London", "2026-11-19 09:00", ""),
        ("2026-11-18T10:15+01:00", "in 2 days at 7:30 tea", "Asia/Tokyo", "2026-11-20 07:30", ""),
        # New York's clocks go forward on 8 March, Berlin's on 29 March.
        (
            "2026-03-07T10:15+01:00",
            "every day 8:00 tea",
            "America/New_York",
            "2026-03-08 08:00",
            "2026-03-09 08:00",
        ),
        (
            "2026-03-27T10:15+01:00",
            "every sunday 8:00 tea",
            "America/New_York",
            "2026-03-29 08:00",
            "2026-04-05 08:00",
        ),
        # 2:30 does not exist in New York on 8 March, and is there again on the next Sunday.
        (
            "2026-03-07T10:15+01:00",
            "every sunday 2:30 tea",
            "America/New_York",
            "2026-03-08 03:30",
            "2026-03-15 02:30",
        ),
        # What elapses, or names an offset, is the same moment everywhere.
        ("2026-11-18T10:15+01:00", "in 20 minutes tea", "Europe/London", "2026-11-18 09:35", ""),
        (
            "2026-11-18T10:15+01:00",
            "every 90 minutes tea",
            "Europe/London",
            "2026-11-18 10:45",
            "2026-11-18 12:15",
        ),
        ("2026-11-18T10:15+01:00", "2026-11-20T09:00+01:00 tea", "Europe/London", "2026-11-20 08:00", ""),
    ],
)
async def test_reminders_keep_their_time_of_day_in_another_time_zone(
    state: State, wall: Wall, now: str, line: str, zone: str, due: str, following: str
) -> None:
    wall.time = datetime.fromisoformat(now).astimezone(BERLIN)
    number = await add(opened(state, wall), line)
    moved = opened(state, wall, zone)
    async with running(moved):
        await settled(wall)
        for expected in filter(None, (due, following)):
            stored_due = datetime.fromisoformat((await row(state, number)).due_at)
            assert f"{stored_due.astimezone(ZoneInfo(zone)):%Y-%m-%d %H:%M}" == expected
            assert expected[-5:] in moved.next_due(await row(state, number))
            wall.time = stored_due
            await settled(wall)
            assert len(await notices(state)) == 1
            await reach_the_chats(state)


async def test_a_reminder_that_is_past_on_the_new_clock_comes_at_once(state: State, wall: Wall) -> None:
    await add(opened(state, wall), "today 11:00 tea")  # it is 10:15 in Berlin, 18:15 in Tokyo
    async with running(opened(state, wall, "Asia/Tokyo")):
        await settled(wall)
    (notice,) = await notices(state)
    assert notice.startswith("⏰ tea\n")
    assert "11:00" in notice


@pytest.mark.parametrize("line", ["today 9:00 tea", "every day 9:00 tea"])
@pytest.mark.parametrize("zone", ["America/New_York", "Asia/Tokyo"])
async def test_an_overdue_reminder_comes_before_the_zone_is_followed(
    state: State, wall: Wall, line: str, zone: str
) -> None:
    wall.time = datetime(2026, 11, 18, 8, 15, tzinfo=BERLIN)
    number = await add(opened(state, wall), line)
    due = (await row(state, number)).due_at
    wall.pass_(hours=1)  # nothing ran at 9:00
    async with running(opened(state, wall, zone)):
        await settled(wall)
    told_due = f"{datetime.fromisoformat(due).astimezone(ZoneInfo(zone)):%H:%M}"
    assert await notices(state) == [f"⏰ tea\n\n(due {told_due})"], "it is the moment that it was set for"
    after = await row(state, number)
    if "every" in line:
        following = datetime.fromisoformat(after.due_at).astimezone(ZoneInfo(zone))
        assert (f"{following:%H:%M}", after.zone) == ("09:00", zone)
    else:
        assert after.state == "done"


MOMENTS_BEFORE_KINDS = (
    # set at | due | rule | whether it is a moment, which stays
    ("2026-11-18T09:15:20.250+00:00", "2026-11-18T09:35:20.246+00:00", "", True),  # 20m
    ("2026-11-18T09:15:20.001+00:00", "2026-11-18T09:35:20.000+00:00", "", True),  # from the time of a message
    ("2026-11-18T09:15:00.001+00:00", "2026-11-18T11:15:00.000+00:00", "", True),  # 2h, on the minute
    ("2026-11-18T09:15:20.250+00:00", "2026-11-20T00:15:20.246+00:00", "", True),  # in 39 hours
    ("2026-11-18T09:15:20.250+00:00", "2026-11-18T17:00:00.000+00:00", "", False),  # today 18:00
    ("2026-11-18T09:15:00.000+00:00", "2026-11-20T08:00:00.000+00:00", "", False),  # friday 9:00
    ("2026-11-18T09:15:20.250+00:00", "2026-11-20T09:15:20.000+00:00", "", False),  # in 2 days, at this time
    ("2026-11-18T09:15:20.250+00:00", "2026-11-19T07:00:00.000+00:00", "every 1 days from 2026-11-18 at 08:00", False),
)  # fmt: skip


@pytest.mark.parametrize(("set_at", "due", "rule", "stays"), MOMENTS_BEFORE_KINDS)
async def test_a_moment_that_was_stored_before_its_kind_was_stays_in_another_zone(
    tmp_path: Path, wall: Wall, set_at: str, due: str, rule: str, stays: bool
) -> None:
    file = tmp_path / "earlier.db"
    earlier = MIGRATIONS.index(stored_reminders.m020_moments)
    db = apsw.Connection(str(file))
    for migrate in MIGRATIONS[:earlier]:
        migrate(db)
    db.execute(f"PRAGMA user_version = {earlier}")
    db.execute(
        "INSERT INTO reminders (key, chat, person, sender_name, chat_name, in_room, text, prompt, due_at, rule, zone, "
        "state, at) VALUES ('k', ?, ?, '', '', 0, 'tea', 0, ?, ?, 'Europe/Berlin', 'active', ?)",
        (str(HERE), str(ANNA), due, rule, set_at),
    )
    db.close()
    wall.time = datetime.fromisoformat(set_at).astimezone(BERLIN)
    async with State(file, now=wall.now) as state, running(opened(state, wall, "America/New_York")):
        await settled(wall)
        now_due = (await row(state, 1)).due_at
    on_the_clock = datetime.fromisoformat(due).astimezone(BERLIN).replace(tzinfo=ZoneInfo("America/New_York"))
    assert now_due == (due if stays else format_timestamp(on_the_clock))


async def test_only_the_chats_that_are_served_follow_the_zone(state: State, wall: Wall) -> None:
    here = await add(opened(state, wall), "every day 8:00 tea")
    there = await add(opened(state, wall), "every day 8:00 milk", chat=THERE)
    async with running(opened(state, wall, "Europe/London"), lambda chat: chat == HERE):
        await settled(wall)
    assert (await row(state, here)).zone == "Europe/London"
    assert (await row(state, there)).zone == "Europe/Berlin"


async def test_a_database_that_is_locked_is_told_once_and_tried_again(
    reminders: Reminders, state: State, wall: Wall, caplog: pytest.LogCaptureFixture
) -> None:
    await add(reminders, "1m tea")
    wall.pass_(seconds=61)
    await state.change(lambda db: db.execute("PRAGMA query_only = ON"))
    with caplog.at_level(logging.ERROR):
        async with running(reminders):
            await settled(wall)
            assert await notices(state) == []
            await state.read(lambda db: db.execute("PRAGMA query_only = OFF"))
            await settled(wall)
    assert len(await notices(state)) == 1
    assert sum("reminders are delayed" in record.getMessage() for record in caplog.records) == 1


async def test_two_loops_on_one_file_deliver_each_once(tmp_path: Path, wall: Wall) -> None:
    async with (
        State(tmp_path / "state.db", now=wall.now) as first,
        State(tmp_path / "state.db", now=wall.now) as second,
    ):
        ours, theirs = opened(first, wall), opened(second, wall)
        for each in range(50):
            await add(ours, f"every 10 minutes number {each}")
        texts: list[str] = []
        async with running(ours), running(theirs):
            for _ in range(3):
                wall.pass_(minutes=10)
                await settled(wall)
                texts += [text.partition("\n")[0] for text in await notices(first)]
                await reach_the_chats(first)
            for _ in range(5):  # a second delivery would come about now
                await settled(wall)
        texts += [text.partition("\n")[0] for text in await notices(first)]
        assert sorted(texts) == sorted(f"⏰ number {each}" for each in range(50) for _ in range(3))


PROCESS = """
import asyncio, sys, time
from datetime import datetime
from pathlib import Path
from zoneinfo import ZoneInfo
from bot.reminders import Reminders
from bot.state.database import State, format_timestamp

claims = []

def claimed():
    claims.append(1)
    print("claimed", flush=True)
    if len(claims) == 2:
        time.sleep(60)  # it is killed before it has done all, however late that comes

async def main():
    now = lambda: datetime.now(ZoneInfo("UTC"))
    async with State(Path(sys.argv[1]), now=now) as state:
        reminders = Reminders(state, now=now, zone="UTC", check_seconds=0.001)
        async with asyncio.timeout(60):
            await reminders.run(lambda chat: True, claimed)

asyncio.run(main())
"""


@pytest.mark.thorough
async def test_processes_that_are_killed_deliver_each_once(tmp_path: Path) -> None:
    file = tmp_path / "state.db"
    chats = [HERE, THERE, *(ChatId("telegram", str(number)) for number in range(2, 4))]
    async with State(file) as state:
        far = Reminders(state, now=lambda: datetime(2026, 1, 1, tzinfo=UTC), zone="UTC")
        for chat in chats:  # more than two of them deliver before they are killed
            for each in range(150):
                person = PersonId(chat.channel, chat.name)
                await add(far, f"{each + 1}s number {each}", key=f"{chat} {each}", chat=chat, person=person)
        rounds = 0
        while [chat for chat in chats if await far.list_active(chat)]:
            rounds += 1
            assert rounds < 50
            two = [await started(file), await started(file)]
            first_claims = [asyncio.create_task(each.stdout.readline()) for each in two if each.stdout]
            await asyncio.wait(first_claims, timeout=20, return_when=asyncio.FIRST_COMPLETED)
            for process in two:
                process.kill()
                await process.wait()
            await asyncio.gather(*first_claims)
        assert rounds > 1, "they were killed amid their work"
        texts = [text.partition("\n")[0] for text in await notices(state)]
        assert sorted(texts) == sorted(f"⏰ number {each}" for each in range(150) for _ in chats)


async def started(file: Path) -> asyncio.subprocess.Process:
    return await asyncio.create_subprocess_exec(
        sys.executable, "-c", PROCESS, str(file), stdout=asyncio.subprocess.PIPE
    )


async def test_what_has_ended_is_forgotten_after_a_while(
    reminders: Reminders, state: State, wall: Wall
) -> None:
    await add(reminders, "1m past")
    to_come = await add(reminders, "every year on 24 December gifts")
    wall.pass_(minutes=2)
    async with running(reminders):
        await settled(wall)
    wall.pass_(days=40)
    await state.change(lambda db: stored_reminders.prune(db, before=state.at()))
    assert await reminders.find("1m past") is None
    assert [each.number for each in await reminders.list_active(HERE)] == [to_come]


# -- the tool -----------------------------------------------------------------------------------------------


async def call(reminders: Reminders, when: str, text: str, *, key: str = "call-1-a") -> dict[str, object]:
    arguments = json.dumps({"when": when, "text": text})
    result = await Toolbox(reminder_tools(reminders)).run(
        ToolCall("abc", "remind", arguments), ToolUse(key, HERE, ANNA)
    )
    told: dict[str, object] = json.loads(result.content)
    assert result.failed == ("error" in told)
    return told


async def test_a_model_sets_a_reminder_and_is_told_the_moment(reminders: Reminders) -> None:
    assert await call(reminders, "2026-12-03T14:00", "call mum") == {
        "number": 1,
        "due": "Thursday, 3 December 2026 at 14:00 (Europe/Berlin)",
        "at": "2026-12-03T14:00:00+01:00",
    }
    assert await call(reminders, "every monday 8:00", "bins", key="b") == {
        "number": 2,
        "due": "Monday, 23 November 2026 at 08:00 (Europe/Berlin)",
        "at": "2026-11-23T08:00:00+01:00",
        "every": "every week on Monday at 08:00",
    }
    assert [each.text for each in await reminders.list_active(HERE)] == ["bins", "call mum"]


async def test_a_call_that_is_run_again_sets_no_second_one(reminders: Reminders, wall: Wall) -> None:
    first = await call(reminders, "today 11:00", "tea")
    wall.pass_(hours=2)
    assert await call(reminders, "today 11:00", "tea") == first
    assert len(await reminders.list_active(HERE)) == 1


@pytest.mark.parametrize(
    ("when", "text", "why"),
    [
        ("someday", "x", "2026-12-03T14:00"),
        ("tomorrow 9:00 to call mum", "x", '"call mum" is not part of a time'),
        ("2020-01-01", "x", "past"),
        ("tomorrow 9:00", " ", "empty"),
        ("every 5 seconds", "x", "Once a minute"),
    ],
)
async def test_a_model_is_told_how_to_write_it(reminders: Reminders, when: str, text: str, why: str) -> None:
    assert why in str((await call(reminders, when, text))["error"])
    assert await reminders.list_active(HERE) == ()


async def test_a_model_is_told_that_the_person_has_as_many_as_may_be(reminders: Reminders) -> None:
    for each in range(MAX_PER_PERSON):
        await add(reminders, f"20m tea {each}", chat=HERE if each % 2 else THERE)
    told = await call(reminders, "20m", "one more")
    assert str(told["error"]).startswith("You already have 200 reminders")


async def test_a_model_is_not_told_of_the_use(reminders: Reminders) -> None:
    (spec,) = Toolbox(reminder_tools(reminders)).specs
    assert list(spec.parameters["properties"]) == ["when", "text"]


async def test_one_that_was_moved_comes_at_its_new_time_alone(
    reminders: Reminders, state: State, wall: Wall
) -> None:
    number = await add(reminders, "20m tea", chat=THERE)
    (upcoming,) = await reminders.list_upcoming(limit=5)
    assert upcoming.number == number
    async with running(reminders):
        moved = await reminders.move(number, reminders.parse("tomorrow 9:00")[0])
        assert moved is not None
        wall.pass_(hours=2)
        await asyncio.sleep(0.05)
        assert await notices(state) == []
        wall.pass_(hours=22)
        await asyncio.sleep(0.05)
        assert "tea" in (await notices(state))[0]
    assert await reminders.move(number, reminders.parse("tomorrow 9:00")[0]) is None
    assert await reminders.list_upcoming(limit=5) == ()


async def test_one_that_recurs_is_moved_as_a_whole_and_only_to_what_recurs(reminders: Reminders) -> None:
    number = await add(reminders, "every monday 8:00 bins")
    with pytest.raises(ReminderNotSet, match="repeats"):
        await reminders.move(number, reminders.parse("tomorrow 9:00")[0])
    moved = await reminders.move(number, reminders.parse("every tuesday 7:30")[0])
    assert moved is not None
    assert reminders.next_due(moved) == "Tuesday, 24 November 2026 at 07:30 (Europe/Berlin)"


async def test_one_that_was_cancelled_is_pending_again_unless_its_time_has_passed(
    reminders: Reminders, wall: Wall
) -> None:
    once, often = await add(reminders, "20m tea"), await add(reminders, "every day 8:00 bins")
    before = {row.number: row for row in await reminders.list_upcoming(limit=5)}
    for number in (once, often):
        await reminders.cancel(number, chat=None, owner=True, key="cancel")
        assert await reminders.restore(number) == before[number]
        await reminders.cancel(number, chat=None, owner=True, key="cancel again")
    wall.pass_(days=2)
    with pytest.raises(ReminderNotSet, match="has passed"):
        await reminders.restore(once)
    restored = await reminders.restore(often)
    assert restored is not None
    assert reminders.next_due(restored) == "Saturday, 21 November 2026 at 08:00 (Europe/Berlin)"
    assert await reminders.restore(99) is None


async def test_a_cancelled_one_is_not_set_again_where_others_have_taken_its_place(
    reminders: Reminders,
) -> None:
    cancelled = await add(reminders, "20m tea")
    await reminders.cancel(cancelled, chat=None, owner=True, key="cancel")
    for each in range(MAX_PER_CHAT):
        await add(reminders, "20m tea", key=f"key-{each}")
    with pytest.raises(ReminderNotSet, match="200"):
        await reminders.restore(cancelled)
    await reminders.cancel(cancelled + 1, chat=None, owner=True, key="cancel another")
    assert await reminders.restore(cancelled) is not None
