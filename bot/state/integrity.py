"""Checks a state.db file without changing it: its integrity, pending rows and unreadable ones."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

import apsw

from bot.models.health import Health
from bot.state import access, inbox, models
from bot.state.database import StateBroken, StateTooNew, StateUnusable
from bot.state.imports import NOT_IMPORTED
from bot.state.migrations import MIGRATIONS, read_format, read_newer
from memory.read_only import DatabaseDamaged, is_empty_database, quick_check, run_read_only


@dataclass(frozen=True, slots=True)
class StateReport:
    """The content of the file."""

    version: int
    """Version of its tables; if lower than `ours`, nothing else is known before the first start."""
    ours: int
    looked_through: bool = False
    """Whether there was time to check all of it."""
    waiting: Mapping[str, int] = field(default_factory=dict)
    """Unanswered messages by channel."""
    undelivered: Mapping[str, int] = field(default_factory=dict)
    """Undelivered replies and notices by channel."""
    oldest_open: str = ""
    """When the oldest of these came; ISO 8601 in UTC."""
    unreadable: int = 0
    """Messages that this version cannot read."""
    unread: Mapping[str, int] = field(default_factory=dict)
    """Unreadable updates from platforms, by channel."""
    latest: Mapping[str, str] = field(default_factory=dict)
    """When the last message came, by channel, as far as stored; ISO 8601 in UTC."""
    begun: str = ""
    """When the first conversation began, without imported ones; ISO 8601 in UTC, "" if there is none."""
    owners: tuple[str, ...] = ()
    """People who were made owners by a command, as `channel:id`."""
    health: tuple[Health, ...] = ()
    """Health of the models."""


def check_state(path: Path, *, seconds: float) -> StateReport:
    """Check an existing database; skips the remaining pages after `seconds`. Raises StateFault."""
    try:
        found = run_read_only(path, lambda db: _inspect(db, path), seconds=seconds)
        try:
            run_read_only(path, quick_check, seconds=seconds)
        except apsw.InterruptError:
            return found
    except apsw.InterruptError as error:
        raise StateUnusable("{path} cannot be read in time", path=path) from error
    except (DatabaseDamaged, apsw.NotADBError, apsw.CorruptError) as error:
        raise StateBroken("{path} is damaged ({error})", path=path, error=error) from error
    except (apsw.SQLError, TypeError, ValueError) as error:
        raise StateBroken(
            "{path} is not a database of Commonplace ({error})", path=path, error=error
        ) from error
    except apsw.BusyError as error:
        raise StateUnusable("{path} is locked by another program", path=path) from error
    except (apsw.Error, OSError) as error:
        raise StateUnusable("{path} cannot be read ({error})", path=path, error=error) from error
    return replace(found, looked_through=True)


def _inspect(db: apsw.Connection, path: Path) -> StateReport:
    if newer := read_newer(db, path.parent):
        raise StateTooNew(path, newer)
    version, ours = read_format(db), len(MIGRATIONS)
    if is_empty_database(db):
        return StateReport(version, ours)
    db.execute("SELECT 1 FROM conversations LIMIT 1").fetchall()
    if version < ours:
        return StateReport(version, ours)
    waiting = _by_channel(db, "SELECT chat FROM inbox WHERE state IN ('waiting', 'running')")
    replies = _by_channel(
        db,
        "SELECT chat FROM inbox WHERE state = 'answered' AND number = turn "
        "UNION ALL SELECT chat FROM outbox WHERE NOT delivered",
    )
    total: int = db.execute("SELECT count(*) FROM inbox WHERE state != 'delivered'").get
    oldest: str | None = db.execute(
        "SELECT min(at) FROM (SELECT at FROM inbox WHERE state != 'delivered' "
        "UNION ALL SELECT at FROM outbox WHERE NOT delivered)"
    ).get
    latest = db.execute(
        "SELECT substr(chat, 1, instr(chat, ':') - 1) AS channel, max(at) FROM inbox GROUP BY 1"
    )
    return StateReport(
        version,
        ours,
        waiting=waiting,
        undelivered=replies,
        oldest_open=oldest or "",
        unreadable=total - len(inbox.read_undelivered(db)),
        unread={
            str(channel): int(str(count))
            for channel, count in db.execute("SELECT channel, count(*) FROM unread GROUP BY channel")
        },
        latest={str(channel): str(at) for channel, at in latest},
        begun=str(
            db.execute(f"SELECT ifnull(min(started_at), '') FROM conversations WHERE {NOT_IMPORTED}").get  # noqa: S608
        ),
        owners=access.read_owners(db),
        health=models.read_health(db),
    )


def _by_channel(db: apsw.Connection, chats: str) -> dict[str, int]:
    rows = db.execute(
        f"SELECT substr(chat, 1, instr(chat, ':') - 1) AS channel, count(*) FROM ({chats}) GROUP BY 1"  # noqa: S608
    )
    return {str(channel): int(str(count)) for channel, count in rows}
