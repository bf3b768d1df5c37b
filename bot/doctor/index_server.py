"""Checks the index's server: it answers, has pgvector, grants the rights we need, and encrypts."""

from collections.abc import Iterator
from datetime import datetime
from typing import TYPE_CHECKING

from bot.doctor.check import Check, Topic, format_list
from memory.errors import IndexCorrupted, IndexUnavailable
from memory.index.fingerprint import compute_fingerprint
from memory.postgres.url import format_url
from memory.quantities import counted, format_size

if TYPE_CHECKING:
    from bot.config.settings import Settings
    from memory.index.postgres.inspection import ServerInspection

TOPIC = Topic("index")
OLDEST = 140_000
"""Older versions of PostgreSQL get no more updates."""
_CAN_ENABLE = """
    SELECT current_setting('is_superuser') = 'on' OR EXISTS (
        SELECT FROM pg_available_extension_versions AS there
        JOIN pg_available_extensions AS chosen ON chosen.name = there.name AND chosen.default_version = there.version
        WHERE there.name = 'vector' AND (there.trusted OR NOT there.superuser)
            AND has_database_privilege(current_database(), 'CREATE')
    )
"""


def inspect_server(settings: "Settings") -> "ServerInspection | IndexCorrupted | IndexUnavailable":
    """Return what is on the server, or why it cannot be read."""
    from bot.index_server import index_server

    try:
        server = index_server(settings)
        assert server
        from memory.index.postgres.inspection import inspect_server

        try:
            return inspect_server(server, fingerprint=compute_fingerprint(settings.memory.chunk))
        finally:
            server.close()
    except (IndexCorrupted, IndexUnavailable) as error:
        return error


def check_index_server(
    settings: "Settings",
    found: "ServerInspection | IndexCorrupted | IndexUnavailable",
    *,
    alive: bool,
    now: datetime,
) -> Iterator[Check]:
    """Check the server and the index on it. `alive`: whether a process of ours has the workspace open."""
    from memory.postgres.server import check_library

    shown = format_url(settings.index.url.get_secret_value())
    try:
        check_library()
    except IndexUnavailable as error:
        detail, _, fix = str(error).partition(": ")
        yield TOPIC.fail("server", f"index.url is set, but {detail}", f"{fix}; or remove index.url")
        return
    if isinstance(found, IndexUnavailable):
        fix = "fix the server or index.url; until then, search works without it, only slower, and nothing is lost"
        yield TOPIC.fail("server", str(found), fix)
        return
    if isinstance(found, IndexCorrupted):
        fix = "nothing is lost; rebuild it from the notes: commonplace memory index --rebuild"
        yield TOPIC.warn("server", str(found), fix)
        return
    if found.number < OLDEST:
        fix = "upgrade PostgreSQL; versions 16 and 18 are tested"
        yield TOPIC.fail("server", f"{shown} is PostgreSQL {found.version}, which is too old", fix)
        return
    yield TOPIC.ok("server", f"{shown} answers: PostgreSQL {found.version}")
    yield _check_pgvector(settings, found)
    yield from _check_rights(found)
    if found.is_encrypted or found.is_local:
        yield TOPIC.ok("encrypted", "yes" if found.is_encrypted else "no, but the server is on this machine")
    else:
        fix = "add ?sslmode=verify-full (or sslmode=require) to index.url, and turn on ssl on the server"
        yield TOPIC.warn("encrypted", "no: words from your notes cross the network in plain text", fix)
    if found.made_by_newer:
        fix = "upgrade this instance too"
        yield TOPIC.fail("tables", "made by a newer version of Commonplace", fix)
        return
    yield from _check_index(settings, found, alive=alive, now=now)


def _check_pgvector(settings: "Settings", found: "ServerInspection") -> Check:
    if found.pgvector:
        return TOPIC.ok("pgvector", found.pgvector)
    if found.pgvector_at_hand:
        try:
            may = _can_enable_pgvector(settings)
        except IndexUnavailable as error:  # gone since the inspection
            return TOPIC.fail("pgvector", str(error), "start the server, then run doctor again")
        if may:
            return TOPIC.ok("pgvector", f"{found.pgvector_at_hand}, enabled at first use")
        fix = "as a superuser, in this database, run: CREATE EXTENSION vector"
        return TOPIC.fail("pgvector", "installed, but this user may not enable it", fix)
    version = found.number // 10_000
    fix = (
        f"install it on the server: apt install postgresql-{version}-pgvector on Debian, "
        f"or the Docker image pgvector/pgvector:pg{version}"
    )
    return TOPIC.fail("pgvector", "not installed on the server", fix)


def _check_rights(found: "ServerInspection") -> Iterator[Check]:
    if not found.lets_write:
        fix = "list all hosts in index.url and add ?target_session_attrs=read-write"
        yield TOPIC.fail("rights", "this server is a read-only replica", fix)
    elif not found.may_create and found.index is None:
        fix = "GRANT CREATE ON DATABASE … TO this user, or make it the owner of the database"
        yield TOPIC.fail("rights", "this user may not create tables in the database", fix)
    else:
        yield TOPIC.ok("rights", "sufficient")


def _check_index(
    settings: "Settings", found: "ServerInspection", *, alive: bool, now: datetime
) -> Iterator[Check]:
    from bot.doctor.notes import check_age

    index = found.index
    if index is None:
        yield TOPIC.ok("tables", "none yet; to build the index, run: commonplace memory index")
        return
    if not index.is_current:
        users = f", by {format_list(found.users)}" if found.users else ""
        fix = "give all instances the same version and the same [memory.chunk]; a single instance rebuilds it by itself"
        yield TOPIC.warn(
            "tables", f"the index was built with other settings or by another version{users}", fix
        )
        return
    vectors = sum(model.count for model in index.vectors)
    held = f"{counted(len(index.stamps), 'note')} in {counted(index.chunks, 'chunk')}"
    yield TOPIC.ok("tables", f"{held}, {counted(vectors, 'vector')}, {format_size(found.size)}")
    if found.users:
        yield TOPIC.ok("used by", format_list(found.users))
    if index.faults:
        yield TOPIC.warn("not UTF-8", format_list(sorted(index.faults)), "save these files as UTF-8")
    yield from check_age(settings, index, alive=alive, now=now)


def _can_enable_pgvector(settings: "Settings") -> bool:
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
