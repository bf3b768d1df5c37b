"""The connection to the Bot API: the library's Bot with clients of its own for polling and for everything else."""

import logging
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx
from telegram import Bot
from telegram.request import HTTPXRequest

from memory.http_answers import certificates

CONNECT_SECONDS = 10.0
READ_SECONDS = 20.0
UPLOAD_SECONDS = 60.0
CONNECTIONS = 32


@asynccontextmanager
async def open_bot(token: str, api_base: str) -> AsyncIterator[Bot]:
    """Give a Bot that has asked nothing yet, so that an API that cannot be reached holds up nobody.

    `api_base` is the address of the Bot API, without a slash at its end.
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
        request=_client(base, CONNECTIONS),
        get_updates_request=_client(base, 2),
    )
    try:
        yield bot
    finally:
        for request in bot._request:
            await request.shutdown()


def _client(base: str, connections: int) -> HTTPXRequest:
    # One set of certificates for all clients: to load it takes 50 ms of CPU.
    options: dict[str, Any] = {
        "verify": certificates(base),
        "limits": httpx.Limits(max_connections=connections, keepalive_expiry=60.0),
    }
    return HTTPXRequest(
        connection_pool_size=connections,
        connect_timeout=CONNECT_SECONDS,
        read_timeout=READ_SECONDS,
        write_timeout=READ_SECONDS,
        media_write_timeout=UPLOAD_SECONDS,
        pool_timeout=READ_SECONDS,
        httpx_kwargs=options,
    )
