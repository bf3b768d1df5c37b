"""The tests' model servers in a process of their own, so that their CPU time is not counted as ours."""

import asyncio
import logging
import multiprocessing
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import AsyncExitStack, contextmanager
from multiprocessing.connection import Connection
from typing import TYPE_CHECKING

from workspaces import ROOT

if TYPE_CHECKING:
    from tests.fakes.model_server import ModelServer

KEY = "benchmark-key-123456"


@contextmanager
def model_servers(make: Callable[[], Mapping[str, "ModelServer"]]) -> Iterator[Mapping[str, str]]:
    """Run the servers that `make`, a module-level function, returns; yield their URLs by the same names."""
    for name in [name for name in os.environ if name.upper().endswith("_PROXY")]:
        del os.environ[name]  # otherwise a proxy would be measured
    spawn = multiprocessing.get_context("spawn")
    here, there = spawn.Pipe()
    process = spawn.Process(target=_serve, args=(there, make), daemon=True)
    process.start()
    there.close()
    try:
        addresses: Mapping[str, str] = here.recv()
        yield addresses
    finally:
        process.kill()
        process.join()


def _serve(connection: Connection, make: Callable[[], Mapping[str, "ModelServer"]]) -> None:
    logging.disable()  # it would log every client that disconnects
    sys.path.insert(0, str(ROOT))

    async def serve() -> None:
        async with AsyncExitStack() as stack:
            servers = make()
            for server in servers.values():
                await stack.enter_async_context(server)
            connection.send({name: server.base_url for name, server in servers.items()})
            await asyncio.Event().wait()

    asyncio.run(serve())
