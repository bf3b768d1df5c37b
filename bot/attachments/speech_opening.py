"""Opens who writes down what is said aloud."""

from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING

from bot.attachments.speech_providers import speech_provider_of
from bot.renewable import nothing_to_close

if TYPE_CHECKING:
    from bot.attachments.speech import Speech
    from bot.config.settings import Settings

CONNECT_SECONDS = 10.0


def opened_speech(
    settings: "Settings", environment: Mapping[str, str]
) -> "tuple[Speech | None, Callable[[], Awaitable[None]]]":
    """The provider that the settings lead to, None where there is none, and what closes it.

    Nobody is asked before the first use.
    """
    provider = speech_provider_of(settings.speech, settings.providers, environment)
    if provider is None:
        return None, nothing_to_close
    from bot.attachments.speech import Speech
    from bot.models.connection import Connection

    connection = Connection(provider.base_url, connect_seconds=CONNECT_SECONDS)
    return Speech(provider, connection), connection.close
