"""Register the slash commands with Discord, only where they differ from what was registered."""

import asyncio
import hashlib
import json
import logging
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import aiohttp
import discord

from adapters.discord.connection_health import describe_error
from adapters.discord.private_api import http_client
from adapters.discord.slash_commands import make_payload
from bot.channel_store import ChannelStore
from bot.commands.command import Command
from bot.sanitize import one_line
from memory.translatable import Translatable, map_fields

log = logging.getLogger(__name__)

PAUSES = (5.0, 30.0, 120.0, 600.0, 1800.0)
"""Seconds before each retry while Discord is unreachable; the last one repeats."""
MISSING_ACCESS = 50001

_PREFIX = "commands:"
_EVERYWHERE = 0


class CommandRegistration:
    """Sets all commands with one call, for everywhere or for certain guilds only.

    What was set is stored per application. Refusals by Discord are logged and reported as a `problem`.
    """

    def __init__(
        self,
        store: ChannelStore,
        *,
        commands: Sequence[Command],
        guilds: Sequence[int] = (),
        pauses: Sequence[float] = PAUSES,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        """`guilds`: the only ones to show the commands in; empty for everywhere."""
        self.problem = ""
        """Why the commands are not shown as they should be, with the remedy, in one line."""
        self._store = store
        self._commands = commands
        self._guilds = guilds
        self._pauses = pauses
        self._sleep = sleep
        self._logged = ""

    async def register(self, client: discord.Client) -> None:
        """Set commands that have changed, and remove those shown elsewhere; call it after login.

        Returns when that is done or refused, or the client is closed; may be called again after a failure. Raises
        StateFault.
        """
        application = client.application_id
        if application is None:
            return
        prefix = f"{_PREFIX}{application}:"
        for_guild = bool(self._guilds)
        payload = make_payload(self._commands, for_guild=for_guild)
        digest = hashlib.sha256(json.dumps(payload, sort_keys=True).encode()).hexdigest()[:32]
        wanted = dict.fromkeys(self._guilds or (_EVERYWHERE,), digest)
        self.problem = ""
        noted = await self._store.list_prefix(prefix)
        known = {int(key.removeprefix(prefix)): value for key, value in noted.items()}
        for place, expected in wanted.items():
            if known.get(place) != expected and await self._set_commands(client, place, payload):
                await self._store.put(f"{prefix}{place}", expected)
        for place in known.keys() - wanted.keys():
            if await self._set_commands(client, place, []):
                await self._store.put(f"{prefix}{place}", "")

    async def _set_commands(self, client: discord.Client, place: int, payload: list[dict[str, Any]]) -> bool:
        """Set all commands of a guild or of everywhere; return whether that is done."""
        application, http = client.application_id or 0, http_client(client)
        pauses = list(self._pauses)
        while not client.is_closed():
            wait = 0.0
            try:
                if place == _EVERYWHERE:
                    await http.bulk_upsert_global_commands(application, payload)
                else:
                    await http.bulk_upsert_guild_commands(application, place, payload)
            except discord.RateLimited as limited:
                self._log_once(_not_updated(limited))
                wait = limited.retry_after
            except (discord.HTTPException, aiohttp.ClientError, OSError) as error:
                if isinstance(error, discord.HTTPException) and error.status < 500 and error.status != 429:
                    return self._handle_refusal(application, place, payload, error)
                self._log_once(_not_updated(error))
            except RuntimeError:
                if not client.is_closed():
                    raise
                return False  # closed during the call
            else:
                self._logged = ""
                return True
            await self._sleep(max(pauses[0], wait))
            if len(pauses) > 1:
                del pauses[0]
        return False

    def _handle_refusal(
        self, application: int, place: int, payload: list[dict[str, Any]], error: discord.HTTPException
    ) -> bool:
        """Record why Discord refused; return whether nothing is left to do."""
        if place != _EVERYWHERE and not payload and error.status in (403, 404):
            return True  # the bot has left the guild, and its commands are gone
        if isinstance(error, discord.Forbidden) and error.code == MISSING_ACCESS:
            self.problem = lacks_scope(place, application)
        else:
            self.problem = _not_updated(error)
        self._log_once(self.problem)
        return False

    def _log_once(self, problem: str) -> None:
        """Log a problem once, not with each retry."""
        if problem != self._logged:
            log.warning("Discord: %s", one_line(problem))
        self._logged = problem


def lacks_scope(guild: object, application: object) -> Translatable:
    """Return the problem that a server does not let this application show its commands, and its remedy."""
    return Translatable(
        "the slash commands cannot be shown in the server {guild}: the bot was added to it without the scope "
        "applications.commands; open https://discord.com/oauth2/authorize?client_id={application}"
        "&scope=bot+applications.commands and add it again",
        guild=guild,
        application=application,
    )


def _not_updated(error: Exception) -> Translatable:
    reason = map_fields(describe_error(error), one_line)
    return Translatable("the slash commands could not be updated: {reason}", reason=reason)
