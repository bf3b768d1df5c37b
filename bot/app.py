"""The composition root: settings → memory → model → assistant → channels → HTTP, and how all of it ends."""

import asyncio
import errno
import logging
import os
import signal
import socket
import stat
import sys
import tempfile
import threading
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, aclosing, asynccontextmanager
from secrets import token_hex
from typing import TYPE_CHECKING, Any

from bot import phrases
from bot.access import TERMINAL, Standing
from bot.agent import Agent
from bot.assistant import Assistant
from bot.builtin_commands import COMMANDS
from bot.builtin_tools import memory_tools
from bot.commands import usable_by
from bot.config import ServerSettings, Settings
from bot.log import log_to_file, log_to_stderr
from bot.messages import Adapter, ChatId, IncomingMessage, PersonId
from bot.models.chain import open_model
from bot.prompt import system_prompt
from bot.state import State
from bot.tools import Toolbox
from memory.memory import Memory

if TYPE_CHECKING:
    from bot.web.app import ChannelState

log = logging.getLogger(__name__)

OWNER_AT_TERMINAL = PersonId(TERMINAL, "owner")
PATIENCE = 5.0
"""Seconds that running turns get to come to their end when the program is to leave."""
LONGEST_LEAVE = 9.0
"""Seconds after which it leaves in any case."""


class CannotStart(Exception):
    """Something outside does not let the program start; the text is one line with the mend in it."""


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
        assistant, memory = await stack.enter_async_context(open_assistant(settings))
        log_to_stderr(settings.log_level, secrets=secrets_of(settings))
        states: dict[str, ChannelState] = {}
        if sockets:
            await stack.enter_async_context(http_server(sockets, states, memory))
        adapters = [open_terminal(settings, assistant, session="main")] if at_terminal else []
        if not adapters:
            log.info("no channel is configured: only HTTP is served")
        await run_channels(adapters, assistant, states, leaving)
        log.info("leaving")


async def talk(settings: Settings, *, session: str) -> None:
    """Talk in the terminal, or line by line through pipes, until the input ends."""
    leaving = leave_on_signals()
    async with open_assistant(settings) as (assistant, _):
        log_to_file(settings.private_folder / "chat.log", secrets=secrets_of(settings))
        await run_channels([open_terminal(settings, assistant, session=session)], assistant, {}, leaving)


async def say(settings: Settings, text: str, *, session: str) -> None:
    """Say one thing and print the reply; raise ModelError, MemoryFault or StateFault where there is none."""
    from adapters.terminal.once import print_reply

    async with open_assistant(settings) as (assistant, _):
        log_to_file(settings.private_folder / "chat.log", secrets=secrets_of(settings))
        message = IncomingMessage(
            id=token_hex(8),
            chat=ChatId(TERMINAL, session),
            sender=OWNER_AT_TERMINAL,
            text=text,
            sent_at=settings.now(),
        )
        reply = ""
        async with aclosing(assistant.answer(message)) as parts:
            async for part in parts:
                reply = part.text
        print_reply(reply)


# -- the parts ----------------------------------------------------------------------------------------------


@asynccontextmanager
async def open_assistant(settings: Settings) -> AsyncIterator[tuple[Assistant, Memory]]:
    """Open the assistant and what it is made of."""
    async with AsyncExitStack() as stack:
        state = await stack.enter_async_context(State(settings.private_folder / "state.db", now=settings.now))
        memory = await stack.enter_async_context(
            Memory(settings.memory, workspace=settings.workspace, now=settings.now)
        )
        model = open_model(settings)

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
        )
        yield assistant, memory


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


# -- before the start ---------------------------------------------------------------------------------------


def stdin_is_a_channel() -> bool:
    """Whether somebody may be talking there: a terminal of ours or a pipe, but no file and no /dev/null."""
    try:
        mode = os.fstat(0).st_mode
    except OSError:
        return False
    if os.isatty(0):
        return not _in_background()
    return stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode)  # some programs make their pipes of sockets


