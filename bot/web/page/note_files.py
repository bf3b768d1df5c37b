"""Serves the files beside the notes: pictures to be shown, everything else to be downloaded."""

import asyncio
from typing import Final
from urllib.parse import quote

from aiohttp import hdrs, web

from bot import phrases
from bot.quantities import size_in_words
from bot.web.context import services_key
from bot.web.page.note_places import missing_page
from bot.web.page.urls import FILES_URL
from memory.errors import MemoryFault, NoteUnreadable
from memory.folder_files import OpenedFile

MAX_FILE_BYTES: Final = 32 * 1024 * 1024
_PIECE_BYTES = 256 * 1024
_BEGINNING_BYTES = 64
_POLICY = "default-src 'none'; sandbox; frame-ancestors 'none'"
"""Nothing runs in a file, and nothing is loaded by it, even if somebody opens it by its address."""
_UNKNOWN_TYPE = "application/octet-stream"


def add_note_files(app: web.Application) -> None:
    """Add the files to the application."""
    app.router.add_get(FILES_URL + "{path:.+}", _send_file)


async def _send_file(request: web.Request) -> web.StreamResponse:
    try:
        opened = await request.app[services_key].memory.open_file(request.match_info["path"])
    except MemoryFault as fault:
        return missing_page(request, fault)
    try:
        if opened.size > MAX_FILE_BYTES:
            size, limit = size_in_words(opened.size), size_in_words(MAX_FILE_BYTES)
            return missing_page(
                request, NoteUnreadable(phrases.WEB_FILE_TOO_LARGE.format(size=size, limit=limit))
            )
        return await _stream(request, opened)
    finally:
        opened.file.close()


async def _stream(request: web.Request, opened: OpenedFile) -> web.StreamResponse:
    beginning = await asyncio.to_thread(opened.file.read, _BEGINNING_BYTES)
    kind = detect_picture(beginning)
    name = quote(opened.path.rpartition("/")[2].encode("utf-8", "replace"), safe="")
    response = web.StreamResponse(
        headers={
            hdrs.CONTENT_TYPE: kind or _UNKNOWN_TYPE,
            hdrs.CONTENT_DISPOSITION: f"{'inline' if kind else 'attachment'}; filename*=UTF-8''{name}",
            "Content-Security-Policy": _POLICY,
        }
    )
    response.content_length = opened.size
    await response.prepare(request)
    if request.method == hdrs.METH_HEAD:
        return response
    piece, left = beginning[: opened.size], opened.size
    while piece:
        await response.write(piece)
        left -= len(piece)
        piece = await asyncio.to_thread(opened.file.read, min(_PIECE_BYTES, left)) if left else b""
    if left:  # it was cut meanwhile; the client would wait for the rest
        response.force_close()
    return response


def detect_picture(beginning: bytes) -> str:
    """Return the media type of a picture that pages show, from the first bytes of its file; "" for all else.

    SVG is not among them: it may hold scripts.
    """
    if beginning.startswith(b"\x89PNG\r\n\x1a\n"):
        return "image/png"
    if beginning.startswith(b"\xff\xd8\xff"):
        return "image/jpeg"
    if beginning.startswith((b"GIF87a", b"GIF89a")):
        return "image/gif"
    if beginning.startswith(b"RIFF") and beginning[8:12] == b"WEBP":
        return "image/webp"
    brands = beginning[8 : int.from_bytes(beginning[:4])]
    if beginning[4:8] == b"ftyp" and (b"avif" in brands or b"avis" in brands):
        return "image/avif"
    return ""
