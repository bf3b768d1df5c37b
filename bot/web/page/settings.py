"""The page of the settings: each with value, source and meaning, and how it is changed; shown, not edited."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import PurePath
from typing import TYPE_CHECKING
from urllib.parse import urlencode

from aiohttp import web

from bot import english, phrases
from bot.config.reload import describe_pending
from bot.sanitize import one_line
from bot.web.context import services_key
from bot.web.page.panel import load_panel
from bot.web.page.rendering import page_response
from bot.web.page.setting_help import SettingHelp, explain_change
from memory.stop_words import detect_stop_words

if TYPE_CHECKING:
    from bot.config.listing import ListedSetting, ListedTable
    from bot.config.settings import Settings
    from bot.services import Services

SETTINGS = "/settings"

MAX_VALUE_CHARS = 500
"""The longest value that is shown."""
MAX_SHOWN = 120
"""Settings on one page; only files with very many tables have more."""
MAX_QUERY_CHARS = 200
MAX_EXPLAINED = 6
"""Found settings of which it is shown how to change them; with more, each has a link to that."""
_ASKING = frozenset({"set", "change", "setting", "settings", "configure", "find", "turn", "want"})
"""What people who look for a setting also type."""


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
    address: str
    """Of this setting alone, with how it is changed."""
    help: SettingHelp | None
    """None if too many settings are shown."""


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
    is_partial: bool
    """Whether no setting has all words of the query; those with the most are shown."""


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
    """Return the settings that a query finds, without secrets; with `changed` only those that differ.

    A query finds the settings that contain all its words, or the most of them. It blocks: the meanings are read from
    the settings' source, once.
    """
    from bot.config.listing import list_settings

    settings, redact = services.settings, _redaction(services)
    tables = list(list_settings(settings, is_live=services.live_settings.is_live))
    words = _words_of(query)
    counts = {
        each.key: _count(words, each, table, redact)
        for table in tables
        for each in table.settings
        if each.differs or not changed
    }
    if query in counts:  # its address
        counts = {query: len(words)}
    most = max(counts.values(), default=0)
    wanted = {key for key, count in counts.items() if count == most and (most or not words)}
    explained = bool(words) and len(wanted) <= MAX_EXPLAINED
    groups, shown = list[SettingsGroup](), 0
    for table in tables:
        picked = [each for each in table.settings if each.key in wanted][: MAX_SHOWN - shown]
        shown += len(picked)
        rows = tuple(_row(each, table, settings, redact, explained=explained) for each in picked)
        if rows:
            title = redact(table.key) or phrases.WEB_SETTINGS_TOP
            groups.append(SettingsGroup(one_line(title), table.about, rows))
    return SettingsView(
        file=redact(str(settings.file or "")),
        secrets=redact(str(settings.secrets_file or "")),
        workspace=redact(str(settings.workspace)),
        groups=tuple(groups),
        left_out=len(wanted) - shown,
        total=sum(len(table.settings) for table in tables),
        changed=sum(each.differs for table in tables for each in table.settings),
        is_partial=bool(wanted) and most < len(words),
    )


def _words_of(query: str) -> tuple[str, ...]:
    """Return the words to look for; of a question, without those that any question has."""
    words = [word for each in query.casefold().split() if (word := each.strip(".,;:?!¿¡？！。，“”\"'"))]
    asking = detect_stop_words(words) | _ASKING
    return tuple(dict.fromkeys(each for each in words if each not in asking)) or tuple(words)


def _count(
    words: tuple[str, ...], setting: "ListedSetting", table: "ListedTable", redact: Callable[[str], str]
) -> int:
    """Return how many of the words a setting contains: in name, value, meaning, or what people call it."""
    everyday = " ".join(each.WEB_SETTING_WORDS.get(setting.key, "") for each in (english, phrases))
    value = _show_value(setting, redact)
    text = f"{redact(setting.key)}\n{value}\n{setting.meaning}\n{table.about}\n{everyday}".casefold()
    return sum(word in text for word in words)


def _show_value(setting: "ListedSetting", redact: Callable[[str], str]) -> str:
    return one_line(redact(setting.value), limit=MAX_VALUE_CHARS)  # redacted before it is cut


def _row(
    setting: "ListedSetting",
    table: "ListedTable",
    settings: "Settings",
    redact: Callable[[str], str],
    *,
    explained: bool,
) -> SettingRow:
    value = _show_value(setting, redact)
    suggested = value if value == setting.value else ""
    return SettingRow(
        name=one_line(setting.name),
        value=value,
        default=setting.default if setting.differs else "",
        source=one_line(redact(_describe_source(setting))),
        differs=setting.differs,
        needs_restart=setting.needs_restart,
        meaning=setting.meaning,
        address=f"{SETTINGS}?{urlencode({'q': redact(setting.key)}, errors='replace')}",
        help=explain_change(setting, table, settings, value=suggested) if explained else None,
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
