from datetime import UTC, datetime

import pytest

from bot.access import Standing
from bot.commands.command import (
    Command,
    CommandCall,
    Option,
    WrongCommandUsage,
    commands_for,
    read_options,
    run_command,
    split_command,
)
from bot.commands.registry import COMMANDS
from bot.messages import ChatId, IncomingMessage, PersonId
from bot.services import Services
from tests.fakes.services import services
from tests.fakes.table_test import table_test

MESSAGE = IncomingMessage(
    "1", ChatId("terminal", "main"), PersonId("terminal", "owner"), "", datetime.now(UTC)
)


async def echo(call: CommandCall, services: Services) -> str:
    del services
    return repr(dict(call.options))


TABLE = (
    Command("status", "shows it", echo),
    Command("forget", "removes it", echo, (Option("query", "What."),), owner_only=True),
    Command("recall", "finds it", echo, (Option("query", "What."),), uses_memory=True),
    Command(
        "memory",
        "looks after it",
        echo,
        (
            Option("action", "What to do.", required=False, type="word", choices=("status", "get")),
            Option("what", "With what.", required=False),
        ),
    ),
)


async def run(text: str, standing: Standing = Standing.OWNER) -> str:
    parts = split_command(text)
    assert parts
    reply = await run_command(
        *parts, message=MESSAGE, standing=standing, key="message-1", services=services(commands=TABLE)
    )
    assert isinstance(reply, str)
    return reply


@table_test(
    ("text", "parts"),
    [
        ("/status", ("status", "")),
        ("  /Status  ", ("status", "")),
        ("/recall blue folder", ("recall", "blue folder")),
        ("/recall@our_bot blue\nfolder", ("recall", "blue\nfolder")),
        ("/recall  全角　文字", ("recall", "全角　文字")),
        ("/etc/hosts is broken", None),
        ("/ status", None),
        ("//status", None),
        ("/", None),
        ("1/2", None),
        ("what does /status do", None),
        ("/2nd thing", None),
    ],
)
def test_a_line_is_a_command_or_not(text: str, parts: tuple[str, str] | None) -> None:
    assert split_command(text) == parts


def test_options_are_laid_out_in_order() -> None:
    memory = TABLE[3]
    assert read_options(memory, "") == {}
    assert read_options(memory, "GET  a note.md") == {"action": "get", "what": "a note.md"}


@table_test(("command", "rest"), [(TABLE[0], "too much"), (TABLE[2], ""), (TABLE[3], "burn")])
def test_what_does_not_fit_is_answered_with_the_usage(command: Command, rest: str) -> None:
    with pytest.raises(WrongCommandUsage, match="/" + command.name):
        read_options(command, rest)


async def test_an_unknown_command_brings_the_nearest() -> None:
    assert "Did you mean /status?" in await run("/sttus")
    assert "Did you mean" not in await run("/xyzzy")


@table_test("standing", [Standing.GUEST, Standing.ALLOWED])
async def test_an_owners_command_looks_like_none_to_others(standing: Standing) -> None:
    refused, unknown = await run("/forget me", standing), await run("/fxrgtx me", standing)
    assert refused.replace("forget", "X") == unknown.replace("fxrgtx", "X")
    assert "Did you mean" not in await run("/forge", standing)


async def test_a_guest_has_no_command_of_the_memory() -> None:
    assert "There is no /recall" in await run("/recall x", Standing.GUEST)
    assert await run("/recall x", Standing.ALLOWED) == "{'query': 'x'}"


def test_usage_tells_what_may_be_left_out() -> None:
    assert [command.usage for command in TABLE] == [
        "/status",
        "/forget QUERY",
        "/recall QUERY",
        "/memory [status|get] [WHAT]",
    ]


def test_the_builtin_table_is_fit_for_every_channels_menu() -> None:
    names = [command.name for command in COMMANDS]
    assert len(set(names)) == len(names)
    for command in COMMANDS:
        assert command.name.isidentifier()
        assert command.name == command.name.lower()
        assert 3 <= len(command.help) <= 100
        assert all(option.help and option.name.isidentifier() for option in command.options)
        required = [option.required for option in command.options]
        assert required == sorted(required, reverse=True), "what may be left out comes last"
        assert all(option.type == "word" for option in command.options[:-1]), "text takes all the rest"


def test_who_may_use_what() -> None:
    usable = {
        standing: {command.name for command in commands_for(standing, COMMANDS)} for standing in Standing
    }
    assert usable[Standing.STRANGER] == set()
    assert usable[Standing.GUEST] == {
        "help",
        "start",
        "new",
        "stop",
        "retry",
        "status",
        "model",
        "language",
        "compact",
        "usage",
        "remind",
        "reminders",
    }
    assert usable[Standing.ALLOWED] == usable[Standing.GUEST] | {
        "remember",
        "recall",
        "changes",
        "undo",
        "redo",
        "why",
        "flush",
    }
    assert usable[Standing.OWNER] == {command.name for command in COMMANDS}


async def help_with(rest: str, standing: Standing = Standing.OWNER) -> str:
    reply = await run_command(
        "help",
        rest,
        message=MESSAGE,
        standing=standing,
        key="message-1",
        services=services(commands=COMMANDS),
    )
    assert isinstance(reply, str)
    return reply


@table_test("name", ["remind", "/remind", "Remind"])
async def test_help_with_a_name_tells_of_one_command(name: str) -> None:
    lines = (await help_with(name)).splitlines()
    assert lines[0].startswith("`/remind WHEN TEXT`: Set a reminder")
    assert [line.partition(":")[0] for line in lines[1:]] == ["- WHEN", "- TEXT", "For example"]


async def test_help_tells_of_no_command_that_one_may_not_use() -> None:
    assert (await help_with("forget", Standing.GUEST)).startswith("There is no /forget here")
    assert "Did you mean /remind?" in await help_with("remnd")
    assert "/forget QUERY" in await help_with("")
