"""The slash commands, made known by the real library to a server that behaves like Discord."""

import logging
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from adapters.discord.command_registration import PAUSES, CommandRegistration
from bot.channel_store import ChannelStore
from bot.commands.command import Command
from bot.commands.registry import COMMANDS
from bot.state.database import State
from tests.adapters.discord.commanding import open_client
from tests.fakes.clock import FakeClock
from tests.fakes.discord_api.chats import Guild
from tests.fakes.discord_api.faults import Fault
from tests.fakes.discord_api.server import DiscordApi

NAMES = [command.name for command in COMMANDS]
PUT = "put_commands"


@pytest.fixture
def home(api: DiscordApi) -> Guild:
    return api.guild("Home", api.person("olga"))


async def register(
    api: DiscordApi,
    folder: Path,
    *,
    commands: Sequence[Command] = COMMANDS,
    guilds: Sequence[Guild] = (),
    token: str = "",
    clock: FakeClock | None = None,
    times: int = 1,
) -> CommandRegistration:
    """A start of the program, up to the moment when they are set."""
    async with State(folder / "state.db") as state, open_client(api, token=token, gateway=False) as client:
        registration = CommandRegistration(
            ChannelStore(state, "discord"),
            commands=commands,
            guilds=[guild.id for guild in guilds],
            sleep=(clock or FakeClock()).sleep,
        )
        for _ in range(times):
            await registration.register(client)
    return registration


def names(api: DiscordApi, place: Guild | None = None) -> list[str]:
    return [each["name"] for each in api.bot.commands.get(place.id if place else 0, [])]


async def test_discord_takes_all_of_them_by_one_call(api: DiscordApi, tmp_path: Path) -> None:
    registration = await register(api, tmp_path)
    assert names(api) == NAMES
    assert len(api.calls_of(PUT)) == 1
    assert not api.refusals
    assert not registration.problem


async def test_what_is_set_already_is_not_set_again_not_even_after_a_restart(
    api: DiscordApi, tmp_path: Path
) -> None:
    await register(api, tmp_path, times=2)
    await register(api, tmp_path)
    assert len(api.calls_of(PUT)) == 1


async def test_one_changed_word_has_them_set_again(api: DiscordApi, tmp_path: Path) -> None:
    await register(api, tmp_path)
    changed = [replace(COMMANDS[0], help="something else"), *COMMANDS[1:]]
    await register(api, tmp_path, commands=changed)
    assert len(api.calls_of(PUT)) == 2
    assert (api.bot.command("help") or {})["description"] == "something else"


async def test_another_bot_knows_nothing_yet(api: DiscordApi, tmp_path: Path) -> None:
    other = api.add_bot("other")
    await register(api, tmp_path)
    await register(api, tmp_path, token=other.token)
    assert [each["name"] for each in other.commands[0]] == NAMES
    await register(api, tmp_path)
    assert len(api.calls_of(PUT)) == 2


async def test_those_of_one_guild_take_the_place_of_those_everywhere(
    api: DiscordApi, home: Guild, tmp_path: Path
) -> None:
    await register(api, tmp_path)
    await register(api, tmp_path, guilds=[home])
    assert names(api, home) == NAMES
    assert names(api) == []
    await register(api, tmp_path)
    assert names(api, home) == []
    assert names(api) == NAMES
    calls = len(api.calls)
    await register(api, tmp_path)
    assert not [call for call in api.calls[calls:] if call.name == PUT]


async def test_a_guild_that_the_bot_was_thrown_out_of_is_forgotten(
    api: DiscordApi, home: Guild, tmp_path: Path
) -> None:
    await register(api, tmp_path, guilds=[home])
    api.leave(home, api.bot)
    await register(api, tmp_path)
    assert names(api) == NAMES
    calls = len(api.calls_of(PUT))
    await register(api, tmp_path)
    assert len(api.calls_of(PUT)) == calls


async def test_a_guild_without_the_scope_is_told_once_with_the_mend(
    api: DiscordApi, home: Guild, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    api.leave(home, api.bot)
    registration = await register(api, tmp_path, guilds=[home], times=3)
    told = [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING]
    assert len(told) == 1
    assert "applications.commands" in registration.problem
    assert f"client_id={api.bot.id}" in registration.problem
    assert registration.problem in told[0]
    api.join(home, api.bot)
    assert not (await register(api, tmp_path, guilds=[home])).problem
    assert names(api, home) == NAMES


@pytest.mark.parametrize(
    "fault",
    [Fault.status(503), Fault.reset_before(), Fault.reset_after(), Fault.ban()],
    ids=lambda f: f"{f.kind}{f.code}",
)
async def test_they_are_set_again_until_discord_takes_them_and_that_is_logged_once(
    api: DiscordApi, tmp_path: Path, caplog: pytest.LogCaptureFixture, fault: Fault
) -> None:
    clock = FakeClock()
    api.fail("put_commands", fault, times=3)
    registration = await register(api, tmp_path, clock=clock)
    assert names(api) == NAMES
    # aiohttp itself sends a PUT again over another connection where one that it had kept open breaks.
    assert clock.slept
    assert clock.slept == list(PAUSES[: len(clock.slept)])
    told = [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING]
    assert len(told) == 1
    assert api.token not in caplog.text
    assert not registration.problem


async def test_a_rate_limit_is_waited_for(api: DiscordApi, tmp_path: Path) -> None:
    clock = FakeClock()
    api.fail("put_commands", Fault.rate_limit(0.05, "shared"))
    api.fail("put_commands", Fault.rate_limit(0.05, "global"))
    await register(api, tmp_path, clock=clock)
    assert names(api) == NAMES
    assert clock.slept == [], "the library does"
    first, second, third = api.calls_of("put_commands")
    assert min(second.time - first.time, third.time - second.time) >= 0.05


async def test_what_discord_refuses_is_told_and_not_asked_again(
    api: DiscordApi, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    twice = [*COMMANDS, COMMANDS[0]]
    registration = await register(api, tmp_path, commands=twice, times=3)
    assert names(api) == []
    assert "could not be updated" in registration.problem
    assert "400" in registration.problem
    told = [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING]
    assert len(told) == 1
    assert not (await register(api, tmp_path)).problem
    assert names(api) == NAMES


async def test_nothing_is_done_with_a_client_that_is_closed(api: DiscordApi, tmp_path: Path) -> None:
    async with State(tmp_path / "state.db") as state:
        async with open_client(api, gateway=False) as client:
            pass
        await CommandRegistration(ChannelStore(state, "discord"), commands=COMMANDS).register(client)
    assert not api.calls_of(PUT)
