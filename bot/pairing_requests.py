"""Pairing requests as owners are shown them."""

import math
from datetime import datetime, timedelta

from bot import phrases
from bot.buttons import buttons_for
from bot.messages import Choice
from bot.sanitize import one_line
from bot.state.access import PairingRequest

CODE_LIFETIME = timedelta(hours=1)
NAME_CHARS = 40


def format_stranger(stranger: PairingRequest) -> str:
    """Somebody by name and id: `Ann (telegram:7)`."""
    return f"{stranger.name} ({stranger.person})" if stranger.name else stranger.person


def format_person(stranger: PairingRequest) -> str:
    """Somebody by id and name, where it is told what was done: `telegram:7 (Ann)`. The id is what counts."""
    return f"{stranger.person} ({stranger.name})" if stranger.name else stranger.person


def minutes_left(stranger: PairingRequest, now: datetime) -> int:
    """How long a code still counts."""
    return format_minutes(datetime.fromisoformat(stranger.at) + CODE_LIFETIME - now)


def pairing_choices(stranger: PairingRequest, *, named: bool = False) -> tuple[Choice, ...]:
    """What an owner can answer to somebody who asks to be let in; `named`: where others ask as well."""
    let_in, as_guest, keep_out = (
        (phrases.CHOICE_LET_NAME_IN, phrases.CHOICE_NAME_AS_GUEST, phrases.CHOICE_KEEP_NAME_OUT)
        if named
        else (phrases.CHOICE_LET_IN, phrases.CHOICE_AS_GUEST, phrases.CHOICE_KEEP_OUT)
    )
    name = stranger.name or stranger.person
    return buttons_for(
        (
            Choice(let_in.format(name=name), f"/pair {stranger.code}"),
            Choice(as_guest.format(name=name), f"/pair {stranger.code} guest"),
            Choice(keep_out.format(name=name), f"/deny {stranger.person}"),
        )
    )


def sanitize_name(name: str) -> str:
    """What a stranger calls himself, fit to stand in a line that an owner reads: short, and without Markdown."""
    shown = "".join(
        letter for letter in one_line(name) if letter.isprintable() and letter not in "`*_[]()<>|~#\\"
    )
    return " ".join(shown.split())[:NAME_CHARS].strip()


def format_minutes(span: timedelta) -> int:
    """Return a span in whole minutes, at least one."""
    return max(1, math.ceil(span.total_seconds() / 60))
