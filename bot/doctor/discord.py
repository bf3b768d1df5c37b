"""Discord: whether it knows the bot, lets it connect and read, and in which servers it is."""

import asyncio
from collections.abc import Iterator, Mapping

from bot.config.settings import Settings
from bot.doctor.check import Check, Topic, format_list, format_span
from bot.doctor.http_probe import HttpProbe, ProbeAnswer, ProbeFailed
from bot.doctor.liveness import Liveness
from memory.http_responses import explain_bad_key, one_line

TOPIC = Topic("discord")
APPLICATION = "discord.com/developers/applications → your application"
PORTAL = f"{APPLICATION} → Bot"
INVITE = f"invite it: {APPLICATION} → OAuth2 → URL Generator, with bot and applications.commands"
READS_TEXT = (1 << 18) | (1 << 19)
"""Flags of an application: GATEWAY_MESSAGE_CONTENT, and the same for bots in few servers."""
FEW_SESSIONS = 20
AGENT = "DiscordBot (commonplace, 1)"
"""In this form, or Discord's gatekeeper refuses it."""


async def check(settings: Settings, asking: HttpProbe, liveness: Liveness) -> list[Check]:
    """Ask Discord who the bot is, what it may do, and where its gateway is."""
    del liveness
    discord = settings.discord
    token = discord.token.get_secret_value()
    if not token:
        return [TOPIC.ok("token", "none: Discord is not configured")]
    if fault := explain_bad_key(token):
        return [TOPIC.fail("token", f"it {fault}", f"copy it anew: {PORTAL}")]
    base = discord.api_base.rstrip("/")
    headers = {"Authorization": f"Bot {token}", "User-Agent": AGENT}
    paths = ("/users/@me", "/applications/@me", "/gateway/bot", "/users/@me/guilds?limit=200")
    try:
        me, application, gateway, guilds = await asyncio.gather(
            *(asking.get(f"{base}{path}", headers) for path in paths)
        )
    except ProbeFailed as error:
        fix = "check the network, a proxy and discord.api_base; the service goes on trying by itself"
        return [TOPIC.fail("reached", str(error), fix)]
    if not me.is_success:
        return [_explain_refusal(me)]
    checks = [TOPIC.ok("bot", one_line(str(me.fields.get("username") or "known")))]
    checks += _check_intents(application)
    checks.append(await _check_gateway(gateway, asking))
    checks += _check_servers(guilds, discord.servers)
    return checks


def _explain_refusal(answered: ProbeAnswer) -> Check:
    said = answered.fields.get("message")
    words = f"{answered.status} {one_line(said)}" if isinstance(said, str) else f"{answered.status}"
    if answered.status == 401:
        fix = f"put the one from {PORTAL} → Reset Token into discord.token: this one is mistyped or was reset"
        return TOPIC.fail("token", f"Discord does not know it ({words})", fix)
    if answered.status == 429 or answered.status >= 500:
        return TOPIC.warn("reached", f"Discord answered {words}", "try again later")
    return TOPIC.fail("reached", f"this is not Discord's API: it answered {words}", "check discord.api_base")


def _check_intents(application: ProbeAnswer) -> Iterator[Check]:
    flags = application.fields.get("flags")
    if not application.is_success or not isinstance(flags, int):
        return
    if flags & READS_TEXT:
        yield TOPIC.ok("intents", "it may read messages that do not mention it")
    else:
        yield TOPIC.warn(
            "intents",
            "it may not read messages that do not mention it, as in its own threads",
            f"switch on Message Content Intent: {PORTAL} → Privileged Gateway Intents",
        )


async def _check_gateway(gateway: ProbeAnswer, asking: HttpProbe) -> Check:
    url = gateway.fields.get("url")
    if not gateway.is_success or not isinstance(url, str) or not url.startswith(("ws://", "wss://")):
        detail = f"it does not tell where to connect ({gateway.status})"
        fix = "try again later; a proxy at discord.api_base must pass on /gateway/bot"
        return TOPIC.warn("gateway", detail, fix)
    try:  # anything at all: a firewall may let through the one host and not the other
        await asking.get(f"http{url.removeprefix('ws')}")
    except ProbeFailed as error:
        fix = "let it through in the firewall or proxy: nothing is heard without it"
        return TOPIC.fail("gateway", str(error), fix)
    limit = gateway.fields.get("session_start_limit")
    left = limit.get("remaining") if isinstance(limit, Mapping) else None
    if isinstance(limit, Mapping) and isinstance(left, int) and left < FEW_SESSIONS:
        after = limit.get("reset_after")
        seconds = after / 1000 if isinstance(after, int) else 0
        detail = f"the bot may connect only {left} times more within {format_span(seconds)}"
        return TOPIC.warn("gateway", detail, "see in the log why it connects so often; wait meanwhile")
    return TOPIC.ok("gateway", "it can be reached")


def _check_servers(guilds: ProbeAnswer, wanted: tuple[str, ...]) -> Iterator[Check]:
    listed = guilds.document
    if not guilds.is_success or not isinstance(listed, list):
        return
    names = {str(each.get("id")): str(each.get("name")) for each in listed if isinstance(each, Mapping)}
    if not names:
        yield TOPIC.warn("servers", "the bot is in none, so nobody can find it", INVITE)
    else:
        yield TOPIC.ok("servers", f"{len(names)}: {one_line(format_list(sorted(names.values())))}")
    if missing := [each for each in wanted if each not in names]:
        detail = f"discord.servers has {format_list(missing)}, where the bot is not"
        yield TOPIC.warn("servers", detail, "invite it there, or correct discord.servers")
