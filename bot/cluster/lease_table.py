"""All SQL for the leases on the server. Each function is one statement, so no process pauses while it holds a lock.

A statement may arrive late, over a connection that its sender gave up on. Each one therefore carries the sender's
growing number (`beat`), and does nothing if a newer one was done before.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

from bot.cluster.instance import Instance
from memory.postgres.migrations import migrate

if TYPE_CHECKING:
    from psycopg import Connection

    Session = Connection[tuple[Any, ...]]

SCHEMA_PART = "leases"
RELEASED_CHANNEL = "commonplace_leases"
"""PostgreSQL channel on which a released lease is announced."""
STATEMENT_MS = 10_000

MIGRATIONS = (
    """
    CREATE TABLE commonplace.leases (
        name text PRIMARY KEY,
        holder text NOT NULL DEFAULT '',
        holder_name text NOT NULL DEFAULT '',
        workspace text NOT NULL DEFAULT '',
        token bigint NOT NULL DEFAULT 0,
        beat bigint NOT NULL DEFAULT 0,
        strict boolean NOT NULL DEFAULT true,
        since timestamptz,
        until timestamptz
    );
    CREATE TABLE commonplace.lease_wants (
        name text NOT NULL,
        holder text NOT NULL,
        workspace text NOT NULL,
        until timestamptz NOT NULL,
        PRIMARY KEY (name, holder)
    )
    """,
)
"""`workspace`: of the present or last holder. `strict`: the holder knows that others wait, and stops at its fence."""

_TABLES_EXIST = "SELECT to_regclass('commonplace.migrations'), to_regclass('commonplace.leases')"
_PREPARE = f"""
    SELECT set_config('statement_timeout', '{STATEMENT_MS}', false),
        set_config(
            'synchronous_commit',
            CASE current_setting('synchronous_commit') WHEN 'off' THEN 'on'
                ELSE current_setting('synchronous_commit') END,
            false
        )
"""
_WANT = """
    WITH swept AS (
        DELETE FROM commonplace.lease_wants
        WHERE until < clock_timestamp() - interval '1 day' AND holder <> %(me)s
    ), rows AS (
        INSERT INTO commonplace.leases (name)
        SELECT unnest(%(names)s::text[]) ON CONFLICT DO NOTHING
    )
    INSERT INTO commonplace.lease_wants (name, holder, workspace, until)
    SELECT unnest(%(names)s::text[]), %(me)s, %(workspace)s, clock_timestamp() + make_interval(secs => %(want)s)
    ON CONFLICT (name, holder) DO UPDATE SET until = excluded.until
"""
_RENEW = """
    WITH mine AS (
        SELECT name FROM commonplace.leases
        WHERE holder = %(me)s AND beat < %(beat)s AND name = ANY(%(names)s::text[]) ORDER BY name FOR UPDATE
    ), renewed AS (
        UPDATE commonplace.leases AS lease
        SET beat = %(beat)s, strict = lease.name <> ALL(%(alone)s::text[]),
            until = clock_timestamp() + make_interval(secs => %(life)s)
        FROM mine WHERE lease.name = mine.name AND lease.holder = %(me)s AND lease.beat < %(beat)s
        RETURNING lease.name, lease.token, lease.until
    )
    SELECT lease.name, lease.holder, lease.holder_name, lease.workspace, coalesce(renewed.token, lease.token),
        lease.beat, lease.strict, lease.since, coalesce(renewed.until, lease.until),
        lease.until IS NULL OR lease.until < clock_timestamp(), renewed.name IS NOT NULL,
        EXISTS (
            SELECT FROM commonplace.lease_wants AS other
            WHERE other.name = lease.name AND other.holder <> %(me)s AND other.until > clock_timestamp()
        ),
        (lease.holder <> '' AND lease.workspace <> %(workspace)s AND lease.until > clock_timestamp()) OR EXISTS (
            SELECT FROM commonplace.lease_wants AS other
            WHERE other.name = lease.name AND other.workspace <> %(workspace)s AND other.until > clock_timestamp()
        ),
        extract(epoch FROM clock_timestamp())::double precision
    FROM commonplace.leases AS lease LEFT JOIN renewed USING (name) ORDER BY lease.name
"""
_TAKE = """
    WITH seen AS (
        SELECT * FROM unnest(%(names)s::text[], %(tokens)s::bigint[], %(beats)s::bigint[]) AS t (name, token, beat)
    ), free AS (
        SELECT lease.name FROM commonplace.leases AS lease JOIN seen USING (name)
        WHERE lease.token = seen.token AND (lease.beat = seen.beat OR lease.holder = '')
        ORDER BY lease.name FOR UPDATE OF lease
    )
    UPDATE commonplace.leases AS lease
    SET holder = %(me)s, holder_name = %(name)s, workspace = %(workspace)s, token = lease.token + 1, beat = %(beat)s,
        strict = true, since = clock_timestamp(), until = clock_timestamp() + make_interval(secs => %(life)s)
    FROM free, seen
    WHERE lease.name = free.name AND seen.name = free.name AND lease.token = seen.token
        AND (lease.beat = seen.beat OR lease.holder = '')
    RETURNING lease.name, lease.token
