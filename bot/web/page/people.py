"""The people who may talk with the assistant, who may not, and which of their accounts are one person."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from bot import phrases
from bot.access import Standing
from bot.change_names import describe_person, name_person
from bot.commands.people import parse_person
from bot.linked_people import LinkGraph
from bot.messages import OWNER_AT_TERMINAL, PersonId
from bot.sanitize import one_line
from bot.state.access import DecidedPerson, count_decided, list_decided, read_decided
from bot.state.database import StateFault
from bot.state.links import read_links
from bot.state.speakers import read_last_said
from bot.visible_names import escape_path
from bot.web.context import services_key
from bot.web.page.conversations import show_time
from bot.web.page.done import read_done
from bot.web.page.times import PageClock, ShownTime
from bot.web.page.urls import count_pages

if TYPE_CHECKING:
    from collections.abc import Iterator

    from aiohttp import web
    from apsw import Connection

    from bot.config.channel import ChannelSettings
    from bot.services import Services

LISTED = 100
"""People of each list on one page."""
MAX_LISTED_LINKS = 200
MAX_LISTED_ENTRIES = 500
"""Entries of the settings that are shown."""
BY_PAGE = PersonId("http", "page")
"""Who decides on the page. It is not the terminal, so owners are neither made nor removed here."""

Role = Literal["owner", "allowed", "guest", "denied"]
_ROLES: dict[Standing, Role] = {
    Standing.OWNER: "owner",
    Standing.ALLOWED: "allowed",
    Standing.GUEST: "guest",
    Standing.STRANGER: "denied",
}
_LISTS: dict[str, Role] = {"owners": "owner", "allow": "allowed", "guests": "guest"}
"""The lists of the settings, and what those on them are."""


@dataclass(frozen=True, slots=True)
class PersonView:
    """Somebody about whom was decided by a command or here."""

    person: str
    """`channel:id`, for forms."""
    name: str
    account: str
    """The same as `person`, as it is shown."""
    role: Role
    since: ShownTime | None
    decided_by: str
    last_said: ShownTime | None
    linked: tuple[str, ...]
    """Other accounts of this person."""
    in_settings: tuple[str, ...]
    """Keys of the settings that name this account too."""
    can_change: bool
    """Whether the role can be changed on the page: not an owner's."""


@dataclass(frozen=True, slots=True)
class SettingView:
    """An entry of a list in the settings."""

    key: str
    """Such as `access.allow`."""
    entry: str
    name: str
    """"" if it is not one person's, or the same as the entry."""
    role: Role
    now: Role
    """What they are at the moment: a decision may have changed that."""
    last_said: ShownTime | None
    is_person: bool


@dataclass(frozen=True, slots=True)
class LinkView:
    """Two accounts that an owner has linked."""

    person: str
    other: str
    shown_person: str
    shown_other: str


@dataclass(frozen=True, slots=True)
class PeopleList:
    """One page of the people who were let in, or of those who are blocked."""

    people: tuple[PersonView, ...]
    count: int
    page: int
    """From 1."""
    pages: int


@dataclass(frozen=True, slots=True)
class PeopleView:
    """The values of the template."""

    let_in: PeopleList
    blocked: PeopleList
    settings: tuple[SettingView, ...]
    named: tuple[tuple[str, str], ...]
    """Who has several accounts by the settings: the name, and the accounts in words."""
    links: tuple[LinkView, ...]
    more_links: int
    """Links that are not shown."""
    more_settings: int
    """Entries of the settings that are not shown."""
    waiting: int
    """How many wait with a code."""
    accounts: tuple[str, ...]
    """Accounts that can be linked, to choose from."""


async def read_people(services: "Services", *, page: int, denied_page: int) -> PeopleView:
    """Return a page of everybody. Raises StateFault."""
    waiting = len(await services.pairing.list_pending()) if services.settings.access.pairing else 0
    return await services.state.read(
        lambda db: _read_view(db, services, waiting=waiting, page=page, denied_page=denied_page)
    )


async def read_done_about_people(request: "web.Request", sentences: Mapping[str, str]) -> str:
    """Return what was done, as `read_done`, with the names of the accounts in the page's address; "" for none."""
    sentence, services = read_done(request, sentences), request.app[services_key]
    access, channels = services.access, services.settings.channels
    people = {}
    for name in ("who", "other"):
        if f"{{{name}}}" in sentence:
            person = parse_person(request.query.get(name, ""))
            if person is None or not _is_account(person, channels):
                return ""  # nothing else of the address is shown
            people[name] = person

    def read(db: "Connection") -> dict[str, str]:
        return {
            name: _shown(describe_person(db, person, access, channels)) for name, person in people.items()
        }

    try:
        return sentence.format(**await services.state.read(read)) if people else sentence
    except StateFault:  # the rest of the page says so
        return ""


