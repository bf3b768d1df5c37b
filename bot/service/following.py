"""Which parts follow the settings while everything runs. What is not named here takes effect after a restart."""

import logging
import os
from typing import TYPE_CHECKING

from bot.attachments.speech_opening import opened_speech
from bot.attachments.speech_providers import missing_key
from bot.config.reload import Current
from bot.embedding import embedding_differs
from bot.log import Log, secrets_of
from bot.models.opening import renew_model

if TYPE_CHECKING:
    from bot.answering import Agents
    from bot.config.settings import Settings
    from bot.services import Services

log = logging.getLogger(__name__)


def follow_settings(services: "Services", agents: "Agents") -> None:
    """Have the assistant's parts go by the settings that count just now. Turns that run end as they began."""
    current, start, reader = services.current, services.settings, services.reader

    def rules(new: "Settings") -> None:
        services.access.renew(new.access)
        services.reminders.renew(new.access.owners)

    def limits(new: "Settings") -> None:
        services.rate.renew(new.limits.messages_per_minute)
        services.budget.renew(new.limits.daily_tokens)
        for agent in (agents.with_memory, agents.for_guests):
            agent.renew(steps_per_turn=new.limits.steps_per_turn, tokens_per_turn=new.limits.tokens_per_turn)

    def speech(new: "Settings") -> None:
        reader.speech.renew(*opened_speech(new, os.environ))
        if told := missing_key(new, os.environ):
            log.warning("%s", told)

    def vectors(new: "Settings") -> tuple[str, ...]:
        """Who makes them is chosen at the start, by the keys and addresses of chat providers too."""
        is_indirect = new.memory.embedding == start.memory.embedding
        return ("memory.embedding",) if is_indirect and embedding_differs(start, new) else ()

    current.follow("models", "providers", take=lambda new: renew_model(services.model, new, os.environ))
    current.follow("speech", "providers", take=speech)
    current.follow("agent")  # looked up for each turn
    current.follow("access", take=rules)
    current.follow("limits", take=limits)
    current.follow("attachments", take=lambda new: reader.renew(new.attachments))
    current.follow("memory.search", take=lambda new: services.memory.renew(new.memory.search))
    current.follow("memory.flush", take=lambda new: services.compactor.renew(new.memory.flush))
    current.depends(vectors)


def follow_with_log(current: Current, lines: Log) -> None:
    """Have the log go by them; a secret is kept out of it from the moment on that it is read."""
    current.tell(lambda new: lines.keep_out(secrets_of(new)))
    current.follow(
        "log_level",
        "log_format",
        take=lambda new: lines.change(level=new.log_level, format=new.log_format),
    )
