"""The table of commands, as Discord takes it."""

from dataclasses import replace
from typing import Any

from discord import Locale

from adapters.discord.autocomplete import COMPLETED_OPTIONS
from adapters.discord.slash_commands import (
    DESCRIPTION_CHARS,
    FILES,
    MAX_COMMANDS,
    ONLY_CHOICES,
    make_payload,
    shorten,
)
from bot.commands.command import Option
from bot.commands.memory import MEMORY_ACTIONS
from bot.commands.registry import COMMANDS
from bot.commands.translations import MENU_LANGUAGES, translated_help
from tests.fakes.table_test import table_test

BY_NAME = {command.name: command for command in COMMANDS}


def told(name: str) -> dict[str, Any]:
    (found,) = (each for each in make_payload(COMMANDS) if each["name"] == name)
    return found


def options(name: str) -> dict[str, dict[str, Any]]:
    return {option["name"]: option for option in told(name)["options"]}


def test_all_commands_are_there_with_all_their_options() -> None:
    payload = make_payload(COMMANDS)
    assert [each["name"] for each in payload] == [command.name for command in COMMANDS]
    for command in COMMANDS:
        names = {option.name for option in command.options} | {FILES.get(command.name, "")} - {""}
        assert options(command.name).keys() == names


def test_what_is_special_about_an_option_is_about_one_that_there_is() -> None:
    for name, option in COMPLETED_OPTIONS | ONLY_CHOICES.keys():
        assert option in {each.name for each in BY_NAME[name].options}
    assert FILES.keys() <= BY_NAME.keys()


def test_only_owners_commands_are_hidden_from_others() -> None:
    hidden = {each["name"] for each in make_payload(COMMANDS) if each["default_member_permissions"] == "0"}
    assert hidden == {command.name for command in COMMANDS if command.owner_only}


def test_they_are_offered_in_guilds_and_in_direct_messages_of_the_bot() -> None:
    assert all(
        each["contexts"] == [0, 1] and each["integration_types"] == [0] for each in make_payload(COMMANDS)
    )
    for_guild = make_payload(COMMANDS, for_guild=True)
    assert not any("contexts" in each or "integration_types" in each for each in for_guild)


def test_choices_and_completion_come_from_the_table() -> None:
    actions = [choice["value"] for choice in options("memory")["action"]["choices"]]
    assert actions == list(MEMORY_ACTIONS)
    assert {"list", "trash"} < set(actions)
    assert options("memory")["what"]["autocomplete"]
    assert options("correct")["place"]["autocomplete"]
    assert options("model")["name"]["autocomplete"]
    assert options("reminders")["number"]["autocomplete"]
    assert [choice["value"] for choice in options("pair")["guest"]["choices"]] == ["guest"]
    assert "autocomplete" not in options("recall")["query"]


def test_what_they_do_is_told_in_every_language_that_discord_has() -> None:
    shown = told("remind")["description_localizations"]
    assert shown["de"] == translated_help(BY_NAME["remind"], "de")
    assert shown["pt-BR"] == translated_help(BY_NAME["remind"], "pt")
    assert shown["es-419"] == shown["es-ES"] == translated_help(BY_NAME["remind"], "es")
    assert shown.keys() <= {locale.value for locale in Locale}
    assert {language.partition("-")[0] for language in shown} == set(MENU_LANGUAGES)
    assert "zh-CN" in shown
    assert "zh-TW" not in shown, "the catalogue has simplified characters"
    assert options("remind")["text"]["description_localizations"].keys() == {"de", "zh-CN"}
    assert "en-US" not in shown


def test_what_must_be_given_comes_first() -> None:
    table = (
        replace(
            BY_NAME["remind"], options=(Option("first", "May be.", required=False), Option("then", "Must."))
        ),
    )
    assert [option["name"] for option in make_payload(table)[0]["options"]] == ["then", "first"]


def test_of_too_long_a_table_the_first_are_taken() -> None:
    table = [replace(BY_NAME["new"], name=f"new{number}") for number in range(120)]
    assert [each["name"] for each in make_payload(table)] == [
        f"new{number}" for number in range(MAX_COMMANDS)
    ]


@table_test(
    ("text", "expected"),
    [
        ("short", "short"),
        ("x" * 100, "x" * 100),
        ("a" * 60 + "; " + "b" * 60, "a" * 60),
        ("a" * 60 + ", " + "b" * 30 + ": " + "c" * 60, "a" * 60 + ", " + "b" * 30),
        ("word " * 30, ("word " * 20).rstrip() + "…"),
        ("語" * 150, "語" * 99 + "…"),
        ("two\nlines", "two lines"),
    ],
)
def test_a_description_is_cut_where_it_makes_sense(text: str, expected: str) -> None:
    assert shorten(text) == expected
    assert 0 < len(shorten(text)) <= DESCRIPTION_CHARS
