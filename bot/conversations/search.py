"""Searches what was said in chats, by an index of its own that follows state.db."""

import asyncio
import re
from collections.abc import Awaitable, Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import copy_context
from dataclasses import dataclass, replace
from datetime import date, datetime
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from bot import phrases
from bot.access import TERMINAL
from bot.conversations import pages
from bot.conversations.index_file import INDEX_NAME
from bot.conversations.message_order import order_messages
from bot.conversations.page_source import PageSource, StoredPage
from bot.conversations.pages import INDENT, SpokenMessage, conversation_folder, moment_of, scope_of
from bot.sanitize import one_line
from bot.state.conversation_entries import StoredChat
from bot.state.imports import IMPORTED
from memory.embedding_backfill import EmbeddingBackfill
from memory.embeddings.factory import Embedding
from memory.errors import MemoryFault
from memory.index.fingerprint import compute_fingerprint
from memory.index.location import IndexFileLocation
from memory.note_search import NoteSearch
from memory.progress import JobProgress, RunningJobs
from memory.search import SearchHit
from memory.synced_index import SyncedIndex
from memory.tokenizer import Term

if TYPE_CHECKING:
    from bot.config.settings import ConversationSearchSettings
    from memory.settings import MemorySettings, SearchSettings

SETTLE_SECONDS = 1.0
"""Seconds from a message to its indexing, so that a busy chat is indexed once a second and not with each message.

A search need not wait for that: it looks for new messages itself."""

AROUND = 4
"""Messages before and after one that are shown with it by default."""

FORWARDED = "{name} (forwarded)"

_CANDIDATES = 2
"""How many times as many are looked for as are returned, since questions and what stands beside come last …"""
_MIN_CANDIDATES = 12
"""… and how many at least."""

_REF = re.compile(r"(\d{1,18}):(\d{1,18})")
_LABEL = re.compile(r"^- [^:\n]+: ")


class MessageMissing(MemoryFault):
    """There is no such message, or whoever asks may not read it."""


class Moment(NamedTuple):
    """A place in a conversation: before an entry."""

    conversation: int
    seq: int


@dataclass(frozen=True, slots=True)
class ConversationHit:
    """A message, or the part of it, in which something was said."""

    ref: str
    """`conversation:seq`."""
    chat: str
    """`channel:name`."""
    chat_name: str
    """What people call the chat, or the title of an imported conversation; "" if unknown."""
    app: str
    """The assistant that it was imported from, such as `ChatGPT`; "" for what was said here."""
    who: str
    """Who said it; "" if unknown."""
    day: date
    """The owner's day."""
    snippet: str
    score: float
    """0 to 1, as of notes."""
    says: tuple[str, ...] = ()
    """Whose words it is or repeats, if not the speaker's: the author of forwarded words, documents."""


@dataclass(frozen=True, slots=True)
class ConversationResults:
    """The hits of one query, best first."""

    query: str
    hits: tuple[ConversationHit, ...]
    notice: str = ""
    """Why the search was incomplete; empty if it was complete."""
    terms: tuple[Term, ...] = ()
    """What was searched for."""


@dataclass(frozen=True, slots=True)
class ShownMessage:
    """One message, for whoever reads around a hit."""

    ref: str
    who: str
    """"" if unknown."""
    at: datetime
    """On the owner's clock."""
    text: str
    says: tuple[str, ...] = ()
    """As of a hit."""


@dataclass(frozen=True, slots=True)
class Excerpt:
    """Messages of one conversation, in order."""

    chat: str
    chat_name: str
    messages: tuple[ShownMessage, ...]

    def map_texts(self, change: Callable[[str], str]) -> "Excerpt":
        """Return it with other texts."""
        return replace(self, messages=tuple(replace(each, text=change(each.text)) for each in self.messages))


