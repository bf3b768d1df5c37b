"""Runs all checks concurrently, each with a timeout; a check that crashes becomes a line of the report."""

import asyncio
import time
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias, TypeVar

from bot.config.settings import ConfigError, Settings, find_secrets_file
from bot.config.system_zone import system_zone
from bot.daemon_thread import run_in_daemon
from bot.doctor.access import check_access
from bot.doctor.backups import check_backups
from bot.doctor.check import Check, Topic, run_with_timeout
from bot.doctor.clock import check_clock
from bot.doctor.conversations import check_conversations, inspect_state
from bot.doctor.embeddings import check_embeddings
from bot.doctor.folders import check_folders, check_watching
from bot.doctor.http_probe import HttpProbe
from bot.doctor.index_server import check_index_server, inspect_server
from bot.doctor.instances import check_instances
from bot.doctor.models import check_health, check_models, check_speech, named_providers
from bot.doctor.notes import check_note_index, check_notes, inspect_index_of
from bot.doctor.program import check_program
from bot.doctor.service import Liveness, check_service, last_sign_of_life
from bot.doctor.settings import check_file, check_secrets_file, check_usage
from bot.embedding import open_embedding_from_settings
from bot.log import collect_secrets
from bot.process_lock import is_workspace_open
from bot.state.database import StateUnusable
from bot.state.integrity import StateReport
from memory.embeddings.factory import Embedding
from memory.errors import IndexCorrupted, IndexUnavailable
from memory.index.sqlite_inspection import IndexInspection

if TYPE_CHECKING:
    from memory.index.postgres.inspection import ServerInspection

DISK_SECONDS = 60.0
"""Timeout of each check of the disk; a file server that is gone would block it forever."""
PAGES_SECONDS = 15.0
"""Time limit for reading all pages of a database."""

DISK_SILENT = "the disk does not answer"

_IndexFindings: TypeAlias = "IndexInspection | ServerInspection | IndexCorrupted | IndexUnavailable | None"

Result = TypeVar("Result")
Fallback = TypeVar("Fallback")


async def check_broken_settings(file: Path | None, error: ConfigError) -> list[Check]:
    """Check what can be checked without usable settings."""
    checks = [*check_file(file, error=error), *check_secrets_file(find_secrets_file(file))]
    return checks + await _guard_disk(Topic("program"), check_program)


async def run_checks(settings: Settings, environment: Mapping[str, str]) -> list[Check]:
    """Check everything, without changes, costs, or sending any notes. The result may still hold secrets."""
    now = settings.now()
    embedding = open_embedding_from_settings(settings)
    on_server = bool(settings.index.url.get_secret_value())
    unread = StateUnusable(f"{settings.private_folder / 'state.db'}: {DISK_SILENT}")
    alive, last_sign, state, index = await asyncio.gather(
        _or_if_silent(lambda: _is_workspace_open(settings), otherwise=False),
        _or_if_silent(lambda: last_sign_of_life(settings), otherwise=None),
        _or_if_silent(lambda: inspect_state(settings, seconds=PAGES_SECONDS), otherwise=unread),
        _or_if_silent(
            lambda: (
                inspect_server(settings) if on_server else inspect_index_of(settings, seconds=PAGES_SECONDS)
            ),
            otherwise=IndexUnavailable(DISK_SILENT),
        ),
    )
    liveness = Liveness(alive, last_sign, now)
    begun = state.begun if isinstance(state, StateReport) else ""
    paired = state.owners if isinstance(state, StateReport) else ()

    def use() -> Iterable[Check]:
        yield from check_file(settings.file)
        yield from check_secrets_file(settings.secrets_file)
        yield from check_usage(settings, embedding, environment)

    async with HttpProbe(secrets=collect_secrets(settings)) as probe:
        done = await asyncio.gather(
            _guard_disk(Topic("program"), check_program),
            _guard_disk(Topic("settings"), use),
            _guard_disk(Topic("folders"), lambda: check_folders(settings)),
            _guard_disk(Topic("notes"), lambda: check_notes(settings)),
            _guard_disk(Topic("index"), lambda: _inspect_index(settings, index, alive=alive, now=now)),
            check_embeddings(settings, embedding, _inspect_open_index(index), alive=alive),
            _guard_disk(Topic("watching"), lambda: check_watching(settings)),
            _guard_disk(
                Topic("conversations"), lambda: check_conversations(settings, state, alive=alive, now=now)
            ),
            _guard_disk(Topic("backups"), lambda: check_backups(settings, begun=begun, now=now)),
            check_models(settings, environment, probe),
            _guard_disk(Topic("models"), lambda: _check_breakers(settings, state, environment)),
            _guard_disk(Topic("speech"), lambda: check_speech(settings, environment)),
            *(
                run_with_timeout(
                    Topic(name), import_module(section.doctor_module).check(settings, probe, liveness)
                )
                for name, section in settings.channels.items()
            ),
            _guard_disk(Topic("access"), lambda: check_access(settings, paired)),
            run_with_timeout(Topic("service"), check_service(settings, probe, alive=alive)),
            _guard_disk(Topic("instances"), lambda: check_instances(settings)),
            _close_embedding(embedding),
        )
        clocks = tuple(probe.clocks)
    clock = await _guard_disk(Topic("clock"), lambda: check_clock(settings, clocks, machine=system_zone()))
    return [check for checks in (*done, clock) for check in checks]


def _inspect_index(
    settings: Settings, found: _IndexFindings, *, alive: bool, now: datetime
) -> Iterable[Check]:
    if settings.index.url.get_secret_value():
        assert not isinstance(found, IndexInspection)
        assert found is not None
        return check_index_server(settings, found, alive=alive, now=now)
    assert found is None or isinstance(found, IndexInspection | IndexCorrupted | IndexUnavailable)
    return check_note_index(settings, found, alive=alive, now=now)


def _inspect_open_index(found: _IndexFindings) -> IndexInspection | None:
    """Return the index, if there is one that can be read."""
    if isinstance(found, IndexInspection):
        return found
    return None if found is None or isinstance(found, IndexCorrupted | IndexUnavailable) else found.index


def _check_breakers(settings: Settings, state: object, environment: Mapping[str, str]) -> Iterable[Check]:
    if not isinstance(state, StateReport):
        return ()
    named = named_providers(settings, environment)
    models = [f"{each.name}/{model}" for each in named for model in each.models]
    return check_health(state.health, models, now=time.time())


def _is_workspace_open(settings: Settings) -> bool:
    """Return whether any process has the workspace open."""
    try:
        return is_workspace_open(settings.private_folder / "locks", sweep=False)
    except PermissionError:  # another user ran Commonplace here, and may still do so
        return True
    except OSError:
        return False


async def _close_embedding(embedding: Embedding) -> list[Check]:
    """Close the embedder that was only opened to find out which provider is used."""
    if embedding.embedder is not None:
        await embedding.embedder.close()
    return []


async def _guard_disk(topic: Topic, checks: Callable[[], Iterable[Check]]) -> list[Check]:
    return await run_with_timeout(
        topic, run_in_daemon(lambda: list(checks()), name="doctor"), seconds=DISK_SECONDS
    )


async def _or_if_silent(work: Callable[[], Result], *, otherwise: Fallback) -> Result | Fallback:
    """Return the result of `work`, or `otherwise` if the disk does not answer."""
    try:
        async with asyncio.timeout(DISK_SECONDS):
            return await run_in_daemon(work, name="doctor")
    except TimeoutError:
        return otherwise
