"""state.db: what of each conversation has gone into the notes, and how far that has come."""

import apsw


def m005_flushes(db: apsw.Connection) -> None:
    """One row for each stretch of a conversation that is flushed; `stage` tells how far it is."""
    db.execute(
        """
        CREATE TABLE flushes (
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            conversation INTEGER NOT NULL REFERENCES conversations (id),
            after INTEGER NOT NULL,
            upto INTEGER NOT NULL,
            cause TEXT NOT NULL,
            stage TEXT NOT NULL,
            failures INTEGER NOT NULL DEFAULT 0,
            raw INTEGER NOT NULL DEFAULT 0,
            began_at TEXT NOT NULL,
            note TEXT NOT NULL,
            section TEXT NOT NULL DEFAULT '',
            core TEXT NOT NULL DEFAULT '',
            digest TEXT NOT NULL DEFAULT ''
        ) STRICT;
        CREATE INDEX flushes_of ON flushes (conversation, upto);
        """
    )
