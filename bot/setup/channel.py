"""The step about a channel: the bot's token, and its owner."""

import time
from contextlib import aclosing
from dataclasses import dataclass
from importlib import import_module

from pydantic import SecretStr

from bot.config.channel import ChannelSettings
from bot.doctor.check import Check
from bot.doctor.http_probe import HttpProbe
from bot.process_lock import is_workspace_open
from bot.setup import phrases
from bot.setup.channel_setup import Account, BotAccount, CannotListen, ChannelSetup, HookIsSet
from bot.setup.questions import InvalidAnswer, Parse, parse_secret
from bot.setup.setup import Setup, add_missing

LISTEN_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class _Bot:
    """The bot that is set up."""

    account: BotAccount
    section: ChannelSettings
    """The channel's settings with the token of this bot, which a variable may replace later."""


def set_up_channel(setup: Setup, name: str) -> str:
    """Ask for the token, test it and find the owner; return what was set. `name`: of the channel."""
    before = setup.files.settings().channels[name]
    channel: ChannelSetup = import_module(before.setup_module).setup
    bot = _ask_for_bot(setup, name, channel)
    if bot is None:
        if not setup.questions.has(f"{name}-owner"):
            return ""
        bot = _Bot(BotAccount(before.title), before)
    if bot.account.invite:
        setup.questions.say(phrases.INVITE.format(link=bot.account.invite))
    owner = _ask_for_owner(setup, name, channel, bot, before=before)
    if owner is None:
        return phrases.CHANNEL_SET.format(bot=bot.account.name)
    setup.files.set(("access", "owners"), add_missing(_own_owners(setup), f"{name}:{owner.id}"))
    return phrases.CHANNEL_SET_WITH_OWNER.format(bot=bot.account.name, account=owner)


def _own_owners(setup: Setup) -> list[str]:
    """Return the owners in the files: those of a variable may be meant for this once."""
    return list(setup.files.own(("access", "owners")) or ())


def _ask_for_bot(setup: Setup, name: str, channel: ChannelSetup) -> _Bot | None:
    """Return the bot whose token is set now; None if there is none, or the step is skipped."""
    section = setup.files.settings().channels[name]
    known = (
        _identify(setup, channel, section)
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
            if not isinstance(known, BotAccount):
                return None
            _offer_to_save(setup, name, section)
            return _Bot(known, section)
        setup.files.set_secret((name, "token"), token)
        typed = section.model_copy(update={"token": SecretStr(token)})
        found = _identify(setup, channel, typed)
        if isinstance(found, BotAccount):
            setup.questions.say(phrases.BOT_ANSWERS.format(bot=found.name))
            setup.keep()
            return _Bot(found, typed)
        what = setup.what_now(f"{found.detail}; {found.fix}", is_rejected=found.name == "token")
        if what == "keep":
            setup.keep()
            return _Bot(BotAccount(section.title), typed)
        setup.files.discard()
        if what == "skip":
            return None


def _offer_to_save(setup: Setup, name: str, section: ChannelSettings) -> None:
    """Save a token that only the variable of this channel holds, which a service would not see, if that is wanted."""
    token = section.token.get_secret_value()
    if setup.questions.is_unattended or token != setup.environment.get(section.variable, "").strip():
        return
    question = phrases.BOT_IN_ENVIRONMENT.format(variable=section.variable)
    if not setup.files.own((name, "token")) and setup.questions.confirm("", question, default=True):
        setup.files.set_secret((name, "token"), token)


def _token_parser(setup: Setup, name: str) -> Parse:
    parse_form = setup.parse_as(name, "token")
    return lambda typed: parse_secret(parse_form(typed))


def _flag(name: str) -> str:
    return f"{name}-token-file"


def _identify(setup: Setup, channel: ChannelSetup, section: ChannelSettings) -> BotAccount | Check:
    async def identify() -> BotAccount | Check:
        async with HttpProbe(secrets=[section.token.get_secret_value()]) as probe:
            return await channel.identify(section, probe)

    return setup.wait_for(identify())


# -- the owner ----------------------------------------------------------------------------------------------


def _ask_for_owner(
    setup: Setup, name: str, channel: ChannelSetup, bot: _Bot, *, before: ChannelSettings
) -> Account | None:
    """Return who is to be owner; None for nobody more. `before`: the channel's settings before this step."""
    questions, settings = setup.questions, setup.files.settings()
    if questions.has(f"{name}-owner"):
        return _given_owner(setup, name, bot)
    if questions.is_unattended:
        return None
    if owners := [each for each in settings.access.owners if each.startswith(f"{name}:")]:
        questions.say(phrases.OWNER_NOW.format(owners=", ".join(owners)))
        return None
    registrant = bot.account.owner
    if registrant and questions.confirm(
        "", phrases.OWNER_REGISTERED.format(account=registrant), default=True
    ):
        return registrant
    owner = None
    if channel.can_listen:
        is_same = bot.section.token == before.token
        if is_same and is_workspace_open(settings.private_folder / "locks", sweep=False):
            questions.say(phrases.CANNOT_LISTEN.format(reason=phrases.SERVICE_LISTENS))
        else:
            owner = _wait_for_owner(setup, channel, bot)
    if owner is None:
        questions.say(phrases.OWNER_LATER)
    return owner


def _given_owner(setup: Setup, name: str, bot: _Bot) -> Account:
    def parse(typed: str) -> str:
        person = typed.removeprefix(f"{name}:")
        setup.check(("access", "owners"), [*_own_owners(setup), f"{name}:{person}"])
        if not bot.section.private_chat(person):  # a group, as which several people can write
            raise InvalidAnswer(phrases.NOT_ONE_PERSON)
        if fault := bot.section.explain_no_match(person, key="owners"):
            raise InvalidAnswer(f"{person}, {fault}")
        return person

    person = setup.questions.ask(f"{name}-owner", "", parse=parse)
    return Account(person, person)


def _wait_for_owner(setup: Setup, channel: ChannelSetup, bot: _Bot) -> Account | None:
    """Return the first person who writes to the bot and is confirmed here; None if nobody is."""
    setup.questions.say(phrases.WRITE_NOW.format(bot=bot.account.name))
    asked: set[str] = set()
    ends = time.monotonic() + LISTEN_SECONDS
    while (left := ends - time.monotonic()) > 0:
        try:
            account = setup.wait_for(_next_sender(setup, channel, bot.section, asked, seconds=left))
        except HookIsSet as hook:
            setup.questions.say(phrases.HOOK_IS_SET.format(host=hook))
            if not setup.questions.confirm("", phrases.REMOVE_HOOK, default=False):
                return None
            if not _remove_hook(setup, channel, bot.section):
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


def _remove_hook(setup: Setup, channel: ChannelSetup, section: ChannelSettings) -> bool:
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
    setup: Setup, channel: ChannelSetup, section: ChannelSettings, asked: set[str], *, seconds: float
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
