"""state.db: the inbox (messages until their answer is delivered) and the outbox (notices).

A message is `waiting`; `running` once it is in its conversation; `answered` once the whole reply is known; then
`delivered`. One turn may answer several messages; its number is that of the first one.
"""

import json
import logging
import time
from collections.abc import Collection, Iterable, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime
from typing import Literal

import apsw

from bot.log.tracebacks import error_location
from bot.messages import Attachment, ChatId, Choice, IncomingMessage, PersonId, Quoted
from memory.surrogates import replace_surrogates

log = logging.getLogger(__name__)

EDITED = ("text", "attachments", "quoted")
"""What an edit replaces; everything else, such as the time, stays."""
MessageState = Literal["waiting", "running", "answered", "delivered"]


@dataclass(frozen=True, slots=True)
class InboxMessage:
    """A message in the inbox."""

    number: int
    """In order of arrival."""
    message: IncomingMessage
    state: MessageState = "waiting"
    turn: int | None = None
    """Number of the first message of the turn that answers this one."""
    conversation: int | None = None
    heard: int | None = None
    """Seq of its entry in `conversation`."""
    reply: str | None = None
    """The whole reply; only for the first message of a turn."""
    shown: tuple[str, ...] = ()
    """The platform's ids of the messages that show the reply so far."""
    attempts: int = 0
    """Attempts since the last progress."""
    taken_over: bool = False
    """Whether an earlier process accepted it, which has ended."""
    taken_up: float = field(default_factory=time.monotonic, compare=False)
    """When this process got it, by `time.monotonic`."""


@dataclass(frozen=True, slots=True)
class QueuedNotice:
    """A notice on its way to a chat."""

    number: int
    chat: ChatId
    text: str
    shown: tuple[str, ...] = ()
    choices: tuple[Choice, ...] = ()
    attempts: int = 0
    """How often a process died while it showed the notice."""
    taken_over: bool = False
    """Whether an earlier process had it, which has ended."""


def m003_inbox(db: apsw.Connection) -> None:
    """Messages until they are answered, notices until they are delivered; afterwards only their ids."""
    db.execute(
        """
        CREATE TABLE inbox (
            number INTEGER PRIMARY KEY AUTOINCREMENT,
            chat TEXT NOT NULL,
            message TEXT NOT NULL,
            payload TEXT NOT NULL,
            state TEXT NOT NULL,
            owner TEXT NOT NULL,
            turn INTEGER,
            conversation INTEGER,
            heard INTEGER,
            reply TEXT,
            shown TEXT NOT NULL DEFAULT '[]',
            attempts INTEGER NOT NULL DEFAULT 0,
            at TEXT NOT NULL,
            UNIQUE (chat, message)
        ) STRICT;
        CREATE INDEX inbox_open ON inbox (number) WHERE state != 'delivered';
        CREATE TABLE outbox (
            number INTEGER PRIMARY KEY AUTOINCREMENT,
            key TEXT NOT NULL UNIQUE,
            chat TEXT NOT NULL,
            text TEXT NOT NULL,
            owner TEXT NOT NULL,
            shown TEXT NOT NULL DEFAULT '[]',
            delivered INTEGER NOT NULL DEFAULT 0,
            at TEXT NOT NULL
        ) STRICT;
        CREATE INDEX outbox_open ON outbox (number) WHERE NOT delivered;
        """
    )


def m010_choices(db: apsw.Connection) -> None:
    """Buttons of notices."""
    db.execute("ALTER TABLE outbox ADD COLUMN choices TEXT NOT NULL DEFAULT '[]'")


def m021_notice_attempts(db: apsw.Connection) -> None:
    """Count how often a process died while it showed a notice."""
    db.execute("ALTER TABLE outbox ADD COLUMN attempts INTEGER NOT NULL DEFAULT 0")


def m015_turns(db: apsw.Connection) -> None:
    """Indexes for the lookups of each step, since the inbox keeps a month of ids."""
    db.execute(
        """
        CREATE INDEX inbox_turn ON inbox (turn);
        CREATE INDEX inbox_running ON inbox (conversation, heard) WHERE state = 'running';
        """
    )


# -- messages -----------------------------------------------------------------------------------------------


def add(db: apsw.Connection, message: IncomingMessage, *, owner: str, at: str) -> InboxMessage | None:
    """Add a message and return it; None if it is known. `owner`: the process that answers it, "" for any."""
    db.execute(
        "INSERT INTO inbox (chat, message, payload, state, owner, at) SELECT ?, ?, ?, 'waiting', ?, ? "
        "WHERE NOT EXISTS (SELECT 1 FROM inbox WHERE chat = ? AND message = ?) ON CONFLICT DO NOTHING",
        (str(message.chat), message.id, _encode(message), owner, at, str(message.chat), message.former_id),
    )
    return InboxMessage(db.last_insert_rowid(), message) if db.changes() else None


