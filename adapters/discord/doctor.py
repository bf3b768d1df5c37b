"""Checks Discord: the token, the intents, the gateway and the bot's servers."""

import asyncio
from collections.abc import Iterator, Mapping

from bot.config.settings import Settings
from bot.doctor.check import Check, Topic, format_list
from bot.doctor.http_probe import HttpProbe, ProbeAnswer, ProbeFailed
from bot.doctor.service import Liveness
from bot.quantities import rough_duration_in_words
from memory.http_responses import explain_bad_key, one_line

TOPIC = Topic("discord")
APPLICATION = "discord.com/developers/applications → your application"
PORTAL = f"{APPLICATION} → Bot"
INVITE = f"invite the bot: {APPLICATION} → OAuth2 → URL Generator, with bot and applications.commands"
READS_TEXT = (1 << 18) | (1 << 19)
"""Application flags GATEWAY_MESSAGE_CONTENT and GATEWAY_MESSAGE_CONTENT_LIMITED."""
LOW_SESSIONS = 20
AGENT = "DiscordBot (commonplace, 1)"
"""Discord rejects other forms of User-Agent."""


async def check(settings: Settings, probe: HttpProbe, liveness: Liveness) -> list[Check]:
    """Ask Discord about the bot, its permissions, its gateway and its servers."""
    del liveness
    discord = settings.discord
    token = discord.token.get_secret_value()
    if not token:
        return [TOPIC.ok("token", "none: Discord is not configured")]
    if fault := explain_bad_key(token):
        return [TOPIC.fail("token", f"the token {fault}", f"copy it again: {PORTAL}")]
    base = discord.api_base.rstrip("/")
    headers = bot_headers(token)
    paths = ("/users/@me", "/applications/@me", "/gateway/bot", "/users/@me/guilds?limit=200")
    try:
        me, application, gateway, guilds = await asyncio.gather(
            *(probe.get(f"{base}{path}", headers) for path in paths)
        )
    except ProbeFailed as error:
        return [explain_unreached(error)]
    if not me.is_success:
        return [explain_refusal(me)]
    checks = [TOPIC.ok("bot", one_line(str(me.fields.get("username") or "known")))]
    checks += _check_intents(application)
    checks.append(await _check_gateway(gateway, probe))
    checks += _check_servers(guilds, discord.servers)
    return checks


def bot_headers(token: str) -> dict[str, str]:
    """Return the headers of a bot's requests."""
    return {"Authorization": f"Bot {token}", "User-Agent": AGENT}


def explain_unreached(error: ProbeFailed) -> Check:
    """Return that Discord did not answer."""
    fix = "check the network, the proxy and discord.api_base; the service keeps trying"
    return TOPIC.fail("reached", str(error), fix)


def explain_refusal(response: ProbeAnswer) -> Check:
    """Return why the bot could not be asked; the check's name is `token` if Discord does not know the token."""
    said = response.fields.get("message")
    words = f"{response.status} {one_line(said)}" if isinstance(said, str) else f"{response.status}"
    if response.status == 401:
        fix = (
            f"this token is mistyped or was reset: set discord.token to a new one from {PORTAL} → Reset Token"
        )
        return TOPIC.fail("token", f"Discord rejects it ({words})", fix)
    if response.status == 429 or response.status >= 500:
        return TOPIC.warn("reached", f"Discord answered {words}", "try again later")
    return TOPIC.fail("reached", f"not Discord's API: it answered {words}", "check discord.api_base")


def _check_intents(application: ProbeAnswer) -> Iterator[Check]:
    flags = application.fields.get("flags")
    if not application.is_success or not isinstance(flags, int):
        return
    if flags & READS_TEXT:
        yield TOPIC.ok("intents", "the bot can read messages that do not mention it")
    else:
        yield TOPIC.warn(
            "intents",
            "the bot cannot read messages that do not mention it, even in its own threads",
            f"turn on Message Content Intent: {PORTAL} → Privileged Gateway Intents",
        )


async def _check_gateway(gateway: ProbeAnswer, probe: HttpProbe) -> Check:
    url = gateway.fields.get("url")
    if not gateway.is_success or not isinstance(url, str) or not url.startswith(("ws://", "wss://")):
        detail = f"Discord gives no gateway address ({gateway.status})"
        fix = "try again later; a proxy at discord.api_base must forward /gateway/bot"
        return TOPIC.warn("gateway", detail, fix)
    try:  # any answer will do: a firewall may block only this host
        await probe.get(f"http{url.removeprefix('ws')}")
    except ProbeFailed as error:
        fix = "allow it in the firewall or proxy: without it, no messages arrive"
        return TOPIC.fail("gateway", str(error), fix)
    limit = gateway.fields.get("session_start_limit")
    left = limit.get("remaining") if isinstance(limit, Mapping) else None
    if isinstance(limit, Mapping) and isinstance(left, int) and left < LOW_SESSIONS:
        after = limit.get("reset_after")
        seconds = after / 1000 if isinstance(after, int) else 0
        detail = f"the bot can connect only {left} more times in the next {rough_duration_in_words(seconds)}"
        return TOPIC.warn("gateway", detail, "see the log for why it connects so often, and wait")
    return TOPIC.ok("gateway", "reachable")


def _check_servers(guilds: ProbeAnswer, wanted: tuple[str, ...]) -> Iterator[Check]:
    listed = guilds.document
    if not guilds.is_success or not isinstance(listed, list):
        return
    names = {str(each.get("id")): str(each.get("name")) for each in listed if isinstance(each, Mapping)}
    if not names:
        yield TOPIC.warn("servers", "the bot is in no server, so nobody can find it", INVITE)
    else:
        yield TOPIC.ok("servers", f"{len(names)}: {one_line(format_list(sorted(names.values())))}")
    if missing := [each for each in wanted if each not in names]:
        detail = f"discord.servers has {format_list(missing)}, but the bot is not there"
        yield TOPIC.warn("servers", detail, "invite the bot there, or correct discord.servers")
