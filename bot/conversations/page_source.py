"""The pages of all conversations in state.db, as the index reads them: like a folder of notes that nobody edits."""

import hashlib
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING

from bot.conversations.pages import (
    ConversationPage,
    EntryHead,
    PagePath,
    PageSpan,
    SpokenMessage,
    make_page,
    page_limit,
    page_start,
    scope_of,
    split_spans,
    spoken_messages,
)
from bot.state import conversation_entries
from bot.state.conversation_entries import ConversationState, StoredChat
from memory.disk import reason
from memory.errors import IndexUnavailable, NoteMissing
from memory.listing import Listing, NoteStat
from memory.note_source import LoadedNote
from memory.sqlite_cache import limit_cache

if TYPE_CHECKING:
    import apsw

MAX_CHANGED = 100
"""Maximum number of changed conversations that are looked up one by one."""

BUSY_TIMEOUT_MS = 10_000
_ENTRIES_PER_MESSAGE = 4
"""A message that can be found stands among about so many entries, most of them of tools."""
_REWRITTEN_BIT = 32

PageStamp = tuple[int, int, int]
"""Size, time of the last entry in nanoseconds, and `_pack` of how often the conversation was rewritten and the last
entry that can change the page. A page with the same stamp is the same."""


@dataclass(frozen=True, slots=True)
class StoredPage:
    """A page as it is in state.db now."""

    chat: StoredChat
    path: PagePath
    stamp: PageStamp
    page: ConversationPage


@dataclass(slots=True)
class _Listed:
    """The pages of one conversation when it was last looked at."""

    state: ConversationState
    """With the folder of its pages as its chat."""
    pages: dict[str, PageStamp] = field(default_factory=dict)
    """By path, in order."""
    row: object = None
    """The row of its state."""