def read_undelivered(db: apsw.Connection) -> tuple[tuple[str, InboxMessage], ...]:
    """Return all undelivered messages, in order, with their owners."""
    rows = db.execute(
        "SELECT owner, number, chat, message, payload, state, turn, conversation, heard, reply, shown, attempts "
        "FROM inbox WHERE state != 'delivered' ORDER BY number"
    )
    found = []
    for row in rows:
        try:
            found.append((str(row[0]), _from_row(row[1:])))
        except (ValueError, LookupError, TypeError, AttributeError) as error:
            log.error(
                "message %s of the inbox is damaged and was skipped: %s",
                row[1],
                error_location(error),
            )
    return tuple(found)


def read_owners(db: apsw.Connection) -> tuple[tuple[str, ChatId], ...]:
    """Return the distinct pairs of owner and chat of undelivered messages and notices."""
    rows = db.execute(
        "SELECT owner, chat FROM inbox WHERE state != 'delivered' UNION "
        "SELECT owner, chat FROM outbox WHERE NOT delivered"
    )
    return tuple((owner, ChatId.parse(chat)) for owner, chat in rows)


def oldest_open_at(db: apsw.Connection) -> str | None:
    """Return when the oldest undelivered message came."""
    moment: str | None = db.execute("SELECT min(at) FROM inbox WHERE state != 'delivered'").get
    return moment


def count_open(db: apsw.Connection, *, but: IncomingMessage) -> int:
    """Return the number of undelivered messages and notices, without one message."""
    count: int = db.execute(
        "SELECT (SELECT count(*) FROM inbox WHERE state != 'delivered' AND NOT (chat = ? AND message = ?)) + "
        "(SELECT count(*) FROM outbox WHERE NOT delivered)",
        (str(but.chat), but.id),
    ).get
    return count


def count_open_with_prefix(db: apsw.Connection, message: str) -> int:
    """Return the number of undelivered messages whose ids have this prefix, in all chats."""
    count: int = db.execute(
        "SELECT count(*) FROM inbox WHERE state != 'delivered' AND substr(message, 1, ?) = ?",
        (len(message), message),
    ).get
    return count


def change_owner(db: apsw.Connection, numbers: Iterable[int], *, owner: str) -> None:
    """Assign messages to another process."""
    db.executemany("UPDATE inbox SET owner = ? WHERE number = ?", [(owner, number) for number in numbers])


def count_attempts(db: apsw.Connection, numbers: Iterable[int]) -> None:
    """Count another attempt at messages."""
    db.executemany(
        "UPDATE inbox SET attempts = attempts + 1 WHERE number = ?", [(number,) for number in numbers]
    )


def uncount_attempts(db: apsw.Connection, numbers: Iterable[int]) -> None:
    """Undo one `count_attempts`: the work ended without a crash."""
    db.executemany(
        "UPDATE inbox SET attempts = attempts - 1 WHERE number = ? AND attempts > 0",
        [(number,) for number in numbers],
    )


def reset_attempts(db: apsw.Connection, turn: int) -> None:
    """Reset the attempts at a turn that has made progress."""
    db.execute("UPDATE inbox SET attempts = 0 WHERE number = ? AND attempts > 0", (turn,))


def first_unanswered_seq(db: apsw.Connection, conversation: int) -> int | None:
    """Return the seq of a conversation's first message whose answer is not known yet."""
    seq: int | None = db.execute(
        "SELECT min(heard) FROM inbox WHERE state = 'running' AND conversation = ?", (conversation,)
    ).get
    return seq


def mark_running(db: apsw.Connection, turn: int, heard: Sequence[tuple[int, int, int]]) -> None:
    """Mark messages as part of a conversation, each given as (number, conversation, seq)."""
    db.executemany(
        "UPDATE inbox SET state = 'running', turn = ?, conversation = ?, heard = ? WHERE number = ?",
        [(turn, conversation, seq, number) for number, conversation, seq in heard],
    )
    for number, _, _ in heard:
        _mark_earlier_wordings(db, number)


def read_wordings(db: apsw.Connection, chat: str, original: str) -> tuple[tuple[int, int], ...]:
    """Return the entries (conversation, seq) with the wordings of a message (its id) that were heard, in order."""
    rows = db.execute(
        "SELECT conversation, heard FROM inbox WHERE chat = ?1 AND heard IS NOT NULL "
        # As in _mark_earlier_wordings.
        "AND (message = ?2 OR (message >= ?2 || '.' AND message < ?2 || '/')) ORDER BY number",
        (chat, original),
    )
    return tuple((int(str(conversation)), int(str(heard))) for conversation, heard in rows)


