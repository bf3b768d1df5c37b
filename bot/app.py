"""The composition root: settings → memory → model → assistant → channels → HTTP, and how all of it ends."""

import asyncio
import logging
import os
import socket
import sys
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, aclosing, asynccontextmanager
from dataclasses import dataclass
from secrets import token_hex
from typing import TYPE_CHECKING, Any

from bot import phrases
from bot.access import TERMINAL, Standing
from bot.agent import Agent
from bot.assistant import Assistant
from bot.builtin_tools import memory_tools
from bot.commands.command import usable_by
from bot.commands.table import COMMANDS
from bot.config import Settings
from bot.embedding import open_embedding_of
from bot.log import log_to_file, log_to_stderr, secrets_of
from bot.messages import Adapter, ChatId, IncomingMessage, PersonId
from bot.models.opening import open_model
from bot.prompt import system_prompt
from bot.startup import CannotStart, check_folders, leave_on_signals, open_sockets, stdin_is_a_channel
from bot.state.database import State
from bot.tools import Toolbox
from bot.upkeep import Upkeep
from memory.embeddings.opening import Embedding
from memory.memory import Memory

if TYPE_CHECKING:
    from bot.web.app import ChannelState

log = logging.getLogger(__name__)

OWNER_AT_TERMINAL = PersonId(TERMINAL, "owner")
PATIENCE = 5.0
"""Seconds that running turns get to come to their end when the program is to leave."""


@dataclass(frozen=True, slots=True)
class Parts:
    """What `open_assistant` opens."""

    assistant: Assistant
    memory: Memory
    embedding: Embedding
    upkeep: Upkeep
    """Not entered: work that goes on by itself is begun once there is a log to tell of it."""


# -- what the commands of the command line do ---------------------------------------------------------------


async def serve(settings: Settings) -> None:
    """Run the service until it is told to leave, or until its only channel, standard input, has ended."""
    at_terminal = stdin_is_a_channel()
    if not (at_terminal or settings.server.enabled):
        raise CannotStart(
            "there is nothing to serve: no channel is configured, standard input is neither a terminal nor "
            "a pipe, and server.enabled is false"
        )
    check_folders(settings)
    leaving = leave_on_signals()
    async with AsyncExitStack() as stack:
        sockets = open_sockets(settings.server) if settings.server.enabled else []
        for each in sockets:
            stack.callback(each.close)
        parts = await stack.enter_async_context(open_assistant(settings, alone=True))
        assistant = parts.assistant
        log_to_stderr(settings.log_level, secrets=secrets_of(settings))
        log_embedding(parts.embedding)
        states: dict[str, ChannelState] = {}
        if sockets:
            await stack.enter_async_context(http_server(sockets, states, parts.memory))
        await stack.enter_async_context(parts.upkeep)
        adapters = [open_terminal(settings, assistant, session="main")] if at_terminal else []
        if not adapters:
            log.info("no channel is configured: only HTTP is served")
        await run_channels(adapters, assistant, states, leaving)
        log.info("leaving")


async def talk(settings: Settings, *, session: str) -> None:
    """Talk in the terminal, or line by line through pipes, until the input ends."""
    leaving = leave_on_signals()
    async with open_assistant(settings) as parts:
        log_to_file(settings.private_folder / "chat.log", secrets=secrets_of(settings))
        terminal = open_terminal(settings, parts.assistant, session=session)
        async with parts.upkeep:
            await run_channels([terminal], parts.assistant, {}, leaving)


async def say(settings: Settings, text: str, *, session: str) -> None:
    """Say one thing and print the reply; raise ModelError, MemoryFault or StateFault where there is none."""
    from adapters.terminal.once import print_reply

    async with open_assistant(settings, lasting=False) as parts:
        log_to_file(settings.private_folder / "chat.log", secrets=secrets_of(settings))
        message = IncomingMessage(
            id=token_hex(8),
            chat=ChatId(TERMINAL, session),
            sender=OWNER_AT_TERMINAL,
            text=text,
            sent_at=settings.now(),
        )
        reply = ""
        async with aclosing(parts.assistant.answer(message)) as answer:
            async for part in answer:
                reply = part.text
        print_reply(reply)


# -- the parts ----------------------------------------------------------------------------------------------


