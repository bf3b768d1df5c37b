"""Search on the page."""

from dataclasses import dataclass

from aiohttp import web

from bot.fact_history import describe_histories
from bot.note_refs import format_note_ref
from bot.web.context import services_key
from bot.web.page.highlight import HighlightPiece, highlight
from bot.web.page.urls import note_url
from memory.search import SearchHit, SearchResults, Source
from memory.tokenizer import Term, parse_query

MAX_QUERY_CHARS = 1000
"""A longer query is cut."""
MAX_PASSAGES = 50


@dataclass(frozen=True, slots=True)
class PassageView:
    """One result."""

    place: str
    address: str
    heading: tuple[HighlightPiece, ...]
    pieces: tuple[HighlightPiece, ...]
    score: float
    """0 to 1, like the next two."""
    by_meaning: float | None
    """None if meaning was not compared."""
    by_words: float
    source: Source
    history: str
    """Since when it is true and what was told before, or where it was changed; "" if neither is known."""


@dataclass(frozen=True, slots=True)
class SearchView:
    """The results of a search, best first."""

    query: str
    passages: tuple[PassageView, ...]
    notice: str
    """Why the search was incomplete."""

    @property
    def by_words_alone(self) -> bool:
        """Whether no result was compared by meaning."""
        return all(each.by_meaning is None for each in self.passages)


def read_query(request: web.Request) -> str:
    """Return the query; "" for none."""
    return request.query.get("q", "").strip()[:MAX_QUERY_CHARS]


def parse_limit(request: web.Request) -> int | None:
    """Return the wanted number of passages; None if missing or invalid."""
    text = request.query.get("limit", "")
    if not (text.isascii() and text.isdigit() and len(text) < 10 and int(text)):
        return None
    return min(int(text), MAX_PASSAGES)


async def run_search(request: web.Request) -> SearchView:
    """Run the search of a request. Raises MemoryFault."""
    query = read_query(request)
    if not query:
        return SearchView("", (), "")
    results = await request.app[services_key].memory.search(query, limit=parse_limit(request))
    return search_view(results)


def search_view(results: SearchResults) -> SearchView:
    """Return the results with query words highlighted."""
    terms = parse_query(results.query)
    histories = zip(results.hits, describe_histories(results.hits), strict=True)
    views = tuple(_passage_view(hit, terms, history) for hit, history in histories)
    return SearchView(results.query, views, results.notice)


def _passage_view(hit: SearchHit, terms: list[Term], history: str) -> PassageView:
    return PassageView(
        place=format_note_ref(hit.path, hit.line_start, hit.line_end),
        address=note_url(hit.path, hit.line_start),
        heading=tuple(highlight(hit.heading.replace(" > ", " › "), terms)),
        pieces=tuple(highlight(hit.snippet.strip("\n"), terms)),
        score=hit.score,
        by_meaning=hit.by_meaning,
        by_words=hit.by_words,
        source=hit.source,
        history=history,
    )
