"""Settings of parts that this version does not have: whoever sets one is told so before the start.

Each line goes when its part comes.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from memory.embeddings.auto import ProviderSection, is_section_of
from memory.embeddings.table import PROVIDERS

if TYPE_CHECKING:
    from bot.config import Settings


def not_built(settings: "Settings") -> Iterator[tuple[tuple[str, ...], str]]:
    """Each key that is set in vain, with what this version lacks."""
    if settings.telegram.token:
        yield ("telegram", "token"), "no Telegram channel"
    if settings.telegram.mode == "webhook":
        yield ("telegram", "mode"), "no Telegram channel"
    if settings.telegram.webhook_url:
        yield ("telegram", "webhook_url"), "no Telegram channel"
    if settings.telegram.webhook_secret:
        yield ("telegram", "webhook_secret"), "no Telegram channel"
    if settings.discord.token:
        yield ("discord", "token"), "no Discord channel"

    if settings.index.url:
        yield ("index", "url"), "no index but its own file"

    no_client = {name: table.kind for name, table in settings.providers.items() if table.kind != "builtin"}
    for name, kind in no_client.items():
        # The vectors of the notes may be made with the keys of these.
        section = ProviderSection(kind, settings.providers[name].base_url)
        makes_vectors = any(is_section_of(each, name, section) for each in PROVIDERS if each != "local")
        for key in ("model_path",) if makes_vectors else ("api_key", "api_keys", "model_path"):
            if getattr(settings.providers[name], key):
                yield ("providers", name, key), f"no client for providers of kind {kind}"
    lists: dict[tuple[str, ...], tuple[str, ...]] = {("models", "chain"): settings.models.chain}
    lists |= {("models", "on_error", key): models for key, models in settings.models.on_error}
    for keys, models in lists.items():
        for model in models:
            if (name := model.partition("/")[0]) in no_client:
                yield keys, f"no client for {model} (kind {no_client[name]})"
