import json
import os
import re
import subprocess
import sys
from datetime import UTC, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from pydantic import SecretStr

from bot.access import Standing, standing_of
from bot.config.schema import is_secret, known_keys, section_fields, table_value, walk_keys
from bot.config.settings import (
    ConfigError,
    Settings,
    config_file,
    default_workspace,
    load_settings,
    load_workspace_settings,
)
from bot.messages import PersonId
from tests.fakes.commonplace import ROOT
from tests.fakes.table_test import table_test

EVERY_KEY = """
workspace = "./workspace"
timezone = ""
log_level = "info"
[agent]
name = "Commonplace"
instructions = ""
[server]
enabled = true
host = "127.0.0.1"
port = 8321
token = ""
[telegram]
token = ""
api_base = "https://api.telegram.org"
mode = "polling"
webhook_url = ""
webhook_secret = ""
[discord]
token = ""
api_base = "https://discord.com/api/v10"
[access]
owners = []
allow = []
guests = []
pairing = true
[models]
chain = ["builtin/notebook"]
max_retries = 2
retry_delay = 1.0
timeout = 120.0
adaptive = false
[models.on_error]
rate_limit = []
context_length = []
auth = []
overloaded = []
timeout = []
server = []
billing = []
network = []
not_found = []
refused = []
empty = []
[models.params."openai/gpt-4.1"]
temperature = 0.7
[providers.openai]
kind = "openai"
base_url = "https://api.openai.com/v1"
api_key = ""
[limits]
messages_per_minute = 60
steps_per_turn = 25
daily_tokens = 0
[memory]
path = "memory"
[memory.chunk]
target_tokens = 400
overlap_tokens = 80
[memory.embedding]
provider = "auto"
fallback = "none"
model = ""
base_url = ""
api_key = ""
dimensions = 0
batch_size = 100
local = { model_path = "", cache_dir = "~/.cache/commonplace/models" }
cache = { max_entries = 50000 }
[memory.search]
vector_weight = 0.7
text_weight = 0.3
vector_top_k = 10
fts_top_k = 10
final_top_k = 5
snippet_max_chars = 700
min_similarity = 0.3
[memory.flush]
enabled = true
token_threshold = 6000
[memory.watch]
enabled = true
debounce_seconds = 1.5
[memory.reindex]
interval_minutes = 60
[index]
url = ""
"""


@pytest.fixture(autouse=True)
def empty_surroundings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in list(os.environ):
        if name.upper().startswith("COMMONPLACE_"):
            monkeypatch.delenv(name)
    monkeypatch.chdir(tmp_path)


def load(text: str, **environment: str) -> Settings:
    """Load a file with this text in the working folder, beside these variables."""
    file = Path("settings.toml")
    file.write_text(text, "utf-8")
    with pytest.MonkeyPatch.context() as patch:
        for name, value in environment.items():
            patch.setenv(name, value)
        return load_settings(file)


def refusal(text: str, **environment: str) -> str:
    with pytest.raises(ConfigError) as caught:
        load(text, **environment)
    line = str(caught.value)
    assert len(line.splitlines()) == 1
    assert line.isprintable()
    assert len(line) < 400 + len(str(Path.cwd()))
    return line


# What is there


def test_every_documented_key_is_accepted_and_has_its_documented_default() -> None:
    read, default = load(EVERY_KEY), load("")
    assert read.model_copy(update={"providers": {}, "models": default.models}) == default
    assert read.models.params["openai/gpt-4.1"].temperature == 0.7
    assert read.providers["openai"].kind == "openai"
    assert read.models.model_copy(update={"params": {}}) == default.models


def test_settings_are_frozen() -> None:
    with pytest.raises(ValueError, match="frozen"):
        load_settings().timezone = "Europe/Berlin"  # type: ignore[misc]


def test_whole_numbers_do_for_numbers_and_level_names_in_any_case() -> None:
    read = load('log_level = "WARNING"\n[models]\ntimeout = 30\n[memory.search]\nvector_weight = 1')
    assert (read.log_level, read.models.timeout, read.memory.search.vector_weight) == ("warning", 30.0, 1.0)


@table_test("host", ["127.0.0.1", "LocalHost", "127.3.2.1", "::1", "localhost"])
def test_loopback_needs_no_token(host: str) -> None:
    assert load(f'[server]\nhost = "{host}"').server.host == host


def test_beyond_loopback_a_token_is_enough_and_no_server_needs_none() -> None:
    assert load('[server]\nhost = "0.0.0.0"\ntoken = "long"').server.host == "0.0.0.0"
    assert load('[server]\nhost = "0.0.0.0"\nenabled = false').server.host == "0.0.0.0"


def test_a_provider_may_leave_its_kind_to_its_name() -> None:
    assert load('[providers.gemini]\nbase_url = "https://x"').providers["gemini"].kind == "gemini"


def test_the_table_of_a_provider_that_makes_only_vectors_needs_no_kind() -> None:
    voyage = load('[providers.voyage]\napi_key = "k"').providers["voyage"]
    assert (voyage.kind, voyage.keys) == ("openai", ("k",))


@table_test("name", ["openai", "My-Server", "a_b-C3", "9b"])
def test_provider_names_may_have_letters_digits_hyphens_underscores(name: str) -> None:
    assert load(f'[providers.{name}]\nkind = "builtin"\n[models]\nchain = ["{name}/notebook"]').providers[
        name
    ]


def test_now_is_in_the_owners_zone() -> None:
    now = load('timezone = "Asia/Kathmandu"').now()
    assert now.utcoffset() == timedelta(hours=5, minutes=45)
    assert now.astimezone(UTC).tzinfo is UTC


def test_without_a_zone_of_their_own_the_machines_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, offset in (("Asia/Kathmandu", timedelta(hours=5, minutes=45)), ("UTC", timedelta(0))):
        monkeypatch.setenv("TZ", name)
        assert load_settings().zone.key == load('timezone = ""').zone.key == name
        assert load_settings().now().utcoffset() == offset
    monkeypatch.setenv("TZ", "Mars/Olympus")
    assert load_settings().now().utcoffset() == timedelta(0)
    assert load('timezone = "Asia/Tokyo"').zone.key == "Asia/Tokyo"


# Which file, which folder


