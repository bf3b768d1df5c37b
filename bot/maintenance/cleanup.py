"""What of state.db nobody will ask for again is let go of: never what was said."""

from datetime import datetime, timedelta

from bot.state import documents, forgetting, inbox, model_history, note_effects, reminders
from bot.state.database import State, format_timestamp

RETENTION_DAYS = 30
"""How long is known what was done: so late no platform delivers a message again."""
DOCUMENT_RETENTION_DAYS = 90
"""How long somebody may still ask for a document to be filed that was sent."""
MODEL_HOURS_RETENTION_DAYS = 8
"""How long it is known how models fared hour by hour: a week, and the day on which this is looked at."""


async def clean_up(state: State, now: datetime) -> None:
    """Forget ids of messages answered, notes written and reminders delivered long ago; yesterday's `/forget` too.

    What was done since the oldest open message came stays known: its turn may be resumed, however late.
    """
    before = format_timestamp(now - timedelta(days=RETENTION_DAYS))
    await state.change(lambda db: inbox.prune(db, before=before))
    if open_since := await state.read(inbox.oldest_open_at):
        before = min(before, open_since)
    await state.change(lambda db: note_effects.prune(db, before=before))
    await state.change(lambda db: reminders.prune(db, before=before))
    long_ago = format_timestamp(now - timedelta(days=DOCUMENT_RETENTION_DAYS))
    await state.change(lambda db: documents.prune(db, before=long_ago))
    hours_before = (now - timedelta(days=MODEL_HOURS_RETENTION_DAYS)).timestamp()
    await state.change(lambda db: model_history.prune(db, before=hours_before))
    since = format_timestamp(now - timedelta(days=1))
    await state.change(
        lambda db: forgetting.delete_old_requests(db, since=since, until=format_timestamp(now))
    )