class PageSource:
    """`NoteSource` over state.db, through a connection of its own that can only read.

    Any thread may call it; calls wait for each other.
    """

    is_shared = False

    def __init__(self, state: Path, *, now: Callable[[], datetime], retention_days: int = 0) -> None:
        """Open nothing yet. `now` is in the owner's zone; `retention_days`: 0 lists pages of any age."""
        self._file = state
        self._now = now
        self._retention_days = retention_days
        self._lock = Lock()
        self._db: apsw.Connection | None = None
        self._inode = (0, 0)
        self._seen: object = None
        self._listed: dict[int, _Listed] = {}
        self._stamps: dict[str, PageStamp] = {}
        self._oldest: str | None = None

    # -- NoteSource ---------------------------------------------------------------------------------------

    def walk(self, *, known: Mapping[str, PageStamp] | None = None) -> Listing:
        """Return every page. Costs next to nothing if state.db has not changed."""
        known = known or {}
        with self._reading() as db:
            if db is None:
                self._listed, self._stamps, self._oldest = {}, {}, None
            else:
                self._look(db, known)
            return self._compare(known)

    def load(self, path: str) -> LoadedNote:
        """Read a page for indexing. Raises `NoteMissing`."""
        stored = self.read_page(path)
        if stored is None:
            raise NoteMissing("There is no page {path}.", path=path)
        text = stored.page.text
        digest = hashlib.sha256(text.encode()).hexdigest()
        return LoadedNote(text, "utf-8", digest, _make_stat(path, stored.stamp))

    # -- reading ------------------------------------------------------------------------------------------

    def read_page(self, path: str) -> StoredPage | None:
        """Return a page as it is now; None if it is not there any more, or too old to be found."""
        wanted = PagePath.parse(path)
        if wanted and wanted.day.isoformat() < self._oldest_day():
            return None  # an index that is being rebuilt for another `retention_days` still has it
        with self._reading() as db:
            if db is None or wanted is None:
                return None
            with _snapshot(db):
                return self._read_page(db, wanted)

    def read_around(
        self, conversation: int, seq: int, *, before: int, after: int
    ) -> tuple[StoredChat, list[SpokenMessage]] | None:
        """Return a message with the ones around it, in order; None if it is not there."""
        with self._reading() as db:
            if db is None:
                return None
            with _snapshot(db):
                chat = conversation_entries.read_chat(db, conversation)
                said = _read_around(db, chat, seq, before=before, after=after) if chat else []
        return (chat, said) if chat and said else None

    def close(self) -> None:
        """Close the connection; it is opened again when needed."""
        with self._lock:
            self._close()

    # -- looking for changes ------------------------------------------------------------------------------

    def _look(self, db: "apsw.Connection", known: Mapping[str, PageStamp]) -> None:
        """Bring the list of pages up to date."""
        oldest = self._oldest_day()
        seen = (self._inode, db.pragma("data_version"), oldest)
        if seen == self._seen:
            return
        listed = self._listed or _list_known(known)
        with _snapshot(db):
            rows = conversation_entries.list_conversations(db)
            changed = {
                row[0]: self._list_pages(db, row, before)
                for row in rows
                if (before := listed.get(row[0])) is None or before.row != row
            }
        gone = listed.keys() - {row[0] for row in rows}
        if len(changed) + len(gone) > MAX_CHANGED or oldest != self._oldest:
            self._listed = {row[0]: changed.get(row[0]) or listed[row[0]] for row in rows}
            self._stamps = dict(_list_stamps(self._listed.values(), oldest))
        else:  # there may be thousands of others
            for number in (*changed, *gone):
                for path in before.pages if (before := listed.pop(number, None)) else ():
                    self._stamps.pop(path, None)
            listed.update(changed)
            self._listed = listed
            self._stamps.update(_list_stamps(changed.values(), oldest))
        self._oldest, self._seen = oldest, seen

    def _oldest_day(self) -> str:
        if not self._retention_days:
            return ""
        return (self._now().date() - timedelta(days=self._retention_days)).isoformat()

    def _compare(self, known: Mapping[str, PageStamp]) -> Listing:
        """Return the pages, and which of them are as they are known."""
        if known == self._stamps:
            return Listing([], [], list(known))
        # In the order of each conversation: what is indexed when the program dies is its beginning, see `_list_known`.
        changed: list[NoteStat] = []
        unchanged: list[str] = []
        for path, stamp in self._stamps.items():
            if known.get(path) == stamp:
                unchanged.append(path)
            else:
                changed.append(_make_stat(path, stamp))
        return Listing(changed, [], unchanged)

    def _list_pages(
        self, db: "apsw.Connection", row: tuple[int, str, int, int], before: _Listed | None
    ) -> _Listed:
        number, chat, rewritten, last_seq = row
        state = ConversationState(number, scope_of(chat), rewritten, last_seq)
        if before and before.state == state:
            return _Listed(state, before.pages, row)
        pages: dict[str, PageStamp] = {}
        since = 1
        if before and before.state._replace(last_seq=0) == state._replace(last_seq=0):
            since = page_start(min(before.state.last_seq, state.last_seq))
            pages = {path: stamp for path, stamp in before.pages.items() if _first_of(path) < since}
        heads = conversation_entries.list_entry_heads(db, state.id, since=since)
        for span in split_spans([EntryHead(*head) for head in heads], self._now().tzinfo):
            path = PagePath(state.chat, state.id, span.first, span.day)
            pages[str(path)] = _make_stamp(span, state.rewritten)
        return _Listed(state, pages, row)

    def _read_page(self, db: "apsw.Connection", wanted: PagePath) -> StoredPage | None:
        conversation, zone = wanted.conversation, self._now().tzinfo
        chat = conversation_entries.read_chat(db, conversation)
        if chat is None or scope_of(chat.chat) != wanted.scope:
            return None
        until = conversation_entries.find_next_answered(db, conversation, page_limit(wanted.first))
        rows = conversation_entries.read_span(db, conversation, first=wanted.first, last=until - 1)
        heads = [EntryHead(each.row.seq, each.row.kind, each.at, size) for each, size in rows]
        spans = split_spans(heads, zone)
        if not spans or (spans[0].first, spans[0].day) != (wanted.first, wanted.day):
            return None
        said = spoken_messages(each for each, _ in rows[: spans[0].decided_by - wanted.first + 1])
        page = make_page([each for each in said if each.seq <= spans[0].last])
        return StoredPage(chat, wanted, _make_stamp(spans[0], chat.rewritten), page)

    # -- the connection -----------------------------------------------------------------------------------

    @contextmanager
    def _reading(self) -> "Iterator[apsw.Connection | None]":
        """Yield the connection; None if there is no state.db."""
        import apsw

        with self._lock:
            try:
                yield self._connection()
            except (apsw.Error, OSError) as error:
                self._close()
                why = reason(error) if isinstance(error, OSError) else error
                raise IndexUnavailable("the conversations cannot be read ({reason})", reason=why) from error

    def _connection(self) -> "apsw.Connection | None":
        import apsw

        try:
            found = os.stat(self._file)  # noqa: PTH116 - asked before every search
        except FileNotFoundError:
            self._close()
            return None
        inode = (found.st_dev, found.st_ino)
        if self._db is None or inode != self._inode:
            self._close()
            self._db = apsw.Connection(str(self._file), flags=apsw.SQLITE_OPEN_READONLY)
            self._db.set_busy_timeout(BUSY_TIMEOUT_MS)
            limit_cache(self._db)
            self._inode = inode
        return self._db

    def _close(self) -> None:
        if self._db is not None:
            self._db.close()
            self._db = None
            self._seen = None


