"""The result of a check: ok, warn or fail, with details and a fix."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from bot.sanitize import one_line, strip_controls
from memory.redaction import remove_secrets

Status = Literal["ok", "warn", "fail"]

MAX_CHARS = 600
"""Maximum length of a detail or fix. Texts from outside are cut shorter where they come in."""


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


def sanitize_checks(checks: Iterable[Check], secrets: Sequence[str]) -> list[Check]:
    """Return the checks without secrets and terminal control sequences."""

    def sanitize(text: str) -> str:
        # Controls first: inside a secret they would hide it from the redaction.
        return one_line(remove_secrets(strip_controls(text), secrets), limit=MAX_CHARS)

    return [replace(check, detail=sanitize(check.detail), fix=sanitize(check.fix)) for check in checks]


def counted(count: int, noun: str) -> str:
    """Return "1 note", "2 notes"."""
    return f"{count} {noun}{'s'[: count != 1]}"


def format_list(names: Sequence[str], *, most: int = 5) -> str:
    """Return `a, b and 3 more`."""
    shown = ", ".join(names[:most])
    return f"{shown} and {len(names) - most} more" if len(names) > most else shown
