"""state.db: pairs of accounts that owners linked as one person."""

import apsw


def m022_links(db: apsw.Connection) -> None:
    """Pairs of ids (`channel:id`) that are one person, each pair in order."""
    db.execute(
        """
        CREATE TABLE links (
            person TEXT NOT NULL,
            other TEXT NOT NULL,
            decided_by TEXT NOT NULL,
            at TEXT NOT NULL,
            PRIMARY KEY (person, other),
            CHECK (person < other)
        ) STRICT, WITHOUT ROWID;
        """
    )


def read_links(db: apsw.Connection) -> tuple[tuple[str, str], ...]:
    """Return every pair, the earliest first."""
    rows = db.execute("SELECT person, other FROM links ORDER BY at, person, other")
    return tuple((str(person), str(other)) for person, other in rows)


def save_link(db: apsw.Connection, person: str, other: str, *, by: str, at: str) -> bool:
    """Store that two ids are one person; return whether that is new."""
    first, second = sorted((person, other))
    db.execute(
        "INSERT INTO links (person, other, decided_by, at) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING",
        (first, second, by, at),
    )
    return bool(db.changes())


def delete_link(db: apsw.Connection, person: str, other: str) -> bool:
    """Delete a pair; return whether there was one."""
    db.execute("DELETE FROM links WHERE person = ? AND other = ?", (*sorted((person, other)),))
    return bool(db.changes())
