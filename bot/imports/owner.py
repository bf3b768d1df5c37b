"""Find the person whose conversations are imported."""

from bot.config.settings import Settings
from bot.imports.errors import ImportFault
from bot.linked_people import find_linked
from bot.messages import OWNER_AT_TERMINAL, ChatId, PersonId
from bot.state import access
from bot.state.database import State
from bot.state.imports import IMPORTED
from bot.state.links import read_links


async def find_owner(settings: Settings, state: State | None, wanted: str) -> PersonId:
    """Return the owner who imports: the one named, the only one, or else whoever sits at the terminal.

    Raises ImportFault if it is unclear.
    """
    stored = await state.read(access.read_owners) if state else ()
    owners = list(dict.fromkeys((*settings.access.owners, *stored)))
    if not wanted and len(owners) == 1:
        wanted = owners[0]
    if not (wanted or owners) or wanted == str(OWNER_AT_TERMINAL):
        return OWNER_AT_TERMINAL
    named = ", ".join((*owners, str(OWNER_AT_TERMINAL)))
    if not wanted:
        raise ImportFault(
            f"there are several owners: say whose conversations these are with --owner: {named}"
        )
    if wanted not in owners:
        raise ImportFault(f"{wanted} is not an owner; --owner can be: {named}")
    return PersonId.parse(wanted)


async def is_at_terminal(settings: Settings, state: State | None, person: PersonId) -> bool:
    """Return whether a person and whoever sits at the terminal are one, so that both find what was imported."""
    links = await state.read(read_links) if state else ()
    terminal = str(OWNER_AT_TERMINAL)
    return terminal in find_linked(str(person), settings.access.people, links, counts=lambda each: True)


def chat_of(person: PersonId) -> ChatId:
    """Return the chat of a person's imported conversations."""
    return ChatId(IMPORTED, str(person))
