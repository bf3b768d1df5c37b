"""Links between accounts of one person on several channels: made, undone and listed by owners."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from bot import phrases
from bot.access import TERMINAL, Standing
from bot.change_names import describe_person
from bot.linked_people import find_linked
from bot.messages import OWNER_AT_TERMINAL, PersonId
from bot.state.database import format_timestamp
from bot.state.links import delete_link, read_links, save_link
from bot.state.speakers import has_conversation

if TYPE_CHECKING:
    from apsw import Connection

    from bot.services import Services


async def link(services: "Services", person: PersonId, other: PersonId, *, by: PersonId, key: str) -> str:
    """Link two accounts of one person, once under this key; return the answer to the owner. Raises StateFault."""

    def work(db: "Connection") -> str:
        if person == other:
            return phrases.LINK_ITSELF
        for each in (person, other):
            if refusal := _refuse(services, db, each):
                return refusal
        is_new = save_link(db, str(person), str(other), by=str(by), at=format_timestamp(services.now()))
        people = sorted(services.access.find_ids(db, person), key=str)
        ids = phrases.COMMA.join(_describe(services, db, each) for each in people)
        phrase = phrases.LINKED if is_new else phrases.LINKED_ALREADY
        return phrase.format(ids=ids, person=person, other=other)

    return await services.pairing.decide_once(work, by=by, key=key)


async def unlink(services: "Services", person: PersonId, other: PersonId, *, by: PersonId, key: str) -> str:
    """Undo a link, once under this key; return the answer to the owner. Raises StateFault."""

    def work(db: "Connection") -> str:
        was_linked = delete_link(db, str(person), str(other))
        told = {
            "person": _describe(services, db, person),
            "other": _describe(services, db, other),
        }
        links = read_links(db)
        one_person = find_linked(str(person), {}, links, counts=lambda each: True)
        if str(other) in one_person:
            rows = [_format_link(services, db, each) for each in links if each[0] in one_person]
            phrase = phrases.UNLINKED_BUT if was_linked else phrases.LINKED_BY_OTHERS
            return phrase.format(**told, rows="\n".join(rows))
        name = services.access.find_name(person)
        if name and name == services.access.find_name(other):
            return phrases.LINK_IN_SETTINGS.format(person=person, name=name)
        return (phrases.UNLINKED if was_linked else phrases.NOT_LINKED).format(**told)

    return await services.pairing.decide_once(work, by=by, key=key)


async def list_links(services: "Services") -> str:
    """Return who is linked by the settings and by owners, and which links are inactive. Raises StateFault."""
    rows = await services.state.read(lambda db: list(_list_rows(services, db)))
    return phrases.LINKS.format(rows="\n".join(rows)) if rows else phrases.LINKS_NONE


def _describe(services: "Services", db: "Connection", person: PersonId) -> str:
    return describe_person(db, person, services.access, services.settings.channels)


def _format_link(services: "Services", db: "Connection", pair: tuple[str, str]) -> str:
    person, other = (_describe(services, db, PersonId.parse(each)) for each in pair)
    return phrases.LINK_ROW.format(person=person, other=other)


def _refuse(services: "Services", db: "Connection", person: PersonId) -> str:
    """Return why an account cannot be linked, "" if it can."""
    channels = services.settings.channels
    if name := services.access.find_name(person):
        return phrases.LINK_IN_SETTINGS.format(person=person, name=name)
    if person.channel == TERMINAL:
        return "" if person == OWNER_AT_TERMINAL else phrases.LINK_TERMINAL
    channel = channels.get(person.channel)
    if channel is None:
        return phrases.LINK_NO_CHANNEL.format(
            channel=person.channel, channels=phrases.COMMA.join([*channels, TERMINAL])
        )
    if "/" in person.id or channel.explain_invalid_person(person.id):
        return phrases.LINK_NO_ID.format(account=person, who=phrases.LINK_WHO)
    is_room = channel.private_chat(person.id) != person.id and has_conversation(db, str(person))
    if is_room or channel.is_group(person.id):
        return phrases.LINK_ROOM.format(person=person)
    standing = services.access.read_standing(db, person)
    if standing >= Standing.ALLOWED:
        return ""
    phrase = phrases.LINK_GUEST if standing is Standing.GUEST else phrases.LINK_STRANGER
    return phrase.format(who=_describe(services, db, person), person=person)


def _list_rows(services: "Services", db: "Connection") -> Iterator[str]:
    access = services.access
    for name, ids in access.people.items():
        idle = [each for each in ids if access.read_standing(db, PersonId.parse(each)) < Standing.ALLOWED]
        phrase = phrases.LINK_ROW_SET_BUT if idle else phrases.LINK_ROW_SET
        yield phrase.format(name=name, ids=phrases.COMMA.join(ids), idle=phrases.COMMA.join(idle))
    for pair in read_links(db):
        row = _format_link(services, db, pair)
        yield phrases.LINK_ROW_BUT.format(row=row, why=why) if (why := _why_idle(services, db, pair)) else row


def _why_idle(services: "Services", db: "Connection", pair: tuple[str, str]) -> str:
    """Return why a link is inactive at the moment; "" if it is active."""
    for person in map(PersonId.parse, pair):
        if services.access.find_name(person):
            return phrases.LINK_IDLE_SETTINGS.format(person=person)
        if services.access.read_standing(db, person) < Standing.ALLOWED:
            return phrases.LINK_IDLE_STANDING.format(person=person)
    return ""
