"""The composition root: settings → memory → model → assistant → channels → HTTP, and how all of it ends."""

import asyncio
import logging
import os
import socket
import sys
import warnings
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, aclosing, asynccontextmanager, suppress
from functools import partial
from secrets import token_hex
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo

from bot import phrases
from bot.access import TERMINAL, Access, Standing
from bot.agent import Agent
from bot.answering import House
from bot.archives.backup import Backups
from bot.assistant import Assistant
from bot.attachments.filing import Filing, number_of
from bot.attachments.reading import AttachmentReader
from bot.attachments.speech_providers import missing_key, opened_speech
from bot.channel_store import ChannelStore
from bot.channels import Channels
from bot.commands.command import CommandContext, usable_by
from bot.commands.table import COMMANDS
from bot.config.reload import Current, reload_on_hangup
from bot.config.settings import Settings
from bot.conversations.compaction import Compactor
from bot.conversations.conversation import Conversation
from bot.delivery import Delivery
from bot.forgetting import Forgetting
from bot.inbox import Inbox
from bot.instances.duty import Duty
from bot.journal import Journal
from bot.limits import DailyBudget, MessageRate
from bot.log import Log, Troubles, keep_out_of_logs, log_to_file, log_to_stderr, secrets_of, working_on
from bot.measures import Measures
from bot.messages import Adapter, ChatId, IncomingMessage, PersonId
from bot.models.fallback import FallbackModel
from bot.models.opening import open_model
from bot.presence import UNFINISHED, Presence, is_unfinished
from bot.prompt import system_prompt
from bot.reminders import Reminders
from bot.service.embedding import open_embedding_of
from bot.service.following import follow_settings, follow_with_log
from bot.service.index_server import index_server
from bot.service.startup import (
    CannotStart,
    check_channels,
    check_folders,
    collect_garbage_from_now_on,
    leave_at_end_of_input,
    leave_on_signals,
    open_sockets,
    stdin_is_a_channel,
)
from bot.state.database import State, StateFault
from bot.tools.documents import document_tools
from bot.tools.memory import memory_tools
from bot.tools.reminders import reminder_tools
from bot.tools.toolbox import Toolbox
from bot.upkeep.rebuilding import Rebuilding
from bot.upkeep.tidying import tidy
from bot.upkeep.upkeep import BACKUP, REINDEX, Nights, Upkeep
from memory.embeddings.opening import Embedding
from memory.forgetting import Wanted
from memory.frozen import dataclass
from memory.listing import list_notes
from memory.memory import Memory

if TYPE_CHECKING:
    from aiohttp.web import Application

    from adapters.discord.adapter import DiscordAdapter
    from adapters.telegram.adapter import TelegramAdapter
    from bot.instances.lease import Lease
    from bot.instances.leased_channel import LeasedChannel
    from bot.instances.leases import Leases
    from bot.instances.post import Post
    from bot.instances.status import InstanceStatus
    from bot.web.hooks import Hook
    from bot.web.inside import Inside

log = logging.getLogger(__name__)

OWNER_AT_TERMINAL = PersonId(TERMINAL, "owner")
TYPED = "chat_history"
"""What was typed in the terminal, for its line editor."""
USUAL_START = 2.0
"""Seconds within which the workspace is ours where nobody else has it."""
PATIENCE = 5.0
"""Seconds that running turns get to come to their end when the program is to leave."""


@dataclass(frozen=True, slots=True)
class Parts:
    """What `open_assistant` opens."""

    assistant: Assistant
    access: Access
    model: FallbackModel
    memory: Memory
    embedding: Embedding
    reminders: Reminders
    woken: asyncio.Event
    """To be set where something in state.db is to be taken up."""
    state: State
    channels: Channels
    measures: Measures
    rebuilding: Rebuilding
    current: Current
    """The settings, as they count just now."""
    troubles: Troubles
    """What the log holds of late, where it is told to keep them."""
    upkeep: Upkeep
    """Not entered: work that goes on by itself is begun once there is a log to tell of it."""
    instance: "Callable[[], InstanceStatus | None]"
    """How this one stands to other instances; None where it shares nothing with any."""


# -- what the commands of the command line do ---------------------------------------------------------------


