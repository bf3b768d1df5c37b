"""state.db: the language of each person, as they chose it and as their app says it."""

from dataclasses import dataclass

import apsw

from bot.state.speakers import SPEAKER


@dataclass(frozen=True, slots=True)
class PersonLanguage:
    """The codes of one person; "" where nothing is known."""

    chosen: str = ""
    """By `/language`."""
    told: str = ""
    """By the platform, with their last message that brought one."""


def m028_languages(db: apsw.Connection) -> None:
    """The languages of people (`channel:id`)."""
    db.execute(
        """
        CREATE TABLE languages (
            person TEXT PRIMARY KEY,
            chosen TEXT NOT NULL DEFAULT '',
            told TEXT NOT NULL DEFAULT ''
        ) STRICT, WITHOUT ROWID;
        """
    )


def read_language(db: apsw.Connection, person: str) -> PersonLanguage:
    """Return what is known of a person's language."""
    row = db.execute("SELECT chosen, told FROM languages WHERE person = ?", (person,)).fetchone()
    return PersonLanguage(str(row[0]), str(row[1])) if row else PersonLanguage()


def save_chosen(db: apsw.Connection, person: str, code: str) -> None:
    """Store what a person chose; "" for no choice."""
    db.execute(
        "INSERT INTO languages (person, chosen) VALUES (?, ?) "
        "ON CONFLICT (person) DO UPDATE SET chosen = excluded.chosen",
        (person, code),
    )


def save_told(db: apsw.Connection, person: str, code: str) -> None:
    """Store what the platform says."""
    db.execute(
        "INSERT INTO languages (person, told) VALUES (?, ?) "
        "ON CONFLICT (person) DO UPDATE SET told = excluded.told",
        (person, code),
    )


def read_last_speaker(db: apsw.Connection, chat: str) -> str:
    """Return who (`channel:id`) wrote last in a chat's latest conversation; "" if nobody did."""
    row = db.execute(
        f"SELECT {SPEAKER} FROM entries WHERE kind = 'user' AND conversation = "  # noqa: S608
        "(SELECT max(id) FROM conversations WHERE chat = ?) ORDER BY seq DESC LIMIT 1",
        (chat,),
    ).fetchone()
    return str(row[0] or "") if row else ""
