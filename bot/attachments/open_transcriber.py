"""Opens the transcription provider."""

from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING

from bot.attachments.transcription_providers import resolve_transcription_provider
from bot.hot_swap import no_close

if TYPE_CHECKING:
    from bot.attachments.transcription import Transcriber
    from bot.config.settings import Settings

CONNECT_SECONDS = 10.0


def open_transcriber(
    settings: "Settings", environment: Mapping[str, str]
) -> "tuple[Transcriber | None, Callable[[], Awaitable[None]]]":
    """Return the transcriber that the settings name (None for none), and a function that closes it.

    Sends no request before the first use.
    """
    provider = resolve_transcription_provider(settings.speech, settings.providers, environment)
    if provider is None:
        return None, no_close
    from bot.attachments.transcription import Transcriber
    from bot.models.connection_pool import ConnectionPool

    connection = ConnectionPool(provider.base_url, connect_seconds=CONNECT_SECONDS)
    return Transcriber(provider, connection), connection.close
