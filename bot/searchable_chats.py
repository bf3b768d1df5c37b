"""Whose conversations somebody may search: decided before the search, by chat."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from bot.access import Standing
from bot.messages import ChatId, PersonId

if TYPE_CHECKING:
    from bot.services import Services


async def searchable_chats(
    services: "Services", person: PersonId, chat: ChatId, *, groups: Iterable[str] = ()
) -> frozenset[str]:
    """Return the chats (`channel:name`) whose conversations a person who asks in `chat` may search: that chat alone.

    Guests and strangers may search nothing. `groups`: what counts for the person in this chat, as in IncomingMessage.
    Raises StateFault.
    """
    if await services.access.standing_of(person, groups) < Standing.ALLOWED:
        return frozenset()
    return frozenset({str(chat)})
