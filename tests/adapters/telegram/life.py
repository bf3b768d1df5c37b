"""The whole assistant on Telegram: the real adapter and library, a server that behaves like Telegram's."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from pydantic import SecretStr

from adapters.telegram.adapter import TelegramAdapter, TelegramTimes
from adapters.telegram.connection_health import ReconnectTimes
from adapters.telegram.open_bot import open_bot
from adapters.telegram.rate_limiter import RateLimiter, Rates
from bot.access import Access
from bot.channel_store import ChannelStore
from bot.commands.registry import COMMANDS
from bot.config.telegram import TelegramSettings
from bot.models.fallback import FallbackModel
from bot.state.database import State
from tests.adapters.running import running
from tests.fakes.bot_api.server import BotApi
from tests.fakes.harness import ACCESS, Harness, open_harness
from tests.fakes.scripted_model import ScriptedModel, shown_text
from tests.fakes.turns import NOW

QUICK = Rates(0.02, 0.03, 1000, 900, 1000, 900)
IMPATIENT = TelegramTimes(
    settle=0.0,
    call=0.5,
    pauses=(0.02, 0.05, 0.1),
    poll=1,
    grace=0.3,
    waits=ReconnectTimes(first=0.02, longest=0.05, conflict=0.3, token=0.2),
)


@dataclass(slots=True)
class Life:
    """An assistant that receives."""

    api: BotApi
    house: Harness
    adapter: TelegramAdapter

    @property
    def model(self) -> ScriptedModel:
        return self.house.model

    def heard(self, request: int = -1) -> str:
        """What the last message of a request to the model said."""
        return shown_text(self.model.history[request].messages[-1])


def settings_of(api: BotApi, *, token: str = "", webhook_url: str = "") -> TelegramSettings:
    """As they would be for this server; with an address, for webhooks."""
    return TelegramSettings(
        token=SecretStr(token or api.token),
        api_base=api.url,
        mode="webhook" if webhook_url else "polling",
        webhook_url=webhook_url,
    )


@asynccontextmanager
async def life(
    api: BotApi,
    folder: Path,
    *,
    settings: TelegramSettings | None = None,
    rate_limiter: RateLimiter | None = None,
    times: TelegramTimes = IMPATIENT,
    model: ScriptedModel | None = None,
    chain_of: Callable[[State], FallbackModel] | None = None,
    now: Callable[[], datetime] = lambda: NOW,
    receives: bool = True,
    per_minute: int = 1000,
) -> AsyncIterator[Life]:
    """Run it; the owner is person 1, person 2 may talk, person 3 is a guest."""
    settings = settings or settings_of(api)
    async with (
        open_harness(
            folder, model=model, chain_of=chain_of, now=now, pauses=(0.05, 0.1, 0.2), per_minute=per_minute
        ) as house,
        open_bot(settings.token.get_secret_value(), settings.api_base) as bot,
    ):
        adapter = TelegramAdapter(
            bot,
            settings,
            store=ChannelStore(house.state, "telegram"),
            access=Access(ACCESS, house.state),
            owners=ACCESS.owners,
            commands=COMMANDS,
            moved=house.assistant.rename_chat,
            rate_limiter=rate_limiter or RateLimiter(QUICK),
            times=times,
        )
        async with running(house, adapter, receives=receives):
            yield Life(api, house, adapter)
