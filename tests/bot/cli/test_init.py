"""`commonplace init` as a command: without a terminal by its flags, and in a real terminal window."""

import asyncio
import os
import re
import shlex
import signal
import time
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest

from bot.cli.main import build_parser
from bot.cli.outcome import INTERRUPTED
from bot.setup.steps import STEPS
from tests.contracts.test_public_names import options_of
from tests.fakes.bot_api.server import BotApi
from tests.fakes.commonplace import ROOT, Commonplace, CommonplaceHere
from tests.fakes.discord_api.server import DiscordApi
from tests.fakes.model_server import KEY, ModelAnswer
from tests.fakes.openai_server import MODEL, OpenAIServer
from tests.fakes.terminal_window import TerminalWindow

pytestmark = pytest.mark.filterwarnings("ignore:.*:DeprecationWarning:aiohttp.*")
TOKEN = "123456789:AAF-test-token-of-the-fake-bot-api_x"


@pytest.fixture
def commonplace(tmp_path: Path) -> Commonplace:
    return CommonplaceHere(tmp_path)


def wait_until(holds: Callable[[], bool]) -> None:
    ends = time.monotonic() + 10
    while not holds():
        assert time.monotonic() < ends
        time.sleep(0.01)


def open_window(commonplace: Commonplace, *arguments: str, **environment: str) -> TerminalWindow:
    return TerminalWindow(
        [*commonplace.command, "init", *arguments],
        cwd=commonplace.folder,
        environment={**commonplace.environment, **environment},
        rows=40,
        columns=200,  # nothing is broken
    )


# -- without a terminal -------------------------------------------------------------------------------------


def test_flags_answer_and_nothing_is_read(commonplace: Commonplace) -> None:
    (commonplace.folder / "vault").mkdir()
    out = commonplace.output_of(
        "init",
        "--name",
        "Robin",
        "--timezone",
        "Asia/Tokyo",
        "--page-token",
        "--vault",
        "vault",
        stdin="\n" * 9,
    )
    assert "Robin, Asia/Tokyo" in out
    config = (commonplace.folder / "config.toml").read_text()
    assert 'name = "Robin"' in config
    assert 'path = "' in config
    assert "token = " in (commonplace.folder / "secrets.toml").read_text()
    commonplace.output_of("memory", "status")


def test_yes_and_no_flag_write_the_same_example(commonplace: Commonplace) -> None:
    commonplace.output_of("init", "--yes")
    assert (commonplace.folder / "config.toml").read_text() == (ROOT / "config.example.toml").read_text()
    assert "left unchanged" in commonplace.error_of("init", "--yes")


def test_flags_change_settings_that_are_there_and_keep_the_rest(commonplace: Commonplace) -> None:
    file = commonplace.folder / "config.toml"
    file.write_text("# mine\n[agent]\nname = 'A' # short\n")
    commonplace.output_of("init", "you", "--timezone", "Asia/Tokyo")
    lines = file.read_text().splitlines()
    assert set(lines) - {""} == {"# mine", 'timezone = "Asia/Tokyo"', "[agent]", "name = 'A' # short"}


def test_a_step_without_a_terminal_says_which_flags_it_needs(commonplace: Commonplace) -> None:
    error = commonplace.error_of("init", "telegram", code=2)
    assert "--telegram-token-file" in error
    assert not (commonplace.folder / "config.toml").exists()
    assert not (commonplace.folder / "telegram").exists()


def test_a_flag_without_the_one_that_it_belongs_to_is_told(commonplace: Commonplace) -> None:
    (commonplace.folder / "key").write_text("k")
    for flags in (
        ("--api-key-file", "key"),
        ("--start",),
        ("--service", "none", "--start"),
        ("--vault-write",),
    ):
        assert "has no effect here" in commonplace.error_of("init", "--name", "Robin", *flags, code=2)


def test_every_flag_is_of_a_step() -> None:
    own = {f"commonplace init --{flag}" for step in STEPS for flag in step.flags}
    general = {
        f"commonplace init {option}" for option in ("--help", "-h", "--config", "--workspace", "--yes")
    }
    found = {
        name for name in options_of(build_parser(), "commonplace") if name.startswith("commonplace init -")
    }
    assert found == own | general


