"""Programs that use the memory over MCP: the library's own client, over either transport."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx2
from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client
from mcp_types import Implementation

from tests.fakes.commonplace import Commonplace

MCP_TOKEN = "a-token-of-a-program-0123456789"

SESSIONS, STATELESS = "legacy", "2026-07-28"
"""Protocols up to 2025, which begin with `initialize`, and the one of 2026, where each request stands alone."""
PROTOCOLS = (SESSIONS, STATELESS)


@asynccontextmanager
async def connect_over_http(
    port: int, *, token: str = MCP_TOKEN, mode: str = SESSIONS, **options: Any
) -> AsyncIterator[Client]:
    """Connect to `/mcp` on a local port."""
    headers = {"Authorization": f"Bearer {token}"}
    async with httpx2.AsyncClient(headers=headers, timeout=30, trust_env=False) as http:
        transport = streamable_http_client(f"http://127.0.0.1:{port}/mcp", http_client=http)
        async with Client(transport, mode=mode, cache=None, **options) as client:
            yield client


@asynccontextmanager
async def start_over_stdio(
    commonplace: Commonplace, *arguments: str, name: str = "Cursor", mode: str = SESSIONS, **options: Any
) -> AsyncIterator[Client]:
    """Start `commonplace mcp` as a program does."""
    command, *rest = commonplace.command
    server = StdioServerParameters(
        command=command,
        args=[*rest, "mcp", *arguments],
        cwd=commonplace.folder,
        env=dict(commonplace.environment),
    )
    info = Implementation(name=name, version="1")
    async with Client(server, mode=mode, client_info=info, cache=None, **options) as client:
        yield client
