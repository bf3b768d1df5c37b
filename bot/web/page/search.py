"""The page that searches the notes and conversations."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import date
from functools import partial
from typing import ClassVar, overload

from aiohttp import web

from bot import phrases
from bot.conversations.search import ConversationHit
from bot.fact_history import describe_histories
from bot.hit_source import describe_says
from bot.language.text import join_sentences
from bot.note_refs import format_note_ref
from bot.said_in_chats import name_chat
from bot.sanitize import one_line
from bot.search_sources import FoundPassages
from bot.timeparse import day_in_words
from bot.visible_names import escape_path
from bot.web.context import services_key
from bot.web.conversations import search_over_http
from bot.web.page.highlight import HighlightPiece, highlight
from bot.web.page.panel import load_panel
from bot.web.page.rendering import page_response
from bot.web.page.search_filters import SEARCH, SearchFilters, read_filters
from bot.web.page.urls import message_url, note_url, page_number
from memory.search import Neighbour, SearchHit
from memory.tokenizer import Term, parse_query

MAX_QUERY_CHARS = 1000
"""A longer query is cut."""
MAX_PASSAGES = 25
"""The most that one page shows, and that are counted; with more, it would weigh more than 60 kB."""
MORE_PASSAGES = 10
"""How many more each "more" shows."""
MAX_DATED = 200
"""The best passages of which those are chosen that were told on wanted days: the index knows no days to search by."""
SEARCH_SECONDS = 30.0
"""Timeout of a search, which may wait for a remote embedding provider."""


@dataclass(frozen=True, slots=True)
class PassageView:
    """One result."""

    is_note: ClassVar[bool] = True
    place: str
    address: str
    heading: tuple[HighlightPiece, ...]
    pieces: tuple[HighlightPiece, ...]
    score: float
    """0 to 1, like the next two."""
    by_meaning: float | None
    """None if meaning was not compared."""
    by_words: float
    history: str
    """Since when it is true and what was told before, or where it was changed; "" if neither is known."""
    says: str
    """Whose words it is, if the text does not say that itself; "" for its writer's own."""


@dataclass(frozen=True, slots=True)
class SaidView:
    """A message of a conversation that was found."""

    is_note: ClassVar[bool] = False
    chat: str
    address: str
    """Of the message in its conversation."""
    day: str
    who: str
    """"" if unknown."""
    pieces: tuple[HighlightPiece, ...]
    score: float


@dataclass(frozen=True, slots=True)
class NeighbourView:
    """A note that a link ties to a result."""

    path: str
    address: str
    """Of the note, or of the line in it with the link."""
    place: str
    """Where the link is."""
    place_address: str
    is_linked: bool
    """True if a result links to it, False if it links to a result."""


@dataclass(frozen=True, slots=True)
class SearchView:
    """The results of a search, best first."""

    query: str
    filters: SearchFilters
    hits: tuple[PassageView | SaidView, ...] = ()
    """Those to show."""
    total: int = 0
    """How many were found, up to `MAX_PASSAGES`."""
    notice: str = ""
    """Why the search was incomplete."""
    neighbours: tuple[NeighbourView, ...] = ()

    @property
    def by_words_alone(self) -> bool:
        """Whether no passage was compared by meaning."""
        passages = [each for each in self.hits if isinstance(each, PassageView)]
        return bool(passages) and all(each.by_meaning is None for each in passages)

    @property
    def is_bound(self) -> bool:
        """Whether there may be more than are counted."""
        return self.total == MAX_PASSAGES

    @property
    def about_dates(self) -> str:
        """How far dates are compared; "" if none are set."""
        return phrases.WEB_SEARCH_DATES.format(count=MAX_DATED) if self.filters.has_dates else ""

    @property
    def more(self) -> int:
        """How many more the next page shows; 0 if all are shown."""
        return min(self.total - len(self.hits), MORE_PASSAGES)

    @property
    def more_address(self) -> str:
        """Address of the same search with more results, at the first one that is not shown yet."""
        shown = len(self.hits)
        return f"{self.filters.address(self.query, limit=shown + self.more)}#hit-{shown + 1}"

    @property
    def without_filters(self) -> str:
        """Address of the same search in all notes of all days."""
        return SearchFilters(self.filters.source).address(self.query)

    @property
    def everywhere(self) -> str:
        """Address of the same search with conversations too."""
        return replace(self.filters, source="all").address(self.query)


def add_search(app: web.Application) -> None:
    """Add the page."""
    app.router.add_get(SEARCH, _search_page)


async def _search_page(request: web.Request) -> web.Response:
    query, filters = read_query(request), read_filters(request)
    searched = await load_panel(
        run_search(request), timeout_seconds=SEARCH_SECONDS, late=phrases.WEB_SEARCH_TOOK_LONG
    )
    folders = await load_panel(request.app[services_key].memory.folder_names())
    return page_response(
        request,
        "search.html",
        here=SEARCH,
        query=query,
        source=filters.source,
        filters=filters,
        folders=sorted({*(folders.shown or ()), *(filters.within or ())}),
        searched=searched,
    )


