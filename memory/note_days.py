"""Notes by the day that their name begins with, such as daily logs."""

from collections.abc import Iterable, Mapping
from datetime import date

from memory.dates.note_name import note_date


class NotesByDay:
    """The latest grouping, so that the next page of the same notes costs nothing."""

    def __init__(self) -> None:
        self._paths: Iterable[str] | None = None
        self._days: Mapping[date, list[str]] = {}

    def group(self, paths: Iterable[str]) -> Mapping[date, list[str]]:
        """Return the paths of each day, the latest day first. The same object of paths must not change."""
        if paths is not self._paths:
            self._days, self._paths = group_by_day(paths), paths
        return self._days


def group_by_day(paths: Iterable[str]) -> Mapping[date, list[str]]:
    """Return the paths of each day, the latest day first; notes of no day are left out."""
    found: dict[date, list[str]] = {}
    for path in paths:
        if "0" <= path[path.rfind("/") + 1] <= "9" and (day := note_date(path)):
            found.setdefault(day, []).append(path)
    return {day: sorted(found[day]) for day in sorted(found, reverse=True)}
