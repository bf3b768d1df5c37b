"""Settings that are read anew while everything runs."""

import asyncio
import json
import os
import shlex
import signal
import tempfile
import time
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot import phrases
from bot.access import Standing
from bot.assistant import Assistant
from bot.config.reload import LiveSettings, SettingsChanges, format_changes, reload_on_hangup
from bot.config.settings import ConfigError, Settings, load_settings
from bot.log import log_to_stderr
from bot.messages import PersonId
from bot.models.protocol import ModelRequest, UserMessage
from bot.service.live_settings import follow_log_settings
from bot.service.open_assistant import open_assistant
from bot.supervisor import Supervisor
from tests.fakes.commonplace import Commonplace
from tests.fakes.model_server import KEY, ModelAnswer
from tests.fakes.openai_server import MODEL, OpenAIServer
from tests.fakes.recording_adapter import RecordingAdapter
from tests.fakes.restore_logging import restore_logging
from tests.fakes.terminal_window import TerminalWindow
from tests.fakes.turns import message

OTHER_KEY = "sk-another-key-9876543210"


def write(file: Path, tables: Mapping[str, Any]) -> None:
    """Settings by their whole keys, as TOML takes them at the top of a file."""
    lines = (f"{key} = {json.dumps(value)}\n" for key, value in tables.items())
    file.write_text("".join(lines), "utf-8")


# -- alone --------------------------------------------------------------------------------------------------

FOLLOWED = ("agent", "access", "log_level", "memory.search", "models", "providers", "discord.threads")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    write(tmp_path / "config.toml", {})
    return tmp_path / "config.toml"


def following(file: Path) -> tuple[LiveSettings, list[tuple[str, Settings]]]:
    current, taken = LiveSettings(load_settings(file)), list[tuple[str, Settings]]()
    for section in FOLLOWED:
        current.on_change(section, take=lambda new, section=section: taken.append((section, new)))  # type: ignore[misc]
    return current, taken


async def test_what_has_changed_is_put_in_force_and_only_who_follows_it_is_told(file: Path) -> None:
    current, taken = following(file)
    write(file, {"agent.name": "Muninn", "memory.search.final_top_k": 7, "models.timeout": 60.0})
    changes = await current.reload()
    assert changes == SettingsChanges(("agent.name", "models.timeout", "memory.search.final_top_k"))
    assert [section for section, _ in taken] == ["agent", "memory.search", "models"]
    assert all(new is current.settings for _, new in taken)
    assert current.settings.agent.name == "Muninn"
    assert format_changes(changes) == (
        "Settings reloaded. Now active: agent.name, models.timeout, memory.search.final_top_k."
    )
    assert await current.reload() == SettingsChanges()
    assert len(taken) == 3


async def test_what_nobody_follows_is_named_until_the_restart_and_stays_as_it_was(file: Path) -> None:
    current, _ = following(file)
    write(
        file,
        {"server.port": 9000, "discord.threads": True, "discord.servers": ["1"], "timezone": "Asia/Tokyo"},
    )
    changes = await current.reload()
    assert changes == SettingsChanges(("discord.threads",), ("timezone", "server.port", "discord.servers"))
    now = current.settings
    assert (now.server.port, now.timezone, now.discord.servers) == (8321, "", ())
    assert now.discord.threads
    assert await current.reload() == SettingsChanges((), changes.restart)
    assert format_changes(changes) == (
        "Settings reloaded. Now active: discord.threads. "
        "Takes effect after a restart: timezone, server.port, discord.servers."
    )