async def serve(settings: Settings, *, stand_in: bool = False) -> None:
    """Run the service until it is told to leave, or until its only channel, standard input, has ended.

    `stand_in`: another instance has begun it, to go on with the conversations of one that has died.
    """
    if stand_in:
        settings = for_stand_in(settings)
    configured = any(each.token.get_secret_value() for each in (settings.telegram, settings.discord))
    at_terminal = not (configured or stand_in) and stdin_is_a_channel()
    if not (configured or at_terminal or settings.server.enabled or stand_in):
        raise CannotStart(
            "there is nothing to serve: no channel is configured, standard input is neither a terminal nor "
            "a pipe, and server.enabled is false"
        )
    check_channels(settings)
    check_folders(settings)
    keep_out_of_logs(secrets_of(settings))
    leaving = leave_on_signals()
    if stand_in:
        leave_at_end_of_input()
    async with AsyncExitStack() as stack:
        sockets = open_sockets(settings.server) if settings.server.enabled else []
        for each in sockets:
            stack.callback(each.close)
        run = serve_among_others if settings.index.url.get_secret_value() else serve_alone
        await run(settings, sockets, leaving, at_terminal=at_terminal)


async def serve_alone(
    settings: Settings, sockets: Sequence[socket.socket], leaving: asyncio.Event, *, at_terminal: bool
) -> None:
    """Serve what nobody else has."""
    async with open_assistant(settings, alone=True) as parts:
        lines = open_log(settings, parts.troubles, at_terminal=at_terminal)
        await keep_house(settings, parts, lines, sockets, leaving, at_terminal=at_terminal)
        log.info("leaving")


async def serve_among_others(
    settings: Settings, sockets: Sequence[socket.socket], leaving: asyncio.Event, *, at_terminal: bool
) -> None:
    """Serve the workspace while its lease is ours, each channel while its own is; be a standby otherwise."""
    from bot.instances.opening import open_leases, open_stand_ins
    from bot.instances.post import Post

    index_server(settings)  # asks nobody, but tells where its library is missing
    jobs = (REINDEX, *((BACKUP,) if settings.backup.keep else ()))
    troubles = Troubles()
    lines = open_log(settings, troubles, at_terminal=at_terminal)
    async with open_leases(settings) as (leases, workspace), open_stand_ins(settings, leases) as stand_ins:
        while not leaving.is_set():
            if not workspace.is_held:
                await stand_by(settings, sockets, leases, workspace, leaving)
                continue
            post = Post(leases, stand_ins, workspace, jobs=jobs)
            try:
                async with (
                    either(leaving.wait(), workspace.lost()) as over,
                    open_assistant(settings, alone=True, post=post, troubles=troubles) as parts,
                ):
                    try:
                        await keep_house(
                            settings,
                            parts,
                            lines,
                            sockets,
                            over,
                            at_terminal=at_terminal,
                            post=post,
                            patience=partial(patience_at, post),
                        )
                    finally:  # what was read anew counts in the next house too
                        settings = parts.current.settings
            except StateFault:
                if post.is_kept:  # else it is what refuses to be written by us now
                    raise
            is_kept = post.is_kept
            await post.close()
            if is_kept or leaving.is_set():
                log.info("leaving")
                return
            log.warning("another instance may serve the workspace from now on: this one is a standby")


def patience_at(post: "Post") -> float:
    """Seconds that running turns get to come to their end."""
    return PATIENCE if post.is_kept else 0.0


async def stand_by(
    settings: Settings,
    sockets: Sequence[socket.socket],
    leases: "Leases",
    workspace: "Lease",
    leaving: asyncio.Event,
) -> None:
    """Wait until the workspace is ours, or until the program is to leave; say over HTTP that all is well."""
    from bot.web.standby import build_standby_app

    async with either(leaving.wait(), workspace.gained()) as over, reload_on_hangup(Current(settings)):
        with suppress(TimeoutError):
            async with asyncio.timeout(USUAL_START):
                await over.wait()
                return
        log.info("standby: another process serves this workspace, or nobody can tell who does")
        async with on_sockets(build_standby_app(lambda: leases.problem), sockets):
            await over.wait()


