"""Several instances on one memory: which of them does what, and whether others' workspaces can be taken over."""

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
    """Ask the server who holds what, and look at the folders of others; nothing without such a server."""
    if settings.index.url.get_secret_value():
        yield from _check_leases(settings)
        yield from _check_take_over(settings)


def _check_leases(settings: "Settings") -> Iterator[Check]:
    """A line for each, and one for all."""
    from bot.cluster.read_status import read_held_leases
    from bot.cluster.status import format_lease_name
    from memory.postgres.server import check_library

    until_then = "until then nobody takes over from another, and whoever knows of others does not begin"
    fix = f"as the line on the index's server says; {until_then}"
    try:
        check_library()
    except IndexUnavailable:  # told of the index, with what to do
        yield TOPIC.fail("leases", "not known without the library for PostgreSQL", fix)
        return
    try:
        leases = read_held_leases(settings)
    except ServerUnreachable:  # so is this
        yield TOPIC.fail("leases", "not known while the index's server does not answer", fix)
        return
    except MemoryFault as error:
        yield TOPIC.fail("leases", str(error), f"mend that: {until_then}")
        return
    holders = sorted({each.holder for each in leases})
    yield TOPIC.ok(
        "leases", f"{len(leases)}, of {format_list(holders)}" if leases else "no instance is running"
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
                f"{folder} is this instance's own workspace: of that nothing is taken over",
                "take it off instance.take_over, and name the workspaces of others there",
            )
        elif not folder.is_dir():
            yield TOPIC.warn(
                name, f"{folder} is not there", "mount that workspace, or take it off instance.take_over"
            )
        elif not workspace_id(private):
            yield TOPIC.warn(
                name,
                f"{folder} was never served with index.url",
                "start its instance once, or take it off the list",
            )
        elif wrong := foreign_notes_problem(settings.memory_folder, folder / settings.memory.path):
            yield TOPIC.warn(name, wrong, "then its conversations can go on here")
        else:
            yield TOPIC.ok(name, f"{folder} can be served from here")