"""
_RELEASE = """
    WITH unwanted AS (
        DELETE FROM commonplace.lease_wants WHERE holder = %(me)s AND name = ANY(%(names)s::text[])
    ), mine AS (
        SELECT name FROM commonplace.leases
        WHERE holder = %(me)s AND beat < %(beat)s AND name = ANY(%(names)s::text[]) ORDER BY name FOR UPDATE
    ), released AS (
        UPDATE commonplace.leases AS lease
        SET holder = '', holder_name = '', beat = %(beat)s, until = NULL, strict = true
        FROM mine WHERE lease.name = mine.name AND lease.holder = %(me)s AND lease.beat < %(beat)s
        RETURNING lease.name
    )
    SELECT pg_notify(%(channel)s, name) FROM released
"""


@dataclass(frozen=True, slots=True)
class LeaseRow:
    """A lease as stored; a lease renewed by the same statement shows its new end."""

    name: str
    holder: str
    """Id of a process; "" if the lease was given up or never taken."""
    holder_name: str
    workspace: str
    token: int
    beat: int
    strict: bool
    since: datetime | None
    until: datetime | None
    expired: bool
    renewed: bool
    """Whether this statement renewed it for us."""
    wanted: bool
    """Whether another process waits for it."""
    company: bool
    """Whether an instance of another workspace holds it or waits for it."""
    clock: float
    """The server's clock when the row was read, in seconds since 1970."""


def prepare(session: "Session") -> None:
    """Create missing tables, and listen for released leases."""
    session.execute(_PREPARE.encode())
    there = session.execute(_TABLES_EXIST).fetchone()
    found = None
    if there and None not in there:
        # Without a lock: a process that pauses while it holds one would block all others.
        found = session.execute(
            "SELECT done FROM commonplace.migrations WHERE part = %s", (SCHEMA_PART,)
        ).fetchone()
    if found is None or found[0] != len(MIGRATIONS):
        with session.transaction():
            migrate(session, SCHEMA_PART, MIGRATIONS)
    session.execute(f"LISTEN {RELEASED_CHANNEL}".encode())


def want(session: "Session", us: Instance, names: Collection[str], *, seconds: float) -> None:
    """Record for `seconds` that we wait for these leases; create the rows of unknown ones."""
    session.execute(_WANT, {"me": us.id, "workspace": us.workspace, "names": sorted(names), "want": seconds})


def renew(
    session: "Session",
    us: Instance,
    names: Collection[str],
    *,
    beat: int,
    alone: Collection[str],
    seconds: float,
) -> list[LeaseRow]:
    """Renew our leases among `names` for `seconds`; return all leases.

    `alone`: those that we may keep past the fence if nobody waits for them.
    """
    values = {
        "me": us.id,
        "workspace": us.workspace,
        "names": list(names),
        "beat": beat,
        "alone": list(alone),
        "life": seconds,
    }
    return [LeaseRow(*row) for row in session.execute(_RENEW, values).fetchall()]


def take(
    session: "Session", us: Instance, rows: Sequence[LeaseRow], *, beat: int, seconds: float
) -> dict[str, int]:
    """Take the leases that are unchanged since `rows` was read; return the tokens of those taken, by name."""
    values = {
        "me": us.id,
        "name": us.name,
        "workspace": us.workspace,
        "names": [row.name for row in rows],
        "tokens": [row.token for row in rows],
        "beats": [row.beat for row in rows],
        "beat": beat,
        "life": seconds,
    }
    return {str(name): int(token) for name, token in session.execute(_TAKE, values).fetchall()}


def release(session: "Session", us: Instance, names: Collection[str], *, beat: int) -> None:
    """Release our leases among `names`, stop waiting for them, and notify listeners."""
    session.execute(
        _RELEASE, {"me": us.id, "names": sorted(names), "beat": beat, "channel": RELEASED_CHANNEL}
    )


_LIST_HELD = """
    SELECT name, holder_name, since, until FROM commonplace.leases
    WHERE holder <> '' AND until > clock_timestamp() ORDER BY name
"""


def list_held(session: "Session") -> list[tuple[str, str, datetime, datetime]]:
    """Return name, holder's name, start and end of each held lease; changes nothing."""
    there = session.execute("SELECT to_regclass('commonplace.leases')").fetchone()
    if there is None or there[0] is None:  # no service has started yet
        return []
    return session.execute(_LIST_HELD.encode()).fetchall()