def test_without_a_file_the_workspace_is_in_the_data_folder_wherever_one_stands(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    expected = tmp_path / "home" / ".local" / "share" / "commonplace"
    for named in (None, "", "data"):  # XDG has a relative one ignored
        monkeypatch.delenv("XDG_DATA_HOME", raising=False)
        if named is not None:
            monkeypatch.setenv("XDG_DATA_HOME", named)
        assert load_settings().workspace == default_workspace() == expected
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    read = load_settings()
    assert read.workspace == tmp_path / "data" / "commonplace"
    assert read.memory_folder == tmp_path / "data" / "commonplace" / "memory"
    assert read.private_folder == tmp_path / "data" / "commonplace" / ".commonplace"


def test_without_a_home_folder_that_of_the_user_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("XDG_DATA_HOME", raising=False)
    monkeypatch.delenv("HOME", raising=False)
    unset = load_settings().workspace
    monkeypatch.setenv("HOME", "")
    assert load_settings().workspace == unset


def test_a_workspace_in_the_working_folder_is_taken_if_it_is_there(tmp_path: Path) -> None:
    Path("workspace").write_text("a file of somebody's own")
    assert load_settings().workspace != tmp_path / "workspace"
    Path("workspace").unlink()
    Path("workspace").symlink_to("a disk that is not mounted")
    assert load_settings().workspace == tmp_path / "workspace"
    Path("workspace").unlink()
    Path("workspace").mkdir()
    assert load_settings().workspace == tmp_path / "workspace"


def test_with_a_file_or_a_name_the_workspace_is_where_these_say(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    Path("config.toml").write_text("")
    assert load_settings().workspace == tmp_path / "workspace"
    Path("config.toml").unlink()
    monkeypatch.setenv("COMMONPLACE_WORKSPACE", "workspace")
    assert load_settings().workspace == tmp_path / "workspace"
    monkeypatch.delenv("COMMONPLACE_WORKSPACE")
    assert load_settings(None, Path("workspace")).workspace == tmp_path / "workspace"


def test_the_file_is_the_named_one_else_the_variables_else_the_one_at_hand(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("named", "variable", "config"):
        (tmp_path / f"{name}.toml").write_text(f'[agent]\nname = "{name}"')
    assert load_settings().agent.name == "config"
    monkeypatch.setenv("COMMONPLACE_CONFIG", "variable.toml")
    assert load_settings().agent.name == "variable"
    assert load_settings(Path("named.toml")).agent.name == "named"
    assert config_file(Path("named.toml")) == tmp_path / "named.toml"
    monkeypatch.setenv("COMMONPLACE_CONFIG", "")
    assert config_file() == tmp_path / "config.toml"


def test_a_workspace_leads_to_its_own_file_and_never_to_the_one_at_hand(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "config.toml").write_text('baseURL = "https://example.org"')  # as of a site by Hugo
    (tmp_path / "workspace").mkdir()
    folder = tmp_path / "home" / "workspace"
    (folder / ".commonplace").mkdir(parents=True)
    assert load_workspace_settings().file is None
    assert load_workspace_settings(None, folder).file is None

    beside, within = folder.parent / "config.toml", folder / "config.toml"
    for text, is_own in (
        ('workspace = "workspace"', True),
        ("", True),
        (f'workspace = "{folder}"', True),
        ('workspace = "other"', False),
        ("workspace = 5", False),
    ):
        beside.write_text(f'{text}\n[agent]\nname = "Own"')
        loaded = load_workspace_settings(None, folder)
        assert (loaded.file, loaded.agent.name == "Own") == ((beside, True) if is_own else (None, False))
        assert loaded.workspace == folder
    within.write_text(f'workspace = "{folder}"')
    assert load_workspace_settings(None, Path("home/workspace")).file == within
    within.write_text("no TOML")
    with pytest.raises(ConfigError, match="is not valid TOML"):
        load_workspace_settings(None, folder)
    within.unlink()
    beside.write_text('workspace = "workspace"')
    monkeypatch.setenv("COMMONPLACE_WORKSPACE", str(folder))
    assert load_workspace_settings().file == beside

    (tmp_path / "named.toml").write_text("")
    monkeypatch.setenv("COMMONPLACE_CONFIG", "named.toml")
    assert load_workspace_settings(None, folder).file == tmp_path / "named.toml"
    assert load_workspace_settings(beside, folder).file == beside


def test_the_file_at_hand_is_not_taken_for_that_of_a_folder_that_is_no_workspace_yet(tmp_path: Path) -> None:
    (tmp_path / "config.toml").write_text('baseURL = "https://example.org"')
    (tmp_path / "workspace").mkdir()
    assert load_workspace_settings(None, Path("workspace")).file is None


def test_a_relative_workspace_is_beside_the_file_and_an_absolute_one_where_it_says(tmp_path: Path) -> None:
    (tmp_path / "etc").mkdir()
    file = tmp_path / "etc" / "c.toml"
    file.write_text('workspace = "../data"')
    assert load_settings(Path("etc/c.toml")).workspace.resolve() == tmp_path / "data"
    file.write_text(f'workspace = "{tmp_path}/there"')
    assert load_settings(file).workspace == tmp_path / "there"
    file.write_text("")
    assert load_settings(file).workspace == tmp_path / "etc" / "workspace"


def test_the_home_folder_is_expanded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    assert load('workspace = "~/notes"').workspace == tmp_path / "home" / "notes"
    assert load_settings(None, Path("~/other")).workspace == tmp_path / "home" / "other"


def test_the_command_lines_workspace_wins_and_is_relative_to_the_working_folder(tmp_path: Path) -> None:
    (tmp_path / "etc").mkdir()
    file = tmp_path / "etc" / "c.toml"
    file.write_text('workspace = "/nowhere"')
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("COMMONPLACE_WORKSPACE", "/nor/here")
        assert load_settings(file).workspace == Path("/nor/here")
        assert load_settings(file, Path("mine")).workspace == tmp_path / "mine"


@pytest.mark.thorough
def test_a_pipe_will_do_as_a_file(tmp_path: Path) -> None:
    script = "from bot.config.settings import load_settings; from pathlib import Path;"
    script += "s = load_settings(Path('/dev/stdin')); print(s.agent.name, s.workspace)"
    command = [sys.executable, "-c", script]
    here = Path(__file__).parents[3]
    done = subprocess.run(
        command,
        input='[agent]\nname = "Piped"',
        capture_output=True,
        text=True,
        env={"PYTHONPATH": str(here)},
        cwd=tmp_path,
    )
    assert (done.stdout, done.stderr) == (f"Piped {tmp_path}/workspace\n", "")


def test_a_byte_order_mark_is_passed_over() -> None:
    Path("bom.toml").write_bytes(b'\xef\xbb\xbflog_level = "debug"\r\n')
    assert load_settings(Path("bom.toml")).log_level == "debug"


@table_test(
    ("content", "expected"),
    [
        (b"[server\nport = 1", "line 1, column 8"),
        (b"[server]\nport = \n", "line 2, column 8"),
        (b"[server]\nport = 1 2", "line 2, column 10"),
        (b"[server]\ntoken = s3cret", "line 2, column 9"),
        (b'[server]\ntoken = "s3cret', "line 2, column 16"),
        (b"port = 1\nport = 2", "line 2"),
        (b"[a]\n[a]", "line 2"),
        (b'name = "\xff"', "is not UTF-8 text (line 1, column 9)"),
        ('# 汉\nx = "\udcff"'.encode("utf-8", "surrogateescape"), "is not UTF-8 text (line 2, column 6)"),
        ("a = 1".encode("utf-16"), "is not UTF-8 text (line 1, column 1)"),
        (b"\0", "line 1, column 1"),
        (b"a = " + b"9" * 5000, "a number in it is too long"),
        (b"a = " + b"[" * 100_000, "nested too deeply"),
        (b"#" * 1_000_001, "larger than 1 MB"),
    ],
)
def test_a_broken_file_is_one_line_with_the_place(content: bytes, expected: str) -> None:
    file = Path("broken.toml")
    file.write_bytes(content)
    with pytest.raises(ConfigError) as caught:
        load_settings(file)
    line = str(caught.value)
    assert expected in line
    assert str(file.absolute()) in line
    assert "s3cret" not in line
    assert len(line.splitlines()) == 1


def test_a_file_that_was_named_must_be_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ConfigError, match=f"there is no settings file {tmp_path}/gone.toml"):
        load_settings(Path("gone.toml"))
    with pytest.raises(ConfigError, match="is a folder; the settings must be a file"):
        load_settings(tmp_path)
    with pytest.raises(ConfigError, match="cannot be read: Not a directory"):
        load_settings(Path("/dev/null/config.toml"))
    Path("config.toml").symlink_to("gone.toml")
    with pytest.raises(ConfigError, match="there is no settings file"):
        load_settings()
    monkeypatch.setenv("COMMONPLACE_CONFIG", "also-gone.toml")
    with pytest.raises(ConfigError, match="also-gone"):
        load_settings()
    with pytest.raises(ConfigError, match="home folder does not exist"):
        load_settings(Path("~nobody-of-that-name/c.toml"))


def test_a_working_folder_that_is_gone_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    with pytest.raises(ConfigError, match="no longer exists"):
        load_settings()
    with pytest.raises(ConfigError, match="no longer exists"):
        load_settings(Path("c.toml"))
    (tmp_path / "c.toml").write_text("")
    assert load_settings(tmp_path / "c.toml", tmp_path / "w").workspace == tmp_path / "w"


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_without_permission_is_one_line() -> None:
    Path("closed.toml").write_text("")
    Path("closed.toml").chmod(0)
    with pytest.raises(ConfigError, match="cannot be read: Permission denied"):
        load_settings(Path("closed.toml"))


# The environment


def test_the_environment_wins_over_the_file_key_by_key() -> None:
    read = load(
        '[memory.search]\nfinal_top_k = 3\nfts_top_k = 7\n[agent]\nname = "File"',
        COMMONPLACE_MEMORY__SEARCH__FINAL_TOP_K="8",
        COMMONPLACE_LOG_LEVEL="DEBUG",
        COMMONPLACE_SERVER__ENABLED="no",
        COMMONPLACE_MODELS__TIMEOUT="2.5",
        COMMONPLACE_ACCESS__OWNERS='["telegram:1", "discord:2"]',
    )
    assert (read.memory.search.final_top_k, read.memory.search.fts_top_k, read.agent.name) == (8, 7, "File")
    assert (read.log_level, read.server.enabled, read.models.timeout) == ("debug", False, 2.5)
    assert read.access.owners == ("telegram:1", "discord:2")


def test_a_channel_may_be_written_in_any_case() -> None:
    access = load(
        '[access]\nowners = ["Telegram:5"]\nallow = ["DISCORD:*"]\nguests = ["discord:1234/@5678"]'
    ).access
    assert (access.owners, access.allow) == (("telegram:5",), ("discord:*",))
    assert standing_of(PersonId("telegram", "5"), access) is Standing.OWNER
    assert standing_of(PersonId("discord", "7"), access) is Standing.ALLOWED


def test_people_with_several_ids_may_be_named_in_file_and_environment() -> None:
    file = '[access.people]\nanna = ["Telegram:5", "discord:6"]\n"Dr. No" = ["telegram:7", "telegram:7"]'
    people = load(file, COMMONPLACE_ACCESS__PEOPLE__BEN='["terminal:owner"]').access.people
    assert people == {
        "anna": ("telegram:5", "discord:6"),
        "Dr. No": ("telegram:7",),
        "ben": ("terminal:owner",),
    }
    assert load("", COMMONPLACE_ACCESS__PEOPLE='{"anna": []}').access.people == {"anna": ()}


@table_test("name", ["COMMONPLACE_SERVER__PORT", "commonplace_server__port", "Commonplace_Server__Port"])
def test_variables_may_be_in_any_case(name: str) -> None:
    assert load("", **{name: "80"}).server.port == 80


def test_capitals_win_over_small_letters() -> None:
    assert load("", commonplace_server__port="1", COMMONPLACE_SERVER__PORT="2").server.port == 2


def test_text_stays_text_even_if_it_looks_like_something_else() -> None:
    read = load("", COMMONPLACE_SERVER__TOKEN="12345", COMMONPLACE_AGENT__NAME="true")
    assert (read.server.token.get_secret_value(), read.agent.name) == ("12345", "true")


def test_whole_sections_may_be_json_and_single_variables_win_over_them() -> None:
    read = load(
        "[memory.chunk]\ntarget_tokens = 100",
        COMMONPLACE_MEMORY__CHUNK='{"overlap_tokens": 9}',
        COMMONPLACE_MODELS='{"timeout": 5, "params": {"builtin/notebook": {"temperature": 1}}}',
        COMMONPLACE_MODELS__TIMEOUT="6",
    )
    assert (read.memory.chunk.target_tokens, read.memory.chunk.overlap_tokens) == (100, 9)
    assert (read.models.timeout, read.models.params["builtin/notebook"].temperature) == (6, 1)


def test_an_empty_variable_counts_as_not_set() -> None:
    assert (
        load("[server]\nport = 5", COMMONPLACE_SERVER__PORT="", COMMONPLACE_ACCESS__OWNERS="").server.port
        == 5
    )


def test_provider_names_are_found_again_in_the_file() -> None:
    text = '[providers.My-Server]\nkind = "builtin"\n[providers.openai]\nkind = "openai"'
    read = load(
        text,
        COMMONPLACE_PROVIDERS__MY_SERVER__KIND="gemini",
        COMMONPLACE_PROVIDERS__OPENAI__BASE_URL="http://localhost",
        COMMONPLACE_PROVIDERS__NEW__KIND="openai",
        COMMONPLACE_PROVIDERS__ANTHROPIC__BASE_URL="http://a",
    )
    kinds = {name: provider.kind for name, provider in read.providers.items()}
    assert kinds == {"My-Server": "gemini", "openai": "openai", "new": "openai", "anthropic": "anthropic"}
    assert read.providers["openai"].base_url == "http://localhost"


def test_a_name_that_fits_two_providers_means_the_one_written_so() -> None:
    text = '[providers.my-server]\nkind = "openai"\n[providers.my_server]\nkind = "openai"'
    read = load(text, COMMONPLACE_PROVIDERS__MY_SERVER__KIND="gemini")
    assert {name: provider.kind for name, provider in read.providers.items()} == {
        "my-server": "openai",
        "my_server": "gemini",
    }


def test_keys_of_other_programs_do_not_matter() -> None:
    names = ["OPENAI_API_KEY", "TIMEZONE", "WORKSPACE", "MEMORY"]
    assert load("", **dict.fromkeys(names, "123:x")) == load("")


def telegram_token(text: str, **environment: str) -> str:
    return load(text, **environment).telegram.token.get_secret_value()


def test_the_telegram_token_may_stand_in_its_usual_variable() -> None:
    assert telegram_token("") == ""
    assert telegram_token("", TELEGRAM_BOT_TOKEN=" 12:ab-C_\n") == "12:ab-C_"
    assert telegram_token('[telegram]\ntoken = "3:own"', TELEGRAM_BOT_TOKEN="12:abc") == "3:own"
    assert telegram_token("", TELEGRAM_BOT_TOKEN="12:abc", COMMONPLACE_TELEGRAM__TOKEN="3:own") == "3:own"


def test_the_discord_token_may_stand_in_its_usual_variable() -> None:
    def token(text: str, **environment: str) -> str:
        return load(text, **environment).discord.token.get_secret_value()

    assert token("") == ""
    assert token("", DISCORD_BOT_TOKEN=" abc.def\n") == "abc.def"
    assert token('[discord]\ntoken = "own"', DISCORD_BOT_TOKEN="abc") == "own"


def test_a_telegram_token_is_taken_without_the_blanks_around_it() -> None:
    assert telegram_token('[telegram]\ntoken = " 3:own\\n"') == "3:own"


def keys_of_plain_values() -> list[tuple[str, ...]]:
    found = []
    for keys in known_keys(Settings):
        *_, (_, annotation, _) = walk_keys(Settings, keys)
        if (
            section_fields(annotation) is None
            and table_value(annotation) is None
            and not {"NAME", 0} & {*keys}
        ):
            found.append(tuple(map(str, keys)))
    return found


@pytest.mark.thorough
@pytest.mark.parametrize("keys", keys_of_plain_values(), ids=".".join)
def test_every_key_can_be_a_variable(keys: tuple[str, ...]) -> None:
    *_, (_, _, field) = walk_keys(Settings, keys)
    assert field
    default = field.default.get_secret_value() if isinstance(field.default, SecretStr) else field.default
    text = str(default) if isinstance(default, str | Path) else json.dumps(default)
    name = "COMMONPLACE_" + "__".join(keys).upper()
    assert load("", **{name: text}) == load("")
    with pytest.raises(ConfigError):
        load("", **{f"{name}X": text})


# What is refused


@table_test(
    ("text", "expected"),
    [
        # unknown keys
        ("wrkspace = 1", ["wrkspace is not a known key", "did you mean workspace", "settings.toml"]),
        ("[memory.serch]\nx = 1", ["memory.serch is", "did you mean memory.search"]),
        ("[memory.search]\ntop_k = 1", ["memory.search.top_k is", "memory.search.", "top_k"]),
        ("final_top_k = 1", ["did you mean memory.search.final_top_k"]),
        ("[server]\nprot = 1", ["server.prot", "did you mean server.port"]),
        (
            '[providers.My-Server]\nkind="openai"\napi_kye = "s3"',
            ["did you mean providers.My-Server.api_key"],
        ),
        ("[models.on_error]\nrate_limits = []", ["did you mean models.on_error.rate_limit"]),
        (
            '[providers.openai]\n[models.params."openai/gpt-4.1"]\ntemprature = 1',
            [
                'models.params."openai/gpt-4.1".temprature is',
                'did you mean models.params."openai/gpt-4.1".temperature',
            ],
        ),
        ("[limits]\nfoo = 1", ["limits.foo is not a known key; `commonplace init` writes"]),
        ('"a b" = 1', ['"a b" is not a known key']),
        ('"a\\nb\\u001b" = 1', ["'a\\nb\\x1b'"]),
        ("_env_file = 1", ["_env_file is not a known key"]),
        ("_build_sources = 1\n__pydantic_self__ = 1", ["is not a known key"]),
        ("[memory.local]\nx = 1", ["memory.local is"]),
        ("[memory.embedding.cache]\nsize = 1", ["memory.embedding.cache.size is"]),
        # programs
        ('[mcp.tokens.a]\ntoken = "short"', ["mcp.tokens.a.token is invalid", "at least 16", "openssl rand"]),
        ('[mcp.tokens.a]\ntoken = "with a space in it"', ["mcp.tokens.a.token is invalid"]),
        ('[mcp.tokens.a]\nrights = "read"', ["mcp.tokens.a.token is missing"]),
        (
            f'[mcp.tokens.a]\ntoken = "{"x" * 16}"\nrights = "all"',
            ['mcp.tokens.a.rights = "all"', '"read", "append", "write"'],
        ),
        (f'[mcp.tokens."a b"]\ntoken = "{"x" * 16}"', ["mcp.tokens", "unlike 'a b'"]),
        (
            f'[mcp.tokens.a]\ntoken = "{"x" * 16}"\n[mcp.tokens.b]\ntoken = "{"x" * 16}"',
            ["mcp.tokens.b.token is invalid", "a token other than that of a"],
        ),
        (
            f'[server]\ntoken = "{"x" * 16}"\n[mcp.tokens.a]\ntoken = "{"x" * 16}"',
            ["mcp.tokens.a.token is invalid", "a token other than server.token"],
        ),
        # people
        (
            '[server]\ntrusted_proxies = ["10.0.0.0/33"]',
            ["server.trusted_proxies", "'10.0.0.0/33' is neither", "172.16.0.0/12"],
        ),
        ('[access]\nowners = ["telegram:@anna"]', ["access.owners", "telegram:123456", "'telegram:@anna'"]),
        ('[access]\nallow = ["telegram:7", "Telegram:anna"]', ["access.allow", "'telegram:anna'"]),
        ('[access]\nguests = ["telegram:@anna"]', ["access.guests", "numeric Telegram ids"]),
        ('[access.people]\nanna = ["telegram:@anna"]', ["access.people = {...}", "numeric Telegram ids"]),
        ('[access.people]\nanna = ["7"]', ["access.people", 'ids such as "telegram:1"', "'7' in anna"]),
        (
            '[access.people]\nanna = ["telegram:*"]',
            ["access.people", "'telegram:*' in anna is a whole channel"],
        ),
        (
            '[access.people]\nanna = ["discord:1234/@5678"]',
            ["access.people", "'discord:1234/@5678' in anna is a role or a channel"],
        ),
        ('[access.people]\nanna = ["telegram:-100"]', ["access.people", "'telegram:-100' is a group"]),
        (
            '[access.people]\nanna = ["telegram:1"]\nben = ["discord:2", "Telegram:1"]',
            ["access.people", "'telegram:1' is in anna and in ben: remove it from one of them"],
        ),
        (
            '[access.people]\nanna = ["terminal:anna"]',
            ["access.people", "'terminal:anna' in anna", 'in the terminal you are "terminal:owner"'],
        ),
        ('[access.people]\n" " = ["telegram:1"]', ["access.people", "names on one line"]),
        ('[access.people]\nanna = "telegram:1"', ['access.people.anna = "telegram:1"', "a list of text"]),
        ("[access.people]\nanna = [1]", ["access.people.anna[0] = 1 is", "text in quotes"]),
        ('[access]\npeople = ["telegram:1"]', ["access.people = [...]", "a table"]),
        # wrong types
        (
            '[server]\nport = "8321"',
            ['server.port = "8321" is invalid', "a whole number from 0 to 65535"],
        ),
        ("[server]\nport = true", ["server.port = true is", "a whole number"]),
        ("[server]\nport = 80.0", ["server.port = 80.0 is"]),
        ("[server]\nport = [80]", ["server.port = [...] is"]),
        ("[server]\nport = 2026-11-21", ["server.port = 2026-11-21 is"]),
        ("[server]\nport = 07:32:00", ["server.port = 07:32:00 is"]),
        ("[agent]\nname = 1979-05-27T07:32:00Z", ["agent.name = 1979-05-27T07:32:00+00:00 is"]),
        ("[server]\nenabled = 1", ["server.enabled = 1 is", "true or false"]),
        ('[server]\nenabled = "yes"', ['server.enabled = "yes" is', "true or false"]),
        ("[models]\ntimeout = true", ["models.timeout = true is", "a number above 0, at most 86400"]),
        ("[models]\ntimeout = nan", ["models.timeout = nan is"]),
        ("[models]\ntimeout = inf", ["models.timeout = inf is"]),
        ("[agent]\nname = 5", ["agent.name = 5 is", "text in quotes"]),
        ("workspace = 5", ["workspace = 5 is", "text in quotes"]),
        ("agent = 5", ["agent = 5 is", "a table"]),
        ("[[agent]]\nname = 'x'", ["agent = [...] is", "a table"]),
        ("providers = []", ["providers = [...] is", "a table"]),
        ("[providers]\nopenai = 1", ["providers.openai = 1 is", "a table"]),
        ('[models]\nchain = "builtin/notebook"', ['models.chain = "builtin/notebook" is', "a list of text"]),
        ("[models]\nchain = [5]", ["models.chain[0] = 5 is", "text in quotes"]),
        ("[models]\nchain = [['a/b']]", ["models.chain[0] = [...] is"]),
        ("[access]\nowners = [123456]", ["access.owners[0] = 123456 is", "text in quotes"]),
        ("[memory.embedding]\nlocal = 'x'", ["memory.embedding.local", "a table"]),
        # impossible values
        ("[server]\nport = 65536", ["server.port = 65536", "from 0 to 65535"]),
        ("[server]\nport = -1", ["server.port = -1"]),
        ("[server]\nport = 0x" + "f" * 10_000, ["server.port = a huge number"]),
        (
            '[server]\nhost = "0.0.0.0"',
            ['server.host = "0.0.0.0"', "127.0.0.1, ::1 or localhost", "server.token"],
        ),
        ('[server]\nhost = "::"\ntoken = " "', ['server.host = "::"']),
        ('[server]\nhost = "my-machine"', ['server.host = "my-machine"', "server.token"]),
        ('[server]\nhost = ""', ["server.host"]),
        ('timezone = "Europe/Berln"', ['timezone = "Europe/Berln"', 'did you mean "Europe/Berlin"']),
        ('timezone = "America"', ['timezone = "America"', "IANA"]),
        ('timezone = "../../etc/passwd"', ["timezone", "IANA"]),
        ('timezone = "\\t"', ["timezone = '\\t'", "IANA", 'such as "Europe/Berlin"']),
        ('timezone = "\\u0000"', ["timezone", "IANA"]),
        ('timezone = "' + "x" * 5000 + '"', ["timezone", "..."]),
        ('log_level = "loud"', ['log_level = "loud"', '"debug", "info", "warning"']),
        ("log_level = 10", ["log_level = 10", '"debug"']),
        ('workspace = ""', ['workspace = ""', "a folder name"]),
        ('workspace = "a\\u0000b"', ["workspace = 'a\\x00b'"]),
        ('workspace = "~nobody-of-that-name/x"', ["workspace", "home folder does not exist"]),
        ('[telegram]\ntoken = "s3cret"', ["telegram.token is invalid", "BotFather", "settings.toml"]),
        ('[telegram]\ntoken = "12:a b"', ["telegram.token is invalid", "BotFather"]),
        ('[telegram]\nmode = "webhook"', ['telegram.webhook_url = ""', "with https:// while"]),
        (
            '[telegram]\nmode = "webhook"\nwebhook_url = "http://x"',
            ['telegram.webhook_url = "http://x"', "with https:// while"],
        ),
        (
            '[telegram]\nmode = "webhook"\napi_base = "http://localhost:8081"',
            ["telegram.webhook_url", "with https:// or http:// while"],
        ),
        (
            '[telegram]\nmode = "webhook"\nwebhook_url = "https://x"\n[server]\nenabled = false',
            ["telegram.mode", '"polling" while server.enabled is false', "settings.toml"],
        ),
        ('[telegram]\nwebhook_secret = "s3cret!"', ["telegram.webhook_secret is invalid", "up to 256"]),
        (f'[telegram]\nwebhook_secret = "{"s" * 257}"', ["telegram.webhook_secret is invalid", "up to 256"]),
        ('[telegram]\nmode = "push"', ['telegram.mode = "push"', '"polling", "webhook"']),
        ('[telegram]\napi_base = "api.telegram.org"', ["telegram.api_base", "http:// or https://"]),
        ('[discord]\napi_base = "ftp://x"', ['discord.api_base = "ftp://x"', "http:// or https://"]),
        ('[agent]\nname = " "', ["agent.name", "one line"]),
        ('[access]\nallow = ["123"]', ["access.allow = [...]", '"channel:id" or "channel:*"', "'123'"]),
        ('[access]\nguests = ["telegram:"]', ["access.guests", "'telegram:'"]),
        (
            '[access]\nowners = ["telegram:*"]',
            ["access.owners", "'telegram:*' would make everybody an owner"],
        ),
        ("[models]\nchain = []", ["models.chain", "at least one"]),
        (
            '[models]\nchain = ["llama3"]',
            [
                "models.chain",
                '"provider/model"',
                "instead of 'llama3', write",
                '"ollama/llama3"',
                "settings.toml",
            ],
        ),
        ('[models.on_error]\nauth = ["gpt-oss-120b"]', ["models.on_error.auth", '"groq/gpt-oss-120b"']),
        (
            '[models]\nchain = ["deepseek-r1:8b"]\n[providers.mine]\nkind = "openai"',
            ["models.chain", 'write "mine/deepseek-r1:8b", "ollama/deepseek-r1:8b"'],
        ),
        ('[models.params."o9"]\ntemperature = 3', ["temperature = 3 is"]),
        (
            '[models.params."gpt-4.1"]\nmax_tokens = 5\n[models.params."openai/gpt-4.1"]\nmax_tokens = 6',
            ["models.params", "one table for each model"],
        ),
        (
            '[models]\nchain = ["opnai/gpt-4.1"]',
            ["models.chain", "builtin", "'opnai/gpt-4.1'", "settings.toml"],
        ),
        ('[models]\nchain = ["builtin/gpt"]', ["models.chain", "builtin/notebook", "'builtin/gpt'"]),
        ('[models]\nchain = ["builtin/"]', ["models.chain", '"provider/model"']),
        ('[models.on_error]\nauth = ["x/y"]', ["models.on_error.auth", "'x/y'"]),
        ('[models.params."x/y"]\ntemperature = 1', ["models.params", "'x/y'"]),
        ('[models.params."builtin/notebook"]\ntemperature = 3', ["temperature = 3 is", "from 0 to 2"]),
        ("[models]\nmax_retries = -1", ["models.max_retries = -1"]),
        ("[models]\ntimeout = 0", ["models.timeout = 0"]),
        ("[limits]\nsteps_per_turn = 0", ["limits.steps_per_turn = 0"]),
        (
            '[providers.my]\nbase_url = "http://x"',
            ["providers.my.kind is missing", '"openai"', "settings.toml"],
        ),
        ('[providers.my]\nkind = "ollama"', ['providers.my.kind = "ollama"', '"llama_cpp"']),
        ('[providers.builtin]\nkind = "openai"', ['providers.builtin.kind = "openai"', "another name"]),
        ('[providers."a.b"]\nkind = "openai"', ["providers", "'a.b'", "letters, digits, - and _"]),
        ('[providers."a/b"]\nkind = "openai"', ["providers", "'a/b'"]),
        ('[providers."a.b"]\nkind = "x"', ['providers."a.b".kind = "x"']),
        ('[providers.""]\nkind = "openai"', ["providers", "''"]),
        (
            "[memory.chunk]\noverlap_tokens = 400",
            ["memory.chunk.overlap_tokens = 400", "less than target_tokens"],
        ),
        ("[memory.chunk]\ntarget_tokens = 50", ["memory.chunk.overlap_tokens = 80", "which is 50"]),
        ("[memory.search]\nvector_weight = 1.5", ["memory.search.vector_weight = 1.5", "from 0 to 1"]),
        (
            "[memory.search]\nvector_weight = 0\ntext_weight = 0",
            ["memory.search.text_weight = 0", "more than 0"],
        ),
        ('[memory]\npath = "../x"', ['memory.path = "../x"', "inside the workspace"]),
        ('[memory.embedding]\nprovider = "cohere"', ["memory.embedding.provider", '"voyage"']),
        ('[memory.embedding]\nfallback = "auto"', ["memory.embedding.fallback", '"none"']),
    ],
)
def test_a_mistake_in_the_file_is_named_with_what_is_allowed(text: str, expected: list[str]) -> None:
    line = refusal(text)
    for part in expected:
        assert part in line


@table_test(
    ("name", "value", "expected"),
    [
        (
            "COMMONPLACE_MEMROY__PATH",
            "x",
            ["COMMONPLACE_MEMROY__PATH is not a", "did you mean COMMONPLACE_MEMORY__PATH"],
        ),
        (
            "COMMONPLACE_MEMORY_FOLDERS__WRITE",
            "x",
            ["did you mean COMMONPLACE_MEMORY__FOLDERS (memory.folders)"],
        ),
        ("COMMONPLACE_MEMORY_PATH", "x", ["did you mean COMMONPLACE_MEMORY__PATH (memory.path)"]),
        ("commonplace_prot", "x", ["commonplace_prot is not a known setting", "COMMONPLACE_SERVER__PORT"]),
        ("COMMONPLACE_", "x", ["COMMONPLACE_ is not a known setting"]),
        ("COMMONPLACE_X", "", ["COMMONPLACE_X is not"]),
        ("COMMONPLACE_SERVER__", "x", ["COMMONPLACE_SERVER__ is not"]),
        (
            "COMMONPLACE_SERVER__PORT__X",
            "1",
            ["COMMONPLACE_SERVER__PORT__X is not", "COMMONPLACE_SERVER__PORT"],
        ),
        ("COMMONPLACE_MODELS__CHAIN__0", "x", ["COMMONPLACE_MODELS__CHAIN__0"]),
        ("COMMONPLACE_CONFIG__X", "1", ["COMMONPLACE_CONFIG__X is not"]),
        (
            "COMMONPLACE_PROVIDERS__OPENAI__API_KYE",
            "s3cret",
            ["did you mean COMMONPLACE_PROVIDERS__OPENAI__API_KEY"],
        ),
        ("COMMONPLACE_\x1b[31m\n", "x", ["is not a known setting"]),
        ("COMMONPLACE_SERVER__PORT", "eighty", ['server.port = "eighty"', "(from COMMONPLACE_SERVER__PORT)"]),
        ("COMMONPLACE_SERVER__PORT", "9" * 5000, ["server.port = ", "..."]),
        ("COMMONPLACE_SERVER__PORT", "true", ['server.port = "true"', "a whole number"]),
        ("COMMONPLACE_WORKSPACE", " ", ['workspace = " "', "a folder name"]),
        ("COMMONPLACE_SERVER__PORT", "70000", ["server.port = 70000", "(from COMMONPLACE_SERVER__PORT)"]),
        ("COMMONPLACE_SERVER__ENABLED", "maybe", ['server.enabled = "maybe"', "true or false"]),
        ("COMMONPLACE_SERVER__HOST", "0.0.0.0", ["server.host", "(from COMMONPLACE_SERVER__HOST)"]),
        ("COMMONPLACE_MODELS__TIMEOUT", "nan", ["models.timeout = nan"]),
        (
            "COMMONPLACE_MODELS__CHAIN",
            "a/b",
            ["COMMONPLACE_MODELS__CHAIN must be JSON", "models.chain", '["a", "b"]'],
        ),
        (
            "COMMONPLACE_ACCESS__PEOPLE__ANNA",
            "telegram:1",
            ["COMMONPLACE_ACCESS__PEOPLE__ANNA must be JSON", "access.people.anna"],
        ),
        ("COMMONPLACE_MODELS__CHAIN", '{"a": 1}', ["COMMONPLACE_MODELS__CHAIN must be JSON"]),
        ("COMMONPLACE_MODELS__CHAIN", "[" * 100_000, ["COMMONPLACE_MODELS__CHAIN must be JSON"]),
        (
            "COMMONPLACE_MODELS__CHAIN",
            '["a/b"]',
            ["models.chain", "'a/b'", "(from COMMONPLACE_MODELS__CHAIN)"],
        ),
        ("COMMONPLACE_MEMORY", "notes", ["COMMONPLACE_MEMORY must be JSON", "a table"]),
        ("COMMONPLACE_MEMORY", '{"pth": 1}', ["memory.pth is", "memory.path", "(from COMMONPLACE_MEMORY)"]),
        ("COMMONPLACE_MEMORY__CHUNK__TARGET_TOKENS", "50", ["overlap_tokens = 80", "TARGET_TOKENS)"]),
        ("COMMONPLACE_PROVIDERS__MY__API_KEY", "s3cret", ["providers.my.kind is missing", "MY__API_KEY)"]),
        ("COMMONPLACE_LOG_LEVEL", "\udcff", ["log_level = '\\udcff'"]),
        ("COMMONPLACE_AGENT__NAME", "\udcff", ["agent.name = '\\udcff'"]),
        (
            "COMMONPLACE_TELEGRAM__TOKEN",
            "s3cret",
            ["telegram.token is invalid", "(from COMMONPLACE_TELEGRAM__TOKEN)"],
        ),
        (
            "COMMONPLACE_DISCORD__TOKEN",
            "s3cret in two pieces",
            ["discord.token is invalid", "(from COMMONPLACE_DISCORD__TOKEN)"],
        ),
    ],
)
def test_a_mistake_in_the_environment_is_named_with_its_variable(
    name: str, value: str, expected: list[str]
) -> None:
    line = refusal("", **{name: value})
    for part in expected:
        assert part in line
    assert "s3cret" not in line


@table_test("url", ["mysql://me:s3cret@host/x", "host/s3cret", "postgresql://", "postgresql://[s3cret"])
def test_the_index_s_address_is_that_of_a_postgresql_server(url: str) -> None:
    line = refusal(f'[index]\nurl = "{url}"')
    assert "index.url" in line
    assert "postgresql://" in line.partition("index.url")[2]
    assert "s3cret" not in line


@table_test(
    "text",
    [
        '[memory.embedding]\nprovider = "none"\napi_key = "x"',
        '[memory.embedding]\nprovider = "openai"\nfallback = "local"\nmodel = "m"\ndimensions = 8',
        '[memory.embedding.local]\nmodel_path = "m.gguf"',
        '[providers.openai]\napi_key = "x"',
        '[providers.g]\nkind = "gemini"\napi_keys = ["x"]',
        '[providers.voyage]\nkind = "openai"\napi_key = "x"',
        '[providers.o]\nkind = "openai"\nbase_url = "https://api.openai.com/v1/"\napi_key = "x"',
        '[providers.openai]\nbase_url = "http://localhost:1234/v1"\napi_key = "x"',
        '[providers.x]\nkind = "anthropic"\napi_keys = ["x"]',
        '[providers.groq]\napi_key = "x"\n[models]\nchain = ["groq/llama-3.3-70b-versatile"]',
        '[providers.llama_cpp]\nmodel_path = "m.gguf"\n[models]\nchain = ["llama_cpp/m"]',
        '[models.on_error]\nauth = ["openai/gpt-4.1"]',
        '[telegram]\ntoken = "123456789:AAF-abcdefghijklmnopqrstuvwxyz_1234"',
        '[telegram]\ntoken = "1:a"\nmode = "webhook"\nwebhook_url = "https://x/y"\nwebhook_secret = "a-B_9"',
        '[index]\nurl = "postgresql://me:s3cret@host/x?sslmode=require"',
        '[telegram]\nmode = "webhook"\nwebhook_url = "http://x:8080"\napi_base = "http://localhost:8081"',
    ],
)
def test_what_serves_to_chat_or_to_make_vectors_may_be_set(text: str) -> None:
    load(text)


def test_the_tokens_that_the_documents_show_are_nobodys_own() -> None:
    for name in ("docs/mcp.md", "config.example.toml"):
        shown = re.findall(r'token = "([\w-]*secret-here)"', (ROOT / name).read_text())
        assert shown
        for token in shown:
            own = "it must be your own: `openssl rand -hex 24` prints one"
            with pytest.raises(ConfigError, match=rf"mcp\.tokens\.a\.token is invalid: {own}"):
                load(f'[mcp.tokens.a]\ntoken = "{token}"')


# Secrets

SECRET = "s3cret-Value"


def secret_keys() -> list[tuple[str, ...]]:
    found = []
    for keys in known_keys(Settings):
        name = "cursor" if keys[0] == "mcp" else "openai"
        named = tuple(name if key == "NAME" else str(key) for key in keys)
        if any(is_secret(annotation) for _, annotation, _ in walk_keys(Settings, named)):
            found.append(named)
    return found


def test_the_secret_keys_are_these() -> None:
    assert {".".join(keys) for keys in secret_keys()} == {
        "server.token",
        "mcp.tokens.cursor.token",
        "telegram.token",
        "telegram.webhook_secret",
        "discord.token",
        "providers.openai.api_key",
        "providers.openai.api_keys",
        "memory.embedding.api_key",
        "index.url",
    }


wrapped = st.recursive(
    st.just(SECRET),
    lambda inner: (
        st.lists(inner, min_size=1, max_size=2)
        | st.dictionaries(st.sampled_from(["a", "b c", SECRET]), inner, min_size=1, max_size=2)
    ),
    max_leaves=3,
)
mistakes = st.sampled_from(
    ["", "[server]\nprot = 1", "[limits]\nsteps_per_turn = 0", "[memory.chunk]\ntarget_tokens = 1", "x = 1"]
)


def as_toml(value: Any) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{json.dumps(key)} = {as_toml(inner)}" for key, inner in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(as_toml, value)) + "]"
    return json.dumps(value)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(
    keys=st.sampled_from(secret_keys()),
    value=wrapped,
    mistake=mistakes,
    misspelt=st.booleans(),
    env=st.booleans(),
)
def test_no_secret_is_ever_shown(
    keys: tuple[str, ...], value: Any, mistake: str, misspelt: bool, env: bool
) -> None:
    keys = (*keys[:-1], keys[-1] + "x") if misspelt else keys
    text, environment = mistake, {}
    if env:
        content = value if isinstance(value, str) else json.dumps(value)
        environment["COMMONPLACE_" + "__".join(keys).upper()] = content
    elif not mistake.startswith(f"[{keys[0]}]"):
        text = f"{mistake}\n[{'.'.join(keys[:-1])}]\n{keys[-1]} = {as_toml(value)}"
    try:
        read = load(text, **environment)
    except ConfigError as error:
        shown = [str(error), repr(error), repr(error.__context__ and str(error.__context__))]
    else:
        shown = [repr(read), str(read), str(read.model_dump()), read.model_dump_json()]
    assert not [line for line in shown if SECRET in line]


anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=9), inner, max_size=2),
    max_leaves=4,
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(keys=st.sampled_from(list(known_keys(Settings))), value=anything, as_text=st.booleans())
@example(keys=("models", "on_error", "rate_limit"), value=["\ud7fc"], as_text=False)
def test_whatever_stands_at_a_key_it_loads_or_is_one_line(
    keys: tuple[str | int, ...], value: Any, as_text: bool
) -> None:
    content = value if as_text and isinstance(value, str) else json.dumps(value)
    if "\0" in content:
        return  # no variable can hold one
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("COMMONPLACE_" + "__".join(map(str, keys)).upper(), content)
        try:
            load_settings()
        except ConfigError as error:
            line = str(error)
        else:
            line = ""
    assert line.isprintable()


