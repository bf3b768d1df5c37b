"""Where a file that is imported goes among the notes."""

import re
from collections.abc import Callable, Collection
from dataclasses import dataclass
from datetime import date
from typing import Literal

from memory.dates import CORE_NOTE

_DAY = re.compile(r"(\d{4}-\d\d-\d\d)\.md")
_OPENCLAW_FILES = {
    "AGENTS.md",
    "SOUL.md",
    "USER.md",
    "IDENTITY.md",
    "TOOLS.md",
    "HEARTBEAT.md",
    "BOOTSTRAP.md",
    "BOOT.md",
    CORE_NOTE,
}
_MEMORY = "memory/"


@dataclass(frozen=True, slots=True)
class NoteTarget:
    """Where a file goes."""

    path: str
    kind: Literal["file", "lines"]
    """`lines`: what is missing is added to the note, if there is one."""


Layout = Callable[[str], NoteTarget | str]
"""Return where a file goes, or why it is left out."""


def is_openclaw(paths: Collection[str]) -> bool:
    """Return whether these are the files of an OpenClaw workspace."""
    known = _OPENCLAW_FILES.intersection(paths)
    has_memory = any(path.startswith(_MEMORY) for path in paths)
    return len(known) >= 2 or (bool(known) and has_memory)


def place_markdown(path: str) -> NoteTarget | str:
    """Place a file of any folder: under its own path; MEMORY.md and daily logs join ours."""
    return NoteTarget(path, "lines" if path == CORE_NOTE or is_day(path) else "file")


def place_openclaw(path: str) -> NoteTarget | str:
    """Place a file of an OpenClaw workspace: what it remembers comes, what instructs it stays."""
    if path.startswith(_MEMORY):
        return place_markdown(path.removeprefix(_MEMORY))
    if path in {CORE_NOTE, CORE_NOTE.lower()}:
        return NoteTarget(CORE_NOTE, "lines")
    if path == "USER.md":
        return NoteTarget(path, "file")
    if path in _OPENCLAW_FILES:
        return "it holds OpenClaw's own instructions"
    return "it is not part of OpenClaw's memory"


LAYOUTS: dict[str, Layout] = {"openclaw": place_openclaw, "markdown": place_markdown}


def is_day(path: str) -> bool:
    """Return whether this is the path of a daily log."""
    found = _DAY.fullmatch(path)
    try:
        return bool(found and date.fromisoformat(found[1]))
    except ValueError:
        return False
