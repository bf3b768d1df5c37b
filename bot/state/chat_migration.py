"""state.db: chats that their platform calls by another id now, and all that is kept by the id of a chat.

A name with a slash is a part of the chat that stands before it, such as a topic: it goes with it.
"""

import apsw

from bot.messages import ChatId

MAIL_TABLES = ("inbox", "outbox", "reminders", "pairing")
"""What goes over at once: it is on its way, or to come, and no turn that runs looks at it."""
MULTI_ROW_TABLES = (*MAIL_TABLES, "conversations", "documents")
"""Tables with any number of rows for a chat."""
SINGLE_ROW_TABLES = ("chosen_models", "rooms", "known_chats", "forgetting", "told_no_model")
"""Tables with one row for a chat, or for a person in it; where both ids have one, the new one's is the later word."""


def m013_moves(db: apsw.Connection) -> None:
    """Chats that have another id now, and whether all that was kept by the old one has gone over."""
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
    """A message's id in the new chat, where it is no message: the ids there count from the beginning again."""
    return f"{old.name}#{message}"


def save_move(db: apsw.Connection, old: ChatId, new: ChatId, *, at: str) -> None:
    """Note that a chat has another id now; its mail goes over with that."""
    db.execute("DELETE FROM moves WHERE old = ?", (str(new),))  # it lives: nothing is to be sent away from it
    db.execute(
        "INSERT INTO moves (old, new, at) VALUES (?, ?, ?) "
        "ON CONFLICT (old) DO UPDATE SET new = excluded.new, done = 0, at = excluded.at",
        (str(old), str(new), at),
    )
    for part in read_parts(db, old):
        _move_mail(db, part, map_chat(part, old, new))


def moves(db: apsw.Connection) -> tuple[tuple[ChatId, ChatId, bool], ...]:
    """Old and new id of every chat that has moved, and whether all has gone over; the earliest first."""
    rows = db.execute("SELECT old, new, done FROM moves ORDER BY at, rowid")
    return tuple((ChatId.parse(old), ChatId.parse(new), bool(done)) for old, new, done in rows)


def mark_moved(db: apsw.Connection, old: ChatId) -> None:
    """Note that all has gone over."""
    db.execute("UPDATE moves SET done = 1 WHERE old = ?", (str(old),))


def map_chat(chat: ChatId, old: ChatId, new: ChatId) -> ChatId:
    """Where a chat is after a move: the moved one, a part of it, or another that stays where it is."""
    name, slash, part = chat.name.partition("/")
    if chat == old:
        return new
    return ChatId(new.channel, f"{new.name}{slash}{part}") if ChatId(chat.channel, name) == old else chat


def read_parts(db: apsw.Connection, chat: ChatId) -> tuple[ChatId, ...]:
    """The chat, and every part of it by which anything is kept."""
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
    """Keep for one chat what was kept for another; again, it takes over what has come since.

    Where both have an open conversation, they become one (see `can_merge`). No turn runs in either meanwhile.
    """
    _move_mail(db, old, new)
    _merge_conversations(db, str(old), str(new))
    db.execute("PRAGMA secure_delete = ON").fetchall()  # one of the questions about what to forget may go
    # That a removal was begun, and is not at its end, is not to go with it.
    db.execute(
        "UPDATE forgetting SET unfinished = 1 WHERE chat = ? AND person IN "
        "(SELECT person FROM forgetting WHERE chat = ? AND unfinished)",
        (str(new), str(old)),
    )
    for table in ("conversations", "documents", *SINGLE_ROW_TABLES):
        db.execute(f"UPDATE OR IGNORE {table} SET chat = ? WHERE chat = ?", (str(new), str(old)))  # noqa: S608
    for table in ("documents", *SINGLE_ROW_TABLES):
        db.execute(f"DELETE FROM {table} WHERE chat = ?", (str(old),))  # noqa: S608


def can_merge(db: apsw.Connection, old: ChatId, new: ChatId) -> bool:
    """Whether the open conversations of two chats can become one, where both have one: the later is but a few words.

    What of it was flushed or summed up counts by its own places, which would not be true any more.
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
    """Messages and notices, reminders, and where a stranger is told of having been let in.

    Messages that showed a reply stay behind: they cannot be edited from the new chat, where their ids are others'.
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
    """The open conversations of two chats, the one that was begun first before the other; None where one has none."""
    rows = db.execute(
        "SELECT id FROM conversations WHERE chat IN (?, ?) AND ended_at IS NULL ORDER BY id", (old, new)
    ).fetchall()
    return (rows[0][0], rows[1][0]) if len(rows) == 2 else None  # type: ignore[return-value]


def _merge_conversations(db: apsw.Connection, old: str, new: str) -> None:
    """Put what was said in the later of two open conversations behind what was said in the other."""
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
    db.execute("UPDATE endings SET conversation = ? WHERE conversation = ?", (first, later))
    db.execute("DELETE FROM conversations WHERE id = ?", (later,))
