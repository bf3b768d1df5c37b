"""A new channel is a folder, a section and a field of the settings: nothing else names it."""

import asyncio
from pathlib import Path

import pytest
from pydantic import ValidationError

from bot.access import Standing
from bot.config.settings import Settings
from bot.doctor.run import run_checks
from bot.log.known_secrets import collect_secrets
from bot.messages import ChatId, PersonId
from bot.searchable_chats import searchable_chats
from bot.service.channels import open_channels
from bot.service.open_assistant import open_assistant
from bot.service.startup import check_channels
from tests.fakes.fresh_state import copy_fresh_state
from tests.fakes.recording_adapter import RecordingAdapter
from tests.fakes.third_channel import SettingsWithParrot
from tests.fakes.turns import message


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    settings = SettingsWithParrot.model_validate(
        {
            "workspace": tmp_path,
            "parrot": {"token": "a parrot's secret"},
            "access": {"owners": ["parrot:polly", "parrot:flock"]},
            "memory": {"embedding": {"provider": "none"}},
        }
    )
    copy_fresh_state(settings.private_folder / "state.db")
    return settings


async def test_a_third_channel_is_opened_and_answers(settings: Settings) -> None:
    check_channels(settings)
    async with (
        open_assistant(settings, alone=True) as assistant,
        open_channels(assistant, at_terminal=False) as channels,
    ):
        (parrot,) = channels.adapters
        assert isinstance(parrot, RecordingAdapter)
        assert await assistant.services.access.standing_of(PersonId("parrot", "polly")) is Standing.OWNER
        await assistant.accept(message("/help", chat="parrot:polly", sender="parrot:polly", alone=False))
        async with asyncio.timeout(10):
            await assistant.wait_until_idle()
        (reply,) = parrot.replies().values()
        assert "/remember" in reply
        assert assistant.services.channels.health()["parrot"].state == "up"
        polly = PersonId("parrot", "polly")
        own = await searchable_chats(assistant.services, polly, ChatId("parrot", "polly"))
        assert own == {"parrot:polly", "imported:parrot:polly"}
        await assistant.close(0)


def test_its_token_is_a_secret_and_its_people_have_its_ids(settings: Settings, tmp_path: Path) -> None:
    assert "a parrot's secret" in collect_secrets(settings)
    with pytest.raises(ValidationError, match="names of parrots"):
        SettingsWithParrot.model_validate({"workspace": tmp_path, "access": {"owners": ["parrot:7"]}})


async def test_the_doctor_asks_it_too(settings: Settings) -> None:
    checks = {(check.topic, check.name): check for check in await run_checks(settings, {})}
    assert checks["parrot", "token"].detail == "set"
    assert checks["access", "owners"].detail == "parrot:polly, parrot:flock"
    assert "'parrot:flock', a group" in checks["access", "group"].detail


def test_it_may_need_the_server(tmp_path: Path) -> None:
    table = {"workspace": tmp_path, "parrot": {"calls_us": True}}
    SettingsWithParrot.model_validate(table)
    with pytest.raises(ValidationError, match="false without a server"):
        SettingsWithParrot.model_validate({**table, "server": {"enabled": False}})