def test_the_file_that_a_variable_names_is_the_one(commonplace: Commonplace) -> None:
    commonplace.environment["COMMONPLACE_CONFIG"] = str(commonplace.folder / "mine.toml")
    commonplace.output_of("init", "you", "--name", "Robin")
    assert 'name = "Robin"' in (commonplace.folder / "mine.toml").read_text()


def test_secrets_come_from_files_or_standard_input_and_never_appear(commonplace: Commonplace) -> None:
    free = {"COMMONPLACE_TELEGRAM__API_BASE": "http://127.0.0.1:1"}
    commonplace.environment |= free
    out = commonplace.output_of("init", "--telegram-token-file", "-", stdin=f"{TOKEN}\n")
    assert "I could not test that" in out
    assert TOKEN not in out
    (commonplace.folder / "key").write_text(f"{TOKEN}x\n")
    commonplace.output_of("init", "telegram", "--telegram-token-file", "key")
    assert f'"{TOKEN}x"' in (commonplace.folder / "secrets.toml").read_text()
    assert TOKEN not in (commonplace.folder / "config.toml").read_text()


def test_files_of_secrets_that_cannot_be_used_are_told(commonplace: Commonplace) -> None:
    (commonplace.folder / "empty").write_text("\n")
    (commonplace.folder / "picture").write_bytes(b"\xff\xfe\x00")
    for file, said in {"none": "cannot be read", "empty": "is empty", "picture": "not a text file"}.items():
        error = commonplace.error_of("init", "--telegram-token-file", file)
        assert said in error
    both = ("--telegram-token-file", "-", "--discord-token-file", "-")
    assert "only one flag" in commonplace.error_of("init", *both, code=2, stdin="x")
    assert not (commonplace.folder / "config.toml").exists()


def test_settings_that_do_not_load_are_told_and_left_alone(commonplace: Commonplace) -> None:
    file = commonplace.folder / "config.toml"
    for text in ("[server\n", "[server]\nport = -1\n"):
        file.write_text(text)
        error = commonplace.error_of("init", "you", "--name", "Robin", code=2)
        assert "Please fix that first; nothing was changed" in error
        assert file.read_text() == text


def test_the_commands_of_the_page_work(commonplace: Commonplace) -> None:
    page = (ROOT / "docs/setup.md").read_text("utf-8")
    blocks = re.findall(r"^```sh\n(.*?)^```", page, flags=re.MULTILINE | re.DOTALL)
    commands = [line for block in blocks for line in block.splitlines()]
    commonplace.environment["COMMONPLACE_TELEGRAM__API_BASE"] = "http://127.0.0.1:1"
    (commonplace.folder / "token.txt").write_text(f"4{TOKEN}")
    for command in commands:
        program, *arguments = shlex.split(command)
        if program == "make":
            assert re.search(rf"^{arguments[0]}:", (ROOT / "Makefile").read_text("utf-8"), flags=re.MULTILINE)
        else:
            commonplace.output_of(*arguments)
    config = (commonplace.folder / "config.toml").read_text()
    assert 'name = "Robin"' in config
    assert 'owners = ["telegram:123456789"]' in config
    assert (commonplace.folder / ".config/systemd/user/commonplace.service").exists()


# -- which file ---------------------------------------------------------------------------------------------


def test_a_folder_with_the_name_of_a_step_is_written_with_a_slash(commonplace: Commonplace) -> None:
    for typed in ("./telegram", "telegram/", f"{commonplace.folder}/telegram"):
        commonplace.output_of("init", typed)
        (commonplace.folder / "telegram" / "config.toml").unlink()


def test_a_mistyped_step_makes_no_folder(commonplace: Commonplace) -> None:
    for typed, step in {"modl": "model", "telegramm": "telegram", "Notes": "notes"}.items():
        error = commonplace.error_of("init", typed, code=2)
        assert f"did you mean the step `{step}`? For a folder of that name, write ./{typed}" in error
    assert list(commonplace.folder.glob("*/config.toml")) == []
    commonplace.output_of("init", "./modl")
    commonplace.output_of("init", "modl", "--name", "Robin")