@table_test("key", ["telegram", "providers", "providers.openai", "index", "memory.embedding"])
def test_a_secret_that_stands_where_a_table_belongs_is_not_shown(key: str) -> None:
    line = refusal(f'{key} = "{SECRET}"')
    assert line.startswith(f"{key} is invalid: it must be a table")
    assert SECRET not in line


@table_test("key", ["telegram.api_base", "discord.api_base", "memory.embedding.base_url"])
def test_a_password_in_an_address_is_not_shown(key: str) -> None:
    section, _, name = key.rpartition(".")
    for address in (f"ftp://me:{SECRET}@host", f"host/?key={SECRET}"):
        line = refusal(f'[{section}]\n{name} = "{address}"')
        assert line.startswith(f"{key} is invalid")
        assert SECRET not in line


# What it costs


@pytest.mark.thorough
def test_loading_costs_little_beyond_pydantic(tmp_path: Path) -> None:
    script = (
        "import pydantic_settings, sys, time; start = time.process_time();"
        "from bot.config.settings import load_settings; load_settings();"
        "print(time.process_time() - start, 'difflib' in sys.modules)"
    )
    here = str(Path(__file__).parents[3])
    lines = [
        subprocess.run(
            [sys.executable, "-c", script],
            env={"PYTHONPATH": here},
            cwd=tmp_path,
            capture_output=True,
            text=True,
        ).stdout.split()
        for _ in range(3)
    ]
    assert min(float(seconds) for seconds, _ in lines) < 0.2  # about 0.08 on a quiet machine
    assert {loaded for _, loaded in lines} == {"False"}


