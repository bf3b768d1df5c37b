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
from bot.doctor.service import Liveness
from memory.settings import SettingsConflict, section_field
from tests.fakes.recording_adapter import RecordingAdapter


class ParrotSettings(ChannelSettings):
    """The channel's section."""

    title = "Parrot"
    variable = "PARROT_TOKEN"
    adapter_module = "tests.fakes.third_channel"
    doctor_module = "tests.fakes.third_channel"

    token: SecretStr = SecretStr("")
    """The channel's credential."""
    calls_us: bool = False
    """Whether messages arrive at our HTTP server."""

    @classmethod
    def explain_invalid_person(cls, person: str) -> str:
        """See `ChannelSettings.explain_invalid_person`."""
        return "" if person.isalpha() else 'a list with names of parrots, such as "parrot:polly"'

    @classmethod
    def is_group(cls, person: str) -> bool:
        """See `ChannelSettings.is_group`."""
        return person == "flock"

    @classmethod
    def private_chat(cls, person: str) -> str:
        """See `ChannelSettings.private_chat`."""
        return "" if cls.is_group(person) else person

    def conflict_without_server(self) -> SettingsConflict | None:
        """See `ChannelSettings.conflict_without_server`."""
        return SettingsConflict("parrot.calls_us", "false without a server") if self.calls_us else None


class SettingsWithParrot(Settings):
    """Settings with this channel's section."""

    parrot: ParrotSettings = section_field()


@asynccontextmanager
async def open_channel(assistant: Assistant, ownership: Ownership) -> AsyncIterator[RecordingAdapter]:
    """Open it."""
    del assistant, ownership
    yield RecordingAdapter("parrot")


def hook_paths(settings: ParrotSettings) -> Sequence[str]:
    """Return none."""
    del settings
    return ()


async def check(settings: Settings, probe: HttpProbe, liveness: Liveness) -> list[Check]:
    """Say whether it is configured."""
    del probe, liveness
    return [Topic("parrot").ok("token", "set" if settings.channels["parrot"].is_configured else "none")]
