"""A bot's updates: kept until confirmed, fetched by getUpdates or delivered to its webhook."""

import asyncio
import time
from collections import deque
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

import aiohttp

from tests.fakes.bot_api.refusals import Refusal

KINDS = (
    "message", "edited_message", "channel_post", "edited_channel_post", "business_connection", "business_message",
    "edited_business_message", "deleted_business_messages", "message_reaction", "message_reaction_count",
    "inline_query", "chosen_inline_result", "callback_query", "shipping_query", "pre_checkout_query",
    "purchased_paid_media", "poll", "poll_answer", "my_chat_member", "chat_member", "chat_join_request",
    "chat_boost", "removed_chat_boost", "managed_bot",
)  # fmt: skip
DEFAULT_KINDS = frozenset(KINDS) - {"chat_member", "message_reaction", "message_reaction_count"}
MAX_POLL_SECONDS = 50
"""Maximum seconds of a long poll."""
MAX_PAUSE_SECONDS = 1.0
"""Maximum seconds between two webhook attempts; in Telegram they grow to minutes."""
FIRST_UPDATE = 700_000_001

WEBHOOK_ACTIVE = (
    "Conflict: can't use getUpdates method while webhook is active; "
    "use deleteWebhook to delete the webhook first"
)
OTHER_POLL = (
    "Conflict: terminated by other getUpdates request; make sure that only one bot instance is running"
)

Update = dict[str, Any]


@dataclass(slots=True)
class Webhook:
    """Where updates are delivered."""

    url: str
    secret: str = ""
    connections: int = 40
    last_error: str = ""
    last_error_time: float = 0.0


@dataclass(slots=True)
class Inbox:
    """Unconfirmed updates, in order."""

    clock: Callable[[], float] = time.time
    pending: deque[Update] = field(default_factory=deque)
    next_id: int = FIRST_UPDATE
    kinds: frozenset[str] = DEFAULT_KINDS
    webhook: Webhook | None = None
    delivered: list[int] = field(default_factory=list)
    """Ids of all updates handed out, once per delivery."""
    poll: asyncio.Future[None] | None = None
    """The waiting request."""
    slow: bool = False
    """Whether to slow down a bot that asks twice with one offset, as Telegram does."""
    conflict_pause: float = 3.0
    """Seconds for which the answer to a second consecutive conflict is delayed."""
    _next_conflict: float = 0.0
    _last_poll: tuple[int, float] = (-1, 0.0)
    _arrived: asyncio.Event = field(default_factory=asyncio.Event)

    def put(self, kind: str, content: Any) -> int | None:
        """Add an update if the bot wants this kind; return its id."""
        if kind not in self.kinds:
            return None
        return self.put_raw({kind: content})

    def put_raw(self, update: Update) -> int:
        """Add any update, wanted or not, with a new id unless it has one; return its id."""
        number = update.get("update_id", self.next_id)
        if isinstance(number, int):
            self.next_id = max(self.next_id, number + 1)
        self.pending.append({"update_id": number, **update})
        self._arrived.set()
        if self.poll and not self.poll.done():
            self.poll.set_result(None)
        return _number(self.pending[-1])

    def drop(self) -> None:
        self.pending.clear()

    def allow(self, kinds: Sequence[str] | None) -> None:
        """Store which kinds the bot wants; None for no change, empty for the default."""
        if isinstance(kinds, list | tuple):
            self.kinds = frozenset(kind for kind in kinds if kind in KINDS) or DEFAULT_KINDS

    # -- getUpdates ------------------------------------------------------------------------------------------

    async def get(self, *, offset: int = 0, limit: int = 100, timeout: int = 0) -> list[Update]:  # noqa: ASYNC109
        """Answer getUpdates."""
        if self.webhook:
            await self._conflict(WEBHOOK_ACTIVE)
        limit = min(max(limit, 1), 100)
        timeout = min(max(timeout, 0), MAX_POLL_SECONDS)
        now = time.monotonic()
        if self.slow and offset == self._last_poll[0] and now < self._last_poll[1] + 3:
            timeout = max(timeout, 3)
            limit = 1 if now < self._last_poll[1] + 0.5 else limit
        self._last_poll = (offset, now)
        if offset < 0:
            while len(self.pending) > -offset:
                self.pending.popleft()
        else:
            while self.pending and _number(self.pending[0]) < offset:
                self.pending.popleft()
        if not self.pending and timeout:
            await self._wait(timeout)
        batch = [self.pending[at] for at in range(min(limit, len(self.pending)))]
        self.delivered += [_number(update) for update in batch]
        return batch

    async def _wait(self, seconds: float) -> None:
        self.end_poll(OTHER_POLL)
        self.poll = mine = asyncio.get_running_loop().create_future()
        try:
            async with asyncio.timeout(seconds):
                await mine
            # Updates that arrive together go into one answer.
            await asyncio.sleep(0.001)
        except TimeoutError:
            pass
        except Refusal as refusal:
            await self._conflict(refusal.description)
        finally:
            if self.poll is mine:
                self.poll = None

    def end_poll(self, why: str) -> None:
        """Reject the waiting request, if any."""
        if self.poll and not self.poll.done():
            self.poll.set_exception(Refusal(409, why))

    async def _conflict(self, why: str) -> None:
        now = time.monotonic()
        if now < self._next_conflict:
            await asyncio.sleep(self.conflict_pause)
        else:
            self._next_conflict = now + self.conflict_pause
        raise Refusal(409, why)

    # -- webhook ---------------------------------------------------------------------------------------------

    def set_webhook(self, webhook: Webhook | None) -> None:
        if webhook:
            self.end_poll("Conflict: terminated by setWebhook request")
        self.webhook = webhook
        self._arrived.set()

    def webhook_json(self) -> dict[str, Any]:
        hook = self.webhook
        info: dict[str, Any] = {
            "url": hook.url if hook else "",
            "has_custom_certificate": False,
            "pending_update_count": len(self.pending),
        }
        if hook:
            info |= {"max_connections": hook.connections, "ip_address": "127.0.0.1"}
            if hook.last_error:
                info |= {"last_error_date": int(hook.last_error_time), "last_error_message": hook.last_error}
        if self.kinds != DEFAULT_KINDS:
            info["allowed_updates"] = [kind for kind in KINDS if kind in self.kinds]
        return info

    async def deliver_to_webhook(self, *, pause: float) -> None:
        """Post pending updates to the webhook forever: one chat's in order, several chats concurrently."""
        while True:
            await self._news()
            if self.webhook is None:
                continue
            async with aiohttp.ClientSession() as session, _Lanes(then=self._arrived.set) as lanes:
                while hook := self.webhook:
                    for update in list(self.pending):
                        lane = _lane(update)
                        if lane not in lanes.busy and len(lanes.busy) < hook.connections:
                            lanes.start(lane, self._deliver_one(session, hook, update, pause))
                    await self._news()

    async def _news(self) -> None:
        await self._arrived.wait()
        self._arrived.clear()

    async def _deliver_one(
        self, session: aiohttp.ClientSession, hook: Webhook, update: Update, pause: float
    ) -> None:
        """Post one update until it is accepted."""
        while self.webhook is hook and update in self.pending:
            self.delivered.append(_number(update))
            if wrong := await _post(session, hook, update):
                hook.last_error, hook.last_error_time = wrong, self.clock()
                await asyncio.sleep(pause)
                pause = min(2 * pause, MAX_PAUSE_SECONDS)
            elif update in self.pending:
                self.pending.remove(update)


