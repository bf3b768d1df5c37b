"""Delete old rows of state.db that are no longer needed; conversations are never deleted."""

from datetime import datetime, timedelta

from bot.state import changes, documents, forgetting, inbox, model_history, note_effects, reminders
from bot.state.database import State, format_timestamp

RETENTION_DAYS = 30
"""Days that finished work is remembered; no platform redelivers a message after that."""
DOCUMENT_RETENTION_DAYS = 90
"""Days that a sent document can still be saved."""
CHANGE_RETENTION_DAYS = 90
"""Days that changes of notes are kept, unless the settings say otherwise."""
MODEL_HOURS_RETENTION_DAYS = 8
"""Days of hourly model statistics: a week and the current day."""


async def clean_up(state: State, now: datetime, *, change_days: int = CHANGE_RETENTION_DAYS) -> None:
    """Delete old ids of answered messages, written notes and delivered reminders, and yesterday's `/forget` requests.

    Rows since the oldest open message are kept, as its turn may still be resumed. `change_days`: how many days
    changes of notes are kept; 0 for ever.
    """
    before = format_timestamp(now - timedelta(days=RETENTION_DAYS))
    await state.change(lambda db: inbox.prune(db, before=before))
    if open_since := await state.read(inbox.oldest_open_at):
        before = min(before, open_since)
    await state.change(lambda db: note_effects.prune(db, before=before))
    await state.change(changes.delete_given_up)
    if change_days:
        changes_before = format_timestamp(now - timedelta(days=change_days))
        await state.change(lambda db: changes.prune(db, before=changes_before))
    await state.change(lambda db: reminders.prune(db, before=before))
    long_ago = format_timestamp(now - timedelta(days=DOCUMENT_RETENTION_DAYS))
    await state.change(lambda db: documents.prune(db, before=long_ago))
    hours_before = (now - timedelta(days=MODEL_HOURS_RETENTION_DAYS)).timestamp()
    await state.change(lambda db: model_history.prune(db, before=hours_before))
    since = format_timestamp(now - timedelta(days=1))
    await state.change(
        lambda db: forgetting.delete_old_requests(db, since=since, until=format_timestamp(now))
    )
