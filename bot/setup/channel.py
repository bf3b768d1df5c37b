"""The step about a channel: the bot's token, and its owner."""

import time
from collections.abc import Sequence
from contextlib import aclosing
from dataclasses import dataclass
from importlib import import_module

from pydantic import SecretStr

from bot.config.channel import ChannelSettings
from bot.doctor.check import Check
from bot.doctor.http_probe import HttpProbe
from bot.language.text import localize
from bot.process_lock import is_workspace_open
from bot.setup import phrases
from bot.setup.channel_setup import Account, BotAccount, CannotListen, ChannelSetup, HookIsSet
from bot.setup.command_line import command_line
from bot.setup.questions import InvalidAnswer, Parse, parse_secret
from bot.setup.setup import Setup, add_missing

LISTEN_SECONDS = 180.0


@dataclass(frozen=True, slots=True)
class _Bot:
    """The bot that is set up."""

    account: BotAccount
    section: ChannelSettings
    """The channel's settings with the token of this bot, which a variable may replace later."""
    is_tested: bool = True
    summary: str = ""
    """The bot with what is wrong with its token; "" if nothing is."""


def set_up_channel(setup: Setup, name: str) -> str:
    """Ask for the token, test it and find the owner; return what was set. `name`: of the channel."""
    before = setup.files.settings().channels[name]
    channel: ChannelSetup = import_module(before.setup_module).setup
    bot = _ask_for_bot(setup, name, channel)
    if bot is None:
        if not setup.questions.has(f"{name}-owner"):
            return ""
        bot = _Bot(BotAccount(phrases.YOUR_BOT.format(title=before.title)), before)
    _say_what_is_not_saved(setup, name, bot.section)
    if bot.account.invite:
        setup.questions.say(phrases.INVITE.format(link=bot.account.invite))
    owner = _ask_for_owner(setup, name, channel, bot, before=before)
    if owner is not None:
        setup.files.set(("access", "owners"), add_missing(_own_owners(setup), f"{name}:{owner.id}"))
    if owner or _owners_of(setup, name):
        setup.bots.append(bot.account.name)
    shown = bot.summary or bot.account.name
    return phrases.CHANNEL_SET_WITH_OWNER.format(bot=shown, account=owner) if owner else shown


def _own_owners(setup: Setup) -> list[str]:
    """Return the owners in the files: those of a variable may be meant for this once."""
    return list(setup.files.own(("access", "owners")) or ())


def _owners_of(setup: Setup, name: str) -> list[str]:
    """Return the ids of the channel's owners."""
    owners = setup.files.settings().access.owners
    return [each.partition(":")[2] for each in owners if each.startswith(f"{name}:")]


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
    elif not (setup.questions.is_unattended or setup.questions.has(_flag(name))):
        setup.questions.say(localize(channel.where))
    parse_token = _token_parser(setup, name, channel)
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
        what, bot = _try_token(setup, channel, typed, _flag(name), parse_token)
        if bot:
            setup.keep()
            return bot
        setup.files.discard()
        if what == "skip":
            return None


def _try_token(
    setup: Setup, channel: ChannelSetup, section: ChannelSettings, flag: str, parse: Parse
) -> tuple[str, _Bot | None]:
    """Return what the person wants, as `what_now` does, and the bot if its token works or is kept all the same."""
    while True:
        found = _identify(setup, channel, section)
        if isinstance(found, BotAccount):
            setup.questions.say(phrases.BOT_ANSWERS.format(bot=found.name))
            return "keep", _Bot(found, section)
        is_rejected = found.name == "token"
        what = setup.what_now(
            f"{found.detail}; {found.fix}",
            is_rejected=is_rejected,
            other=phrases.OTHER_BOT,
            flag=flag,
            parse=parse,
        )
        if what == "keep":
            account = BotAccount(phrases.YOUR_BOT.format(title=section.title))
            shown = phrases.REJECTED_BUT_KEPT if is_rejected else phrases.UNTESTED
            return what, _Bot(account, section, False, shown.format(what=account.name))
        if what != "again":
            return what, None


def _offer_to_save(setup: Setup, name: str, section: ChannelSettings) -> None:
    """Save a token that only the variable of this channel holds, which a service would not see, if that is wanted."""
    token = section.token.get_secret_value()
    if setup.questions.is_unattended or token != setup.environment.get(section.variable, "").strip():
        return
    question = phrases.BOT_IN_ENVIRONMENT.format(variable=section.variable)
    if not setup.files.own((name, "token")) and setup.questions.confirm("", question, default=True):
        setup.files.set_secret((name, "token"), token)


