"""Searches the notes, what was said in chats, or both; falls back to chats for what the notes cannot answer."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import date
from typing import Literal

from bot import phrases
from bot.conversations.message_order import only_asks, repeats_question
from bot.conversations.search import ConversationHit, ConversationSearch, Moment
from bot.sanitize import one_line
from memory.errors import MemoryFault
from memory.forgetting import WordsToForget
from memory.memory import Memory
from memory.ranking.query import BEGINNING_WEIGHT, NamedTime
from memory.ranking.term_counter import TermCounter
from memory.search import SearchHit, SearchResults
from memory.search_query import read_query
from memory.tokenizer import Term, tokenize

log = logging.getLogger(__name__)

SearchSource = Literal["notes", "conversations", "all"]

FindChats = Callable[[], Awaitable[Collection[str] | None]]
"""Returns the chats (`channel:name`) that whoever asks may search; None for all."""

UNASKED_SECONDS = 5.0
"""How long a search that nobody asked for may take, such as while conversations are indexed for the first time."""

MAX_UNASKED = 3
"""Maximum results from conversations if the notes have some, too."""

MAX_REMOVED = 200
"""How many of the latest removals from the notes are compared with what was said."""

_QUICK_QUERY = 300
"""Longer queries are not searched for times, which takes long."""


@dataclass(frozen=True, slots=True)
class FoundPassages:
    """What a search found in each source, best first."""

    notes: SearchResults
    conversations: tuple[ConversationHit, ...] = ()
    is_unasked: bool = False
    """Whether conversations were searched only because the notes did not tell."""
    notice: str = ""
    """Why conversations could not be searched; empty if they could, or if nobody asked for that."""

    def by_score(self) -> list[SearchHit | ConversationHit]:
        """Return the hits of both in one order, best first; of equal ones those of notes first."""
        return sorted([*self.notes.hits, *self.conversations], key=lambda hit: hit.score, reverse=True)


async def search_sources(
    memory: Memory,
    conversations: ConversationSearch | None,
    query: str,
    *,
    source: SearchSource | None,
    chats: FindChats,
    today: date,
    limit: int | None = None,
    before: Moment | None = None,
    within: Collection[str] | None = None,
) -> FoundPassages:
    """Search a source. Without one, search the notes, and conversations too if these have more of what is asked for.

    `conversations`: None if they may not be searched. `before`: see `ConversationSearch.search`. `within`: the
    top-level folders of notes, see `Memory.search`. Raises `MemoryFault`; with "all", only if the notes cannot be
    searched.
    """
    if source == "conversations":
        if conversations is None:
            return FoundPassages(SearchResults(query, ()), notice=phrases.CONVERSATIONS_OFF)
        found = await conversations.search(query, chats=await chats(), limit=limit, before=before)
        return FoundPassages(SearchResults(query, (), terms=found.terms), found.hits, notice=found.notice)
    notes = await memory.search(query, limit=limit, within=within)
    if source == "notes" or conversations is None:
        off = phrases.CONVERSATIONS_OFF if source == "all" else ""
        return FoundPassages(notes, notice=off)
    if source == "all":
        try:
            found = await conversations.search(query, chats=await chats(), limit=limit, before=before)
        except MemoryFault as fault:
            return FoundPassages(notes, notice=fault.text)
        return _cut(FoundPassages(notes, found.hits, notice=found.notice), limit)
    times = read_query(query, today)[1] if len(query) <= _QUICK_QUERY else []
    asked = _find_asked(notes.terms, times)
    best = max(
        (_share(asked, f"{hit.path}\n{hit.heading}\n{hit.snippet}") for hit in notes.hits), default=0.0
    )
    if notes.hits and (best == 1.0 or not asked):
        return FoundPassages(notes)
    hits = await _search_unasked(memory, conversations, query, chats=chats, limit=limit, before=before)
    # What somebody asked before tells nothing that notes do not. Neighbours may be hits without any of the words.
    is_told = any(
        _share(asked, f"{hit.who}\n{hit.snippet}") > best or (not best and _is_of_day(hit, times))
        for hit in hits
        if not (notes.hits and only_asks(hit.snippet))
    )
    if not is_told:
        return FoundPassages(notes)
    hits = hits[:MAX_UNASKED] if notes.hits else hits
    return FoundPassages(notes, tuple(hits), is_unasked=bool(hits))


async def _search_unasked(
    memory: Memory,
    conversations: ConversationSearch,
    query: str,
    *,
    chats: FindChats,
    limit: int | None,
    before: Moment | None,
) -> Sequence[ConversationHit]:
    try:
        async with asyncio.timeout(UNASKED_SECONDS):
            found = await conversations.search(query, chats=await chats(), limit=limit, before=before)
            hits = [hit for hit in found.hits if not repeats_question(hit.snippet, found.terms)]
            return await _leave_out_removed(memory, hits)
    except TimeoutError:
        log.warning("searching conversations took too long; only the notes were searched")
        return ()
    except MemoryFault as fault:
        log.warning("could not search conversations: %s", one_line(str(fault)))
        return ()


async def _leave_out_removed(memory: Memory, hits: Sequence[ConversationHit]) -> Sequence[ConversationHit]:
    """Leave out what has been removed from the notes since: it was wrong, or nobody should know it."""
    if not hits:
        return hits
    removed = await memory.read_removed(limit=MAX_REMOVED)

    def leave_out() -> list[ConversationHit]:
        words = WordsToForget("", (line for text in removed for line in text.split("\n")))
        return [hit for hit in hits if not words.is_in(hit.snippet)]

    return await asyncio.to_thread(leave_out)


def _cut(found: FoundPassages, limit: int | None) -> FoundPassages:
    """Return the best hits of both, as many as were asked for."""
    best = found.by_score()[:limit]
    return replace(
        found,
        notes=replace(found.notes, hits=tuple(hit for hit in best if isinstance(hit, SearchHit))),
        conversations=tuple(hit for hit in best if isinstance(hit, ConversationHit)),
    )


def _is_of_day(hit: ConversationHit, times: Iterable[NamedTime]) -> bool:
    """Return whether something was said within one of the times, which say when they begin and end."""
    return any(time.contains(hit.day) for time in times if not time.is_open)


def _find_asked(terms: Sequence[Term], times: Iterable[NamedTime]) -> Sequence[Term]:
    """Return the terms that an answer should contain: all but those that name a time."""
    named = {term for time in times for term in time.terms}
    return [term for term in terms if term not in named]


def _share(terms: Sequence[Term], text: str) -> float:
    """Return the share of the terms that stand in a text, 0 to 1; the beginning of a word counts less."""

    def weigh(some: Collection[Term]) -> float:
        return sum(BEGINNING_WEIGHT if term.is_beginning else 1.0 for term in some)

    return weigh(TermCounter(terms).count(tokenize(text)).keys()) / weigh(terms) if terms else 0.0
