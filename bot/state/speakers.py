"""state.db: who wrote in which chat, by the stored messages themselves."""

import json
from collections.abc import Iterable

import apsw

from bot.state.imports import NOT_IMPORTED

SPEAKER = "CASE WHEN json_valid(payload) THEN json_extract(payload, '$.by') END"
"""The speaker of a stored message. Queries must use this very text, or SQLite does not use the index on it.

Not with `->>`: programs with an SQLite from before 2022 could not even open a file whose schema has that operator.
"""


def m023_speakers(db: apsw.Connection) -> None:
    """Indexes on the speakers of messages, and on the chats of conversations.

    An index instead of a table of (chat, person): SQLite keeps it right when messages are added, forgotten or moved to
    another chat. Messages without a speaker, such as those of early versions, are nobody's.
    """
    db.execute(
        f"""
        CREATE INDEX speakers ON entries (({SPEAKER}), conversation) WHERE kind = 'user';
        CREATE INDEX conversations_by_chat ON conversations (chat);
        """
    )


def read_rooms_with_memory(db: apsw.Connection, people: Iterable[str]) -> frozenset[str]:
    """Return the rooms with the memory on in which any of these people (`channel:id`) wrote."""
    # CROSS JOIN: look each conversation of a room up, instead of reading all messages of a person for each room.
    rows = db.execute(
        "SELECT chat FROM rooms WHERE memory AND EXISTS (SELECT 1 FROM conversations "  # noqa: S608
        "CROSS JOIN entries ON entries.conversation = conversations.id WHERE conversations.chat = rooms.chat "
        f"AND entries.kind = 'user' AND {SPEAKER} IN (SELECT value FROM json_each(?)))",
        (json.dumps(list(people)),),
    )
    return frozenset(str(chat) for (chat,) in rows)


def read_only_speaker(db: apsw.Connection, conversation: int, *, after: int, upto: int) -> str:
    """Return who (`channel:id`) said everything in a part of a conversation; "" if several people did."""
    rows = db.execute(
        f"SELECT DISTINCT {SPEAKER} FROM entries "  # noqa: S608
        "WHERE conversation = ? AND kind = 'user' AND seq > ? AND seq <= ?",
        (conversation, after, upto),
    )
    people = [str(person or "") for (person,) in rows]
    return people[0] if len(people) == 1 else ""


def read_last_said(db: apsw.Connection, person: str) -> str:
    """Return when a person (`channel:id`) last wrote, ISO 8601 in UTC; "" if never. Imported messages do not count."""
    # The index has the rowids, which grow with time; only the latest row itself is read.
    row = db.execute(
        "SELECT at FROM entries WHERE rowid = (SELECT max(latest) FROM (SELECT conversation, max(rowid) AS latest "  # noqa: S608
        f"FROM entries WHERE kind = 'user' AND {SPEAKER} = ? GROUP BY conversation) "
        f"JOIN conversations ON conversations.id = conversation WHERE {NOT_IMPORTED})",
        (person,),
    ).fetchone()
    return str(row[0]) if row else ""


def has_conversation(db: apsw.Connection, chat: str) -> bool:
    """Return whether anything was said in a chat."""
    return bool(db.execute("SELECT EXISTS (SELECT 1 FROM conversations WHERE chat = ?)", (chat,)).get)


def read_chats_beginning(db: apsw.Connection, prefix: str) -> frozenset[str]:
    """Return the chats with conversations whose ids begin with a prefix of ASCII characters."""
    after = prefix[:-1] + chr(ord(prefix[-1]) + 1)
    rows = db.execute("SELECT DISTINCT chat FROM conversations WHERE chat >= ? AND chat < ?", (prefix, after))
    return frozenset(str(chat) for (chat,) in rows)
