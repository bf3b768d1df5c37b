"""Checks several instances that share a memory: who holds which lease, and which workspaces can be taken over."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from bot.doctor.check import Check, Topic, format_list
from bot.timeparse import moment_in_short
from memory.errors import IndexUnavailable, MemoryFault
from memory.postgres.errors import ServerUnreachable

if TYPE_CHECKING:
    from bot.config.settings import Settings

TOPIC = Topic("instances")


def check_instances(settings: "Settings") -> Iterator[Check]:
    """Check the leases and the workspaces of other instances; nothing without a shared server."""
    if settings.index.url.get_secret_value():
        yield from _check_leases(settings)
        yield from _check_take_over(settings)


def _check_leases(settings: "Settings") -> Iterator[Check]:
    """Yield one line for all leases, then one for each."""
    from bot.cluster.read_status import read_held_leases
    from bot.cluster.status import format_lease_name
    from memory.postgres.server import check_library

    until_then = (
        "until then, no instance takes over from another, and an instance that knows of others does not start"
    )
    fix = f"see the line about the index server; {until_then}"
    try:
        check_library()
    except IndexUnavailable:  # check_index_server reports it, with a fix
        yield TOPIC.fail("leases", "unknown: the PostgreSQL library is missing", fix)
        return
    try:
        leases = read_held_leases(settings)
    except ServerUnreachable:  # so does it here
        yield TOPIC.fail("leases", "unknown: the index server does not answer", fix)
        return
    except MemoryFault as error:
        yield TOPIC.fail("leases", str(error), f"fix that; {until_then}")
        return
    holders = sorted({each.holder for each in leases})
    yield TOPIC.ok(
        "leases", f"{len(leases)}, held by {format_list(holders)}" if leases else "no instance is running"
    )
    now = settings.now()
    for each in leases:
        since = f", since {moment_in_short(each.since, now)}" if each.since else ""
        until = f", until {each.until.astimezone(now.tzinfo):%H:%M:%S} unless renewed" if each.until else ""
        yield TOPIC.ok("lease", f"{format_lease_name(each.name)}: {each.holder}{since}{until}")


def _check_take_over(settings: "Settings") -> Iterator[Check]:
    from bot.cluster.instance import workspace_id
    from bot.cluster.membership import foreign_notes_problem

    for folder in map(Path, settings.instance.take_over):
        name = f"take over {folder.name}"
        private = folder / settings.private_folder.name
        if private.resolve() == settings.private_folder.resolve():
            yield TOPIC.warn(
                name,
                f"{folder} is this instance's own workspace, which it cannot take over",
                "remove it from instance.take_over, which is for the workspaces of other instances",
            )
        elif not folder.is_dir():
            yield TOPIC.warn(
                name, f"{folder} does not exist", "mount that workspace, or remove it from instance.take_over"
            )
        elif not workspace_id(private):
            yield TOPIC.warn(
                name,
                f"{folder} was never used with index.url",
                "start its instance once, or remove it from instance.take_over",
            )
        elif wrong := foreign_notes_problem(settings.memory_folder, folder / settings.memory.path):
            yield TOPIC.warn(name, wrong, "fix that, so that its conversations can continue here")
        else:
            yield TOPIC.ok(name, f"{folder} can be taken over")
