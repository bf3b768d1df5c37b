"""Routes of the page about people, and of its forms. All of them need `server.token`."""

from typing import TYPE_CHECKING

from aiohttp import web

from bot import linking, phrases
from bot.commands.people import parse_person
from bot.language.text import localize
from bot.messages import PersonId
from bot.pairing_requests import format_person
from bot.state.access import Decision, read_decision
from bot.state.database import StateFault
from bot.state.links import read_links
from bot.web.changes import new_key
from bot.web.context import services_key
from bot.web.forms import add_form, read_form
from bot.web.page.done import done_response
from bot.web.page.people import BY_PAGE, find_person, read_done_about_people, read_people
from bot.web.page.rendering import page_response
from bot.web.page.urls import page_number

if TYPE_CHECKING:
    from bot.services import Services

PEOPLE = "/people"
CHANGE = "/people/change"
DENY = "/people/deny"
LINK = "/people/link"
UNLINK = "/people/unlink"
MAX_ACCOUNT_CHARS = 200
"""What is typed beyond it is not looked at."""


def add_people(app: web.Application) -> None:
    """Add the people to the application."""
    app.router.add_get(PEOPLE, _page)
    app.router.add_get(DENY, _ask_to_deny)
    add_form(app, CHANGE, _change)
    add_form(app, DENY, _deny)
    add_form(app, LINK, _link, typed=("person", "other"))
    add_form(app, UNLINK, _unlink)


async def _page(
    request: web.Request, *, status: int = 200, problem: str = "", person: str = "", other: str = ""
) -> web.Response:
    """Return the page; `problem`: why nothing was done; `person` and `other`: what was typed to be linked."""
    try:
        people = await read_people(
            request.app[services_key],
            page=page_number(request.query.get("page", "")),
            denied_page=page_number(request.query.get("blocked", "")),
        )
    except StateFault as fault:
        return _refuse(request, 503, localize(fault))
    return page_response(
        request,
        "people.html",
        here=PEOPLE,
        status=status,
        shown=people,
        done=await read_done_about_people(request, phrases.WEB_PEOPLE_DONE) if status == 200 else "",
        problem=problem,
        person_typed=person,
        other_typed=other,
    )


async def _ask_to_deny(request: web.Request) -> web.Response:
    person = _parse(request.query.get("person", ""))
    try:
        found = await find_person(request.app[services_key], person) if person else None
    except StateFault as fault:
        return _refuse(request, 503, localize(fault))
    if found is None:
        return await _page(request, status=404, problem=phrases.WEB_NO_PERSON)
    if not found.can_change:
        return await _page(
            request,
            status=409,
            problem=phrases.DENY_PAIRED_OWNER.format(
                who=format_person(found.name, found.account), person=found.person
            ),
        )
    return page_response(request, "deny_person.html", here=PEOPLE, shown=found)


async def _change(request: web.Request) -> web.Response:
    form, services = await read_form(request), request.app[services_key]
    person, to = _parse(form.get("person", "")), form.get("to", "")
    act = {"allowed": services.pairing.allow, "guest": services.pairing.make_guest}.get(to)
    if person is None or act is None:
        return await _page(request, status=400, problem=phrases.WEB_NO_PERSON)
    wanted: Decision = "guest" if to == "guest" else "allowed"
    try:
        if await _read_decision(services, person) is None:
            return await _page(request, status=404, problem=phrases.WEB_NO_PERSON)
        answer = await act(person, by=BY_PAGE, key=new_key())
        is_done = await _read_decision(services, person) == wanted
    except StateFault as fault:
        return _refuse(request, 503, localize(fault))
    return _done(wanted, person) if is_done else await _page(request, status=409, problem=answer)


async def _deny(request: web.Request) -> web.Response:
    person = _parse((await read_form(request)).get("person", ""))
    services = request.app[services_key]
    if person is None:
        return await _page(request, status=400, problem=phrases.WEB_NO_PERSON)
    try:
        if await _read_decision(services, person) is None:
            return await _page(request, status=404, problem=phrases.WEB_NO_PERSON)
        answer = await services.pairing.deny(person, by=BY_PAGE, key=new_key())
        is_done = await _read_decision(services, person) == "denied"
    except StateFault as fault:
        return _refuse(request, 503, localize(fault))
    return _done("blocked", person) if is_done else await _page(request, status=409, problem=answer)


async def _link(request: web.Request) -> web.Response:
    form, services = await read_form(request), request.app[services_key]
    typed = [form.get(name, "").strip()[:MAX_ACCOUNT_CHARS] for name in ("person", "other")]
    person, other = map(_parse, typed)
    if person is None or other is None:
        return await _page(
            request, status=400, problem=phrases.WEB_NO_ACCOUNT, person=typed[0], other=typed[1]
        )
    try:
        answer = await linking.link(services, person, other, by=BY_PAGE, key=new_key())
        is_done = await _are_linked(services, person, other)
    except StateFault as fault:
        return _refuse(request, 503, localize(fault))
    if is_done:
        return _done("linked", person, other)
    return await _page(request, status=409, problem=answer, person=typed[0], other=typed[1])


async def _unlink(request: web.Request) -> web.Response:
    form, services = await read_form(request), request.app[services_key]
    person, other = _parse(form.get("person", "")), _parse(form.get("other", ""))
    if person is None or other is None:
        return await _page(request, status=400, problem=phrases.WEB_NO_ACCOUNT)
    try:
        if not await _are_linked(services, person, other):
            return await _page(
                request, status=404, problem=phrases.NOT_LINKED.format(person=person, other=other)
            )
        await linking.unlink(services, person, other, by=BY_PAGE, key=new_key())
    except StateFault as fault:
        return _refuse(request, 503, localize(fault))
    return _done("unlinked", person, other)


def _done(key: str, person: PersonId, other: PersonId | None = None) -> web.Response:
    return done_response(PEOPLE, key, who=str(person), other=str(other or ""))


def _refuse(request: web.Request, status: int, message: str) -> web.Response:
    return page_response(
        request, "refused.html", here=PEOPLE, status=status, title=phrases.WEB_NOT_AVAILABLE, message=message
    )


async def _read_decision(services: "Services", person: PersonId) -> Decision | None:
    return await services.state.read(lambda db: read_decision(db, str(person)))


async def _are_linked(services: "Services", person: PersonId, other: PersonId) -> bool:
    first, second = sorted((str(person), str(other)))
    return (first, second) in await services.state.read(read_links)


def _parse(text: str) -> PersonId | None:
    return parse_person(text.strip()[:MAX_ACCOUNT_CHARS])