async def test_tables_that_come_and_go_are_named_as_such(file: Path) -> None:
    current, _ = following(file)
    write(file, {"providers.openai.api_key": "k-1234567890", 'models.params."openai/x".temperature': 0.5})
    assert (await current.reload()).live == ('models.params."openai/x"', "providers.openai")
    write(file, {"providers.openai.api_key": "k-0987654321"})
    assert (await current.reload()).live == ('models.params."openai/x"', "providers.openai.api_key")
    write(file, {"access.people.anna": ["telegram:1"]})
    changes = await current.reload()
    assert changes.live == ("access.people.anna", "providers.openai")
    assert changes.removed == ("providers.openai",)
    assert format_changes(changes) == (
        "Settings reloaded. Now active: access.people.anna. Removed: providers.openai."
    )
    write(file, {"access.people.anna": ["telegram:1", "discord:2"]})
    assert (await current.reload()).live == ("access.people.anna",)


async def test_settings_of_no_use_change_nothing_and_are_told_as_at_the_start(file: Path) -> None:
    current, taken = following(file)
    before = current.settings
    for text in (
        'agent.name = "x"\nlog_levle = "info"',
        "agent.name = 1",
        "[",
        "memory.search.final_top_k = 0",
    ):
        file.write_text(text)
        with pytest.raises(ConfigError) as at_start:
            load_settings(file)
        with pytest.raises(ConfigError) as told:
            await current.reload()
        assert str(told.value) == str(at_start.value)
    file.unlink()
    with pytest.raises(ConfigError, match="there is no settings file"):
        await current.reload()
    assert (current.settings, taken) == (before, [])


async def test_a_part_that_fails_leaves_all_as_it_was(file: Path) -> None:
    current, taken = following(file)
    before = current.settings

    def fail(new: Settings) -> None:
        raise ZeroDivisionError

    current.on_change("agent", take=fail)
    write(file, {"agent.name": "Muninn"})
    with pytest.raises(ZeroDivisionError):
        await current.reload()
    assert current.settings is before
    assert [new.agent.name for _, new in taken] == ["Muninn", "Commonplace"]


async def test_what_was_given_on_the_command_line_still_counts(tmp_path: Path, file: Path) -> None:
    current = LiveSettings(load_settings(file, tmp_path / "elsewhere"))
    current.on_change("agent")
    write(file, {"agent.name": "Muninn", "workspace": "here"})
    assert await current.reload() == SettingsChanges(("agent.name",))


async def test_a_file_that_comes_after_the_start_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "workspace").mkdir()
    current = LiveSettings(load_settings())
    current.on_change("agent")
    write(tmp_path / "config.toml", {"agent.name": "Muninn"})
    assert await current.reload() == SettingsChanges(("agent.name",))
    assert current.settings.file == tmp_path / "config.toml"


