"""What the page shows of a search."""

from dataclasses import dataclass

from aiohttp import web

from bot.places import written_place
from bot.web.context import services_key
from bot.web.page.addresses import note_address
from bot.web.page.marking import Piece, mark
from memory.search import Hit, SearchResults, Source
from memory.words import Term, query_terms

LONGEST_QUERY = 1000
"""Characters; of more the beginning is looked for."""
MOST_PASSAGES = 50


@dataclass(frozen=True, slots=True)
class Passage:
    """One hit."""

    place: str
    address: str
    heading: tuple[Piece, ...]
    pieces: tuple[Piece, ...]
    score: float
    """0 to 1, as are the next two."""
    by_meaning: float | None
    """None where that was not compared."""
    by_words: float
    source: Source


@dataclass(frozen=True, slots=True)
class Found:
    """All of them, best first."""

    query: str
    passages: tuple[Passage, ...]
    notice: str
    """Why the search was less than whole."""

    @property
    def by_words_alone(self) -> bool:
        """Whether meaning was compared for none of them."""
        return all(each.by_meaning is None for each in self.passages)


def asked_query(request: web.Request) -> str:
    """What is looked for; "" for nothing."""
    return request.query.get("q", "").strip()[:LONGEST_QUERY]


def asked_limit(request: web.Request) -> int | None:
    """How many passages are wanted; None where nothing sensible is said."""
    said = request.query.get("limit", "")
    if not (said.isascii() and said.isdigit() and len(said) < 10 and int(said)):
        return None
    return min(int(said), MOST_PASSAGES)


async def found(request: web.Request) -> Found:
    """Search for what is asked. Raises MemoryFault."""
    query = asked_query(request)
    if not query:
        return Found("", (), "")
    results = await request.app[services_key].memory.search(query, limit=asked_limit(request))
    return as_found(results)


def as_found(results: SearchResults) -> Found:
    """Pure: hits with the words in them that were asked for."""
    terms = query_terms(results.query)
    return Found(results.query, tuple(_passage(hit, terms) for hit in results.hits), results.notice)


def _passage(hit: Hit, terms: list[Term]) -> Passage:
    return Passage(
        place=written_place(hit.path, hit.line_start, hit.line_end),
        address=note_address(hit.path, hit.line_start),
        heading=tuple(mark(hit.heading.replace(" > ", " › "), terms)),
        pieces=tuple(mark(hit.snippet.strip("\n"), terms)),
        score=hit.score,
        by_meaning=hit.by_meaning,
        by_words=hit.by_words,
        source=hit.source,
    )
