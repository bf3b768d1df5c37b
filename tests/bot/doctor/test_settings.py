import os
import tomllib
from pathlib import Path

import pytest

from bot.config.example import example_config
from bot.config.settings import ConfigError, Settings
from bot.doctor.check import Check
from bot.doctor.settings import check_file, check_usage, holds_secrets, unused_settings
from bot.embedding import open_embedding_from_settings
from memory.embeddings.factory import Embedding
from tests.bot.doctor.sample_state import about, find_check, settings_in
from tests.fakes.table_test import table_test


def test_without_a_file_the_defaults_count() -> None:
    [check] = check_file(None)
    assert (check.status, check.name) == ("ok", "file")


@pytest.mark.parametrize(
    ("text", "mode", "status"),
    [
        ('[telegram]\ntoken = "1:a"\n', 0o644, "warn"),
        ('[telegram]\ntoken = "1:a"\n', 0o640, "ok"),
        ('[telegram]\ntoken = "1:a"\n', 0o600, "ok"),
        ("[limits]\nmessages_per_minute = 5\n", 0o644, "ok"),
        ("[limits]\nmessages_per_minute = 5\n", 0o666, "warn"),
    ],
)
def test_secrets_that_others_can_read_are_told_with_the_mend(
    tmp_path: Path, text: str, mode: int, status: str
) -> None:
    file = tmp_path / "config.toml"
    file.write_text(text)
    file.chmod(mode)
    check = find_check(check_file(file), "permissions")
    assert check.status == status
    if status == "warn":
        assert f"chmod 600 {file}" in check.fix


@table_test(
    ("text", "holds"),
    [
        ('token = "1:a"', True),
        ("api_key='k'", True),
        ('api_keys = [ "k" ]', True),
        ('api_keys = [\n  "k",\n]', True),
        ('api_keys = [ # mine\n  # "old",\n  "k",\n]', True),
        ('token = """k"""', True),
        ('api_keys = []\nname = "x"', False),
        ('{ token = "", name = "x" }', False),
        ('openai = { kind = "openai", api_key = "k" }', True),
        ('base_url = "https://me:secret@host/v1"', True),
        ('token = ""', False),
        ('#token = "1:a"', False),
        ("target_tokens = 400", False),
        ('base_url = "https://host/v1"', False),
    ],
)
def test_what_counts_as_a_secret_in_a_file(text: str, holds: bool) -> None:
    assert holds_secrets(text) is holds


def test_settings_that_cannot_be_used_are_a_line_of_their_own(tmp_path: Path) -> None:
    file = tmp_path / "config.toml"
    file.write_text('[server]\nport = "x"\ntoken = "abc"\n')
    file.chmod(0o644)
    checks = list(check_file(file, error=ConfigError("server.port is wrong")))
    assert find_check(checks, "valid") == Check(
        "settings", "valid", "fail", "server.port is wrong", "correct that; docs/settings.md lists every key"
    )
    assert find_check(checks, "permissions").status == "warn"


@table_test(
    ("sections", "told"),
    [
        ({"providers": {"mine": {"kind": "openai", "base_url": "http://x/v1"}}}, "providers.mine"),
        ({"telegram": {"webhook_url": "https://x.org"}}, "telegram.webhook_url"),
        ({"telegram": {"token": "1:a", "webhook_url": "https://x.org"}}, 'telegram.mode is "polling"'),
        ({"discord": {"threads": True}}, "discord.threads"),
        ({"server": {"enabled": False, "token": "abc"}}, "server.token"),
        ({"models": {"fallback": False, "on_error": {"auth": ["builtin/notebook"]}}}, "models.on_error"),
        ({"memory": {"embedding": {"provider": "none", "fallback": "ollama"}}}, "memory.embedding.fallback"),
        ({"memory": {"embedding": {"provider": "ollama", "local": {"model_path": "x"}}}}, "embedding.local"),
        ({"memory": {"watch": {"enabled": False, "debounce_seconds": 2.0}}}, "debounce_seconds"),
        ({"backup": {"keep": 0, "at": "04:00"}}, "backup.at"),
        ({"instance": {"take_over": ["/mnt/cellar"]}}, "instance.take_over (index.url is empty)"),
        ({"instance": {"name": "attic"}}, "instance.name (index.url is empty)"),
    ],
)
def test_what_is_set_in_vain_is_told(sections: dict[str, object], told: str) -> None:
    [line] = unused_settings(*used(about(**sections)))
    assert told in line


@table_test(
    "sections",
    [
        {},
        {"providers": {"openai": {"api_key": "k"}}},  # makes the vectors
        {"providers": {"groq": {"api_key": "k"}}},  # writes down what is said
        {"providers": {"m": {"kind": "openai", "base_url": "http://x/v1"}}, "models": {"chain": ["m/x"]}},
        {"telegram": {"token": "1:a", "mode": "webhook", "webhook_url": "https://x.org"}},
        {"memory": {"embedding": {"local": {"cache_dir": "x"}}}},
    ],
)
def test_what_counts_is_not_told(sections: dict[str, object]) -> None:
    assert list(unused_settings(*used(about(**sections)))) == []


def test_the_example_settings_hold_no_secret_and_nothing_in_vain() -> None:
    example = example_config()
    assert not holds_secrets(example)
    assert list(unused_settings(*used(about(**tomllib.loads(example))))) == []


def used(settings: Settings) -> tuple[Settings, Embedding, dict[str, str]]:
    return settings, open_embedding_from_settings(settings), {}


def test_variables_of_the_environment_are_named_without_their_values(tmp_path: Path) -> None:
    settings = settings_in(tmp_path)
    environment = {"COMMONPLACE_TELEGRAM__TOKEN": "1:secret", "COMMONPLACE_CONFIG": "x", "HOME": "y"}
    [check] = check_usage(settings, open_embedding_from_settings(settings), environment)
    assert check.detail == "settings also come from COMMONPLACE_TELEGRAM__TOKEN"
    assert list(check_usage(settings, open_embedding_from_settings(settings), {"PATH": os.defpath})) == []
