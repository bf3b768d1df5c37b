"""state.db as it lies there: whole or not, and what in it waits or cannot be read; nothing is changed."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

import apsw

from bot.models.health import Health
from bot.state import access, inbox, models
from bot.state.database import MIGRATIONS, StateBroken, StateTooNew, StateUnusable
from memory.read_only import DatabaseDamaged, is_empty_database, quick_check, run_read_only


@dataclass(frozen=True, slots=True)
class StateReport:
    """What there is in the file."""

    version: int
    """Of its tables; lower than `ours` before the first start of a new version, and then no more is known."""
    ours: int
    looked_through: bool = False
    """Whether there was the time to look at all of it."""
    waiting: Mapping[str, int] = field(default_factory=dict)
    """Messages without an answer, by channel."""
    undelivered: Mapping[str, int] = field(default_factory=dict)
    """Replies and notices that have not reached their chat, by channel."""
    oldest_open: str = ""
    """When the oldest of all these came; ISO 8601 in UTC."""
    unreadable: int = 0
    """Of the messages, those that this version cannot read."""
    unread: Mapping[str, int] = field(default_factory=dict)
    """What came from a platform and was no message that could be read, by channel."""
    latest: Mapping[str, str] = field(default_factory=dict)
    """When the last message came, by channel, as far as that is kept; ISO 8601 in UTC."""
    begun: str = ""
    """When the first conversation began; ISO 8601 in UTC, "" before it."""
    owners: tuple[str, ...] = ()
    """Who was made an owner by a command, as `channel:id`."""
    health: tuple[Health, ...] = ()
    """How the models fare."""


def check_state(path: Path, *, seconds: float) -> StateReport:
    """Look at a database that is there; raises StateFault. Not all pages where that takes longer than `seconds`."""
    try:
        found = run_read_only(path, _inspect, seconds=seconds)
        try:
            run_read_only(path, quick_check, seconds=seconds)
        except apsw.InterruptError:
            return found
    except apsw.InterruptError as error:
        raise StateUnusable(f"{path} cannot be read in time") from error
    except (DatabaseDamaged, apsw.NotADBError, apsw.CorruptError) as error:
        raise StateBroken(f"{path} is damaged ({error})") from error
    except (apsw.SQLError, TypeError, ValueError) as error:
        raise StateBroken(f"{path} is not a database of Commonplace ({error})") from error
    except apsw.BusyError as error:
        raise StateUnusable(f"{path} is locked by another program") from error
    except (apsw.Error, OSError) as error:
        raise StateUnusable(f"{path} cannot be read ({error})") from error
    return replace(found, looked_through=True)


def _inspect(db: apsw.Connection) -> StateReport:
    version, ours = int(db.execute("PRAGMA user_version").get), len(MIGRATIONS)
    if version > ours:
        raise StateTooNew(
            f"it was written by a newer version of Commonplace (format {version}, this one knows {ours})"
        )
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
        begun=str(db.execute("SELECT ifnull(min(started_at), '') FROM conversations").get),
        owners=access.read_owners(db),
        health=models.read_health(db),
    )


def _by_channel(db: apsw.Connection, chats: str) -> dict[str, int]:
    rows = db.execute(
        f"SELECT substr(chat, 1, instr(chat, ':') - 1) AS channel, count(*) FROM ({chats}) GROUP BY 1"  # noqa: S608
    )
    return {str(channel): int(str(count)) for channel, count in rows}
