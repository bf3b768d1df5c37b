"""Which parts follow changed settings while running; all others need a restart."""

import logging
import os
from typing import TYPE_CHECKING

from bot.attachments.open_transcriber import open_transcriber
from bot.attachments.transcription_providers import missing_key
from bot.config.reload import LiveSettings
from bot.embedding import is_different_embedding
from bot.log import Log, collect_secrets
from bot.models.factory import reconfigure_model

if TYPE_CHECKING:
    from bot.config.settings import Settings
    from bot.dispatch import Agents
    from bot.services import Services

log = logging.getLogger(__name__)


def follow_settings(services: "Services", agents: "Agents") -> None:
    """Make the assistant's parts follow the current settings; running turns finish with the old ones."""
    current, start, reader = services.live_settings, services.settings, services.reader

    def rules(new: "Settings") -> None:
        services.access.set_rules(new.access)
        services.pairing.renew(new.access)
        services.reminders.set_owners(new.access.owners)

    def limits(new: "Settings") -> None:
        services.rate.set_limit(new.limits.messages_per_minute)
        services.budget.set_limit(new.limits.daily_tokens)
        for agent in (agents.with_memory, agents.for_guests):
            agent.set_limits(
                steps_per_turn=new.limits.steps_per_turn, tokens_per_turn=new.limits.tokens_per_turn
            )

    def speech(new: "Settings") -> None:
        reader.speech.replace(*open_transcriber(new, os.environ))
        if told := missing_key(new, os.environ):
            log.warning("%s", told)

    def search(new: "Settings") -> None:
        services.memory.set_search_settings(new.memory.search)
        if services.conversations:
            services.conversations.set_search_settings(new.memory.search)

    def vectors(new: "Settings") -> tuple[str, ...]:
        """Check for a change that needs a restart: keys and addresses of chat providers also decide the embedding."""
        is_indirect = new.memory.embedding == start.memory.embedding
        return ("memory.embedding",) if is_indirect and is_different_embedding(start, new) else ()

    current.on_change(
        "models", "providers", take=lambda new: reconfigure_model(services.model, new, os.environ)
    )
    current.on_change("speech", "providers", take=speech)
    current.on_change("agent", "memory.recall")  # read for each turn
    current.on_change("access", take=rules)
    current.on_change("limits", take=limits)
    current.on_change("attachments", take=lambda new: reader.set_settings(new.attachments))
    current.on_change("memory.search", take=search)
    current.on_change("memory.flush", take=lambda new: services.compactor.set_settings(new.memory.flush))
    current.on_restart_check(vectors)


def follow_log_settings(live_settings: LiveSettings, lines: Log) -> None:
    """Make the log follow the settings; new secrets are redacted from the moment they are read."""
    live_settings.on_read(lambda new: lines.redact(collect_secrets(new)))
    live_settings.on_change(
        "log_level",
        "log_format",
        take=lambda new: lines.configure(level=new.log_level, format=new.log_format),
    )
