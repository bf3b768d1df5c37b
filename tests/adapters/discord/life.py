"""The whole assistant on Discord: the real adapter and library, a server that behaves like Discord."""

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from pydantic import SecretStr

from adapters.discord.adapter import DiscordAdapter, DiscordTimes
from adapters.discord.autocomplete import AutocompleteSources
from adapters.discord.connection import ConnectionTimes as Waiting
from adapters.discord.rate_limiter import RateLimiter
from bot.access import Access
from bot.channel_store import ChannelStore
from bot.commands.registry import COMMANDS
from bot.config.discord import DiscordSettings
from bot.config.settings import AccessSettings
from bot.messages import PersonId
from bot.models.fallback import FallbackModel
from bot.state.database import State
from tests.adapters.discord.listening import PAUSES, QUICK
from tests.adapters.running import running
from tests.fakes.discord_api.people import Person
from tests.fakes.discord_api.server import DiscordApi
from tests.fakes.harness import Harness, open_harness
from tests.fakes.scripted_model import ScriptedModel, shown_text

IMPATIENT = DiscordTimes(
    call=0.5, pauses=(0.02, 0.05, 0.1), settle=0.01, receiving=Waiting(waits=QUICK, pauses=PAUSES, client=0.3)
)


@dataclass(slots=True)
class Life:
    """An assistant that receives."""

    api: DiscordApi
    house: Harness
    adapter: DiscordAdapter

    @property
    def model(self) -> ScriptedModel:
        return self.house.model

    def heard(self, request: int = -1) -> str:
        """What the last message of a request to the model said."""
        return shown_text(self.model.history[request].messages[-1])

    async def up(self) -> None:
        await self.api.wait_until(lambda: self.adapter.health.state == "up", what="a connection")


def people_of(*people: Person) -> tuple[str, ...]:
    return tuple(f"discord:{person.id}" for person in people)


@asynccontextmanager
async def life(
    api: DiscordApi,
    folder: Path,
    *,
    owners: Sequence[Person] = (),
    allow: Sequence[Person] = (),
    guests: Sequence[Person] = (),
    groups: Sequence[str] = (),
    threads: bool = False,
    servers: Sequence[int] = (),
    rate_limiter: RateLimiter | None = None,
    times: DiscordTimes = IMPATIENT,
    model: ScriptedModel | None = None,
    chain_of: Callable[[State], FallbackModel] | None = None,
    turns_at_once: int = 128,
    is_up: bool = True,
) -> AsyncIterator[Life]:
    """Run it; `groups`: who else is allowed, such as `discord:GUILD/@ROLE`; `is_up`: wait until it hears."""
    rules = AccessSettings(
        owners=people_of(*owners), allow=(*people_of(*allow), *groups), guests=people_of(*guests)
    )
    settings = DiscordSettings(
        token=SecretStr(api.token), api_base=api.api_base, servers=tuple(map(str, servers))
    )

    def now() -> datetime:
        return datetime.fromtimestamp(api.clock(), UTC)

    async def known() -> Sequence[PersonId]:
        return [PersonId("discord", str(person.id)) for person in (*owners, *allow)]

    async def notes() -> Sequence[str]:
        return []

    async with open_harness(
        folder,
        access=rules,
        model=model,
        chain_of=chain_of,
        now=now,
        pauses=(0.05, 0.1, 0.2),
        turns_at_once=turns_at_once,
    ) as house:
        adapter = DiscordAdapter(
            settings,
            store=ChannelStore(house.state, "discord"),
            access=Access(rules, house.state),
            people=known,
            commands=COMMANDS,
            sources=AutocompleteSources(
                models=lambda: ["scripted/model"], notes=notes, reminders=house.reminders.list_active
            ),
            threads=threads,
            withdraw=house.assistant.withdraw,
            rate_limiter=rate_limiter or RateLimiter(channel_seconds=0.02, per_second=1000),
            times=times,
        )
        async with running(house, adapter):
            here = Life(api, house, adapter)
            if is_up:
                await here.up()
            yield here
