"""The notes: readable, inside their folder, and indexed."""

import os
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta

from bot.config.settings import Settings
from bot.conversations.core_note import CORE_CHARS, count_visible_lines, is_too_long
from bot.doctor.check import Check, Topic, counted, format_list, format_size
from bot.doctor.permissions import has_access
from memory.disk import reason
from memory.errors import IndexCorrupted, IndexUnavailable, MemoryFault
from memory.index.fingerprint import compute_fingerprint
from memory.index.sqlite_inspection import IndexInspection, inspect_index
from memory.listing import NoteStat, list_notes
from memory.memory import CORE_NOTE
from memory.notes import NOTE_MAX_BYTES, Notes

TOPIC = Topic("notes")
INDEX = Topic("index")

MAX_PROBLEMS = 5
LATE_AFTER = timedelta(minutes=5)
"""A note that has waited for longer than that beside a service which runs was overlooked."""


def check_notes(settings: Settings) -> Iterator[Check]:
    """Look at every note's name and permissions."""
    folder = settings.memory_folder
    if not folder.is_dir():
        yield TOPIC.ok("found", "none yet")
        return
    listing = list_notes(folder)
    problems = [(problem.path, problem.reason) for problem in listing.problems]
    for note in listing.notes:
        if note.size > NOTE_MAX_BYTES:
            problems.append((note.path, f"it has {format_size(note.size)}, and more than 16 MB are not read"))
        elif not has_access(folder / note.path, os.R_OK):
            problems.append((note.path, "permission denied; give the user who runs Commonplace access to it"))
    size = sum(note.size for note in listing.notes)
    yield TOPIC.ok("found", f"{len(listing.notes)}, {format_size(size)}")
    yield from check_core_note(settings)
    for path, why in sorted(problems)[:MAX_PROBLEMS]:
        fix = "give access to it, rename it or move it out of the folder; until then it is not found"
        yield TOPIC.warn("not read", f"{path}: {why}", fix)
    if len(problems) > MAX_PROBLEMS:
        more = len(problems) - MAX_PROBLEMS
        yield TOPIC.warn("not read", f"{more} more", "`commonplace memory status` tells all of them")


def check_core_note(settings: Settings) -> Iterator[Check]:
    """Warn if MEMORY.md is too long to be always at hand as a whole; another check says if it cannot be read."""
    try:
        text = Notes(settings.memory_folder, private=settings.private_folder).load(CORE_NOTE).text
    except MemoryFault:
        return
    if is_too_long(text):
        chars, line = len(text.strip("\n")), count_visible_lines(text)
        detail = (
            f"{chars:,} characters, of which the first {CORE_CHARS:,} are always at hand (up to line {line})"
        )
        fix = "shorten it, or move what is not always needed into other notes; a search still finds it there"
        yield TOPIC.warn(CORE_NOTE, detail, fix)


def inspect_index_of(
    settings: Settings, *, seconds: float
) -> IndexInspection | IndexCorrupted | IndexUnavailable | None:
    """What is in the index, or why that cannot be told; None where there is none."""
    file = settings.private_folder / "index.db"
    try:
        if not file.is_file():
            return None
        return inspect_index(file, fingerprint=compute_fingerprint(settings.memory.chunk), seconds=seconds)
    except (IndexCorrupted, IndexUnavailable) as error:
        return error
    except OSError as error:
        return IndexUnavailable(f"{file} cannot be read: {reason(error)}")


def check_note_index(
    settings: Settings,
    found: IndexInspection | IndexCorrupted | IndexUnavailable | None,
    *,
    alive: bool,
    now: datetime,
) -> Iterator[Check]:
    """Tell of the index; `alive`: whether a process of ours has the workspace open just now."""
    file = settings.private_folder / "index.db"
    match found:
        case None:
            yield INDEX.ok("file", "none yet; it is built from the notes at the first search")
        case IndexCorrupted():
            fix = "nothing is lost: commonplace memory index --rebuild builds it anew from the notes"
            yield INDEX.warn("file", str(found), fix)
        case IndexUnavailable():
            fix = f"check {file} and its folder; notes are found without it too, only slower"
            yield INDEX.warn("file", str(found), fix)
        case IndexInspection(is_current=False):
            yield INDEX.ok(
                "file", "of another version or other settings; it is built anew at the next search"
            )
        case IndexInspection():
            size = format_size(file.stat().st_size)
            through = "whole" if found.looked_through else "too large to look at all of it"
            counts = f"{counted(len(found.stamps), 'note')} in {counted(found.chunks, 'chunk')}"
            yield INDEX.ok("file", f"{counts}, {size}, {through}")
            if found.faults:
                fix = "save it as UTF-8"
                yield INDEX.warn("not UTF-8", format_list(sorted(found.faults)), fix)
            yield from check_age(settings, found, alive=alive, now=now)


def check_age(settings: Settings, found: IndexInspection, *, alive: bool, now: datetime) -> Iterator[Check]:
    """Whether the index holds the notes as they are."""
    listing = list_notes(settings.memory_folder, known=found.stamps)
    left_out = {problem.path for problem in listing.problems}
    # One that was read very soon after a change has a stamp that no file has, and is looked at once more.
    fresh = [note for note in listing.notes if found.stamps.get(note.path, (0, 0, 0))[1:] != (0, 0)]
    fresh += [note for note in listing.notes if note.path not in found.stamps]
    fresh = [
        note
        for note in dict.fromkeys(fresh)
        if note.size <= NOTE_MAX_BYTES and _check_readable(settings, note)
    ]
    gone = (
        len(found.stamps) - len(listing.unchanged) - sum(note.path in found.stamps for note in listing.notes)
    )
    if not fresh and (gone <= 0 or left_out):
        yield INDEX.ok("up to date", f"yes, since {found.last_indexed_at or 'the beginning'}")
        return
    late = _outdated_notes(fresh, now)
    detail = f"new or changed notes {len(fresh)}, gone {max(gone, 0)}"
    if alive and late:
        fix = "see `watching` above, or /status; commonplace memory index brings it up to date"
        yield INDEX.warn(
            "up to date", f"no, though the service runs: {detail}, such as {format_list(late, most=2)}", fix
        )
    else:
        yield INDEX.ok("up to date", f"not yet ({detail}); the next search sees to it")


def _outdated_notes(notes: Sequence[NoteStat], now: datetime) -> list[str]:
    """Those that were last changed so long ago that a service which runs should know of them."""
    return [
        note.path
        for note in notes
        if now - datetime.fromtimestamp(max(note.mtime_ns, note.ctime_ns) / 1e9, UTC) > LATE_AFTER
    ]


def _check_readable(settings: Settings, note: NoteStat) -> bool:
    return has_access(settings.memory_folder / note.path, os.R_OK)
