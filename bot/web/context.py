"""Application keys for the HTTP handlers."""

from aiohttp import web

from bot.services import Services

services_key = web.AppKey("services", Services)
"""Only set with authentication; health check and webhooks work without."""


def token_of(services: Services) -> str:
    """Return server.token; "" for none, which only local requests may use."""
    return services.settings.server.token.get_secret_value().strip()