def _number(update: Update) -> int:
    number = update["update_id"]
    return number if isinstance(number, int) else 0


def _lane(update: Update) -> str:
    """Return the queue of an update: updates of one chat are delivered in order."""
    for content in update.values():
        if isinstance(content, dict):
            where = content.get("chat") or (content.get("message") or {}).get("chat") or content.get("from")
            return str((where or {}).get("id", "")) if isinstance(where, dict) else ""
    return ""


async def _post(session: aiohttp.ClientSession, hook: Webhook, update: Update) -> str:
    """Post an update; return what went wrong, or ""."""
    headers = {"X-Telegram-Bot-Api-Secret-Token": hook.secret} if hook.secret else {}
    try:
        async with session.post(
            hook.url,
            json=update,
            headers=headers,
            timeout=aiohttp.ClientTimeout(total=60),
            allow_redirects=False,
        ) as response:
            await response.read()
            ok = 200 <= response.status < 300
            return "" if ok else f"Wrong response from the webhook: {response.status} {response.reason}"
    except (aiohttp.ClientError, TimeoutError, OSError) as error:
        return (
            "Connection refused"
            if isinstance(error, aiohttp.ClientConnectorError)
            else "Connection reset by peer"
        )


class _Lanes:
    """Tasks by name, one of each at a time; calls `then` when one has ended."""

    def __init__(self, *, then: Callable[[], None]) -> None:
        self.busy: dict[str, asyncio.Task[None]] = {}
        self._then = then

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        tasks = list(self.busy.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def start(self, name: str, work: Coroutine[Any, Any, None]) -> None:
        self.busy[name] = task = asyncio.create_task(work)
        task.add_done_callback(lambda _: self._end(name))

    def _end(self, name: str) -> None:
        del self.busy[name]
        self._then()
