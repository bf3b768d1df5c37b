"""`commonplace init` as a command: without a terminal by its flags, and in a real terminal window."""

import asyncio
import re
import shlex
import time
from pathlib import Path

import pytest

from bot.cli.main import build_parser
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
        assert "has no effect like this" in commonplace.error_of("init", "--name", "Robin", *flags, code=2)


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
        assert "Correct that first; nothing was changed" in error
        assert file.read_text() == text


def test_the_commands_of_the_page_work(commonplace: Commonplace) -> None:
    page = (ROOT / "docs/setup.md").read_text("utf-8")
    blocks = re.findall(r"^```sh\n(.*?)^```", page, flags=re.MULTILINE | re.DOTALL)
    commands = [line for block in blocks for line in block.splitlines()]
    commonplace.environment["COMMONPLACE_TELEGRAM__API_BASE"] = "http://127.0.0.1:1"
    (commonplace.folder / "token.txt").write_text(TOKEN)
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
                window.wait_for("Now write anything to @commonplace_bot")
                telegram.do(anna.say("hello"))
                window.wait_for("Anna (@anna, id 7) wrote to it")
                window.type("y\r")
                window.wait_for("The bot's token (hidden", times=2)
                window.type(f"{discord.token}\r")
                window.wait_for("has registered this bot")
                window.type("\r")
                window.wait_for("Where do they live?")
                window.wait_for("Number [1]:")
                window.type("\r")
                window.wait_for("Make a token to sign in")
                window.type("\r")
                window.wait_for("Should it run by itself?")
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
            window.wait_for("Which model answers you?")
            window.wait_for("Number")
            window.type(key)
            seen = window.wait_for("goes on from there")
            assert window.wait_exit() == 130
        assert "Saved so far: You and me" in seen
        assert "Traceback" not in seen
        assert 'name = "Robin"' in (tmp_path / "config.toml").read_text()
    with open_window(commonplace, "telegram") as window:
        window.wait_for("The bot's token")
        window.type("\x03")
        window.wait_for("Nothing has been written.")
        assert window.wait_exit() == 130


@pytest.mark.thorough
async def test_ctrl_c_while_it_waits_for_a_message(tmp_path: Path) -> None:
    async with BotApi() as telegram:

        def interrupt() -> None:
            with open_window(
                Commonplace(tmp_path), "telegram", COMMONPLACE_TELEGRAM__API_BASE=telegram.url
            ) as window:
                window.wait_for("The bot's token")
                window.type(f"{telegram.token}\r")
                window.wait_for("Now write anything")
                telegram.do(telegram.wait_until_polling())
                window.type("\x03")
                seen = window.wait_for("Nothing has been written.")
                assert window.wait_exit() == 130
                assert "Traceback" not in seen

        await asyncio.to_thread(interrupt)


@pytest.mark.thorough
async def test_enter_ends_the_wait_in_a_plain_terminal_and_the_token_is_not_shown(tmp_path: Path) -> None:
    async with BotApi() as telegram:

        def skip() -> None:
            with open_window(
                Commonplace(tmp_path), "telegram", COMMONPLACE_TELEGRAM__API_BASE=telegram.url, TERM="dumb"
            ) as window:
                window.wait_for("The bot's token")
                window.type(f"{telegram.token}\r")
                window.wait_for("Now write anything")
                telegram.do(telegram.wait_until_polling())
                window.type("\r")
                window.wait_for("No message yet.")
                window.wait_for("Where is the spare key?")
                assert window.wait_exit() == 0
                assert telegram.token not in window.screen.text().replace("\n", "")

        await asyncio.to_thread(skip)
    assert telegram.token in (tmp_path / "secrets.toml").read_text()


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
                window.wait_for("Now write anything")
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
