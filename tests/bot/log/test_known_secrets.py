from typing import Any

import pytest

from bot.config.settings import Settings
from bot.log import collect_secrets


def test_keys_are_secrets_wherever_they_stand(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GOOGLE_API_KEY", " from-the-environment ")
    monkeypatch.setenv("HF_TOKEN", "hf_t0ken")
    monkeypatch.setenv("TELEGRAM_BOT_TOKEN", "12:t0ken")
    monkeypatch.setenv("HF_ENDPOINT", "https://me:of-the-hub@hub.example")
    monkeypatch.setenv("HTTPS_PROXY", "http://me:of-the-proxy@proxy.example")
    monkeypatch.setenv("SOMEBODYS_PASSWORD", "of-somebody")
    monkeypatch.setenv("WITH_TOKEN", "true")
    address = "https://me:of-the-address@host/v1"
    tables: dict[str, Any] = {
        "server": {"token": " of-the-server\n"},
        "memory": {"embedding": {"api_key": "of-the-memory", "base_url": address}},
        "providers": {"openai": {"api_keys": ["the-first", "the-second"]}},
    }
    found = set(collect_secrets(Settings(**tables)))
    assert {"from-the-environment", "of-the-memory", "the-first", "the-second", "of-somebody"} <= found
    assert {"hf_t0ken", "12:t0ken", "of-the-hub", "of-the-address", "of-the-server", "of-the-proxy"} <= found
    assert found.isdisjoint({"", "true"})
