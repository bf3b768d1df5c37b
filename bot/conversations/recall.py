"""The notes that a conversation begins with: the core note, and bullets of the latest logs."""

import logging
import re
from collections.abc import Callable
from datetime import datetime, timedelta

from bot.conversations.core_note import visible_part
from memory.attribution import shorten
from memory.errors import MemoryFault, NoteMissing
from memory.memory import CORE_NOTE, Memory

log = logging.getLogger(__name__)

LOG_CHARS = 2_000
"""For all logs together."""
LOG_DAYS = 14
"""Days within which a log counts as recent …"""
MAX_LOGS = 3
"""… and how many logs are used."""
BULLET_CHARS = 300

THE_REST = "memory_get shows it"
HEADING = "## {path}"

_BULLET = re.compile(r"(?:[-*+]|\d{1,9}[.)])\s+\S")
_TAG = re.compile(r"<(?=/?notes\b)", re.IGNORECASE)


async def recall(memory: Memory, now: Callable[[], datetime]) -> str:
    """Return the notes for a new conversation as Markdown, about 8,000 characters at most; "" if there are none."""
    parts = []
    if core := visible_part(await _read_note(memory, CORE_NOTE), the_rest=THE_REST):
        parts.append(f"{HEADING.format(path=CORE_NOTE)}\n\n{core}")
    room, today, logs = LOG_CHARS, now().date(), 0
    for age in range(LOG_DAYS):
        path = f"{today - timedelta(days=age):%Y-%m-%d}.md"
        bullets = _find_bullets(await _read_note(memory, path))
        kept: list[str] = []
        for bullet in reversed(bullets):
            if (room := room - len(bullet) - 1) < 0:
                break
            kept.insert(0, bullet)
        if kept:
            parts.append("\n\n".join([HEADING.format(path=path), "\n".join(kept)]))
        logs += bool(bullets)
        if room < 0 or logs == MAX_LOGS:
            break
    return escape_notes_tags("\n\n".join(parts))


def escape_notes_tags(notes: str) -> str:
    """Escape tags in notes that would end the block in the prompt that shows them."""
    return _TAG.sub("<\\\\", notes)


def _find_bullets(text: str) -> list[str]:
    """Return the bullets of a log with their indented lines, each cut to BULLET_CHARS."""
    bullets: list[list[str]] = []
    beneath = False
    for line in text.split("\n"):
        if _BULLET.match(line):
            bullets.append([line.rstrip()])
            beneath = True
        elif beneath and line.strip() and line[0].isspace():
            bullets[-1].append(line.rstrip())
        else:
            beneath = False
    texts = ("\n".join(bullet) for bullet in bullets)
    return [shorten(text, BULLET_CHARS) for text in texts]


async def _read_note(memory: Memory, path: str) -> str:
    try:
        return (await memory.get(path)).text
    except NoteMissing:
        return ""
    except MemoryFault as fault:
        log.warning("could not recall %s: %s", path, fault)
        return ""
