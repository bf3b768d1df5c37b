"""The tests' servers for language models, in a process of their own, so that their work does not count as ours."""

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
    """Have the servers run that `make` gives, a function of a module; give their addresses by the same names."""
    for name in [name for name in os.environ if name.upper().endswith("_PROXY")]:
        del os.environ[name]  # else whoever stands in between is measured
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
    logging.disable()  # it would tell of every client that has left
    sys.path.insert(0, str(ROOT))

    async def serve() -> None:
        async with AsyncExitStack() as stack:
            servers = make()
            for server in servers.values():
                await stack.enter_async_context(server)
            connection.send({name: server.base_url for name, server in servers.items()})
            await asyncio.Event().wait()

    asyncio.run(serve())
