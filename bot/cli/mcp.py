"""`commonplace mcp`: the memory as an MCP server on standard input and output, with or without a running service.

It has all rights unless told otherwise, since anyone who can start it can change the files anyway.
"""

import argparse
import asyncio
import os
import shlex
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from bot.access import Access
from bot.cli.backup import block_restore
from bot.cli.outcome import DONE, CommandFailed
from bot.config.reload import LiveSettings
from bot.conversations.open_search import open_conversation_search
from bot.embedding import open_embedding_from_settings
from bot.log import collect_secrets, log_to_stderr
from bot.mcp.client import McpClient
from bot.mcp.library import LibraryMissing, check_library
from bot.mcp.quick_imports import skip_unused_imports
from bot.note_writes import OnceWriter
from bot.open_memory import open_memory
from bot.open_state import open_state
from bot.process_lock import hold_if_free, service_pid
from bot.service.startup import freeze_garbage_collector, stop_on_signals
from bot.state.database import State, StateFault
from bot.supervisor import Supervisor
from memory.memory import Memory

if TYPE_CHECKING:
    from bot.config.settings import Settings
    from bot.conversations.search import ConversationSearch

VECTORS_LOCK = "vectors.lock"
"""Held by the one server that makes vectors while no service runs."""
TURN_SECONDS = 2.0
"""Seconds between checks whose turn it is to make vectors."""
HOW_TO_CHANGE = "start commonplace mcp with {option}"


@dataclass(frozen=True, slots=True)
class OwnMemory:
    """The open memory of this process; a `bot.mcp.note_tools.SharedMemory`."""

    settings: "Settings"
    memory: Memory
    state: State
    note_writer: OnceWriter
    access: Access
    conversations: "ConversationSearch | None"


def run_mcp(options: argparse.Namespace, settings: "Settings", streams: tuple[int, int]) -> int:
    """Serve until the input ends or a signal comes; return the exit code. Raises CommandFailed and MemoryFault.

    `streams`: descriptors that the protocol alone reads from and writes to.
    """
    try:
        check_library()
    except LibraryMissing as missing:
        raise CommandFailed(str(missing)) from missing
    if not settings.workspace.is_dir():  # a mistyped name would be a new, empty memory
        folder = settings.workspace
        create = shlex.join(["commonplace", "init", str(folder), "--workspace", str(folder)])
        raise CommandFailed(
            f"there is no workspace at {folder}; correct the path, or create it with: {create}"
        )
    if os.isatty(streams[0]):
        sys.stderr.write("Waiting for a program on standard input; Ctrl-D ends.\n")
    client = McpClient(options.rights, options.conversations, how_to_change=HOW_TO_CHANGE)
    with block_restore(settings):
        try:
            asyncio.run(_serve(settings, client, streams))
        except StateFault as fault:
            raise CommandFailed(str(fault)) from fault
    return DONE


async def _serve(settings: "Settings", client: McpClient, streams: tuple[int, int]) -> None:
    leaving = stop_on_signals()
    supervisor = Supervisor(now=settings.now)
    async with open_own_memory(settings, conversations=client.conversations) as own:
        log_to_stderr(settings.log_level, format=settings.log_format, secrets=collect_secrets(settings))
        skip_unused_imports()
        from bot.mcp.note_subscriptions import NoteSubscriptions
        from bot.mcp.server import build_server
        from bot.mcp.stdio import open_stdio

        subscriptions = NoteSubscriptions(own.memory)
        server = build_server(own, client, subscriptions)
        freeze_garbage_collector()

        async def serve() -> None:
            async with open_stdio(*streams) as (incoming, outgoing):
                await server.run(incoming, outgoing, server.create_initialization_options())

        work = {**background_tasks(own), "note notifications": subscriptions.run}
        tasks = [supervisor.start(name, each) for name, each in work.items()]
        session, signal = asyncio.create_task(serve(), name="mcp"), asyncio.create_task(leaving.wait())
        try:
            await asyncio.wait([session, signal], return_when=asyncio.FIRST_COMPLETED)
        finally:
            own.memory.stop()
            for task in (*tasks, session, signal):
                task.cancel()
            ended = await asyncio.gather(*tasks, session, signal, return_exceptions=True)
        if isinstance(error := ended[-2], Exception):
            raise error


@asynccontextmanager
async def open_own_memory(settings: "Settings", *, conversations: bool) -> AsyncIterator[OwnMemory]:
    """Open notes and state.db, and the search of conversations if it is wanted. Raises StateFault and MemoryFault."""
    embedding = open_embedding_from_settings(settings)
    async with AsyncExitStack() as stack:
        state = await stack.enter_async_context(open_state(settings))
        memory = await stack.enter_async_context(open_memory(settings, embedding=embedding, lasting=True))
        search = None
        if conversations:
            live = LiveSettings(settings)
            search = open_conversation_search(live, now=settings.now, embedding=embedding, lasting=True)
        if search:
            stack.push_async_callback(search.aclose)
        yield OwnMemory(
            settings, memory, state, OnceWriter(memory, state), Access(settings.access, state), search
        )


def background_tasks(own: OwnMemory) -> Mapping[str, Callable[[], Awaitable[None]]]:
    """Return what keeps the index up to date; one process makes vectors, which may cost money."""
    tasks = dict(own.memory.background_tasks())
    if not own.settings.index.url.get_secret_value():  # there, the processes share the texts among themselves
        locks = own.settings.private_folder / "locks"
        tasks["vectors"] = partial(make_vectors_alone, tasks["vectors"], locks)
    return tasks


async def make_vectors_alone(make_vectors: Callable[[], Awaitable[None]], locks: Path) -> None:
    """Make vectors, which may cost money, while neither the service nor another program's server does.

    Returns when `make_vectors` does. `locks`: the folder with the locks of the workspace's processes.
    """
    while True:
        with hold_if_free(locks / VECTORS_LOCK) as is_ours:
            if is_ours and service_pid(locks) is None:
                making = asyncio.ensure_future(make_vectors())
                try:
                    while not making.done() and service_pid(locks) is None:
                        await asyncio.wait([making], timeout=TURN_SECONDS)
                    if making.done():
                        return making.result()
                finally:
                    making.cancel()
                    await asyncio.wait([making])
        await asyncio.sleep(TURN_SECONDS)
