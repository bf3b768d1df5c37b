"""state.db: how many conversations there are, and how many people ask to be let in. SQL on an open connection."""

from dataclasses import dataclass

import apsw


@dataclass(frozen=True, slots=True)
class ConversationStats:
    """How many there are; no names, no words."""

    conversations: int
    """That are going on."""
    ended: int
    """Conversations that another one has followed."""
    asking: int
    """People whose code still counts."""


def read_conversation_stats(db: apsw.Connection, *, asked_since: str, now: str) -> ConversationStats:
    """Count; who was given a code after `asked_since` still asks. Both moments are as `stored` gives them."""
    going_on, ended = db.execute("SELECT count(*) - count(ended_at), count(ended_at) FROM conversations").get
    asking: int = db.execute("SELECT count(*) FROM pairing WHERE at > ? AND at <= ?", (asked_since, now)).get
    return ConversationStats(going_on, ended, asking)
