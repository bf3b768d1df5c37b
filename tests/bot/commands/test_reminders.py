from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from bot import phrases
from bot.access import Standing
from bot.commands.command import CommandReply, run_command, split_command
from bot.commands.registry import COMMANDS
from bot.messages import ChatId, Choice, IncomingMessage, PersonId
from bot.reminders import MAX_PER_CHAT, MAX_PER_PERSON, Reminders
from bot.state.database import State
from tests.fakes.fresh_state import copy_fresh_state
from tests.fakes.services import services

BERLIN = ZoneInfo("Europe/Berlin")
NOW = datetime(2026, 11, 18, 10, 15, 20, tzinfo=BERLIN)
HERE, THERE = ChatId("telegram", "1"), ChatId("telegram", "2")

Say = Callable[..., Awaitable[str]]


@pytest.fixture
async def state(tmp_path: Path) -> AsyncIterator[State]:
    async with State(copy_fresh_state(tmp_path / "state.db"), now=lambda: NOW) as state:
        yield state


@pytest.fixture
def reminders(state: State) -> Reminders:
    return Reminders(state, now=lambda: NOW, zone="Europe/Berlin")


@pytest.fixture
def offered() -> list[Choice]:
    """What can be chosen after the latest answer."""
    return []


@pytest.fixture
def say(reminders: Reminders, offered: list[Choice]) -> Say:
    given = services(commands=COMMANDS, reminders=reminders, now=lambda: NOW)
    used = 0

    async def say(
        text: str,
        *,
        standing: Standing = Standing.OWNER,
        chat: ChatId = HERE,
        sent_at: datetime = NOW,
        key: str = "",
    ) -> str:
        nonlocal used
        used += 1
        message = IncomingMessage(str(used), chat, PersonId("telegram", "7"), text, sent_at)
        parts = split_command(text)
        assert parts
        reply = await run_command(
            *parts, message=message, standing=standing, key=key or f"message-{used}", services=given
        )
        told = CommandReply(reply) if isinstance(reply, str) else reply
        assert isinstance(told, CommandReply)
        offered[:] = told.choices
        return told.text

    return say


async def test_a_reminder_is_set_and_its_moment_told_in_full(say: Say, reminders: Reminders) -> None:
    assert await say("/remind tomorrow 9:00 call mum", standing=Standing.GUEST) == (
        "Reminder 1 is set: “call mum”, Thursday, 19 November 2026 at 09:00 (Europe/Berlin)."
    )
    assert await say("/remind every monday 8:00 put out the bins") == (
        "Reminder 2 is set: “put out the bins”, Monday, 23 November 2026 at 08:00 (Europe/Berlin), "
        "then every week on Monday at 08:00."
    )
    assert [(each.text, each.prompt) for each in await reminders.list_active(HERE)] == [
        ("call mum", False),
        ("put out the bins", False),
    ]


async def test_what_is_due_at_once_is_told_to_the_second(say: Say) -> None:
    assert "10:15:23" in await say("/remind 3s tea")
    assert "at 10:35 (" in await say("/remind 20m tea")


async def test_a_text_of_several_lines_is_kept(say: Say, reminders: Reminders) -> None:
    await say("/remind 20m one\n  two  spaces")
    assert (await reminders.list_active(HERE))[0].text == "one\n  two  spaces"


async def test_what_does_not_fit_is_told_and_sets_nothing(say: Say, reminders: Reminders) -> None:
    for line in ("/remind", "/remind 20m", "/remind tomorrow"):
        told = await say(line)
        assert "/remind WHEN TEXT" in told
        assert "For example: `/remind tomorrow 9:00 call mum`" in told
    assert "Tuesday, 17 November 2026 at 09:00" in await say("/remind yesterday 9:00 x")
    assert "past" in await say("/remind yesterday 9:00 x")
    assert "What should I remind you of" in await say("/remind tomorrow 9:00")
    assert "What should I do then" in await say("/schedule tomorrow 9:00")
    assert "every monday 8:00" in await say("/remind whenever you like")
    assert "past" in await say("/remind today 8:00 breakfast")
    assert "2001" in await say(f"/remind 20m {'x' * 2001}")
    assert await reminders.list_active(HERE) == ()


