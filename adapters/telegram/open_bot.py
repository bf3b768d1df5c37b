"""The connection to the Bot API: the library's Bot with clients of its own for polling and for everything else."""

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
    """Give a Bot that has asked nothing yet, so that an API that cannot be reached holds up nobody.

    `api_base` is the address of the Bot API, without a slash at its end. Every call fails while not `is_ours`.
    """
    # Else the library warns with each 429 that its times will have another type some day.
    os.environ.setdefault("PTB_TIMEDELTA", "1")
    # It logs answers that it cannot read, with all that stands in them.
    logging.getLogger("telegram").setLevel(logging.CRITICAL)
    base = api_base.rstrip("/")
    bot = Bot(
        token,
        base_url=f"{base}/bot",
        base_file_url=f"{base}/file/bot",
        request=AiohttpRequest(base, connections=CONNECTIONS, is_ours=is_ours),
        get_updates_request=AiohttpRequest(base, connections=2, is_ours=is_ours),
    )
    try:
        yield bot
    finally:
        for request in bot._request:
            await request.shutdown()