def _say_what_is_not_saved(setup: Setup, name: str, section: ChannelSettings) -> None:
    """Name the variables that this channel works with here, and that a service would lack."""
    used = {"token": section.token.get_secret_value(), "api_base": section.api_base}
    variables = []
    for key, value in used.items():
        if setup.files.own((name, key)) == value:
            continue
        source = setup.files.settings().sources.find((name, key))
        if source and source.kind == "variable":
            variables.append(source.name)
        elif key == "token" and value and value == setup.environment.get(section.variable, "").strip():
            variables.append(section.variable)
    for variable in variables:
        setup.questions.say(phrases.ONLY_IN_ENVIRONMENT.format(variable=variable))


def _token_parser(setup: Setup, name: str, channel: ChannelSetup) -> Parse:
    parse_form = setup.parse_as(name, "token")
    return lambda typed: parse_secret(parse_form(channel.find_token(typed)))


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
    questions = setup.questions
    if questions.has(f"{name}-owner"):
        return _given_owner(setup, name, bot)
    if questions.is_unattended:
        return None
    if owners := _owners_of(setup, name):
        questions.say(phrases.OWNER_NOW.format(owners=", ".join(owners)))
        if not questions.confirm("", phrases.ASK_OTHER_OWNER, default=False):
            return None
    owner = None
    if bot.is_tested:
        owner = _find_owner(setup, channel, bot, owners, is_same=bot.section.token == before.token)
    questions.say(phrases.OWNER_SET.format(account=owner) if owner else _explain_pairing(setup))
    return owner


def _explain_pairing(setup: Setup) -> str:
    command = command_line("chat", setup.files.file, "-m", "/pair CODE owner")
    return phrases.OWNER_LATER.format(command=command)


def _find_owner(
    setup: Setup, channel: ChannelSetup, bot: _Bot, owners: Sequence[str], *, is_same: bool
) -> Account | None:
    """Return who has registered the bot or writes to it, if that is confirmed.

    `owners`: ids of those it has. `is_same`: whether it is the bot that a service which runs would use.
    """
    questions, registrant = setup.questions, bot.account.owner
    if registrant and registrant.id not in owners:
        question = phrases.OWNER_REGISTERED.format(account=registrant)
        if questions.confirm("", question, default=True):
            return registrant
    if not channel.can_listen:
        return None
    locks = setup.files.settings().private_folder / "locks"
    if is_same and is_workspace_open(locks, sweep=False):
        questions.say(phrases.CANNOT_LISTEN.format(reason=phrases.SERVICE_LISTENS))
        return None
    return _wait_for_owner(setup, channel, bot, owners)


def _given_owner(setup: Setup, name: str, bot: _Bot) -> Account:
    def parse(typed: str) -> str:
        person = typed.removeprefix(f"{name}:")
        if person != "*" and (fault := bot.section.explain_invalid_person(person)):
            raise InvalidAnswer(fault)
        setup.check(("access", "owners"), [*_own_owners(setup), f"{name}:{person}"])
        if not bot.section.private_chat(person):  # a group, as which several people can write
            raise InvalidAnswer(phrases.NOT_ONE_PERSON)
        if fault := bot.section.explain_no_match(person, key="owners"):
            raise InvalidAnswer(f"{person}, {fault}")
        return person

    person = setup.questions.ask(f"{name}-owner", "", parse=parse)
    return Account(person, "")


def _wait_for_owner(setup: Setup, channel: ChannelSetup, bot: _Bot, owners: Sequence[str]) -> Account | None:
    """Return the first person who writes to the bot and is confirmed here; None if nobody is."""
    questions = setup.questions
    questions.say(phrases.WRITE_NOW.format(bot=bot.account.name))
    asked = set(owners)
    ends = time.monotonic() + LISTEN_SECONDS
    while True:
        try:
            left = max(ends - time.monotonic(), 0.0)
            account = setup.wait_for(_next_sender(setup, channel, bot.section, asked, seconds=left))
        except TimeoutError:
            if not questions.confirm("", phrases.WAIT_LONGER, default=True):
                return None
            questions.say(phrases.WAITS_AGAIN.format(bot=bot.account.name))
            ends = time.monotonic() + LISTEN_SECONDS
            continue
        except HookIsSet as hook:
            questions.say(phrases.HOOK_IS_SET.format(host=hook))
            if not questions.confirm("", phrases.REMOVE_HOOK, default=False):
                return None
            if not _remove_hook(setup, channel, bot.section):
                return None
            continue
        except CannotListen as error:
            questions.say(phrases.CANNOT_LISTEN.format(reason=error))
            return None
        if account is None:
            questions.say(phrases.NOBODY_WROTE)
            return None
        if questions.confirm("", phrases.IS_THIS_YOU.format(account=account), default=False):
            return account
        asked.add(account.id)
        questions.say(phrases.KEEPS_WAITING)
        ends = time.monotonic() + LISTEN_SECONDS


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
