"""What of state.db nobody will ask for again is let go of: never what was said."""

from datetime import datetime, timedelta

from bot.state import inbox, journal, reminders
from bot.state.database import State, stored

KEPT_DAYS = 30
"""How long is known what was done: so late no platform delivers a message again, and no turn is resumed."""


async def tidy(state: State, now: datetime) -> None:
    """Forget ids of messages answered, notes written and reminders delivered long ago."""
    before = stored(now - timedelta(days=KEPT_DAYS))
    await state.change(lambda db: inbox.prune(db, before=before))
    await state.change(lambda db: journal.prune(db, before=before))
    await state.change(lambda db: reminders.prune(db, before=before))
