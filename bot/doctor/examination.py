"""All checks, side by side, each within its time; what one of them stumbles over is a line of its own."""

import asyncio
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from datetime import datetime
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias, TypeVar

from bot.config.settings import ConfigError, Settings
from bot.config.system_zone import system_zone
from bot.doctor.access import check_access
from bot.doctor.asking import Asking
from bot.doctor.backups import check_backups
from bot.doctor.check import Check, Topic
from bot.doctor.clock import check_clock
from bot.doctor.conversations import check_conversations, look_at_state
from bot.doctor.embeddings import check_embeddings
from bot.doctor.folders import check_folders, check_watching
from bot.doctor.index_server import check_server_of, look_at_server
from bot.doctor.instances import check_instances
from bot.doctor.liveness import Liveness, last_sign_of_life
from bot.doctor.models import check_health, check_models, named_providers
from bot.doctor.notes import check_index_of, check_notes, look_at_index
from bot.doctor.program import check_program
from bot.doctor.service import check_service
from bot.doctor.settings import check_file, check_use
from bot.doctor.speech import check_speech
from bot.doctor.time_limit import guarded
from bot.embedding import open_embedding_of
from bot.log import secrets_of
from bot.presence import others_alive
from bot.state.checkup import StateCheckup
from bot.state.database import StateUnusable
from memory.embeddings.opening import Embedding
from memory.errors import IndexBroken, IndexUnavailable
from memory.index.sqlite_checkup import IndexCheckup

if TYPE_CHECKING:
    from memory.index.postgres.checkup import ServerCheckup

DISK_SECONDS = 60.0
"""For each look at the disk; a server for files that is gone would hold it up for ever."""
PAGES_SECONDS = 15.0
"""For looking at all pages of a database."""

SILENT = "the disk does not answer"

_Index: TypeAlias = "IndexCheckup | ServerCheckup | IndexBroken | IndexUnavailable | None"

Result = TypeVar("Result")
Other = TypeVar("Other")


async def examine_broken(file: Path | None, error: ConfigError) -> list[Check]:
    """What can be checked where the settings cannot be used."""
    checks = list(check_file(file, error=error))
    return checks + await _on_disk(Topic("program"), check_program)


async def examine(settings: Settings, environment: Mapping[str, str]) -> list[Check]:
    """Check everything; changes nothing, costs nothing, sends nothing of the notes. Not yet free of secrets."""
    now = settings.now()
    embedding = open_embedding_of(settings)
    on_server = bool(settings.index.url.get_secret_value())
    unread = StateUnusable(f"{settings.private_folder / 'state.db'}: {SILENT}")
    alive, last_sign, state, index = await asyncio.gather(
        _unless_silent(lambda: _is_alive(settings), otherwise=False),
        _unless_silent(lambda: last_sign_of_life(settings), otherwise=None),
        _unless_silent(lambda: look_at_state(settings, seconds=PAGES_SECONDS), otherwise=unread),
        _unless_silent(
            lambda: look_at_server(settings) if on_server else look_at_index(settings, seconds=PAGES_SECONDS),
            otherwise=IndexUnavailable(SILENT),
        ),
    )
    liveness = Liveness(alive, last_sign, now)
    begun = state.begun if isinstance(state, StateCheckup) else ""
    paired = state.owners if isinstance(state, StateCheckup) else ()

    def use() -> Iterable[Check]:
        yield from check_file(settings.file)
        yield from check_use(settings, embedding, environment)

    async with Asking(secrets=secrets_of(settings)) as asking:
        done = await asyncio.gather(
            _on_disk(Topic("program"), check_program),
            _on_disk(Topic("settings"), use),
            _on_disk(Topic("folders"), lambda: check_folders(settings)),
            _on_disk(Topic("notes"), lambda: check_notes(settings)),
            _on_disk(Topic("index"), lambda: _index(settings, index, alive=alive, now=now)),
            check_embeddings(settings, embedding, _looked_into(index), alive=alive),
            _on_disk(Topic("watching"), lambda: check_watching(settings)),
            _on_disk(
                Topic("conversations"), lambda: check_conversations(settings, state, alive=alive, now=now)
            ),
            _on_disk(Topic("backups"), lambda: check_backups(settings, begun=begun, now=now)),
            check_models(settings, environment, asking),
            _on_disk(Topic("models"), lambda: _resting(settings, state, environment)),
            _on_disk(Topic("speech"), lambda: check_speech(settings, environment)),
            *(
                guarded(Topic(name), import_module(section.checks).check(settings, asking, liveness))
                for name, section in settings.channels.items()
            ),
            _on_disk(Topic("access"), lambda: check_access(settings, paired)),
            guarded(Topic("service"), check_service(settings, asking, alive=alive)),
            _on_disk(Topic("instances"), lambda: check_instances(settings)),
            _closed(embedding),
        )
        clocks = tuple(asking.clocks)
    clock = await _on_disk(Topic("clock"), lambda: check_clock(settings, clocks, machine=system_zone()))
    return [check for checks in (*done, clock) for check in checks]


