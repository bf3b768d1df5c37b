"""The menus of commands in other languages are whole, and fit."""

from bot.commands.registry import COMMANDS
from bot.commands.translations import HELP, translated_help
from tests.fakes.table_test import table_test


@table_test("language", HELP)
def test_every_command_is_told_in_every_language_and_nothing_else_is(language: str) -> None:
    assert list(HELP[language]) == [command.name for command in COMMANDS if command.name in HELP[language]]
    assert HELP[language].keys() == {command.name for command in COMMANDS}
    for name, told in HELP[language].items():
        assert 3 <= len(told) <= 100, name
        assert told == told.strip()
        assert not told.endswith((".", "。"))
        assert "\n" not in told


def test_no_two_commands_are_told_alike() -> None:
    for language, told in HELP.items():
        assert len(set(told.values())) == len(told), language


@table_test(
    ("language", "begins"),
    [
        ("de", "beginnt ein neues"),
        ("de-AT", "beginnt"),
        ("PT-br", "começa"),
        ("", "Start a"),
        ("eo", "Start"),
    ],
)
def test_a_language_is_looked_up_without_its_country(language: str, begins: str) -> None:
    command = next(each for each in COMMANDS if each.name == "new")
    assert translated_help(command, language).startswith(begins)


def test_a_command_that_nobody_has_translated_is_told_in_english() -> None:
    from dataclasses import replace

    command = replace(COMMANDS[0], name="brandnew")
    assert translated_help(command, "ja") == command.help
