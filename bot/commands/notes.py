"""Slash commands for single notes: show one, list them, correct a line."""

import re
import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from bot import phrases
from bot.commands.command import CommandCall
from bot.language.text import localize
from bot.note_refs import format_note_ref, parse_note_ref
from bot.quantities import size_in_words
from bot.services import Services
from bot.visible_names import escape_path, unescape_path
from memory.note_edits import EMPTY_LINES
from memory.translatable import end_sentence

if TYPE_CHECKING:
    from memory.listing import NoteStat

MAX_LINES = 60
"""The most lines that `/memory get` shows at once."""
MAX_NOTES = 30
MAX_FOLDERS = 20

_CORRECTION = re.compile(
    r"`?(?P<path>(?:(?!\.md\s).)+?):(?P<line>[0-9]{1,9})(?:-(?P<last>[0-9]{1,9}))?`?\s+(?P<text>\S.*)",
    re.IGNORECASE | re.DOTALL,
)
"""A note's name may contain spaces and lack `.md`."""


async def show_note(call: CommandCall, services: Services, what: str) -> str:
    """Show a note, or the given lines of it."""
    del call
    if not what:
        return phrases.GET_WHAT
    place = parse_note_ref(what.strip("`"))
    first = 1 if place.line is None else place.line
    last = sys.maxsize if place.last_line is None else place.last_line
    path = await services.memory.resolve_path(place.path)
    note = await services.memory.get(path, line=first, limit=min(MAX_LINES, last - first + 1))
    if note.line_end < min(last, note.total_lines):
        cut = phrases.NOTE_CUT.format(first=note.line_start, last=note.line_end, total=note.total_lines)
        return f"{note.text.rstrip()}\n\n{cut}"
    return note.text.rstrip() or phrases.EMPTY_NOTE


async def list_notes(call: CommandCall, services: Services, what: str) -> str:
    """List the notes in and below a folder, latest change first, and its subfolders."""
    del call
    listing = await services.memory.listing()
    folder = _find_folder(what, (note.path for note in listing.notes))
    if folder is None:
        away = listing.find_away(unescape_path(what).strip("/` "))
        return (
            localize(end_sentence(away.describe_away()))
            if away
            else phrases.NO_SUCH_FOLDER.format(folder=what)
        )
    notes = [note for note in listing.notes if note.path.startswith(folder)]
    if not notes:
        return phrases.NO_NOTES
    notes.sort(key=lambda note: (-note.mtime_ns, note.path))
    shown = [_format_row(note, services.now()) for note in notes[:MAX_NOTES]]
    if len(notes) > MAX_NOTES:
        shown.append(phrases.NOTES_MORE.format(shown=MAX_NOTES, all=len(notes)))
    return "\n".join([*_folders_in(folder, notes), *shown])


def _find_folder(what: str, paths: Iterable[str]) -> str | None:
    """Return the matching folder with a trailing slash, "" for all notes, or None if there is no match."""
    wanted = unescape_path(what).strip("/` ")
    if wanted in ("", "."):
        return ""
    known = {path[: at + 1] for path in paths for at, sign in enumerate(path) if sign == "/"}
    for each in (wanted, wanted.partition("/")[2]):  # the memory folder's own name may come first
        if f"{each}/" in known:
            return f"{each}/"
    return next((each for each in sorted(known) if each.casefold() == f"{wanted}/".casefold()), None)


def _folders_in(folder: str, notes: Iterable["NoteStat"]) -> Sequence[str]:
    inside = (note.path[len(folder) :].partition("/") for note in notes)
    counts = Counter(name for name, slash, _ in inside if slash)
    told = [
        phrases.FOLDER_ROW.format(folder=escape_path(f"{folder}{name}"), count=counts[name])
        for name in sorted(counts)
    ]
    more = [phrases.FOLDERS_MORE.format(count=len(told) - MAX_FOLDERS)] if told[MAX_FOLDERS:] else []
    return (
        [phrases.FOLDERS.format(folders=phrases.COMMA.join([*told[:MAX_FOLDERS], *more])), ""] if told else []
    )


def _format_row(note: "NoteStat", now: datetime) -> str:
    path, size = escape_path(note.path), size_in_words(note.size)
    changed = note.modified(now.tzinfo)
    if changed is None:
        return phrases.NOTE_ROW.format(path=path, size=size)
    return phrases.NOTE_ROW_CHANGED.format(path=path, size=size, time=f"{changed:%Y-%m-%d %H:%M}")


async def correct_line(call: CommandCall, services: Services) -> str:
    """Replace one line of a note, or empty some, and quote the old ones, which go to the trash."""
    wanted = _CORRECTION.fullmatch(f"{call.options['place']} {call.options['text']}")
    if wanted is None:
        return phrases.CORRECT_USAGE
    line, last = int(wanted["line"]), int(wanted["last"] or wanted["line"])
    empties = wanted["text"].strip() == EMPTY_LINES
    if last < line or (last > line and not empties):
        return phrases.CORRECT_ONE_LINE
    done = await services.note_writer.correct(
        unescape_path(wanted["path"]),
        line,
        wanted["text"],
        key=call.key,
        origin=call.origin,
        last=last if last > line else None,
    )
    place = format_note_ref(done.written.path, done.written.line_start, done.written.line_end)
    if done.correction is None:
        return phrases.CORRECTED_BEFORE.format(place=place)
    if empties:
        old = "\n".join(f"> {each}".rstrip() for each in done.correction.old.split("\n"))
        return phrases.EMPTIED.format(place=format_note_ref(done.written.path, line, last), old=old)
    return phrases.CORRECTED.format(place=place, old=done.correction.old, new=done.correction.new)
