import re
from datetime import UTC, datetime
from pathlib import Path

import pytest

from bot.access import Standing
from bot.archives.backup import Backups
from bot.commands.admin import make_backup, show_config
from bot.commands.command import CommandCall
from bot.commands.registry import COMMANDS
from bot.config.reload import LiveSettings
from bot.config.settings import Settings, load_settings
from bot.messages import ChatId, IncomingMessage, PersonId
from bot.services import Services
from tests.fakes.services import services

NOW = datetime(2026, 11, 22, 12, 0, tzinfo=UTC)
MESSAGE = IncomingMessage("1", ChatId("terminal", "main"), PersonId("terminal", "owner"), "", NOW)
CALL = CommandCall(MESSAGE, Standing.OWNER, {}, "message-1")


def context(settings: Settings) -> Services:
    backups = Backups(notes=settings.memory_folder, private=settings.private_folder, now=lambda: NOW)
    return services(live_settings=LiveSettings(settings), backups=backups)


@pytest.fixture
def settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Settings:
    monkeypatch.chdir(tmp_path)  # the clone may be somebody's, with settings of his own
    settings = load_settings(None, tmp_path / "workspace")
    settings.memory_folder.mkdir(parents=True)
    (settings.memory_folder / "MEMORY.md").write_text("A secret of mine.\n")
    return settings


async def test_a_backup_is_named_and_made_once_for_a_message(settings: Settings) -> None:
    told = await make_backup(CALL, context(settings))
    (file,) = (settings.private_folder / "backups").iterdir()
    assert isinstance(told, str)
    assert str(file) in told
    assert "Files: 1\n" in told
    assert re.search(r"Size: \d+ (bytes|kB)$", told)
    assert "secret of mine" not in told
    assert await make_backup(CALL, context(settings)) == told, "run again after a crash"
    assert list(file.parent.iterdir()) == [file]


async def test_a_backup_that_fails_is_told(settings: Settings) -> None:
    (settings.private_folder / "backups").parent.mkdir()
    (settings.private_folder / "backups").write_text("in the way")
    told = await make_backup(CALL, context(settings))
    assert isinstance(told, str)
    assert told.startswith("That didn't work: no backup was made:")


async def test_both_are_the_owners() -> None:
    assert {command.name for command in COMMANDS if command.owner_only} >= {"backup", "config"}


async def test_the_settings_tell_what_is_not_as_it_comes_and_no_secret(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "config.toml"
    file.write_text(
        'workspace = "w"\nlog_level = "debug"\n[server]\ntoken = "hunter2"\nport = 8321\n'
        "[agent]\ninstructions = '''\nBe kind.\nAlways.'''\n"
        '[access.people]\nanna = ["telegram:1", "discord:2"]\n'
        '[providers.openai]\nbase_url = "https://me:pass-word@host/v1"\napi_keys = ["key-one", "key-two"]\n'
        '[models]\nchain = ["openai/gpt-4.1"]\n[models.params."openai/gpt-4.1"]\ntemperature = 0.7\n'
    )
    monkeypatch.setenv("COMMONPLACE_BACKUP__KEEP", "3")
    told = await show_config(CALL, context(load_settings(file)))
    assert isinstance(told, str)
    assert told.splitlines() == [
        f"Settings file: {file}",
        f"Workspace: {tmp_path / 'w'}",
        "",
        "Changed from the defaults:",
        '- log_level = "debug"',
        '- agent.instructions = "Be kind.\\nAlways."',
        "- server.token = set",
        '- access.people.anna = ["telegram:1", "discord:2"]',
        '- models.chain = ["openai/gpt-4.1"]',
        '- models.params."openai/gpt-4.1".temperature = 0.7',
        '- providers.openai.kind = "openai"',
        '- providers.openai.base_url = "https://me:***@host/v1"',
        "- providers.openai.api_keys = set (2)",
        "- backup.keep = 3",
    ]


async def test_each_folder_of_notes_is_told(tmp_path: Path) -> None:
    file = tmp_path / "config.toml"
    file.write_text(
        '[[memory.folders]]\npath = "Vault"\nexclude = ["Private/"]\n'
        '[[memory.folders]]\npath = "Work"\nname = "work notes"\nwrite = true\n'
    )
    told = await show_config(CALL, context(load_settings(file)))
    assert isinstance(told, str)
    assert told.splitlines()[-5:] == [
        f'- memory.folders[0].path = "{tmp_path / "Vault"}"',
        '- memory.folders[0].exclude = ["Private/"]',
        f'- memory.folders[1].path = "{tmp_path / "Work"}"',
        '- memory.folders[1].name = "work notes"',
        "- memory.folders[1].write = true",
    ]


async def test_without_a_file_all_is_as_it_comes(settings: Settings) -> None:
    told = await show_config(CALL, context(settings))
    assert isinstance(told, str)
    assert told.startswith("Settings file: none\n")
    assert told.endswith("All settings are at their defaults.")


@pytest.mark.parametrize("before", [185, 190, 195])
async def test_a_password_is_blanked_out_before_an_address_is_cut_short(
    settings: Settings, monkeypatch: pytest.MonkeyPatch, before: int
) -> None:
    monkeypatch.setenv(
        "COMMONPLACE_TELEGRAM__API_BASE", f"https://{'u' * (before - 9)}:pl4nted-pa55word@host"
    )
    told = await show_config(CALL, context(load_settings(None, settings.workspace)))
    assert "telegram.api_base" in told
    assert "pl4" not in told
