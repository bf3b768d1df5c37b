"""Finds what the notes already say about the topics of a conversation."""

import asyncio
import logging
import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import zip_longest

from bot.conversations.core_note import count_visible_lines
from bot.models.protocol import Message, UserMessage
from bot.models.user_text import own_words
from bot.note_refs import format_note_ref
from bot.sanitize import one_line
from bot.time_budget import TimeBudget
from memory.attribution import attribute_passage
from memory.errors import MemoryFault, NoteMissing
from memory.memory import CORE_NOTE, Memory
from memory.search import SearchHit

log = logging.getLogger(__name__)

RELATED_CHARS = 4_000
"""For all passages together, with their references."""
QUERY_CHARS = 300
"""Characters of one search: more would mix too many topics …"""
QUERIES = 16
"""… but a long transcript gets hardly more searches than this."""
HITS = 8
"""Maximum results of one search."""
SEARCH_SECONDS = 20.0
"""For all searches of a flush; an embedding service may be slow."""

_SENTENCE_END = re.compile(r"(?<=[.!?;])\s+|(?<=[。！？；])|\n+")


@dataclass(frozen=True, slots=True)
class LineRange:
    """Lines of a note, 1-based and inclusive."""

    path: str
    first: int
    last: int


@dataclass(slots=True)
class SearchBudget(TimeBudget):
    """Time for the searches of one flush, shared by the pieces of its transcript."""

    left: float = field(default_factory=lambda: SEARCH_SECONDS)
    searches: int = 0
    """Number of searches so far."""
    is_over: bool = False


async def related_notes(
    memory: Memory,
    messages: Iterable[Message],
    *,
    core: str,
    leave_out: Collection[LineRange] = (),
    search_time: SearchBudget | None = None,
) -> str:
    """Search the notes for people's own words; return passages as Markdown, at most RELATED_CHARS; "" for none.

    `core`: text of the core note, whose visible beginning is left out, like `leave_out`. After a failed search
    (logged), or when `search_time` is over (logged once), the passages found so far are returned.
    """
    known = LineRange(CORE_NOTE, 1, count_visible_lines(core))
    found: list[Sequence[SearchHit]] = []
    search_time = search_time or SearchBudget()
    if search_time.is_over:
        return ""
    try:
        with search_time.spend() as seconds:
            async with asyncio.timeout(seconds):
                for query in queries_of(messages):  # one by one: without an index each reads all files
                    results = await memory.search(query, limit=HITS)
                    found.append(results.hits)
                    search_time.searches += 1
    except MemoryFault as fault:
        log.warning("could not search the notes before a flush: %s", one_line(str(fault)))
    except TimeoutError:
        search_time.is_over = True
        log.warning(
            "searching the notes before a flush took too long and was stopped after %d searches; some facts may be "
            "noted twice",
            search_time.searches,
        )
    # Interleaved by rank, so that every topic gets its share of the room.
    by_rank = [hit for row in zip_longest(*found) for hit in row if hit]
    fresh = (hit for hit in by_rank if not (_is_within(hit, known) or _touches(hit, leave_out)))
    return "\n\n".join(_fit_passages(fresh))


async def section_lines(memory: Memory, path: str, section: str) -> LineRange | None:
    """Return the lines of a section in a note; None if it is not there. Raises MemoryFault."""
    try:
        text = (await memory.get(path)).text
    except NoteMissing:
        return None
    at = text.find(section) if section else -1
    if at < 0:
        return None
    first = text.count("\n", 0, at) + 1
    return LineRange(path, first, first + section.count("\n"))


def queries_of(messages: Iterable[Message]) -> Sequence[str]:
    """Return people's own words as search queries."""
    said = (own_words(each) for each in messages if isinstance(each, UserMessage))
    sentences = [part.strip() for text in said for part in _SENTENCE_END.split(text) if part.strip()]
    most = max(QUERY_CHARS, sum(map(len, sentences)) // QUERIES + 1)
    queries: list[str] = []
    for sentence in sentences:
        if queries and len(queries[-1]) < most:
            queries[-1] += f"\n{sentence}"
        else:
            queries.append(sentence)
    return list(dict.fromkeys(queries))


def _is_within(hit: SearchHit, lines: LineRange) -> bool:
    return hit.path == lines.path and lines.first <= hit.line_start and hit.line_end <= lines.last


def _touches(hit: SearchHit, parts: Iterable[LineRange]) -> bool:
    return any(
        hit.path == each.path and hit.line_start <= each.last and each.first <= hit.line_end for each in parts
    )


def _fit_passages(hits: Iterable[SearchHit]) -> Iterable[str]:
    room, seen = RELATED_CHARS, set[tuple[str, int]]()
    for hit in hits:
        place = format_note_ref(hit.path, hit.line_start, hit.line_end)
        passage = f"{place}\n{attribute_passage(hit.snippet.strip(), hit.says)}"
        if (hit.path, hit.line_start) not in seen and len(passage) + 2 <= room:
            seen.add((hit.path, hit.line_start))
            room -= len(passage) + 2
            yield passage
