"""Routes of the pages about today, the system, the changes and the search, and of their forms."""

from aiohttp import web

from bot import phrases
from bot.web.context import services_key
from bot.web.forms import add_form, read_form
from bot.web.page.changes import add_changes
from bot.web.page.panel import load_panel
from bot.web.page.progress import progress_view
from bot.web.page.rendering import page_response
from bot.web.page.search import add_search
from bot.web.page.system import system_view
from bot.web.page.today import TODAY, add_today

SYSTEM = "/system"
PROGRESS = "/progress"
REBUILD = "/rebuild"

NOTE_HEALTH = "/memory-health"

HEALTH_SECONDS = 110.0
"""Timeout of an examination of the notes, which takes a few seconds for ten thousand of them."""


def add_page(app: web.Application) -> None:
    """Add the pages to the application."""
    add_today(app)
    add_changes(app)
    add_search(app)
    app.router.add_get(SYSTEM, _system)
    app.router.add_get(NOTE_HEALTH, _note_health)
    app.router.add_get(PROGRESS, _progress)
    add_form(app, REBUILD, _rebuild)


async def _system(request: web.Request) -> web.Response:
    return page_response(
        request, "system.html", here=SYSTEM, shown=await system_view(request.app[services_key])
    )


async def _note_health(request: web.Request) -> web.Response:
    from bot.web.page.note_health import SHOWN_FIRST, examine_notes

    examined = await load_panel(
        examine_notes(request.app[services_key].memory),
        timeout_seconds=HEALTH_SECONDS,
        late=phrases.WEB_HEALTH_TOOK_LONG,
    )
    return page_response(request, "note_health.html", here=SYSTEM, examined=examined, shown_first=SHOWN_FIRST)


async def _progress(request: web.Request) -> web.Response:
    return page_response(request, "progress.html", progress=progress_view(request.app[services_key]))


async def _rebuild(request: web.Request) -> web.Response:
    page = SYSTEM if (await read_form(request)).get("page") == SYSTEM else TODAY
    request.app[services_key].index_rebuilder.start()
    return web.Response(status=303, headers={"Location": f"{page}#memory"})
