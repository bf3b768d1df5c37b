"""Where the status page is, and what its forms and its script ask for."""

from aiohttp import web

from bot import phrases
from bot.web.context import services_key
from bot.web.page.part import part
from bot.web.page.progress import progress_shown
from bot.web.page.rendering import page
from bot.web.page.search import asked_limit, asked_query, found
from bot.web.page.status import status_shown

STATUS = "/"
SEARCH = "/search"
PROGRESS = "/progress"
REBUILD = "/rebuild"

SEARCH_SECONDS = 30.0
"""For a search: whoever makes vectors may be far away."""


def add_page(app: web.Application) -> None:
    """Have the application answer with the page, its parts and what its forms do."""
    app.router.add_get(STATUS, _status)
    app.router.add_get(SEARCH, _search)
    app.router.add_get(PROGRESS, _progress)
    app.router.add_post(REBUILD, _rebuild)


async def _status(request: web.Request) -> web.Response:
    return page(request, "status.html", here=STATUS, shown=await status_shown(request.app[services_key]))


async def _search(request: web.Request) -> web.Response:
    searched = await part(found(request), patience=SEARCH_SECONDS, late=phrases.WEB_SEARCH_TOOK_LONG)
    query, limit = asked_query(request), asked_limit(request)
    return page(request, "search.html", here=SEARCH, query=query, limit=limit, searched=searched)


async def _progress(request: web.Request) -> web.Response:
    return page(request, "progress.html", progress=progress_shown(request.app[services_key]))


async def _rebuild(request: web.Request) -> web.Response:
    request.app[services_key].rebuilding.begin()
    return web.Response(status=303, headers={"Location": f"{STATUS}#memory"})
