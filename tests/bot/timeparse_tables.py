"""Checks of one row of a table of times, as people write them in Berlin on a Wednesday."""

from datetime import datetime
from zoneinfo import ZoneInfo

import pytest

from bot.timeparse import TimeParseError, read_when

BERLIN = ZoneInfo("Europe/Berlin")
NOW = datetime(2026, 11, 18, 10, 15, 20, tzinfo=BERLIN)  # a Wednesday


def check_understood(row: str) -> None:
    """Check `phrase | due | rule | text`; rule and text may be left out."""
    phrase, due, *more = (cell.strip() for cell in row.split("|"))
    rule, text = [*more, "", ""][:2]
    when, rest = read_when(phrase, NOW, BERLIN)
    assert (when.due.replace(tzinfo=None), when.rule, rest) == (datetime.fromisoformat(due), rule, text)


def check_refused(phrase: str) -> None:
    """Check that a phrase is refused, with an example or because it is in the past."""
    with pytest.raises(TimeParseError) as refused:
        read_when(phrase, NOW, BERLIN)
    assert any(mend in str(refused.value) for mend in ("`", "past"))
