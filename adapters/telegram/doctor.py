"""Checks Telegram: the token, how updates arrive, and whether messages may have been missed."""

import asyncio
from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta
from urllib.parse import urlsplit

from bot.config.settings import Settings
from bot.config.telegram import TelegramSettings
from bot.doctor.check import Check, Topic
from bot.doctor.http_probe import HttpProbe, ProbeAnswer, ProbeFailed
from bot.doctor.service import Liveness
from bot.quantities import rough_duration_in_words
from memory.http_responses import one_line

TOPIC = Topic("telegram")
UPDATE_RETENTION = timedelta(hours=24)
"""How long Telegram keeps messages that the bot does not fetch."""


async def check(settings: Settings, probe: HttpProbe, liveness: Liveness) -> list[Check]:
    """Ask Telegram about the bot and its webhook."""
    telegram = settings.telegram
    token = telegram.token.get_secret_value()
    if not token:
        return [TOPIC.ok("token", "none: Telegram is not configured")]
    if fault := telegram.explain_invalid_token():
        return [TOPIC.fail("token", f"{telegram.variable} is invalid", f"it must be {fault}")]
    base = f"{telegram.api_base.rstrip('/')}/bot{token}"
    try:
        me, hook = await asyncio.gather(probe.get(f"{base}/getMe"), probe.get(f"{base}/getWebhookInfo"))
    except ProbeFailed as error:
        return [explain_unreached(error)]
    about = me.fields.get("result")
    if not me.is_success or not isinstance(about, Mapping):
        return [explain_refusal(me)]
    checks = [TOPIC.ok("bot", f"@{one_line(str(about.get('username', '')))}")]
    checks += _check_groups(about)
    info = hook.fields.get("result")
    if hook.is_success and isinstance(info, Mapping):
        checks += _check_webhook(telegram, info, alive=liveness.alive)
    checks += _check_gap(alive=liveness.alive, last_sign=liveness.last_sign, now=liveness.now)
    return checks


def explain_unreached(error: ProbeFailed) -> Check:
    """Return that Telegram did not answer."""
    fix = "check the network, the proxy and telegram.api_base; the service keeps trying"
    return TOPIC.fail("reached", str(error), fix)


def explain_refusal(response: ProbeAnswer) -> Check:
    """Return why getMe failed; the check's name is `token` if Telegram does not know the token."""
    said = response.fields.get("description")
    words = f"{response.status} {one_line(said)}" if isinstance(said, str) else f"{response.status}"
    if response.status in (401, 404) and "ok" in response.fields:
        fix = (
            "this token is mistyped or revoked: set telegram.token to the one that @BotFather shows (/mybots)"
        )
        return TOPIC.fail("token", f"Telegram rejects it ({words})", fix)
    if response.status == 429 or response.status >= 500:
        return TOPIC.warn("reached", f"Telegram answered {words}", "try again later")
    return TOPIC.fail("reached", f"not a Bot API: it answered {words}", "check telegram.api_base")


def _check_groups(about: Mapping[str, object]) -> Iterator[Check]:
    if not about.get("can_join_groups"):
        yield TOPIC.ok("groups", "the bot cannot be added to groups (@BotFather: /setjoingroups)")
    elif about.get("can_read_all_group_messages"):
        yield TOPIC.ok(
            "groups", "privacy mode is off: the bot sees every message, and answers those that mention it"
        )
    else:
        yield TOPIC.ok(
            "groups", "privacy mode is on: the bot sees only messages that mention it or reply to it"
        )


def _check_webhook(telegram: TelegramSettings, info: Mapping[str, object], *, alive: bool) -> Iterator[Check]:
    url, count = str(info.get("url") or ""), info.get("pending_update_count")
    waiting = count if isinstance(count, int) else 0
    host = urlsplit(url).hostname or ""  # only the host: the full URL lets anybody post there
    if telegram.mode == "polling":
        if url:
            detail = f"a webhook is set at {one_line(host)}, so messages go there"
            yield TOPIC.warn(
                "webhook",
                detail,
                "stop the other program, or use another bot here"
                if alive
                else "the service removes it at its start; if another program set it, use another bot here",
            )
        else:
            yield TOPIC.ok("mode", "polling, no webhook set")
    else:
        ours = urlsplit(telegram.webhook_url).hostname or ""
        if host == ours:
            yield TOPIC.ok("webhook", f"set at {one_line(host)}")
        elif alive:
            detail = f"set at {one_line(host)}, not at {ours}" if host else "none is set"
            yield TOPIC.warn(
                "webhook", detail, "the service sets it again within minutes; if not, see the log"
            )
        else:
            yield TOPIC.ok("webhook", f"the service sets it at its start, at {ours}")
        if waiting and (error := info.get("last_error_message")):
            fix = "check the proxy, its certificate and the host name, or set telegram.mode to polling"
            yield TOPIC.warn("delivery", f"Telegram cannot reach it: {one_line(str(error))}", fix)
    if waiting and not alive:
        detail = f"{_count_updates(waiting)} waiting at Telegram, which keeps them for 24 hours"
        yield TOPIC.warn("waiting", detail, "start the service (commonplace run)")
    elif waiting:
        yield TOPIC.ok("waiting", f"{_count_updates(waiting)} on the way")


def _count_updates(count: int) -> str:
    return "1 update is" if count == 1 else f"{count} updates are"


def _check_gap(*, alive: bool, last_sign: datetime | None, now: datetime) -> Iterator[Check]:
    if alive or last_sign is None or now - last_sign <= UPDATE_RETENTION:
        return
    detail = (
        f"the service has not run for about {rough_duration_in_words((now - last_sign).total_seconds())}, but "
        "Telegram keeps messages for only 24 hours"
    )
    yield TOPIC.warn("gap", detail, "start it, and ask people to send unanswered messages again")
