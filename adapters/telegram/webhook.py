"""Receive updates by webhook, at a secret path that the bot registers and monitors itself."""

import asyncio
import hmac
import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from telegram import Bot, WebhookInfo
from telegram.error import BadRequest, TelegramError

from adapters.telegram.connection_health import (
    AddressRefused,
    ConnectionHealth,
    ReconnectTimes,
    translate_library_errors,
)
from adapters.telegram.incoming import ALLOWED_UPDATES
from bot.messages import ChannelHealth, NotAccepted
from bot.web.webhooks import WebhookRoute
from memory.translatable import Translatable

if TYPE_CHECKING:
    from bot.config.telegram import TelegramSettings

SECRET_HEADER = "X-Telegram-Bot-Api-Secret-Token"  # noqa: S105 - its name
CHECK_SECONDS = 300.0
"""Seconds between two checks that Telegram knows the address and reaches it."""
ASK_SECONDS = 30.0
REPLACED = Translatable("another program had set its own webhook for this bot; it has been replaced by ours")

UpdateHandler = Callable[[Mapping[str, Any]], Awaitable[object]]


class Webhook:
    """Registers the webhook and receives its updates."""

    def __init__(
        self,
        bot: Bot,
        settings: "TelegramSettings",
        *,
        report: Callable[[ChannelHealth], None],
        times: ReconnectTimes | None = None,
        check_seconds: float = CHECK_SECONDS,
    ) -> None:
        """Derive the path and, unless one is set, the secret from the token."""
        self._bot = bot
        self._path = _make_path(bot.token)
        self._base = settings.webhook_url.rstrip("/")
        self._secret = settings.webhook_secret.get_secret_value() or _derive_secret(bot.token, "secret")
        self._health = ConnectionHealth(report, times or ReconnectTimes(), token=bot.token)
        self._check_seconds = check_seconds
        self._take_in: UpdateHandler | None = None
        self._in_order = asyncio.Lock()

    @property
    def url(self) -> str:
        """The address registered with Telegram."""
        return self._base + self._path

    @property
    def hooks(self) -> Sequence[WebhookRoute]:
        """Routes for the HTTP server."""
        return [
            WebhookRoute(path, self.receive, self.admits)
            for path in webhook_paths(self._bot.token, self._base)
        ]

    async def serve(self, take_in: UpdateHandler) -> None:
        """Keep the webhook registered until cancelled; updates go to `take_in`.

        If `take_in` raises NotAccepted, Telegram delivers the update again.
        """
        self._take_in = take_in
        try:
            await self._keep_registered()
        finally:
            self._take_in = None

    def admits(self, headers: Mapping[str, str]) -> bool:
        """Return whether the headers have the secret that Telegram was given."""
        told = headers.get(SECRET_HEADER, "")
        return hmac.compare_digest(told.encode(errors="replace"), self._secret.encode())

    async def receive(self, headers: Mapping[str, str], body: bytes) -> int:
        """Accept an update; return the HTTP status."""
        if not self.admits(headers):
            return 404
        try:
            update = json.loads(body)
        except (ValueError, RecursionError):
            return 400
        if not isinstance(update, dict):
            return 400
        # Telegram delivers one at a time, but after a timeout it may deliver another meanwhile.
        async with self._in_order:
            if self._take_in is None:  # starting or stopping: Telegram delivers again
                return 503
            try:
                await self._take_in(update)
            except NotAccepted as refusal:
                self._health.record_failure(refusal)
                return 503
        self._health.record_success()
        return 200

    async def _keep_registered(self) -> None:
        is_set = False
        while True:
            try:
                with translate_library_errors():
                    async with asyncio.timeout(ASK_SECONDS):
                        if not is_set:  # at each start, as Telegram does not report the secret
                            await self._register()
                            is_set = True
                        info = await self._bot.get_webhook_info()
                        if info.url != self.url:
                            await self._register()
            except (TelegramError, TimeoutError) as error:
                await asyncio.sleep(self._health.record_failure(error))
            else:
                self._health.record_success(self._describe_problem(info))
                await asyncio.sleep(self._check_seconds)

    async def _register(self) -> None:
        try:
            await self._bot.set_webhook(
                self.url,
                secret_token=self._secret,
                allowed_updates=ALLOWED_UPDATES,
                # Concurrent delivery could put a retried message behind later ones.
                max_connections=1,
                drop_pending_updates=False,
            )
        except BadRequest as refusal:
            raise AddressRefused(refusal.message) from refusal

    def _describe_problem(self, info: WebhookInfo) -> str:
        """Return what prevents delivery, or ""; Telegram keeps reporting an old error after a recovery."""
        if info.url != self.url:
            return REPLACED
        if not (info.pending_update_count and info.last_error_message):
            return ""
        return Translatable(
            "Telegram cannot reach telegram.webhook_url ({error}); updates waiting: {count}. Check the proxy, its "
            "certificate and the host name, or set telegram.mode to polling",
            error=info.last_error_message,
            count=info.pending_update_count,
        )


def webhook_paths(token: str, webhook_url: str) -> Sequence[str]:
    """Return the paths to serve: ours, with and without a prefix that a proxy may strip."""
    path = _make_path(token)
    return tuple(dict.fromkeys([path, urlsplit(webhook_url.rstrip("/") + path).path]))


def _make_path(token: str) -> str:
    return f"/telegram/{_derive_secret(token, 'path')[:40]}"


def _derive_secret(token: str, what: str) -> str:
    """Return a value that only holders of the token can compute, as 64 hexadecimal digits."""
    return hmac.digest(token.encode(), f"commonplace webhook {what}".encode(), "sha256").hex()
