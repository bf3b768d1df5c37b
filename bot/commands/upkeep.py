"""The slash commands about the house itself: a backup, and the settings."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bot import phrases
from bot.attachments.wording import in_bytes
from bot.commands.command import CommandCall, CommandContext
from bot.plain_text import one_line

if TYPE_CHECKING:
    from pydantic import BaseModel

LONGEST_VALUE = 200
"""Of a setting, as it is shown, in characters."""


async def back_up(call: CommandCall, context: CommandContext) -> str:
    """Write an archive and name it; nothing of what is in it goes to the chat."""
    from bot.backup import BackupFault

    try:
        # With the time: a state.db that is begun anew counts its messages from 1 again.
        made = await context.backups.make(key=f"{call.key} {call.message.sent_at.isoformat()}")
    except BackupFault as fault:
        return phrases.NOT_BACKED_UP.format(reason=fault)
    if made.problems:
        problems = "\n".join(f"- {problem}" for problem in made.problems)
        return phrases.BACKED_UP_IN_PART.format(file=made.file, problems=problems)
    return phrases.BACKED_UP.format(files=made.files, size=in_bytes(made.size), file=made.file)


async def show_config(call: CommandCall, context: CommandContext) -> str:
    """List the settings that are not as they come, of secrets only that they are set."""
    from bot.log import secrets_of
    from memory.redaction import without_secrets

    del call
    settings = context.settings
    rows = [
        phrases.CONFIG_ROW.format(key=key, value=value)
        for key, value in changed_settings(settings)
        if key != "workspace"
    ]
    text = phrases.CONFIG.format(
        file=settings.file or phrases.CONFIG_NO_FILE,
        workspace=settings.workspace,
        rows="\n".join(rows) or phrases.CONFIG_NOTHING,
    )
    return without_secrets(text, secrets_of(settings))  # such as the password within an address


def changed_settings(section: "BaseModel", keys: tuple[str, ...] = ()) -> Iterator[tuple[str, str]]:
    """Every setting that differs from its default, by its whole key, as TOML has it; a secret's text is not shown."""
    from pydantic import BaseModel

    from bot.config_errors import dotted

    for name, field in type(section).model_fields.items():
        value, path = getattr(section, name), (*keys, name)
        if isinstance(value, BaseModel):
            yield from changed_settings(value, path)
        elif isinstance(value, dict):
            for entry, table in value.items():
                yield from changed_settings(table, (*path, entry))
        elif field.is_required() or value != field.get_default(call_default_factory=True):
            yield dotted(path), _shown(value)


def _shown(value: Any) -> str:
    from pydantic import SecretStr

    if isinstance(value, SecretStr):
        return phrases.CONFIG_IS_SET
    if isinstance(value, tuple) and any(isinstance(each, SecretStr) for each in value):
        return phrases.CONFIG_ARE_SET.format(count=len(value))
    text = json.dumps(str(value) if isinstance(value, Path) else value, ensure_ascii=False)
    return one_line(text, limit=LONGEST_VALUE)
