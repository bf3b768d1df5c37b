"""Notes as MCP resources: their addresses, their paged list, their text, and the completion of their paths."""

from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Sequence
from datetime import UTC, date
from typing import TYPE_CHECKING
from urllib.parse import quote, unquote

from mcp_types import (
    INVALID_PARAMS,
    Annotations,
    Completion,
    ListResourcesResult,
    ReadResourceResult,
    Resource,
    ResourceTemplate,
    TextResourceContents,
)

from bot.tools.memory import truncate_note
from memory.memory import CORE_NOTE
from memory.paths import PATH_MAX_CHARS, format_path

if TYPE_CHECKING:
    from memory.listing import NoteStat
    from memory.memory import Memory

ADDRESS = "commonplace://notes/"
TEMPLATE = f"{ADDRESS}{{+path}}"
MAX_ADDRESS_CHARS = len(ADDRESS) + 3 * PATH_MAX_CHARS
"""The longest address: each character of the path may be written as %20."""
PAGE_SIZE = 500
"""Notes in one answer to a list."""
MAX_COMPLETIONS = 100
"""The protocol's limit."""
MARKDOWN = "text/markdown"
NOT_FOUND = -32002
"""The protocol's code for a resource that does not exist."""

NOTE_TEMPLATE = ResourceTemplate(
    name="note",
    title="Note",
    uri_template=TEMPLATE,
    description="One of the owner's notes, by its path in search results, such as MEMORY.md or 2026-11-21.md.",
    mime_type=MARKDOWN,
)


class BadAddress(Exception):
    """An invalid address of a note, or an invalid cursor; the message says what to do."""

    code = INVALID_PARAMS


def note_address(path: str) -> str:
    """Return the address of a note."""
    return ADDRESS + quote(path, safe="/")


def parse_address(address: str) -> str:
    """Return the path of a note from its address. Raises `BadAddress`."""
    path = unquote(address.removeprefix(ADDRESS)) if len(address) <= MAX_ADDRESS_CHARS else ""
    if not (path and address.startswith(ADDRESS)):
        raise BadAddress(
            f"{format_path(address[:200])} is not the address of a note, such as {ADDRESS}MEMORY.md"
        )
    return path


async def list_notes(memory: "Memory", *, today: date, cursor: str | None) -> ListResourcesResult:
    """Return one page of the list, MEMORY.md and today's log first. Raises `BadAddress` for an invalid cursor."""
    after = _parse_cursor(cursor) if cursor is not None else ""
    first = [CORE_NOTE, f"{today:%Y-%m-%d}.md"]
    notes = {each.path: each for each in (await memory.listing()).notes}
    paths = [*(each for each in first if each in notes), *sorted(notes.keys() - set(first))]
    begin = _place_after(paths, after, first=first) if after else 0
    page = paths[begin : begin + PAGE_SIZE]
    has_more = begin + PAGE_SIZE < len(paths)
    return ListResourcesResult(
        resources=[_describe(notes[path], today) for path in page],
        next_cursor=_format_cursor(page[-1]) if has_more else None,
    )


def _place_after(paths: Sequence[str], after: str, *, first: Sequence[str]) -> int:
    """Return where the list continues after a path, which may no longer exist."""
    if after in paths:
        return paths.index(after) + 1
    return next((at for at, path in enumerate(paths) if path not in first and path > after), len(paths))


def _describe(note: "NoteStat", today: date) -> Resource:
    described = {CORE_NOTE: "What is always worth knowing.", f"{today:%Y-%m-%d}.md": "Today's log."}
    changed = note.modified(UTC)
    return Resource(
        uri=note_address(note.path),
        name=note.path,
        description=described.get(note.path),
        mime_type=MARKDOWN,
        size=note.size,
        annotations=Annotations(
            priority=1.0 if note.path in described else None,
            last_modified=changed.isoformat(timespec="seconds") if changed else None,
        ),
    )


async def read_note(memory: "Memory", address: str) -> ReadResourceResult:
    """Return the text of a note; a long one is cut as by `memory_get`, with a hint. Raises BadAddress, MemoryFault."""
    shown = truncate_note(await memory.get(parse_address(address)))
    text = shown["text"]
    if note := shown.get("note"):
        text += f"\n[{note.replace('; to read on, use', '; to read on, call memory_get with')}]\n"
    return ReadResourceResult(contents=[TextResourceContents(uri=address, mime_type=MARKDOWN, text=text)])


async def complete_path(memory: "Memory", typed: str) -> Completion:
    """Return the paths that contain what was typed; those that begin with it come first."""
    paths = sorted(each.path for each in (await memory.listing()).notes)
    found = [each for each in paths if typed.casefold() in each.casefold()]
    found.sort(key=lambda path: not path.casefold().startswith(typed.casefold()))
    return Completion(values=found[:MAX_COMPLETIONS], total=len(found), has_more=len(found) > MAX_COMPLETIONS)


def _format_cursor(path: str) -> str:
    return urlsafe_b64encode(path.encode()).decode()


def _parse_cursor(cursor: str) -> str:
    try:
        path = urlsafe_b64decode(cursor.encode("ascii")).decode()
    except ValueError:  # of base64 and of UTF-8 as well
        path = ""
    if not path:
        raise BadAddress("Unknown cursor; list again without one.")
    return path
