"""Checks state.db: it is intact, its version is known, and no message is stuck in it."""

from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta

from bot.config.settings import Settings
from bot.doctor.check import Check, Topic, format_list
from bot.process_lock import RESTORE_UNFINISHED, is_unfinished
from bot.quantities import rough_duration_in_words
from bot.state.database import StateBroken, StateFault, StateTooNew, StateUnusable
from bot.state.integrity import StateReport, check_state
from memory.disk import reason
from memory.quantities import counted, format_size

TOPIC = Topic("conversations")
STUCK_AFTER = timedelta(minutes=15)
"""A message that has waited longer than this while the service runs is stuck."""


def inspect_state(settings: Settings, *, seconds: float) -> StateReport | StateFault | None:
    """Return what is in state.db, or why it cannot be read; None if there is none."""
    file = settings.private_folder / "state.db"
    try:
        return check_state(file, seconds=seconds) if file.is_file() else None
    except StateFault as fault:
        return fault
    except OSError as error:
        return StateUnusable(f"{file} cannot be read: {reason(error)}")


def check_conversations(
    settings: Settings, found: StateReport | StateFault | None, *, alive: bool, now: datetime
) -> Iterator[Check]:
    """Check state.db. `alive`: whether a process of ours has the workspace open."""
    if is_unfinished(settings.private_folder):
        yield TOPIC.fail("restore", RESTORE_UNFINISHED, "run: commonplace restore FILE")
    file = settings.private_folder / "state.db"
    match found:
        case None:
            yield TOPIC.ok("file", "none yet; the first start creates it")
        case StateTooNew(newer=newer):
            yield TOPIC.fail("file", f"{file} {newer.description}", newer.fix)
        case StateBroken():
            fix = (
                "stop the service, then restore a backup (commonplace restore FILE) or move the file away to start "
                "without earlier conversations; your notes are not affected"
            )
            yield TOPIC.fail("file", str(found), fix)
        case StateFault():
            yield TOPIC.fail(
                "file",
                str(found),
                "check the folder, its permissions, and whether another program has the file open",
            )
        case StateReport():
            size = format_size(file.stat().st_size)
            through = "intact" if found.looked_through else "too large to check all of it"
            yield TOPIC.ok("file", f"{size}, {through}")
            if found.version < found.ours:
                detail = f"version {found.version}; the next start upgrades it to {found.ours}"
                yield TOPIC.ok("format", detail)
            yield from _check_open(settings, found, alive=alive, now=now)
            yield from _check_unread(found)


def _check_open(settings: Settings, found: StateReport, *, alive: bool, now: datetime) -> Iterator[Check]:
    if not (found.waiting or found.undelivered):
        if found.version == found.ours:
            yield TOPIC.ok("waiting", "nothing")
        return
    age = now - datetime.fromisoformat(found.oldest_open) if found.oldest_open else timedelta()
    parts = [
        f"{what}: {_format_counts(counts)}"
        for what, counts in (("unanswered", found.waiting), ("undelivered", found.undelivered))
        if counts
    ]
    detail = (
        f"{'; '.join(parts)}; the oldest has waited {rough_duration_in_words(max(age.total_seconds(), 0))}"
    )
    closed = {name for name, section in settings.channels.items() if not section.is_configured}
    homeless = sorted(closed & {*found.waiting, *found.undelivered})
    if homeless:
        keys = " and ".join(f"{channel}.token" for channel in homeless)
        yield TOPIC.warn(
            "waiting", detail, f"set {keys} again to have these delivered on {format_list(homeless)}"
        )
    elif alive and age > STUCK_AFTER:
        yield TOPIC.warn("waiting", detail, "see /status, /models and the log for the reason")
    elif alive:
        yield TOPIC.ok("waiting", detail)
    else:
        yield TOPIC.warn(
            "waiting", detail, "start the service (commonplace run), which continues where it stopped"
        )


def _check_unread(found: StateReport) -> Iterator[Check]:
    if found.unreadable:
        detail = f"{counted(found.unreadable, 'message')} in the inbox cannot be read by this version"
        yield TOPIC.warn(
            "unreadable", detail, "see the log; a newer version of Commonplace may be able to read them"
        )
    if found.unread:
        detail = f"messages that could not be read were kept: {_format_counts(found.unread)}"
        yield TOPIC.warn(
            "set aside",
            detail,
            "see the log for the reason and report it as a bug; the sender can write again",
        )


def _format_counts(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{channel} {count}" for channel, count in sorted(counts.items()))
