"""A check: its result (ok, warn or fail) with details and a fix, and the time that it may take."""

import asyncio
from collections.abc import Awaitable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from bot.sanitize import one_line, strip_controls
from memory.disk import reason
from memory.redaction import remove_secrets

Status = Literal["ok", "warn", "fail"]

MAX_CHARS = 600
"""Maximum length of a detail or fix. Texts from outside are cut shorter where they come in."""
NETWORK_SECONDS = 10.0
"""Timeout for each service; all are asked at the same time."""


@dataclass(frozen=True, slots=True)
class Check:
    """One line of the report."""

    topic: str
    name: str
    status: Status
    """`warn`: it works, but needs attention; `fail`: it does not work."""
    detail: str
    fix: str = ""
    """What to do about it; "" for nothing."""


@dataclass(frozen=True, slots=True)
class Topic:
    """A group of checks."""

    name: str

    def ok(self, name: str, detail: str) -> Check:
        """Return a check that passed."""
        return Check(self.name, name, "ok", detail)

    def warn(self, name: str, detail: str, fix: str) -> Check:
        """Return a check of something that works, but needs attention."""
        return Check(self.name, name, "warn", detail, fix)

    def fail(self, name: str, detail: str, fix: str) -> Check:
        """Return a check of something that does not work."""
        return Check(self.name, name, "fail", detail, fix)


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


def sanitize_checks(checks: Iterable[Check], secrets: Sequence[str]) -> list[Check]:
    """Return the checks without secrets and terminal control sequences."""

    def sanitize(text: str) -> str:
        # Controls first: inside a secret they would hide it from the redaction.
        return one_line(remove_secrets(strip_controls(text), secrets), limit=MAX_CHARS)

    return [replace(check, detail=sanitize(check.detail), fix=sanitize(check.fix)) for check in checks]


def format_list(names: Sequence[str], *, limit: int = 5) -> str:
    """Return `a, b and 3 more`."""
    shown = ", ".join(names[:limit])
    return f"{shown} and {len(names) - limit} more" if len(names) > limit else shown