def test_a_tilde_is_the_home_folder_wherever_a_path_stands(commonplace: Commonplace) -> None:
    commonplace.output_of("init", "--config=~/a.toml", "--workspace=~/notes")
    assert f'workspace = "{commonplace.folder}/notes"' in (commonplace.folder / "a.toml").read_text()
    commonplace.output_of("init", "~/home")
    assert (commonplace.folder / "home" / "config.toml").exists()
    assert not (commonplace.folder / "~").exists()
    assert "that home folder does not exist" in commonplace.error_of(
        "init", "--workspace=~nobody-x/a", code=2
    )


def test_a_folder_and_a_settings_file_are_one_too_many(commonplace: Commonplace) -> None:
    assert "not both" in commonplace.error_of("init", "home", "--config", "mine.toml", code=2)
    assert list(commonplace.folder.glob("*.toml")) == []


def test_the_command_to_go_on_with_can_be_pasted_into_a_shell(commonplace: Commonplace) -> None:
    out = commonplace.output_of("init", "it's mine")
    [command] = re.findall(r"^Next: commonplace (.*)$", out, flags=re.MULTILINE)
    assert shlex.split(command) == ["chat", "--config", f"{commonplace.folder}/it's mine/config.toml"]
    assert "\nNext: commonplace chat\n" in commonplace.output_of("init")


def test_after_a_channel_the_service_is_next(commonplace: Commonplace) -> None:
    commonplace.environment["COMMONPLACE_TELEGRAM__API_BASE"] = "http://127.0.0.1:1"
    flags = ("init", "--telegram-token-file", "-", "--telegram-owner", "7654321")
    out = commonplace.output_of(*flags, stdin=TOKEN)
    assert "\nNext: commonplace run\n" in out
    assert "/newbot" not in out
    assert "your bot on Telegram (not tested), whose owner is id 7654321\n" in out
    assert "COMMONPLACE_TELEGRAM__API_BASE is set here and not saved" in out
    out = commonplace.output_of(*flags, "--service", "systemd", stdin=TOKEN)
    assert "Nothing has changed" not in out
    assert "Next:" not in out
    assert "Nothing has changed in" in commonplace.output_of(*flags, stdin=TOKEN)


def test_a_file_that_cannot_be_settings_is_refused_before_anything_is_read(commonplace: Commonplace) -> None:
    os.mkfifo(commonplace.folder / "pipe")
    assert "a pipe, a socket or a device" in commonplace.error_of(
        "init", "--config", "pipe", "--page-token", code=2
    )
    (commonplace.folder / "secrets.toml").write_text("# mine\n")
    error = commonplace.error_of("init", "--config", "secrets.toml", "--page-token", code=2)
    assert "is reserved for secrets" in error
    assert (commonplace.folder / "secrets.toml").read_text() == "# mine\n"


# -- flags --------------------------------------------------------------------------------------------------


def test_a_flag_of_another_step_is_told(commonplace: Commonplace) -> None:
    error = commonplace.error_of("init", "you", "--name", "Robin", "--page-token", code=2)
    assert "--page-token" in error
    assert "page" in error
    assert not (commonplace.folder / "config.toml").exists()


def test_what_follows_an_unknown_flag_is_not_repeated(commonplace: Commonplace) -> None:
    for flag in (("--telegram-token", TOKEN), (f"--telegram-token={TOKEN}",)):
        error = commonplace.error_of("init", *flag, code=2)
        assert "unrecognized arguments: --telegram-token (see commonplace init --help)" in error
        assert TOKEN not in error


def test_an_empty_flag_is_told(commonplace: Commonplace) -> None:
    for value in ("", " "):
        assert "--timezone" in commonplace.error_of("init", "--timezone", value, code=2)
    assert not (commonplace.folder / "config.toml").exists()


def test_what_is_not_utf_8_is_told(commonplace: Commonplace) -> None:
    for flag in ("--name", "--vault"):
        assert "not UTF-8" in commonplace.error_of("init", flag, b"M\xfcller", code=2)


def test_a_step_that_fails_leaves_no_new_file_behind(commonplace: Commonplace) -> None:
    commonplace.error_of("init", "--timezone", "Mars", code=2)
    assert not (commonplace.folder / "config.toml").exists()


