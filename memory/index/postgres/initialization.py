"""Create the index's tables on the server, or recreate them if necessary."""

from typing import TYPE_CHECKING, Any

from memory.errors import IndexCorrupted, IndexUnavailable
from memory.index.postgres import active_instances, schema
from memory.index.postgres.notes import clear_uses
from memory.index.postgres.schema import GENERATIONS, PART, STEPS, IndexState, PostgresTables
from memory.postgres.migrations import migrate
from memory.postgres.server import Server

if TYPE_CHECKING:
    from psycopg import Connection

    Db = Connection[tuple[Any, ...]]


def prepare(server: Server, *, name: str, fingerprint: str) -> str:
    """Ensure that all tables exist; return the fingerprint of the notes in them, which may be another.

    Raises `IndexUnavailable` if an active instance uses other settings.
    """
    with server.transaction() as db:
        ensure_pgvector(db, server.shown)
        # Its lock also keeps two instances with different settings from being admitted at the same time.
        migrate(db, PART, STEPS)
        state = schema.read_state(db)
        if state and state.fingerprint:
            active_instances.check_nobody_else(db, name, fingerprint)
            active_instances.record_use(db, name, fingerprint)
            return state.fingerprint
    recreate(server, name=name, fingerprint=fingerprint, unless=fingerprint)
    return fingerprint


def recreate(server: Server, *, name: str, fingerprint: str, unless: str = "") -> None:
    """Delete the notes and keep the vectors, unless an active instance uses other settings.

    Does nothing if the index has the fingerprint `unless` by now. Damaged tables are recreated; vectors are
    lost only if their own tables are damaged. Raises `IndexUnavailable`.
    """
    for drop in (None, schema.drop_notes, schema.drop_vectors):
        try:
            with server.transaction() as db:
                if drop:
                    drop(db)
                    schema.create_missing(db)
                _create(db, name, fingerprint, unless)
            return
        except IndexCorrupted:
            if drop is schema.drop_vectors:
                raise


def _create(db: "Db", name: str, fingerprint: str, unless: str) -> None:
    schema.lock_index(db, "ACCESS EXCLUSIVE")
    state = schema.read_state(db)
    if state and state.fingerprint == unless:
        return
    active_instances.check_nobody_else(db, name, fingerprint)
    active_instances.record_use(db, name, fingerprint)
    generation = state.generation if state else GENERATIONS[0]
    db.execute(
        "INSERT INTO commonplace.index_state AS s (identity, fingerprint, generation)"
        " VALUES (gen_random_uuid(), %s, %s) ON CONFLICT (one) DO UPDATE SET identity = excluded.identity,"
        " fingerprint = excluded.fingerprint, changes = s.changes + 1, last_indexed_at = NULL",
        (fingerprint, generation),
    )
    tables = PostgresTables(db, generation)
    tables.empty()
    clear_uses(tables)
    db.execute("SELECT id FROM commonplace.embeddings LIMIT 1")


def ensure_pgvector(db: "Db", shown: str) -> None:
    """Ensure that pgvector is installed; raise `IndexUnavailable` with the fix if it cannot be."""
    from psycopg import errors

    if db.execute("SELECT 1 FROM pg_extension WHERE extname = 'vector'").fetchone():
        return
    version = db.info.server_version // 10000
    if not db.execute("SELECT 1 FROM pg_available_extensions WHERE name = 'vector'").fetchone():
        raise IndexUnavailable(
            "{server} has no pgvector; install it on the server's machine (Debian: apt install "
            "postgresql-{version}-pgvector; Docker: the image pgvector/pgvector:pg{version})",
            server=shown,
            version=version,
        )
    try:
        with db.transaction():
            db.execute("CREATE EXTENSION IF NOT EXISTS vector")
    except errors.InsufficientPrivilege as error:
        raise IndexUnavailable(
            "{server} has pgvector, but this user may not switch it on; let a superuser run CREATE "
            "EXTENSION vector in this database",
            server=shown,
        ) from error
    except errors.UniqueViolation:  # another process did the same at the same time
        pass


def check_state(state: IndexState | None, *fingerprints: str) -> IndexState:
    """Return the state if it has one of the fingerprints; raise `IndexRecreated` otherwise."""
    if state is None or state.fingerprint not in fingerprints:
        raise IndexRecreated
    return state


class IndexRecreated(Exception):
    """The index was deleted, or replaced by one with other settings, and must be prepared again."""
