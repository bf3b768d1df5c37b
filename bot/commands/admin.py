"""Slash commands for administration: make a backup, show and reload the settings."""

import json
import logging
import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bot import english, phrases
from bot.access import TERMINAL
from bot.commands.command import CommandCall
from bot.config.errors import ConfigError
from bot.language.text import join_sentences, localize
from bot.process_lock import service_pid
from bot.quantities import size_in_words
from bot.sanitize import one_line
from bot.services import Services

if TYPE_CHECKING:
    from bot.config.settings import Settings

log = logging.getLogger(__name__)

MAX_VALUE_CHARS = 200
"""The longest value of a setting that is shown."""


async def make_backup(call: CommandCall, services: Services) -> str:
    """Write a backup archive and return its path; its content is never shown in the chat."""
    from bot.archives.errors import BackupError

    try:
        # With the time, because a new state.db numbers its messages from 1 again.
        made = await services.backups.make(key=f"{call.key} {call.message.sent_at.isoformat()}")
    except BackupError as fault:
        return phrases.NOT_BACKED_UP.format(reason=fault)
    if made.problems:
        problems = "\n".join(f"- {localize(problem)}" for problem in made.problems)
        return phrases.BACKED_UP_IN_PART.format(file=made.file, problems=problems)
    return phrases.BACKED_UP.format(files=made.files, size=size_in_words(made.size), file=made.file)


async def show_config(call: CommandCall, services: Services) -> str:
    """List the settings that differ from their defaults, without the text of secrets; or reload them."""
    from bot.config.reload import describe_pending
    from bot.log import collect_secrets
    from memory.redaction import remove_secrets

    if call.options.get("action") == "reload":
        service = _find_other_service(services) if call.message.chat.channel == TERMINAL else None
        told = await _reload(services, same=phrases.CONFIG_SAME_HERE if service else phrases.CONFIG_SAME)
        return (
            join_sentences([told, phrases.CONFIG_IN_SERVICE_TOO])
            if service and _reload_service(service)
            else told
        )
    settings = services.settings
    secrets = collect_secrets(settings)  # removed before a long value is cut
    rows = [
        phrases.CONFIG_ROW.format(
            key=key, value=one_line(remove_secrets(value, secrets), limit=MAX_VALUE_CHARS)
        )
        for key, value in list_changed_settings(settings)
        if key != "workspace"
    ]
    text = phrases.CONFIG.format(
        file=settings.file or phrases.CONFIG_NO_FILE,
        workspace=settings.workspace,
        settings=phrases.CONFIG_ROWS.format(rows="\n".join(rows)) if rows else phrases.CONFIG_NOTHING,
    )
    text = "\n\n".join(filter(None, (text, await describe_pending(services.live_settings))))
    return remove_secrets(text, secrets)


async def _reload(services: Services, *, same: str) -> str:
    from bot.config.reload import format_changes

    try:
        changes = await services.live_settings.reload()
    except ConfigError as error:
        log.warning("%s", english.CONFIG_UNUSABLE.format(reason=error))
        return phrases.CONFIG_UNUSABLE.format(reason=error)
    told = format_changes(changes, same=same)
    log.info("%s", told)
    return told


def _find_other_service(services: Services) -> int | None:
    """Return the process id of a service in another process; None if there is none."""
    pid = service_pid(services.settings.private_folder / "locks")
    return None if pid == os.getpid() else pid


def _reload_service(pid: int) -> bool:
    """Tell a service to reload too; return whether it is still there."""
    try:
        os.kill(pid, signal.SIGHUP)
    except OSError:
        return False
    return True


def list_changed_settings(settings: "Settings") -> Iterator[tuple[str, str]]:
    """Yield key and TOML value of each setting that differs from its default; the text of secrets is hidden."""
    from bot.config.errors import format_key
    from bot.config.example import plain_fields
    from bot.config.listing import walk_sections

    for keys, section in walk_sections(settings):
        for name, field in plain_fields(type(section)):
            value, path = getattr(section, name), (*keys, name)
            if isinstance(value, dict):
                for entry, inner in value.items():
                    yield format_key((*path, entry)), _format_value(inner)
            elif field.is_required() or value != field.get_default(call_default_factory=True):
                yield format_key(path), _format_value(value)


def _format_value(value: Any) -> str:
    from pydantic import SecretStr

    if isinstance(value, SecretStr):
        return phrases.CONFIG_IS_SET
    if isinstance(value, tuple) and any(isinstance(each, SecretStr) for each in value):
        return phrases.CONFIG_ARE_SET.format(count=len(value))
    return json.dumps(str(value) if isinstance(value, Path) else value, ensure_ascii=False)