@asynccontextmanager
async def open_assistant(
    settings: Settings, *, alone: bool = False, lasting: bool = True
) -> AsyncIterator[Parts]:
    """Open the assistant and what it is made of.

    `alone`: this is the service, which watches the notes and looks at all of them regularly. Others may run beside
    it, and a note that two watch would be paid for twice. `lasting`: more than one message will come.
    """
    embedding = open_embedding_of(settings)
    notes = settings.memory
    if not alone:
        notes = notes.model_copy(update={"watch": notes.watch.model_copy(update={"enabled": False})})
    async with AsyncExitStack() as stack:
        state = await stack.enter_async_context(State(settings.private_folder / "state.db", now=settings.now))
        memory = await stack.enter_async_context(
            Memory(
                notes,
                workspace=settings.workspace,
                now=settings.now,
                embedding=embedding,
                lasting=lasting,
            )
        )
        minutes = settings.memory.reindex.interval_minutes
        upkeep = Upkeep(memory, reindex_minutes=minutes if alone else None)
        model = await stack.enter_async_context(open_model(settings, state, os.environ))

        def agent(*, with_memory: bool) -> Agent:
            def prompt() -> str:
                return system_prompt(
                    name=settings.agent.name,
                    instructions=settings.agent.instructions,
                    today=settings.now().date(),
                    timezone=settings.timezone,
                    memory=with_memory,
                )

            toolbox = Toolbox(memory_tools(memory) if with_memory else ())
            return Agent(model, toolbox, prompt=prompt, steps_per_turn=settings.limits.steps_per_turn)

        assistant = Assistant(
            agent=agent(with_memory=True),
            guest_agent=agent(with_memory=False),
            access=settings.access,
            commands=COMMANDS,
            memory=memory,
            state=state,
            model=model,
            locks=settings.private_folder / "locks",
            upkeep=upkeep,
            now=settings.now,
        )
        yield Parts(assistant, memory, embedding, upkeep)


def log_embedding(embedding: Embedding) -> None:
    """Say once who makes the vectors, and why."""
    log.info("embedding: %s", embedding.choice.reason)
    if embedding.fallback.provider != "none":
        log.info("embedding, fallback: %s", embedding.fallback.reason)
    if embedding.error:
        log.warning("embedding: %s", embedding.error)


def open_terminal(settings: Settings, assistant: Assistant, *, session: str) -> Adapter:
    """Open the terminal as a channel: with a line editor where a person sits at it, else as plain lines."""
    chat = ChatId(TERMINAL, session)
    if sys.stdin.isatty() and sys.stdout.isatty():
        from adapters.terminal.live import LiveTerminal

        return LiveTerminal(
            chat=chat,
            sender=OWNER_AT_TERMINAL,
            now=settings.now,
            stop=assistant.stop,
            commands={command.name: command.help for command in usable_by(Standing.OWNER, COMMANDS)},
            history=settings.private_folder / "chat_history",
            greeting=phrases.GREETING.format(name=settings.agent.name),
        )
    from adapters.terminal.plain import PlainTerminal

    return PlainTerminal(
        chat=chat, sender=OWNER_AT_TERMINAL, now=settings.now, stdin=sys.stdin.fileno(), stdout=sys.stdout
    )


async def run_channels(
    adapters: list[Adapter], assistant: Assistant, states: "dict[str, ChannelState]", leaving: asyncio.Event
) -> None:
    """Run every channel until all have ended or the program is to leave; without one, until it is to leave.

    `states` is kept true for whoever looks on. What runs then gets its time.
    """
    told_to_leave: asyncio.Task[Any] = asyncio.create_task(leaving.wait())
    running: dict[asyncio.Task[None], str] = {}
    for adapter in adapters:
        assistant.attach(adapter)
        states[adapter.name] = "up"
        running[asyncio.create_task(adapter.run(assistant.accept))] = adapter.name
    try:
        while not told_to_leave.done() and (running or not adapters):
            await asyncio.wait([told_to_leave, *running], return_when=asyncio.FIRST_COMPLETED)
            for task in [task for task in running if task.done()]:
                states[running.pop(task)] = "down"
                task.result()
    finally:
        for task in (told_to_leave, *running):
            task.cancel()
        await asyncio.gather(told_to_leave, *running, return_exceptions=True)
        await assistant.close(PATIENCE)


@asynccontextmanager
async def http_server(
    sockets: list[socket.socket], states: "dict[str, ChannelState]", memory: Memory
) -> AsyncIterator[None]:
    """Serve HTTP on sockets that are open already."""
    from aiohttp import web

    from bot.web.app import build_web_app, web_runner

    runner = web_runner(build_web_app(channels=lambda: states, memory=memory))
    await runner.setup()
    try:
        for each in sockets:
            await web.SockSite(runner, each).start()
            host, port = each.getsockname()[:2]
            log.info("listening on http://%s:%d", f"[{host}]" if ":" in host else host, port)
        yield
    finally:
        await runner.cleanup()
