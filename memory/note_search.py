"""Search an index of notes: read and embed the query, ask for candidates, rank them."""

import asyncio
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from datetime import date, datetime

from memory.embedding_backfill import EmbeddingBackfill
from memory.errors import IndexCorrupted, IndexUnavailable
from memory.folder_scope import FolderScope
from memory.index.location import redact_server_address
from memory.index.protocol import VectorQuery
from memory.listing import Problem
from memory.neighbours import choose_neighbours
from memory.note_tags import is_tag_word
from memory.postgres.errors import ServerUnreachable
from memory.ranking.candidates import DayRange, SearchCandidates
from memory.ranking.fusion import Weights
from memory.ranking.query import NamedTime
from memory.search import Neighbour, SearchHit, SearchResults, Source, rank
from memory.search_query import read_phrases, read_query, read_spellings, truncate_query
from memory.settings import SearchSettings
from memory.synced_index import SyncedIndex
from memory.tokenizer import Term, is_lookup
from memory.translatable import Translatable, end_sentence

_LATE_NOTICE = "Searched by words alone: the query's vector was not there in time."
_QUICK_QUERY = 300
"""Queries up to this many characters are parsed on the event loop, longer ones in a thread."""

ScanNotes = Callable[[Sequence[Term], Sequence[DayRange], Collection[str] | None], SearchCandidates]
"""Returns candidates without the index, from the notes in the given top-level folders or from all; blocks."""


@dataclass(frozen=True, slots=True)
class _ParsedQuery:
    """A query as it is searched for."""

    text: str
    terms: Sequence[Term]
    times: Sequence[NamedTime]
    today: date

    @property
    def days(self) -> list[DayRange]:
        """The days whose daily logs are read whole."""
        return [(time.first, time.last) for time in self.times if not time.is_open]

    @property
    def phrases(self) -> Sequence[str]:
        """The sequences of its words that may be the name of a note."""
        return read_phrases(self.text, self.terms)

    @property
    def words(self) -> tuple[Term, ...]:
        """The terms that a text can have; a tag is one of a text's words, too."""
        return tuple(term for term in self.terms if not is_tag_word(term.tokens[0]))


