"""Asking Telegram for updates, over and over: what is not safe with us is asked for again."""

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

MOST_UPDATES = 100
"""In one answer; Telegram gives no more."""
FEWER = 8
"""Where an answer is too large, so many times fewer are asked for."""
LARGEST_NUMBER = 1 << 53
"""Of an update."""
POLL_SECONDS = 50
"""For which Telegram waits for something to tell; it allows no more."""
QUIET_SECONDS = 86_400.0
"""Without an update, until the numbers are taken to begin anew."""
ANSWER_SECONDS = 15.0
"""Beyond that, until a poll is taken for dead."""

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
    waits: ReconnectTimes | None = None,
    quiet: float = QUIET_SECONDS,
) -> None:
    """Receive until cancelled. Every update goes to `take_in`; NotAccepted from there means that it is to come again.

    Updates of one chat are taken in one after the other, different chats side by side.
    """
    condition = ConnectionHealth(report, waits or ReconnectTimes(), token=bot.token)
    offset: int | None = None
    heard_at = time.monotonic()
    webhook_is_gone = False
    # Where it is not known whether Telegram is there, it is not to take its time to tell: nobody would know that all
    # is well before somebody writes. Not after a conflict: two programs would hardly meet, and nobody be told.
    patience = 0
    most = MOST_UPDATES
    while True:
        try:
            # One limit for it all: a connection that is dead, or that brings a byte now and then, ends with it.
            with translate_library_errors():
                async with asyncio.timeout(seconds + grace):
                    soon = condition.answer_seconds(grace)
                    if not webhook_is_gone:
                        # What waits is not dropped: people wrote it while we were away.
                        await bot.delete_webhook(drop_pending_updates=False, read_timeout=soon)
                        webhook_is_gone = True
                    silence = patience + grace if patience else soon
                    updates = await _get_updates(bot, offset, most=most, seconds=patience, silence=silence)
            if updates:
                heard_at = time.monotonic()
            elif time.monotonic() - heard_at > quiet:
                # After a quiet week Telegram numbers anew, and an old offset would confirm what comes then unseen. All
                # before an empty answer is confirmed, so nothing comes twice without one.
                offset = None
            before = offset
            offset, refusal = await _handle_all(updates, take_in, offset)
            if refusal:
                raise refusal
            if updates and before is not None and (offset or 0) <= before:
                raise TelegramError("it tells again and again what was confirmed")
            if len(updates) < most:
                most = MOST_UPDATES
        except AnswerTooLarge as error:
            if most > 1:
                most = max(1, most // FEWER)
                continue
            number = _number_in(error.beginning)
            if number is None or number < (offset or 0):
                await asyncio.sleep(condition.record_failure(error))
                continue
            log.error("Telegram: update %s is too large to be read and is left out", number)
            offset, most = number + 1, MOST_UPDATES
        except (TelegramError, TimeoutError, NotAccepted) as error:
            if isinstance(error, Conflict) and "webhook" in str(error).lower():
                webhook_is_gone = False
            patience = seconds if isinstance(error, Conflict) else 0
            await asyncio.sleep(condition.record_failure(error))
        else:
            condition.record_success()
            patience = seconds


async def _get_updates(
    bot: Bot, offset: int | None, *, most: int, seconds: int, silence: float
) -> Sequence[object]:
    """Updates as they come: the library's own get_updates gives none where it cannot read one of them."""
    updates: object = await bot.do_api_request(
        # Spelt so, the library asks on its connection for polling, and does not warn of its method of that name.
        "getUpdates_",
        {
            "offset": offset,
            "limit": most,
            "timeout": seconds,
            "allowed_updates": list(ALLOWED_UPDATES),
        },
        read_timeout=silence,
    )
    if not isinstance(updates, list):
        raise TelegramError("it answered with something else than a list of updates")
    return updates


async def _handle_all(
    updates: Sequence[object], take_in: UpdateHandler, offset: int | None
) -> tuple[int | None, NotAccepted | None]:
    """Take in what came; tell the offset from which on to go on, and what was wrong where not all is safe."""
    if not updates:
        return offset, None
    raw = [update if isinstance(update, Mapping) else {"update": update} for update in updates]
    refused: dict[int, NotAccepted] = {}

    async def take_in_order(lane: Sequence[int]) -> None:
        for at in lane:
            try:
                await take_in(raw[at])
            except NotAccepted as refusal:
                refused[at] = refusal
                return

    async with asyncio.TaskGroup() as group:
        for lane in _group_by_chat(raw):
            group.create_task(take_in_order(lane))
    first = min(refused, default=len(raw))
    # Asked for what follows a number below 0, Telegram would drop all that waits.
    numbers = [
        number
        for update in raw[:first]
        if type(number := update.get("update_id")) is int and 0 <= number <= LARGEST_NUMBER
    ]
    if not numbers and not refused:
        raise TelegramError("it gave updates without numbers")
    return max(numbers, default=-1) + 1 or offset, refused.get(first)


def _number_in(beginning: bytes) -> int | None:
    """The number of an update, of which only the beginning was read."""
    found = _NUMBER.search(beginning)
    return int(found[1]) if found else None


def _group_by_chat(updates: Sequence[RawUpdate]) -> list[list[int]]:
    """Which updates come one after the other, by their places: those of a chat, and all where a chat moves."""
    lanes: dict[object, list[int]] = {}
    for at, update in enumerate(updates):
        inside = next((value for value in update.values() if isinstance(value, Mapping)), {})
        if "migrate_to_chat_id" in inside or "migrate_from_chat_id" in inside:
            return [list(range(len(updates)))]
        shown = inside.get("message")
        chat = inside.get("chat") or (shown.get("chat") if isinstance(shown, Mapping) else None)
        lanes.setdefault(str(chat.get("id")) if isinstance(chat, Mapping) else "", []).append(at)
    return list(lanes.values())
