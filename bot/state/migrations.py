"""The migrations of state.db, the record of upgrades, and what a newer file says of itself."""

import shlex
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import apsw

from bot.state import (
    access,
    changes,
    channels,
    chat_migration,
    conversation_list,
    conversations,
    documents,
    flushes,
    forgetting,
    imports,
    inbox,
    languages,
    links,
    model_history,
    models,
    note_effects,
    reminders,
    speakers,
)
from bot.version import VERSION

Migration = Callable[[apsw.Connection], None]


def m030_upgrades(db: apsw.Connection) -> None:
    """Upgrades of this file: from which format to which, by which version, and the backup that was made before."""
    db.execute(
        """
        CREATE TABLE upgrades (
            format INTEGER PRIMARY KEY,
            earlier INTEGER NOT NULL,
            version TEXT NOT NULL,
            backup TEXT NOT NULL,
            at TEXT NOT NULL
        ) STRICT;
        """
    )


MIGRATIONS: tuple[Migration, ...] = (
    conversations.m001_conversations,
    models.m002_models,
    inbox.m003_inbox,
    note_effects.m004_effects,
    flushes.m005_flushes,
    access.m006_access,
    reminders.m007_reminders,
    conversations.m008_rewritten,
    forgetting.m009_forgetting,
    inbox.m010_choices,
    channels.m011_channels,
    documents.m012_documents,
    chat_migration.m013_moves,
    model_history.m014_model_history,
    inbox.m015_turns,
    access.m016_owners,
    models.m017_told_no_model,
    reminders.m018_skipped,
    access.m019_cleared,
    reminders.m020_moments,
    inbox.m021_notice_attempts,
    links.m022_links,
    speakers.m023_speakers,
    imports.m024_imports,
    changes.m025_changes,
    changes.m026_change_clients,
    conversation_list.m027_conversation_list,
    languages.m028_languages,
    changes.m029_moves,
    m030_upgrades,
)
"""Numbered by their position; never change a released one. The format of a file is the number of those it has had."""


def read_format(db: apsw.Connection) -> int:
    """Return the format of an open file; 0 for an empty one."""
    version: int = db.execute("PRAGMA user_version").get
    return version


def upgrade(db: apsw.Connection, *, backup: str) -> None:
    """Bring a file to the latest format, in the caller's transaction.

    `backup`: the archive made before, relative to the file's folder; "" for none.
    """
    earlier, latest = read_format(db), len(MIGRATIONS)
    for migration in MIGRATIONS[earlier:]:
        migration(db)
    db.execute(
        "INSERT OR REPLACE INTO upgrades (format, earlier, version, backup, at) "
        "VALUES (?, ?, ?, ?, strftime('%Y-%m-%dT%H:%M:%f+00:00'))",
        (latest, earlier, VERSION, backup),
    )
    db.execute(f"PRAGMA user_version = {latest}")


@dataclass(frozen=True, slots=True)
class NewerFormat:
    """What a file of a newer version says of itself."""

    format: int
    version: str
    """Version of the program that has upgraded it; "" if it does not say."""
    backup: Path | None
    """The archive made before that, if this program can restore it."""

    @property
    def description(self) -> str:
        """Who wrote it and what this program knows, as the rest of a sentence that begins with the file."""
        by = f"{self.version}, " if self.version else ""
        return (
            f"was written by a newer version of Commonplace ({by}format {self.format}; this is {VERSION}, which knows "
            f"formats up to {len(MIGRATIONS)})"
        )

    @property
    def fix(self) -> str:
        """How to go on."""
        install = f"install Commonplace {self.version} or later" if self.version else "update Commonplace"
        if self.backup is None:
            return f"{install}, or restore a backup that this version made (commonplace restore FILE)"
        command = shlex.join(["commonplace", "restore", str(self.backup)])
        return f"{install}, or go back to the backup made before the upgrade: {command}"


def read_newer(db: apsw.Connection, folder: Path) -> NewerFormat | None:
    """Return what a file says of itself if this program is too old for it, otherwise None; changes nothing.

    `folder` is where state.db is, or belongs. No other table is read: a newer version may have changed any of them.
    """
    if (version := read_format(db)) <= len(MIGRATIONS):
        return None
    try:
        # The first upgrade beyond what is known here has left a format that may be.
        rows = db.execute(
            "SELECT earlier, version, backup FROM upgrades WHERE format > ? ORDER BY format",
            (len(MIGRATIONS),),
        ).fetchall()
        earlier, backup = int(str(rows[0][0])), folder / str(rows[0][2])
        is_ours = bool(rows[0][2]) and earlier <= len(MIGRATIONS) and backup.is_file()
        return NewerFormat(version, str(rows[-1][1]), backup if is_ours else None)
    except (apsw.SQLError, IndexError, ValueError, OSError):
        return NewerFormat(version, "", None)
