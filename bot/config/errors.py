"""One plain line for each mistake in the settings, never with a secret in it."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, time
from itertools import takewhile
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from bot.config.schema import (
    Model,
    describe_type,
    is_secret,
    known_keys,
    list_entry,
    section_fields,
    walk_keys,
)
from memory.settings import SettingsConflict

Keys = Sequence[str | int]

PREFIX = "COMMONPLACE_"
MAX_SHOWN_CHARS = 60
SIMILARITY = 0.5
"""Minimum likeness, from 0 to 1, of a known key's last part for the key to be suggested."""
ALL_KEYS = "`commonplace init` writes a file with all of them"


class ConfigError(Exception):
    """The settings cannot be used; the message is one line for the user."""


@dataclass(frozen=True, slots=True)
class Origin:
    """Where the settings came from, so that a message can say where to correct them."""

    files: Mapping[Path, Mapping[str, Any]]
    """The content of each file; where several set a key, the first one counts."""
    variables: Mapping[tuple[str, ...], str]
    """Names of environment variables by the key that each sets."""

    def describe(self, keys: Keys) -> str:
        """Return ` (in FILE)` or ` (from VARIABLE)`; "" if neither sets the key or its section."""
        for length in range(len(keys), 0, -1):
            if name := self.variables.get(tuple(map(str, keys[:length]))):
                return f" (from {name})"
            for file, values in self.files.items():
                if _is_in(values, keys[:length]):
                    return f" (in {printable(str(file))})"
            if length == len(keys) - 1:
                for other, name in self.variables.items():
                    if other[:length] == tuple(keys[:length]):
                        return f" (from {name})"
        return ""


def explain(model: Model, error: ValidationError, origin: Origin) -> str:
    """Return a line for pydantic's error. An unknown key comes first: it often causes the other errors."""
    problems = error.errors(include_url=False)
    problem = next((one for one in problems if one["type"] == "extra_forbidden"), problems[0])
    keys: Keys = problem["loc"]
    value = problem["input"]
    if problem["type"] == "extra_forbidden":
        return explain_unknown_key(model, keys, origin)
    cause = problem.get("ctx", {}).get("error")
    if isinstance(cause, SettingsConflict):
        further = cause.key.split(".")
        keys = (*keys, *further)
        value = _value_at(model, keys, value, further)
    path = list(walk_keys(model, keys))
    _, annotation, field = path[-1]
    allowed = str(cause) if isinstance(cause, ValueError) else describe_type(annotation, field)
    key = format_key(keys)
    if list_entry(annotation) is not None and isinstance(value, Mapping):
        where = origin.describe(keys)
        return f"{key} must be a list of tables: write [[{key}]], with two brackets{where}"
    if problem["type"] == "missing":
        return f"{key} is missing: it must be {allowed}{origin.describe(keys)}"
    private = any(is_secret(step) for _, step, _ in path) or _may_hold_password(str(keys[-1]), value)
    if private or (allowed == "a table" and isinstance(value, str)):  # such as `telegram = "the token"`
        return f"{key} is invalid: it must be {allowed}{origin.describe(keys)}"
    return f"{key} = {format_value(value)} is invalid: it must be {allowed}{origin.describe(keys)}"


def explain_unknown_key(model: Model, keys: Keys, origin: Origin) -> str:
    """Return a line for an unknown key, without its value, which may be a secret under a misspelt key."""
    near = _nearest_key(model, keys)
    siblings = _keys_beside(model, keys)
    if siblings and (not near or near[-1] not in siblings):
        hint = f"did you mean one of {', '.join(siblings)}?"
    else:
        hint = f"did you mean {format_key(near)}?" if near else ALL_KEYS
    return f"{format_key(keys)} is not a known key; {hint}{origin.describe(keys)}"


def explain_unknown_variable(model: Model, name: str, keys: Sequence[str]) -> str:
    """Return a line for an environment variable that sets no known key."""
    near = _nearest_key(model, keys)
    if near is None:
        return f"{shorten(printable(name))} is not a known setting; {ALL_KEYS}"
    # A list of tables is one variable: JSON.
    near = [*takewhile(lambda key: isinstance(key, str), near)]
    variable = PREFIX + "__".join(map(str, near)).upper()
    return f"{shorten(printable(name))} is not a known setting; did you mean {variable} ({format_key(near)})?"


def format_key(keys: Keys) -> str:
    """Return keys as in `models.chain[0]`, quoted where TOML would quote them."""
    text = ""
    for key in keys:
        if isinstance(key, int):
            text += f"[{key}]"
        else:
            bare = re.fullmatch(r"[A-Za-z0-9_-]+", key)
            text += "." if text else ""
            text += shorten(key if bare else f'"{key}"' if key.isprintable() else repr(key))
    return text


def format_value(value: Any) -> str:
    """Return a value as one short line, roughly as in TOML; lists and tables as `[...]` and `{...}`."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int) and abs(value) >= 10**MAX_SHOWN_CHARS:
        return "a huge number"  # Python refuses to print more than 4300 digits
    if isinstance(value, (int, float)):
        return repr(value)
    if isinstance(value, (date, time)):
        return value.isoformat()
    if isinstance(value, (str, Path)):
        text = str(value)
        return shorten(f'"{text}"' if text.isprintable() and '"' not in text else repr(text))
    return (
        "[...]" if isinstance(value, (list, tuple)) else "{...}" if isinstance(value, Mapping) else "nothing"
    )


def printable(text: str) -> str:
    """Return the text unchanged if it is one printable line, else its repr."""
    return text if text.isprintable() else repr(text)


def shorten(text: str) -> str:
    """Cut a text at `MAX_SHOWN_CHARS` characters."""
    return text if len(text) <= MAX_SHOWN_CHARS else f"{text[:MAX_SHOWN_CHARS]}..."


def _nearest_key(model: Model, keys: Keys) -> Keys | None:
    """Return the known key that was probably meant; None if none is similar."""
    from difflib import SequenceMatcher

    def likeness(known: Keys) -> tuple[float, float]:
        last = SequenceMatcher(None, str(keys[-1]).lower()[:MAX_SHOWN_CHARS], str(known[-1])).ratio()
        whole = SequenceMatcher(
            None, format_key(keys).lower()[: 2 * MAX_SHOWN_CHARS], format_key(known)
        ).ratio()
        return last + whole, last

    measured = [(*likeness(known), known) for known in known_keys(model, keys)]
    _, last, nearest = max(measured, key=lambda each: each[0])
    return nearest if last >= SIMILARITY else None


def _keys_beside(model: Model, keys: Keys) -> list[str]:
    """Return the keys of the table in a list of tables that this key is in; none if it is elsewhere."""
    if len(keys) < 2 or not isinstance(keys[-2], int):
        return []
    *_, (_, annotation, _) = walk_keys(model, keys[:-1])
    return list(section_fields(annotation) or ())


def _is_in(values: Any, keys: Keys) -> bool:
    for key in keys:
        inside = (
            values if isinstance(values, Mapping) else range(len(values)) if isinstance(values, list) else ()
        )
        if key not in inside:
            return False
        values = values[key]
    return True


def _value_at(model: Model, keys: Keys, value: Any, further: Sequence[str]) -> Any:
    """Return the value that a validator complained about, below its section; the default if it is not set."""
    for key in further:
        if not isinstance(value, Mapping) or key not in value:
            *_, (_, _, field) = walk_keys(model, keys)
            return field.default if field else None
        value = value[key]
    return value


def _may_hold_password(key: str, value: Any) -> bool:
    return key.endswith(("url", "api_base")) and isinstance(value, str) and ("@" in value or "?" in value)
