"""What the HTTP server's handlers reach for, by the application's keys."""

from aiohttp import web

from bot.services import Services

services_key = web.AppKey("services", Services)
"""Only where somebody may come in: the health check and the platforms' hooks do without."""


def token_of(services: Services) -> str:
    """Return what whoever comes in must know; "" for none, on this machine alone."""
    return services.settings.server.token.get_secret_value().strip()
