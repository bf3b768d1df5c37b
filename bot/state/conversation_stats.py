"""state.db: numbers of conversations and of pairing requests."""

from dataclasses import dataclass

import apsw

from bot.state.imports import NOT_IMPORTED


@dataclass(frozen=True, slots=True)
class ConversationStats:
    """Numbers only; no names, no messages."""

    conversations: int
    """Open ones."""
    ended: int
    """Conversations that have ended, without imported ones."""
    asking: int
    """People with a valid code."""


def read_conversation_stats(db: apsw.Connection, *, asked_since: str, now: str) -> ConversationStats:
    """Count; codes given after `asked_since` are valid. Both times are as `format_timestamp` returns them."""
    going_on, ended = db.execute(
        f"SELECT count(*) - count(ended_at), count(ended_at) FROM conversations WHERE {NOT_IMPORTED}"  # noqa: S608
    ).get
    asking: int = db.execute("SELECT count(*) FROM pairing WHERE at > ? AND at <= ?", (asked_since, now)).get
    return ConversationStats(going_on, ended, asking)
