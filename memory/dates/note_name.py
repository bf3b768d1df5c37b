"""The date in a note's file name."""

import re
from datetime import date
from functools import cache

from memory.dates.periods import make_day


def note_date(path: str) -> date | None:
    """Return the date at the beginning of a note's file name, such as a daily log's; None if there is none."""
    name = path.rpartition("/")[2]
    if not name[10:11].isdigit() and _leading_day_pattern().match(name):
        return make_day(int(name[:4]), int(name[5:7]), int(name[8:10]))
    return None


@cache
def _leading_day_pattern() -> re.Pattern[str]:
    return re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
