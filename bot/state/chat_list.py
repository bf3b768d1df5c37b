"""state.db: the chats, each with its latest conversation, without any messages."""

from dataclasses import dataclass

import apsw

from bot.messages import ChatId
from bot.state.imports import NOT_IMPORTED


@dataclass(frozen=True, slots=True)
class LatestConversation:
    """A chat's latest conversation; times are ISO 8601 in UTC."""

    chat: str
    """`channel:name`."""
    channel: str
    name: str
    """What people call the chat; "" if unknown."""
    started_at: str
    last_at: str
    """When its latest entry was added."""
    ended_at: str
    """Empty while it is open."""
    messages: int
    """Messages of people and of the assistant."""
    running: bool
    """Whether a turn is running."""


def read_latest_conversations(db: apsw.Connection, *, limit: int) -> tuple[LatestConversation, ...]:
    """Return the latest conversation of each chat, the most recently used first; imported ones are no chats."""
    rows = db.execute(
        f"""
        WITH latest AS (SELECT max(id) AS id FROM conversations WHERE {NOT_IMPORTED} GROUP BY chat),
        timed AS (
            SELECT conversations.*, coalesce(
                (SELECT at FROM entries WHERE conversation = conversations.id ORDER BY seq DESC LIMIT 1), started_at
            ) AS last_at FROM conversations JOIN latest USING (id) ORDER BY last_at DESC, id DESC LIMIT ?
        )
        SELECT chat, coalesce(known_chats.name, ''), started_at, last_at, coalesce(ended_at, ''),
            (SELECT count(*) FROM entries WHERE conversation = timed.id AND kind IN ('user', 'assistant')),
            EXISTS (SELECT 1 FROM inbox WHERE inbox.chat = timed.chat AND inbox.state = 'running')
        FROM timed LEFT JOIN known_chats USING (chat) ORDER BY last_at DESC, timed.id DESC
        """,  # noqa: S608
        (limit,),
    )
    return tuple(
        LatestConversation(
            str(chat),
            ChatId.parse(str(chat)).channel,
            str(name),
            str(started),
            str(last),
            str(ended),
            said,
            bool(running),
        )
        for chat, name, started, last, ended, said, running in rows
    )