async def test_a_message_that_comes_late_counts_from_when_it_was_written(
    say: Say, reminders: Reminders
) -> None:
    early = (NOW - timedelta(hours=1)).astimezone(UTC)
    assert "at 11:15 (" in await say("/remind 2h tea", sent_at=early)
    assert "at 09:35 (" in await say("/remind 20m tea", sent_at=early), "it is due, and comes at once"
    assert "at 10:45 (" in await say("/remind 30m tea", sent_at=NOW + timedelta(days=1)), (
        "another clock is wrong"
    )
    assert "at 10:45 (" in await say("/remind 30m tea", sent_at=NOW - timedelta(seconds=30))


async def test_a_command_that_is_run_again_sets_no_second_one(say: Say, reminders: Reminders) -> None:
    first = await say("/remind 20m tea", key="message-9")
    assert await say("/remind 20m tea", key="message-9") == first
    assert len(await reminders.list_active(HERE)) == 1


async def test_prompts_are_the_owners_business(say: Say, reminders: Reminders) -> None:
    assert "There is no /schedule" in await say("/schedule 20m x", standing=Standing.ALLOWED)
    assert await say("/schedule every day at 7:30 what is planned?") == (
        "Scheduled as number 1: Thursday, 19 November 2026 at 07:30 (Europe/Berlin), then every day at 07:30. "
        "`/reminders cancel 1` cancels it."
    )
    assert (await reminders.list_active(HERE))[0].prompt
    assert "You have no reminders" in await say("/reminders", standing=Standing.GUEST)
    assert "no upcoming reminder 1" in await say("/reminders cancel 1", standing=Standing.ALLOWED)
    assert "what is planned?" in await say("/reminders")
    assert "Cancelled reminder 1: what is planned?" in await say("/reminders cancel 1")
    assert await reminders.list_active(HERE) == ()


async def test_the_list_is_of_this_chat_the_nearest_first(say: Say) -> None:
    await say("/remind every monday 8:00 put\nout the bins")
    await say("/remind 20m tea")
    await say("/remind 10m elsewhere", chat=THERE)
    await say(f"/schedule tomorrow 9:00 {'long ' * 100}")
    lines = (await say("/reminders")).splitlines()
    assert lines[0] == "Upcoming (Europe/Berlin):"
    assert lines[1:3] == [
        "- **2**: Wednesday, 18 November 2026 at 10:35: tea",
        f"- **4** (scheduled): Thursday, 19 November 2026 at 09:00: {('long ' * 20).strip()}…",
    ]
    assert lines[3] == (
        "- **1**: Monday, 23 November 2026 at 08:00, then every week on Monday at 08:00: put out the bins"
    )
    assert "You have no reminders" in await say("/reminders", chat=ChatId("telegram", "3"))


async def test_one_is_ended_by_its_number(say: Say) -> None:
    await say("/remind 20m tea")
    for wrong in ("", " x", " -1", " 1.5", f" {'9' * 30}"):
        assert "its number" in await say(f"/reminders cancel{wrong}")
    assert "no upcoming reminder 2" in await say("/reminders cancel 2")
    assert "no upcoming reminder 1" in await say("/reminders cancel 1", chat=THERE, standing=Standing.GUEST)
    assert await say("/reminders cancel #1", standing=Standing.GUEST, key="k") == "Cancelled reminder 1: tea"
    assert await say("/reminders cancel 1", standing=Standing.GUEST, key="k") == "Cancelled reminder 1: tea"
    assert "no upcoming reminder 1" in await say("/reminders cancel 1")
    assert "/reminders [cancel] [N ...]" in await say("/reminders delete 1")


