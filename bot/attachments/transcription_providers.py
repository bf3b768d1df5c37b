"""Chooses the transcription provider: from the settings, else the first known one with a key."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from bot.models.known_providers import resolve_provider

if TYPE_CHECKING:
    from bot.config.settings import ProviderSettings, Settings, SpeechSettings

TRANSCRIPTION_MODELS: Mapping[str, str] = {
    "openai": "gpt-4o-mini-transcribe",
    "groq": "whisper-large-v3-turbo",
    "mistral": "voxtral-mini-latest",
}
"""Known providers with `/audio/transcriptions`, in the order in which "auto" looks for a key, and the usual model of
each; from their documentation, November 2026. All three accept Ogg with Opus."""
DEFAULT_MODEL = "whisper-1"
"""The name that self-hosted servers (LocalAI, speaches, vLLM) know or ignore."""


@dataclass(frozen=True, slots=True)
class TranscriptionProvider:
    """A provider with everything needed to call it."""

    name: str
    base_url: str
    """With its version, without a slash at its end."""
    model: str
    keys: tuple[str, ...] = field(default=(), repr=False)
    needs_key: bool = False
    language: str = ""
    key_variable: str = ""
    """Environment variable for its key."""

    @property
    def lacks_key(self) -> bool:
        """Whether it cannot be used because it has no key."""
        return self.needs_key and not self.keys


def missing_key(settings: "Settings", environment: Mapping[str, str]) -> str:
    """Return a line that says that the configured provider has no key and how to set one; "" if all is well."""
    provider = resolve_transcription_provider(settings.speech, settings.providers, environment)
    if provider is None or not provider.lacks_key:
        return ""
    return (
        f"speech.provider is {provider.name}, which has no key: set {provider.key_variable} in the environment, or "
        f"providers.{provider.name}.api_key"
    )


def resolve_transcription_provider(
    settings: "SpeechSettings", tables: "Mapping[str, ProviderSettings]", environment: Mapping[str, str]
) -> TranscriptionProvider | None:
    """Return the provider to use, or None. `tables`: as in `[providers]`."""
    name = settings.provider
    if name == "auto":
        order = dict.fromkeys((*tables, *TRANSCRIPTION_MODELS))
        usable = (
            each
            for each in order
            if each in TRANSCRIPTION_MODELS and _can_transcribe(each, tables, environment)
        )
        name = next(usable, "none")
    if name == "none":
        return None
    found = resolve_provider(name, tables, environment)
    model = settings.model.strip() or TRANSCRIPTION_MODELS.get(name, DEFAULT_MODEL)
    return TranscriptionProvider(
        name, found.base_url, model, found.keys, found.needs_key, settings.language, found.key_variable
    )


def _can_transcribe(
    name: str, tables: "Mapping[str, ProviderSettings]", environment: Mapping[str, str]
) -> bool:
    found = resolve_provider(name, tables, environment)
    return found.kind == "openai" and bool(found.keys)
