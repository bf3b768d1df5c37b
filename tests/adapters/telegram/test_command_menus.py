"""The menus of commands, set by the real library at a server that behaves like the Bot API."""

import asyncio
import logging
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import replace
from pathlib import Path

import pytest

from adapters.telegram.command_menus import FOR_ALL, IN_GROUPS, PAUSES, CommandMenus
from adapters.telegram.open_bot import open_bot
from bot.access import Standing
from bot.channel_store import ChannelStore
from bot.commands.command import Command, commands_for
from bot.commands.registry import COMMANDS
from bot.commands.translations import MENU_LANGUAGES, translated_help
from bot.messages import PersonId
from bot.state.database import State
from tests.fakes.bot_api.faults import Fault
from tests.fakes.bot_api.server import BotApi
from tests.fakes.clock import FakeClock

pytestmark = pytest.mark.thorough

LANGUAGES = ["", *MENU_LANGUAGES]
SETS = "setMyCommands", "deleteMyCommands"


@pytest.fixture
async def api() -> AsyncIterator[BotApi]:
    async with BotApi() as api:
        api.person(1, "Olga", language="de", started=True)
        yield api


@asynccontextmanager
async def shown(
    api: BotApi,
    folder: Path,
    *,
    owners: Sequence[str] = ("telegram:1", "discord:2"),
    commands: Sequence[Command] = COMMANDS,
    max_people: int = 10,
    token: str = "",
    clock: FakeClock | None = None,
) -> AsyncIterator[CommandMenus]:
    """A start of the program, up to the moment when there is nothing left to be set."""
    async with AsyncExitStack() as stack:
        state = await stack.enter_async_context(State(folder / "state.db"))
        bot = await stack.enter_async_context(open_bot(token or api.token, api.url))
        menus = CommandMenus(
            bot,
            ChannelStore(state, "telegram"),
            commands=commands,
            owners=owners,
            max_people=max_people,
            between=0,
            sleep=(clock or FakeClock()).sleep,
        )
        task = asyncio.create_task(menus.register())
        try:
            async with asyncio.timeout(10):
                await menus.settled.wait()
            yield menus
            async with asyncio.timeout(10):
                await menus.settled.wait()
        finally:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task


def menu(api: BotApi, scope: str, language: str = "") -> list[str]:
    return [each["command"] for each in api.bot.commands.get((scope, language), [])]


def told(api: BotApi, scope: str, name: str, language: str = "") -> str:
    (found,) = (each for each in api.bot.commands[(scope, language)] if each["command"] == name)
    return str(found["description"])


def names(standing: Standing) -> list[str]:
    return [command.name for command in commands_for(standing, COMMANDS)]


async def test_strangers_groups_and_owners_have_menus_of_their_own_in_every_language(
    api: BotApi, tmp_path: Path
) -> None:
    async with shown(api, tmp_path):
        pass
    for language in LANGUAGES:
        assert menu(api, "default", language) == list(FOR_ALL)
        assert menu(api, "all_group_chats", language) == list(IN_GROUPS)
        assert menu(api, "chat:1", language) == names(Standing.OWNER)
    assert len(api.bot.commands) == 3 * len(LANGUAGES)
    forget = next(each for each in COMMANDS if each.name == "forget")
    assert told(api, "chat:1", "forget") == forget.help
    assert told(api, "chat:1", "forget", "de") == translated_help(forget, "de")
    assert not api.refusals


async def test_who_comes_along_gets_the_menu_of_what_they_may(api: BotApi, tmp_path: Path) -> None:
    for number in (7, 8, 9):
        api.person(number, started=True)
    async with shown(api, tmp_path) as menus:
        await menus.register_for(PersonId("telegram", "7"), Standing.ALLOWED)
        await menus.register_for(PersonId("telegram", "8"), Standing.GUEST)
        await menus.register_for(PersonId("telegram", "9"), Standing.STRANGER)
    assert menu(api, "chat:7", "ja") == names(Standing.ALLOWED)
    assert menu(api, "chat:8") == names(Standing.GUEST)
    assert ("chat:9", "") not in api.bot.commands


async def test_what_is_set_already_is_not_set_again_not_even_after_a_restart(
    api: BotApi, tmp_path: Path
) -> None:
    anna = PersonId("telegram", "7")
    api.person(7, started=True)
    async with shown(api, tmp_path) as menus:
        await menus.register_for(anna, Standing.ALLOWED)
    calls = len(api.calls)
    async with shown(api, tmp_path) as menus:
        for _ in range(50):
            await menus.register_for(anna, Standing.ALLOWED)
    assert len(api.calls) == calls == 4 * len(LANGUAGES)


async def test_what_has_changed_is_set_again_and_nothing_else(api: BotApi, tmp_path: Path) -> None:
    async with shown(api, tmp_path):
        pass
    api.calls.clear()
    others = tuple(replace(each, name="erase") if each.name == "forget" else each for each in COMMANDS)
    async with shown(api, tmp_path, commands=others):
        pass
    assert {call.parameters["scope"]["type"] for call in api.calls} == {"chat"}
    assert "erase" in menu(api, "chat:1")


async def test_another_bot_with_the_same_workspace_gets_its_menus_too(api: BotApi, tmp_path: Path) -> None:
    async with shown(api, tmp_path):
        pass
    other = api.add_bot("987:other", "other_bot")
    async with shown(api, tmp_path, token="987:other", owners=()):
        pass
    assert ("default", "de") in other.commands


