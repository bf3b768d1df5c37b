"""state.db: every change to a note, with the lines before and after, who made it, and in which turn."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import apsw

from bot.state.rows import insert, select, select_first
from memory.line_diff import LineDiff

ChangedBy = Literal["tool", "agent", "command", "flush", "document", "import", "cli", "http", "mcp", "forget"]
"""What made a change: a model's tool call, the assistant by itself on a person's request, a slash command, a flush, a
filed document, an import, the command line, the page or JSON-RPC (`http`), a program over MCP, or `/forget`, of which
only a mark for each line is stored."""

RPC_KEY = "rpc/"
"""How the keys of writes over JSON-RPC begin. All other writes of `http` were made on the page."""


@dataclass(frozen=True, slots=True)
class ChangeOrigin:
    """Who changes a note, and in which turn."""

    made_by: ChangedBy
    person: str = ""
    """`channel:id`; "" if it is nobody's."""
    chat: str = ""
    """`channel:name`; "" if it was made outside of chats."""
    conversation: int = 0
    """The conversation that led to it; 0 if none did."""
    asked_at: int = 0
    """Seq of the conversation's first message that led to it."""
    upto: int = 0
    """Seq of the last one; 0 if it is the same turn's."""
    model: str = ""
    """`provider/model`; "" if no model was asked."""
    says: tuple[str, ...] = ()
    """Whose words the text is, if not the person's: documents, authors of forwarded messages."""
    client: str = ""
    """Name of the program that made it over MCP; "" for everything else."""


@dataclass(frozen=True, slots=True)
class Change:
    """One change to a note; numbers are never reused."""

    number: int
    effect: str
    """Key of the write (bot/state/note_effects.py)."""
    at: str
    """ISO 8601 in UTC."""
    path: str
    lines: LineDiff
    origin: ChangeOrigin
    undoes: int
    """Number of the change that this one undoes; 0 for none. Undoing an undo redoes its change."""
    forgotten: bool
    """Whether `/forget` has removed its text."""
    moved_from: str = ""
    """The path from which it moved the note, and `moved_to`: the one that the note got; "" if it moved none."""
    moved_to: str = ""

    @property
    def is_move(self) -> bool:
        """Return whether it moved or renamed the note, and says from where."""
        return bool(self.moved_from)

    @property
    def is_empty(self) -> bool:
        """Return whether it did nothing that could be undone, as far as is recorded."""
        return not (self.lines.old or self.lines.new or self.is_move)

    @property
    def is_by_page(self) -> bool:
        """Whether a person made it on the page."""
        return self.origin.made_by == "http" and not self.effect.startswith(RPC_KEY)


def m025_changes(db: apsw.Connection) -> None:
    """Changes to notes, stored with the intent to write (`done` = 0) and completed with its result."""
    db.execute(
        """
        CREATE TABLE changes (
            number INTEGER PRIMARY KEY AUTOINCREMENT,
            effect TEXT NOT NULL,
            at TEXT NOT NULL,
            path TEXT NOT NULL,
            line INTEGER NOT NULL,
            above TEXT NOT NULL,
            old TEXT NOT NULL,
            new TEXT NOT NULL,
            lead INTEGER NOT NULL,
            made_by TEXT NOT NULL,
            person TEXT NOT NULL,
            chat TEXT NOT NULL,
            conversation INTEGER NOT NULL,
            asked_at INTEGER NOT NULL,
            upto INTEGER NOT NULL,
            model TEXT NOT NULL,
            says TEXT NOT NULL,
            undoes INTEGER NOT NULL,
            forgotten INTEGER NOT NULL,
            done INTEGER NOT NULL
        ) STRICT;
        CREATE INDEX changes_by_effect ON changes (effect);
        CREATE INDEX changes_by_path ON changes (path, number);
        CREATE INDEX changes_by_person ON changes (person, number);
        CREATE INDEX changes_by_undone ON changes (undoes) WHERE undoes;
        """
    )


def m026_change_clients(db: apsw.Connection) -> None:
    """Which program made a change over MCP."""
    db.execute(
        """
        ALTER TABLE changes ADD COLUMN client TEXT NOT NULL DEFAULT '';
        CREATE INDEX changes_by_client ON changes (client, number) WHERE client != '';
        """
    )


