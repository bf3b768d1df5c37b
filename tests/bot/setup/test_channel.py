"""The steps about Telegram and Discord, against servers that behave like them."""

import asyncio
import os
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from bot.process_lock import ProcessLock
from bot.setup.channel_setup import Account
from bot.setup.command_line import command_line
from bot.setup.errors import InvalidFlag, SetupFailed
from bot.setup.questions import Questions
from bot.setup.settings_files import SettingsFiles
from tests.bot.setup.setting_up import answer, closed_address, give, without_variables
from tests.fakes.bot_api.faults import Fault
from tests.fakes.bot_api.receiving import Webhook
from tests.fakes.bot_api.server import BotApi
from tests.fakes.discord_api.faults import Fault as DiscordFault
from tests.fakes.discord_api.server import DiscordApi
from tests.fakes.typing_person import TypingPerson

pytestmark = pytest.mark.filterwarnings("ignore:.*:DeprecationWarning:aiohttp.*")

OTHER = "987654321:AAF-another-token-of-the-fake-bot_api"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    without_variables(monkeypatch)
    return tmp_path


def use(folder: Path, name: str, base: str, more: str = "") -> None:
    (folder / "config.toml").write_text(f'[{name}]\napi_base = "{base}"\n{more}')


def token_in(folder: Path) -> str:
    file = folder / "secrets.toml"
    return file.read_text() if file.exists() else ""


