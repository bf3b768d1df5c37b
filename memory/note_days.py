"""Notes by the day that their name begins with, such as daily logs."""

from collections.abc import Iterable, Mapping
from datetime import date

from memory.dates.note_name import note_date
from memory.index.protocol import Index


class NotesByDay:
    """The latest grouping, so that the next page of the same notes costs nothing."""

    def __init__(self) -> None:
        self._version = ""
        self._days: Mapping[date, list[str]] = {}

    def read(self, index: Index) -> Mapping[date, list[str]]:
        """Return the paths of each day, the latest day first, from the index."""
        version = f"{index.identity()} {index.version()}"
        if version != self._version:
            dated = ((path, date.fromordinal(day)) for path, day in index.dated_notes())
            self._days, self._version = _group(dated), version
        return self._days


def group_by_day(paths: Iterable[str]) -> Mapping[date, list[str]]:
    """Return the paths of each day, the latest day first; notes of no day are left out."""
    return _group((path, day) for path in paths if (day := note_date(path)))


def _group(dated: Iterable[tuple[str, date]]) -> Mapping[date, list[str]]:
    found: dict[date, list[str]] = {}
    for path, day in dated:
        found.setdefault(day, []).append(path)
    return {day: sorted(found[day]) for day in sorted(found, reverse=True)}
