"""Whether the user of `index.url` may enable pgvector in the database."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bot.config.settings import Settings

_CAN_ENABLE = """
    SELECT current_setting('is_superuser') = 'on' OR EXISTS (
        SELECT FROM pg_available_extension_versions AS there
        JOIN pg_available_extensions AS chosen ON chosen.name = there.name AND chosen.default_version = there.version
        WHERE there.name = 'vector' AND (there.trusted OR NOT there.superuser)
            AND has_database_privilege(current_database(), 'CREATE')
    )
"""


def can_enable_pgvector(settings: "Settings") -> bool:
    """Return whether the user may run CREATE EXTENSION vector. Raises IndexUnavailable."""
    from bot.index_server import index_server

    server = index_server(settings)
    assert server
    try:
        with server.transaction() as db:
            row = db.execute(_CAN_ENABLE.encode()).fetchone()
        return bool(row and row[0])
    finally:
        server.close()
