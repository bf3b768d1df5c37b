import os
import socket
import subprocess
from pathlib import Path

import pytest

from bot.cannot_start import CannotStart
from bot.config.settings import ServerSettings, Settings, load_settings
from bot.service.startup import check_channels, check_folders
from bot.web.sockets import open_sockets
from tests.fakes.table_test import table_test

HERE = (socket.AF_INET, socket.SOCK_STREAM, 6, "", ("127.0.0.1", 0))
ELSEWHERE = (socket.AF_INET, socket.SOCK_STREAM, 6, "", ("192.0.2.1", 0))
"""An address for examples, which no machine has: as ::1 is where IPv6 is switched off."""

SERVER = ServerSettings(host="localhost", port=0)


def test_an_address_that_the_machine_does_not_have_is_passed_over(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: [ELSEWHERE, HERE])
    (listener,) = open_sockets(SERVER)
    with listener:
        assert listener.getsockname()[0] == "127.0.0.1"


def test_a_host_that_is_another_machine_is_told_with_its_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: [ELSEWHERE])
    with pytest.raises(CannotStart, match=r"server\.host"):
        open_sockets(SERVER)


def test_a_token_of_the_environment_that_can_be_none_is_told_when_the_service_starts(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TELEGRAM_BOT_TOKEN", "s3cret")
    with pytest.raises(CannotStart, match=r"^TELEGRAM_BOT_TOKEN is invalid: .* @BotFather") as refused:
        check_channels(load_settings())  # other commands have no use for it, and work
    assert "s3cret" not in str(refused.value)
    monkeypatch.setenv("TELEGRAM_BOT_TOKEN", "12:abc")
    check_channels(load_settings())
    check_channels(Settings())


def test_a_read_only_folder_of_notes_is_named_as_such(tmp_path: Path) -> None:
    settings = Settings(workspace=tmp_path / "workspace")
    settings.memory_folder.mkdir(parents=True)
    mount = ["mount", "--bind", str(settings.memory_folder), str(settings.memory_folder)]
    if os.geteuid() != 0 or subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("a folder cannot be mounted here")
    try:
        subprocess.run(["mount", "-o", "remount,ro,bind", str(settings.memory_folder)], check=True)
        with pytest.raises(CannotStart, match=r"/memory cannot be used: Read-only file system; fix that"):
            check_folders(settings)
    finally:
        subprocess.run(["umount", str(settings.memory_folder)], check=True)


@table_test("key", ["owners", "allow", "guests"])
def test_who_is_of_no_channel_is_told_when_the_service_starts(key: str) -> None:
    with pytest.raises(
        CannotStart, match=rf"access\.{key} has 'telegramm:5', .* telegram and discord"
    ) as told:
        check_channels(Settings.model_validate({"access": {key: ["telegram:1", "telegramm:5"]}}))
    assert "terminal" not in str(told.value)
    check_channels(Settings.model_validate({"access": {key: ["Telegram:1", "DISCORD:2", "terminal:owner"]}}))


def test_a_person_of_no_channel_is_told_when_the_service_starts() -> None:
    people = {"anna": ["telegram:1", "telegramm:5"]}
    with pytest.raises(CannotStart, match=r"access\.people has 'telegramm:5', .* telegram and discord"):
        check_channels(Settings.model_validate({"access": {"people": people}}))
    people = {"anna": ["Telegram:1", "terminal:owner"]}
    check_channels(Settings.model_validate({"access": {"people": people}}))
