"""Discord's part of `commonplace init`: the bot of a token, its invitation, and who has registered it."""

import asyncio
from collections.abc import AsyncGenerator
from dataclasses import replace

from adapters.discord.doctor import bot_headers, explain_refusal, explain_unreached
from bot.config.channel import ChannelSettings
from bot.doctor.check import Check
from bot.doctor.http_probe import HttpProbe, ProbeAnswer, ProbeFailed
from bot.setup.channel_setup import CHECK_NETWORK, Account, BotAccount, CannotListen
from memory.http_responses import one_line
from memory.translatable import Translatable

INVITE = (
    "https://discord.com/oauth2/authorize?client_id={id}&scope=bot+applications.commands"
    "&permissions=274878008320"
)
"""The permissions are those that docs/discord.md lists."""

MEND = "it is mistyped or was reset: on the Bot page, Reset Token gives you a new one"


class DiscordSetup:
    """See `ChannelSetup`."""

    where = Translatable(
        "Create an application at https://discord.com/developers/applications; on its Bot page, press Reset Token "
        "to get a token."
    )
    can_listen = False

    def find_token(self, typed: str) -> str:
        """See `ChannelSetup.find_token`: the portal shows it alone."""
        return typed

    async def identify(self, section: ChannelSettings, probe: HttpProbe) -> BotAccount | Check:
        """See `ChannelSetup.identify`."""
        base = section.api_base.rstrip("/")
        headers = bot_headers(section.token.get_secret_value())
        try:
            me, application = await asyncio.gather(
                *(probe.get(f"{base}/{path}/@me", headers) for path in ("users", "applications"))
            )
        except ProbeFailed as error:
            return replace(explain_unreached(error), fix=CHECK_NETWORK)
        if not me.is_success or "id" not in me.fields:
            refusal = explain_refusal(me)
            return replace(refusal, fix=MEND) if refusal.name == "token" else refusal
        name = one_line(str(me.fields.get("username") or "your bot"))
        number = str(application.fields.get("id") or me.fields.get("id") or "")
        return BotAccount(name, INVITE.format(id=one_line(number)), _owner_of(application))

    async def senders(self, section: ChannelSettings, probe: HttpProbe) -> AsyncGenerator[Account, None]:
        """See `ChannelSetup.senders`: Discord sends messages only over its gateway."""
        del section, probe
        raise CannotListen("Discord sends messages only to a bot that is running")
        yield

    async def remove_hook(self, section: ChannelSettings, probe: HttpProbe) -> None:
        """See `ChannelSetup.remove_hook`: there is none."""
        del section, probe


def _owner_of(application: ProbeAnswer) -> Account | None:
    """Return the person who has registered the application; None for a team's."""
    match application.fields:
        case {"owner": {"id": str(number), "username": str(name), **about}} as fields if not fields.get(
            "team"
        ):
            shown = about.get("global_name")
            return Account(
                number, one_line(shown if isinstance(shown, str) and shown else name), one_line(name)
            )
    return None


setup = DiscordSetup()
