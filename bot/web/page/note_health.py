"""What to fix in the notes, as a page that is made only when somebody opens it."""

from collections.abc import Sequence
from dataclasses import dataclass

from bot.memory_health import FindingGroup, describe_health, examine_memory, summarize_health
from bot.note_refs import parse_note_ref
from bot.web.page.urls import note_url
from memory.health.report import MAX_FINDINGS
from memory.memory import Memory

SHOWN_FIRST = 3
"""Findings of each kind that are shown at once; the others are folded."""


@dataclass(frozen=True, slots=True)
class HealthView:
    """The values of the template."""

    summary: str
    groups: Sequence[FindingGroup]

    def address(self, place: str) -> str:
        """Return the URL of a place of a finding."""
        found = parse_note_ref(place)
        return note_url(found.path, found.line)


async def examine_notes(memory: Memory) -> HealthView:
    """Examine the notes. Raises MemoryFault."""
    report = await examine_memory(memory)
    return HealthView(summarize_health(report), describe_health(report, most=MAX_FINDINGS))
