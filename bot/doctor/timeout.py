"""A timeout for each check, so that one slow service does not block the others."""

import asyncio
from collections.abc import Awaitable

from bot.doctor.check import Check, Topic
from memory.disk import reason

NETWORK_SECONDS = 10.0
"""Timeout for each service; all are asked at the same time."""


async def run_with_timeout(
    topic: Topic, checks: Awaitable[list[Check]], *, name: str = "", seconds: float = NETWORK_SECONDS
) -> list[Check]:
    """Return the checks, or one check that says so if they raise or take more than `seconds`.

    `name`: the name of that check, such as of the service that was asked.
    """
    try:
        async with asyncio.timeout(seconds):
            return await checks
    except TimeoutError:
        detail = f"it took more than {seconds:g} s"
        return [topic.warn(name or "time", detail, "try again; check the network, or the disk")]
    except OSError as error:
        place = f" ({error.filename})" if error.filename else ""
        fix = "fix that; see also the lines about folders"
        return [topic.fail(name or "disk", f"{reason(error)}{place}", fix)]
    except Exception as error:  # noqa: BLE001 - the other checks still matter
        detail = f"this check crashed: {type(error).__name__}: {error}"
        return [topic.fail(name or "bug", detail, "please report it")]
