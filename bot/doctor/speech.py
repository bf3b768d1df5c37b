"""Checks the transcription of voice messages."""

from collections.abc import Iterator, Mapping

from bot.attachments.transcription_providers import missing_key, resolve_transcription_provider
from bot.config.settings import Settings
from bot.doctor.check import Check, Topic

TOPIC = Topic("speech")


def check_speech(settings: Settings, environment: Mapping[str, str]) -> Iterator[Check]:
    """Check which provider is used, without asking it."""
    provider = resolve_transcription_provider(settings.speech, settings.providers, environment)
    if provider is None:
        yield TOPIC.ok("provider", "none, so voice messages are not transcribed")
    elif fault := missing_key(settings, environment):
        yield TOPIC.fail("provider", f"{provider.name} has no API key", fault.partition(": ")[2])
    else:
        yield TOPIC.ok("provider", f"{provider.name}, {provider.model}")
