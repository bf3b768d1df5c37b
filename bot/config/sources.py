"""Where the value of each setting comes from."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import takewhile
from pathlib import Path
from typing import Any, Literal

from bot.models.model_names import with_provider

Keys = tuple[str, ...]

SourceKind = Literal["default", "file", "variable", "option", "machine"]
"""The program's default, a file, an environment variable, `--workspace`, or this machine's own settings."""

PARAMS = ("models", "params")
MAY_BE_ELSEWHERE = ("token", "api_key")
"""Keys that another variable sets if they are empty."""


@dataclass(frozen=True, slots=True)
class SettingSource:
    """The source of one value."""

    kind: SourceKind
    name: str = ""
    """The file's path or the variable's name; "" for the others."""


DEFAULT = SettingSource("default")


@dataclass(frozen=True, slots=True)
class SettingSources:
    """The sources of the settings that a file or a variable sets; ignored when settings are compared."""

    by_key: Mapping[Keys, SettingSource] = field(default_factory=dict, compare=False)
    """Keys alone, since values may be secret; a list of tables counts as one value."""

    def find(self, keys: Sequence[str | int]) -> SettingSource | None:
        """Return what sets a key or, of a table, the first of its entries; None if nothing does."""
        named = takewhile(lambda key: isinstance(key, str), keys)
        return self.by_key.get(tuple(map(str, named)))


def collect_sources(
    variables: Iterable[Mapping[Keys, tuple[str, str]]], tables: Mapping[Path, Mapping[str, Any]]
) -> SettingSources:
    """Return what sets each key, of sources in the order in which they win.

    `variables`: name and text by key, as of `find_variables`. `tables`: the contents of the files.
    """
    found: dict[Keys, SettingSource] = {}

    def note(leaf: Keys, source: SettingSource) -> None:
        for length in range(1, len(leaf) + 1):
            found.setdefault(leaf[:length], source)

    for layer in variables:
        for keys, (name, text) in sorted(layer.items(), key=lambda item: -len(item[0])):
            for leaf in (keys, *_leaves(_parse(text), keys)):
                note(leaf, SettingSource("variable", name))
    for file, table in tables.items():
        for leaf in _leaves(table, ()):
            note(leaf, SettingSource("file", str(file)))
    return SettingSources(found)


def _leaves(value: Any, keys: Keys) -> Iterator[Keys]:
    """Yield the key of each value in a table, and of none that is no table itself."""
    if not isinstance(value, Mapping):
        return
    for name, inner in value.items():
        path = (*keys, with_provider(name) if keys == PARAMS else name)
        if isinstance(inner, Mapping):
            yield from _leaves(inner, path)
        elif not (inner == "" and name in MAY_BE_ELSEWHERE):
            yield path


def _parse(text: str) -> Any:
    """Return the content of a variable if it is a whole table, else None."""
    try:
        return json.loads(text) if text.lstrip().startswith("{") else None
    except (ValueError, RecursionError):
        return None
