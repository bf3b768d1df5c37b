"""Changes to the notes over HTTP, which requires the server's token."""

from contextlib import suppress
from functools import partial
from secrets import token_hex
from typing import TYPE_CHECKING, Any

from bot import phrases
from bot.change_list import ChangeList, ChangeReader, encode_change, read_change_list
from bot.change_texts import describe_coverage
from bot.state.changes import RPC_KEY, ChangeOrigin
from bot.undo import Undone, UndoService
from bot.web.context import token_of
from memory.errors import MemoryFault, NoteMissing

if TYPE_CHECKING:
    from bot.services import Services


OVER_HTTP = ChangeOrigin("http")
"""Who makes a change on the page or over JSON-RPC, which its key tells apart: nobody has an account there."""


def new_key() -> str:
    """Return the key of a write on the page that is not retried."""
    return f"http/{token_hex(16)}"


def new_rpc_key() -> str:
    """Return the key of a write over JSON-RPC."""
    return f"{RPC_KEY}{token_hex(16)}"


def shows_changes(services: "Services") -> bool:
    """Return whether changes may be shown over HTTP.

    Without a token, any account on this machine may call, and only owners may see what was removed from the notes.
    """
    return bool(token_of(services))


async def read_changes_over_http(
    services: "Services", *, limit: int, before: int = 0, path: str = "", on_page: bool = False
) -> ChangeList:
    """Return the latest changes by everybody. Raises MemoryFault if they may not be shown, and StateFault."""
    undoing = _open_undo(services)
    await undoing.settle_open()
    reader = ChangeReader(services.access, services.settings.channels, None, sees_all=True, on_page=on_page)
    read = partial(read_change_list, reader=reader, limit=limit, before=before, path=path)
    return await services.state.read(read)


async def list_changes_over_http(
    services: "Services", *, limit: int, before: int, path: str
) -> dict[str, Any]:
    """Return the latest changes as JSON; a note is found as by `memory.get`. Raises as `read_changes_over_http`."""
    if path:
        with suppress(NoteMissing):  # a note that is gone may have changed before
            path = await services.memory.resolve_path(path)
    found = await read_changes_over_http(services, limit=limit, before=before, path=path)
    notice = describe_coverage(services.settings)
    document = {"changes": [encode_change(each, found.names) for each in found.shown]}
    return {**document, "notice": notice} if notice else document


async def undo_over_http(services: "Services", number: int, *, key: str) -> Undone:
    """Undo a change; a retry with the same key returns the same.

    Raises UndoRefused; MemoryFault if that is not allowed; StateFault.
    """
    return await _open_undo(services).undo(number, key=key, origin=OVER_HTTP)


def _open_undo(services: "Services") -> UndoService:
    if not shows_changes(services):
        raise MemoryFault(phrases.CHANGES_OVER_HTTP)
    return UndoService(services.note_writer, services.state)