def _index(settings: Settings, found: _Index, *, alive: bool, now: datetime) -> Iterable[Check]:
    if settings.index.url.get_secret_value():
        assert not isinstance(found, IndexCheckup)
        assert found is not None
        return check_server_of(settings, found, alive=alive, now=now)
    assert found is None or isinstance(found, IndexCheckup | IndexBroken | IndexUnavailable)
    return check_index_of(settings, found, alive=alive, now=now)


def _looked_into(found: _Index) -> IndexCheckup | None:
    """The index itself, where there is one that can be looked into."""
    if isinstance(found, IndexCheckup):
        return found
    return None if found is None or isinstance(found, IndexBroken | IndexUnavailable) else found.index


def _resting(settings: Settings, state: object, environment: Mapping[str, str]) -> Iterable[Check]:
    if not isinstance(state, StateCheckup):
        return ()
    named = named_providers(settings, environment)
    models = [f"{each.name}/{model}" for each in named for model in each.models]
    return check_health(state.health, models, now=time.time())


def _is_alive(settings: Settings) -> bool:
    """Whether any process has the workspace open."""
    try:
        return others_alive(settings.private_folder / "locks", sweep=False)
    except PermissionError:  # another user's: somebody has run it here, and may still
        return True
    except OSError:
        return False


async def _closed(embedding: Embedding) -> list[Check]:
    """Let go of what was opened to know who makes the vectors; each is asked over a connection of its own."""
    if embedding.embedder is not None:
        await embedding.embedder.close()
    return []


async def _on_disk(topic: Topic, checks: Callable[[], Iterable[Check]]) -> list[Check]:
    return await guarded(topic, in_daemon(lambda: list(checks())), seconds=DISK_SECONDS)


async def _unless_silent(work: Callable[[], Result], *, otherwise: Other) -> Result | Other:
    """Look at the disk; `otherwise` where that does not answer."""
    try:
        async with asyncio.timeout(DISK_SECONDS):
            return await in_daemon(work)
    except TimeoutError:
        return otherwise


async def in_daemon(work: Callable[[], Result]) -> Result:
    """Do what may wait for a disk on a thread that nobody waits for at the end of the program."""
    loop = asyncio.get_running_loop()
    future: asyncio.Future[Result] = loop.create_future()

    def settle(result: Result | None, error: BaseException | None) -> None:
        if future.done():
            return
        if error is not None:
            future.set_exception(error)
        else:
            future.set_result(result)  # type: ignore[arg-type]

    def run() -> None:
        result: Result | None = None
        error: BaseException | None = None
        try:
            result = work()
        except BaseException as raised:  # noqa: BLE001 - told to who waits
            error = raised
        with suppress(RuntimeError):  # the loop has ended: nobody wants to know any more
            loop.call_soon_threadsafe(settle, result, error)

    threading.Thread(target=run, name="doctor", daemon=True).start()
    return await future
