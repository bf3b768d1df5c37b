"""Voice messages: whether somebody writes them down."""

from collections.abc import Iterator, Mapping

from bot.attachments.speech_providers import missing_key, speech_provider_of
from bot.config.settings import Settings
from bot.doctor.check import Check, Topic

TOPIC = Topic("speech")


def check_speech(settings: Settings, environment: Mapping[str, str]) -> Iterator[Check]:
    """Tell who it is; asks nobody."""
    provider = speech_provider_of(settings.speech, settings.providers, environment)
    if provider is None:
        yield TOPIC.ok("provider", "none: voice messages are not written down")
    elif fault := missing_key(settings, environment):
        yield TOPIC.fail("provider", f"{provider.name} has no key", fault.partition(": ")[2])
    else:
        yield TOPIC.ok("provider", f"{provider.name}, {provider.model}")
