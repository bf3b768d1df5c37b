"""What a search on the page is limited to, as its address says it."""

from dataclasses import dataclass
from datetime import date
from urllib.parse import urlencode

from aiohttp import web

from bot.search_sources import SearchSource
from bot.timeparse import day_in_words
from bot.visible_names import escape_path
from bot.web.context import services_key
from bot.web.conversations import searches_chats

SEARCH = "/search"
MAX_FOLDER_CHARS = 300


@dataclass(frozen=True, slots=True)
class SearchFilters:
    """The filters of a search."""

    source: SearchSource = "notes"
    folder: str = ""
    """Name of the only top-level folder whose notes are searched; "" for all notes."""
    first: date | None = None
    """The first day; None for no limit."""
    last: date | None = None

    @property
    def has_dates(self) -> bool:
        """Whether only passages of some days are wanted."""
        return self.first is not None or self.last is not None

    @property
    def is_set(self) -> bool:
        """Whether the search is limited at all, besides its source."""
        return bool(self.folder) or self.has_dates

    @property
    def is_contradictory(self) -> bool:
        """Whether no day is within the first and the last one."""
        return self.first is not None and self.last is not None and self.first > self.last

    @property
    def within(self) -> tuple[str, ...] | None:
        """The folders to search, see `Memory.search`."""
        return (self.folder,) if self.folder else None

    @property
    def shown_folder(self) -> str:
        """The folder's name, for people."""
        return escape_path(self.folder)

    @property
    def shown_first(self) -> str:
        """The first day in words; "" for none."""
        return day_in_words(self.first) if self.first else ""

    @property
    def shown_last(self) -> str:
        """The last day in words; "" for none."""
        return day_in_words(self.last) if self.last else ""

    def contains(self, day: date | None) -> bool:
        """Return whether something of this day is wanted; of an unknown day, only if no dates are set."""
        if day is None:
            return not self.has_dates
        return (self.first is None or day >= self.first) and (self.last is None or day <= self.last)

    def address(self, query: str, *, limit: int = 0) -> str:
        """Return the address of a search with these filters."""
        asked = {
            "q": query,
            "source": self.source if self.source != "notes" else "",
            "folder": self.folder,
            "from": str(self.first or ""),
            "to": str(self.last or ""),
            "limit": str(limit or ""),
        }
        query_string = urlencode({name: value for name, value in asked.items() if value}, errors="replace")
        return f"{SEARCH}?{query_string}"


def read_filters(request: web.Request) -> SearchFilters:
    """Return the filters of a request; what is no filter is left out, and folders where no notes are searched."""
    asked = request.query
    source: SearchSource = "notes"
    if asked.get("source") in ("conversations", "all") and searches_chats(request.app[services_key]):
        source = "conversations" if asked["source"] == "conversations" else "all"
    folder = asked.get("folder", "")[:MAX_FOLDER_CHARS] if source != "conversations" else ""
    return SearchFilters(source, folder, _parse_day(asked.get("from", "")), _parse_day(asked.get("to", "")))


def _parse_day(text: str) -> date | None:
    try:
        return date.fromisoformat(text.strip())
    except ValueError:
        return None