def read_query(request: web.Request) -> str:
    """Return the query; "" for none."""
    return request.query.get("q", "").strip()[:MAX_QUERY_CHARS]


def parse_limit(request: web.Request) -> int | None:
    """Return the wanted number of passages; None if missing or invalid."""
    return min(page_number(request.query.get("limit", ""), least=0), MAX_PASSAGES) or None


async def run_search(request: web.Request) -> SearchView:
    """Run the search of a request. Raises MemoryFault.

    Two searches: the first results are those of a search everywhere else, and those of a wider search follow. One wide
    search would not begin with them, since how results are spread over notes depends on how many are wanted (for 13 of
    27 queries it began differently), and "see also" would be about notes that are not shown. The query's vector is made
    once; the second search finds it in the cache. So the order stays, however many are shown.
    """
    query, filters = read_query(request), read_filters(request)
    if not query:
        return SearchView("", filters)
    if filters.is_contradictory:
        return SearchView(query, filters, notice=phrases.WEB_SEARCH_NO_DAY)
    services = request.app[services_key]
    usual = services.settings.memory.search.final_top_k
    search = partial(search_over_http, services, query, source=filters.source, within=filters.within)
    first = await search(limit=usual)
    wide = await search(limit=max(usual, MAX_DATED if filters.has_dates else MAX_PASSAGES))
    hits = merge_hits(_in_order(first, filters), _in_order(wide, filters))
    wanted = [hit for hit in hits if filters.contains(_day_of(hit))][:MAX_PASSAGES]
    shown = wanted[: parse_limit(request) or usual]
    return SearchView(
        query,
        filters,
        hit_views(query, shown),
        len(wanted),
        join_sentences([first.notes.notice, first.notice]),
        () if filters.has_dates else tuple(map(_neighbour_view, first.notes.neighbours)),
    )


Hit = SearchHit | ConversationHit


def _in_order(found: FoundPassages, filters: SearchFilters) -> Sequence[Hit]:
    """Return the hits, best first; those of one source keep its order, which is not only by score."""
    return found.by_score() if filters.source == "all" else [*found.notes.hits, *found.conversations]


def merge_hits(first: Sequence[Hit], more: Sequence[Hit]) -> list[Hit]:
    """Return the first hits, and then those of `more` that are not among them, not even in part."""
    taken = {part for hit in first for part in _parts_of(hit)}
    return [*first, *(hit for hit in more if taken.isdisjoint(_parts_of(hit)))]


def _parts_of(hit: Hit) -> Iterator[tuple[str, int]]:
    """Yield the lines of a passage, or what stands for a message."""
    if isinstance(hit, SearchHit):
        yield from ((hit.path, line) for line in range(hit.line_start, hit.line_end + 1))
    else:
        yield f"message {hit.ref}", 0


def _day_of(hit: Hit) -> date | None:
    return hit.told if isinstance(hit, SearchHit) else hit.day


@overload
def hit_views(query: str, hits: Sequence[ConversationHit]) -> tuple[SaidView, ...]: ...
@overload
def hit_views(query: str, hits: Sequence[Hit]) -> tuple[PassageView | SaidView, ...]: ...
def hit_views(query: str, hits: Sequence[Hit]) -> tuple[PassageView | SaidView, ...]:
    """Return the hits with query words highlighted."""
    terms = parse_query(query)
    passages = [hit for hit in hits if isinstance(hit, SearchHit)]
    histories = iter(describe_histories(passages))
    return tuple(
        _passage_view(hit, terms, next(histories)) if isinstance(hit, SearchHit) else _said_view(hit, terms)
        for hit in hits
    )


def _said_view(hit: ConversationHit, terms: list[Term]) -> SaidView:
    return SaidView(
        chat=name_chat(hit),
        address=message_url(*map(int, hit.ref.split(":"))),
        day=day_in_words(hit.day),
        who=one_line(hit.who),
        pieces=tuple(highlight(hit.snippet.strip("\n"), terms)),
        score=hit.score,
    )


def _neighbour_view(one: Neighbour) -> NeighbourView:
    is_linked = one.direction == "to"
    return NeighbourView(
        path=escape_path(one.path),
        address=note_url(one.path) if is_linked else note_url(one.path, one.line),
        place=f"{escape_path(one.hit)}:{one.line}" if is_linked else escape_path(one.hit),
        place_address=note_url(one.hit, one.line) if is_linked else note_url(one.hit),
        is_linked=is_linked,
    )


def _passage_view(hit: SearchHit, terms: list[Term], history: str) -> PassageView:
    return PassageView(
        place=format_note_ref(hit.path, hit.line_start, hit.line_end),
        address=note_url(hit.path, hit.line_start),
        heading=tuple(highlight(hit.heading.replace(" > ", " › "), terms)),
        pieces=tuple(highlight(hit.snippet.strip("\n"), terms)),
        score=hit.score,
        by_meaning=hit.by_meaning,
        by_words=hit.by_words,
        history=history,
        says=describe_says(hit),
    )
