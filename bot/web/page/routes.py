"""Routes of the status page, its forms and its script."""

from aiohttp import web

from bot import phrases
from bot.web.context import services_key
from bot.web.page.changes import UNDO, undo_change
from bot.web.page.panel import load_panel
from bot.web.page.progress import progress_view
from bot.web.page.rendering import page_response
from bot.web.page.search import parse_limit, parse_source, read_query, run_search
from bot.web.page.status import status_view

STATUS = "/"
SEARCH = "/search"
PROGRESS = "/progress"
REBUILD = "/rebuild"

NOTE_HEALTH = "/memory-health"

HEALTH_SECONDS = 110.0
"""Timeout of an examination of the notes, which takes a few seconds for ten thousand of them."""
SEARCH_SECONDS = 30.0
"""Timeout of a search, which may wait for a remote embedding provider."""


def add_page(app: web.Application) -> None:
    """Add the status page to the application."""
    app.router.add_get(STATUS, _status)
    app.router.add_get(SEARCH, _search)
    app.router.add_get(NOTE_HEALTH, _note_health)
    app.router.add_get(PROGRESS, _progress)
    app.router.add_post(REBUILD, _rebuild)
    app.router.add_post(UNDO, undo_change)


async def _status(request: web.Request) -> web.Response:
    return page_response(
        request, "status.html", here=STATUS, shown=await status_view(request.app[services_key])
    )


async def _search(request: web.Request) -> web.Response:
    searched = await load_panel(
        run_search(request), timeout_seconds=SEARCH_SECONDS, late=phrases.WEB_SEARCH_TOOK_LONG
    )
    query, limit = read_query(request), parse_limit(request)
    return page_response(
        request,
        "search.html",
        here=SEARCH,
        query=query,
        limit=limit,
        source=parse_source(request),
        searched=searched,
    )


async def _note_health(request: web.Request) -> web.Response:
    from bot.web.page.note_health import examine_notes

    examined = await load_panel(
        examine_notes(request.app[services_key].memory),
        timeout_seconds=HEALTH_SECONDS,
        late=phrases.WEB_HEALTH_TOOK_LONG,
    )
    return page_response(request, "note_health.html", here=STATUS, examined=examined)


async def _progress(request: web.Request) -> web.Response:
    return page_response(request, "progress.html", progress=progress_view(request.app[services_key]))


async def _rebuild(request: web.Request) -> web.Response:
    request.app[services_key].index_rebuilder.start()
    return web.Response(status=303, headers={"Location": f"{STATUS}#memory"})
