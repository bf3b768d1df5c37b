"""The form that checks and unchecks the tasks of a note."""

import re
from contextlib import suppress

from aiohttp import web

from bot import phrases
from bot.language.text import localize
from bot.state.database import StateFault
from bot.web.changes import OVER_HTTP, new_key
from bot.web.context import services_key
from bot.web.forms import add_form, read_form
from bot.web.page.note_places import fault_status, missing_page
from bot.web.page.notes import show_note
from bot.web.page.urls import TASKS_URL, note_url
from memory.errors import MemoryFault, NoteChanged, NothingToWrite

_WANTED = re.compile(r"([1-9][0-9]{0,8}) ([0-9a-f]{8}) (done|open)")


def add_note_tasks(app: web.Application) -> None:
    """Add the form to the application."""
    add_form(app, TASKS_URL + "{path:.+}", _set_task)


async def _set_task(request: web.Request) -> web.Response:
    services, path = request.app[services_key], request.match_info["path"]
    wanted = _WANTED.fullmatch((await read_form(request)).get("task", ""))
    if wanted is None:
        raise web.HTTPBadRequest(text="")
    line, is_done = int(wanted[1]), wanted[3] == "done"
    try:
        await services.note_writer.set_task(
            path, line, wanted[2], is_done=is_done, key=new_key(), origin=OVER_HTTP
        )
    except NoteChanged:
        return await _show_again(request, path, phrases.WEB_TASK_CHANGED, status=409, line=line)
    except NothingToWrite:
        pass  # it is so already
    except (MemoryFault, StateFault) as fault:
        return await _show_again(request, path, localize(fault), status=fault_status(fault), line=line)
    return web.Response(status=303, headers={"Location": note_url(path, line, done="task")})


async def _show_again(
    request: web.Request, path: str, problem: str, *, status: int, line: int
) -> web.Response:
    with suppress(MemoryFault):  # the note may have fewer lines by now
        return await show_note(request, path, problem=problem, status=status, line=line)
    try:
        return await show_note(request, path, problem=problem, status=status)
    except MemoryFault as fault:
        return missing_page(request, fault)