def test_the_same_flags_twice_change_nothing_more(commonplace: Commonplace) -> None:
    (commonplace.folder / "vault").mkdir()
    flags = ("init", "--name", "Robin", "--vault", "vault", "--vault-write", "--service", "systemd")
    commonplace.output_of(*flags)
    before = {file: file.read_bytes() for file in commonplace.folder.rglob("*") if file.is_file()}
    commonplace.output_of(*flags)
    assert {file: file.read_bytes() for file in commonplace.folder.rglob("*") if file.is_file()} == before


def test_a_service_that_does_not_start_is_a_failure(commonplace: Commonplace) -> None:
    done = commonplace("init", "--service", "systemd", "--start", environment={"PATH": "/nowhere"})
    assert done.returncode == 1
    assert "systemctl --user daemon-reload failed" in done.stderr
    assert (commonplace.folder / ".config/systemd/user/commonplace.service").exists()


# -- in a terminal ------------------------------------------------------------------------------------------


@pytest.mark.thorough
async def test_everything_is_asked_tested_and_written_in_a_terminal(tmp_path: Path) -> None:
    commonplace = Commonplace(tmp_path)
    async with BotApi() as telegram, DiscordApi() as discord, OpenAIServer() as model:
        model.always(ModelAnswer("Hello."))
        anna = telegram.person(7, "Anna", username="anna")
        discord.person("anna")

        def set_up() -> None:
            with open_window(
                commonplace,
                COMMONPLACE_TELEGRAM__API_BASE=telegram.url,
                COMMONPLACE_DISCORD__API_BASE=discord.api_base,
                COMMONPLACE_PROVIDERS__OLLAMA__BASE_URL="http://127.0.0.1:1",
            ) as window:
                window.wait_for("called? [Commonplace]:")
                window.type("Robin\r")
                window.wait_for("Your time zone [UTC]:")
                window.type("Mars\r")
                window.wait_for("is invalid: it must be")
                window.wait_for("Your time zone [UTC]:", times=2)
                window.type("Europe/Berlin\r")
                window.wait_for("Number [13]:")
                window.type("99\r")
                window.wait_for("choose one of 1-13")
                window.type("12\r")
                window.wait_for("A short name for it [mine]:")
                window.type("\r")
                window.wait_for("Its address")
                window.type(f"{model.base_url}\r")
                window.wait_for("API key (hidden")
                window.type(f"{KEY}\r")
                window.wait_for("Model:")
                window.type(f"{MODEL}\r")
                window.wait_for("It answered.")
                window.wait_for("The bot's token (hidden")
                window.type(f"{telegram.token}\r")
                window.wait_for("Now send @commonplace_bot any message")
                telegram.do(anna.say("hello"))
                window.wait_for("Anna (@anna, id 7) wrote to it")
                window.type("y\r")
                window.wait_for("The bot's token (hidden", times=2)
                window.type(f"{discord.token}\r")
                window.wait_for("registered this bot")
                window.type("\r")
                window.wait_for("Where should your notes be?")
                window.wait_for("Number [1]:")
                window.type("\r")
                window.wait_for("Make a token to sign in")
                window.type("\r")
                window.wait_for("Should Commonplace run in the background?")
                window.wait_for("Number [1]:", times=2)
                window.type("\r")
                seen = window.wait_for("Where is the spare key?")
                assert window.wait_exit() == 0
            for secret in (KEY, telegram.token, discord.token):
                assert secret not in seen.replace("\n", "")
            assert "Start it with:" in seen

        await asyncio.to_thread(set_up)
    assert "telegram:7" in (tmp_path / "config.toml").read_text()
    assert (tmp_path / "secrets.toml").stat().st_mode & 0o777 == 0o600
    assert (await asyncio.to_thread(commonplace, "memory", "status")).returncode == 0


@pytest.mark.thorough
def test_ctrl_c_and_ctrl_d_keep_what_was_answered(tmp_path: Path) -> None:
    commonplace = Commonplace(tmp_path)
    for key, already in (("\x03", ""), ("\x04", "Robin")):
        with open_window(commonplace) as window:
            window.wait_for("called?")
            window.type("Robin\r" if not already else "\r")
            window.wait_for("time zone")
            window.type("\r")
            window.wait_for("Which model should answer you?")
            window.wait_for("Number")
            window.type(key)
            seen = window.wait_for("To continue:")
            assert window.wait_exit() == 130
        assert "Saved so far: Name and time zone" in seen
        assert "Traceback" not in seen
        assert 'name = "Robin"' in (tmp_path / "config.toml").read_text()
    with open_window(commonplace, "telegram") as window:
        window.wait_for("The bot's token")
        window.type("\x03")
        window.wait_for("Nothing has been written.")
        assert window.wait_exit() == 130


