import asyncio
import json
import re
import signal
import time
from pathlib import Path

import pytest

from bot.cli.doctor import format_report
from bot.doctor.check import Check, format_list, sanitize_checks
from tests.fakes.bot_api.server import BotApi
from tests.fakes.commonplace import Commonplace, CommonplaceHere
from tests.fakes.discord_api.server import DiscordApi
from tests.fakes.free_port import free_port

SECRETS = {
    "telegram": "987654321:planted-telegram-token",
    "discord": "planted.discord.token",
    "server": "planted-server-token",
    "provider": "planted-provider-key",
    "embedding": "planted-embedding-key",
    "webhook": "planted-webhook-secret",
    "password": "planted-password",
}


@pytest.fixture
def commonplace(tmp_path: Path) -> Commonplace:
    return CommonplaceHere(tmp_path)


@pytest.fixture
def written(commonplace: Commonplace) -> Commonplace:
    """With settings that hold a secret in every place, and servers that are not there."""
    (commonplace.folder / "config.toml").write_text(
        f"""
[server]
port = 0
token = "{SECRETS["server"]}"
[telegram]
token = "{SECRETS["telegram"]}"
api_base = "http://me:{SECRETS["password"]}@127.0.0.1:9"
mode = "webhook"
webhook_url = "http://127.0.0.1:9"
webhook_secret = "{SECRETS["webhook"]}"
[discord]
token = "{SECRETS["discord"]}"
api_base = "http://me:{SECRETS["password"]}@127.0.0.1:9"
[models]
chain = ["mine/m"]
[providers.mine]
kind = "openai"
base_url = "http://me:{SECRETS["password"]}@127.0.0.1:9/v1"
api_key = "{SECRETS["provider"]}"
[memory.embedding]
provider = "openai"
base_url = "http://me:{SECRETS["password"]}@127.0.0.1:9/v1"
api_key = "{SECRETS["embedding"]}"
"""
    )
    return commonplace


def tree(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))


def test_without_settings_and_network_all_is_well_and_nothing_is_made(commonplace: Commonplace) -> None:
    commonplace.environment["COMMONPLACE_SERVER__PORT"] = str(free_port())  # the usual one may be in use
    commonplace.memory.parent.rmdir()
    shown = commonplace.output_of("doctor")
    assert {line.split()[0] for line in shown.splitlines()} <= {"ok", "warn"}
    assert tree(commonplace.folder) == []
    topics = {line.split()[1] for line in shown.splitlines()}
    assert topics >= {"program", "settings", "folders", "models", "telegram", "discord", "service", "clock"}


def test_beside_a_workspace_in_use_nothing_is_changed(commonplace: Commonplace) -> None:
    commonplace.environment["COMMONPLACE_SERVER__PORT"] = str(free_port())
    commonplace.output_of("memory", "write", "The boiler is blue.")
    commonplace.output_of("chat", "-m", "Where is the boiler?")
    before = {path: path.read_bytes() for path in commonplace.folder.rglob("*") if path.is_file()}
    document = json.loads(commonplace.output_of("doctor", "--json"))
    assert document["ok"] is True
    assert {path: path.read_bytes() for path in commonplace.folder.rglob("*") if path.is_file()} == before
    for check in document["checks"]:
        assert set(check) == {"topic", "name", "status", "detail", "fix", "told", "mend"}
        assert (check["told"], check["mend"]) == (check["detail"], check["fix"]), "the deprecated names"
        assert bool(check["fix"]) == (check["status"] != "ok"), check


def test_what_fails_ends_with_1_and_one_line(written: Commonplace) -> None:
    done = written("doctor")
    assert done.returncode == 1
    failed = [line for line in done.stdout.splitlines() if line.startswith("fail")]
    assert [line.split()[1] for line in failed] == ["vectors", "models", "telegram", "discord"]
    assert all(" → " in line for line in failed)
    assert re.fullmatch(r"commonplace: 4 of \d+ checks failed; .*\n", done.stderr)


def test_no_secret_is_ever_told(written: Commonplace) -> None:
    environment = {"GROQ_API_KEY": "planted-groq-key", "HF_TOKEN": "planted-hub-token"}
    for option in ((), ("--json",)):
        done = written("doctor", *option, environment=environment)
        assert "planted" not in done.stdout + done.stderr


def test_settings_that_cannot_be_used_are_a_line_and_end_with_2(commonplace: Commonplace) -> None:
    (commonplace.folder / "config.toml").write_text("[server]\nprot = 1\n")
    done = commonplace("doctor")
    assert done.returncode == 2
    assert re.search(r"^fail  settings +valid .*server\.port", done.stdout, re.MULTILINE)
    assert re.search(r"^ok    program ", done.stdout, re.MULTILINE)
    assert done.stderr.count("\n") == 1
    assert "server.prot" in done.stderr
    done = commonplace("doctor", "--json", "--config", "nowhere.toml")
    assert (done.returncode, json.loads(done.stdout)["ok"]) == (2, False)
    assert "nowhere.toml" in done.stderr


