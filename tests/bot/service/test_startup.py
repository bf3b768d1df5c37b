import socket
from pathlib import Path

import pytest

from bot.config.settings import ServerSettings, Settings, load_settings
from bot.service.startup import CannotStart, check_channels, open_sockets

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
    with pytest.raises(CannotStart, match=r"^TELEGRAM_BOT_TOKEN is not .* @BotFather") as refused:
        check_channels(load_settings())  # other commands have no use for it, and work
    assert "s3cret" not in str(refused.value)
    monkeypatch.setenv("TELEGRAM_BOT_TOKEN", "12:abc")
    check_channels(load_settings())
    check_channels(Settings())
