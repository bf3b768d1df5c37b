"""The service from its first log line to its last: open everything, and run the channels until it should leave."""

import asyncio
import logging
import os
import socket
import sys
from collections.abc import Sequence
from contextlib import AsyncExitStack
from functools import partial
from typing import TYPE_CHECKING

from bot.assistant import Assistant
from bot.attachments.transcription_providers import missing_key
from bot.config.reload import reload_on_hangup
from bot.config.settings import Settings
from bot.config.system_zone import system_zone
from bot.log import Log, RecentErrors, collect_secrets, log_to_file, log_to_stderr
from bot.service.channels import open_channels
from bot.service.http import page_address, run_http_server
from bot.service.live_settings import follow_log_settings
from bot.service.open_assistant import open_assistant
from bot.service.run_channels import SHUTDOWN_SECONDS, run_channels
from bot.service.startup import freeze_garbage_collector
from bot.services import Services

if TYPE_CHECKING:
    from bot.cluster.membership import Membership

log = logging.getLogger(__name__)


async def serve_standalone(
    settings: Settings, sockets: Sequence[socket.socket], leaving: asyncio.Event, *, at_terminal: bool
) -> None:
    """Serve a workspace that no other instance shares."""
    recent_errors = RecentErrors()
    # Before state.db is opened, since its upgrade may take minutes.
    lines = start_log(settings, recent_errors, at_terminal=at_terminal)
    async with open_assistant(settings, alone=True, recent_errors=recent_errors) as assistant:
        await run_service(assistant, lines, sockets, leaving, at_terminal=at_terminal)
        log.info("leaving")


async def run_service(
    assistant: Assistant,
    lines: Log,
    sockets: Sequence[socket.socket],
    leaving: asyncio.Event,
    *,
    at_terminal: bool,
    membership: "Membership | None" = None,
) -> None:
    """Serve with an open assistant until `leaving` is set; `membership` if other instances share the channels."""
    services = assistant.services
    async with AsyncExitStack() as stack:
        follow_log_settings(services.live_settings, lines)
        await stack.enter_async_context(reload_on_hangup(services.live_settings, services.supervisor))
        log_providers(services)
        log.info("notes in %s; model: %s", services.settings.memory_folder, services.model.name)
        page = page_address(sockets)
        channels = await stack.enter_async_context(
            open_channels(assistant, at_terminal=at_terminal, page=page, membership=membership)
        )
        if sockets:
            await stack.enter_async_context(run_http_server(sockets, services, channels.hooks))
        await stack.enter_async_context(services.background)
        if channels.adapters:
            log.info("channels: %s", ", ".join(adapter.name for adapter in channels.adapters))
        else:
            log.info("no channel is configured; serving only HTTP")
        freeze_garbage_collector()
        await run_channels(
            channels.adapters, assistant, leaving, timeout_seconds=partial(shutdown_seconds, membership)
        )
        await channels.release()  # first of all: another instance waits for it


def shutdown_seconds(membership: "Membership | None") -> float:
    """Return the seconds that running turns get to finish; 0 if another instance may serve the workspace."""
    return SHUTDOWN_SECONDS if membership is None or membership.is_uninterrupted else 0.0


def start_log(settings: Settings, recent_errors: RecentErrors, *, at_terminal: bool) -> Log:
    """Start logging to standard error, or to a file if a person uses the terminal."""
    if at_terminal and sys.stdin.isatty() and sys.stdout.isatty() and sys.stderr.isatty():
        return log_to_file(
            settings.private_folder / "chat.log",
            level=settings.log_level,
            format=settings.log_format,
            secrets=collect_secrets(settings),
            recent_errors=recent_errors,
        )
    return log_to_stderr(
        settings.log_level,
        format=settings.log_format,
        secrets=collect_secrets(settings),
        recent_errors=recent_errors,
    )


def log_providers(services: Services) -> None:
    """Log which provider makes embeddings and why, and whether speech recognition lacks a key."""
    embedding = services.embedding
    log.info("embedding: %s", embedding.choice.reason)
    if embedding.fallback.provider != "none":
        log.info("embedding, fallback: %s", embedding.fallback.reason)
    if embedding.error:
        log.warning("embedding: %s", embedding.error)
    settings, machine = services.settings, system_zone()
    if machine.problem and not settings.timezone:
        log.warning("using UTC as the timezone; this machine's cannot be used: %s", machine.problem)
    if told := missing_key(settings, os.environ):
        log.warning("%s", told)
