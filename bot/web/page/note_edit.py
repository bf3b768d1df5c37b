"""The form that edits a whole note: it previews, saves, and refuses to overwrite what somebody else has written."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from aiohttp import web

from bot import phrases
from bot.change_texts import format_diff
from bot.language.text import localize
from bot.quantities import size_in_words
from bot.state.database import StateFault
from bot.visible_names import escape_path
from bot.web.changes import OVER_HTTP, new_key
from bot.web.context import services_key
from bot.web.forms import MAX_TEXT_FORM_BYTES, add_form, read_form
from bot.web.page.note_markdown import render_part, weigh_line
from bot.web.page.note_places import breadcrumbs, fault_status, folder_of, missing_page
from bot.web.page.notes import PART_BYTES, read_links
from bot.web.page.opened_texts import OpenedTexts
from bot.web.page.rendering import page_response
from bot.web.page.urls import EDIT_URL, NOTES_URL, edit_url, note_url
from memory.charset import normalize_newlines
from memory.errors import EditRefused, MemoryFault, NoteMissing
from memory.line_diff import compare_lines, split_lines
from memory.whole_note import WholeNote

MAX_TEXT_BYTES: Final = 256 * 1024
"""A longer note makes a browser's text field slow, above all on a phone."""


@dataclass(frozen=True, slots=True)
class FormDraft:
    """What somebody has in the form."""

    text: str
    digest: str
    """Of the version that they began with."""

    @classmethod
    def of(cls, fields: dict[str, str]) -> "FormDraft":
        """Return what a form has sent; browsers end lines with CRLF."""
        return cls(normalize_newlines(fields.get("text", "")), fields.get("digest", ""))


@dataclass(frozen=True, slots=True)
class EditView:
    """The values of the template."""

    path: str
    address: str
    """Of the note."""
    form: str
    """Where the form is sent to."""
    draft: FormDraft
    preview: str = ""
    first: int = 1
    """The first line of the preview, and `last`: the last one; a part of a long note is enough to look at."""
    last: int = 0
    total: int = 0
    """Lines of the whole text."""
    problem: str = ""
    is_changed: bool = False
    """Whether somebody else has changed the note meanwhile; saving once more overwrites that."""
    diff: str = ""
    """What they have changed."""
    compares_mine: bool = False
    """Whether `diff` leads from the person's own version instead, since it is not known any more how it began."""
    is_gone: bool = False
    """Whether there is no such note any more."""


def add_note_edit(app: web.Application) -> None:
    """Add the form to the application."""
    app[_opened_key] = OpenedTexts()
    app.on_startup.append(_empty_with_forget)
    app.router.add_get(EDIT_URL + "{path:.+}", _show_form)
    add_form(app, EDIT_URL + "{path:.+}", _take_form, typed=("text",))


async def _empty_with_forget(app: web.Application) -> None:
    app[services_key].forgetting.on_forgotten(app[_opened_key].clear)


_opened_key = web.AppKey("opened_texts", OpenedTexts)


def explain_length(text: str) -> str:
    """Return that a text is too long for the form, in a sentence; "" if it is not."""
    size = len(text.encode("utf-8", "replace"))
    if size <= MAX_TEXT_BYTES:
        return ""
    return phrases.WEB_NOTE_TOO_LONG.format(size=size_in_words(size), limit=size_in_words(MAX_TEXT_BYTES))


async def _show_form(request: web.Request) -> web.Response:
    try:
        note = await request.app[services_key].memory.read_whole(request.match_info["path"])
    except MemoryFault as fault:
        return missing_page(request, fault)
    if problem := note.fault or explain_length(note.text):
        return _refuse(request, note.path, problem)
    request.app[_opened_key].keep(note.digest, note.text)
    return _form_page(request, _view(note.path, FormDraft(note.text, note.digest)))


async def _take_form(request: web.Request) -> web.Response:
    fields = await read_form(request, max_bytes=MAX_TEXT_FORM_BYTES)
    path, draft = request.match_info["path"], FormDraft.of(fields)
    if problem := explain_length(draft.text):
        return _form_page(request, replace(_view(path, draft), problem=problem), status=400)
    if fields.get("do") == "preview":
        return await _preview(request, path, draft)
    return await _save(request, path, draft)


