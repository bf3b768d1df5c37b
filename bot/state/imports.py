"""state.db: what was imported from other assistants, by run, so that nothing comes twice and a run can be undone.

An imported conversation is a row of `conversations` like any other, ended, in the chat `imported:PERSON`.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import apsw

from bot.state.rows import insert, select, select_first
from memory.forgetting import FORGOTTEN

IMPORTED = "imported"
"""The channel of imported conversations; nobody talks there."""

NO_RUN = 0
"""Instead of the run of a message that stays without one."""

NOT_IMPORTED = "substr(chat, 1, 9) != 'imported:'"
"""SQL for the chats in which people talk with us."""

RunState = Literal["running", "done", "undoing", "undone"]


@dataclass(frozen=True, slots=True)
class ImportRun:
    """One import; times are ISO 8601 in UTC."""

    run: int
    chat: str
    """The chat of its conversations; "" if it imports notes."""
    format: str
    source: str
    """The file or folder that it was started with."""
    state: RunState
    started_at: str
    ended_at: str
    """Empty while it is running or interrupted."""


@dataclass(frozen=True, slots=True)
class RunCounts:
    """What a run has brought and what is still there."""

    conversations: int
    messages: int
    notes: int


@dataclass(frozen=True, slots=True)
class NewMessage:
    """A message to be stored."""

    key: int
    """Stands for the other assistant's id."""
    kind: str
    payload: str
    at: str


@dataclass(frozen=True, slots=True)
class NewConversation:
    """A conversation to be stored, or a part of one."""

    format: str
    external_id: str
    title: str
    started_at: str
    messages: Sequence[NewMessage]


@dataclass(frozen=True, slots=True)
class Added:
    """What was new of a conversation."""

    created: bool
    messages: int


@dataclass(frozen=True, slots=True)
class ImportedNote:
    """A note that a run has written, or lines that it has added to one."""

    run: int
    source: str
    """Its path in what was imported."""
    digest: str
    """SHA-256 of what was imported, in hexadecimal."""
    path: str
    """The note that it went to."""
    kind: Literal["file", "lines"]
    lines: tuple[str, ...]
    """Digests of the lines that were written."""
    undo: str = ""
    """Digests of the note before and after the lines are removed, stored just before that."""


def m024_imports(db: apsw.Connection) -> None:
    """Runs, and which conversations, messages and notes they have brought."""
    db.execute(
        """
        CREATE TABLE imports (
            run INTEGER PRIMARY KEY AUTOINCREMENT,
            chat TEXT NOT NULL,
            format TEXT NOT NULL,
            source TEXT NOT NULL,
            state TEXT NOT NULL,
            started_at TEXT NOT NULL,
            ended_at TEXT NOT NULL
        ) STRICT;
        CREATE TABLE imported_conversations (
            conversation INTEGER PRIMARY KEY REFERENCES conversations (id),
            chat TEXT NOT NULL,
            format TEXT NOT NULL,
            external_id TEXT NOT NULL,
            title TEXT NOT NULL,
            UNIQUE (chat, format, external_id)
        ) STRICT;
        CREATE TABLE imported_messages (
            conversation INTEGER NOT NULL,
            key INTEGER NOT NULL,
            seq INTEGER NOT NULL,
            run INTEGER NOT NULL,
            PRIMARY KEY (conversation, key)
        ) STRICT, WITHOUT ROWID;
        CREATE INDEX imported_messages_by_run ON imported_messages (run, conversation, seq);
        CREATE TABLE imported_notes (
            number INTEGER PRIMARY KEY,
            run INTEGER NOT NULL,
            source TEXT NOT NULL,
            digest TEXT NOT NULL,
            path TEXT NOT NULL,
            kind TEXT NOT NULL,
            lines TEXT NOT NULL,
            undo TEXT NOT NULL
        ) STRICT;
        CREATE INDEX imported_notes_by_run ON imported_notes (run, source);
        CREATE INDEX imported_notes_by_digest ON imported_notes (digest);
        """
    )


# -- runs -----------------------------------------------------------------------------------------------------


