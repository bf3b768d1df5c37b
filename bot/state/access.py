"""state.db: who was let in or kept out by hand, who asks to be let in, and where the memory is open to a room."""

import apsw


def m006_access(db: apsw.Connection) -> None:
    """People by decision of an owner, codes that wait for one, and rooms."""
    db.execute(
        """
        CREATE TABLE people (
            person TEXT PRIMARY KEY,
            standing TEXT NOT NULL,
            name TEXT NOT NULL,
            decided_by TEXT NOT NULL,
            at TEXT NOT NULL
        ) STRICT;
        CREATE TABLE pairing (
            person TEXT PRIMARY KEY,
            code TEXT NOT NULL,
            chat TEXT NOT NULL,
            name TEXT NOT NULL,
            told_at TEXT NOT NULL,
            at TEXT NOT NULL
        ) STRICT;
        CREATE TABLE rooms (
            chat TEXT PRIMARY KEY,
            memory INTEGER NOT NULL
        ) STRICT;
        """
    )
