"""state.db: numbers of pending messages, notices and reminders."""

from collections.abc import Mapping
from dataclasses import dataclass

import apsw


@dataclass(frozen=True, slots=True)
class QueueStats:
    """Pending rows, of this process or others."""

    waiting: int
    """Messages that nobody has begun."""
    running: int
    """Messages of running turns."""
    answered: int
    """Messages with an undelivered reply."""
    notices: int
    """Undelivered notices."""
    unread: Mapping[str, int]
    """Unreadable updates by channel."""
    reminders: int
    """Pending ones, including scheduled prompts."""
    reminders_due: int
    """Of these, those that are due."""


def read_queue_stats(db: apsw.Connection, *, now: str) -> QueueStats:
    """Count; `now` as `State.at` returns it."""
    rows = db.execute("SELECT state, count(*) FROM inbox WHERE state != 'delivered' GROUP BY state")
    states: dict[str, int] = {str(state): count for state, count in rows}
    reminders, due = db.execute(
        "SELECT count(*), coalesce(sum(due_at <= ?), 0) FROM reminders WHERE state = 'active'", (now,)
    ).get
    channels = db.execute("SELECT channel, count(*) FROM unread GROUP BY channel")
    return QueueStats(
        waiting=states.get("waiting", 0),
        running=states.get("running", 0),
        answered=states.get("answered", 0),
        notices=db.execute("SELECT count(*) FROM outbox WHERE NOT delivered").get,
        unread={str(channel): count for channel, count in channels},
        reminders=reminders,
        reminders_due=due,
    )
