"""state.db: decisions about people, pairing requests, and rooms in which the memory is open."""

from dataclasses import dataclass
from typing import Literal

import apsw

from bot.state.rows import insert, select, select_first

Decision = Literal["owner", "allowed", "guest", "denied"]


@dataclass(frozen=True, slots=True)
class PairingRequest:
    """A stranger with a pairing code."""

    person: str
    code: str
    chat: str
    """Where the stranger is told that an owner has agreed."""
    name: str
    told_at: str
    at: str
    """Start of the code's validity."""
    told: int = 1
    """How often the stranger was told the code since `told_at`."""


@dataclass(frozen=True, slots=True)
class DecidedPerson:
    """Somebody about whom an owner decided."""

    person: str
    """`channel:id`."""
    standing: Decision
    name: str
    """Their name at that time; "" if unknown."""
    decided_by: str
    """`channel:id`."""
    at: str


def m006_access(db: apsw.Connection) -> None:
    """People with an owner's decision, pending codes, answers to owners, and rooms."""
    db.execute(
        """
        CREATE TABLE people (
            person TEXT PRIMARY KEY,
            standing TEXT NOT NULL,
            name TEXT NOT NULL,
            decided_by TEXT NOT NULL,
            at TEXT NOT NULL
        ) STRICT;
        CREATE TABLE pairing (
            person TEXT PRIMARY KEY,
            code TEXT NOT NULL UNIQUE,
            chat TEXT NOT NULL,
            name TEXT NOT NULL,
            told_at TEXT NOT NULL,
            at TEXT NOT NULL
        ) STRICT;
        CREATE TABLE decisions (
            key TEXT PRIMARY KEY,
            owner TEXT NOT NULL,
            answer TEXT NOT NULL,
            wrong_code INTEGER NOT NULL,
            at TEXT NOT NULL
        ) STRICT;
        CREATE TABLE rooms (
            chat TEXT PRIMARY KEY,
            memory INTEGER NOT NULL
        ) STRICT;
        """
    )


def m016_owners(db: apsw.Connection) -> None:
    """Count how often a stranger was told the code. From here on `people.standing` may also be `owner`."""
    db.execute("ALTER TABLE pairing ADD COLUMN told INTEGER NOT NULL DEFAULT 1")


def m019_cleared(db: apsw.Connection) -> None:
    """Mark cleared requests: their codes are void, and their people get no other for an hour."""
    db.execute("ALTER TABLE pairing ADD COLUMN cleared INTEGER NOT NULL DEFAULT 0")


# -- people -------------------------------------------------------------------------------------------------


def read_decision(db: apsw.Connection, person: str) -> Decision | None:
    """Return an owner's decision about a person; None if there is none."""
    found: Decision | None = db.execute("SELECT standing FROM people WHERE person = ?", (person,)).get
    return found


def read_admitted(db: apsw.Connection, channel: str) -> tuple[str, ...]:
    """Return the people of a channel whom an owner let in, as `channel:id`."""
    rows = db.execute(
        "SELECT person FROM people WHERE standing != 'denied' AND substr(person, 1, ?) = ? ORDER BY person",
        (len(channel) + 1, f"{channel}:"),
    )
    return tuple(str(row[0]) for row in rows)


def read_owners(db: apsw.Connection) -> tuple[str, ...]:
    """Return the people who were made owners by a command, as `channel:id`."""
    rows = db.execute("SELECT person FROM people WHERE standing = 'owner' ORDER BY person")
    return tuple(str(row[0]) for row in rows)


def read_name(db: apsw.Connection, person: str) -> str:
    """Return a person's name at the time of an owner's decision; "" if unknown."""
    name: str | None = db.execute("SELECT name FROM people WHERE person = ?", (person,)).get
    return name or ""


def read_decided(db: apsw.Connection, person: str) -> DecidedPerson | None:
    """Return an owner's decision about a person with all that is known of it; None if there is none."""
    return select_first(db, DecidedPerson, "FROM people WHERE person = ?", person)