async def test_who_is_let_in_further_or_kept_out_has_another_menu_or_none(
    api: BotApi, tmp_path: Path
) -> None:
    anna = PersonId("telegram", "7")
    api.person(7, started=True)
    async with shown(api, tmp_path) as menus:
        await menus.register_for(anna, Standing.GUEST)
        await menus.register_for(anna, Standing.ALLOWED)
        await menus.settled.wait()
        assert menu(api, "chat:7", "fr") == names(Standing.ALLOWED)
    async with shown(api, tmp_path) as menus:
        for _ in range(3):
            await menus.register_for(anna, Standing.STRANGER)
        await menus.settled.wait()
        assert not [key for key in api.bot.commands if key[0] == "chat:7"]
        assert len(api.calls_of("deleteMyCommands")) == len(LANGUAGES)
        await menus.register_for(anna, Standing.ALLOWED)
    assert menu(api, "chat:7") == names(Standing.ALLOWED)


async def test_a_bot_that_is_open_to_all_keeps_menus_of_so_many_only(api: BotApi, tmp_path: Path) -> None:
    async with shown(api, tmp_path, max_people=3) as menus:
        for number in range(10, 20):
            api.person(number, started=True)
            await menus.register_for(PersonId("telegram", str(number)), Standing.GUEST)
    having = {scope for scope, _ in api.bot.commands if scope.startswith("chat:")}
    assert having == {"chat:1", "chat:10", "chat:11"}


async def test_an_owner_who_has_not_written_yet_gets_the_menu_with_the_first_message(
    api: BotApi, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    owner = PersonId("telegram", "5")
    with caplog.at_level(logging.INFO, "adapters.telegram.command_menus"):
        async with shown(api, tmp_path, owners=("telegram:5", "telegram:1")) as menus:
            assert caplog.messages == ["could not set the menu for chat:5: Chat not found"]
            assert len(api.refusals) == 1, "the other languages are not tried"
            assert menu(api, "chat:1") == names(Standing.OWNER)
            api.person(5, "Oleg", started=True)
            await menus.register_for(owner, Standing.OWNER)
    assert menu(api, "chat:5", "ru") == names(Standing.OWNER)


async def test_telegram_is_left_alone_for_as_long_as_it_asks(
    api: BotApi, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    clock = FakeClock()
    api.fail("setMyCommands", Fault.retry_after(77), times=2)
    async with shown(api, tmp_path, clock=clock):
        pass
    assert [each for each in clock.slept if each] == [77, 77]
    assert menu(api, "chat:1", "zh") == names(Standing.OWNER)
    assert sum("have to wait" in each for each in caplog.messages) == 1


@pytest.mark.parametrize("fault", [Fault.status(502), Fault.reset_before(), Fault.reset_after()])
async def test_a_failure_on_the_way_is_tried_again_and_told_once(
    api: BotApi, tmp_path: Path, caplog: pytest.LogCaptureFixture, fault: Fault
) -> None:
    clock = FakeClock()
    api.fail("setMyCommands", fault, times=7)
    async with shown(api, tmp_path, clock=clock):
        pass
    assert [each for each in clock.slept if each] == [*PAUSES, PAUSES[-1], PAUSES[-1]]
    assert menu(api, "default", "de") == list(FOR_ALL)
    assert sum("have to wait" in each for each in caplog.messages) == 1
    assert api.token not in caplog.text


async def test_what_telegram_refuses_is_told_once_and_keeps_nothing_else_back(
    api: BotApi, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    api.fail("setMyCommands", Fault.refuse(400, "Bad Request: BOT_COMMAND_INVALID"))
    async with shown(api, tmp_path):
        pass
    assert [each for each in caplog.messages if "menu" in each] == [
        "could not set the menu for all: Bot_command_invalid"
    ]
    assert menu(api, "all_group_chats") == list(IN_GROUPS)
    async with shown(api, tmp_path):
        pass
    assert menu(api, "default", "de") == list(FOR_ALL), "with the next start it is tried again"


async def test_who_was_being_seen_to_when_the_connection_ended_is_seen_to_by_the_next(
    api: BotApi, tmp_path: Path
) -> None:
    api.person(7, started=True)
    waits = asyncio.Event()

    async def sleep(seconds: float) -> None:
        if seconds:
            waits.set()
            await asyncio.Event().wait()

    async with State(tmp_path / "state.db") as state, open_bot(api.token, api.url) as bot:
        store = ChannelStore(state, "telegram")
        menus = CommandMenus(bot, store, commands=COMMANDS, owners=(), between=0, sleep=sleep)
        first = asyncio.create_task(menus.register())
        async with asyncio.timeout(10):
            await menus.settled.wait()
            api.fail("setMyCommands", Fault.retry_after(5))
            await menus.register_for(PersonId("telegram", "7"), Standing.ALLOWED)
            await waits.wait()
            first.cancel()
            await asyncio.wait([first])
            second = asyncio.create_task(menus.register())
            await menus.settled.wait()
        second.cancel()
        await asyncio.wait([second])
    assert menu(api, "chat:7") == names(Standing.ALLOWED)


def test_what_everybody_sees_is_harmless_and_there() -> None:
    guests = names(Standing.GUEST)
    assert set(FOR_ALL) < set(guests)
    assert set(IN_GROUPS) < set(guests)


async def test_an_answer_that_makes_no_sense_is_asked_for_again(api: BotApi, tmp_path: Path) -> None:
    api.fail("setMyCommands", Fault.status(200, '{"ok": true}', "application/json"))
    async with shown(api, tmp_path):
        pass
    assert menu(api, "default") == list(FOR_ALL)
    assert menu(api, "chat:1") == names(Standing.OWNER)
