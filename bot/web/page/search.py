"""Search on the page."""

from dataclasses import dataclass, replace

from aiohttp import web

from bot.conversations.search import ConversationHit
from bot.fact_history import describe_histories, format_day
from bot.hit_source import describe_says
from bot.note_refs import format_note_ref
from bot.said_in_chats import name_chat
from bot.sanitize import one_line
from bot.search_sources import SearchSource
from bot.visible_names import escape_path
from bot.web.context import services_key
from bot.web.conversations import search_over_http, searches_chats
from bot.web.page.highlight import HighlightPiece, highlight
from bot.web.page.urls import message_url, note_url
from memory.search import Neighbour, SearchHit, SearchResults, Source
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
    says: str
    """Whose words it is, if the text does not say that itself; "" for its writer's own."""


@dataclass(frozen=True, slots=True)
class SaidView:
    """A message of a conversation that was found."""

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
    passages: tuple[PassageView, ...]
    notice: str
    """Why the search was incomplete."""
    messages: tuple[SaidView, ...] = ()
    neighbours: tuple[NeighbourView, ...] = ()

    @property
    def by_words_alone(self) -> bool:
        """Whether no passage was compared by meaning."""
        return bool(self.passages) and all(each.by_meaning is None for each in self.passages)


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
    services, source, limit = request.app[services_key], parse_source(request), parse_limit(request)
    if source == "notes":
        return search_view(await services.memory.search(query, limit=limit))
    found = await search_over_http(services, query, source=source, limit=limit)
    view, terms = search_view(found.notes), parse_query(query)
    notice = " ".join(filter(None, [found.notes.notice, found.notice]))
    return replace(view, notice=notice, messages=tuple(_said_view(hit, terms) for hit in found.conversations))


def parse_source(request: web.Request) -> SearchSource:
    """Return where to search: in the notes unless conversations are asked for and may be searched."""
    asked = request.query.get("source", "")
    if asked in ("conversations", "all") and searches_chats(request.app[services_key]):
        return "conversations" if asked == "conversations" else "all"
    return "notes"


def _said_view(hit: ConversationHit, terms: list[Term]) -> SaidView:
    return SaidView(
        chat=name_chat(hit),
        address=message_url(*map(int, hit.ref.split(":"))),
        day=format_day(hit.day),
        who=one_line(hit.who),
        pieces=tuple(highlight(hit.snippet.strip("\n"), terms)),
        score=hit.score,
    )


def search_view(results: SearchResults) -> SearchView:
    """Return the results with query words highlighted."""
    terms = parse_query(results.query)
    histories = zip(results.hits, describe_histories(results.hits), strict=True)
    views = tuple(_passage_view(hit, terms, history) for hit, history in histories)
    return SearchView(
        results.query, views, results.notice, neighbours=tuple(map(_neighbour_view, results.neighbours))
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
        source=hit.source,
        history=history,
        says=describe_says(hit),
    )
