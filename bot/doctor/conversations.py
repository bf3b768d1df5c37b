"""The conversations: state.db whole and of a version we know, and nothing left lying in it."""

from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta

from bot.config.settings import Settings
from bot.doctor.check import Check, Topic, counted, format_list, format_size, format_span
from bot.process_lock import RESTORE_UNFINISHED, is_unfinished
from bot.state.database import StateBroken, StateFault, StateTooNew, StateUnusable
from bot.state.integrity import StateReport, check_state
from memory.disk import reason

TOPIC = Topic("conversations")
STUCK = timedelta(minutes=15)
"""A message that has waited for longer than that beside a service which runs is stuck."""


def inspect_state(settings: Settings, *, seconds: float) -> StateReport | StateFault | None:
    """What is in state.db, or why that cannot be told; None where there is none."""
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
    """Tell of state.db; `alive`: whether a process of ours has the workspace open just now."""
    if is_unfinished(settings.private_folder):
        yield TOPIC.fail("restore", RESTORE_UNFINISHED, "commonplace restore FILE")
    file = settings.private_folder / "state.db"
    match found:
        case None:
            yield TOPIC.ok("file", "none yet; it is made at the first start")
        case StateTooNew():
            yield TOPIC.fail("file", f"{file}: {found}", "update Commonplace, or use another workspace")
        case StateBroken():
            fix = (
                "end the service, then restore a backup (commonplace restore FILE), or move the file away to begin "
                "without earlier conversations; your notes are not affected"
            )
            yield TOPIC.fail("file", str(found), fix)
        case StateFault():
            yield TOPIC.fail(
                "file", str(found), "check the folder and its permissions, and what else has it open"
            )
        case StateReport():
            size = format_size(file.stat().st_size)
            through = "whole" if found.looked_through else "too large to look at all of it"
            yield TOPIC.ok("file", f"{size}, {through}")
            if found.version < found.ours:
                detail = f"format {found.version}; the next start brings it to {found.ours}"
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
        for what, counts in (("without an answer", found.waiting), ("not delivered", found.undelivered))
        if counts
    ]
    detail = f"{'; '.join(parts)}; the oldest for {format_span(max(age.total_seconds(), 0))}"
    closed = {name for name, section in settings.channels.items() if not section.is_configured}
    homeless = sorted(closed & {*found.waiting, *found.undelivered})
    if homeless:
        keys = " and ".join(f"{channel}.token" for channel in homeless)
        yield TOPIC.warn(
            "waiting", detail, f"it waits for {format_list(homeless)}: set {keys} again, and it is delivered"
        )
    elif alive and age > STUCK:
        yield TOPIC.warn("waiting", detail, "see /status, /models and the log for what holds it up")
    elif alive:
        yield TOPIC.ok("waiting", detail)
    else:
        yield TOPIC.warn("waiting", detail, "start the service (commonplace run): it goes on where it was")


def _check_unread(found: StateReport) -> Iterator[Check]:
    if found.unreadable:
        detail = f"{counted(found.unreadable, 'message')} in the inbox cannot be read by this version"
        yield TOPIC.warn("unreadable", detail, "the log names them; a newer version may know them")
    if found.unread:
        detail = f"what came and could not be read was kept: {_format_counts(found.unread)}"
        yield TOPIC.warn(
            "set aside", detail, "the log says why; report it as a bug. Whoever wrote it can write again"
        )


def _format_counts(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{channel} {count}" for channel, count in sorted(counts.items()))
