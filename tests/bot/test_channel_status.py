"""What `/status` tells of the channels."""

from collections.abc import AsyncIterator, Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import cast

import pytest

from bot.access import Standing
from bot.channel_store import ChannelStore
from bot.channels import Channels
from bot.cluster.lease import LeaseState
from bot.cluster.status import InstanceStatus
from bot.commands.command import CommandCall
from bot.commands.general import show_status
from bot.messages import ChannelHealth
from tests.fakes.harness import Harness, open_harness
from tests.fakes.services import ChannelsAt
from tests.fakes.turns import message

NOW = datetime.now(UTC)
LATER = NOW + timedelta(minutes=1)
CONFLICT = ChannelHealth("down", "another program polls with this token:\nend one of the two")


@pytest.fixture
async def house(tmp_path: Path) -> AsyncIterator[Harness]:
    async with open_harness(tmp_path) as house:
        yield house


async def status(
    house: Harness, channels: Mapping[str, ChannelHealth], standing: Standing = Standing.OWNER
) -> list[str]:
    services = replace(house.assistant.services, channels=cast(Channels, ChannelsAt(lambda: channels)))
    return (await show_status(CommandCall(message("/status"), standing, {}, "k"), services)).splitlines()


async def test_an_owner_is_told_of_each_channel_with_which_something_is_wrong(house: Harness) -> None:
    usual = await status(house, {})
    channels = {
        "terminal": ChannelHealth("up"),
        "telegram": CONFLICT,
        "discord": ChannelHealth("starting"),
    }
    assert [line for line in await status(house, channels) if line not in usual] == [
        "Telegram: down (another program polls with this token: end one of the two)",
        "Discord: connecting",
    ]
    hampered = {"telegram": ChannelHealth("up", "it cannot answer (in 2 chats)")}
    assert "Telegram: up, but it cannot answer (in 2 chats)" in await status(house, hampered)


async def test_an_owner_is_told_how_much_of_a_channel_could_not_be_read(house: Harness) -> None:
    channels = {"telegram": ChannelHealth("up"), "terminal": ChannelHealth("up")}
    usual = await status(house, channels)
    store = ChannelStore(house.state, "telegram")
    for number in ("7", "8"):
        await store.keep_unreadable(number, "{}", "no date")
    (line,) = [line for line in await status(house, channels) if line not in usual]
    assert line == "Messages from Telegram that I kept but couldn't read (the log says why): 2"


@pytest.mark.parametrize("standing", [Standing.GUEST, Standing.ALLOWED])
async def test_nobody_else_is_told_anything_of_channels(house: Harness, standing: Standing) -> None:
    await ChannelStore(house.state, "telegram").keep_unreadable("7", "{}", "no date")
    assert await status(house, {"telegram": CONFLICT}, standing) == await status(house, {}, standing)


async def test_an_owner_is_told_which_instance_answers_and_which_has_a_channel(house: Harness) -> None:
    usual = await status(house, {})
    channels = {"telegram": ChannelHealth("standby", "held by cellar")}
    assert [line for line in await status(house, channels) if line not in usual] == [
        "Telegram: standby (held by cellar)"
    ]
    services = replace(house.assistant.services, instance=lambda: InstanceStatus("attic", "it is away"))
    call = CommandCall(message("/status"), Standing.OWNER, {}, "k")
    told = (await show_status(call, services)).splitlines()
    assert [line for line in told if line not in usual] == [
        "Instance: attic",
        "I can't tell what other instances are doing because the index server can't be reached; `commonplace doctor` "
        "shows why.",
    ]
    leases = (
        LeaseState("channel:telegram:3fa8b1c2", "attic", NOW, LATER, ours=True),
        LeaseState("job:backup", "cellar", NOW, LATER, ours=False),
        LeaseState("workspace:0123", "gone", NOW, NOW - timedelta(minutes=1), ours=False),
    )
    services = replace(services, instance=lambda: InstanceStatus("attic", "", leases), now=lambda: NOW)
    told = (await show_status(call, services)).splitlines()
    assert f"Telegram (3fa8): attic, since {NOW:%H:%M}" in told
    assert f"Backup of the notes: cellar, since {NOW:%H:%M}" in told
    assert not any("gone" in line or "0123" in line for line in told)
    services = replace(services, instance=lambda: InstanceStatus("attic", "it is away", leases))
    told = (await show_status(call, services)).splitlines()
    assert f"Telegram (3fa8): attic, since {NOW:%H:%M}" in told
    assert any(line.startswith("Backup of the notes: unknown") for line in told)
    others = (await show_status(replace(call, standing=Standing.ALLOWED), services)).splitlines()
    assert "Instance: attic" not in others
