"""The steps of `commonplace init`, in their order; each can be repeated alone by its name."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from bot.setup import english
from bot.setup.channel import set_up_channel
from bot.setup.model import set_up_model
from bot.setup.notes import set_up_notes
from bot.setup.page import set_up_page
from bot.setup.service import set_up_service
from bot.setup.setup import Setup
from bot.setup.you import set_up_you
from memory.translatable import Translatable


@dataclass(frozen=True, slots=True)
class Step:
    """One part of the setup."""

    name: str
    title: str
    flags: tuple[str, ...]
    """The flags that answer its questions, without dashes."""
    take: Callable[[Setup], str]
    """Asks, tests and edits; returns what was set in a few words, "" for nothing."""
    sets: tuple[str, ...] = ()
    """Keys of the settings that it asks for; `*` stands for any name or number."""


STEPS: Sequence[Step] = (
    Step(
        "you",
        Translatable(english.YOU_TITLE),
        ("name", "timezone"),
        set_up_you,
        sets=("agent.name", "timezone"),
    ),
    Step(
        "model",
        Translatable(english.MODEL_TITLE),
        ("model", "base-url", "api-key-file"),
        set_up_model,
        sets=("models.chain", "providers.*.kind", "providers.*.base_url", "providers.*.api_key"),
    ),
    Step(
        "telegram",
        "Telegram",
        ("telegram-token-file", "telegram-owner"),
        partial(set_up_channel, name="telegram"),
        sets=("telegram.token", "access.owners"),
    ),
    Step(
        "discord",
        "Discord",
        ("discord-token-file", "discord-owner"),
        partial(set_up_channel, name="discord"),
        sets=("discord.token", "access.owners"),
    ),
    Step(
        "notes",
        Translatable(english.NOTES_TITLE),
        ("vault", "vault-name", "vault-write"),
        set_up_notes,
        sets=("workspace", "memory.folders*.path", "memory.folders*.name", "memory.folders*.write"),
    ),
    Step("page", Translatable(english.PAGE_TITLE), ("page-token",), set_up_page, sets=("server.token",)),
    Step("service", Translatable(english.SERVICE_TITLE), ("service", "start"), set_up_service),
)
"""`bot/cli/main.py` has the flags' explanations."""