def begin_run(db: apsw.Connection, *, chat: str, format: str, source: str, at: str) -> ImportRun:  # noqa: A002
    """Return the interrupted run of the same source, or a new one."""
    rest = "FROM imports WHERE chat = ? AND source = ? AND state = 'running' ORDER BY run DESC"
    if found := select_first(db, ImportRun, rest, chat, source):
        return found
    db.execute(
        "INSERT INTO imports (chat, format, source, state, started_at, ended_at) VALUES (?, ?, ?, 'running', ?, '')",
        (chat, format, source, at),
    )
    return ImportRun(db.last_insert_rowid(), chat, format, source, "running", at, "")


def next_run(db: apsw.Connection) -> int:
    """Return the number that the next new run will get."""
    last: int | None = db.execute("SELECT seq FROM sqlite_sequence WHERE name = 'imports'").get
    return (last or 0) + 1


def end_run(db: apsw.Connection, run: int, *, at: str, format: str = "") -> bool:  # noqa: A002
    """Mark a run as done; delete it instead if it has brought nothing. Return whether it is kept.

    `format`: what the source turned out to be.
    """
    counts = count_run(db, run)
    if not (counts.messages or counts.notes):
        db.execute("DELETE FROM imports WHERE run = ?", (run,))
        return False
    if format:
        db.execute("UPDATE imports SET format = ? WHERE run = ?", (format, run))
    set_state(db, run, "done", at=at)
    return True


def set_state(db: apsw.Connection, run: int, state: RunState, *, at: str = "") -> None:
    """Change the state of a run."""
    db.execute("UPDATE imports SET state = ?, ended_at = ? WHERE run = ?", (state, at, run))


def find_run(db: apsw.Connection, run: int) -> ImportRun | None:
    """Return a run, or None."""
    return select_first(db, ImportRun, "FROM imports WHERE run = ?", run)


def read_runs(db: apsw.Connection) -> tuple[tuple[ImportRun, RunCounts], ...]:
    """Return every run with what is there of it, the latest first."""
    return tuple(
        (run, count_run(db, run.run)) for run in select(db, ImportRun, "FROM imports ORDER BY run DESC")
    )


def count_run(db: apsw.Connection, run: int) -> RunCounts:
    """Return what is there of a run."""
    conversations, messages = db.execute(
        "SELECT count(DISTINCT conversation), count(*) FROM imported_messages WHERE run = ?", (run,)
    ).get
    notes: int = db.execute("SELECT count(*) FROM imported_notes WHERE run = ?", (run,)).get
    return RunCounts(conversations, messages, notes)


# -- conversations --------------------------------------------------------------------------------------------


def find_conversation(db: apsw.Connection, chat: str, wanted: NewConversation) -> int | None:
    """Return the number of a conversation that was imported before, or None."""
    number: int | None = db.execute(
        "SELECT conversation FROM imported_conversations WHERE chat = ? AND format = ? AND external_id = ?",
        (chat, wanted.format, wanted.external_id),
    ).get
    return number


def find_new_messages(db: apsw.Connection, number: int, wanted: NewConversation) -> list[NewMessage]:
    """Return the messages that are not there yet, in order."""
    keys = json.dumps([each.key for each in wanted.messages])
    rows = db.execute(
        "SELECT key FROM imported_messages WHERE conversation = ? AND key IN (SELECT value FROM json_each(?))",
        (number, keys),
    )
    known = {int(str(key)) for (key,) in rows}
    return [each for each in wanted.messages if each.key not in known]


def count_new(db: apsw.Connection, run: ImportRun, wanted: NewConversation) -> Added:
    """Return what `add_conversation` would add; changes nothing."""
    number = find_conversation(db, run.chat, wanted)
    if number is None:
        return Added(created=True, messages=len(wanted.messages))
    return Added(created=False, messages=len(find_new_messages(db, number, wanted)))


