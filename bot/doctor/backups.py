"""Checks that there is a recent backup, and room for the next one."""

import shutil
from collections.abc import Iterator
from datetime import datetime

from bot.archives.backup import OLD_AFTER, Backups
from bot.config.settings import Settings
from bot.doctor.check import Check, Topic
from bot.quantities import rough_duration_in_words
from memory.listing import list_notes
from memory.note_folders import NoteFolders
from memory.quantities import format_size

TOPIC = Topic("backups")
MAKE_ONE = "run: commonplace backup; the service makes a backup every night while it runs"


def check_backups(settings: Settings, *, begun: str, now: datetime) -> Iterator[Check]:
    """Check the archives in .commonplace/backups without reading them. `begun`: as in `StateReport`."""
    state = settings.private_folder / "state.db"
    notes = list_notes(NoteFolders(settings.note_folders.own)).notes
    if not (state.is_file() or notes):
        yield TOPIC.ok("latest", "nothing to back up yet")
        return
    latest = _latest_backup(settings)
    age = now - latest if latest else None
    detail = f"made {rough_duration_in_words(max(age.total_seconds(), 0))} ago" if age is not None else "none"
    if not settings.backup.keep and (age is None or age > OLD_AFTER):
        fix = "set backup.keep, or back up memory/ and .commonplace/state.db yourself"
        yield TOPIC.warn("latest", f"{detail}; automatic backups are off (backup.keep is 0)", fix)
    elif age is None and not (begun and now - datetime.fromisoformat(begun) > OLD_AFTER):
        yield TOPIC.ok(
            "latest",
            f"{detail} yet; the service makes the first at {settings.backup.at}, or soon after it starts",
        )
    elif age is None or age > OLD_AFTER:
        yield TOPIC.warn("latest", detail, MAKE_ONE)
    else:
        yield TOPIC.ok("latest", detail)
    # During a backup there are a copy of state.db and the archive, besides all old backups.
    # The latest writes of the service are only in the journal.
    journal = state.with_name(f"{state.name}-wal")
    size = sum(file.stat().st_size for file in (state, journal) if file.is_file())
    needed = 2 * size + sum(note.size for note in notes)
    if settings.private_folder.is_dir():
        free = shutil.disk_usage(settings.private_folder).free
        if free < needed:
            detail = f"the next backup may need {format_size(needed)}, but only {format_size(free)} are free"
            yield TOPIC.warn("room", detail, "free up some space, or lower backup.keep")
        else:
            yield TOPIC.ok("room", f"enough for the next backup ({format_size(needed)} at most)")


def _latest_backup(settings: Settings) -> datetime | None:
    """Return when the latest archive of notes was made, nightly or by hand."""
    backups = Backups(notes=settings.memory_folder, private=settings.private_folder, now=settings.now)
    return max((each.made_at for each in backups.list_stored() if not each.is_before_upgrade), default=None)
