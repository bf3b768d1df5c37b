"""Fetch the Gateway's address and connection limits before the library connects."""

import asyncio
import json
from dataclasses import dataclass
from typing import Any

import aiohttp
import yarl
from discord import GatewayNotFound, LoginFailure, RateLimited

from adapters.discord.response_timeouts import read_answer

ANSWER_BYTES = 1 << 16
MAX_SHARDS = 256
"""Maximum connections at once, each with a thread; a bot that needs more is in half a million servers."""
MAX_WAIT_SECONDS = 86_400.0


@dataclass(frozen=True, slots=True)
class GatewayInfo:
    """Discord's answer to a bot that wants to connect."""

    address: str
    shards: int = 1
    """Number of concurrent connections."""
    sessions: int = 1000
    """Sessions left for today."""
    reset_after: float = 0.0
    """Seconds until the session limit is reset."""


async def fetch_gateway(api_base: str, token: str) -> GatewayInfo:
    """Fetch the Gateway from the API at `api_base` (without a slash at the end).

    Raises LoginFailure, RateLimited, GatewayNotFound, aiohttp.ClientError and TimeoutError.
    """
    async with aiohttp.ClientSession(headers={"User-Agent": "DiscordBot (commonplace, 1)"}) as session:
        plain, mine = await asyncio.gather(
            _get_json(session, f"{api_base}/gateway"),
            _get_json(session, f"{api_base}/gateway/bot", authorization=f"Bot {token}"),
        )
    address = plain.get("url") or mine.get("url")
    if not isinstance(address, str) or yarl.URL(address).scheme not in ("ws", "wss"):
        raise GatewayNotFound
    limit = mine.get("session_start_limit")
    limit = limit if isinstance(limit, dict) else {}
    return GatewayInfo(
        address,
        shards=_parse_count(mine.get("shards"), 1, maximum=MAX_SHARDS) or 1,
        sessions=_parse_count(limit.get("remaining"), 1000),
        reset_after=_parse_count(limit.get("reset_after"), 0) / 1000,
    )


async def _get_json(session: aiohttp.ClientSession, url: str, *, authorization: str = "") -> dict[str, Any]:
    headers = {"Authorization": authorization} if authorization else {}
    async with session.get(url, headers=headers) as answer:
        if answer.status == 401:
            raise LoginFailure("the token is not known")
        if answer.status == 429:
            raise RateLimited(_parse_seconds(answer.headers.get("Retry-After", "")))
        if answer.status >= 500:
            answer.raise_for_status()
        if answer.status != 200:  # a proxy may know only one of the two
            return {}
        try:
            told = json.loads(await read_answer(answer, ANSWER_BYTES))
        except (ValueError, RecursionError) as error:
            raise GatewayNotFound from error
        return told if isinstance(told, dict) else {}


def _parse_count(value: object, otherwise: int, *, maximum: int = 10**9) -> int:
    return value if type(value) is int and 0 <= value <= maximum else otherwise


def _parse_seconds(text: str) -> float:
    try:
        # This order of `max` and `min` also replaces NaN.
        return max(0.0, min(MAX_WAIT_SECONDS, float(text)))
    except ValueError:
        return 0.0