async def test_the_first_who_writes_is_shown_and_becomes_owner_if_confirmed(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    async with BotApi() as api:
        use(folder, "telegram", api.url)
        await api.person(9, "Mallory").say("let me in")
        anna = api.person(7, "Anna", last_name="Berg", username="anna")

        def decline() -> str:
            api.do(anna.say("hello"))
            return "n"

        files = await answer(
            folder,
            "telegram",
            ("The bot's token", f" {api.token}\n"),
            ("Mallory (id 9) wrote to it", decline),
            ("Anna Berg (@anna, id 7) wrote to it", "y"),
        )
        settings = files.settings()
        assert settings.access.owners == ("telegram:7",)
        assert settings.telegram.token.get_secret_value() == api.token
        assert api.token not in (folder / "config.toml").read_text()
        said = capsys.readouterr().out
        assert "@commonplace_bot, whose owner is Anna Berg" in said
        assert api.token not in said
        # The service will get both messages.
        assert len(api.bot.inbox.pending) == 2
        assert {call.parameters.get("offset", 0) for call in api.calls_of("getUpdates")} == {0}


async def test_a_variable_that_counts_more_is_told_and_never_written(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    async with BotApi() as api:
        second = api.add_bot(OTHER, "second_bot")
        use(folder, "telegram", api.url)
        monkeypatch.setenv("COMMONPLACE_TELEGRAM__TOKEN", second.token)
        monkeypatch.setenv("COMMONPLACE_ACCESS__OWNERS", '["telegram:999"]')
        mallory = api.person(9, "Mallory")
        await mallory.say("hi", mallory.chat_with(second))
        await api.person(7, "Anna").say("hi")
        await give(folder, "telegram", telegram_token_file=api.token)
        monkeypatch.setenv("COMMONPLACE_ACCESS__OWNERS", "[]")
        # The bot that was typed is listened to, not the other one.
        await answer(folder, "telegram", ("New token", api.token), ("Anna (id 7)", "y"))
        said = capsys.readouterr().out
        assert "COMMONPLACE_TELEGRAM__TOKEN is set here and overrides telegram.token in" in said
        assert "COMMONPLACE_ACCESS__OWNERS is set here and overrides access.owners in" in said
        assert OTHER not in said
    monkeypatch.delenv("COMMONPLACE_ACCESS__OWNERS")
    monkeypatch.delenv("COMMONPLACE_TELEGRAM__TOKEN")
    files = SettingsFiles(folder / "config.toml")
    assert files.settings().access.owners == ("telegram:7",)
    assert files.settings().telegram.token.get_secret_value() == api.token


async def test_it_waits_for_a_message_that_comes_later_and_groups_do_not_count(folder: Path) -> None:
    async with BotApi() as api:
        use(folder, "telegram", api.url)
        anna = api.person(7, "Anna")
        group = api.group("Family", anna)
        await anna.say("hi @commonplace_bot", group)

        async def write_when_listening() -> None:
            await api.wait_until(lambda: api.calls_of("getUpdates"))
            await anna.say("hello")

        writing = asyncio.create_task(write_when_listening())
        files = await answer(folder, "telegram", ("token", api.token), ("Anna (id 7)", "yes"))
        await writing
        assert files.settings().access.owners == ("telegram:7",)


async def test_the_wait_can_be_skipped() -> None:
    async def return_after(seconds: float) -> str:
        await asyncio.sleep(seconds)
        return "done"

    with closing(TypingPerson()) as person:
        questions = Questions({}, person)
        waiting = asyncio.create_task(questions.wait_unless_skipped(return_after(60), seconds=60))
        await asyncio.sleep(0)
        person.press_enter()
        assert await asyncio.wait_for(waiting, 5) is None
        with pytest.raises(TimeoutError):
            await questions.wait_unless_skipped(return_after(60), seconds=0.01)
        os.write(person.keyboard, b"y\n")  # typed too early: only Enter skips
        waiting = asyncio.create_task(questions.wait_unless_skipped(return_after(0.1), seconds=60))
        assert await asyncio.wait_for(waiting, 5) == "done"
        assert await questions.wait_unless_skipped(return_after(0), seconds=5) == "done"


async def test_a_wrong_token_is_asked_for_again_and_never_written(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    async with BotApi() as api:
        use(folder, "telegram", api.url)
        files = await answer(
            folder,
            "telegram",
            ("token", "not a token"),
            ("token", "12345:wrong"),
            ("Number", "1"),
            ("token", "12345:wrong"),
            ("Number", "2x"),
            ("Number", "3"),
        )
        assert not files.settings().telegram.is_configured
        said = capsys.readouterr().out
        assert "a bot token from @BotFather" in said
        assert "Telegram rejects it (401 Unauthorized)" in said
        with pytest.raises(SetupFailed, match="Telegram rejects it"):
            await give(folder, "telegram", telegram_token_file="12345:wrong")
        with pytest.raises(InvalidFlag, match="--telegram-token-file"):
            await give(folder, "telegram", telegram_token_file="no token")
    assert token_in(folder) == ""


async def test_what_cannot_be_reached_may_be_kept(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    use(folder, "telegram", closed_address())
    files = await answer(folder, "telegram", ("token", "2"), ("token", OTHER), ("Number", "3"))
    said = capsys.readouterr().out
    assert "a bot token from @BotFather" in said
    assert "  Telegram: your bot on Telegram (not tested)\n" in said
    assert "check the network and the proxy\n" in said
    assert "telegram.api_base" not in said
    assert "Now write anything" not in said
    assert f"Then run: {command_line('chat', folder / 'config.toml')} -m '/pair CODE owner'" in said
    assert "Then write to" not in said
    assert files.settings().telegram.token.get_secret_value() == OTHER
    files = await give(folder, "telegram", telegram_token_file=f"{OTHER}x", telegram_owner="7")
    assert files.settings().telegram.token.get_secret_value() == f"{OTHER}x"
    assert files.settings().access.owners == ("telegram:7",)
    said = capsys.readouterr().out
    assert "I could not test that" in said
    assert OTHER not in said


async def test_the_same_token_is_tested_again_and_another_one_may_be_pasted(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    async with BotApi() as api:
        use(folder, "telegram", api.url)
        api.fail("getMe", Fault.status(502))
        await api.person(7, "Anna").say("hello")
        files = await answer(folder, "telegram", ("token", api.token), ("Number", "again"), ("Anna", "y"))
        assert files.settings().telegram.token.get_secret_value() == api.token
        assert "You are its owner now." in capsys.readouterr().out
        files = await answer(
            folder, "telegram", ("token", "12345:wrong"), ("Number", OTHER), ("Number", "skip")
        )
        assert files.settings().telegram.token.get_secret_value() == api.token
        second = api.add_bot(OTHER, "second_bot")
        files = await answer(
            folder, "telegram", ("token", "12345:wrong"), ("Number", second.token), ("another owner", "")
        )
        assert files.settings().telegram.token.get_secret_value() == OTHER
        assert OTHER not in capsys.readouterr().out


async def test_the_token_is_found_in_the_message_of_botfather(folder: Path) -> None:
    async with BotApi() as api:
        use(folder, "telegram", api.url, '[access]\nowners = ["telegram:7"]\n')
        message = f"Use this token to access the HTTP API:\n{OTHER}\nKeep your token secure, it can be used by anyone"
        api.add_bot(OTHER, "second_bot")
        files = await answer(folder, "telegram", ("token", message), ("another owner", ""))
        assert files.settings().telegram.token.get_secret_value() == OTHER
        files = await give(folder, "telegram", telegram_token_file=message.replace("\n", " "))
        assert files.settings().telegram.token.get_secret_value() == OTHER


async def test_a_webhook_is_removed_only_if_that_is_wanted(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    async with BotApi() as api:
        use(folder, "telegram", api.url)
        api.bot.inbox.set_webhook(Webhook("https://other.example/hook"))
        await answer(folder, "telegram", ("token", api.token), ("come here instead", "n"))
        assert api.bot.inbox.webhook is not None
        assert "a web address at other.example" in capsys.readouterr().out
        await api.person(7, "Anna").say("hi")
        files = await answer(folder, "telegram", ("New token", ""), ("come here instead", "y"), ("Anna", "y"))
        assert api.bot.inbox.webhook is None
        assert len(api.bot.inbox.pending) == 1
        assert files.settings().access.owners == ("telegram:7",)


async def test_another_program_that_receives_is_told(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    async with BotApi() as api:
        use(folder, "telegram", api.url)
        api.fail("getUpdates", Fault.status(409))
        files = await answer(folder, "telegram", ("token", api.token))
        assert files.settings().telegram.is_configured
        said = capsys.readouterr().out
        assert "another program is receiving this bot's messages" in said
        assert "/pair CODE owner" in said


async def test_only_people_who_write_in_private_are_asked_about(folder: Path) -> None:
    async with BotApi() as api:
        use(folder, "telegram", api.url)
        anna = api.person(7, "Anna")
        mallory = api.person(9, "Mallory")
        group = api.group("Family", mallory)
        private = {"id": 9, "type": "private", "first_name": "Mallory"}
        await mallory.say("hi @commonplace_bot", group)
        updates: dict[str, dict[str, Any]] = {
            "channel_post": {"chat": {"id": -1009, "type": "channel"}, "sender_chat": {"id": -1009}},
            "edited_message": {"chat": private, "from": mallory.as_json()},
            "message": {"chat": private, "from": {"id": 10, "is_bot": True, "first_name": "Robot"}},
            "business_message": {"chat": private, "from": mallory.as_json()},
        }
        for kind, update in updates.items():
            api.bot.inbox.put_raw({kind: {"message_id": 1, "date": 1, "text": "hi", **update}})
        await anna.forward("mine", {"forward_origin": {"type": "user", "sender_user": mallory.as_json()}})
        files = await answer(folder, "telegram", ("token", api.token), ("Anna (id 7)", "y"))
        assert files.settings().access.owners == ("telegram:7",)


def test_a_name_cannot_pretend_to_be_an_id() -> None:
    assert str(Account("9", "Anna Berg (@anna, id 7)")) == "Anna Berg @anna, id 7 (id 9)"
    assert str(Account("9", "", "anna")) == "(@anna, id 9)"


async def test_with_a_hundred_messages_waiting_nobody_is_waited_for_in_vain(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Telegram shows the oldest hundred until they are confirmed."""
    async with BotApi() as api:
        use(folder, "telegram", api.url)
        mallory = api.person(9, "Mallory")
        for _ in range(100):
            await mallory.say("spam")
        await api.person(7, "Anna").say("hello")
        files = await answer(folder, "telegram", ("token", api.token), ("Mallory (id 9)", "n"))
        assert files.settings().access.owners == ()
        said = capsys.readouterr().out
        assert "a hundred older messages are waiting for this bot" in said
        assert "/pair CODE owner" in said


async def test_listening_survives_errors_that_pass_and_no_others(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    async with BotApi() as api:
        use(folder, "telegram", api.url)
        await api.person(7, "Anna").say("hello")
        for fault in (Fault.status(502), Fault.reset_before(), Fault.retry_after(1)):
            api.fail("getUpdates", fault)
        files = await answer(folder, "telegram", ("token", api.token), ("Anna (id 7)", "y"))
        assert files.settings().access.owners == ("telegram:7",)
    (folder / "config.toml").unlink()
    async with BotApi() as api:
        use(folder, "telegram", api.url)
        api.fail("getUpdates", Fault.status(200), times=None)
        await answer(folder, "telegram", ("New token", api.token))
        assert len(api.calls_of("getUpdates")) == 1
        assert "not a Bot API: it answered 200" in capsys.readouterr().out


async def test_a_service_that_runs_with_this_bot_is_left_alone(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    async with BotApi() as api:
        use(folder, "telegram", api.url, f'token = "{api.token}"\n')
        with ProcessLock(folder / "workspace" / ".commonplace" / "locks"):
            await answer(folder, "telegram", ("New token", ""))
        assert api.calls_of("getUpdates") == []
        said = capsys.readouterr().out
        assert "Commonplace is running with this bot" in said
        assert "restart it" not in said  # nothing has changed


async def test_a_repetition_keeps_what_is_there(folder: Path) -> None:
    async with BotApi() as api:
        more = f'token = "{api.token}" # mine\n[access]\nowners = ["telegram:7"]\n'
        use(folder, "telegram", api.url, more)
        before = (folder / "config.toml").read_text()
        await answer(folder, "telegram", ("New token", ""), ("another owner", ""))
        assert (folder / "config.toml").read_text() == before
        second = api.add_bot(OTHER, "second_bot")
        files = await answer(folder, "telegram", ("New token", second.token), ("another owner", ""))
        assert files.settings().telegram.token.get_secret_value() == OTHER
        assert 'token = "" # mine' in (folder / "config.toml").read_text()


async def test_a_token_of_the_environment_is_saved_for_the_service_if_that_is_wanted(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    async with BotApi() as api:
        use(folder, "telegram", api.url, '[access]\nowners = ["telegram:7"]\n')
        monkeypatch.setenv("TELEGRAM_BOT_TOKEN", api.token)
        owner = ("another owner", "")
        await answer(folder, "telegram", ("New token", ""), ("A token is in TELEGRAM_BOT_TOKEN", "n"), owner)
        assert token_in(folder) == ""
        assert "TELEGRAM_BOT_TOKEN is set here and not saved" in capsys.readouterr().out
        await give(folder, "telegram", telegram_owner="7")
        assert "TELEGRAM_BOT_TOKEN is set here and not saved" in capsys.readouterr().out
        await answer(folder, "telegram", ("New token", ""), ("A token is in TELEGRAM_BOT_TOKEN", ""), owner)
        assert api.token in token_in(folder)
        await answer(folder, "telegram", ("New token", ""), owner)
        assert "not saved" not in capsys.readouterr().out


async def test_discord_prints_the_invitation_and_knows_who_registered_the_bot(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    async with DiscordApi() as api:
        anna = api.person("anna")
        use(folder, "discord", api.api_base)
        files = await answer(folder, "discord", ("token", api.token), ("anna", ""))
        assert files.settings().access.owners == (f"discord:{anna.id}",)
        assert f"client_id={api.bot.id}&scope=bot+applications.commands" in capsys.readouterr().out
        with pytest.raises(SetupFailed, match="Discord rejects it"):
            await give(folder, "discord", discord_token_file="wrong")
        files = await give(folder, "discord", discord_owner="12345678901234567")
        assert files.settings().access.owners == (f"discord:{anna.id}", "discord:12345678901234567")


async def test_a_page_that_is_not_discords_is_no_bot(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Such as that of a hotel's network, which answers everything with 200."""
    async with DiscordApi() as api:
        use(folder, "discord", api.api_base)
        api.fail("*", DiscordFault.status(200), times=None)
        await answer(folder, "discord", ("token", api.token), ("Number", "skip"))
    assert "not Discord's API: it answered 200" in capsys.readouterr().out
    assert token_in(folder) == ""


async def test_an_owner_that_is_not_one_person_is_wrong_usage(folder: Path) -> None:
    cases = {
        "telegram": {
            "@anna": "numeric Telegram ids",
            "-100123": "the id of one person",
            "*": "single people",
            "\u0667": "the id of one person",
            "123456789": "the bot itself",
        },
        "discord": {"12345": "too short", "1234/@5678": "single people", "anna": "numeric Discord ids"},
    }
    async with BotApi() as telegram, DiscordApi() as discord:
        use(folder, "telegram", telegram.url, f'[discord]\napi_base = "{discord.api_base}"\n')
        await give(folder, "telegram", telegram_token_file=telegram.token)
        for channel, owners in cases.items():
            for owner, said in owners.items():
                with pytest.raises(InvalidFlag, match=rf"--{channel}-owner: .*{said}"):
                    await give(folder, channel, **{f"{channel}_owner": owner})
        with pytest.raises(InvalidFlag) as wrong:
            await give(folder, "telegram", telegram_owner="anna")
        assert "access.owners" not in str(wrong.value)


async def test_who_is_owner_already_is_told(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    async with BotApi() as api:
        use(folder, "telegram", api.url, '[access]\nowners = ["telegram:7", "discord:8"]\n')
        await answer(folder, "telegram", ("token", api.token), ("another owner", ""))
        said = capsys.readouterr().out
        assert "Owned by 7, from access.owners\n" in said
        assert "Then write to @commonplace_bot" in said
        await api.person(7, "Anna").say("hello")
        await api.person(8, "Ben").say("hello")
        files = await answer(folder, "telegram", ("token", ""), ("another owner", "y"), ("Ben (id 8)", "y"))
        assert files.settings().access.owners == ("telegram:7", "discord:8", "telegram:8")


async def test_it_can_wait_longer_for_a_message(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("bot.setup.channel.LISTEN_SECONDS", 0.2)
    async with BotApi() as api:
        use(folder, "telegram", api.url)
        longer, no_more = ("Wait longer? [Y/n]", ""), ("Wait longer?", "n")
        files = await answer(folder, "telegram", ("token", api.token), longer, no_more)
    assert files.settings().access.owners == ()
    said = capsys.readouterr().out
    assert "/pair CODE owner" in said
    assert "Then write to" not in said
