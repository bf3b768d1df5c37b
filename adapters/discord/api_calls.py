"""Calls to Discord, with retries that the library lacks, and refusals as exceptions."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import TypeVar

import aiohttp
import discord

from adapters.api_errors import ApiRefused, ChatGone, ContentBlocked, MessageGone, TargetChanged, TooLong
from adapters.call_retries import PAUSES, call_with_retries
from adapters.discord.connection_health import describe_error
from adapters.discord.invalid_requests import InvalidRequestLimit
from bot.messages import ChannelFault

log = logging.getLogger(__name__)

CALL_SECONDS = 75.0
"""For a whole call, including up to a minute that the library waits for a rate limit."""
WRONG_TOKEN_HOLD = 60.0

Result = TypeVar("Result")


class ThreadArchived(ApiRefused):
    """The thread is archived; a new message reopens it, but an edit does not."""


class InteractionExpired(TargetChanged):
    """The interaction can no longer be answered."""


class ReplyRefused(ApiRefused):
    """The message to reply to is missing or may not be replied to."""


class ApiCalls:
    """Makes the bot's calls to Discord."""

    def __init__(
        self,
        client: Callable[[], Awaitable[discord.Client]],
        *,
        pauses: Sequence[float] = PAUSES,
        call_seconds: float = CALL_SECONDS,
        budget: InvalidRequestLimit | None = None,
    ) -> None:
        """`client` returns the logged-in client, or raises ChannelFault."""
        self._client = client
        self._pauses = pauses
        self._call_seconds = call_seconds
        self._budget = budget or InvalidRequestLimit()

    async def make(
        self, call: Callable[[discord.Client], Awaitable[Result]], *, again: bool = True
    ) -> Result:
        """Make a call that is safe to repeat, and retry it if it failed in transit.

        Raises ApiRefused for permanent refusals, and ChannelFault if a later call may work.
        """
        return await call_with_retries(partial(self._call_once, call), self._pauses if again else ())

    async def _call_once(self, call: Callable[[discord.Client], Awaitable[Result]]) -> Result:
        if wait := self._budget.wait():
            raise ChannelFault(
                "Discord has rejected too many requests; the next one has to wait", retry_after=wait
            )
        client = await self._client()
        try:
            async with asyncio.timeout(self._call_seconds):
                return await call(client)
        except discord.HTTPException as error:
            self._budget.note(error.status)
            raise translate_error(error) from error
        except discord.RateLimited as error:
            raise ChannelFault(describe_error(error), retry_after=error.retry_after) from error
        except aiohttp.ClientResponseError as error:  # its text holds the URL, and with it a token
            raise ChannelFault(describe_error(error)) from None
        except (aiohttp.ClientError, OSError) as error:  # includes TimeoutError
            raise ChannelFault(describe_error(error)) from error
        except (RuntimeError, AttributeError) as error:
            if not client.is_closed():
                raise
            raise ChannelFault("Discord cannot be reached: it is reconnecting") from error
        except (LookupError, TypeError, ValueError) as error:
            raise ChannelFault(
                f"Discord cannot be reached: its answer is invalid ({type(error).__name__})"
            ) from error


# https://discord.com/developers/docs/topics/opcodes-and-status-codes#json
_MEANINGS: dict[type[ApiRefused], tuple[int, ...]] = {
    ChatGone: (
        10003,  # channel
        10004,  # user
        10013,  # user
        40058,  # a forum itself
        50001,  # not visible to the bot
        50007,  # a person who accepts no direct messages
        50008,  # a channel without text
        50013,  # not writable for the bot
        50033,  # no such person
        50278,  # a person who shares no guild with the bot
        160005,  # a locked thread
    ),
    MessageGone: (10008, 50005, 50021, 50162),
    ThreadArchived: (50083,),
    InteractionExpired: (10015, 10062, 50027),
    ReplyRefused: (160002,),
    ContentBlocked: (20009, 200000, 200001, 240000),
}
_BY_CODE = {code: kind for kind, codes in _MEANINGS.items() for code in codes}
_INVALID_FORM = 50035
_SLOWMODE_CODES = (20016, 20022, 20028)


def translate_error(error: discord.HTTPException) -> Exception:
    """Return our exception for an error of the library."""
    said = error.text.strip() or str(error.status)
    if kind := _BY_CODE.get(error.code):
        return kind(said)
    if error.status == 429 or error.code in _SLOWMODE_CODES:
        return ChannelFault(describe_error(error), retry_after=_retry_after(error))
    if error.status == 401:
        return ChannelFault(describe_error(error), retry_after=WRONG_TOKEN_HOLD)
    if error.status >= 500 or not error.code:  # without a code, the answer is a proxy's
        return ChannelFault(describe_error(error))
    if error.code == _INVALID_FORM:
        if "In message_reference" in said:
            return ReplyRefused(said)
        if "In content" in said and "in length" in said:
            return TooLong(said)
    return ChatGone(said) if error.status == 403 else ApiRefused(said)


def _retry_after(error: discord.HTTPException) -> float:
    try:
        return float(error.response.headers.get("Retry-After", ""))
    except ValueError:
        return 0.0
