"""The step about a channel: the bot's token, and its owner."""

import time
from contextlib import aclosing
from importlib import import_module

from pydantic import SecretStr

from bot.config.channel import ChannelSettings
from bot.doctor.check import Check
from bot.doctor.http_probe import HttpProbe
from bot.process_lock import is_workspace_open
from bot.setup import phrases
from bot.setup.channel_setup import Account, BotAccount, CannotListen, ChannelSetup, HookIsSet
from bot.setup.questions import Parse, parse_secret
from bot.setup.setup import Setup, add_missing

LISTEN_SECONDS = 60.0


def set_up_channel(setup: Setup, name: str) -> str:
    """Ask for the token, test it and find the owner; return what was set. `name`: of the channel."""
    before = setup.files.settings().channels[name]
    channel: ChannelSetup = import_module(before.setup_module).setup
    bot = _ask_for_bot(setup, name, channel)
    if bot is None:
        if not setup.questions.has(f"{name}-owner"):
            return ""
        bot = BotAccount(before.title)
    if bot.invite:
        setup.questions.say(phrases.INVITE.format(link=bot.invite))
    owner = _ask_for_owner(setup, name, channel, bot, token_before=before.token.get_secret_value())
    if owner is None:
        return phrases.CHANNEL_SET.format(bot=bot.name)
    owners = setup.files.settings().access.owners
    setup.files.set(("access", "owners"), add_missing(owners, f"{name}:{owner.id}"))
    return phrases.CHANNEL_SET_WITH_OWNER.format(bot=bot.name, account=owner)


def _ask_for_bot(setup: Setup, name: str, channel: ChannelSetup) -> BotAccount | None:
    """Return the bot whose token is set now; None if there is none, or the step is skipped."""
    section = setup.files.settings().channels[name]
    known = (
        _test(setup, name, channel)
        if section.is_configured and not setup.questions.has(_flag(name))
        else None
    )
    if isinstance(known, BotAccount):
        setup.questions.say(phrases.CHANNEL_NOW.format(bot=known.name))
    elif known is not None:
        setup.questions.say(phrases.TEST_FAILED.format(reason=known.detail))
    else:
        setup.questions.say(channel.where)
    parse_token = _token_parser(setup, name)
    while True:
        text = phrases.ASK_OTHER_BOT if known else phrases.ASK_BOT
        token = setup.questions.ask(_flag(name), text, parse=parse_token, hidden=True)
        if not token:
            return known if isinstance(known, BotAccount) else None
        setup.files.set_secret((name, "token"), token)
        found = _test(setup, name, channel, token)
        if isinstance(found, BotAccount):
            setup.questions.say(phrases.BOT_ANSWERS.format(bot=found.name))
            return found
        what = setup.what_now(f"{found.detail}; {found.fix}", is_rejected=found.name == "token")
        if what == "keep":
            return BotAccount(section.title)
        setup.files.discard()
        if what == "skip":
            return None


def _token_parser(setup: Setup, name: str) -> Parse:
    parse_form = setup.parse_as(name, "token")
    return lambda typed: parse_secret(parse_form(typed))


def _flag(name: str) -> str:
    return f"{name}-token-file"


def _test(setup: Setup, name: str, channel: ChannelSetup, token: str = "") -> BotAccount | Check:
    """Return the bot of the token, by default of the one that is set."""
    section = setup.files.settings().channels[name]
    if token:  # a variable may set another one
        section = section.model_copy(update={"token": SecretStr(token)})

    async def identify() -> BotAccount | Check:
        async with HttpProbe(secrets=[section.token.get_secret_value()]) as probe:
            return await channel.identify(section, probe)

    return setup.wait_for(identify())


# -- the owner ----------------------------------------------------------------------------------------------


def _ask_for_owner(
    setup: Setup, name: str, channel: ChannelSetup, bot: BotAccount, *, token_before: str
) -> Account | None:
    questions, settings = setup.questions, setup.files.settings()
    if questions.has(f"{name}-owner"):
        return _given_owner(setup, name)
    if questions.is_unattended or any(each.startswith(f"{name}:") for each in settings.access.owners):
        return None
    if bot.owner and questions.confirm("", phrases.OWNER_REGISTERED.format(account=bot.owner), default=True):
        return bot.owner
    owner = None
    if channel.can_listen:
        is_same = settings.channels[name].token.get_secret_value() == token_before
        if is_same and is_workspace_open(settings.private_folder / "locks", sweep=False):
            questions.say(phrases.CANNOT_LISTEN.format(reason=phrases.SERVICE_LISTENS))
        else:
            owner = _wait_for_owner(setup, settings.channels[name], channel, bot)
    if owner is None:
        questions.say(phrases.OWNER_LATER)
    return owner


def _given_owner(setup: Setup, name: str) -> Account:
    owners = setup.files.settings().access.owners

    def parse(typed: str) -> str:
        person = typed.removeprefix(f"{name}:")
        setup.check(("access", "owners"), [*owners, f"{name}:{person}"])
        return person

    person = setup.questions.ask(f"{name}-owner", "", parse=parse)
    return Account(person, person)


def _wait_for_owner(
    setup: Setup, section: ChannelSettings, channel: ChannelSetup, bot: BotAccount
) -> Account | None:
    """Return the first person who writes to the bot and is confirmed here; None if nobody is."""
    setup.questions.say(phrases.WRITE_NOW.format(bot=bot.name))
    asked: set[str] = set()
    ends = time.monotonic() + LISTEN_SECONDS
    while (left := ends - time.monotonic()) > 0:
        try:
            account = setup.wait_for(_next_sender(setup, section, channel, asked, seconds=left))
        except HookIsSet as hook:
            setup.questions.say(phrases.HOOK_IS_SET.format(host=hook))
            if not setup.questions.confirm("", phrases.REMOVE_HOOK, default=False):
                return None
            if not _remove_hook(setup, section, channel):
                return None
            continue
        except CannotListen as error:
            setup.questions.say(phrases.CANNOT_LISTEN.format(reason=error))
            return None
        if account is None:
            setup.questions.say(phrases.NOBODY_WROTE)
            return None
        if setup.questions.confirm("", phrases.IS_THIS_YOU.format(account=account), default=False):
            return account
        asked.add(account.id)
        setup.questions.say(phrases.KEEPS_WAITING)
        ends = time.monotonic() + LISTEN_SECONDS
    return None


def _remove_hook(setup: Setup, section: ChannelSettings, channel: ChannelSetup) -> bool:
    async def remove() -> None:
        async with HttpProbe(secrets=[section.token.get_secret_value()]) as probe:
            await channel.remove_hook(section, probe)

    try:
        setup.wait_for(remove())
    except CannotListen as error:
        setup.questions.say(phrases.CANNOT_LISTEN.format(reason=error))
        return False
    return True


async def _next_sender(
    setup: Setup, section: ChannelSettings, channel: ChannelSetup, asked: set[str], *, seconds: float
) -> Account | None:
    async def wait() -> Account | None:
        async with (
            HttpProbe(secrets=[section.token.get_secret_value()]) as probe,
            aclosing(channel.senders(section, probe)) as senders,
        ):
            async for account in senders:
                if account.id not in asked:
                    return account
        return None

    return await setup.questions.wait_unless_skipped(wait(), seconds=seconds)
