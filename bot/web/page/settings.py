"""The page of the settings: each with its value, its source and its meaning; shown, not edited."""

import asyncio
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import PurePath
from typing import TYPE_CHECKING

from aiohttp import web

from bot import phrases
from bot.config.reload import describe_pending
from bot.sanitize import one_line
from bot.web.context import services_key
from bot.web.page.panel import load_panel
from bot.web.page.rendering import page_response

if TYPE_CHECKING:
    from bot.config.listing import ListedSetting, ListedTable
    from bot.services import Services

SETTINGS = "/settings"

MAX_VALUE_CHARS = 500
"""The longest value that is shown."""
MAX_SHOWN = 160
"""Settings on one page; only files with very many tables have more."""
MAX_QUERY_CHARS = 200


@dataclass(frozen=True, slots=True)
class SettingRow:
    """One setting."""

    name: str
    value: str
    default: str
    """"" unless the value differs from it."""
    source: str
    differs: bool
    needs_restart: bool
    meaning: str


@dataclass(frozen=True, slots=True)
class SettingsGroup:
    """The settings of one table of the file."""

    title: str
    about: str
    rows: tuple[SettingRow, ...]

    @property
    def changed(self) -> int:
        """How many differ from their default."""
        return sum(row.differs for row in self.rows)


@dataclass(frozen=True, slots=True)
class SettingsView:
    """The values of the template."""

    file: str
    """The settings file; "" for none."""
    secrets: str
    """The file of secrets beside it; "" for none."""
    workspace: str
    groups: tuple[SettingsGroup, ...]
    left_out: int
    """Settings beyond `MAX_SHOWN`."""
    total: int
    """All settings, shown or not."""
    changed: int
    """Those of them that differ from their defaults."""


def add_settings(app: web.Application) -> None:
    """Add the page to the application."""
    app.router.add_get(SETTINGS, _settings)


async def _settings(request: web.Request) -> web.Response:
    services = request.app[services_key]
    query = " ".join(request.query.get("q", "")[:MAX_QUERY_CHARS].split())
    changed = request.query.get("changed") == "1"
    view, pending = await asyncio.gather(
        asyncio.to_thread(settings_view, services, query=query, changed=changed),
        load_panel(_pending(services)),
    )
    return page_response(
        request, "settings.html", here=SETTINGS, shown=view, pending=pending, query=query, changed=changed
    )


def settings_view(services: "Services", *, query: str = "", changed: bool = False) -> SettingsView:
    """Return the settings that contain all words of `query`, without secrets; with `changed` only those that differ.

    It blocks: the meanings are read from the settings' source, once.
    """
    from bot.config.listing import list_settings

    settings, redact = services.settings, _redaction(services)
    tables = list(list_settings(settings, is_live=services.live_settings.is_live))
    groups, shown, found = [], 0, 0
    for table in tables:
        rows = tuple(_rows(table, redact, query=query, changed=changed))
        found += len(rows)
        rows = rows[: MAX_SHOWN - shown]
        shown += len(rows)
        if rows:
            title = redact(table.key) or phrases.WEB_SETTINGS_TOP
            groups.append(SettingsGroup(one_line(title), table.about, rows))
    return SettingsView(
        file=redact(str(settings.file or "")),
        secrets=redact(str(settings.secrets_file or "")),
        workspace=redact(str(settings.workspace)),
        groups=tuple(groups),
        left_out=found - shown,
        total=sum(len(table.settings) for table in tables),
        changed=sum(each.differs for table in tables for each in table.settings),
    )


def _rows(
    table: "ListedTable", redact: Callable[[str], str], *, query: str, changed: bool
) -> Iterator[SettingRow]:
    words = query.casefold().split()
    for each in table.settings:
        if changed and not each.differs:
            continue
        value = one_line(redact(each.value), limit=MAX_VALUE_CHARS)  # redacted before it is cut
        text = f"{redact(each.key)}\n{value}\n{each.meaning}\n{table.about}".casefold()
        if all(word in text for word in words):
            yield SettingRow(
                name=one_line(each.name),
                value=value,
                default=each.default if each.differs else "",
                source=one_line(redact(_describe_source(each))),
                differs=each.differs,
                needs_restart=each.needs_restart,
                meaning=each.meaning,
            )


def _describe_source(setting: "ListedSetting") -> str:
    source = setting.source
    name = PurePath(source.name).name if source.kind == "file" else source.name
    return phrases.WEB_SETTING_SOURCES[source.kind].format(name=name)


async def _pending(services: "Services") -> str:
    return _redaction(services)(await describe_pending(services.live_settings))


def _redaction(services: "Services") -> Callable[[str], str]:
    from bot.log import collect_secrets
    from memory.redaction import Redaction

    return Redaction(collect_secrets(services.settings))