def test_workspaces_of_others_are_relative_to_the_settings_file_and_names_stand_on_one_line(
    tmp_path: Path,
) -> None:
    file = tmp_path / "here" / "config.toml"
    file.parent.mkdir()
    file.write_text('[instance]\nname = "attic"\ntake_over = ["../cellar", "/mnt/garage"]\n')
    settings = load_settings(file)
    assert settings.instance.take_over == (str(file.parent / "../cellar"), "/mnt/garage")
    for wrong in ('name = "a\\nb"', 'name = " "', 'take_over = [""]', 'take_over = "cellar"'):
        file.write_text(f"[instance]\n{wrong}\n")
        with pytest.raises(ConfigError, match=r"^instance\.(name|take_over) "):
            load_settings(file)


# Other folders of notes


def test_other_folders_of_notes_are_read_from_file_and_environment(tmp_path: Path) -> None:
    table = "[[memory.folders]]\n"
    file = f'{table}path = "~/Vault"\nwrite = true\nexclude = ["Templates/"]\n{table}path = "w"'
    first, second = load(file).memory.folders
    assert (first.path, first.shown_name, first.write) == (str(Path("~/Vault").expanduser()), "Vault", True)
    assert Path(second.path).is_absolute()
    (only,) = load(
        "", COMMONPLACE_MEMORY__FOLDERS='[{"path": "/vault", "name": "v", "exclude": ["a"]}]'
    ).memory.folders
    assert (only.path, only.name, only.exclude, only.write) == ("/vault", "v", ("a",), False)