async def _preview(request: web.Request, path: str, draft: FormDraft) -> web.Response:
    links = await read_links(request, path)
    find_file = request.app[services_key].memory.file_finder(path).find
    began = request.app[_opened_key].find(draft.digest)

    def render() -> EditView:
        lines = split_lines(draft.text)
        changed = 1 if began is None else min(compare_lines(began, draft.text).line, len(lines))
        first, last = _choose_lines(lines, changed)
        part = "".join(f"{line}\n" for line in lines[first - 1 : last])
        html = render_part(part, path=path, first_line=first, links=links, find_file=find_file)
        return replace(_view(path, draft), preview=html, first=first, last=last, total=len(lines))

    # In a thread: a long note takes a tenth of a second, which must not delay messages.
    return _form_page(request, await asyncio.to_thread(render))


def _choose_lines(lines: Sequence[str], line: int) -> tuple[int, int]:
    """Return the first and the last of the lines (1-based) that a page has room for, of those around one."""
    first, weight = 1, 0
    for number, text in enumerate(lines, 1):
        weight += (more := weigh_line(text.encode("utf-8", "replace")))
        if weight > PART_BYTES and number > first:
            if number > line:
                return first, number - 1
            first, weight = number, more
    return first, len(lines)


async def _save(request: web.Request, path: str, draft: FormDraft) -> web.Response:
    services = request.app[services_key]
    try:
        written = await services.note_writer.rewrite(
            path, draft.text, digest=draft.digest, key=new_key(), origin=OVER_HTTP
        )
    except NoteMissing:
        view = replace(_view(path, draft), problem=phrases.WEB_NOTE_GONE, is_gone=True)
        return _form_page(request, view, status=409)
    except EditRefused as refused:
        return await _answer_refusal(request, path, draft, localize(refused))
    except (MemoryFault, StateFault) as fault:
        view = replace(_view(path, draft), problem=localize(fault))
        return _form_page(request, view, status=fault_status(fault))
    return web.Response(status=303, headers={"Location": note_url(written.path, done="saved")})


async def _answer_refusal(request: web.Request, path: str, draft: FormDraft, why: str) -> web.Response:
    """Answer a save that was refused: the note says so already, cannot be edited so, or was changed meanwhile."""
    try:
        note = await request.app[services_key].memory.read_whole(path)
    except MemoryFault as fault:
        return _form_page(
            request, replace(_view(path, draft), problem=localize(fault), is_gone=True), status=409
        )
    if note.fault:
        return _form_page(request, replace(_view(path, draft), problem=note.fault), status=409)
    if split_lines(note.text) == split_lines(draft.text):
        return web.Response(status=303, headers={"Location": note_url(note.path, done="saved")})
    if note.digest == draft.digest:
        return _form_page(request, replace(_view(path, draft), problem=why), status=409)
    opened = request.app[_opened_key]
    began = opened.find(draft.digest)
    opened.keep(note.digest, note.text)
    return _form_page(request, await asyncio.to_thread(_compare_versions, note, draft, began), status=409)


def _compare_versions(note: WholeNote, draft: FormDraft, began: str | None) -> EditView:
    """Return the form with both versions: theirs as what it changed, and the draft, to be saved over it."""
    diff = format_diff(compare_lines(draft.text if began is None else began, note.text))
    return replace(
        _view(note.path, replace(draft, digest=note.digest)),
        problem=phrases.WEB_NOTE_CHANGED,
        is_changed=True,
        diff=diff,
        compares_mine=began is None,
    )


def _view(path: str, draft: FormDraft) -> EditView:
    return EditView(escape_path(path), note_url(path), edit_url(path), draft)


def _form_page(request: web.Request, view: EditView, *, status: int = 200) -> web.Response:
    path = request.match_info["path"]
    return page_response(
        request,
        "note_edit.html",
        here=NOTES_URL,
        status=status,
        shown=view,
        asked=path,
        steps=breadcrumbs(folder_of(path)),
    )


def _refuse(request: web.Request, path: str, problem: str) -> web.Response:
    return page_response(
        request,
        "note_refused.html",
        here=NOTES_URL,
        status=409,
        path=escape_path(path),
        address=note_url(path),
        problem=problem,
        steps=breadcrumbs(folder_of(path)),
    )
