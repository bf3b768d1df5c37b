"""What a check comes to: well, well but, or not; and what to do about it."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from bot.sanitize import one_line, strip_controls
from memory.redaction import remove_secrets

Status = Literal["ok", "warn", "fail"]

MAX_CHARS = 600
"""Characters of what is told: of what others say, less is let through where it comes in."""


@dataclass(frozen=True, slots=True)
class Check:
    """One line of the report."""

    topic: str
    name: str
    status: Status
    """`warn`: it works, but somebody should look; `fail`: it does not work as it stands."""
    detail: str
    fix: str = ""
    """What to do about it; "" where nothing is to be done."""


@dataclass(frozen=True, slots=True)
class Topic:
    """What several checks are about."""

    name: str

    def ok(self, name: str, detail: str) -> Check:
        """All is well."""
        return Check(self.name, name, "ok", detail)

    def warn(self, name: str, detail: str, fix: str) -> Check:
        """It works, but."""
        return Check(self.name, name, "warn", detail, fix)

    def fail(self, name: str, detail: str, fix: str) -> Check:
        """It does not work as it stands."""
        return Check(self.name, name, "fail", detail, fix)


def sanitize_checks(checks: Iterable[Check], secrets: Sequence[str]) -> list[Check]:
    """The same without secrets and without what drives a terminal, whatever others have told us."""

    def tamed(text: str) -> str:
        # Controls first: within a secret they would hide it, and then be taken away.
        return one_line(remove_secrets(strip_controls(text), secrets), limit=MAX_CHARS)

    return [replace(check, detail=tamed(check.detail), fix=tamed(check.fix)) for check in checks]


def counted(count: int, noun: str) -> str:
    """Return "1 note", "2 notes"."""
    return f"{count} {noun}{'s'[: count != 1]}"


def format_list(names: Sequence[str], *, most: int = 5) -> str:
    """`a, b and 3 more`."""
    shown = ", ".join(names[:most])
    return f"{shown} and {len(names) - most} more" if len(names) > most else shown


def format_span(seconds: float) -> str:
    """A span of time as people say it: `40 minutes`, `3 days`."""
    for size, unit in ((86_400.0, "day"), (3600.0, "hour"), (60.0, "minute")):
        if seconds >= 2 * size or (seconds >= size and unit == "minute"):
            count = int(seconds // size)
            return f"{count} {unit}" if count == 1 else f"{count} {unit}s"
    return "1 second" if round(seconds) == 1 else f"{seconds:.0f} seconds"


def format_size(count: float) -> str:
    """Bytes as people say it: `12 MB`, `3.4 GB`."""
    for size, unit in ((1e9, "GB"), (1e6, "MB"), (1e3, "kB")):
        if count >= size:
            return f"{count / size:.1f} {unit}" if count < 10 * size else f"{count / size:.0f} {unit}"
    return f"{count:.0f} bytes"
