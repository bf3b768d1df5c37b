"""The day that each passage of a note is about, if the note says so; never guessed."""

import re
from collections.abc import Iterator, Sequence
from datetime import date
from functools import cache, lru_cache
from typing import TYPE_CHECKING

from memory.dates.note_name import note_date
from memory.dates.periods import make_day

if TYPE_CHECKING:
    from memory.chunker import Passage

CORE_NOTE = "MEMORY.md"
"""The core note is always valid: it has no day, whatever dates it contains."""

_DAY = (
    r"(?<!\d)(?:(?P<y>\d{4})(?P<sign>[-/._])(?P<m>\d{1,2})(?P=sign)(?P<d>\d{1,2})"
    r"|(?P<d2>\d{1,2})\.[ ]?(?P<m2>\d{1,2})\.[ ]?(?P<y2>\d{4})"
    r"|(?P<y3>\d{4})[年년]\s?(?P<m3>\d{1,2})[月월]\s?(?P<d3>\d{1,2}))(?!\d)"
)
"""An unambiguous date in digits: 3/5/2024 is May in one country and March in another."""


def passage_dates(path: str, passages: Sequence["Passage"]) -> list[date | None]:
    """Return the day of each passage; None if the note does not say.

    A daily log's passages have the log's day. Others have the day at their beginning, else that of the
    nearest heading with one, else that of the front matter, else that of the file name. MEMORY.md has none.
    """
    if path == CORE_NOTE:
        return [None] * len(passages)
    if log := note_date(path):
        return [log] * len(passages)
    of_note = _front_matter_date(passages) or _name_date(path)
    return [_passage_date(each) or _heading_date(each.heading) or of_note for each in passages]


def _passage_date(passage: "Passage") -> date | None:
    if not _may_contain_date(passage.text[:80]):
        return None
    return _parse_day(match) if (match := _line_start_pattern().match(passage.text)) else None


@lru_cache(maxsize=256)
def _heading_date(heading: str) -> date | None:
    return _last_day(_find_dates(heading)) if _may_contain_date(heading) else None


def _front_matter_date(passages: Sequence["Passage"]) -> date | None:
    """Return the latest date among the front matter's fields that say when it was written."""
    if not passages or passages[0].line_start != 1 or not passages[0].text.startswith("---\n"):
        return None
    return max(filter(None, map(_parse_day, _date_field_pattern().finditer(passages[0].text))), default=None)


def _name_date(path: str) -> date | None:
    name = path.removesuffix(".md").replace("/", "-")
    if not _may_contain_date(name):
        return None
    compact = (make_day(int(m[1]), int(m[2]), int(m[3])) for m in _compact_date_pattern().finditer(name))
    return _last_day(_find_dates(name)) or _last_day(compact)


def _find_dates(text: str) -> Iterator[date | None]:
    return map(_parse_day, _date_pattern().finditer(text))


def _last_day(found: Iterator[date | None]) -> date | None:
    days = [day for day in found if day]
    return days[-1] if days else None


def _parse_day(match: re.Match[str]) -> date | None:
    for end in ("", "2", "3"):
        if match[f"y{end}"]:
            return make_day(*(int(match[f"{part}{end}"]) for part in "ymd"))
    return None


def _may_contain_date(text: str) -> bool:
    """Return False quickly for a text without four digits in a row."""
    return _four_digits_pattern().search(text) is not None


@cache
def _four_digits_pattern() -> re.Pattern[str]:
    return re.compile(r"\d{4}")


@cache
def _line_start_pattern() -> re.Pattern[str]:
    """Return the pattern of a date at the beginning of a line, after list, table, quote, bold or task markers."""
    return re.compile(r"(?:\s|\[[ xX]\]\s|[-*+>|#(\[_~]|\d{1,3}[.)]\s(?!\d{1,2}\.\s?\d{4}))*+" + _DAY)


@cache
def _date_pattern() -> re.Pattern[str]:
    return re.compile(_DAY)


@cache
def _compact_date_pattern() -> re.Pattern[str]:
    return re.compile(r"(?<!\d)((?:19|20)\d{2})(\d{2})(\d{2})(?!\d)")


@cache
def _date_field_pattern() -> re.Pattern[str]:
    return re.compile(r"(?mi)^(?:date|created|updated|modified|last[_-]modified)\s*:\s*[\"']?" + _DAY)
