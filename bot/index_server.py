"""Opens the PostgreSQL server of the index, if the settings name one."""

from typing import TYPE_CHECKING

from memory.errors import IndexUnavailable

if TYPE_CHECKING:
    from bot.config.settings import Settings
    from memory.postgres.server import Server


def index_server(settings: "Settings") -> "Server | None":
    """Return the server without connecting; None if there is none. Raises IndexUnavailable without its library."""
    url = settings.index.url.get_secret_value()
    if not url:
        return None
    from memory.postgres.server import Server, check_library

    try:
        check_library()
    except IndexUnavailable as error:
        raise IndexUnavailable("index.url is set, but {error}; or remove index.url", error=error) from None
    return Server(url)
