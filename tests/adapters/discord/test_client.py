from typing import cast

import pytest
from discord.http import Route

from adapters.backoff import BackoffTimes
from adapters.discord.client import GatewayListener, open_client
from tests.fakes.discord_api.server import DiscordApi


async def test_nothing_is_asked_while_another_instance_has_the_bot(monkeypatch: pytest.MonkeyPatch) -> None:
    ours = True
    async with DiscordApi() as api:
        olga = api.person("olga")
        monkeypatch.setattr(Route, "BASE", api.api_base)
        client = open_client(
            cast("GatewayListener", None),
            shards=1,
            guilds_within=1,
            heartbeat_within=1,
            openings=BackoffTimes(),
            hello_within=1,
            is_ours=lambda: ours,
        )
        try:
            await client.login(api.token)
            person = await client.fetch_user(olga.id)
            await person.send("one")
            ours, asked = False, len(api.calls)
            with pytest.raises(ConnectionError, match="another instance has this bot now"):
                await person.send("two")
            assert len(api.calls) == asked
            ours = True
            await person.send("three")
        finally:
            await client.close()
    assert olga.dm.texts == ["one", "three"]