@pytest.mark.parametrize(
    "damage",
    ["rule = 'every moon'", "rule = 'every 2 fortnights from 2026-11-22'", "due_at = '?'", "due_at = '2026'"],
)
async def test_one_that_cannot_be_read_is_listed_by_its_number_and_can_be_cancelled(
    say: Say, state: State, offered: list[Choice], damage: str
) -> None:
    await say("/remind every day 8:00 tea")
    await say("/remind every day 9:00 broken one")
    await say("/remind tomorrow 10:00 cake")
    await state.change(lambda db: db.execute(f"UPDATE reminders SET {damage} WHERE number = 2"))
    listed = await say("/reminders")
    assert "08:00, then every day at 08:00: tea" in listed
    assert "10:00: cake" in listed
    assert "- **2**: I can't read when this one is due: broken one" in listed
    assert "/reminders cancel 2" in [each.says for each in offered]
    assert await say("/reminders cancel 2") == "Cancelled reminder 2: broken one"
    assert "broken one" not in await say("/reminders")


async def test_the_nearest_can_be_ended_by_a_button(
    say: Say, reminders: Reminders, offered: list[Choice]
) -> None:
    for number in range(9):
        await say(f"/remind {number + 10}m tea {'and *cake* ' * number}")
        assert not offered
    await say("/schedule 1m look around")
    await say("/reminders", standing=Standing.ALLOWED)
    assert [each.says for each in offered] == [f"/reminders cancel {number}" for number in range(1, 9)]
    assert offered[0].label == "Cancel 1: tea"
    assert all(len(each.label) <= 40 for each in offered)
    await say("/reminders")
    assert offered[0] == Choice("Cancel 10: look around", "/reminders cancel 10")
    assert "Cancelled reminder 10: look around" in await say(offered[0].says)
    assert not offered
    assert len(await reminders.list_active(HERE)) == 9


async def test_several_are_ended_at_once(say: Say, reminders: Reminders) -> None:
    for text in ("tea", "cake", "walk", "sleep"):
        await say(f"/remind 20m {text}")
    told = await say("/reminders cancel 1 #3, 9", key="k")
    assert told.splitlines() == [
        "Cancelled reminder 1: tea",
        "Cancelled reminder 3: walk",
        "There is no upcoming reminder 9 here. `/reminders` lists them.",
    ]
    assert await say("/reminders cancel 1 #3, 9", key="k") == told
    assert "its number" in await say("/reminders cancel 2 x")
    assert [each.text for each in await reminders.list_active(HERE)] == ["cake", "sleep"]


async def test_at_a_terminal_it_is_told_when_a_reminder_comes_at_all(say: Say) -> None:
    assert phrases.AT_TERMINAL in await say("/remind 20m tea", chat=ChatId("terminal", "main"))
    assert phrases.AT_TERMINAL not in await say("/remind 20m tea")


async def test_working_days_are_told_by_one_word(say: Say) -> None:
    assert (await say("/remind every weekday 8:00 coffee")).endswith(", then every weekday at 08:00.")
    assert "every 2 weeks on Monday" in await say("/remind every 2 weeks on monday 8:00 x")


async def test_a_person_with_too_many_reminders_is_told_what_to_do(say: Say) -> None:
    for each in range(MAX_PER_PERSON):
        await say(f"/remind every minute tea {each}", chat=HERE if each % 2 else THERE)
    full = (
        "You already have 200 reminders in all chats together, the most that one person can have. Please cancel some "
        "first: `/reminders` lists those of the chat in which you write it, `/reminders cancel 1 2 3` cancels several "
        "at once."
    )
    assert await say("/remind every minute one more") == full
    assert await say("/schedule 20m what is new?") == full
    assert "Cancelled reminder 1" in await say("/reminders cancel 1")
    assert "one more" in await say("/remind every minute one more")


async def test_a_chat_with_too_many_reminders_is_told_what_to_do(say: Say) -> None:
    for each in range(MAX_PER_CHAT):
        await say(f"/remind every minute tea {each}")
    full = (
        "This chat already has 200 reminders, the most that a chat can have. Please cancel some first: `/reminders` "
        "lists them, `/reminders cancel 1 2 3` cancels several at once."
    )
    assert await say("/remind every minute one more") == full
    assert (await say("/reminders cancel 1 2 3")).count("Cancelled reminder") == 3
    assert "one more" in await say("/remind every minute one more")