class ConversationSearch:
    """The search of all conversations in a workspace. Errors are `MemoryFault`s; call `aclose` at the end.

    Its index is derived from state.db alone: it may be deleted at any time. Every hit is read from state.db again
    before it is returned.
    """

    def __init__(
        self,
        private: Path,
        *,
        memory: "MemorySettings",
        settings: "ConversationSearchSettings",
        now: Callable[[], datetime],
        agent_name: Callable[[], str],
        embedding: Embedding | None = None,
        lasting: bool = False,
    ) -> None:
        """Open nothing yet. `private` holds state.db and the index; `memory`: how notes are split and searched.

        `now` is on the owner's clock. `embedding` makes vectors if the settings want them; closing the search does not
        close it. `lasting`: see `Memory`.
        """
        zone = now().tzinfo
        self._now = now
        self._agent_name = agent_name
        self._limit = memory.search.final_top_k
        self._jobs = RunningJobs()
        self._source = PageSource(private / "state.db", now=now, retention_days=settings.retention_days)
        self._vectors = EmbeddingBackfill(
            (embedding if settings.vectors else None) or Embedding(),
            embed=memory.embedding,
            search=memory.search,
            jobs=self._jobs,
        )
        # Other days are other pages, and so are those that were too old.
        kept = f"{pages.VERSION}/{zone}/{settings.retention_days}"
        self._index = SyncedIndex(
            self._source,
            IndexFileLocation(
                private, fingerprint=f"{compute_fingerprint(memory.chunk)}/{kept}", name=INDEX_NAME
            ),
            chunk=memory.chunk,
            vectors=self._vectors,
            jobs=self._jobs,
            lasting=lasting,
        )
        self._search = NoteSearch(self._index, self._vectors, settings=memory.search, now=now)
        self._said = asyncio.Event()
        self.problem = ""
        """Why conversations could not be indexed or searched when that was last tried; "" if they could."""

    def set_search_settings(self, search: "SearchSettings") -> None:
        """Use these settings for all searches that start from now on."""
        self._limit = search.final_top_k
        self._search.set_settings(search)

    def stop(self) -> None:
        """Tell running indexing to stop soon, so that `aclose` need not wait long."""
        self._index.stop()

    async def aclose(self) -> None:
        """Stop indexing, wait for running work and close the files. An unfinished index is resumed next time."""
        self.stop()
        await self._index.close()
        await asyncio.to_thread(self._source.close)

    # -- following ----------------------------------------------------------------------------------------

    def note_said(self) -> None:
        """Have what was just stored indexed soon, and looked for by the next search."""
        self._index.note_written()
        self._said.set()

    def background_tasks(self) -> Mapping[str, Callable[[], Awaitable[None]]]:
        """Return the tasks, by name, that keep the index up to date; each runs until it is cancelled or has ended."""
        tasks: dict[str, Callable[[], Awaitable[None]]] = {"conversation index": self._follow}
        if self._vectors.enabled:
            tasks["conversation vectors"] = partial(self._vectors.run_forever, self._index.run)
        return tasks

    async def _follow(self) -> None:
        """Index everything that is new, now and whenever something was said."""
        while True:
            self._said.clear()
            await self.sync()
            await self._said.wait()
            await asyncio.sleep(SETTLE_SECONDS)

    async def sync(self, *, rebuild: bool = False) -> None:
        """Bring the index up to date; `rebuild`: from scratch, while searches go on."""
        with self._recorded():
            await self._index.sync(rebuild=rebuild)

    async def purge(self) -> None:
        """Erase from the index's files what is in no conversation any more."""
        self._vectors.clear_queries()
        with self._recorded():
            await self._index.purge()

    def jobs(self) -> tuple[JobProgress, ...]:
        """Jobs that are running now, with their progress."""
        return self._jobs.now()

    # -- searching ----------------------------------------------------------------------------------------

    async def search(
        self,
        query: str,
        *,
        chats: Collection[str] | None,
        limit: int | None = None,
        before: Moment | None = None,
    ) -> ConversationResults:
        """Return the best messages of these chats (`channel:name`; None for all), best first. Raises `MemoryFault`.

        `before`: of this conversation, only what was said before, as a question would always find itself.
        """
        within = None if chats is None else frozenset(map(scope_of, chats))
        return await self._search_in(within, query, chats=chats, limit=limit, before=before)

    async def search_conversation(
        self, query: str, *, chat: str, conversation: int, limit: int | None = None
    ) -> ConversationResults:
        """Return the best messages of one conversation of this chat, as `search` does."""
        within = frozenset((conversation_folder(chat, conversation),))
        return await self._search_in(within, query, chats=(chat,), limit=limit, before=None)

    async def _search_in(
        self,
        within: Collection[str] | None,
        query: str,
        *,
        chats: Collection[str] | None,
        limit: int | None,
        before: Moment | None,
    ) -> ConversationResults:
        most = limit or self._limit
        with self._recorded():
            for is_last in (False, True):
                found = await self._search.search(
                    query,
                    limit=max(_MIN_CANDIDATES, _CANDIDATES * most),
                    within=within,
                )
                # In the caller's context: who said it is named in their language.
                check = partial(copy_context().run, self._check_hits, found.hits, chats=chats, before=before)
                hits, outdated = await self._index.run_in_search_thread(check)
                if not outdated or is_last:
                    break
                self._index.note_written()  # it changed between search and check
        hits = await self._index.run_in_search_thread(partial(order_messages, hits, found.terms))
        return ConversationResults(query, tuple(hits[:most]), found.notice, found.terms)

    async def get(
        self, ref: str, *, chats: Collection[str] | None, before: int = AROUND, after: int = AROUND
    ) -> Excerpt:
        """Return a message with the ones around it. Raises `MessageMissing` if it is in none of these chats."""
        wanted = _REF.fullmatch(ref.strip())
        read = partial(self._source.read_around, before=before, after=after)
        found = await asyncio.to_thread(read, int(wanted[1]), int(wanted[2])) if wanted else None
        if found is None or not (chats is None or found[0].chat in chats):
            raise MessageMissing(f"There is no message {ref}; use the ref of a search result.")
        chat, said = found
        zone = self._now().tzinfo
        return Excerpt(
            chat.chat,
            chat.name,
            tuple(
                ShownMessage(
                    _format_ref(chat, each),
                    name_speaker(each, chat, agent=self._agent_name()),
                    moment_of(each.at, zone),
                    each.text.strip(),
                    each.says,
                )
                for each in said
            ),
        )

    def _check_hits(
        self, hits: Sequence[SearchHit], *, chats: Collection[str] | None, before: Moment | None
    ) -> tuple[list[ConversationHit], bool]:
        """Return the hits as state.db has them now, and whether any is not there any more as the index has it."""
        stored: dict[str, StoredPage | None] = {}
        kept: list[ConversationHit] = []
        outdated = False
        for hit in hits:
            if hit.path not in stored:
                stored[hit.path] = self._source.read_page(hit.path)
            page = stored[hit.path]
            if page is None or not (chats is None or page.chat.chat in chats) or not _is_on(page, hit):
                outdated = True
            else:
                kept += self._split_hit(page, hit, before)
        return kept, outdated

    def _split_hit(
        self, page: StoredPage, hit: SearchHit, before: Moment | None
    ) -> Iterator[ConversationHit]:
        """Yield each message of a hit, in their order, without those that were said too late."""
        lines = page.page.lines[hit.line_start - 1 : hit.line_end]
        parts = [
            (seq, "\n".join(line.text for line in of_message).strip())
            for seq, of_message in groupby(lines, key=lambda line: line.seq)
        ]
        if len(parts) == 1 and hit.snippet != _lines_of(page, hit):
            parts = [(parts[0][0], _strip_markup(hit.snippet))]  # cut around the words that were searched for
        said = {each.seq: each for each in page.page.messages}
        conversation = page.path.conversation
        for seq, text in parts:
            if before is None or conversation != before.conversation or seq < before.seq:
                yield ConversationHit(
                    ref=_format_ref(page.chat, said[seq]),
                    chat=page.chat.chat,
                    chat_name=page.chat.name,
                    app=find_app(page.chat),
                    who=name_speaker(said[seq], page.chat, agent=self._agent_name()),
                    day=page.path.day,
                    snippet=text,
                    score=hit.score,
                    says=said[seq].says,
                )

    @contextmanager
    def _recorded(self) -> Iterator[None]:
        """Keep what goes wrong for the status."""
        try:
            yield
        except MemoryFault as fault:
            self.problem = fault.text
            raise
        self.problem = ""


