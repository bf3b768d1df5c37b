"""state.db: chats with a new id, and moving everything that is stored under a chat's id.

A name with a slash is a part of the chat before the slash, such as a topic, and moves with it.
"""

import apsw

from bot.messages import ChatId

MAIL_TABLES = ("inbox", "outbox", "reminders", "pairing")
"""Moved at once: pending rows that no running turn looks at."""
MULTI_ROW_TABLES = (*MAIL_TABLES, "conversations", "documents", "changes")
"""Tables with any number of rows for a chat."""
SINGLE_ROW_TABLES = ("chosen_models", "rooms", "known_chats", "forgetting", "told_no_model")
"""Tables with one row for a chat, or for a person in it; if both ids have one, the one of the new id is kept."""


def m013_moves(db: apsw.Connection) -> None:
    """Chats with a new id, and whether everything stored under the old one has moved."""
    db.execute(
        """
        CREATE TABLE moves (
            old TEXT PRIMARY KEY,
            new TEXT NOT NULL,
            done INTEGER NOT NULL DEFAULT 0,
            at TEXT NOT NULL
        ) STRICT;
        """
    )


def id_after_move(old: ChatId, message: str) -> str:
    """Return the id, in the new chat, of a message of the old one; it collides with none of the new chat's ids."""
    return f"{old.name}#{message}"


def save_move(db: apsw.Connection, old: ChatId, new: ChatId, *, at: str) -> None:
    """Store that a chat has a new id, and move its pending rows."""
    db.execute(
        "DELETE FROM moves WHERE old = ?", (str(new),)
    )  # in use again: nothing may be moved away from it
    db.execute(
        "INSERT INTO moves (old, new, at) VALUES (?, ?, ?) "
        "ON CONFLICT (old) DO UPDATE SET new = excluded.new, done = 0, at = excluded.at",
        (str(old), str(new), at),
    )
    for part in read_parts(db, old):
        _move_mail(db, part, map_chat(part, old, new))


def read_moves(db: apsw.Connection) -> tuple[tuple[ChatId, ChatId, bool], ...]:
    """Return old id, new id and completion of every move, the earliest first."""
    rows = db.execute("SELECT old, new, done FROM moves ORDER BY at, rowid")
    return tuple((ChatId.parse(old), ChatId.parse(new), bool(done)) for old, new, done in rows)


def mark_moved(db: apsw.Connection, old: ChatId) -> None:
    """Mark a move as complete."""
    db.execute("UPDATE moves SET done = 1 WHERE old = ?", (str(old),))


def map_chat(chat: ChatId, old: ChatId, new: ChatId) -> ChatId:
    """Return the id of a chat after a move: of the moved chat itself, of a part of it, or unchanged."""
    name, slash, part = chat.name.partition("/")
    if chat == old:
        return new
    return ChatId(new.channel, f"{new.name}{slash}{part}") if ChatId(chat.channel, name) == old else chat


def read_parts(db: apsw.Connection, chat: ChatId) -> tuple[ChatId, ...]:
    """Return the chat, and every part of it under which something is stored."""
    begins = f"{chat}/"
    found = {
        str(name)
        for table in (*MULTI_ROW_TABLES, *SINGLE_ROW_TABLES)
        for (name,) in db.execute(
            f"SELECT DISTINCT chat FROM {table} WHERE substr(chat, 1, ?) = ?",  # noqa: S608
            (len(begins), begins),
        )
    }
    return chat, *map(ChatId.parse, sorted(found))