@contextmanager
def _snapshot(db: "apsw.Connection") -> Iterator[None]:
    """Read one state of the file."""
    db.execute("BEGIN")
    try:
        yield
    finally:
        db.execute("ROLLBACK")


def _read_around(
    db: "apsw.Connection", chat: StoredChat, seq: int, *, before: int, after: int
) -> list[SpokenMessage]:
    """Return a message with up to `before` and `after` others; nothing if it is not there."""
    reach = _ENTRIES_PER_MESSAGE * (before + after + 2)
    while True:
        first, last = max(1, seq - reach), seq + reach
        end = conversation_entries.find_next_answered(db, chat.conversation, last)
        rows = conversation_entries.read_span(db, chat.conversation, first=first, last=end - 1)
        said = [each for each in spoken_messages(each for each, _ in rows) if each.seq <= last]
        place = next((place for place, each in enumerate(said) if each.seq == seq), None)
        if place is None:
            return []
        if (place >= before or first == 1) and (len(said) - place > after or last >= chat.last_seq):
            return said[max(0, place - before) : place + after + 1]
        reach *= 4


def _list_known(known: Mapping[str, PageStamp]) -> dict[int, _Listed]:
    """Return what an index that was filled by an earlier process says about conversations.

    A conversation that it says nothing certain about is left out.
    """
    listed: dict[int, _Listed] = {}
    unsure: set[int] = set()
    whole: set[int] = (
        set()
    )  # with their beginnings; a page that was too old once would not be missed otherwise
    for path, stamp in known.items():
        page = PagePath.parse(path)
        if page is None:
            continue
        rewritten, decided_by = _unpack(stamp)
        state = ConversationState(page.conversation, page.scope, rewritten, decided_by)
        of_page = listed.setdefault(page.conversation, _Listed(state))
        of_page.pages[path] = stamp
        if page.first == 1:
            whole.add(page.conversation)
        if decided_by == 0 or of_page.state[:3] != state[:3]:
            unsure.add(page.conversation)
        of_page.state = state._replace(last_seq=max(decided_by, of_page.state.last_seq))
    certain = whole - unsure
    return {number: each for number, each in listed.items() if number in certain}


def _list_stamps(listed: Iterable[_Listed], oldest: str) -> Iterator[tuple[str, PageStamp]]:
    """Yield the pages that are not too old."""
    for each in listed:
        for path, stamp in each.pages.items():
            if path[-len("2026-03-03.md") :] >= oldest:
                yield path, stamp


def _first_of(path: str) -> int:
    page = PagePath.parse(path)
    assert page
    return page.first


def _make_stamp(span: PageSpan, rewritten: int) -> PageStamp:
    return span.size, _nanoseconds(span.at), rewritten << _REWRITTEN_BIT | span.decided_by


def _unpack(stamp: PageStamp) -> tuple[int, int]:
    """Return how often the conversation was rewritten, and the last entry that has a say in the page."""
    return stamp[2] >> _REWRITTEN_BIT, stamp[2] & (1 << _REWRITTEN_BIT) - 1


def _nanoseconds(at: str) -> int:
    try:
        return round(datetime.fromisoformat(at).timestamp() * 1000) * 1_000_000
    except (ValueError, OverflowError):
        return 0


def _make_stat(path: str, stamp: PageStamp) -> NoteStat:
    size, mtime_ns, ctime_ns = stamp
    return NoteStat(path, size, mtime_ns, 0, ctime_ns)
