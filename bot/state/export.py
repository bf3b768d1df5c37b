"""state.db: reads all conversations for an export."""

from dataclasses import dataclass

import apsw

from bot.state.conversations import TimedRow
from bot.state.rows import select


@dataclass(frozen=True, slots=True)
class ConversationRow:
    """One conversation; times are ISO 8601 in UTC."""

    number: int
    chat: str
    started_at: str
    ended_at: str
    """Empty while it is open."""
    title: str = ""
    """The title of an imported conversation."""
    imported_from: str = ""
    """The format that it was imported from, such as `chatgpt`; "" if it is our own."""


def read_conversations(db: apsw.Connection, chat: str = "") -> tuple[ConversationRow, ...]:
    """Return every conversation in order of their beginning, or those of one chat."""
    rows = db.execute(
        "SELECT id, conversations.chat, started_at, coalesce(ended_at, ''), coalesce(title, ''), coalesce(format, '') "
        "FROM conversations LEFT JOIN imported_conversations ON conversation = id "
        "WHERE ?1 = '' OR conversations.chat = ?1 ORDER BY id",
        (chat,),
    )
    return tuple(ConversationRow(*row) for row in rows)


def read_timed_entries(
    db: apsw.Connection, conversation: int, *, after: int, limit: int
) -> tuple[TimedRow, ...]:
    """Return the next `limit` entries of a conversation whose seq is greater than `after`, in order."""
    rest = "FROM entries WHERE conversation = ? AND seq > ? ORDER BY seq LIMIT ?"
    return tuple(select(db, TimedRow, rest, conversation, after, limit))
