"""`commonplace run` and `commonplace chat`."""

import argparse
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress

from bot import app, phrases
from bot.access import TERMINAL
from bot.cannot_start import CannotStart
from bot.chat_lock import occupy_chat
from bot.cli.outcome import DONE, CommandFailed, WrongUsage
from bot.config.settings import Settings
from bot.log import collect_secrets
from bot.messages import ChatId, NotAccepted
from bot.models.errors import ModelError
from bot.service.startup import hold_workspace
from bot.state.database import StateFault
from memory.redaction import remove_secrets


async def run_talk(options: argparse.Namespace, settings: Settings) -> int:
    """Run the command to its end and return the exit code. Raises CommandFailed and WrongUsage."""
    try:
        if options.command == "run":
            with hold_workspace(settings):
                await app.serve(settings, stand_in=options.stand_in)
        elif options.message is None:
            with _warn_about_company(settings, _session_name(options.session)) as session:
                await app.talk(settings, session=session)
        elif options.message.strip():
            await app.ask_once(settings, options.message, session=_session_name(options.session))
        else:
            raise WrongUsage("chat -m needs a message")
    except ModelError as error:
        # A provider's own words may quote the key.
        told = remove_secrets(str(error), collect_secrets(settings))
        raise CommandFailed(f"no model answered: {told}") from error
    except (StateFault, CannotStart, NotAccepted) as error:
        raise CommandFailed(str(error)) from error
    return DONE


@contextmanager
def _warn_about_company(settings: Settings, session: str) -> Iterator[str]:
    """Warn at a terminal if another one is in the same conversation; yield the session's name."""
    with ExitStack() as stack:
        with suppress(OSError):  # opening the workspace will report what is wrong
            locks = settings.private_folder / "locks"
            others = stack.enter_context(occupy_chat(locks, ChatId(TERMINAL, session)))
            if others and sys.stdin.isatty() and sys.stdout.isatty():
                print(phrases.OTHER_TERMINAL.format(session=session))
        yield session


def _session_name(name: str) -> str:
    if not name.strip() or not name.isprintable():
        raise WrongUsage(f"chat --session needs a name, but {name!r} isn't one")
    return name.strip()
