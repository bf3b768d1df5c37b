"""Where a note is, for its pages: the folders above it, and that there is none."""

from dataclasses import dataclass

from aiohttp import web

from bot import phrases
from bot.language.text import localize
from bot.state.database import StateFault
from bot.visible_names import escape_path
from bot.web.context import services_key, token_of
from bot.web.page.rendering import page_response
from bot.web.page.urls import NOTES_URL, changes_url, folder_url
from memory.errors import (
    EditRefused,
    FolderReadOnly,
    MemoryFault,
    NoteExists,
    NoteMissing,
    NoteUnreadable,
    PathRefused,
)


@dataclass(frozen=True, slots=True)
class Breadcrumb:
    """A parent folder."""

    name: str
    address: str


def breadcrumbs(folder: str) -> list[Breadcrumb]:
    """Return the folders from the root to this one, including both."""
    names = folder.split("/") if folder else []
    below = [
        Breadcrumb(escape_path(name), folder_url("/".join(names[: number + 1])))
        for number, name in enumerate(names)
    ]
    return [Breadcrumb(phrases.WEB_PAGES[NOTES_URL], folder_url("")), *below]


def folder_of(path: str) -> str:
    """Return the folder of a note; "" for the root."""
    return path.rpartition("/")[0]


def missing_page(request: web.Request, fault: MemoryFault) -> web.Response:
    """Return a page that says why a note or folder cannot be shown; of a note that is gone, also where to look."""
    status = 503 if isinstance(fault, NoteUnreadable) else 404
    path = request.match_info["path"]
    is_of_note = (
        isinstance(fault, NoteMissing) and path.endswith(".md") and token_of(request.app[services_key])
    )
    return page_response(
        request,
        "note_missing.html",
        here=NOTES_URL,
        status=status,
        message=localize(fault),
        history=changes_url(note=path) if is_of_note else "",
        steps=breadcrumbs(""),
    )


def fault_status(fault: MemoryFault | StateFault) -> int:
    """Return the status of a response to a form whose work could not be done."""
    if isinstance(fault, PathRefused):
        return 400
    return 409 if isinstance(fault, NoteExists | NoteMissing | EditRefused | FolderReadOnly) else 503