@asynccontextmanager
async def either(*awaited: Coroutine[Any, Any, Any]) -> AsyncIterator[asyncio.Event]:
    """Give an event that is set when the first of these has come to its end."""
    event = asyncio.Event()
    tasks = [asyncio.ensure_future(each) for each in awaited]
    for task in tasks:
        task.add_done_callback(lambda _: event.set())
    try:
        yield event
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def open_log(settings: Settings, troubles: Troubles, *, at_terminal: bool) -> Log:
    """Begin to log: to standard error, or to a file where somebody talks there and no log is to come between."""
    if at_terminal and sys.stdin.isatty() and sys.stdout.isatty() and sys.stderr.isatty():
        return log_to_file(
            settings.private_folder / "chat.log",
            level=settings.log_level,
            format=settings.log_format,
            secrets=secrets_of(settings),
            troubles=troubles,
        )
    return log_to_stderr(
        settings.log_level, format=settings.log_format, secrets=secrets_of(settings), troubles=troubles
    )


async def keep_house(
    settings: Settings,
    parts: Parts,
    lines: Log,
    sockets: Sequence[socket.socket],
    leaving: asyncio.Event,
    *,
    at_terminal: bool,
    post: "Post | None" = None,
    patience: Callable[[], float] = lambda: PATIENCE,
) -> None:
    """Serve with what is open, until it is to leave; `patience`: seconds that running turns get then.

    `post`: where other instances may have the channels; then each is there while its lease is held.
    """
    assistant = parts.assistant
    async with AsyncExitStack() as stack:
        follow_with_log(parts.current, lines)
        await stack.enter_async_context(reload_on_hangup(parts.current))
        log_embedding(parts.embedding)
        if told := missing_key(settings, os.environ):
            log.warning("%s", told)
        adapters: list[Adapter] = []
        leased: list[LeasedChannel] = []
        hooks: list[Hook] = []
        if post:
            leased = [
                await stack.enter_async_context(each) for each in leased_channels(settings, parts, post)
            ]
            adapters.extend(leased)
            hooks.extend(relayed_hooks(settings, leased))
        elif settings.telegram.token.get_secret_value():
            telegram = await stack.enter_async_context(open_telegram(settings, parts))
            adapters.append(telegram)
            hooks.extend(telegram.hooks)
        if settings.discord.token.get_secret_value() and not post:
            adapters.append(await stack.enter_async_context(open_discord(settings, parts)))
        if at_terminal:
            adapters.append(open_terminal(settings, assistant, session="main"))
        for adapter in adapters:
            assistant.attach(adapter)
        if sockets:
            await stack.enter_async_context(http_server(sockets, settings, parts, hooks))
        await stack.enter_async_context(parts.upkeep)
        if adapters:
            log.info("channels: %s", ", ".join(adapter.name for adapter in adapters))
        else:
            log.info("no channel is configured: only HTTP is served")
        collect_garbage_from_now_on()
        await run_channels(adapters, parts, leaving, patience=patience)
        for channel in leased:  # before all else ends: another instance waits for it
            await channel.close()


def leased_channels(settings: Settings, parts: Parts, post: "Post") -> "Iterator[LeasedChannel]":
    """The channels that are configured, each to be there while its lease is held."""

    async def take_up() -> None:
        try:
            await parts.assistant.take_up()
        except StateFault as fault:  # it is tried again and again
            log.warning("%s", fault)

    def telegram(duty: Duty) -> AbstractAsyncContextManager[Adapter]:
        return open_telegram(parts.current.settings, parts, duty)

    def discord(duty: Duty) -> AbstractAsyncContextManager[Adapter]:
        return open_discord(parts.current.settings, parts, duty)

    if token := settings.telegram.token.get_secret_value():
        yield post.channel("telegram", token, opens=telegram, take_up=take_up)
    if token := settings.discord.token.get_secret_value():
        yield post.channel("discord", token, opens=discord, take_up=take_up)


def relayed_hooks(settings: Settings, channels: "Sequence[LeasedChannel]") -> "Iterator[Hook]":
    """Where Telegram brings its updates, where it does; they are refused while another instance has the channel."""
    if settings.telegram.mode != "webhook":
        return
    from adapters.telegram.webhook import webhook_paths
    from bot.web.hooks import Hook

    token = settings.telegram.token.get_secret_value()
    for channel in channels:
        if channel.name == "telegram":
            for path in webhook_paths(token, settings.telegram.webhook_url):
                yield Hook(path, partial(channel.receive, path))


def for_stand_in(settings: Settings) -> Settings:
    """What is different where the service runs beside another one: no port of its own, and nobody stands in for it."""
    return settings.model_copy(
        update={
            "server": settings.server.model_copy(update={"enabled": False}),
            "telegram": settings.telegram.model_copy(update={"mode": "polling"}),
            "instance": settings.instance.model_copy(update={"take_over": ()}),
        }
    )


