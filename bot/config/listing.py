"""Lists all settings in force, each with its value, source and meaning; the text of secrets is hidden."""

import inspect
import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel, SecretStr
from pydantic_core import PydanticUndefined

from bot import phrases
from bot.config.errors import format_key
from bot.config.example import field_explanations, plain_fields, to_toml
from bot.config.schema import is_secret
from bot.config.settings import Settings
from bot.config.sources import DEFAULT, SettingSource
from bot.models.known_providers import key_variables, resolve_provider

KeyPath = tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class ListedSetting:
    """One setting."""

    key: str
    """Its full key, as in `memory.search.final_top_k`."""
    name: str
    """The last part of the key."""
    value: str
    """As TOML; of a secret, whether it is set; "" for none."""
    default: str
    """As TOML; "" for none."""
    source: SettingSource
    differs: bool
    """Whether a source sets it to another value than the default."""
    meaning: str
    needs_restart: bool
    """Whether a change takes effect only after a restart."""
    is_secret: bool


@dataclass(frozen=True, slots=True)
class ListedTable:
    """The settings of one table."""

    key: str
    """As in `memory.search`; "" for the top."""
    about: str
    settings: tuple[ListedSetting, ...]


def walk_sections(section: BaseModel, keys: KeyPath = ()) -> Iterator[tuple[KeyPath, BaseModel]]:
    """Yield each section with its key, from the top, with the tables that have names or numbers."""
    yield keys, section
    for name in type(section).model_fields:
        value = getattr(section, name)
        inside: list[tuple[KeyPath, Any]] = [((*keys, name), value)]
        if isinstance(value, Mapping):
            inside = [((*keys, name, entry), inner) for entry, inner in value.items()]
        elif isinstance(value, tuple):
            inside = [((*keys, name, number), inner) for number, inner in enumerate(value)]
        for path, inner in inside:
            if isinstance(inner, BaseModel):
                yield from walk_sections(inner, path)


def list_settings(
    settings: Settings,
    *,
    is_live: Callable[[KeyPath], bool],
    environment: Mapping[str, str] = os.environ,
) -> Iterator[ListedTable]:
    """Yield all sections in the order of the settings file. `is_live` returns whether a change needs no restart."""
    for keys, section in walk_sections(settings):
        meanings = field_explanations(type(section))
        listed = []
        for name, field in plain_fields(type(section)):
            path, value = (*keys, name), getattr(section, name)
            source = find_source(settings, path, environment)
            if keys and isinstance(keys[-1], int) and name not in section.model_fields_set:
                source = DEFAULT  # a list of tables has one source, which need not set all keys of each
            default = field.get_default(call_default_factory=True)
            hides = is_secret(field.annotation)
            is_elsewhere = hides and source.kind == "variable" and not _is_set(value)  # as OPENAI_API_KEY
            listed.append(
                ListedSetting(
                    key=format_key(path),
                    name=name,
                    value=_hide(is_elsewhere or _is_set(value)) if hides else _format(value),
                    default=_hide(False) if hides else _format(default),
                    source=source,
                    differs=source.kind not in ("default", "machine") and (is_elsewhere or value != default),
                    meaning=" ".join(meanings[name].split()),
                    needs_restart=not is_live(path),
                    is_secret=hides,
                )
            )
        about = inspect.cleandoc(type(section).__doc__ or "") if keys else ""
        yield ListedTable(format_key(keys), about, tuple(listed))


def find_source(settings: Settings, keys: KeyPath, environment: Mapping[str, str]) -> SettingSource:
    """Return where the value of a setting comes from."""
    match keys:
        case ("workspace",) if settings.workspace_option is not None:
            return SettingSource("option")
        case _ if found := settings.sources.find(keys):
            return found
        case ("timezone",):
            return SettingSource("machine")
        case (str(channel), "token") if channel in settings.channels:
            variable = settings.channels[channel].variable
            return SettingSource("variable", variable) if environment.get(variable, "").strip() else DEFAULT
        case ("providers", str(name), "api_key") if not settings.providers[name].keys:
            provider = resolve_provider(name, settings.providers, environment)
            variables = key_variables(name, kind=provider.kind, base_url=provider.base_url)
            set_by = (each for each in variables if environment.get(each, "").strip())
            return next((SettingSource("variable", each) for each in set_by), DEFAULT)
    return DEFAULT


def _is_set(secret: SecretStr | tuple[SecretStr, ...]) -> bool:
    return bool(secret.get_secret_value() if isinstance(secret, SecretStr) else secret)


def _hide(is_set: bool) -> str:
    return phrases.CONFIG_IS_SET if is_set else phrases.CONFIG_NOT_SET


def _format(value: Any) -> str:
    return "" if value is None or value is PydanticUndefined else to_toml(value)
