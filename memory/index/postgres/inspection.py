"""Inspect the server and its index without changing them: permissions, versions, whether it is up to date."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from memory.index.postgres.notes import read_stamps
from memory.index.postgres.schema import PART, STEPS, PostgresTables, read_snapshot_state
from memory.index.sqlite_inspection import IndexInspection, ModelVectors
from memory.postgres.server import Server

if TYPE_CHECKING:
    from psycopg import Connection

    Db = Connection[tuple[Any, ...]]


@dataclass(frozen=True, slots=True)
class ServerInspection:
    """The state of the server and its index."""

    version: str
    """PostgreSQL's version."""
    number: int
    """The same as a number, such as 180004."""
    pgvector: str
    """pgvector's version in this database; "" if it is not enabled."""
    pgvector_at_hand: str
    """pgvector's version that could be enabled; "" if it is not installed."""
    may_create: bool
    """True if this user may create the tables, or they exist."""
    lets_write: bool
    """False for a replica."""
    is_encrypted: bool
    is_local: bool
    """True if the server is on this machine."""
    made_by_newer: bool
    """True if a newer version of this program created the tables."""
    users: tuple[str, ...]
    """Names of the instances that used the index recently."""
    size: int
    """Size of the database in bytes."""
    index: IndexInspection | None
    """The index; None if there is none yet."""


_SERVER = (
    "SELECT current_setting('server_version'), current_setting('server_version_num')::integer,"
    " coalesce((SELECT extversion FROM pg_extension WHERE extname = 'vector'), ''),"
    " coalesce((SELECT default_version FROM pg_available_extensions WHERE name = 'vector'), ''),"
    " has_database_privilege(current_database(), 'CREATE') OR coalesce((SELECT has_schema_privilege(oid, 'CREATE')"
    " FROM pg_namespace WHERE nspname = 'commonplace'), false), NOT pg_is_in_recovery(),"
    " coalesce((SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()), false),"
    " inet_client_addr() IS NULL OR inet_client_addr() = inet_server_addr(), pg_database_size(current_database())"
)


def inspect_server(server: Server, *, fingerprint: str) -> ServerInspection:
    """Inspect the server and its index; for `fingerprint` see `PostgresIndex`. Raises `IndexUnavailable`."""
    with server.transaction() as db:
        [about] = db.execute(_SERVER).fetchall()
    with server.transaction() as db:
        done, users = 0, []
        if _table_exists(db, "migrations"):
            row = db.execute("SELECT done FROM commonplace.migrations WHERE part = %s", [PART]).fetchone()
            done = int(row[0]) if row else 0
        if done and _table_exists(db, "index_users"):
            users = db.execute(
                "SELECT name FROM commonplace.index_users WHERE seen > now() - interval '5 minutes' ORDER BY name"
            ).fetchall()
    newer = done > len(STEPS)
    found = None
    if done and not newer:
        with server.transaction() as db:
            found = _inspect_index(db, fingerprint)
    return ServerInspection(
        version=about[0],
        number=about[1],
        pgvector=about[2],
        pgvector_at_hand=about[3],
        may_create=about[4],
        lets_write=about[5],
        is_encrypted=about[6],
        is_local=about[7],
        size=about[8],
        made_by_newer=newer,
        users=tuple(row[0] for row in users),
        index=found,
    )


def _table_exists(db: "Db", table: str) -> bool:
    row = db.execute("SELECT to_regclass(%s)", [f"commonplace.{table}"]).fetchone()
    return bool(row and row[0])


def _inspect_index(db: "Db", fingerprint: str) -> IndexInspection | None:
    state = read_snapshot_state(db)
    if state is None:
        return None
    if state.fingerprint != fingerprint:
        return IndexInspection(False, False, {}, {}, 0, "", ())
    tables = PostgresTables(db, state.generation)
    stamps, faults, _ = read_stamps(tables)
    chunks = tables.count(
        "SELECT chunks FROM commonplace.index_sums WHERE generation = %s", [state.generation]
    )
    models = db.execute(
        "SELECT provider, model, dimensions, vectors FROM commonplace.models ORDER BY seen DESC, id DESC"
    )
    vectors = tuple(ModelVectors(*row) for row in models)
    return IndexInspection(True, True, stamps, faults, chunks, state.last_indexed_at, vectors)
