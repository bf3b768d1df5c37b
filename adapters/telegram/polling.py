"""Poll Telegram for updates; those not stored yet are requested again."""

import asyncio
import logging
import re
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

from telegram import Bot
from telegram.error import Conflict, TelegramError

from adapters.telegram.connection_health import ConnectionHealth, ReconnectTimes, translate_library_errors
from adapters.telegram.http_request import AnswerTooLarge
from adapters.telegram.incoming import ALLOWED_UPDATES
from bot.messages import ChannelHealth, NotAccepted

log = logging.getLogger(__name__)

MAX_UPDATES = 100
"""Telegram's maximum per answer."""
UPDATES_DIVISOR = 8
"""Divisor of the number of requested updates after an answer that was too large."""
MAX_NUMBER = 1 << 53
"""Maximum update id."""
POLL_SECONDS = 50
"""Telegram's maximum for long polling."""
QUIET_SECONDS = 86_400.0
"""Seconds without an update after which ids may restart."""
ANSWER_SECONDS = 15.0
"""Additional seconds until a poll counts as dead."""

_NUMBER = re.compile(rb'"update_id"\s*:\s*(\d{1,15})\b')

RawUpdate = Mapping[str, Any]
UpdateHandler = Callable[[RawUpdate], Awaitable[object]]


async def poll(
    bot: Bot,
    take_in: UpdateHandler,
    *,
    report: Callable[[ChannelHealth], None],
    seconds: int = POLL_SECONDS,
    grace: float = ANSWER_SECONDS,
    times: ReconnectTimes | None = None,
    quiet: float = QUIET_SECONDS,
) -> None:
    """Receive until cancelled; every update goes to `take_in`, and is requested again if that raises NotAccepted.

    Updates of one chat are handled in order, different chats concurrently.
    """
    condition = ConnectionHealth(report, times or ReconnectTimes(), token=bot.token)
    offset: int | None = None
    heard_at = time.monotonic()
    webhook_is_gone = False
    # At the start and after a failure a poll returns at once, so that the health is known before somebody
    # writes. Not after a conflict: short polls of two programs rarely meet, and nobody would learn of it.
    wait_seconds = 0
    most = MAX_UPDATES
    while True:
        try:
            # One limit for everything also ends connections that are dead or send single bytes.
            with translate_library_errors():
                async with asyncio.timeout(seconds + grace):
                    soon = condition.answer_seconds(grace)
                    if not webhook_is_gone:
                        # Keep the updates that waited: people sent them while we were offline.
                        await bot.delete_webhook(drop_pending_updates=False, read_timeout=soon)
                        webhook_is_gone = True
                    silence = wait_seconds + grace if wait_seconds else soon
                    updates = await _get_updates(
                        bot, offset, limit=most, seconds=wait_seconds, silence=silence
                    )
            if updates:
                heard_at = time.monotonic()
            elif time.monotonic() - heard_at > quiet:
                # After a quiet week Telegram restarts its ids, and an old offset would confirm new updates
                # unseen. Everything before an empty answer is confirmed, so nothing arrives twice.
                offset = None
            before = offset
            offset, refusal = await _handle_all(updates, take_in, offset)
            if refusal:
                raise refusal
            if updates and before is not None and (offset or 0) <= before:
                raise TelegramError("it keeps sending confirmed updates")
            if len(updates) < most:
                most = MAX_UPDATES
        except AnswerTooLarge as error:
            if most > 1:
                most = max(1, most // UPDATES_DIVISOR)
                continue
            number = _number_in(error.beginning)
            if number is None or number < (offset or 0):
                await asyncio.sleep(condition.record_failure(error))
                continue
            log.error("Telegram: update %s is too large and is skipped", number)
            offset, most = number + 1, MAX_UPDATES
        except (TelegramError, TimeoutError, NotAccepted) as error:
            if isinstance(error, Conflict) and "webhook" in str(error).lower():
                webhook_is_gone = False
            wait_seconds = seconds if isinstance(error, Conflict) else 0
            await asyncio.sleep(condition.record_failure(error))
        else:
            condition.record_success()
            wait_seconds = seconds


async def _get_updates(
    bot: Bot, offset: int | None, *, limit: int, seconds: int, silence: float
) -> Sequence[object]:
    """Return raw updates; the library's own get_updates fails if it cannot parse one of them."""
    updates: object = await bot.do_api_request(
        # The spelling makes the library use its polling connection and not warn about its own method.
        "getUpdates_",
        {
            "offset": offset,
            "limit": limit,
            "timeout": seconds,
            "allowed_updates": list(ALLOWED_UPDATES),
        },
        read_timeout=silence,
    )
    if not isinstance(updates, list):
        raise TelegramError("its answer was not a list of updates")
    return updates


async def _handle_all(
    updates: Sequence[object], take_in: UpdateHandler, offset: int | None
) -> tuple[int | None, NotAccepted | None]:
    """Handle updates; return the next offset, and the first refusal if not all are stored."""
    if not updates:
        return offset, None
    raw = [update if isinstance(update, Mapping) else {"update": update} for update in updates]
    refused: dict[int, NotAccepted] = {}

    async def take_in_order(queue: Sequence[int]) -> None:
        for at in queue:
            try:
                await take_in(raw[at])
            except NotAccepted as refusal:
                refused[at] = refusal
                return

    async with asyncio.TaskGroup() as group:
        for queue in _group_by_chat(raw):
            group.create_task(take_in_order(queue))
    first = min(refused, default=len(raw))
    # With an offset of 0 or less Telegram would drop all pending updates.
    numbers = [
        number
        for update in raw[:first]
        if type(number := update.get("update_id")) is int and 0 <= number <= MAX_NUMBER
    ]
    if not numbers and not refused:
        raise TelegramError("it sent updates without ids")
    return max(numbers, default=-1) + 1 or offset, refused.get(first)


def _number_in(beginning: bytes) -> int | None:
    """Return the update's id from the start of its JSON."""
    found = _NUMBER.search(beginning)
    return int(found[1]) if found else None


def _group_by_chat(updates: Sequence[RawUpdate]) -> list[list[int]]:
    """Return the indexes of updates that must be handled in order: per chat, or all if a chat migrates."""
    queues: dict[object, list[int]] = {}
    for at, update in enumerate(updates):
        inside = next((value for value in update.values() if isinstance(value, Mapping)), {})
        if "migrate_to_chat_id" in inside or "migrate_from_chat_id" in inside:
            return [list(range(len(updates)))]
        shown = inside.get("message")
        chat = inside.get("chat") or (shown.get("chat") if isinstance(shown, Mapping) else None)
        queues.setdefault(str(chat.get("id")) if isinstance(chat, Mapping) else "", []).append(at)
    return list(queues.values())