def move_rows(db: apsw.Connection, old: ChatId, new: ChatId) -> None:
    """Move everything from one chat to another; repeated, it moves what was added since.

    Open conversations of both are merged (see `can_merge`). No turn may be running in either.
    """
    _move_mail(db, old, new)
    _merge_conversations(db, str(old), str(new))
    db.execute("PRAGMA secure_delete = ON").fetchall()  # a pending forget request may be deleted
    # The mark of an unfinished removal must not be lost with the row.
    db.execute(
        "UPDATE forgetting SET unfinished = 1 WHERE chat = ? AND person IN "
        "(SELECT person FROM forgetting WHERE chat = ? AND unfinished)",
        (str(new), str(old)),
    )
    for table in ("conversations", "documents", "changes", *SINGLE_ROW_TABLES):
        db.execute(f"UPDATE OR IGNORE {table} SET chat = ? WHERE chat = ?", (str(new), str(old)))  # noqa: S608
    for table in ("documents", *SINGLE_ROW_TABLES):
        db.execute(f"DELETE FROM {table} WHERE chat = ?", (str(old),))  # noqa: S608


def can_merge(db: apsw.Connection, old: ChatId, new: ChatId) -> bool:
    """Return whether the open conversations of two chats can be merged; True if one has none.

    Not if the later one was flushed or summarized: both refer to seqs, which a merge would change.
    """
    numbers = _find_open_pair(db, str(old), str(new))
    if numbers is None:
        return True
    lived: bool = db.execute(
        "SELECT EXISTS (SELECT 1 FROM flushes WHERE conversation = ?1) "
        "OR EXISTS (SELECT 1 FROM entries WHERE conversation = ?1 AND kind = 'summary')",
        (numbers[1],),
    ).get
    return not lived


def _move_mail(db: apsw.Connection, old: ChatId, new: ChatId) -> None:
    """Move messages, notices, reminders, and where strangers are told that they were let in.

    The ids of messages that show a reply are dropped: in the new chat they would refer to other messages.
    """
    before = id_after_move(old, "")
    db.execute(
        "UPDATE inbox SET payload = json_set(payload, '$.handle', '', '$.edit_of', "
        "CASE coalesce(payload ->> '$.edit_of', '') WHEN '' THEN '' ELSE ? || (payload ->> '$.edit_of') END) "
        "WHERE chat = ? AND json_valid(payload)",
        (before, str(old)),
    )
    db.execute(
        "UPDATE inbox SET chat = ?, message = ? || message, shown = '[]' WHERE chat = ?",
        (str(new), before, str(old)),
    )
    db.execute("UPDATE outbox SET chat = ?, shown = '[]' WHERE chat = ?", (str(new), str(old)))
    for table in ("reminders", "pairing"):
        db.execute(f"UPDATE {table} SET chat = ? WHERE chat = ?", (str(new), str(old)))  # noqa: S608


def _find_open_pair(db: apsw.Connection, old: str, new: str) -> tuple[int, int] | None:
    """Return the open conversations of two chats, the earlier one first; None unless both have one."""
    rows = db.execute(
        "SELECT id FROM conversations WHERE chat IN (?, ?) AND ended_at IS NULL ORDER BY id", (old, new)
    ).fetchall()
    return (rows[0][0], rows[1][0]) if len(rows) == 2 else None  # type: ignore[return-value]


def _merge_conversations(db: apsw.Connection, old: str, new: str) -> None:
    """Append the later of two open conversations to the earlier one."""
    numbers = _find_open_pair(db, old, new)
    if numbers is None:
        return
    first, later = numbers
    shift: int = db.execute("SELECT coalesce(max(seq), 0) FROM entries WHERE conversation = ?", (first,)).get
    db.execute(
        "UPDATE entries SET conversation = ?, seq = seq + ? WHERE conversation = ?", (first, shift, later)
    )
    db.execute(
        "UPDATE inbox SET conversation = ?, heard = heard + ? WHERE conversation = ?", (first, shift, later)
    )
    db.execute(
        "UPDATE changes SET conversation = ?, asked_at = asked_at + ? WHERE conversation = ?",
        (first, shift, later),
    )
    db.execute("UPDATE endings SET conversation = ? WHERE conversation = ?", (first, later))
    db.execute("DELETE FROM conversations WHERE id = ?", (later,))
