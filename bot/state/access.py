"""state.db: who was let in or kept out by hand, who asks to be let in, and where the memory is open to a room."""

from dataclasses import dataclass
from typing import Literal

import apsw

Decision = Literal["owner", "allowed", "guest", "denied"]


@dataclass(frozen=True, slots=True)
class PairingRequest:
    """A stranger who was given a code."""

    person: str
    code: str
    chat: str
    """Where the stranger is told that somebody has said yes."""
    name: str
    told_at: str
    at: str
    """Since when the code counts."""
    told: int = 1
    """How often the stranger was told the code since `told_at`."""


def m006_access(db: apsw.Connection) -> None:
    """People by decision of an owner, codes that wait for one, what owners were answered, and rooms."""
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
    """Count how often a stranger was told the code. From here on `people.standing` may be `owner` too."""
    db.execute("ALTER TABLE pairing ADD COLUMN told INTEGER NOT NULL DEFAULT 1")


def m019_cleared(db: apsw.Connection) -> None:
    """Whose request an owner has cleared: their code is void, and for an hour they get no other."""
    db.execute("ALTER TABLE pairing ADD COLUMN cleared INTEGER NOT NULL DEFAULT 0")


# -- people -------------------------------------------------------------------------------------------------


def read_decision(db: apsw.Connection, person: str) -> Decision | None:
    """What an owner has decided about a person; None for nothing."""
    found: Decision | None = db.execute("SELECT standing FROM people WHERE person = ?", (person,)).get
    return found


def read_admitted(db: apsw.Connection, channel: str) -> tuple[str, ...]:
    """Who of a channel was let in by an owner, as `channel:id`."""
    rows = db.execute(
        "SELECT person FROM people WHERE standing != 'denied' AND substr(person, 1, ?) = ? ORDER BY person",
        (len(channel) + 1, f"{channel}:"),
    )
    return tuple(str(row[0]) for row in rows)


def read_owners(db: apsw.Connection) -> tuple[str, ...]:
    """Return who was made an owner by a command, as `channel:id`."""
    rows = db.execute("SELECT person FROM people WHERE standing = 'owner' ORDER BY person")
    return tuple(str(row[0]) for row in rows)


def read_name(db: apsw.Connection, person: str) -> str:
    """What a person called themselves when an owner decided about them; "" where that is not known."""
    name: str | None = db.execute("SELECT name FROM people WHERE person = ?", (person,)).get
    return name or ""


def save_decision(
    db: apsw.Connection, person: str, standing: Decision, *, name: str, by: str, at: str
) -> None:
    """Note what an owner has decided; the person's code, if there is one, counts no longer."""
    db.execute(
        "INSERT OR REPLACE INTO people (person, standing, name, decided_by, at) VALUES (?, ?, ?, ?, ?)",
        (person, standing, name, by, at),
    )
    db.execute("DELETE FROM pairing WHERE person = ?", (person,))


# -- who asks to be let in ----------------------------------------------------------------------------------


def asking(db: apsw.Connection, *, since: str, until: str) -> tuple[PairingRequest, ...]:
    """Whose code was given after `since`, and not after `until`; the other codes are forgotten."""
    db.execute("DELETE FROM pairing WHERE at <= ? OR at > ?", (since, until))
    rows = db.execute(
        "SELECT person, code, chat, name, told_at, at, told FROM pairing WHERE NOT cleared ORDER BY at, person"
    )
    return tuple(PairingRequest(*row) for row in rows)


def is_cleared(db: apsw.Connection, person: str, *, since: str, until: str) -> bool:
    """Return whether a person's request was cleared after `since`, and not after `until`."""
    found: int = db.execute(
        "SELECT EXISTS (SELECT 1 FROM pairing WHERE person = ? AND cleared AND at > ? AND at <= ?)",
        (person, since, until),
    ).get
    return bool(found)


def clear_pairing_requests(db: apsw.Connection, *, at: str) -> None:
    """Void the codes of all who wait."""
    db.execute("UPDATE pairing SET cleared = 1, at = ? WHERE NOT cleared", (at,))


def save_pairing_request(db: apsw.Connection, stranger: PairingRequest) -> None:
    """Keep a stranger's code, in the place of what was kept of the same one."""
    db.execute(
        "INSERT OR REPLACE INTO pairing (person, code, chat, name, told_at, at, told) "
        "VALUES (?, ?, ?, ?, ?, ?, ?)",
        (
            stranger.person,
            stranger.code,
            stranger.chat,
            stranger.name,
            stranger.told_at,
            stranger.at,
            stranger.told,
        ),
    )


# -- what owners were answered ------------------------------------------------------------------------------


def read_answer(db: apsw.Connection, key: str) -> str | None:
    """What was answered to a command that was carried out before; None where it was not."""
    answer: str | None = db.execute("SELECT answer FROM decisions WHERE key = ?", (key,)).get
    return answer


def save_answer(
    db: apsw.Connection, key: str, answer: str, *, owner: str, wrong_code: bool = False, at: str
) -> None:
    """Keep an answer for the case that the command is run again after a crash."""
    db.execute(
        "INSERT INTO decisions (key, owner, answer, wrong_code, at) VALUES (?, ?, ?, ?, ?)",
        (key, owner, answer, wrong_code, at),
    )


def delete_answers(db: apsw.Connection, *, before: str, wrong_before: str) -> None:
    """Forget answers given before a moment; those to wrong codes before another one."""
    db.execute(
        "DELETE FROM decisions WHERE at <= ? OR (wrong_code AND at <= ?)",
        (before, wrong_before),
    )


def read_wrong_codes(db: apsw.Connection, owner: str, *, since: str, until: str) -> tuple[str, ...]:
    """When an owner has sent wrong codes, after `since` and not after `until`; the earliest first."""
    rows = db.execute(
        "SELECT at FROM decisions WHERE owner = ? AND wrong_code AND at > ? AND at <= ? ORDER BY at",
        (owner, since, until),
    )
    return tuple(str(at) for (at,) in rows)


# -- rooms --------------------------------------------------------------------------------------------------


def is_memory_open(db: apsw.Connection, chat: str) -> bool:
    """Whether an owner has opened the memory to a room."""
    return bool(db.execute("SELECT memory FROM rooms WHERE chat = ?", (chat,)).get)


def open_memory(db: apsw.Connection, chat: str, *, memory: bool) -> None:
    """Open the memory to a room, or close it."""
    db.execute("INSERT OR REPLACE INTO rooms (chat, memory) VALUES (?, ?)", (chat, memory))
