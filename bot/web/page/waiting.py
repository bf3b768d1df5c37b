"""Who waits to be let in, with buttons that decide about them."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from bot import phrases
from bot.commands.people import parse_person
from bot.pairing_requests import minutes_left
from bot.said_in_chats import format_chat
from bot.sanitize import one_line
from bot.state.access import Decision, read_decision
from bot.web.forms import request_key
from bot.web.page.people import BY_PAGE
from bot.web.page.times import PageClock, ShownTime

if TYPE_CHECKING:
    from bot.services import Services

DECIDE: Final = "/waiting"
_DECISIONS: Final[dict[str, Decision]] = {"let-in": "allowed", "guest": "guest", "blocked": "denied"}
"""What each button means; they are also keys of `phrases.WEB_DONE`."""


@dataclass(frozen=True, slots=True)
class WaitingView:
    """Somebody who waits to be let in."""

    code: str
    person: str
    """`channel:id`."""
    name: str
    """What they call themselves; "" if unknown."""
    channel: str
    since: ShownTime | None
    minutes: int
    """How long the code still counts."""


class NotDecided(Exception):
    """Nothing was decided about somebody; the text says why."""


async def waiting_view(services: "Services") -> tuple[WaitingView, ...]:
    """Return who waits, whoever came first at the beginning. Raises StateFault."""
    clock = PageClock(services.now())
    return tuple(
        WaitingView(
            each.code,
            one_line(each.person),
            each.name,
            format_chat(each.person.partition(":")[0], name="", app=""),
            clock.iso(each.at),
            minutes_left(each, clock.now),
        )
        for each in await services.pairing.list_pending()
    )


async def decide(services: "Services", fields: dict[str, str]) -> str:
    """Do what the pressed button says about the person of the form, and return its name (`let-in`, `guest`, `blocked`).

    The person must be waiting with the code of the form. A form that is sent twice decides once. Raises NotDecided and
    StateFault.
    """
    button, code = fields.get("decision", ""), fields.get("code", "")
    decision, person = _DECISIONS.get(button), parse_person(fields.get("person", ""))
    if decision is None or person is None:
        raise NotDecided(phrases.WEB_NOT_WAITING)
    key = f"{request_key(fields)}/{person}/{button}"
    waits = any(
        (each.person, each.code) == (str(person), code) for each in await services.pairing.list_pending()
    )
    if not waits:
        if await services.state.read(lambda db: read_decision(db, str(person))) == decision:
            return button  # decided already, such as by this form
        raise NotDecided(phrases.WEB_NOT_WAITING)
    if decision == "denied":
        answer = await services.pairing.deny(person, by=BY_PAGE, key=key)
    else:
        answer = await services.pairing.pair(code, decision=decision, by=BY_PAGE, key=key)
    if await services.state.read(lambda db: read_decision(db, str(person))) != decision:
        raise NotDecided(answer)
    return button