class NoteSearch:
    """Searches one index of notes by words and, if there are vectors, by meaning."""

    def __init__(
        self,
        index: SyncedIndex,
        vectors: EmbeddingBackfill,
        *,
        settings: SearchSettings,
        now: Callable[[], datetime],
        scan: ScanNotes | None = None,
        show: Callable[[SearchCandidates], SearchCandidates] = lambda candidates: candidates,
    ) -> None:
        """Open nothing yet.

        `vectors` embeds queries and the texts of `index`. `now` returns the time in the owner's zone. `scan`
        is asked when the index cannot be used; without it, searches then raise `IndexUnavailable` or
        `IndexCorrupted`. `show` removes from the candidates what must not be shown; it runs in a thread.
        """
        self._index = index
        self._show = show
        self._vectors = vectors
        self._settings = settings
        self._now = now
        self._scan = scan
        self._late: set[asyncio.Task[tuple[VectorQuery | None, str]]] = set()

    def set_settings(self, settings: SearchSettings) -> None:
        """Use these settings for all searches that start from now on."""
        self._settings = settings
        self._vectors.set_search_settings(settings)

    async def search(
        self,
        query: str,
        *,
        limit: int | None = None,
        within: Collection[str] | None = None,
        vector_seconds: float | None = None,
        neighbours: bool = False,
    ) -> SearchResults:
        """Sync the index, then return the best passages; `limit` is `final_top_k` by default.

        `vector_seconds`: how long to wait for the query's vector, after which words alone decide; 0 asks for none,
        None waits as long as the provider's own limit. `within` holds the paths of the folders to search,
        as if there were no other notes; None searches all notes, an empty collection none. With `neighbours`, notes
        that links tie to the hits are returned, too; without a usable index there are none.
        """
        if not query.strip() or (within is not None and not within):
            return SearchResults(query, ())
        settings = self._settings
        most = limit or settings.final_top_k
        asked = await self._parse_query(query)
        vector_query, notice = await self._embed_query(
            asked.text, limit=max(settings.vector_top_k, most), seconds=vector_seconds
        )
        source: Source = "fts"
        try:
            candidates = await self._index.ask(
                lambda index: self._show(
                    index.candidates(
                        asked.terms,
                        limit=max(settings.fts_top_k, most),
                        vector_query=vector_query,
                        days=asked.days,
                        today=asked.today,
                        within=within,
                        phrases=asked.phrases,
                    )
                )
            )
            skipped = self._skipped_notice(within)
            notice = (
                Translatable("{first} {second}", first=notice, second=skipped)
                if notice and skipped
                else notice or skipped
            )
        except (IndexCorrupted, IndexUnavailable) as error:
            if self._scan is None:
                raise
            source, notice, scan = "scan", self._scan_notice(error), self._scan
            candidates = await self._index.run_in_search_thread(lambda: scan(asked.terms, asked.days, within))
        hits = await self._rank(asked, candidates, settings, limit=most, source=source)
        tied = await self._find_neighbours(hits, within) if neighbours and source == "fts" else ()
        return SearchResults(query, tuple(hits), notice, asked.words, tied)

    async def _find_neighbours(
        self, hits: Sequence[SearchHit], within: Collection[str] | None
    ) -> tuple[Neighbour, ...]:
        paths = {hit.path for hit in hits}
        try:
            links = await self._index.read(lambda index: index.links(paths, within=within))
        except (IndexCorrupted, IndexUnavailable):
            return ()  # the index answered just now, and the next search mends or reports it
        return choose_neighbours(hits, links)

    async def search_by_words(self, query: str, *, limit: int) -> list[SearchHit]:
        """Return the best passages by their words alone. Raises `IndexUnavailable`, `IndexCorrupted`."""
        asked = await self._parse_query(query)
        candidates = await self._index.ask(
            lambda index: self._show(
                index.candidates(
                    asked.terms, limit=limit, days=asked.days, today=asked.today, phrases=asked.phrases
                )
            )
        )
        return await self._rank(asked, candidates, self._settings, limit=limit, source="fts")

    async def _parse_query(self, query: str) -> _ParsedQuery:
        text, today = truncate_query(query), self._now().date()
        # Parsing a long query, such as one full of month names, takes a tenth of a second.
        is_long = len(text) > _QUICK_QUERY
        terms, times = (
            await asyncio.to_thread(read_query, text, today) if is_long else read_query(text, today)
        )
        return _ParsedQuery(text, terms, times, today)

    async def _embed_query(
        self, query: str, *, limit: int, seconds: float | None
    ) -> tuple[VectorQuery | None, str]:
        """Return the query's vector, or None and a notice if vectors were expected."""
        if not self._vectors.enabled or seconds == 0:
            return None, ""
        if seconds is None:
            await self._index.choose_backend()
            return await self._vectors.make_query(query, limit=limit)
        embedding = asyncio.create_task(self._embed_query(query, limit=limit, seconds=None))
        # A late one goes on: its vector is cached, and a model that is being loaded serves the next query.
        self._late.add(embedding)
        embedding.add_done_callback(self._forget_late)
        done, _ = await asyncio.wait([embedding], timeout=seconds)
        return embedding.result() if done else (None, _LATE_NOTICE)

    def _forget_late(self, embedding: "asyncio.Task[tuple[VectorQuery | None, str]]") -> None:
        self._late.discard(embedding)
        if not embedding.cancelled():
            embedding.exception()  # mark as retrieved: a search that did not wait gets none

    async def close(self) -> None:
        """Cancel the requests for vectors that nobody waits for any more."""
        late = [*self._late]
        for each in late:
            each.cancel()
        if late:
            await asyncio.wait(late)

    async def _rank(
        self,
        asked: _ParsedQuery,
        candidates: SearchCandidates,
        settings: SearchSettings,
        *,
        limit: int,
        source: Source,
    ) -> list[SearchHit]:
        return await self._index.run_in_search_thread(
            lambda: rank(
                asked.terms,
                candidates,
                limit=limit,
                snippet_max_chars=settings.snippet_max_chars,
                source=source,
                looked_up=is_lookup(asked.text, asked.terms),
                weights=Weights(settings.vector_weight, settings.text_weight),
                times=asked.times,
                spelled=read_spellings(asked.text, asked.terms, asked.times),
                today=asked.today,
            ),
        )

    def _scan_notice(self, error: IndexCorrupted | IndexUnavailable) -> str:
        # Only `status` and `doctor` may name the server.
        away = Translatable("the index server cannot be reached right now")
        is_away = isinstance(error, ServerUnreachable)
        why = away if is_away else redact_server_address(error.text, self._index.location)
        return end_sentence(Translatable("Searched the files one by one: {reason}", reason=why))

    def _skipped_notice(self, within: Collection[str] | None) -> str:
        """Return which of the notes to search could not be read and indexed; "" if none."""
        left_out = [problem for problem in self._index.problems if problem.hides_notes]
        if within is not None:
            folders = FolderScope.of(within)
            left_out = [each for each in left_out if each.path == "." or folders.contains(f"{each.path}/")]
        return _describe_skipped(left_out) if left_out else ""


def _describe_skipped(left_out: Sequence[Problem]) -> str:
    path, reason = left_out[0].path, left_out[0].reason
    first = reason
    if not reason.startswith(path):
        what = Translatable("the notes folder") if path == "." else path
        first = Translatable("{path} ({reason})", path=what, reason=reason)
    sentence = end_sentence(Translatable("Not searched: {first}", first=first))
    more = len(left_out) - 1
    return Translatable("{sentence} And {count} more.", sentence=sentence, count=more) if more else sentence
