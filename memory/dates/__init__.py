"""Find the days that a query names, and the day that a note or passage is about."""

from memory.dates.note_name import note_date
from memory.dates.passage_dates import CORE_NOTE, passage_dates
from memory.dates.query_dates import DateSpan, read_dates

__all__ = ["CORE_NOTE", "DateSpan", "note_date", "passage_dates", "read_dates"]
