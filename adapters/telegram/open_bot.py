"""Open the library's Bot, with separate HTTP clients for polling and for other calls."""

import logging
import os
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from telegram import Bot

from adapters.telegram.http_request import AiohttpRequest

CONNECTIONS = 32


@asynccontextmanager
async def open_bot(
    token: str, api_base: str, *, is_ours: Callable[[], bool] = lambda: True
) -> AsyncIterator[Bot]:
    """Yield a Bot that has made no call yet, so that an unreachable API does not delay the start.

    `api_base`: address of the Bot API, without a slash at the end. Every call fails while `is_ours` is false.
    """
    # Otherwise the library warns about a future change of type with each 429.
    os.environ.setdefault("PTB_TIMEDELTA", "1")
    # The library logs whole answers that it cannot parse.
    logging.getLogger("telegram").setLevel(logging.CRITICAL)
    base = api_base.rstrip("/")
    calls = AiohttpRequest(base, connections=CONNECTIONS, is_ours=is_ours)
    polling = AiohttpRequest(base, connections=2, is_ours=is_ours)
    try:
        yield Bot(
            token,
            base_url=f"{base}/bot",
            base_file_url=f"{base}/file/bot",
            request=calls,
            get_updates_request=polling,
        )
    finally:
        await calls.shutdown()
        await polling.shutdown()