def list_decided(
    db: apsw.Connection, *, denied: bool, limit: int, offset: int = 0
) -> tuple[DecidedPerson, ...]:
    """Return the people whom an owner let in, or keeps out; the latest decision first."""
    rest = "FROM people WHERE (standing = 'denied') = ? ORDER BY at DESC, person LIMIT ? OFFSET ?"
    return tuple(select(db, DecidedPerson, rest, denied, limit, offset))


def count_decided(db: apsw.Connection, *, denied: bool) -> int:
    """Return how many people an owner let in, or keeps out."""
    count: int = db.execute("SELECT count(*) FROM people WHERE (standing = 'denied') = ?", (denied,)).get
    return count


def save_decision(
    db: apsw.Connection, person: str, standing: Decision, *, name: str, by: str, at: str
) -> None:
    """Store an owner's decision; the person's code becomes void."""
    db.execute(
        "INSERT OR REPLACE INTO people (person, standing, name, decided_by, at) VALUES (?, ?, ?, ?, ?)",
        (person, standing, name, by, at),
    )
    db.execute("DELETE FROM pairing WHERE person = ?", (person,))


# -- pairing requests -----------------------------------------------------------------------------------------


def read_pairing_requests(db: apsw.Connection, *, since: str, until: str) -> tuple[PairingRequest, ...]:
    """Return requests with a code issued after `since` and not after `until`; delete all others."""
    db.execute("DELETE FROM pairing WHERE at <= ? OR at > ?", (since, until))
    return tuple(select(db, PairingRequest, "FROM pairing WHERE NOT cleared ORDER BY at, person"))


def is_cleared(db: apsw.Connection, person: str, *, since: str, until: str) -> bool:
    """Return whether a person's request was cleared after `since` and not after `until`."""
    found: int = db.execute(
        "SELECT EXISTS (SELECT 1 FROM pairing WHERE person = ? AND cleared AND at > ? AND at <= ?)",
        (person, since, until),
    ).get
    return bool(found)


def clear_pairing_requests(db: apsw.Connection, *, at: str) -> None:
    """Void all pending codes."""
    db.execute("UPDATE pairing SET cleared = 1, at = ? WHERE NOT cleared", (at,))


def save_pairing_request(db: apsw.Connection, stranger: PairingRequest) -> None:
    """Store a stranger's request, replacing an earlier one."""
    insert(db, "pairing", stranger, conflict="REPLACE")


# -- answers to owners ----------------------------------------------------------------------------------------


def read_answer(db: apsw.Connection, key: str) -> str | None:
    """Return the stored answer to a command; None if it has not run."""
    answer: str | None = db.execute("SELECT answer FROM decisions WHERE key = ?", (key,)).get
    return answer


def save_answer(
    db: apsw.Connection, key: str, answer: str, *, owner: str, wrong_code: bool = False, at: str
) -> None:
    """Store an answer, in case the command runs again after a crash."""
    db.execute(
        "INSERT INTO decisions (key, owner, answer, wrong_code, at) VALUES (?, ?, ?, ?, ?)",
        (key, owner, answer, wrong_code, at),
    )


def delete_answers(db: apsw.Connection, *, before: str, wrong_before: str) -> None:
    """Delete answers given before a time; answers to wrong codes before another one."""
    db.execute(
        "DELETE FROM decisions WHERE at <= ? OR (wrong_code AND at <= ?)",
        (before, wrong_before),
    )


def read_wrong_codes(db: apsw.Connection, owner: str, *, since: str, until: str) -> tuple[str, ...]:
    """Return when an owner sent wrong codes, after `since` and not after `until`; the earliest first."""
    rows = db.execute(
        "SELECT at FROM decisions WHERE owner = ? AND wrong_code AND at > ? AND at <= ? ORDER BY at",
        (owner, since, until),
    )
    return tuple(str(at) for (at,) in rows)


# -- rooms --------------------------------------------------------------------------------------------------


def is_memory_open(db: apsw.Connection, chat: str) -> bool:
    """Return whether an owner has opened the memory to a room."""
    return bool(db.execute("SELECT memory FROM rooms WHERE chat = ?", (chat,)).get)


def open_memory(db: apsw.Connection, chat: str, *, memory: bool) -> None:
    """Open the memory to a room, or close it."""
    db.execute("INSERT OR REPLACE INTO rooms (chat, memory) VALUES (?, ?)", (chat, memory))
