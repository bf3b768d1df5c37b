from pathlib import Path

import pytest

from bot.config.listing import ListedSetting, list_settings
from bot.config.settings import Settings, load_settings
from bot.config.sources import SettingSource

CONFIG = """
workspace = "w"
log_level = "debug"
[agent]
instructions = "{not a table}"
[telegram]
token = ""
[access.people]
anna = ["telegram:1"]
[models]
chain = ["gpt-4.1"]
[models.params."gpt-4.1"]
temperature = 0.7
[providers.openai]
api_key = ""
[[memory.folders]]
path = "Vault"
[memory.search]
final_top_k = 5
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    file = tmp_path / "config.toml"
    file.write_text(CONFIG, "utf-8")
    return file


def listed(settings: Settings, **environment: str) -> dict[str, ListedSetting]:
    """All settings by key."""
    tables = list_settings(settings, is_live=lambda keys: keys[0] == "models", environment=environment)
    return {each.key: each for table in tables for each in table.settings}


def sources(settings: Settings, **environment: str) -> dict[str, tuple[str, str]]:
    """Kind and name of the source of each setting that has another than the default."""
    return {
        key: (each.source.kind, each.source.name)
        for key, each in listed(settings, **environment).items()
        if each.source != SettingSource("default")
    }


def test_each_value_names_its_file(file: Path) -> None:
    found = sources(load_settings(file))
    assert found == {
        "workspace": ("file", str(file)),
        "timezone": ("machine", ""),
        "log_level": ("file", str(file)),
        "agent.instructions": ("file", str(file)),
        "access.people": ("file", str(file)),
        "models.chain": ("file", str(file)),
        'models.params."openai/gpt-4.1".temperature': ("file", str(file)),
        "memory.folders[0].path": ("file", str(file)),
        "memory.search.final_top_k": ("file", str(file)),
    }


def test_what_wins_is_named(file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    secrets, folder = tmp_path / "secrets.toml", tmp_path / "run"
    secrets.write_text('log_level = "error"\n[providers.openai]\napi_key = "sk-1"\n[server]\nport = 1\n')
    folder.mkdir()
    (folder / "COMMONPLACE_SERVER__PORT").write_text("2")
    (folder / "COMMONPLACE_LOG_LEVEL").write_text("warning")
    monkeypatch.setenv("COMMONPLACE_SECRETS_DIR", str(folder))
    monkeypatch.setenv("COMMONPLACE_LOG_LEVEL", "info")
    monkeypatch.setenv("COMMONPLACE_AGENT__INSTRUCTIONS", "{again no table")
    monkeypatch.setenv("COMMONPLACE_LIMITS", '{"daily_tokens": 5, "steps_per_turn": 3}')
    monkeypatch.setenv("COMMONPLACE_LIMITS__DAILY_TOKENS", "6")
    monkeypatch.setenv("COMMONPLACE_MEMORY__FOLDERS", '[{"path": "/elsewhere"}]')
    settings = load_settings(file)
    assert (settings.log_level, settings.limits.daily_tokens, settings.server.port) == ("info", 6, 2)
    found = sources(settings)
    assert found["log_level"] == ("variable", "COMMONPLACE_LOG_LEVEL")
    assert found["agent.instructions"] == ("variable", "COMMONPLACE_AGENT__INSTRUCTIONS")
    assert found["limits.daily_tokens"] == ("variable", "COMMONPLACE_LIMITS__DAILY_TOKENS")
    assert found["limits.steps_per_turn"] == ("variable", "COMMONPLACE_LIMITS")
    assert "limits.messages_per_minute" not in found
    assert found["server.port"] == ("variable", str(folder / "COMMONPLACE_SERVER__PORT"))
    assert found["providers.openai.api_key"] == ("file", str(secrets))
    assert found["memory.folders[0].path"] == ("variable", "COMMONPLACE_MEMORY__FOLDERS")
    assert "memory.folders[0].write" not in found


def test_other_variables_and_the_option_are_named(
    file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    variables = {"TELEGRAM_BOT_TOKEN": "1:abc", "OPENAI_API_KEY": "sk-1"}
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    settings = load_settings(file, tmp_path / "other")
    found = sources(settings, **variables)
    assert found["workspace"] == ("option", "")
    assert found["telegram.token"] == ("variable", "TELEGRAM_BOT_TOKEN")
    assert found["providers.openai.api_key"] == ("variable", "OPENAI_API_KEY")
    key = listed(settings, **variables)["providers.openai.api_key"]
    assert (key.value, key.differs) == ("set", True)
    assert listed(settings)["providers.openai.api_key"].value == "not set"


def test_values_meanings_and_restarts_are_told(file: Path, tmp_path: Path) -> None:
    found = listed(load_settings(file))
    level = found["log_level"]
    assert (level.value, level.default, level.differs) == ('"debug"', '"info"', True)
    assert level.meaning == "Minimum level of log messages."
    top_k = found["memory.search.final_top_k"]
    assert (top_k.value, top_k.differs) == ("5", False), "set, but to the default"
    assert found["models.chain"].value == '["openai/gpt-4.1"]'
    assert found["access.people"].value == '{ anna = ["telegram:1"] }'
    assert found["memory.folders[0].path"].value == f'"{tmp_path / "Vault"}"'
    assert found["memory.folders[0].write"].value == "false"
    assert found['models.params."openai/gpt-4.1".max_tokens'].value == ""
    assert (found["server.token"].value, found["server.token"].default) == ("not set", "not set")
    assert (found["models.chain"].needs_restart, found["server.port"].needs_restart) == (False, True)
    assert all(each.meaning for each in found.values())


def test_sources_do_not_make_settings_differ(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = load_settings(file)
    monkeypatch.setenv("COMMONPLACE_LOG_LEVEL", "debug")
    after = load_settings(file)
    assert sources(before)["log_level"] != sources(after)["log_level"]
    assert before == after
