"""A time limit for each check, so that one slow service does not keep the others from being checked."""

import asyncio
from collections.abc import Awaitable

from bot.doctor.check import Check, Topic
from memory.disk import reason

NETWORK_SECONDS = 10.0
"""For each service that is asked; all of them are asked at the same time."""


async def run_with_timeout(
    topic: Topic, checks: Awaitable[list[Check]], *, name: str = "", seconds: float = NETWORK_SECONDS
) -> list[Check]:
    """Return what the checks found within `seconds`; if they fail or take longer, one check that says so.

    `name`: the service that is asked, for that check.
    """
    try:
        async with asyncio.timeout(seconds):
            return await checks
    except TimeoutError:
        detail = f"it took more than {seconds:g} s"
        return [topic.warn(name or "time", detail, "try again; check the network, or the disk")]
    except OSError as error:
        place = f" ({error.filename})" if error.filename else ""
        fix = "mend that; see also the lines about folders"
        return [topic.fail(name or "disk", f"{reason(error)}{place}", fix)]
    except Exception as error:  # noqa: BLE001 - the others are still worth telling
        detail = f"this check broke: {type(error).__name__}: {error}"
        return [topic.fail(name or "bug", detail, "please report it")]
