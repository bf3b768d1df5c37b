"""The service with the tests' platform as its channel: what the conversation benchmarks start and kill.

`python benchmarks/platform_bot.py CONFIG SOCKET [CLOCK]`; CLOCK is JSON, see `FastClock`.
"""

import asyncio
import json
import sys
import time
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from workspaces import ROOT

sys.path.insert(0, str(ROOT))
from bot.cannot_start import CannotStart
from bot.config.settings import Settings, load_settings
from bot.log import log_to_stderr
from bot.service.open_assistant import open_assistant
from bot.service.run_channels import run_channels
from bot.service.standalone import log_providers
from bot.service.startup import check_folders, stop_on_signals
from bot.state.database import StateFault
from tests.fakes.platform_adapter import PlatformAdapter


@dataclass(frozen=True, slots=True)
class FastClock:
    """A clock that runs fast and is repeatedly set back and forward; the same in every process."""

    began: float
    """`time.time()` at which it showed `start`."""
    start: str
    """ISO 8601 with its offset."""
    rate: float
    """Its seconds per real second."""
    back: float
    """Seconds by which it is set back, in every second `period`."""
    period: float
    """Real seconds."""

    def now(self) -> datetime:
        passed = time.time() - self.began
        shown = datetime.fromisoformat(self.start).astimezone(UTC) + timedelta(seconds=passed * self.rate)
        return shown - timedelta(seconds=self.back) if int(passed / self.period) % 2 else shown

    def __str__(self) -> str:
        return json.dumps(asdict(self))


def replace_clock(settings: Settings, clock: FastClock) -> Settings:
    """Return the settings with another clock."""
    zone = settings.zone

    class OnAnotherClock(Settings):
        def now(self) -> datetime:
            return clock.now().astimezone(zone)

    return OnAnotherClock.model_construct(**dict(settings))


async def run_on_platform(settings: Settings, socket: Path) -> None:
    check_folders(settings)
    leaving = stop_on_signals()
    async with open_assistant(settings, alone=True) as assistant:
        log_to_stderr(settings.log_level, format=settings.log_format)
        log_providers(assistant.services)
        platform = PlatformAdapter(socket)
        assistant.attach(platform)
        async with assistant.services.background:
            await run_channels([platform], assistant, leaving)


def main() -> None:
    config, socket, *clock = sys.argv[1:]
    settings = load_settings(Path(config))
    if clock:
        settings = replace_clock(settings, FastClock(**json.loads(clock[0])))
    try:
        asyncio.run(run_on_platform(settings, Path(socket)))
    except (StateFault, CannotStart) as error:
        sys.exit(f"commonplace: {error}")


if __name__ == "__main__":
    main()
