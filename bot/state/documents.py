"""state.db: documents that came as attachments, by number, so that they can still be saved later."""

import json
from dataclasses import asdict, dataclass, replace
from datetime import datetime

import apsw

from bot.messages import Attachment, ChatId, PersonId
from memory.surrogates import replace_surrogates

MAX_DOCUMENTS_PER_CHAT = 1000
"""The latest ones."""


@dataclass(frozen=True, slots=True)
class Document:
    """Where a document came from and how to fetch it, without its content."""

    number: int
    """Never reused, even after this one is deleted."""
    chat: ChatId
    attachment: Attachment
    sender: PersonId
    sender_name: str
    at: datetime
    """When it was sent; timezone-aware."""


def m012_documents(db: apsw.Connection) -> None:
    """Documents of all chats, each once, however often its message is read."""
    db.execute(
        """
        CREATE TABLE documents (
            number INTEGER PRIMARY KEY AUTOINCREMENT,
            chat TEXT NOT NULL,
            sender TEXT NOT NULL,
            document TEXT NOT NULL,
            at TEXT NOT NULL,
            UNIQUE (chat, sender, document)
        ) STRICT;
        CREATE INDEX documents_at ON documents (at);
        """
    )


def assign_number(
    db: apsw.Connection, chat: str, sender: str, attachment: Attachment, *, sender_name: str, at: str
) -> int:
    """Return a document's number, assigning one if it is new; deletes a chat's oldest beyond MAX_DOCUMENTS_PER_CHAT."""
    kept = asdict(replace(attachment, quoted=False))  # the same document, whether sent or replied to
    document = replace_surrogates(
        json.dumps({"attachment": kept, "sender_name": sender_name}, ensure_ascii=False)
    )
    asked = "SELECT number FROM documents WHERE chat = ? AND sender = ? AND document = ?"
    known: int | None = db.execute(asked, (chat, sender, document)).get
    if known is not None:
        db.execute("UPDATE documents SET at = max(at, ?) WHERE number = ?", (at, known))
        return known
    db.execute(
        "INSERT INTO documents (chat, sender, document, at) VALUES (?, ?, ?, ?)",
        (chat, sender, document, at),
    )
    number = db.last_insert_rowid()
    db.execute(
        "DELETE FROM documents WHERE chat = ? AND number NOT IN "
        "(SELECT number FROM documents WHERE chat = ? ORDER BY number DESC LIMIT ?)",
        (chat, chat, MAX_DOCUMENTS_PER_CHAT),
    )
    return number


def find_document(db: apsw.Connection, chat: str, number: int) -> Document | None:
    """Return a chat's document by its number, or None."""
    row = db.execute(
        "SELECT sender, document, at FROM documents WHERE number = ? AND chat = ?", (number, chat)
    ).fetchone()
    if row is None:
        return None
    channel, _, person = row[0].partition(":")
    fields = json.loads(row[1])
    return Document(
        number,
        ChatId.parse(chat),
        Attachment(**fields["attachment"]),
        PersonId(channel, person),
        fields["sender_name"],
        datetime.fromisoformat(row[2]),
    )


def prune(db: apsw.Connection, *, before: str) -> None:
    """Delete documents that were sent before a time."""
    db.execute("DELETE FROM documents WHERE at < ?", (before,))
