"""The notes by date: years, the months of a year, the days of a month."""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date

from aiohttp import web

from bot import phrases
from bot.visible_names import escape_path
from bot.web.context import services_key
from bot.web.page.notes import view_title
from bot.web.page.rendering import page_response
from bot.web.page.urls import DAYS_URL, NOTES_URL, count_pages, note_url, page_number

NOTES_PER_PAGE = 100


@dataclass(frozen=True, slots=True)
class Period:
    """A year or a month with notes."""

    name: str
    address: str
    notes: int


@dataclass(frozen=True, slots=True)
class DayNote:
    """A note of a day."""

    day: date
    path: str
    title: str
    """"" if it has none but its name."""
    address: str


def add_note_days(app: web.Application) -> None:
    """Add the pages to the application."""
    app.router.add_get(DAYS_URL, _show_days)
    app.router.add_get(DAYS_URL + "/{period}", _show_days)


async def _show_days(request: web.Request) -> web.Response:
    days = await request.app[services_key].memory.notes_by_day()
    asked = request.match_info.get("period", "")
    if not asked:
        years = Counter[int]()
        for day, paths in days.items():
            years[day.year] += len(paths)
        return _days_page(
            request,
            phrases.WEB_NOTES_BY_DATE,
            [Period(f"{year}", _address(f"{year}"), years[year]) for year in years],
        )
    found = re.fullmatch(r"([0-9]{4})(?:-(0[1-9]|1[0-2]))?", asked)
    if found is None:
        raise web.HTTPNotFound
    year, month = int(found[1]), int(found[2] or 0)
    inside = {day: paths for day, paths in days.items() if day.year == year and month in (0, day.month)}
    if not month:
        months = Counter[date]()
        for day, paths in inside.items():
            months[day.replace(day=1)] += len(paths)
        shown = [Period(_name_month(each), _address(f"{year}-{each:%m}"), months[each]) for each in months]
        return _days_page(request, f"{year}", shown, above=[_years()])
    title = _name_month(date(max(year, 1), month, 1))
    notes = [(day, path) for day, paths in inside.items() for path in paths]
    pages = count_pages(len(notes), per_page=NOTES_PER_PAGE)
    number = min(page_number(request.query.get("page", "")), pages)
    shown_notes = notes[(number - 1) * NOTES_PER_PAGE : number * NOTES_PER_PAGE]
    titles = await request.app[services_key].memory.titles_of([path for _, path in shown_notes])
    return _days_page(
        request,
        title,
        [],
        notes=[_view(*each) for each in zip(shown_notes, titles, strict=True)],
        above=[_years(), Period(f"{year}", _address(f"{year}"), 0)],
        earlier=f"{request.path}?page={number - 1}" if number > 1 else "",
        later=f"{request.path}?page={number + 1}" if number < pages else "",
    )


def _view(note: tuple[date, str], title: str) -> DayNote:
    day, path = note
    return DayNote(day, escape_path(path), view_title(title, path.rpartition("/")[2]), note_url(path))


def _address(period: str) -> str:
    return f"{DAYS_URL}/{period}"


def _name_month(day: date) -> str:
    return phrases.WEB_MONTH.format(month=phrases.MONTHS[day.month - 1], year=day.year)


def _years() -> Period:
    return Period(phrases.WEB_BY_DATE, DAYS_URL, 0)


def _days_page(
    request: web.Request,
    title: str,
    periods: list[Period],
    *,
    notes: Sequence[DayNote] = (),
    above: Sequence[Period] = (),
    earlier: str = "",
    later: str = "",
) -> web.Response:
    return page_response(
        request,
        "note_days.html",
        here=NOTES_URL,
        title=title,
        steps=[Period(phrases.WEB_PAGES[NOTES_URL], NOTES_URL, 0), *above],
        is_current=request.app[services_key].memory.has_synced,
        periods=periods,
        notes=notes,
        earlier=earlier,
        later=later,
    )