async def talk(settings: Settings, *, session: str) -> None:
    """Talk in the terminal, or line by line through pipes, until the input ends."""
    leaving = leave_on_signals()
    async with open_assistant(settings) as parts:
        lines = log_to_file(
            settings.private_folder / "chat.log", format=settings.log_format, secrets=secrets_of(settings)
        )
        parts.current.tell(lambda new: lines.keep_out(secrets_of(new)))
        terminal = open_terminal(settings, parts.assistant, session=session)
        parts.assistant.attach(terminal)
        async with parts.upkeep:
            await run_channels([terminal], parts, leaving)


async def say(settings: Settings, text: str, *, session: str) -> None:
    """Say one thing and print the reply; raise ModelError, MemoryFault or StateFault where there is none."""
    from adapters.terminal.once import print_reply

    async with open_assistant(settings, lasting=False) as parts:
        log_to_file(
            settings.private_folder / "chat.log", format=settings.log_format, secrets=secrets_of(settings)
        )
        message = IncomingMessage(
            id=token_hex(8),
            chat=ChatId(TERMINAL, session),
            sender=OWNER_AT_TERMINAL,
            text=text,
            sent_at=settings.now(),
        )
        reply = ""
        with working_on(f"message-{message.id}", chat=message.chat):
            async with aclosing(parts.assistant.answer(message)) as answer:
                async for part in answer:
                    reply = part.text
        print_reply(reply)


# -- the parts ----------------------------------------------------------------------------------------------


