"""state.db: reminders and scheduled prompts, each with the moment when it is due next."""

import apsw


def m007_reminders(db: apsw.Connection) -> None:
    """`rule` is "" for what is due once; `prompt` tells whether the text is said to the assistant or by it."""
    db.execute(
        """
        CREATE TABLE reminders (
            number INTEGER PRIMARY KEY AUTOINCREMENT,
            key TEXT NOT NULL UNIQUE,
            chat TEXT NOT NULL,
            person TEXT NOT NULL,
            text TEXT NOT NULL,
            prompt INTEGER NOT NULL,
            due_at TEXT NOT NULL,
            rule TEXT NOT NULL,
            zone TEXT NOT NULL,
            state TEXT NOT NULL,
            at TEXT NOT NULL
        ) STRICT;
        CREATE INDEX reminders_due ON reminders (due_at) WHERE state = 'active';
        """
    )
