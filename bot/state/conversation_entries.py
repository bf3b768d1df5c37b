"""state.db: reads the entries of conversations for their index and for those who read around a message."""

from typing import NamedTuple

import apsw

from bot.state.conversations import Row, TimedRow

_LAST_SEQ = "coalesce((SELECT max(seq) FROM entries WHERE conversation = conversations.id), 0)"


_SMALL_BYTES = 16_384
"""Smaller entries are not searched for pictures, which would take longer than to read them."""


class ConversationState(NamedTuple):
    """What changes whenever anything in a conversation does."""

    id: int
    chat: str
    rewritten: int
    last_seq: int
    """0 if it has no entries."""


class StoredChat(NamedTuple):
    """A conversation and its chat."""

    conversation: int
    chat: str
    name: str
    """What people call the chat, or the title of an imported conversation; "" if unknown."""
    rewritten: int
    last_seq: int
    """0 if it has no entries."""
    imported_from: str = ""
    """The format of an imported conversation, such as `chatgpt`."""


class SizedRow(NamedTuple):
    """An entry without its pictures, and the bytes of its payload with them."""

    entry: TimedRow
    size: int


def list_conversations(db: apsw.Connection) -> list[tuple[int, str, int, int]]:
    """Return the state of every conversation, as plain tuples with the fields of `ConversationState`."""
    rows: list[tuple[int, str, int, int]] = db.execute(
        f"SELECT id, chat, rewritten, {_LAST_SEQ} FROM conversations"  # noqa: S608 - only our own
    ).fetchall()  # type: ignore[assignment]
    return rows


def list_entry_heads(
    db: apsw.Connection, conversation: int, *, since: int
) -> list[tuple[int, str, str, int]]:
    """Return seq, kind, time and payload size of a conversation's entries from a seq on, in order."""
    rows: list[tuple[int, str, str, int]] = db.execute(
        "SELECT seq, kind, at, octet_length(payload) FROM entries WHERE conversation = ? AND seq >= ? ORDER BY seq",
        (conversation, since),
    ).fetchall()  # type: ignore[assignment]
    return rows


def read_chat(db: apsw.Connection, conversation: int) -> StoredChat | None:
    """Return a conversation's chat; None if there is no such conversation."""
    row = db.execute(
        f"SELECT id, conversations.chat, coalesce(nullif(title, ''), name, ''), rewritten, {_LAST_SEQ}, "  # noqa: S608 - only our own
        "coalesce(format, '') FROM conversations LEFT JOIN known_chats ON known_chats.chat = conversations.chat "
        "LEFT JOIN imported_conversations ON conversation = id WHERE id = ?",
        (conversation,),
    ).fetchone()
    return StoredChat(*row) if row else None


def read_span(db: apsw.Connection, conversation: int, *, first: int, last: int) -> list[SizedRow]:
    """Return the entries from `first` to `last`, inclusive, in order, without pictures.

    These may take megabytes each, and nobody needs them here. Bytes that are no UTF-8 become lone surrogates: one
    damaged row must not keep all others from being found.
    """
    rows = db.execute(
        "SELECT seq, kind, at, octet_length(payload), CAST(iif(kind = 'user' AND octet_length(payload) > ? "
        "AND json_valid(payload), json_remove(payload, '$.images'), payload) AS BLOB) "
        "FROM entries WHERE conversation = ? AND seq BETWEEN ? AND ? ORDER BY seq",
        (_SMALL_BYTES, conversation, first, last),
    )
    return [
        SizedRow(TimedRow(Row(conversation, seq, kind, str(payload, "utf-8", "surrogateescape")), at), size)
        for seq, kind, at, size, payload in rows
    ]


def find_next_answered(db: apsw.Connection, conversation: int, seq: int) -> int:
    """Return the seq of the next entry behind which no retraction reaches; of the last one plus 1 if there is none."""
    found: int = db.execute(
        "SELECT coalesce((SELECT seq FROM entries WHERE conversation = ?1 AND seq > ?2 AND kind IN ('user', 'result') "
        "ORDER BY seq LIMIT 1), (SELECT max(seq) + 1 FROM entries WHERE conversation = ?1), 0)",
        (conversation, seq),
    ).get
    return found
