"""Several instances on one memory: which of them does what, and whether others' workspaces can be taken over."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from bot.doctor.check import Check, Topic, several
from memory.errors import MemoryFault

if TYPE_CHECKING:
    from bot.config.settings import Settings

TOPIC = Topic("instances")


def check_instances(settings: "Settings") -> Iterator[Check]:
    """Ask the server who holds what, and look at the folders of others; nothing without such a server."""
    if not settings.index.url.get_secret_value():
        return
    from bot.instances.lease_table import held
    from bot.instances.status import lease_in_words
    from memory.postgres.server import Server, check_library

    server = Server(settings.index.url.get_secret_value(), name="commonplace doctor", most=1)
    try:
        check_library()
        with server.session() as session:
            rows = held(session)
    except MemoryFault as error:
        mend = (
            "mend that: until then nobody takes over from another, and whoever knows of others does not begin"
        )
        yield TOPIC.fail("leases", str(error), mend)
    else:
        told = [f"{lease_in_words(name)} {holder}" for name, holder, _, _ in rows]
        yield TOPIC.ok("leases", several(told, most=12) or "no instance is running")
    finally:
        server.close()
    yield from _check_take_over(settings)


def _check_take_over(settings: "Settings") -> Iterator[Check]:
    from bot.instances.instance import workspace_id
    from bot.instances.post import others_notes

    for folder in map(Path, settings.instance.take_over):
        name = f"take over {folder.name}"
        private = folder / settings.private_folder.name
        if not folder.is_dir():
            yield TOPIC.warn(
                name, f"{folder} is not there", "mount that workspace, or take it off instance.take_over"
            )
        elif not workspace_id(private):
            yield TOPIC.warn(
                name,
                f"{folder} was never served with index.url",
                "start its instance once, or take it off the list",
            )
        elif wrong := others_notes(settings.memory_folder, folder / settings.memory.path):
            yield TOPIC.warn(name, wrong, "then its conversations can go on here")
        else:
            yield TOPIC.ok(name, f"{folder} can be served from here")