def _mark_earlier_wordings(db: apsw.Connection, number: int) -> None:
    """If a message is an edit, mark the entries with its earlier wordings, which are not to be found any more."""
    row = db.execute("SELECT chat, payload ->> '$.edit_of' FROM inbox WHERE number = ?", (number,)).fetchone()
    if row is None or not row[1]:
        return
    chat, original = row
    db.execute(
        "UPDATE entries SET payload = json_set(payload, '$.edited', json('true')) "
        "WHERE kind = 'user' AND json_valid(payload) AND (conversation, seq) IN "
        "(SELECT conversation, heard FROM inbox WHERE chat = ?1 AND number < ?3 AND heard IS NOT NULL "
        # Ids of edits begin with the message's and a dot; "/" is what follows ".".
        "AND (message = ?2 OR (message >= ?2 || '.' AND message < ?2 || '/')))",
        (chat, original, number),
    )


def save_reply(db: apsw.Connection, turn: int, reply: str) -> None:
    """Store the whole reply of a turn; from here on it only has to be delivered."""
    db.execute("UPDATE inbox SET state = 'answered' WHERE turn = ? OR number = ?", (turn, turn))
    db.execute("UPDATE inbox SET turn = number, reply = ?, attempts = 0 WHERE number = ?", (reply, turn))


def save_shown(db: apsw.Connection, turn: int, shown: Sequence[str]) -> None:
    """Store which messages of the platform show the reply."""
    db.execute("UPDATE inbox SET shown = ? WHERE number = ?", (json.dumps(list(shown)), turn))


def mark_delivered(db: apsw.Connection, turn: int) -> None:
    """Mark a turn's messages as delivered; only their ids are kept here."""
    db.execute(
        "UPDATE inbox SET state = 'delivered', payload = '', reply = NULL WHERE turn = ? OR number = ?",
        (turn, turn),
    )


def save_edit(db: apsw.Connection, number: int, message: IncomingMessage, *, owner: str, at: str) -> None:
    """Store an edit, and replace the text of the message with that number if it is still waiting."""
    row = db.execute("SELECT payload FROM inbox WHERE number = ? AND state = 'waiting'", (number,)).fetchone()
    if row is not None:
        new = json.loads(_encode(message))
        payload = {**json.loads(row[0]), **{name: new[name] for name in EDITED}}
        db.execute(
            "UPDATE inbox SET payload = ? WHERE number = ?",
            (json.dumps(payload, ensure_ascii=False), number),
        )
    if added := add(db, message, owner=owner, at=at):
        mark_delivered(db, added.number)


def merge_edit(message: IncomingMessage, by: IncomingMessage) -> IncomingMessage:
    """Return a message after an edit."""
    return replace(message, **{name: getattr(by, name) for name in EDITED})


def merge_parts(db: apsw.Connection, number: int, whole: IncomingMessage, parts: Collection[int]) -> None:
    """Replace a waiting message by one with all its parts; the parts are done."""
    db.execute("UPDATE inbox SET payload = ? WHERE number = ?", (_encode(whole), number))
    for part in parts:
        mark_delivered(db, part)


def prune(db: apsw.Connection, *, before: str) -> None:
    """Delete what was delivered before a time; no platform repeats it so late."""
    db.execute("DELETE FROM inbox WHERE state = 'delivered' AND at < ?", (before,))
    db.execute("DELETE FROM outbox WHERE delivered AND at < ?", (before,))


# -- notices ------------------------------------------------------------------------------------------------


def add_notice(
    db: apsw.Connection,
    chat: str,
    text: str,
    *,
    key: str,
    owner: str,
    at: str,
    choices: Sequence[Choice] = (),
) -> QueuedNotice | None:
    """Add a notice and return it; None if the key is known. `owner` as in `add`."""
    offered = json.dumps([[each.label, each.says] for each in choices], ensure_ascii=False)
    db.execute(
        "INSERT INTO outbox (key, chat, text, owner, at, choices) VALUES (?, ?, ?, ?, ?, ?) "
        "ON CONFLICT DO NOTHING",
        (key, chat, text, owner, at, offered),
    )
    if not db.changes():
        return None
    return QueuedNotice(db.last_insert_rowid(), ChatId.parse(chat), text, choices=tuple(choices))


def read_notice_times(db: apsw.Connection, key: str, *, since: str, until: str) -> tuple[str, ...]:
    """Return when notices with this key prefix were added, after `since` and not after `until`; the earliest first."""
    after_all = f"{key[:-1]}{chr(ord(key[-1]) + 1)}"  # as a range, so that the index on keys is used
    rows = db.execute(
        "SELECT at FROM outbox WHERE key >= ? AND key < ? AND at > ? AND at <= ? ORDER BY at",
        (key, after_all, since, until),
    )
    return tuple(str(at) for (at,) in rows)