def test_a_restore_that_broke_off_is_told_and_keeps_the_doctor_from_nothing(commonplace: Commonplace) -> None:
    private = commonplace.folder / "workspace" / ".commonplace"
    private.mkdir(parents=True)
    (private / "restore.json").write_text("{}")
    done = commonplace("doctor")
    assert done.returncode == 1
    assert re.search(r"^fail  conversations +restore .*restore FILE", done.stdout, re.MULTILINE)


def test_wrong_usage_is_one_line(commonplace: Commonplace) -> None:
    assert "now" in commonplace.error_of("doctor", "now", code=2)


def test_the_lines_are_aligned_and_a_narrow_terminal_breaks_them() -> None:
    checks = [
        Check("a", "first", "ok", "well"),
        Check("longer", "x", "warn", "so so", "mend it"),
    ]
    assert list(format_report(checks, width=None, colourful=False)) == [
        "ok    a       first  well",
        "warn  longer  x      so so → mend it",
    ]
    assert list(format_report(checks, width=30, colourful=False))[2:] == ["                     → mend it"]
    assert "\x1b[33mwarn" in "".join(format_report(checks, width=None, colourful=True))


def test_what_others_say_drives_no_terminal_and_holds_no_secret() -> None:
    [check] = sanitize_checks([Check("a", "b", "warn", "\x1b[2Jbad\nkey s3cret", "s3cret")], ["s3cret"])
    assert (check.detail, check.fix) == ("bad key ***", "***")


def test_lists_are_told_in_short() -> None:
    assert format_list(["a", "b", "c"], limit=2) == "a, b and 1 more"
    assert format_list(["a", "b"], limit=2) == "a, b"


@pytest.mark.thorough
@pytest.mark.filterwarnings("ignore:.*:DeprecationWarning:aiohttp.*")
async def test_beside_a_service_that_runs_it_tells_that_this_one_is_well(tmp_path: Path) -> None:
    async with BotApi() as telegram, DiscordApi() as discord:
        discord.guild("Home", discord.person("anna"))
        (tmp_path / "config.toml").write_text(
            f"""
[server]
port = {free_port()}
[telegram]
token = "{telegram.token}"
api_base = "{telegram.url}"
[discord]
token = "{discord.token}"
api_base = "{discord.api_base}"
[access]
owners = ["telegram:7", "discord:123456789012345678"]
"""
        )
        (tmp_path / "config.toml").chmod(0o600)
        process = Commonplace(tmp_path)
        with process.start("run") as running:
            try:
                await telegram.wait_until_polling(within=30)
                deadline = time.monotonic() + 30
                while True:
                    done = await asyncio.to_thread(process, "doctor", "--json")
                    checks = {
                        (each["topic"], each["name"]): each for each in json.loads(done.stdout)["checks"]
                    }
                    health = checks["service", "health"]
                    if health["status"] == "ok" or time.monotonic() > deadline:
                        break
                assert health["told"] == "the running service is healthy"
                assert done.returncode == 0, done
                assert [each for each in checks.values() if each["status"] == "fail"] == []
                assert checks["telegram", "bot"]["told"] == "@commonplace_bot"
                assert checks["service", "running"]["told"].startswith("Commonplace has this workspace open")
            finally:
                running.send_signal(signal.SIGTERM)
                assert await asyncio.to_thread(running.wait, 15) == 0


@pytest.mark.thorough
def test_a_name_server_that_hangs_holds_the_doctor_up_for_no_longer_than_its_time(tmp_path: Path) -> None:
    """The system's own look-up of names cannot be cancelled."""
    (tmp_path / "slow.py").write_text(
        "import socket, sys, time\n"
        "socket.getaddrinfo = lambda *_, **__: time.sleep(60)\n"
        "from bot.cli.main import main\n"
        "sys.exit(main(['doctor']))\n"
    )
    (tmp_path / "config.toml").write_text(
        '[server]\nenabled = false\n[telegram]\ntoken = "1:abc"\napi_base = "http://bot.example.org"\n'
    )
    process = Commonplace(tmp_path)
    process.command = [process.command[0], str(tmp_path / "slow.py")]
    began = time.monotonic()
    done = process(seconds=50)
    assert done.returncode == 1
    assert re.search(r"^fail  telegram .*did not answer within", done.stdout, re.MULTILINE)
    assert time.monotonic() - began < 45