@pytest.mark.thorough
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
async def test_a_signal_while_it_waits_for_a_message(tmp_path: Path, number: signal.Signals) -> None:
    async with BotApi() as telegram:

        def interrupt() -> None:
            with open_window(
                Commonplace(tmp_path), "telegram", COMMONPLACE_TELEGRAM__API_BASE=telegram.url
            ) as window:
                window.wait_for("The bot's token")
                window.type(f"{telegram.token}\r")
                window.wait_for("Now send @")
                telegram.do(telegram.wait_until_polling())
                window.process.send_signal(number)
                seen = window.wait_for("To continue:")
                assert window.wait_exit() == 130
                assert "Already written: secrets.toml, config.toml." in seen
                assert "Traceback" not in seen

        await asyncio.to_thread(interrupt)
    assert telegram.token in (tmp_path / "secrets.toml").read_text()


@pytest.mark.thorough
@pytest.mark.parametrize("term", ["xterm-256color", "dumb"])
async def test_a_token_pasted_at_a_menu_is_taken_and_never_shown(tmp_path: Path, term: str) -> None:
    async with BotApi() as telegram:

        def paste() -> None:
            with open_window(
                Commonplace(tmp_path),
                "telegram",
                COMMONPLACE_TELEGRAM__API_BASE=telegram.url,
                TERM=term,
            ) as window:
                window.wait_for("The bot's token")
                window.type(f"{telegram.token}x\r")
                window.wait_for("What now?")
                window.wait_for("Number [1]:")
                window.type(f"{telegram.token}\r")
                window.wait_for("Now send @")
                telegram.do(telegram.wait_until_polling())
                window.type("\r")
                window.wait_for("No message yet.")
                assert window.wait_exit() == 0
                assert telegram.token[:20] not in window.screen.text().replace("\n", "")

        await asyncio.to_thread(paste)
    assert f'"{telegram.token}"' in (tmp_path / "secrets.toml").read_text()


@pytest.mark.thorough
def test_a_folder_that_cannot_be_written_is_told_before_the_first_question(tmp_path: Path) -> None:
    with open_window(Commonplace(tmp_path), "/proc/x") as window:
        seen = window.wait_for("/proc/x/config.toml cannot be written")
        assert window.wait_exit() == 1
        assert "Let's set up" not in seen


@pytest.mark.thorough
@pytest.mark.parametrize("term", ["xterm-256color", "dumb"])
def test_a_signal_to_end_leaves_a_terminal_that_shows_what_is_typed(tmp_path: Path, term: str) -> None:
    commonplace = Commonplace(tmp_path)
    with open_window(commonplace, "telegram", TERM=term) as window:
        window.wait_for("The bot's token")
        wait_until(lambda: not window.shows_keys)
        window.process.terminate()
        seen = window.wait_for("Nothing has been written.")
        assert window.wait_exit() == 130
        assert window.shows_keys
        assert "Traceback" not in seen


@pytest.mark.thorough
@pytest.mark.parametrize("hangs_up", [True, False], ids=["hung up", "as nohup does"])
async def test_it_ends_with_its_window(tmp_path: Path, hangs_up: bool) -> None:
    commonplace = Commonplace(tmp_path)
    if not hangs_up:
        commonplace.command = ["/bin/sh", "-c", 'trap "" HUP; exec "$@"', "sh", *commonplace.command]
    async with BotApi() as telegram:

        def close() -> None:
            with open_window(commonplace, "telegram", COMMONPLACE_TELEGRAM__API_BASE=telegram.url) as window:
                window.wait_for("The bot's token")
                window.type(f"{telegram.token}\r")
                window.wait_for("Now send @")
                telegram.do(telegram.wait_until_polling())
                window.close()
                window.process.wait(10)

        await asyncio.to_thread(close)
    assert len(telegram.calls_of("getUpdates")) == 1
    assert "telegram:" not in str(tomllib.loads((tmp_path / "config.toml").read_text()).get("access"))