@asynccontextmanager
async def open_assistant(
    settings: Settings,
    *,
    alone: bool = False,
    lasting: bool = True,
    post: "Post | None" = None,
    troubles: Troubles | None = None,
) -> AsyncIterator[Parts]:
    """Open the assistant and what it is made of.

    `alone`: this is the service, which watches the notes and looks at all of them regularly. Others may run beside
    it, and a note that two watch would be paid for twice. `lasting`: more than one message will come. `post`: what
    this process does among other instances, where there may be any. `troubles`: where the log is begun already.
    """
    embedding = open_embedding_of(settings)
    notes, private, now = settings.memory, settings.private_folder, settings.now
    if not alone:
        notes = notes.model_copy(update={"watch": notes.watch.model_copy(update={"enabled": False})})
    async with AsyncExitStack() as stack:
        try:
            presence = stack.enter_context(Presence(private / "locks"))  # from here on nothing is restored
        except OSError as error:
            reason = error.strerror or error
            raise CannotStart(f"{private} cannot be used ({reason}): mend that, or set workspace") from error
        if is_unfinished(private):
            raise CannotStart(UNFINISHED)
        is_ours = (lambda: post.is_kept) if post else lambda: True
        state = await stack.enter_async_context(State(private / "state.db", now=now, is_ours=is_ours))
        if server := index_server(settings):
            stack.callback(server.close)
        memory = await stack.enter_async_context(
            Memory(
                notes,
                workspace=settings.workspace,
                now=now,
                embedding=embedding,
                lasting=lasting,
                server=server,
                instance=settings.instance.name,
            )
        )
        rebuilding = Rebuilding(memory, now=now)
        stack.push_async_callback(rebuilding.close)
        measures = Measures()
        current = Current(settings)
        model = await stack.enter_async_context(open_model(settings, state, os.environ, measures=measures))
        woken = asyncio.Event()
        journal = Journal(memory, state)
        reminders = Reminders(state, now=now, zone=settings.timezone, owners=settings.access.owners)
        leased = ("telegram", "discord") if post else ()
        inbox = Inbox(state, presence, leased=leased)
        compactor = Compactor(
            state, model, journal, memory, settings=settings.memory.flush, now=now, wake=woken.set
        )
        channels = Channels()
        reader = AttachmentReader(
            channels.fetch,
            settings.attachments,
            number_of=partial(number_of, state),
            measures=measures,
        )
        reader.speech.renew(*opened_speech(settings, os.environ))
        stack.push_async_callback(reader.speech.close)
        filing = Filing(state, journal, reader, now=now)
        access = Access(settings.access, state, now=now, wake=woken.set, home_of=channels.home_of)
        backups = Backups(notes=settings.memory_folder, private=private, now=now)

        clock = settings.backup.time, ZoneInfo(settings.timezone)
        nights = Nights(*clock, backups, settings.backup.keep, tidy=[lambda: tidy(state, now())])
        minutes = settings.memory.reindex.interval_minutes
        upkeep = Upkeep(
            memory,
            reindex_minutes=minutes if alone else None,
            nights=nights if alone else None,
            elsewhere=post.elsewhere if post else lambda job: "",
            now=now,
        )
        instance = post.status if post else lambda: None

        def forget_typed(wanted: Wanted) -> int:
            from adapters.terminal import history

            return history.forget_typed(private / TYPED, wanted)

        def agent(*, with_memory: bool) -> Agent:
            def prompt(recalled: str) -> str:
                return system_prompt(
                    name=current.settings.agent.name,
                    instructions=current.settings.agent.instructions,
                    today=now().date(),
                    timezone=settings.timezone,
                    memory=with_memory,
                    recalled=recalled if with_memory else "",
                )

            async def make_room(conversation: Conversation) -> None:
                may_flush = await compactor.may_flush(conversation.chat)
                await compactor.compact(conversation, cause="overflow", flush=may_flush)

            for_memory = (*memory_tools(memory, journal), *document_tools(filing))
            return Agent(
                model,
                Toolbox((*(for_memory if with_memory else ()), *reminder_tools(reminders))),
                prompt=prompt,
                steps_per_turn=settings.limits.steps_per_turn,
                tokens_per_turn=settings.limits.tokens_per_turn,
                make_room=make_room,
                measures=measures,
                closed=() if with_memory else [each.spec.name for each in for_memory],
            )

        house = House(
            agent=agent(with_memory=True),
            guest_agent=agent(with_memory=False),
            access=access,
            context=CommandContext(
                commands=COMMANDS,
                memory=memory,
                state=state,
                model=model,
                access=access,
                journal=journal,
                reminders=reminders,
                compactor=compactor,
                forgetting=Forgetting(memory, state, forget_typed=forget_typed, now=now),
                backups=backups,
                current=current,
                filing=filing,
                channels=channels.health,
                instance=instance,
                upkeep=upkeep,
                now=now,
            ),
            memory=memory,
            state=state,
            inbox=inbox,
            compactor=compactor,
            rate=MessageRate(settings.limits.messages_per_minute),
            budget=DailyBudget(state, settings.limits.daily_tokens, now=now, settle=model.health.write),
            channels=channels,
            locks=private / "locks",
            own_locks=dict.fromkeys(leased, post.own_locks(private / "locks")) if post else {},
            read=reader.read,
            instead=reader.instead,
            measures=measures,
        )
        follow_settings(current, house, reader)
        assistant = Assistant(
            house,
            delivery=Delivery(inbox, channels, measures=measures),
            woken=woken,
        )
        yield Parts(
            assistant=assistant,
            access=access,
            model=model,
            memory=memory,
            embedding=embedding,
            reminders=reminders,
            woken=woken,
            state=state,
            channels=channels,
            measures=measures,
            rebuilding=rebuilding,
            current=current,
            troubles=troubles or Troubles(),
            upkeep=upkeep,
            instance=instance,
        )


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
            history=settings.private_folder / TYPED,
            greeting=phrases.GREETING.format(name=settings.agent.name),
        )
    from adapters.terminal.plain import PlainTerminal

    return PlainTerminal(
        chat=chat, sender=OWNER_AT_TERMINAL, now=settings.now, stdin=sys.stdin.fileno(), stdout=sys.stdout
    )


@asynccontextmanager
async def open_telegram(
    settings: Settings,
    parts: Parts,
    duty: Duty = Duty(),  # noqa: B008 - frozen
) -> "AsyncIterator[TelegramAdapter]":
    """Open Telegram as a channel; it need not be there yet."""
    from adapters.telegram.adapter import TELEGRAM, TelegramAdapter
    from adapters.telegram.connection import open_bot

    token = settings.telegram.token.get_secret_value()
    async with open_bot(token, settings.telegram.api_base, is_ours=duty.is_ours) as bot:
        adapter = TelegramAdapter(
            bot,
            settings.telegram,
            store=ChannelStore(parts.state, TELEGRAM),
            access=parts.access,
            owners=settings.access.owners,
            commands=COMMANDS,
            moved=parts.assistant.moved,
        )
        try:
            yield adapter
        finally:
            await adapter.close()


