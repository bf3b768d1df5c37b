"""state.db: every conversation for a list, the latest first."""

import json
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import apsw

_LAST_AT = (
    "coalesce((SELECT at FROM entries WHERE conversation = conversations.id ORDER BY seq DESC LIMIT 1), "
    "started_at)"
)
_CHATS = "(?1 IS NULL OR conversations.chat IN (SELECT value FROM json_each(?1)))"


@dataclass(frozen=True, slots=True)
class ListedConversation:
    """One conversation, without what was said; times are ISO 8601 in UTC."""

    number: int
    chat: str
    """`channel:name`."""
    chat_name: str
    """What people call the chat; "" if unknown."""
    title: str
    """The title of an imported conversation."""
    imported_from: str
    """The format that it was imported from, such as `chatgpt`; "" if it is our own."""
    started_at: str
    last_at: str
    """When its latest entry was added."""
    ended_at: str
    """Empty while it is open."""
    messages: int
    """Messages of people and of the assistant."""


class ListPlace(NamedTuple):
    """A place in the list: behind the conversation with this number."""

    at: str
    number: int


def m027_conversation_list(db: apsw.Connection) -> None:
    """Indexes that list a hundred thousand conversations by time, and count their messages, without reading them."""
    db.execute(
        """
        CREATE INDEX conversations_ended ON conversations (ended_at, id, chat) WHERE ended_at IS NOT NULL;
        CREATE INDEX said ON entries (conversation) WHERE kind IN ('user', 'assistant');
        """
    )


def read_chats(db: apsw.Connection) -> tuple[str, ...]:
    """Return every chat (`channel:name`) that has a conversation."""
    return tuple(str(chat) for (chat,) in db.execute("SELECT DISTINCT chat FROM conversations ORDER BY chat"))


def count_conversations(db: apsw.Connection, *, chats: Collection[str] | None = None) -> int:
    """Return how many conversations these chats have; None for all chats."""
    count: int = db.execute(f"SELECT count(*) FROM conversations WHERE {_CHATS}", (_encode(chats),)).get  # noqa: S608
    return count


def list_latest(
    db: apsw.Connection,
    *,
    chats: Collection[str] | None = None,
    limit: int,
    before: ListPlace | None = None,
) -> tuple[tuple[ListedConversation, ...], ListPlace | None]:
    """Return conversations of these chats (None for all), the latest first, and where the next ones begin.

    An open one is as late as its latest entry, an ended one as its end. `before`: where an earlier list ended.
    """
    wanted, at = _encode(chats), before or ListPlace("~", 0)
    open_ones = db.execute(
        f"SELECT {_LAST_AT}, id FROM conversations WHERE ended_at IS NULL AND {_CHATS}",  # noqa: S608 - only our own
        (wanted,),
    )
    ended = db.execute(
        "SELECT ended_at, id FROM conversations "  # noqa: S608
        f"WHERE ended_at IS NOT NULL AND (ended_at, id) < (?2, ?3) AND {_CHATS} "
        "ORDER BY ended_at DESC, id DESC LIMIT ?4",
        (wanted, *at, limit + 1),
    )
    places = [ListPlace(str(latest), int(str(number))) for latest, number in (*open_ones, *ended)]
    places = sorted((place for place in places if place < at), reverse=True)[: limit + 1]
    more = places[limit - 1] if len(places) > limit else None
    return _read(db, [place.number for place in places[:limit]]), more


def find_conversation(db: apsw.Connection, number: int) -> ListedConversation | None:
    """Return one conversation, or None."""
    return next(iter(_read(db, [number])), None)


def _read(db: apsw.Connection, numbers: Sequence[int]) -> tuple[ListedConversation, ...]:
    rows = db.execute(
        f"""
        SELECT conversations.id, conversations.chat, coalesce(name, ''), coalesce(title, ''), coalesce(format, ''),
            started_at, {_LAST_AT}, coalesce(ended_at, ''),
            (SELECT count(*) FROM entries
                WHERE conversation = conversations.id AND kind IN ('user', 'assistant'))
        FROM json_each(?) AS numbers CROSS JOIN conversations ON conversations.id = numbers.value
        LEFT JOIN known_chats ON known_chats.chat = conversations.chat
        LEFT JOIN imported_conversations ON conversation = conversations.id ORDER BY numbers.key
        """,  # noqa: S608
        (json.dumps([*numbers]),),
    )
    return tuple(ListedConversation(*row) for row in rows)


def _encode(chats: Collection[str] | None) -> str | None:
    return None if chats is None else json.dumps([*chats])
