"""Checks the settings: where they come from, who can read them, and which have no effect."""

import re
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path

from bot.attachments.transcription_providers import resolve_transcription_provider
from bot.config.errors import PREFIX
from bot.config.loaders import RESERVED_VARIABLES
from bot.config.secret_files import read_secrets, secrets_folder
from bot.config.settings import SECRETS_NAME, ConfigError, Settings
from bot.doctor.check import Check, Topic, format_list
from bot.embedding import provider_sections
from memory.embeddings.factory import Embedding
from memory.embeddings.provider_choice import is_section_for
from memory.settings import Section

TOPIC = Topic("settings")

_SECRET = re.compile(
    r"""\b(?:token|api_keys?|webhook_secret)["']?\s*=\s*(?:\[(?:\s|#.*\n)*)?"""
    r"""(?:"{3}|'{3}|["'])[^"'\s]"""  # not empty
    r"""|://[^/\s"']+@"""  # a password in a URL
)


def check_file(file: Path | None, *, error: ConfigError | None = None) -> Iterator[Check]:
    """Check the settings file. `error`: why the settings cannot be used, in one line without secrets."""
    if error is not None:
        yield TOPIC.fail("valid", str(error), "correct that; docs/settings.md lists every key")
    if file is None:
        if error is None:
            yield TOPIC.ok("file", "none, so the defaults apply (`commonplace init` writes a file)")
        return
    if error is None:
        yield TOPIC.ok("file", str(file))
    try:
        mode = file.stat().st_mode
        has_secrets = holds_secrets(file.read_bytes().decode("utf-8", "replace"))
    except OSError:  # reported as the error already
        return
    if mode & (stat.S_IWGRP | stat.S_IWOTH):
        yield TOPIC.warn("permissions", f"other users can write to {file}", f"run: chmod 600 {file}")
    elif mode & stat.S_IROTH and has_secrets:
        yield TOPIC.warn(
            "permissions",
            f"all users of this machine can read {file}, which holds secrets",
            f"run as the user that runs Commonplace: chmod 600 {file}; or move the secrets to {SECRETS_NAME} beside it",
        )
    else:
        yield TOPIC.ok(
            "permissions",
            "not readable for everybody" if not mode & stat.S_IROTH else "no secrets in the file",
        )


def check_secrets_file(file: Path | None) -> Iterator[Check]:
    """Check who can read the file of secrets."""
    if file is None:
        return
    try:
        mode = file.stat().st_mode
    except OSError:  # reported as the error already
        return
    if mode & (stat.S_IRWXG | stat.S_IRWXO):
        detail = f"other users of this machine have access to {file}, which holds secrets"
        yield TOPIC.warn("secrets", detail, f"run as the user that runs Commonplace: chmod 600 {file}")
    else:
        yield TOPIC.ok("secrets", f"only you can read {file}")


def holds_secrets(text: str) -> bool:
    """Return whether a settings file holds a token, key or password that is not commented out."""
    lines = (line for line in text.splitlines() if not line.lstrip().startswith("#"))
    return _SECRET.search("\n".join(lines)) is not None


def check_usage(settings: Settings, embedding: Embedding, environment: Mapping[str, str]) -> Iterator[Check]:
    """Check what environment variables set, and which settings have no effect."""
    variables = {name for name, value in environment.items() if value}
    variables |= read_secrets(folder).keys() if (folder := secrets_folder()) else set()
    ours = sorted(
        name
        for name in variables
        if name.upper().startswith(PREFIX) and name.upper() not in RESERVED_VARIABLES
    )
    if ours:
        yield TOPIC.ok("environment", f"settings also come from {format_list(ours, limit=8)}")
    unused = list(unused_settings(settings, embedding, environment))
    if unused:
        yield TOPIC.warn(
            "in vain",
            f"no effect: {format_list(unused, limit=8)}",
            "remove these, or set what they depend on",
        )


def unused_settings(
    settings: Settings, embedding: Embedding, environment: Mapping[str, str]
) -> Iterator[str]:
    """Yield keys that are set but have no effect, each with the reason."""
    yield from _unused_providers(settings, embedding, environment)
    models, memory = settings.models, settings.memory
    if not models.fallback and any(names for _, names in models.on_error):
        yield "models.on_error (models.fallback is false)"
    for name, section in settings.channels.items():
        others = sorted(_changed_keys(section) - {"token"})
        if others and not section.is_configured:
            yield f"{name}.{others[0]} ({name}.token is empty)"
        if ineffective := section.ineffective_key():
            yield ineffective
    if not settings.index.url.get_secret_value():
        for key in sorted(_changed_keys(settings.instance)):
            yield f"instance.{key} (index.url is empty)"
    if settings.server.token.get_secret_value() and not settings.server.enabled:
        yield "server.token (server.enabled is false)"
    if settings.mcp.tokens and not settings.server.enabled:
        yield "mcp.tokens (server.enabled is false)"
    if memory.embedding.fallback != "none" and embedding.choice.provider == "none":
        yield "memory.embedding.fallback (there is no first provider)"
    if memory.embedding.fallback_model and memory.embedding.fallback == "none":
        yield "memory.embedding.fallback_model (memory.embedding.fallback is none)"
    chosen = (memory.embedding.provider, memory.embedding.fallback)
    if _changed_keys(memory.embedding.local) and not {"auto", "local"} & {*chosen}:
        yield "memory.embedding.local (another provider is used)"
    if "debounce_seconds" in _changed_keys(memory.watch) and not memory.watch.enabled:
        yield "memory.watch.debounce_seconds (memory.watch.enabled is false)"
    if "at" in _changed_keys(settings.backup) and not settings.backup.keep:
        yield "backup.at (backup.keep is 0)"


def _changed_keys(section: Section) -> set[str]:
    """Return the keys whose value is not the default."""
    defaults = type(section)()
    return {name for name in section.model_fields_set if getattr(section, name) != getattr(defaults, name)}


def _unused_providers(
    settings: Settings, embedding: Embedding, environment: Mapping[str, str]
) -> Iterator[str]:
    models = settings.models
    named = (*models.chain, *models.params, *(name for _, names in models.on_error for name in names))
    used = {model.partition("/")[0] for model in named}
    if speech := resolve_transcription_provider(settings.speech, settings.providers, environment):
        used.add(speech.name)
    for name, section in provider_sections(settings).items():
        chosen = (embedding.choice.provider, embedding.fallback.provider)
        makes_vectors = any(
            is_section_for(each, name, section) for each in chosen if each not in ("none", "local")
        )
        if name not in used and not makes_vectors:
            yield f"providers.{name} (models.chain has no model of it)"
