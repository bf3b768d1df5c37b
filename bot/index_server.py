"""From the settings to the server of the index, where they name one."""

from typing import TYPE_CHECKING

from memory.errors import IndexUnavailable

if TYPE_CHECKING:
    from bot.config.settings import Settings
    from memory.postgres.server import Server


def index_server(settings: "Settings") -> "Server | None":
    """The server, asked for nothing yet; None without one. Raises IndexUnavailable without its library."""
    url = settings.index.url.get_secret_value()
    if not url:
        return None
    from memory.postgres.server import Server, check_library

    try:
        check_library()
    except IndexUnavailable as error:
        raise IndexUnavailable(f"index.url is set, but {error}; or remove index.url") from None
    return Server(url)