def _lines_of(page: StoredPage, hit: SearchHit) -> str:
    return "\n".join(page.page.text.split("\n")[hit.line_start - 1 : hit.line_end])


def _is_on(page: StoredPage, hit: SearchHit) -> bool:
    """Return whether a page still has a hit's text in its place."""
    text = _lines_of(page, hit)
    return hit.snippet in text or hit.snippet.removeprefix("…").removesuffix("…") in text


def _strip_markup(snippet: str) -> str:
    """Return part of a message without list marker, label and indentation."""
    return "\n".join(
        line.removeprefix(INDENT) for line in _LABEL.sub("", snippet, count=1).split("\n")
    ).strip()


def name_speaker(said: SpokenMessage, chat: StoredChat, *, agent: str) -> str:
    """Return who said something in a chat; "" if unknown. `agent`: the name of our assistant."""
    if said.by_assistant:
        return find_app(chat) or agent
    if said.is_forwarded:
        return FORWARDED.format(name=said.name)
    if chat.chat.partition(":")[0] in (IMPORTED, TERMINAL):
        return phrases.YOU
    return said.name or one_line(chat.name)


def find_app(chat: StoredChat) -> str:
    """Return the assistant that a conversation was imported from, such as `ChatGPT`; "" for our own."""
    if not chat.imported_from:
        return ""
    from bot.imports.formats import show_name  # takes 10 ms, needless for most

    return show_name(chat.imported_from)


def _format_ref(chat: StoredChat, said: SpokenMessage) -> str:
    return f"{chat.conversation}:{said.seq}"
