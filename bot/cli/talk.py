"""`commonplace run` and `commonplace chat`: from the command line to the composition root."""

import argparse

from bot import app
from bot.cli.main import DONE, CommandFailed, WrongUsage
from bot.config.settings import Settings
from bot.log import secrets_of
from bot.messages import NotAccepted
from bot.models.errors import ModelError
from bot.service.startup import CannotStart
from bot.state.database import StateFault
from memory.redaction import without_secrets


async def run_talk(options: argparse.Namespace, settings: Settings) -> int:
    """Do it to its end; raise CommandFailed or WrongUsage where that is not possible."""
    try:
        if options.command == "run":
            await app.serve(settings, stand_in=options.stand_in)
        elif options.message is None:
            await app.talk(settings, session=_session(options.session))
        elif options.message.strip():
            await app.say(settings, options.message, session=_session(options.session))
        else:
            raise WrongUsage("chat -m needs something to say")
    except ModelError as error:
        # A provider's own words may quote the key.
        told = without_secrets(str(error), secrets_of(settings))
        raise CommandFailed(f"no model answered: {told}") from error
    except (StateFault, CannotStart, NotAccepted) as error:
        raise CommandFailed(str(error)) from error
    return DONE


def _session(name: str) -> str:
    if not name.strip() or not name.isprintable():
        raise WrongUsage(f"chat --session needs a name, which {name!r} is not")
    return name.strip()