def _in_background() -> bool:
    """Whether another program has the terminal: to read from it would halt this one."""
    try:
        return os.tcgetpgrp(0) != os.getpgrp()
    except OSError:  # not the terminal of this session, so it halts nobody
        return False


def check_folders(settings: Settings) -> None:
    """Make the workspace's folders, and see that they can be written to; raise CannotStart otherwise."""
    for folder in (settings.memory_folder, settings.private_folder):
        try:
            folder.mkdir(parents=True, exist_ok=True)
            if folder == settings.private_folder:
                with tempfile.TemporaryFile(dir=folder) as file:
                    file.write(b"\n")
            elif not os.access(folder, os.R_OK | os.W_OK | os.X_OK):
                raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
        except OSError as error:
            raise CannotStart(
                f"the folder {folder} cannot be used: {error.strerror or error}; mend that, or set workspace"
            ) from error


def open_sockets(server: ServerSettings) -> list[socket.socket]:
    """Open the port before anything else is begun; raise CannotStart where it is taken or there is no such address."""
    try:
        addresses = socket.getaddrinfo(
            server.host, server.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )
    except OSError as error:
        raise CannotStart(
            f"server.host is {server.host}, which is no address: {error.strerror or error}"
        ) from error
    opened: list[socket.socket] = []
    absent: OSError | None = None
    for family, _, _, _, address in dict.fromkeys(addresses):
        try:
            opened.append(_listener(family, address))
        except OSError as error:
            if error.errno in (errno.EADDRNOTAVAIL, errno.EAFNOSUPPORT):
                absent = error  # such as the ::1 of "localhost" where IPv6 is switched off
                continue
            for each in opened:
                each.close()
            taken = error.errno == errno.EADDRINUSE
            reason = (
                "is taken, perhaps by another Commonplace"
                if taken
                else f"cannot be opened ({error.strerror})"
            )
            raise CannotStart(
                f"port {server.port} of {server.host} {reason}: set server.port to another one, "
                "or server.enabled to false"
            ) from error
    if not opened:
        raise CannotStart(
            f"server.host is {server.host}, which is no address of this machine; set it to one, such as 127.0.0.1"
        ) from absent
    return opened


def _listener(family: int, address: Any) -> socket.socket:
    listener = socket.socket(family, socket.SOCK_STREAM)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6:
            listener.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        listener.bind(address)
        listener.listen(128)
        listener.setblocking(False)
    except OSError:
        listener.close()
        raise
    return listener


# -- leaving ------------------------------------------------------------------------------------------------


def leave_on_signals() -> asyncio.Event:
    """Give an event that SIGTERM and SIGINT set; a second signal, or too much time, ends the program where it is.

    Not the event loop's own handlers: those wait for it where it is held up by a log that nobody reads.
    """
    leaving = asyncio.Event()
    loop = asyncio.get_running_loop()
    told = False

    def leave(*_: object) -> None:
        nonlocal told
        if told or loop.is_closed():
            os._exit(0)
        told = True
        # A thread in the middle of long work would hold the program up; what is on disk can stand its end.
        watchdog = threading.Timer(LONGEST_LEAVE, os._exit, (0,))
        watchdog.daemon = True
        watchdog.start()
        loop.call_soon_threadsafe(leaving.set)

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, leave)
    return leaving


def secrets_of(settings: Settings) -> list[str]:
    """Every secret of the settings, for the log to blank out."""
    from pydantic import BaseModel, SecretStr

    found: list[str] = []

    def collect(value: object) -> None:
        match value:
            case SecretStr():
                found.append(value.get_secret_value())
            case BaseModel():
                for _, each in value:
                    collect(each)
            case dict():
                for each in value.values():
                    collect(each)
            case list() | tuple():
                for each in value:
                    collect(each)

    collect(settings)
    return [secret for secret in found if secret]
