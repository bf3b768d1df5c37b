"""Find a time zone that is named in a moment: it would come at that hour here."""

import re
from zoneinfo import available_timezones

from bot.when.ambiguity.check import Finding, ReadMoment

_SHORT_ZONE = re.compile(
    r"(?:UTC|GMT|BST|CES?T|MES?Z|EES?T|WES?T|[ECMP][SD]T|JST|MSK|AE[SD]T)(?![A-Za-z])(?:[+-][0-9]{1,2})?"
)
_NAMED_ZONE = re.compile(
    r"(?P<place>[A-Z][a-z]{1,20}(?: [A-Z][a-z]{1,20}){0,2}) (?:time|Time|Zeit)(?![A-Za-z])"
)
_ZONES_OF_AMERICA = ("Eastern", "Central", "Mountain", "Pacific")


def is_in_another_zone(moment: ReadMoment) -> Finding:
    """At 9 Tokyo time, 9 Uhr Londoner Zeit, 9 EST: it would ring at 9:00 here."""
    if not moment.said.clocks or moment.end >= len(moment.line.tokens):
        return False
    behind = moment.line.text[moment.line.tokens[moment.end].start :]
    if short := _SHORT_ZONE.match(behind):
        return {"zone": short[0]}
    named = _NAMED_ZONE.match(behind)
    return named is not None and _is_zone(named["place"]) and {"zone": named[0]}


def _is_zone(place: str) -> bool:
    if place in _ZONES_OF_AMERICA:
        return True
    known = {name.rsplit("/", 1)[-1] for name in available_timezones()}
    words = place.replace(" ", "_")
    return words in known or words.removesuffix("er") in known