def count_undelivered_with_prefix(db: apsw.Connection, key: str) -> int:
    """Return the number of undelivered notices whose keys have this prefix."""
    count: int = db.execute(
        "SELECT count(*) FROM outbox WHERE NOT delivered AND substr(key, 1, ?) = ?", (len(key), key)
    ).get
    return count


def read_undelivered_notices(db: apsw.Connection) -> tuple[tuple[str, QueuedNotice], ...]:
    """Return all undelivered notices, in order, with their owners."""
    rows = db.execute(
        "SELECT owner, number, chat, text, shown, choices, attempts FROM outbox "
        "WHERE NOT delivered ORDER BY number"
    )
    return tuple(
        (
            owner,
            QueuedNotice(
                number,
                ChatId.parse(chat),
                text,
                tuple(json.loads(shown)),
                tuple(Choice(label, says) for label, says in json.loads(choices)),
                attempts,
                taken_over=True,
            ),
        )
        for owner, number, chat, text, shown, choices, attempts in rows
    )


def change_notices_owner(db: apsw.Connection, numbers: Iterable[int], *, owner: str) -> None:
    """Assign notices to another process."""
    db.executemany("UPDATE outbox SET owner = ? WHERE number = ?", [(owner, number) for number in numbers])


def count_notice_attempt(db: apsw.Connection, number: int, *, change: int) -> None:
    """Count an attempt to show a notice; -1 undoes it."""
    db.execute("UPDATE outbox SET attempts = max(0, attempts + ?) WHERE number = ?", (change, number))


def save_notice_shown(db: apsw.Connection, number: int, shown: Sequence[str]) -> None:
    """Store which messages of the platform show a notice."""
    db.execute("UPDATE outbox SET shown = ? WHERE number = ?", (json.dumps(list(shown)), number))


def mark_notices_delivered(db: apsw.Connection, numbers: Collection[int]) -> None:
    """Mark notices as delivered and delete their texts."""
    db.executemany(
        "UPDATE outbox SET delivered = 1, text = '', choices = '[]' WHERE number = ?",
        [(number,) for number in numbers],
    )


# -- messages as JSON ---------------------------------------------------------------------------------------


def _encode(message: IncomingMessage) -> str:
    written = json.dumps(
        {
            "sender": str(message.sender),
            "text": message.text,
            "sent_at": message.sent_at.isoformat(),
            "sender_name": message.sender_name,
            "chat_name": message.chat_name,
            "language": message.language,
            "in_room": message.in_room,
            "alone": message.alone,
            "edit_of": message.edit_of,
            "handle": message.handle,
            "attachments": [asdict(each) for each in message.attachments],
            "quoted": asdict(message.quoted) if message.quoted else None,
            "forwarded_from": message.forwarded_from,
            "groups": message.groups,
            "more_soon": message.more_soon,
        },
        ensure_ascii=False,
    )
    return replace_surrogates(written)


def _from_row(row: "tuple[apsw.SQLiteValue, ...]") -> InboxMessage:
    number, chat, message, payload, state, turn, conversation, heard, reply, shown, attempts = row
    fields = json.loads(str(payload))
    channel, _, person = fields["sender"].partition(":")
    return InboxMessage(
        number=number,  # type: ignore[arg-type]
        message=IncomingMessage(
            id=str(message),
            chat=ChatId.parse(str(chat)),
            sender=PersonId(channel, person),
            text=fields["text"],
            sent_at=datetime.fromisoformat(fields["sent_at"]),
            sender_name=fields.get("sender_name", ""),
            chat_name=fields.get("chat_name", ""),
            language=fields.get("language", ""),
            in_room=fields.get("in_room", False),
            alone=fields.get("alone", False),
            edit_of=fields.get("edit_of", ""),
            handle=fields.get("handle", ""),
            attachments=tuple(Attachment(**each) for each in fields.get("attachments", ())),
            quoted=Quoted(**quoted) if (quoted := fields.get("quoted")) else None,
            forwarded_from=fields.get("forwarded_from", ""),
            groups=tuple(fields.get("groups", ())),
            more_soon=fields.get("more_soon", False),
        ),
        state=state,  # type: ignore[arg-type]
        turn=turn,  # type: ignore[arg-type]
        conversation=conversation,  # type: ignore[arg-type]
        heard=heard,  # type: ignore[arg-type]
        reply=reply,  # type: ignore[arg-type]
        shown=tuple(json.loads(str(shown))),
        attempts=attempts,  # type: ignore[arg-type]
        taken_over=True,
    )