async def test_a_file_that_has_gone_changes_nothing_though_there_need_not_be_one(
    tmp_path: Path, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write(file, {"access.owners": ["telegram:1"]})
    current = LiveSettings(load_settings())
    current.on_change("access")
    file.unlink()
    for ask in (current.reload, current.pending_changes):
        with pytest.raises(ConfigError, match=r"the settings file .*config\.toml is gone"):
            await ask()
    assert current.settings.access.owners == ("telegram:1",)
    write(file, {"access.owners": ["telegram:2"]})
    assert await current.reload() == SettingsChanges(("access.owners",))


VALUES = {
    "agent.name": st.sampled_from(["Muninn", "Hugin", "Commonplace"]),
    "access.allow": st.lists(st.sampled_from(["telegram:1", "discord:2"]), unique=True),
    "log_level": st.sampled_from(["debug", "info", "error"]),
    "memory.search.final_top_k": st.integers(1, 9),
    "discord.threads": st.booleans(),
    "server.port": st.integers(1, 65_535),
    "backup.keep": st.integers(0, 9),
    "memory.chunk.target_tokens": st.integers(100, 900),
}
LIVE = {"agent.name", "access.allow", "log_level", "memory.search.final_top_k", "discord.threads"}
FILES = st.one_of(
    st.fixed_dictionaries({}, optional=VALUES),
    st.sampled_from(["[", "agent.name = 5", "no_such_key = 1", 'agent.name = "x"\nserver.port = -1', "\x00"]),
)


def value_of(settings_of: Settings, key: str) -> Any:
    found: Any = settings_of
    for part in key.split("."):
        found = getattr(found, part)
    return list(found) if isinstance(found, tuple) else found


@pytest.mark.thorough
@settings(deadline=None, max_examples=12)
@given(files=st.lists(FILES, min_size=1, max_size=6))
def test_whatever_the_file_becomes_what_counts_is_always_one_whole(files: list[Any]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "config.toml"
        write(file, {})
        current, _ = following(file)
        start, expected = current.settings, {key: value_of(current.settings, key) for key in VALUES}
        for content in files:
            if isinstance(content, str):
                file.write_text(content)
                with pytest.raises(ConfigError):
                    asyncio.run(current.reload())
            else:
                write(file, content)
                said = {key: content.get(key, value_of(start, key)) for key in VALUES}
                changes = asyncio.run(current.reload())
                assert set(changes.live) == {key for key in LIVE if said[key] != expected[key]}
                assert set(changes.restart) == {
                    key for key in VALUES.keys() - LIVE if said[key] != expected[key]
                }
                expected |= {key: said[key] for key in LIVE}
            assert {key: value_of(current.settings, key) for key in VALUES} == expected


# -- in the whole assistant ---------------------------------------------------------------------------------


class House:
    def __init__(
        self, file: Path, server: OpenAIServer, assistant: Assistant, telegram: RecordingAdapter
    ) -> None:
        self.file = file
        self.server = server
        self.assistant = assistant
        self.services = assistant.services
        self.telegram = telegram

    def write(self, more: Mapping[str, Any], *, key: str = KEY) -> None:
        """The settings file; `key` is that of the provider."""
        write(self.file, {**base(self.server, key), **more})

    async def reload(self, more: Mapping[str, Any], *, key: str = KEY) -> SettingsChanges:
        self.write(more, key=key)
        return await self.services.live_settings.reload()

    async def say(self, text: str, *, person: str = "telegram:1") -> None:
        await self.assistant.accept(message(text, chat=person, sender=person, alone=False))

    async def answered(self) -> list[str]:
        async with asyncio.timeout(10):
            await self.assistant.wait_until_idle()
        return list(self.telegram.replies().values())


def base(server: OpenAIServer, key: str) -> dict[str, Any]:
    return {
        "access.owners": ["telegram:1"],
        "models.chain": [f"openai/{MODEL}"],
        "models.max_retries": 0,
        "providers.openai.base_url": server.base_url,
        "providers.openai.api_key": key,
        "memory.embedding.provider": "none",
    }


@pytest.fixture
async def house(tmp_path: Path) -> AsyncIterator[House]:
    file, telegram = tmp_path / "config.toml", RecordingAdapter("telegram")
    async with OpenAIServer() as server:
        write(file, base(server, KEY))
        async with open_assistant(load_settings(file)) as assistant:
            assistant.attach(telegram)
            yield House(file, server, assistant, telegram)
            await assistant.close(0)


async def test_a_turn_that_runs_ends_with_the_old_key_and_the_next_has_the_new_one(house: House) -> None:
    house.server.enqueue(ModelAnswer(["One ", "moment", "."], delay=0.02))
    await house.say("Hello!")
    await house.server.wait_for_requests(1)
    changes = await house.reload({}, key=OTHER_KEY)
    assert changes == SettingsChanges(("providers.openai.api_key",))
    house.server.key = OTHER_KEY
    await house.say("And now?")
    assert await house.answered() == ["One moment.", "Hello."]
    assert [asked.headers["Authorization"] for asked in house.server.requests] == [
        f"Bearer {KEY}",
        f"Bearer {OTHER_KEY}",
    ]


async def test_the_connections_of_before_are_closed_after_their_last_call(house: House) -> None:
    house.server.enqueue(ModelAnswer(["a", "b", "c"], delay=0.02))
    model = house.services.model
    (route,) = model.plan.chain[0].routes

    async def ask() -> str:
        events = [event async for event in model.stream(ModelRequest("", (UserMessage("Hi"),)))]
        return str(getattr(events[-1], "message").text)  # noqa: B009

    asking = asyncio.create_task(ask())
    await house.server.wait_for_requests(1)
    await house.reload({"models.timeout": 5.0})
    assert await asking == "abc"
    await asyncio.sleep(0)
    with pytest.raises(Exception, match="closed"):
        [event async for event in route.model.stream(ModelRequest("", (UserMessage("Hi"),)))]
    assert await ask() == "Hello."


async def test_who_may_talk_how_much_and_to_whom_is_what_the_file_says_now(house: House) -> None:
    person = PersonId("telegram", "2")
    assert await house.services.access.standing_of(person) is Standing.STRANGER
    changes = await house.reload(
        {
            "access.allow": ["telegram:2"],
            "access.pairing": False,
            "agent.name": "Muninn",
            "agent.instructions": "Be terse.",
            "limits.messages_per_minute": 2,
            "attachments.max_megabytes": 3,
            "speech.language": "de",
            "memory.search.final_top_k": 1,
            "memory.flush.token_threshold": 9000,
            "server.port": 1,
        }
    )
    assert changes.restart == ("server.port",)
    assert len(changes.live) == 9
    assert await house.services.access.standing_of(person) is Standing.ALLOWED
    for text in ("One", "Two", "Three"):
        await house.say(text, person="telegram:2")
    replies = await house.answered()
    assert any(phrases.TOO_MANY_MESSAGES.partition("{")[0] in reply for reply in replies)
    system = house.server.requests[0].body["messages"][0]["content"]
    assert "You are Muninn" in system
    assert "Be terse." in system
    assert house.services.settings.agent.name == "Muninn"
    for line in ("The boiler is old.", "The boiler was serviced."):
        await house.services.memory.write(line, target="daily")
    assert len((await house.services.memory.search("boiler")).hits) == 1
    await house.reload({"access.owners": ["telegram:9"]})
    assert await house.services.access.standing_of(person) is Standing.STRANGER
    assert await house.services.access.standing_of(PersonId("telegram", "9")) is Standing.OWNER


@pytest.mark.thorough
async def test_a_turn_that_runs_keeps_its_number_of_steps(house: House) -> None:
    search = ModelAnswer(calls=[("memory_search", {"query": "boiler"})], delay=0.02)
    house.server.enqueue(search, search, ModelAnswer("Found nothing."), search)
    await house.say("Where is it?")
    await house.server.wait_for_requests(1)
    await house.reload({"limits.steps_per_turn": 2})
    assert await house.answered() == ["Found nothing."]
    await house.say("Look again!")
    await house.answered()
    assert "tools" in house.server.requests[3].body
    assert "tools" not in house.server.requests[4].body, "the last of two steps"


async def test_owners_reload_in_the_chat_and_are_told_what_came_of_it(house: House) -> None:
    async def ask(text: str, person: str = "telegram:1") -> str:
        await house.say(text, person=person)
        return (await house.answered())[-1]

    house.write({"agent.name": "Muninn", "server.port": 1})
    shown = await ask("/config")
    reloaded = await ask("/config reload")
    stranger = await ask("/config reload", "telegram:2")
    house.file.write_text("[")
    refused = await ask("/config reload")
    afterwards = await ask("/config")
    assert "Changed from the defaults:" in shown
    assert shown.endswith(
        "\n\nChanged since, but not active yet: agent.name. /config reload applies them.\n"
        "Takes effect after a restart: server.port."
    )
    assert reloaded.endswith("Now active: agent.name. Takes effect after a restart: server.port.")
    assert "agent.name" not in stranger
    assert refused.startswith("The settings have a mistake in them, so nothing has changed: ")
    assert "is not valid TOML" in refused
    assert '- agent.name = "Muninn"' in afterwards
    assert "The settings have changed, but can't be used because of a mistake in them: " in afterwards
    assert KEY not in "".join(await house.answered())


async def test_vectors_keep_the_key_of_the_start_and_that_is_said(tmp_path: Path) -> None:
    file = tmp_path / "config.toml"
    write(file, {"memory.embedding.provider": "openai", "providers.openai.api_key": KEY})
    async with open_assistant(load_settings(file)) as assistant:
        write(file, {"memory.embedding.provider": "openai", "providers.openai.api_key": OTHER_KEY})
        assert await assistant.services.live_settings.reload() == SettingsChanges(
            ("providers.openai.api_key",), ("memory.embedding",)
        )
        assert await assistant.services.live_settings.reload() == SettingsChanges((), ("memory.embedding",))


async def test_a_new_secret_is_kept_out_of_the_log_from_the_moment_it_is_read(
    file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with restore_logging():
        current = LiveSettings(load_settings(file))
        follow_log_settings(current, log_to_stderr("info", format="text"))
        write(file, {"server.token": "planted-secret", "log_format": "json", "log_level": "warning"})
        assert await current.pending_changes() == SettingsChanges(
            ("log_level", "log_format"), ("server.token",)
        )
        write(file, {"server.token": "planted-secret", "log_format": "json"})
        await current.reload()
        async with reload_on_hangup(current, Supervisor()):
            write(
                file, {"agent.name": "planted-secret", "server.token": "planted-secret", "log_format": "json"}
            )
            os.kill(os.getpid(), signal.SIGHUP)
            os.kill(os.getpid(), signal.SIGHUP)
            shown = ""
            async with asyncio.timeout(5):
                while "restart" not in shown:
                    await asyncio.sleep(0.01)
                    shown += capsys.readouterr().err
            file.write_text("[")
            os.kill(os.getpid(), signal.SIGHUP)
            async with asyncio.timeout(5):
                while "have a mistake" not in shown:
                    await asyncio.sleep(0.01)
                    shown += capsys.readouterr().err
        lines = [json.loads(line) for line in shown.splitlines()]
        assert "planted" not in shown
        assert lines[0]["message"].endswith("after a restart: agent.name, server.token.")
        assert lines[-1]["level"] == "error"
        assert "is not valid TOML" in lines[-1]["message"]


async def test_a_reload_that_fails_is_reported_and_the_next_signal_reads_them(
    file: Path, caplog: pytest.LogCaptureFixture
) -> None:
    asked = 0

    def read(settings: Settings) -> Settings:
        nonlocal asked
        asked += 1
        if asked == 1:
            raise MemoryError
        return load_settings(file)

    supervisor = Supervisor(pauses=(0.01,))
    current = LiveSettings(load_settings(file), read=read)
    current.on_change("agent")
    async with reload_on_hangup(current, supervisor):
        os.kill(os.getpid(), signal.SIGHUP)
        async with asyncio.timeout(5):
            while not supervisor.failures:  # noqa: ASYNC110
                await asyncio.sleep(0.005)
        assert [each.name for each in supervisor.failures] == ["settings reload"]
        write(file, {"agent.name": "Ada"})
        os.kill(os.getpid(), signal.SIGHUP)
        async with asyncio.timeout(5):
            while current.settings.agent.name != "Ada":  # noqa: ASYNC110
                await asyncio.sleep(0.005)
    assert any("background task settings reload failed" in record.getMessage() for record in caplog.records)


# -- a process ----------------------------------------------------------------------------------------------


def told_by(log: Path, text: str, *, seconds: float = 20) -> list[dict[str, Any]]:
    """Wait until the log holds a text; give all its lines."""
    ends = time.monotonic() + seconds
    while text not in (content := log.read_text("utf-8")):
        assert time.monotonic() < ends, content
        time.sleep(0.02)
    return [json.loads(line) for line in content.splitlines()]


@pytest.mark.thorough
def test_a_service_reads_its_settings_anew_when_it_is_hung_up_and_goes_on(tmp_path: Path) -> None:
    commonplace, log = Commonplace(tmp_path), tmp_path / "service.log"
    commonplace.environment |= {"COMMONPLACE_SERVER__PORT": "0", "COMMONPLACE_LOG_FORMAT": "auto"}
    file = tmp_path / "config.toml"
    write(file, {"log_level": "info"})
    with log.open("wb") as stream:
        process = commonplace.start("run", stderr=stream.fileno())
    with process:
        try:
            told_by(log, "no channel is configured")
            write(file, {"log_level": "warning", "timezone": "Asia/Tokyo"})
            process.send_signal(signal.SIGHUP)
            time.sleep(0.3)
            write(file, {"log_level": "noisy"})
            process.send_signal(signal.SIGHUP)
            last = told_by(log, 'log_level = \\"noisy\\" is invalid')[-1]
            assert (last["level"], last["logger"]) == ("error", "bot.config.reload")
            write(file, {"log_level": "info", "timezone": "Asia/Tokyo"})
            process.send_signal(signal.SIGHUP)
            told_by(log, "Now active: log_level. Takes effect after a restart: timezone.")
            process.send_signal(signal.SIGTERM)
            assert process.wait(10) == 0
        finally:
            process.kill()
    assert all("Traceback" not in json.dumps(line) for line in told_by(log, "leaving"))


@pytest.mark.thorough
def test_a_reload_asked_for_in_the_terminal_reaches_the_service_beside_it(tmp_path: Path) -> None:
    commonplace, log = Commonplace(tmp_path), tmp_path / "service.log"
    commonplace.environment |= {"COMMONPLACE_SERVER__PORT": "0", "COMMONPLACE_LOG_FORMAT": "json"}
    file = tmp_path / "config.toml"
    write(file, {"access.owners": ["telegram:1"]})
    with log.open("wb") as stream:
        process = commonplace.start("run", stderr=stream.fileno())
    with process:
        try:
            told_by(log, "no channel is configured")
            write(file, {"access.owners": ["telegram:1", "telegram:2"]})
            told = commonplace.output_of("chat", "-m", "/config reload")
            assert f"{phrases.CONFIG_SAME_HERE} {phrases.CONFIG_IN_SERVICE_TOO}" in told
            told_by(log, "Now active: access.owners.")
            process.send_signal(signal.SIGTERM)
            assert process.wait(10) == 0
        finally:
            process.kill()
    assert phrases.CONFIG_IN_SERVICE_TOO not in commonplace.output_of("chat", "-m", "/config reload")


@pytest.mark.thorough
@pytest.mark.parametrize("closed", [True, False])
def test_a_terminal_that_is_closed_ends_the_service_and_a_signal_alone_does_not(
    tmp_path: Path, closed: bool
) -> None:
    commonplace, log = Commonplace(tmp_path), tmp_path / "service.log"
    commonplace.environment |= {
        "COMMONPLACE_SERVER__PORT": "0",
        "COMMONPLACE_TELEGRAM__TOKEN": "1:planted",
        "COMMONPLACE_TELEGRAM__API_BASE": "http://127.0.0.1:9",
    }
    log.touch()
    command = f"exec {shlex.join([*commonplace.command, 'run'])} 2> service.log"
    with TerminalWindow(
        ["/bin/sh", "-c", command], cwd=tmp_path, environment=commonplace.environment
    ) as window:
        told_by(log, "channels: telegram")
        if closed:
            window.close()
            assert window.process.wait(10) == 0
        else:
            window.process.send_signal(signal.SIGHUP)
            told_by(log, "Nothing has changed")
            assert window.process.poll() is None
    assert told_by(log, "leaving" if closed else "Nothing has changed")
    assert "planted" not in log.read_text("utf-8")