def add_conversation(db: apsw.Connection, run: ImportRun, wanted: NewConversation) -> Added:
    """Store a conversation, or what is new of it."""
    number = find_conversation(db, run.chat, wanted)
    created = number is None
    messages = wanted.messages if number is None else find_new_messages(db, number, wanted)
    if not messages:
        return Added(created=False, messages=0)
    if number is None:
        db.execute(
            "INSERT INTO conversations (chat, started_at, ended_at) VALUES (?, ?, ?)",
            (run.chat, wanted.started_at, messages[-1].at),
        )
        number = db.last_insert_rowid()
        db.execute(
            "INSERT INTO imported_conversations (conversation, chat, format, external_id, title) "
            "VALUES (?, ?, ?, ?, ?)",
            (number, run.chat, wanted.format, wanted.external_id, wanted.title),
        )
    last: int = db.execute("SELECT coalesce(max(seq), 0) FROM entries WHERE conversation = ?", (number,)).get
    rows = list(enumerate(messages, last + 1))
    db.executemany(
        "INSERT INTO entries (conversation, seq, kind, payload, at) VALUES (?, ?, ?, ?, ?)",
        [(number, seq, each.kind, each.payload, each.at) for seq, each in rows],
    )
    db.executemany(
        "INSERT INTO imported_messages (conversation, key, seq, run) VALUES (?, ?, ?, ?)",
        [(number, each.key, seq, run.run) for seq, each in rows],
    )
    latest = max(each.at for each in messages)
    db.execute("UPDATE conversations SET ended_at = max(ended_at, ?) WHERE id = ?", (latest, number))
    return Added(created, len(messages))


def remove_messages(db: apsw.Connection, run: int, *, limit: int) -> int:
    """Delete up to `limit` messages of a run, and conversations that have none left; return how many.

    Of what was forgotten its place stays, as of no run, so that a later import does not bring it back.
    """
    rows = db.execute(
        "SELECT conversation, seq, key FROM imported_messages WHERE run = ? ORDER BY conversation, seq LIMIT ?",
        (run, limit),
    ).fetchall()
    for number, seq, key in rows:
        is_forgotten = db.execute(
            "SELECT EXISTS (SELECT 1 FROM entries WHERE conversation = ? AND seq = ? AND instr(payload, ?))",
            (number, seq, FORGOTTEN),
        ).get
        if is_forgotten:
            db.execute(
                "UPDATE imported_messages SET run = ? WHERE conversation = ? AND key = ?",
                (NO_RUN, number, key),
            )
        else:
            db.execute("DELETE FROM entries WHERE conversation = ? AND seq = ?", (number, seq))
            db.execute("DELETE FROM imported_messages WHERE conversation = ? AND key = ?", (number, key))
    for number in dict.fromkeys(row[0] for row in rows):
        if not db.execute("SELECT EXISTS (SELECT 1 FROM entries WHERE conversation = ?)", (number,)).get:
            db.execute("DELETE FROM imported_conversations WHERE conversation = ?", (number,))
            db.execute("DELETE FROM conversations WHERE id = ?", (number,))
    return len(rows)


def read_titles(db: apsw.Connection, conversations: Sequence[int]) -> dict[int, str]:
    """Return the titles of imported conversations that have one, by number."""
    rows = db.execute(
        "SELECT conversation, title FROM imported_conversations "
        "WHERE title != '' AND conversation IN (SELECT value FROM json_each(?))",
        (json.dumps([*conversations]),),
    )
    return {int(str(number)): str(title) for number, title in rows}


# -- notes ----------------------------------------------------------------------------------------------------


def save_note(db: apsw.Connection, note: ImportedNote) -> None:
    """Store what a run writes to a note, replacing what it had planned for the same file."""
    delete_note(db, note)
    insert(db, "imported_notes", note)


def find_copies(db: apsw.Connection, digest: str, *, but: int) -> list[tuple[str, bool]]:
    """Return the notes to which other runs brought a file with the same content.

    With each, whether it was surely written: an interrupted run may have planned that only.
    """
    rows = db.execute(
        "SELECT path, coalesce(state, '') != 'running' FROM imported_notes LEFT JOIN imports USING (run) "
        "WHERE digest = ? AND run != ? ORDER BY number",
        (digest, but),
    )
    return [(str(path), bool(is_written)) for path, is_written in rows]


def find_note(db: apsw.Connection, run: int, source: str) -> ImportedNote | None:
    """Return what a run has written for a file, or None."""
    return select_first(db, ImportedNote, "FROM imported_notes WHERE run = ? AND source = ?", run, source)


def read_notes(db: apsw.Connection, run: int) -> tuple[ImportedNote, ...]:
    """Return what a run has written."""
    return tuple(select(db, ImportedNote, "FROM imported_notes WHERE run = ? ORDER BY number", run))


def delete_note(db: apsw.Connection, note: ImportedNote) -> None:
    """Delete the row of a file."""
    db.execute("DELETE FROM imported_notes WHERE run = ? AND source = ?", (note.run, note.source))
