"""Find the person whose conversations are imported."""

from bot.config.settings import Settings
from bot.imports.errors import ImportFault
from bot.messages import OWNER_AT_TERMINAL, ChatId, PersonId
from bot.state import access
from bot.state.database import State
from bot.state.imports import IMPORTED


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


def chat_of(person: PersonId) -> ChatId:
    """Return the chat of a person's imported conversations."""
    return ChatId(IMPORTED, str(person))