def m029_moves(db: apsw.Connection) -> None:
    """From where and to where a change moved its note."""
    db.execute(
        """
        ALTER TABLE changes ADD COLUMN moved_from TEXT NOT NULL DEFAULT '';
        ALTER TABLE changes ADD COLUMN moved_to TEXT NOT NULL DEFAULT '';
        CREATE INDEX changes_by_old_path ON changes (moved_from, number) WHERE moved_from != '';
        """
    )


def save_change(
    db: apsw.Connection,
    effect: str,
    path: str,
    lines: LineDiff | Sequence[LineDiff],
    origin: ChangeOrigin,
    *,
    at: str,
    undoes: int = 0,
    moved: tuple[str, str] = ("", ""),
) -> None:
    """Store a change that is about to be made; or several in one write, in this order.

    `moved`: from where it moves the note, and to where. The changes replace those of the same effect that were not
    made, with new numbers: others may have come meanwhile.
    """
    delete_unmade(db, effect)
    for each in (lines,) if isinstance(lines, LineDiff) else lines:
        forgotten = origin.made_by == "forget"
        row = Change(0, effect, at, path, each, origin, undoes, forgotten, *moved)
        insert(db, "changes", row, without="number", done=False)


def delete_unmade(db: apsw.Connection, effect: str) -> None:
    """Delete what a write was about to change."""
    db.execute("DELETE FROM changes WHERE effect = ? AND NOT done", (effect,))


def rename_note(db: apsw.Connection, old: str, new: str) -> None:
    """Store that a note has another path."""
    db.execute("UPDATE changes SET path = ? WHERE path = ?", (new, old))


def find_moved_note(db: apsw.Connection, path: str) -> str:
    """Return the path that the note has now which was moved from here last, as far as is recorded; "" for none."""
    rest = "FROM changes WHERE moved_from != '' AND moved_from = ? AND done ORDER BY number DESC"
    found = select_first(db, Change, rest, path)
    return found.path if found else ""


def mark_done(db: apsw.Connection, effect: str) -> None:
    """Store that the change was made."""
    db.execute("UPDATE changes SET done = 1 WHERE effect = ? AND NOT done", (effect,))


def find_change(db: apsw.Connection, number: int) -> Change | None:
    """Return the change with this number, or None."""
    return select_first(db, Change, "FROM changes WHERE number = ? AND done", number)


def find_by_effect(db: apsw.Connection, effect: str) -> Change | None:
    """Return the change that a write with this key made, or None."""
    return select_first(db, Change, "FROM changes WHERE effect = ? AND done ORDER BY number DESC", effect)


def read_chain(db: apsw.Connection, number: int) -> tuple[Change, ...]:
    """Return the first change of a chain, what undoes it, what undoes that, and so on; () if there is none.

    The lines of the first one are in the note as long as the chain has an odd length. `number` is that of any of them.
    """
    found = find_change(db, number)
    while found and found.undoes and (earlier := find_change(db, found.undoes)):
        found = earlier
    chain = list[Change]()
    while found:
        chain.append(found)
        found = select_first(db, Change, f"FROM changes WHERE {_UNDONE_BY}", found.number)
    return tuple(chain)


def find_last(db: apsw.Connection, people: Sequence[str] | None, *, client: str = "") -> Change | None:
    """Return the change by these people (None: by anybody) that they made or redid last and that stands; no undo.

    `client`: only changes that this program made over MCP.
    Changes whose text was forgotten are passed over, unless they are those of `/forget` itself.
    """
    which, values = _made_by(people, client)
    for each in select(db, Change, f"FROM changes WHERE done AND {which} ORDER BY number DESC", *values):
        found = each
        if each.undoes:
            if _is_undo(db, each) or db.execute(_IS_UNDONE, (each.number,)).get:
                continue
            found = read_chain(db, each.number)[0]
            is_theirs = people is None or found.origin.person in people
            if found.undoes or not is_theirs or (client and found.origin.client != client):
                continue
        is_forgotten = found.forgotten and found.origin.made_by != "forget"
        if (found.forgotten or not found.is_empty) and not is_forgotten and is_standing(db, found.number):
            return found
    return None


def find_last_undone(db: apsw.Connection, people: Sequence[str] | None) -> Change | None:
    """Return the latest undo by these people (None: by anybody) that stands, unless they have made a change since."""
    which, values = _made_by(people)
    rest = f"FROM changes WHERE done AND {which} AND made_by != 'flush' ORDER BY number DESC"
    for each in select(db, Change, rest, *values):
        if not each.undoes:
            return None
        if not each.forgotten and _is_undo(db, each) and not db.execute(_IS_UNDONE, (each.number,)).get:
            return each
    return None


