"""Dates: which days a question speaks of, and which day a note is of."""

from memory.dates.note_name import note_date
from memory.dates.reading import DateSpan, read_dates

__all__ = ["DateSpan", "note_date", "read_dates"]
