"""What the page shows of a search."""

from dataclasses import dataclass

from aiohttp import web

from bot.note_refs import format_note_ref
from bot.web.context import services_key
from bot.web.page.highlight import HighlightPiece, highlight
from bot.web.page.urls import note_url
from memory.search import SearchHit, SearchResults, Source
from memory.tokenizer import Term, parse_query

MAX_QUERY_CHARS = 1000
"""Characters; of more the beginning is looked for."""
MAX_PASSAGES = 50


@dataclass(frozen=True, slots=True)
class PassageView:
    """One hit."""

    place: str
    address: str
    heading: tuple[HighlightPiece, ...]
    pieces: tuple[HighlightPiece, ...]
    score: float
    """0 to 1, as are the next two."""
    by_meaning: float | None
    """None where that was not compared."""
    by_words: float
    source: Source


@dataclass(frozen=True, slots=True)
class SearchView:
    """All of them, best first."""

    query: str
    passages: tuple[PassageView, ...]
    notice: str
    """Why the search was less than whole."""

    @property
    def by_words_alone(self) -> bool:
        """Whether meaning was compared for none of them."""
        return all(each.by_meaning is None for each in self.passages)


def read_query(request: web.Request) -> str:
    """What is looked for; "" for nothing."""
    return request.query.get("q", "").strip()[:MAX_QUERY_CHARS]


def parse_limit(request: web.Request) -> int | None:
    """How many passages are wanted; None where nothing sensible is said."""
    said = request.query.get("limit", "")
    if not (said.isascii() and said.isdigit() and len(said) < 10 and int(said)):
        return None
    return min(int(said), MAX_PASSAGES)


async def run_search(request: web.Request) -> SearchView:
    """Search for what is asked. Raises MemoryFault."""
    query = read_query(request)
    if not query:
        return SearchView("", (), "")
    results = await request.app[services_key].memory.search(query, limit=parse_limit(request))
    return search_view(results)


def search_view(results: SearchResults) -> SearchView:
    """Pure: hits with the words in them that were asked for."""
    terms = parse_query(results.query)
    return SearchView(results.query, tuple(_passage_view(hit, terms) for hit in results.hits), results.notice)


def _passage_view(hit: SearchHit, terms: list[Term]) -> PassageView:
    return PassageView(
        place=format_note_ref(hit.path, hit.line_start, hit.line_end),
        address=note_url(hit.path, hit.line_start),
        heading=tuple(highlight(hit.heading.replace(" > ", " › "), terms)),
        pieces=tuple(highlight(hit.snippet.strip("\n"), terms)),
        score=hit.score,
        by_meaning=hit.by_meaning,
        by_words=hit.by_words,
        source=hit.source,
    )
