"""The menus of commands in other languages are whole, and fit."""

from bot.commands.registry import COMMANDS
from bot.commands.translations import HELP, MENU_LANGUAGES, translated_help
from tests.fakes.table_test import table_test


def told_in(language: str) -> dict[str, str]:
    return {command.name: translated_help(command, language) for command in COMMANDS}


@table_test("language", MENU_LANGUAGES)
def test_every_command_is_told_in_every_language_and_nothing_else_is(language: str) -> None:
    rows = HELP.get(language, {})
    assert list(rows) == [command.name for command in COMMANDS if command.name in rows]
    assert rows.keys() == ({command.name for command in COMMANDS} if rows else set())
    for name, told in told_in(language).items():
        assert 3 <= len(told) <= 100, name
        assert told == told.strip()
        assert not told.endswith((".", "。"))
        assert "\n" not in told


def test_no_two_commands_are_told_alike() -> None:
    for language in MENU_LANGUAGES:
        told = told_in(language)
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

    command = replace(COMMANDS[0], name="brandnew", help="Do something new")
    assert translated_help(command, "ja") == translated_help(command, "de") == command.help
