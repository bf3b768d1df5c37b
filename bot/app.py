"""The commands `run`, `chat` and `chat -m`, given the settings."""

import os
from contextlib import AsyncExitStack, aclosing
from secrets import token_hex

from bot.access import TERMINAL
from bot.cannot_start import CannotStart
from bot.config.settings import Settings
from bot.language.current import speaking
from bot.language.system import system_language
from bot.log import collect_secrets, log_context, log_to_file, redact_logs
from bot.messages import OWNER_AT_TERMINAL, ChatId, IncomingMessage
from bot.service.adapters import open_terminal, print_reply
from bot.service.clustered import serve_clustered
from bot.service.open_assistant import open_assistant
from bot.service.run_channels import run_channels
from bot.service.standalone import serve_standalone
from bot.service.startup import (
    check_channels,
    check_folders,
    stdin_is_a_channel,
    stop_at_end_of_input,
    stop_on_signals,
)
from bot.web.sockets import open_sockets


async def serve(settings: Settings, *, stand_in: bool = False) -> None:
    """Run the service until a signal ends it, or its only channel, standard input, is closed.

    `stand_in`: another instance started it to continue the conversations of one that died.
    Raises CannotStart.
    """
    if stand_in:
        settings = takeover_settings(settings)
    configured = any(section.is_configured for section in settings.channels.values())
    at_terminal = not (configured or stand_in) and stdin_is_a_channel()
    if not (configured or at_terminal or settings.server.enabled or stand_in):
        raise CannotStart(
            "there is nothing to serve: no channel is configured, standard input is neither a terminal nor "
            "a pipe, and server.enabled is false"
        )
    check_channels(settings)
    check_folders(settings)
    redact_logs(collect_secrets(settings), mark=settings.instance.name if stand_in else "")
    leaving = stop_on_signals()
    if stand_in:
        stop_at_end_of_input()
    async with AsyncExitStack() as stack:
        sockets = open_sockets(settings.server) if settings.server.enabled else []
        for each in sockets:
            stack.callback(each.close)
        run = serve_clustered if settings.index.url.get_secret_value() else serve_standalone
        await run(settings, sockets, leaving, at_terminal=at_terminal)


def takeover_settings(settings: Settings) -> Settings:
    """Return the settings of a service beside another one: without a port and without takeovers."""
    return settings.model_copy(
        update={
            "server": settings.server.model_copy(update={"enabled": False}),
            **{name: section.for_second_process() for name, section in settings.channels.items()},
            "instance": settings.instance.model_copy(update={"take_over": ()}),
        }
    )


async def talk(settings: Settings, *, session: str) -> None:
    """Chat in the terminal, or line by line through pipes, until the input ends."""
    leaving = stop_on_signals()
    redact_logs(collect_secrets(settings))
    async with open_assistant(settings) as assistant:
        lines = log_to_file(
            settings.private_folder / "chat.log",
            format=settings.log_format,
            secrets=collect_secrets(settings),
        )
        assistant.services.live_settings.on_read(lambda new: lines.redact(collect_secrets(new)))
        terminal = await open_terminal(assistant, session=session)
        assistant.attach(terminal)
        async with assistant.services.background:
            await run_channels([terminal], assistant, leaving)


async def ask_once(settings: Settings, text: str, *, session: str) -> None:
    """Send one message and print the reply. Raises ModelError, MemoryFault and StateFault."""
    redact_logs(collect_secrets(settings))
    async with open_assistant(settings, lasting=False) as assistant:
        log_to_file(
            settings.private_folder / "chat.log",
            format=settings.log_format,
            secrets=collect_secrets(settings),
        )
        message = IncomingMessage(
            id=token_hex(8),
            chat=ChatId(TERMINAL, session),
            sender=OWNER_AT_TERMINAL,
            text=text,
            sent_at=settings.now(),
            language=system_language(os.environ),
        )
        reply = ""
        language = await assistant.services.languages.load(message.sender, told=message.language)
        with log_context(f"message-{message.id}", chat=message.chat), speaking(language):
            async with aclosing(assistant.answer(message)) as answer:
                async for part in answer:
                    reply = part.text
        print_reply(reply)