def _is_account(person: PersonId, channels: "Mapping[str, ChannelSettings]") -> bool:
    """Return whether an id is what the ids of its channel look like."""
    channel = channels.get(person.channel)
    return person == OWNER_AT_TERMINAL or (
        channel is not None and not channel.explain_invalid_person(person.id)
    )


async def find_person(services: "Services", person: PersonId) -> PersonView | None:
    """Return somebody about whom was decided; None for anybody else. Raises StateFault."""

    def read(db: "Connection") -> PersonView | None:
        found = read_decided(db, str(person))
        if found is None:
            return None
        graph = services.access.read_link_graph(db)
        return _show_person(db, services, found, PageClock(services.now()), graph)

    return await services.state.read(read)


def _read_view(
    db: "Connection", services: "Services", *, waiting: int, page: int, denied_page: int
) -> PeopleView:
    clock, access = PageClock(services.now()), services.access
    graph = access.read_link_graph(db)
    let_in = _read_list(db, services, clock, graph, denied=False, page=page)
    links = read_links(db)
    settings = tuple(_list_settings(db, services, clock))
    rules = services.settings.access
    usable = ("owner", "allowed")

    def describe(account: str) -> str:
        return _shown(describe_person(db, PersonId.parse(account), access, services.settings.channels))

    return PeopleView(
        let_in=let_in,
        blocked=_read_list(db, services, clock, graph, denied=True, page=denied_page),
        settings=settings,
        named=tuple(
            (escape_path(one_line(name)), phrases.COMMA.join(map(_shown, ids)))
            for name, ids in access.people.items()
        ),
        links=tuple(LinkView(a, b, describe(a), describe(b)) for a, b in links[:MAX_LISTED_LINKS]),
        more_links=max(0, len(links) - MAX_LISTED_LINKS),
        more_settings=sum(len(getattr(rules, name)) for name in _LISTS) - len(settings),
        waiting=waiting,
        accounts=tuple(
            dict.fromkeys(
                [
                    *(each.person for each in let_in.people if each.role in usable),
                    *(each.entry for each in settings if each.is_person and each.now in usable),
                    "terminal:owner",
                ]
            )
        ),
    )


def _read_list(
    db: "Connection",
    services: "Services",
    clock: PageClock,
    graph: LinkGraph,
    *,
    denied: bool,
    page: int,
) -> PeopleList:
    count = count_decided(db, denied=denied)
    pages = count_pages(count, per_page=LISTED)
    page = min(page, pages)
    people = list_decided(db, denied=denied, limit=LISTED, offset=(page - 1) * LISTED)
    shown = tuple(_show_person(db, services, each, clock, graph) for each in people)
    return PeopleList(shown, count, page, pages)


def _show_person(
    db: "Connection", services: "Services", decided: DecidedPerson, clock: PageClock, graph: LinkGraph
) -> PersonView:
    access, person = services.access, PersonId.parse(decided.person)
    standing = access.read_standing(db, person)
    others = sorted(map(str, access.find_ids(db, person, graph) - {person}))
    rules = services.settings.access
    return PersonView(
        person=decided.person,
        name=_shown(decided.name or name_person(db, person, access, services.settings.channels)),
        account=_shown(decided.person),
        role=_ROLES[standing],
        since=show_time(clock, decided.at),
        decided_by=_name_decider(db, services, decided.decided_by),
        last_said=show_time(clock, read_last_said(db, decided.person)),
        linked=tuple(map(_shown, others)),
        in_settings=tuple(f"access.{name}" for name in _LISTS if decided.person in getattr(rules, name)),
        can_change=standing is not Standing.OWNER,
    )


def _name_decider(db: "Connection", services: "Services", person: str) -> str:
    if person == str(BY_PAGE):
        return phrases.WEB_DECIDED_HERE
    return _shown(name_person(db, PersonId.parse(person), services.access, services.settings.channels))


def _list_settings(db: "Connection", services: "Services", clock: PageClock) -> "Iterator[SettingView]":
    rules, listed = services.settings.access, 0
    for name, role in _LISTS.items():
        for entry in getattr(rules, name):
            if (listed := listed + 1) > MAX_LISTED_ENTRIES:
                return
            person = PersonId.parse(entry)
            is_person = person.id != "*" and "/" not in person.id
            called = name_person(db, person, services.access, services.settings.channels) if is_person else ""
            yield SettingView(
                key=f"access.{name}",
                entry=entry,
                name=_shown(called) if called != entry else "",
                role=role,
                now=_ROLES[services.access.read_standing(db, person)] if is_person else role,
                last_said=show_time(clock, read_last_said(db, entry)) if is_person else None,
                is_person=is_person,
            )


def _shown(text: str) -> str:
    return escape_path(one_line(text))
