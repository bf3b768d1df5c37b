"""A third channel that repeats what it is given, to test what a new channel needs."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

from pydantic import SecretStr

from bot.assistant import Assistant
from bot.cluster.ownership import Ownership
from bot.config.channel import ChannelSettings
from bot.config.settings import Settings
from bot.doctor.check import Check, Topic
from bot.doctor.http_probe import HttpProbe
from bot.doctor.liveness import Liveness
from memory.settings import section_field
from tests.fakes.recording_adapter import RecordingAdapter


class ParrotSettings(ChannelSettings):
    """The channel's section."""

    title = "Parrot"
    variable = "PARROT_TOKEN"
    opens = "tests.fakes.third_channel"
    checks = "tests.fakes.third_channel"

    token: SecretStr = SecretStr("")
    """The channel's credential."""

    @classmethod
    def person_fault(cls, person: str) -> str:
        """See `ChannelSettings.person_fault`."""
        return "" if person.isalpha() else 'a list with names of parrots, such as "parrot:polly"'


class SettingsWithParrot(Settings):
    """Settings with this channel's section."""

    parrot: ParrotSettings = section_field()


@asynccontextmanager
async def open_channel(assistant: Assistant, duty: Ownership) -> AsyncIterator[RecordingAdapter]:
    """Open it."""
    del assistant, duty
    yield RecordingAdapter("parrot")


def hook_paths(settings: ParrotSettings) -> Sequence[str]:
    """Return none."""
    del settings
    return ()


async def check(settings: Settings, asking: HttpProbe, liveness: Liveness) -> list[Check]:
    """Say whether it is configured."""
    del asking, liveness
    return [Topic("parrot").ok("token", "set" if settings.channels["parrot"].is_configured else "none")]
