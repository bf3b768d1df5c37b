"""state.db: how much of what lies there is still to be done. SQL on an open connection."""

from collections.abc import Mapping
from dataclasses import dataclass

import apsw


@dataclass(frozen=True, slots=True)
class QueueStats:
    """What waits, in this process or for another."""

    waiting: int
    """Messages that nothing was done for yet."""
    running: int
    """Messages that a turn is at work on."""
    answered: int
    """Messages whose reply is known and not delivered."""
    notices: int
    """What is to be told without being asked, and is not delivered."""
    unread: Mapping[str, int]
    """What could not be read, by channel."""
    reminders: int
    """To come, with scheduled prompts."""
    reminders_due: int
    """Of these, those whose moment has come."""


def read_queue_stats(db: apsw.Connection, *, now: str) -> QueueStats:
    """Count; `now` as `State.at` gives it."""
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