@table_test(
    ("table", "line"),
    [
        ('name = "a"', "memory.folders[0].path is missing: it must be text in quotes (in "),
        ('path = "/v"\nname = "a/b"', 'memory.folders[0].name = "a/b" is invalid: it must be the name of a folder'),
        ('path = "/v"\nname = ".x"', "this one has a hidden name in it"),
        ('path = "/v"\nname = "x.md"', "only notes end in .md"),
        ('path = "/v"\nname = "documents"', "I use documents/ myself"),
        ('path = "/v"\nname = "Memory"', "names differ from that of your notes' own folder, memory; set `name`"),
        (
            'path = "/v"\n[[memory.folders]]\npath = "/w/V"',
            "folders with different names, but /v and /w/V are both V; set `name`",
        ),
        ('path = ""', 'memory.folders[0].path = "" is invalid: it must be a folder, such as "~/Obsidian/Vault"'),
        (
            'path = "~nobody-of-that-name/x"',
            'memory.folders[0].path = "~nobody-of-that-name/x" is invalid: that home folder does not exist',
        ),
        (
            'path = "/v"\nignore = ["Private/"]',
            "folders[0].ignore is not a known key; did you mean one of path, name, write, exclude?",
        ),
        ('path = "/v"\nreadonly = true', "did you mean one of path, name, write, exclude?"),
        ('path = "/"', "it must be the name of a folder"),
        ('path = "/v"\nexclude = ["!"]', "patterns as in a .gitignore file; '!' is not one"),
        ('path = "/v"\nrwite = true', "rwite is not a known key; did you mean memory.folders[0].write?"),
        ('path = "/v"\nwrite = "yes"', 'memory.folders[0].write = "yes" is invalid: it must be true or false'),
    ],
)  # fmt: skip
def test_a_folder_that_cannot_be_used_is_refused(table: str, line: str) -> None:
    assert line in refusal(f"[[memory.folders]]\n{table}")


