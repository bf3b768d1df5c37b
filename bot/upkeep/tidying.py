"""What of state.db nobody will ask for again is let go of: never what was said."""

from datetime import datetime, timedelta

from bot.state import documents, forgetting, inbox, journal, model_history, reminders
from bot.state.database import State, stored

KEPT_DAYS = 30
"""How long is known what was done: so late no platform delivers a message again."""
DOCUMENTS_KEPT_DAYS = 90
"""How long somebody may still ask for a document to be filed that was sent."""
MODEL_HOURS_KEPT_DAYS = 8
"""How long it is known how models fared hour by hour: a week, and the day on which this is looked at."""


async def tidy(state: State, now: datetime) -> None:
    """Forget ids of messages answered, notes written and reminders delivered long ago; yesterday's `/forget` too.

    What was done since the oldest open message came stays known: its turn may be resumed, however late.
    """
    before = stored(now - timedelta(days=KEPT_DAYS))
    await state.change(lambda db: inbox.prune(db, before=before))
    if open_since := await state.read(inbox.open_since):
        before = min(before, open_since)
    await state.change(lambda db: journal.prune(db, before=before))
    await state.change(lambda db: reminders.prune(db, before=before))
    long_ago = stored(now - timedelta(days=DOCUMENTS_KEPT_DAYS))
    await state.change(lambda db: documents.prune(db, before=long_ago))
    hours_before = (now - timedelta(days=MODEL_HOURS_KEPT_DAYS)).timestamp()
    await state.change(lambda db: model_history.prune(db, before=hours_before))
    since = stored(now - timedelta(days=1))
    await state.change(lambda db: forgetting.forget_asking(db, since=since, until=stored(now)))