@asynccontextmanager
async def open_discord(
    settings: Settings,
    parts: Parts,
    duty: Duty = Duty(),  # noqa: B008 - frozen
) -> "AsyncIterator[DiscordAdapter]":
    """Open Discord as a channel; it need not be there yet."""
    with warnings.catch_warnings():
        warnings.filterwarnings(
            "ignore", "'audioop' is deprecated"
        )  # the library's own, on Python 3.11 and 3.12
        from adapters.discord.adapter import DISCORD, DiscordAdapter
        from adapters.discord.completion import Sources

    async def notes() -> list[str]:
        listed = await asyncio.to_thread(list_notes, settings.memory_folder)
        return [note.path for note in listed.notes]

    adapter = DiscordAdapter(
        settings.discord,
        store=ChannelStore(parts.state, DISCORD),
        access=parts.access,
        people=partial(parts.access.people_of, DISCORD),
        commands=COMMANDS,
        sources=Sources(lambda: list(parts.model.plan.candidates), notes, parts.reminders.active),
        threads=parts.current.settings.discord.threads,
        is_ours=duty.is_ours,
        since=duty.since,
    )

    def threads(new: Settings) -> None:
        adapter.threads = new.discord.threads

    unfollow = parts.current.follow("discord.threads", take=threads)
    try:
        yield adapter
    finally:
        unfollow()
        await adapter.close()


async def run_channels(
    adapters: Sequence[Adapter],
    parts: Parts,
    leaving: asyncio.Event,
    *,
    patience: Callable[[], float] = lambda: PATIENCE,
) -> None:
    """Run every channel until all have ended or the program is to leave; without one, until it is to leave.

    What an earlier run has left is gone on with first. What runs at the end gets its time.
    """
    assistant = parts.assistant
    await assistant.take_up()
    told_to_leave: asyncio.Task[Any] = asyncio.create_task(leaving.wait())
    beside = [
        asyncio.create_task(assistant.look_after(), name="conversations"),
        asyncio.create_task(parts.reminders.run(assistant.serves, parts.woken.set), name="reminders"),
    ]
    running = {asyncio.create_task(adapter.run(assistant.accept), name=adapter.name) for adapter in adapters}
    try:
        while not told_to_leave.done() and (running or not adapters):
            await asyncio.wait([told_to_leave, *running], return_when=asyncio.FIRST_COMPLETED)
            for task in [task for task in running if task.done()]:
                running.remove(task)
                task.result()
    finally:
        for task in (told_to_leave, *running, *beside):
            task.cancel()
        await asyncio.gather(told_to_leave, *running, *beside, return_exceptions=True)
        if not assistant.is_idle:
            log.info("finishing what runs, within %.0f s", patience())
        await assistant.close(patience())


def inside_of(settings: Settings, parts: Parts) -> "Inside":
    """What is shown and done over HTTP for who may come in."""
    from bot.web.inside import Inside

    return Inside(
        name=lambda: parts.current.settings.agent.name,
        token=settings.server.token.get_secret_value().strip(),
        memory=parts.memory,
        rebuilding=parts.rebuilding,
        state=parts.state,
        model=parts.model,
        channels=parts.channels.health,
        upkeep=parts.upkeep,
        measures=parts.measures,
        private=settings.private_folder,
        now=settings.now,
        troubles=parts.troubles.recent,
        troubles_by_level=parts.troubles.counts,
        instance=parts.instance,
    )


@asynccontextmanager
async def http_server(
    sockets: Sequence[socket.socket], settings: Settings, parts: Parts, hooks: "Sequence[Hook]"
) -> AsyncIterator[None]:
    """Serve HTTP on sockets that are open already."""
    from bot.web.app import build_web_app

    channels, memory = parts.channels.health, parts.memory
    app = build_web_app(channels=channels, memory=memory, hooks=hooks, inside=inside_of(settings, parts))
    async with on_sockets(app, sockets):
        yield


@asynccontextmanager
async def on_sockets(app: "Application", sockets: Sequence[socket.socket]) -> AsyncIterator[None]:
    """Serve on sockets that are open already, and stay so for what is served on them next."""
    from aiohttp import web

    from bot.web.app import web_runner

    runner = web_runner(app)
    await runner.setup()
    try:
        for each in sockets:
            await web.SockSite(runner, each.dup()).start()
            host, port = each.getsockname()[:2]
            log.info("listening on http://%s:%d", f"[{host}]" if ":" in host else host, port)
        yield
    finally:
        await runner.cleanup()
