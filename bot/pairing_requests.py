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
    return format_person(stranger.name, stranger.person)


def format_person(name: str, person: str) -> str:
    """Somebody by name, with the id (`channel:id`), which is what counts; without a name, the id alone."""
    return f"{name} ({person})" if name else person


def minutes_left(stranger: PairingRequest, now: datetime) -> int:
    """How long a code still counts."""
    return format_minutes(datetime.fromisoformat(stranger.at) + CODE_LIFETIME - now)


def pairing_choices(stranger: PairingRequest, *, named: bool = False) -> tuple[Choice, ...]:
    """What an owner can answer to somebody who asks to be let in; `named`: where others ask as well."""
    let_in, as_guest, block = (
        (phrases.CHOICE_LET_NAME_IN, phrases.CHOICE_NAME_AS_GUEST, phrases.CHOICE_BLOCK_NAME)
        if named
        else (phrases.CHOICE_LET_IN, phrases.CHOICE_AS_GUEST, phrases.CHOICE_BLOCK)
    )
    name = stranger.name or stranger.person
    return buttons_for(
        (
            Choice(let_in.format(name=name), f"/pair {stranger.code}"),
            Choice(as_guest.format(name=name), f"/pair {stranger.code} guest"),
            Choice(block.format(name=name), f"/deny {stranger.person}"),
        )
    )


def sanitize_name(name: str) -> str:
    """What a stranger calls himself, fit to stand in a line that an owner reads: short, and without Markdown."""
    shown = "".join(
        letter for letter in one_line(name) if letter.isprintable() and letter not in "`*_[]()<>|~#:\\"
    )
    return " ".join(shown.split())[:NAME_CHARS].strip()


def format_minutes(span: timedelta) -> int:
    """Return a span in whole minutes, at least one."""
    return max(1, math.ceil(span.total_seconds() / 60))
