"""Telegram's part of `commonplace init`: the bot of a token, and who writes to it."""

import asyncio
import json
import re
from collections.abc import AsyncGenerator, Mapping
from dataclasses import replace
from urllib.parse import urlencode, urlsplit

from adapters.telegram.doctor import explain_refusal, explain_unreached
from adapters.telegram.incoming import ALLOWED_UPDATES
from bot.config.channel import ChannelSettings
from bot.doctor.check import Check
from bot.doctor.http_probe import HttpProbe, ProbeAnswer, ProbeFailed
from bot.setup.channel_setup import CHECK_NETWORK, Account, BotAccount, CannotListen, HookIsSet
from memory.http_responses import one_line
from memory.translatable import Translatable

POLL_SECONDS = 5
PAUSE_SECONDS = 1.0
"""Between two requests: while messages wait, Telegram answers at once, and nothing may be confirmed."""
MAX_UPDATES = 100
"""Telegram gives no more at a time, and the next only when these are confirmed."""
MAX_FAILURES = 4
"""In a row."""

TOKEN_FORM = re.compile(r"(?<!\S)\d{6,}:[\w-]{30,}(?!\S)", re.ASCII)
MEND = "it is mistyped or revoked: @BotFather shows the right one (/mybots)"


class TelegramSetup:
    """See `ChannelSetup`."""

    where = Translatable(
        "Send /newbot to @BotFather on Telegram (https://t.me/BotFather); it gives you a token."
    )
    can_listen = True

    def find_token(self, typed: str) -> str:
        """See `ChannelSetup.find_token`."""
        found = TOKEN_FORM.search(typed)
        return found[0] if found and " " in typed else typed

    async def identify(self, section: ChannelSettings, probe: HttpProbe) -> BotAccount | Check:
        """See `ChannelSetup.identify`."""
        try:
            answer = await probe.get(_url(section, "getMe"))
        except ProbeFailed as error:
            return replace(explain_unreached(error), fix=CHECK_NETWORK)
        about = answer.fields.get("result")
        if not answer.is_success or not isinstance(about, Mapping):
            refusal = explain_refusal(answer)
            return replace(refusal, fix=MEND) if refusal.name == "token" else refusal
        return BotAccount(f"@{one_line(str(about.get('username', '')))}")

    async def senders(self, section: ChannelSettings, probe: HttpProbe) -> AsyncGenerator[Account, None]:
        """See `ChannelSetup.senders`: without an offset, Telegram keeps what it gives."""
        await self._check_hook(section, probe)
        url = _url(section, "getUpdates", timeout=POLL_SECONDS, allowed_updates=json.dumps(ALLOWED_UPDATES))
        seen: set[str] = set()
        failures = 0
        while True:
            try:
                updates = _updates_in(await _ask(url, probe))
            except _MayPass:
                failures += 1
                if failures == MAX_FAILURES:
                    raise
                updates = []
            else:
                failures = 0
            for account in filter(None, map(_sender_of, updates)):
                if account.id not in seen:
                    seen.add(account.id)
                    yield account
            if len(updates) >= MAX_UPDATES:
                raise CannotListen(
                    "a hundred older messages are waiting for this bot, and Telegram shows only those"
                )
            await asyncio.sleep(PAUSE_SECONDS)

    async def remove_hook(self, section: ChannelSettings, probe: HttpProbe) -> None:
        """See `ChannelSetup.remove_hook`."""
        await _ask(_url(section, "deleteWebhook", drop_pending_updates="false"), probe)

    async def _check_hook(self, section: ChannelSettings, probe: HttpProbe) -> None:
        info = (await _ask(_url(section, "getWebhookInfo"), probe)).fields.get("result")
        url = str(info.get("url") or "") if isinstance(info, Mapping) else ""
        if url:
            raise HookIsSet(one_line(urlsplit(url).hostname or ""))


class _MayPass(CannotListen):
    """A failure after which the same request may succeed."""


async def _ask(url: str, probe: HttpProbe) -> ProbeAnswer:
    """Return what a method of the Bot API gives. Raises CannotListen."""
    try:
        answer = await probe.get(url)
    except ProbeFailed as error:
        raise _MayPass(str(error)) from error
    if answer.status == 409:
        raise CannotListen("another program is receiving this bot's messages")
    if answer.status == 429 or answer.status >= 500:
        raise _MayPass(explain_refusal(answer).detail)
    if not answer.is_success or "result" not in answer.fields:
        raise CannotListen(explain_refusal(answer).detail)
    return answer


def _updates_in(answer: ProbeAnswer) -> list[Mapping[str, object]]:
    found = answer.fields.get("result")
    return [each for each in found if isinstance(each, Mapping)] if isinstance(found, list) else []


def _sender_of(update: Mapping[str, object]) -> Account | None:
    """Return who wrote a message to the bot alone; None for other updates."""
    match update.get("message"):
        case {"chat": {"type": "private"}, "from": {"id": int(number), "is_bot": False, **about}}:
            names = (str(about[key]) for key in ("first_name", "last_name") if about.get(key))
            username = one_line(str(about.get("username") or ""))
            return Account(str(number), one_line(" ".join(names)), username)
    return None


def _url(section: ChannelSettings, method: str, **parameters: str | int) -> str:
    base = f"{section.api_base.rstrip('/')}/bot{section.token.get_secret_value()}/{method}"
    return f"{base}?{urlencode(parameters)}" if parameters else base


setup = TelegramSetup()