@pytest.mark.thorough
def test_what_a_terminal_sends_that_is_not_utf_8_is_asked_for_again(tmp_path: Path) -> None:
    for term in ("xterm-256color", "dumb"):
        with open_window(Commonplace(tmp_path), "you", TERM=term) as window:
            window.wait_for("called?")
            window.type(b"M\xfcller\r")
            window.wait_for("not UTF-8")
            window.wait_for("called?", times=2)
            window.type("Müller\r")
            window.wait_for("time zone")
            window.type("\r")
            window.wait_for("Where is the spare key?")
            assert window.wait_exit() == 0
        assert 'name = "Müller"' in (tmp_path / "config.toml").read_text("utf-8")


@pytest.mark.thorough
def test_standard_input_that_would_show_a_secret_is_refused(tmp_path: Path) -> None:
    with open_window(Commonplace(tmp_path), "telegram", "--telegram-token-file", "-") as window:
        window.wait_for("standard input is this terminal")
        assert window.wait_exit() == 2


@pytest.mark.thorough
async def test_enter_ends_the_wait_in_a_plain_terminal_and_the_token_is_not_shown(tmp_path: Path) -> None:
    async with BotApi() as telegram:

        def skip() -> None:
            with open_window(
                Commonplace(tmp_path), "telegram", COMMONPLACE_TELEGRAM__API_BASE=telegram.url, TERM="dumb"
            ) as window:
                window.wait_for("The bot's token")
                window.type(f"{telegram.token}\r")
                window.wait_for("Now send @")
                telegram.do(telegram.wait_until_polling())
                window.type("\r")
                window.wait_for("No message yet.")
                window.wait_for("Where is the spare key?")
                assert window.wait_exit() == 0
                assert telegram.token not in window.screen.text().replace("\n", "")

        await asyncio.to_thread(skip)
    assert telegram.token in (tmp_path / "secrets.toml").read_text()


@pytest.mark.thorough
def test_it_asks_in_the_language_of_the_terminal_and_writes_the_same_settings(
    commonplace: Commonplace,
) -> None:
    with open_window(commonplace, "you", LC_ALL="de_DE.UTF-8") as window:
        window.wait_for("Wie soll ich heißen?")
        window.type("Robin\r")
        window.wait_for("Deine Zeitzone")
        window.type("Europe/Berlin\r")
        told = window.wait_for("Und später")
        assert "Name und Zeitzone: Robin, Europe/Berlin" in told
        assert window.wait_exit() == 0
    file = commonplace.folder / "config.toml"
    written = file.read_text("utf-8")
    assert tomllib.loads(written)["agent"]["name"] == "Robin"
    assert written.isascii(), "in English"
    file.write_text(written.replace('\nlanguage = ""', '\nlanguage = "zh"'))
    with open_window(commonplace, "you", LC_ALL="de_DE.UTF-8") as window:
        window.wait_for("我该叫什么名字？ [Robin]")
        window.type(b"\x03")
        assert window.wait_exit() == INTERRUPTED


@pytest.mark.thorough
async def test_after_init_the_bot_answers_its_owner(tmp_path: Path) -> None:
    """From nothing to the first answer: the message that was written during the setup is answered, too."""
    commonplace = Commonplace(tmp_path)
    commonplace.memory.parent.rmdir()
    began = time.monotonic()
    async with BotApi() as telegram:
        anna = telegram.person(7, "Anna")
        environment = {"COMMONPLACE_TELEGRAM__API_BASE": telegram.url, "COMMONPLACE_SERVER__PORT": "0"}

        def set_up() -> None:
            with open_window(commonplace, "telegram", **environment) as window:
                window.wait_for("The bot's token")
                window.type(f"{telegram.token}\r")
                window.wait_for("Now send @")
                telegram.do(anna.say("Remember that the spare key is at Tom's."))
                window.wait_for("Anna (id 7)")
                window.type("y\r")
                window.wait_for("Where is the spare key?")
                assert window.wait_exit() == 0

        await asyncio.to_thread(set_up)
        commonplace.environment |= environment
        process = commonplace.start("run")
        try:
            assert "Noted" in (await anna.chat.answer()).text
            await anna.say("Where is the spare key?")
            assert "Tom" in (await anna.chat.answer()).text
        finally:
            process.terminate()
            await asyncio.to_thread(process.communicate)
    assert time.monotonic() - began < 300
