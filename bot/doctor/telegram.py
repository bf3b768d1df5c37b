"""Telegram: whether it knows the bot, how updates come, and whether something may have been missed."""

import asyncio
from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta
from urllib.parse import urlsplit

from bot.config.settings import Settings
from bot.config.telegram import TelegramSettings
from bot.doctor.check import Check, Topic, format_span
from bot.doctor.http_probe import HttpProbe, ProbeAnswer, ProbeFailed
from bot.doctor.liveness import Liveness
from memory.http_responses import one_line

TOPIC = Topic("telegram")
UPDATE_RETENTION = timedelta(hours=24)
"""For so long Telegram keeps what is written to a bot that does not fetch it."""


async def check(settings: Settings, asking: HttpProbe, liveness: Liveness) -> list[Check]:
    """Ask Telegram who the bot is and whether a webhook is set."""
    telegram = settings.telegram
    token = telegram.token.get_secret_value()
    if not token:
        return [TOPIC.ok("token", "none: Telegram is not configured")]
    if fault := telegram.token_fault():
        return [TOPIC.fail("token", f"{telegram.variable} can be none", f"it must be {fault}")]
    base = f"{telegram.api_base.rstrip('/')}/bot{token}"
    try:
        me, hook = await asyncio.gather(asking.get(f"{base}/getMe"), asking.get(f"{base}/getWebhookInfo"))
    except ProbeFailed as error:
        fix = "check the network, a proxy and telegram.api_base; the service goes on trying by itself"
        return [TOPIC.fail("reached", str(error), fix)]
    about = me.fields.get("result")
    if not me.is_success or not isinstance(about, Mapping):
        return [_explain_refusal(me)]
    checks = [TOPIC.ok("bot", f"@{one_line(str(about.get('username', '')))}")]
    checks += _check_groups(about)
    info = hook.fields.get("result")
    if hook.is_success and isinstance(info, Mapping):
        checks += _check_webhook(telegram, info, alive=liveness.alive)
    checks += _check_gap(alive=liveness.alive, last_sign=liveness.last_sign, now=liveness.now)
    return checks


def _explain_refusal(answered: ProbeAnswer) -> Check:
    said = answered.fields.get("description")
    words = f"{answered.status} {one_line(said)}" if isinstance(said, str) else f"{answered.status}"
    if answered.status in (401, 404) and "ok" in answered.fields:
        fix = "put the token that @BotFather shows (/mybots) into telegram.token: this one is mistyped or revoked"
        return TOPIC.fail("token", f"Telegram does not know it ({words})", fix)
    if answered.status == 429 or answered.status >= 500:
        return TOPIC.warn("reached", f"Telegram answered {words}", "try again later")
    return TOPIC.fail("reached", f"this is no Bot API: it answered {words}", "check telegram.api_base")


def _check_groups(about: Mapping[str, object]) -> Iterator[Check]:
    if not about.get("can_join_groups"):
        yield TOPIC.ok("groups", "it cannot be added to any (@BotFather: /setjoingroups)")
    elif about.get("can_read_all_group_messages"):
        yield TOPIC.ok(
            "groups", "privacy mode is off: it is told all that is said, and answers when it is mentioned"
        )
    else:
        yield TOPIC.ok("groups", "privacy mode is on: it is told what mentions it or replies to it")


def _check_webhook(telegram: TelegramSettings, info: Mapping[str, object], *, alive: bool) -> Iterator[Check]:
    url, count = str(info.get("url") or ""), info.get("pending_update_count")
    waiting = count if isinstance(count, int) else 0
    host = urlsplit(url).hostname or ""  # no more of it: whoever knows all of it can post there
    if telegram.mode == "polling":
        if url:
            detail = f"a webhook is set, at {one_line(host)}: what is written goes there"
            yield TOPIC.warn(
                "webhook",
                detail,
                "stop the other program, or give this one another token"
                if alive
                else "the start of the service removes it; where another program set it, give this one another token",
            )
        else:
            yield TOPIC.ok("mode", "polling, and no webhook is set")
    else:
        ours = urlsplit(telegram.webhook_url).hostname or ""
        if host == ours:
            yield TOPIC.ok("webhook", f"set, at {one_line(host)}")
        elif alive:
            detail = f"it is set at {one_line(host)}, not at {ours}" if host else "none is set"
            yield TOPIC.warn("webhook", detail, "the service sets it again within minutes; else see the log")
        else:
            yield TOPIC.ok("webhook", f"the start of the service sets it, at {ours}")
        if waiting and (error := info.get("last_error_message")):
            fix = "look after the proxy, its certificate and the name, or set telegram.mode to polling"
            yield TOPIC.warn("delivery", f"Telegram does not get through to it: {one_line(str(error))}", fix)
    if waiting and not alive:
        detail = f"{waiting} updates wait at Telegram, which keeps them for 24 hours"
        yield TOPIC.warn("waiting", detail, "start the service (commonplace run)")
    elif waiting:
        yield TOPIC.ok("waiting", f"{waiting} updates on their way")


def _check_gap(*, alive: bool, last_sign: datetime | None, now: datetime) -> Iterator[Check]:
    if alive or last_sign is None or now - last_sign <= UPDATE_RETENTION:
        return
    detail = (
        f"the service seems not to have run for {format_span((now - last_sign).total_seconds())}: of what was written "
        "to the bot, Telegram has kept the last 24 hours only"
    )
    yield TOPIC.warn("gap", detail, "start it, and ask people to write again what has no answer")
