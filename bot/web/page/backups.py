"""The page of the backups: which there are, making one, and downloading one."""

import asyncio
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from aiohttp import hdrs, web

from bot import phrases
from bot.archives.backup import OLD_AFTER, StoredBackup
from bot.archives.errors import BackupError
from bot.language.text import localize
from bot.maintenance.requested_job import JobResult
from bot.maintenance.scheduler import JobStatus
from bot.sanitize import one_line
from bot.web.context import services_key
from bot.web.forms import add_form
from bot.web.page.panel import Panel, load_panel
from bot.web.page.rendering import page_response
from bot.web.page.times import PageClock

if TYPE_CHECKING:
    from bot.archives.archive import Manifest
    from bot.archives.backup import Backup
    from bot.services import Services

BACKUPS = "/backups"
MAKE = "/backups/make"
DOWNLOAD = "/backups/files/{name}"
CONTENTS = "/backups/contents/{name}"

MAX_SHOWN = 50
"""Backups on the page; older ones are in the folder."""
READ_SECONDS = 60.0
"""Timeout for reading a backup to its end."""


@dataclass(frozen=True, slots=True)
class BackupsView:
    """The values of the template."""

    stored: Sequence[StoredBackup]
    """The latest first, at most `MAX_SHOWN`."""
    left_out: int
    is_old: bool
    """Whether even the latest one is too old."""
    runs: bool
    """Whether one is being made."""
    last: "JobResult[Backup] | None"
    """How the last one that was asked for here ended; None also if there is a later one."""
    is_off: bool
    """Whether the settings want no nightly backups."""
    job: JobStatus | None
    """The nightly backup; None if there is none."""
    restore: str
    """The command that restores the latest one, for a shell."""
    clock: PageClock


@dataclass(frozen=True, slots=True)
class ContentsView:
    """What is in a backup, or why that is not known."""

    contents: "Manifest | None"
    problem: str = ""


def add_backups(app: web.Application) -> None:
    """Add the pages and the form to the application."""
    app.router.add_get(BACKUPS, _show)
    app.router.add_get(DOWNLOAD, _download)
    app.router.add_get(CONTENTS, _contents)
    add_form(app, MAKE, _make)


async def _make(request: web.Request) -> web.Response:
    if not request.app[services_key].backup_maker.start():
        return await _show(request, status=409, problem=phrases.WEB_BACKUP_RUNS)
    return web.Response(status=303, headers={"Location": BACKUPS})


async def _find(request: web.Request) -> StoredBackup | None:
    backups = request.app[services_key].backups
    return await asyncio.to_thread(backups.find_stored, request.match_info["name"])


async def _download(request: web.Request) -> web.StreamResponse:
    services = request.app[services_key]
    if (found := await _find(request)) is None:
        return await _show(request, status=404, problem=phrases.WEB_BACKUP_GONE)
    headers = {
        hdrs.CONTENT_TYPE: "application/gzip",
        hdrs.CONTENT_DISPOSITION: f'attachment; filename="{found.name}"',
    }
    return web.FileResponse(services.backups.folder / found.name, headers=headers)


async def _contents(request: web.Request) -> web.Response:
    services = request.app[services_key]
    if (found := await _find(request)) is None:
        return await _show(request, status=404, problem=phrases.WEB_BACKUP_GONE)
    examined = await load_panel(
        _examine(services, found), timeout_seconds=READ_SECONDS, late=phrases.WEB_BACKUP_LARGE
    )
    return page_response(
        request,
        "backup_contents.html",
        here=BACKUPS,
        backup=found,
        examined=examined,
        clock=PageClock(services.now()),
    )


async def _examine(services: "Services", found: StoredBackup) -> ContentsView:
    if found.contents is not None:
        return ContentsView(found.contents)
    try:
        return ContentsView(await services.backups.read_contents(found.name))
    except BackupError as fault:
        return ContentsView(None, one_line(localize(fault)))


async def _show(request: web.Request, *, status: int = 200, problem: str = "") -> web.Response:
    services = request.app[services_key]
    shown: Panel[BackupsView] = await load_panel(_view(services))
    return page_response(
        request,
        "backups.html",
        status=status,
        here=BACKUPS,
        panel=shown,
        clock=PageClock(services.now()),
        problem=problem,
    )


async def _view(services: "Services") -> BackupsView:
    stored = await asyncio.to_thread(services.backups.list_stored)
    now, maker = services.now(), services.backup_maker
    of_notes = [each for each in stored if not each.is_before_upgrade]
    newest = of_notes[0].name if of_notes else "FILE"
    last = maker.last
    if last and stored and last.result is None and stored[0].made_at > last.at:
        last = None
    return BackupsView(
        stored=stored[:MAX_SHOWN],
        left_out=max(len(stored) - MAX_SHOWN, 0),
        is_old=bool(of_notes) and now - of_notes[0].made_at > OLD_AFTER,
        runs=maker.is_running,
        last=last,
        is_off=not services.settings.backup.keep,
        job=services.background.backup,
        restore=f"commonplace restore {shlex.quote(f'{services.backups.folder}/{newest}')}",
        clock=PageClock(now),
    )