_UNDONE_BY = "undoes AND undoes = ? AND done"  # `undoes AND` lets SQLite use the index, which has only those
_IS_UNDONE = f"SELECT EXISTS (SELECT 1 FROM changes WHERE {_UNDONE_BY})"  # noqa: S608


def is_standing(db: apsw.Connection, number: int) -> bool:
    """Return whether the lines of a change are in its note: it was not undone, or has been redone since."""
    later = 0
    while number := db.execute(f"SELECT number FROM changes WHERE {_UNDONE_BY}", (number,)).get or 0:  # noqa: S608
        later += 1
    return later % 2 == 0


def _is_undo(db: apsw.Connection, change: Change) -> bool:
    """Return whether a change undoes another one, rather than redoing it."""
    depth, number = 0, change.undoes
    while number:
        depth, number = (
            depth + 1,
            db.execute("SELECT undoes FROM changes WHERE number = ?", (number,)).get or 0,
        )
    return depth % 2 == 1


def _made_by(people: Sequence[str] | None, client: str = "") -> tuple[str, Sequence[str]]:
    if client:
        which, values = _made_by(people)
        return f"client != '' AND client = ? AND {which}", (client, *values)  # lets SQLite use the index
    if people is None:
        return "TRUE", ()
    return f"person IN ({', '.join('?' * len(people))})", people


def read_later(db: apsw.Connection, path: str, number: int) -> tuple[Change, ...]:
    """Return the changes to a note after the one with this number, the earliest first."""
    rest = "FROM changes WHERE path = ? AND number > ? AND done ORDER BY number"
    return tuple(select(db, Change, rest, path, number))


def read_by_key(db: apsw.Connection, key: str) -> tuple[Change, ...]:
    """Return the changes made by writes with this key, whatever they wrote, in order."""
    # Keys of effects are the write's key, a slash and a digest; "0" is what follows "/".
    rest = "FROM changes WHERE effect >= ? || '/' AND effect < ? || '0' AND done ORDER BY number"
    return tuple(select(db, Change, rest, key, key))


def read_changes_of_conversation(
    db: apsw.Connection, conversation: int, *, first: int, last: int, limit: int
) -> tuple[Change, ...]:
    """Return the changes that messages from `first` to `last` (seqs) of a conversation led to, the latest first."""
    rest = (
        "FROM changes WHERE conversation = ? AND asked_at <= ? AND max(asked_at, upto) >= ? AND done "
        "AND NOT forgotten AND NOT undoes ORDER BY number DESC LIMIT ?"
    )
    return tuple(select(db, Change, rest, conversation, last, first, limit))


def read_changes(
    db: apsw.Connection,
    *,
    limit: int,
    before: int = 0,
    since: str = "",
    path: str = "",
    people: Sequence[str] | None = None,
    client: str = "",
) -> tuple[Change, ...]:
    """Return changes, newest first.

    `before`: only lower numbers; `since`: only from this time on (ISO 8601 in UTC); `path`: only of this note;
    `people`: only by these people (`channel:id`), None for everybody's; `client`: only by this program over MCP.
    """
    where, values = ["done"], list["apsw.SQLiteValue"]()
    if before:
        where, values = [*where, "number < ?"], [*values, before]
    if since:
        where, values = [*where, "at >= ?"], [*values, since]
    if path:
        where, values = [*where, "path = ?"], [*values, path]
    which, names = _made_by(people, client)
    where, values = [*where, which], [*values, *names]
    rest = f"FROM changes WHERE {' AND '.join(where)} ORDER BY number DESC LIMIT ?"
    return tuple(select(db, Change, rest, *values, limit))


def delete_given_up(db: apsw.Connection) -> None:
    """Delete changes that were never made, and whose write nobody will try again."""
    db.execute("DELETE FROM changes WHERE NOT done AND effect NOT IN (SELECT key FROM effects)")


def prune(db: apsw.Connection, *, before: str) -> None:
    """Delete changes made before a time (ISO 8601 in UTC), unless a later change undoes them."""
    db.execute(
        "DELETE FROM changes WHERE at < ? AND done AND number NOT IN (SELECT undoes FROM changes WHERE at >= ?)",
        (before, before),
    )