def test_a_list_of_tables_needs_two_brackets() -> None:
    line = refusal('[memory.folders]\npath = "/v"')
    assert "memory.folders must be a list of tables: write [[memory.folders]], with two brackets (in " in line


def test_a_folder_that_overlaps_the_notes_or_takes_a_name_is_refused(tmp_path: Path) -> None:
    memory = tmp_path / "memory"
    (memory / "trips").mkdir(parents=True)
    (tmp_path / "vault").mkdir()
    (tmp_path / "link").symlink_to("vault")

    def fault(*folders: tuple[str, str]) -> str:
        tables = "".join(
            f'[[memory.folders]]\npath = "{tmp_path}{path}"\nname = "{name}"\n' for path, name in folders
        )
        return refusal(f'workspace = "{tmp_path}"\n{tables}')

    assert f"overlaps the folder of your notes, {memory}; choose another folder" in fault(("", "all"))
    assert "overlaps the folder of your notes" in fault(("/memory/trips", "t"))
    assert "the folder of the index" in fault(("/.commonplace/trash", "t"))
    assert "the folder a, " in fault(("/vault", "a"), ("/link", "b"))
    assert f'your notes already have a folder "trips", {memory / "trips"}' in fault(("/vault", "trips"))
    load(f'workspace = "{tmp_path}"\n[[memory.folders]]\npath = "{tmp_path}/vault"')
