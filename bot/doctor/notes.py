"""Checks the notes: they are readable and indexed."""

import os
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta

from bot.config.settings import Settings
from bot.conversations.core_note import CORE_CHARS, count_visible_lines, is_too_long
from bot.doctor.check import Check, Topic, format_list
from bot.doctor.permissions import has_access
from memory.disk import reason
from memory.errors import IndexCorrupted, IndexUnavailable, MemoryFault
from memory.index.fingerprint import compute_fingerprint
from memory.index.sqlite_inspection import IndexInspection, inspect_index
from memory.listing import NoteStat, list_notes
from memory.memory import CORE_NOTE
from memory.note_file import NOTE_MAX_BYTES
from memory.notes import Notes
from memory.quantities import counted, format_size
from memory.sync import is_up_to_date

TOPIC = Topic("notes")
INDEX = Topic("index")

MAX_PROBLEMS = 5
LATE_AFTER = timedelta(minutes=5)
"""A note that has waited longer than this while the service runs was missed."""


def check_notes(settings: Settings) -> Iterator[Check]:
    """Check every note's name, size and permissions."""
    folders = settings.note_folders
    if not folders.others and not folders.own.path.is_dir():
        yield TOPIC.ok("found", "none yet")
        return
    listing = list_notes(folders)
    # Folders that are away are reported with the folders.
    problems = [(each.path, each.reason) for each in listing.problems if not each.away]
    for note in listing.notes:
        if note.size > NOTE_MAX_BYTES:
            problems.append((note.path, f"it has {format_size(note.size)}; notes above 16 MB are not read"))
        elif not has_access(folders.find_file(note.path), os.R_OK):
            problems.append(
                (note.path, "permission denied; give the user that runs Commonplace access to it")
            )
    size = sum(note.size for note in listing.notes)
    yield TOPIC.ok("found", f"{len(listing.notes)}, {format_size(size)}")
    yield from check_core_note(settings)
    for path, why in sorted(problems)[:MAX_PROBLEMS]:
        fix = "give access to it, rename it or move it elsewhere; until then, it cannot be found"
        yield TOPIC.warn("not read", f"{path}: {why}", fix)
    if len(problems) > MAX_PROBLEMS:
        more = len(problems) - MAX_PROBLEMS
        yield TOPIC.warn("not read", f"{more} more", "run: commonplace memory status")


def check_core_note(settings: Settings) -> Iterator[Check]:
    """Warn if MEMORY.md is too long to be in every conversation; another check reports if it cannot be read."""
    try:
        text = open_notes(settings).load(CORE_NOTE).text
    except MemoryFault:
        return
    if is_too_long(text):
        chars, line = len(text.strip("\n")), count_visible_lines(text)
        detail = f"{chars:,} characters, but only the first {CORE_CHARS:,} (to line {line}) are in every conversation"
        fix = "shorten it, or move what is not always needed to other notes, where a search still finds it"
        yield TOPIC.warn(CORE_NOTE, detail, fix)


def inspect_index_of(
    settings: Settings, *, seconds: float
) -> IndexInspection | IndexCorrupted | IndexUnavailable | None:
    """Return what is in the index, or why it cannot be read; None if there is none."""
    file = settings.private_folder / "index.db"
    try:
        if not file.is_file():
            return None
        return inspect_index(file, fingerprint=compute_fingerprint(settings.memory.chunk), seconds=seconds)
    except (IndexCorrupted, IndexUnavailable) as error:
        return error
    except OSError as error:
        return IndexUnavailable("{file} cannot be read: {reason}", file=file, reason=reason(error))


def check_note_index(
    settings: Settings,
    found: IndexInspection | IndexCorrupted | IndexUnavailable | None,
    *,
    alive: bool,
    now: datetime,
) -> Iterator[Check]:
    """Check the index. `alive`: whether a process of ours has the workspace open."""
    file = settings.private_folder / "index.db"
    match found:
        case None:
            yield INDEX.ok("file", "none yet; the first search builds it from the notes")
        case IndexCorrupted():
            fix = "nothing is lost; rebuild it from the notes: commonplace memory index --rebuild"
            yield INDEX.warn("file", str(found), fix)
        case IndexUnavailable():
            fix = f"check {file} and its folder; search works without it, only slower"
            yield INDEX.warn("file", str(found), fix)
        case IndexInspection(is_current=False):
            yield INDEX.ok("file", "of another version or other settings; the next search rebuilds it")
        case IndexInspection():
            size = format_size(file.stat().st_size)
            through = "intact" if found.looked_through else "too large to check all of it"
            counts = f"{counted(len(found.stamps), 'note')} in {counted(found.chunks, 'chunk')}"
            yield INDEX.ok("file", f"{counts}, {size}, {through}")
            if found.faults:
                fix = "save these files as UTF-8"
                yield INDEX.warn("not UTF-8", format_list(sorted(found.faults)), fix)
            yield from check_age(settings, found, alive=alive, now=now)


def check_age(settings: Settings, found: IndexInspection, *, alive: bool, now: datetime) -> Iterator[Check]:
    """Check whether the index holds the current notes."""
    listing = open_notes(settings).walk(known=found.stamps)
    left_out = {problem.path for problem in listing.problems}
    fresh = [
        note
        for note in listing.notes
        if not ((known := found.stamps.get(note.path)) and is_up_to_date(note, known))
        and note.size <= NOTE_MAX_BYTES
        and _check_readable(settings, note)
    ]
    gone = (
        len(found.stamps) - len(listing.unchanged) - sum(note.path in found.stamps for note in listing.notes)
    )
    if not fresh and (gone <= 0 or left_out):
        yield INDEX.ok("up to date", f"yes, since {found.last_indexed_at or 'the beginning'}")
        return
    late = _outdated_notes(fresh, now)
    detail = f"{len(fresh)} new or changed, {max(gone, 0)} deleted"
    if alive and late:
        fix = "see `watching` above and /status; to update it, run: commonplace memory index"
        yield INDEX.warn(
            "up to date",
            f"no, although the service is running: {detail}, such as {format_list(late, limit=2)}",
            fix,
        )
    else:
        yield INDEX.ok("up to date", f"not yet ({detail}); the next search updates it")


def open_notes(settings: Settings) -> Notes:
    """Return all notes; nothing is created."""
    folders = settings.note_folders
    return Notes(folders.own.path, private=settings.private_folder, others=folders.others)


def _outdated_notes(notes: Sequence[NoteStat], now: datetime) -> list[str]:
    """Return the notes that changed so long ago that a running service should have read them."""
    return [
        note.path
        for note in notes
        if now - datetime.fromtimestamp(max(note.mtime_ns, note.ctime_ns) / 1e9, UTC) > LATE_AFTER
    ]


def _check_readable(settings: Settings, note: NoteStat) -> bool:
    return has_access(settings.note_folders.find_file(note.path), os.R_OK)
