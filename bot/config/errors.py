"""One plain line for each thing that can be wrong with the settings; no secret is ever in it."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, time
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from bot.config.schema import Model, describe_type, is_secret, known_keys, walk_keys
from memory.settings import SettingsConflict

Keys = Sequence[str | int]

PREFIX = "COMMONPLACE_"
MAX_SHOWN_CHARS = 60
SIMILARITY = 0.5
"""How like a known key's last part is at least to what may have been meant by it; 1: the same."""
ALL_KEYS = "`commonplace init` writes a file that has all of them"


class ConfigError(Exception):
    """The settings cannot be used; the text is one line, fit to be shown to a person."""


@dataclass(frozen=True, slots=True)
class Origin:
    """Where the settings came from, to tell a person where to mend them."""

    file: Path | None
    values: Mapping[str, Any]
    """What the file holds."""
    variables: Mapping[tuple[str, ...], str]
    """Names of the environment variables, by the key that each sets."""

    def describe(self, keys: Keys) -> str:
        """` (in FILE)` or ` (from VARIABLE)`; nothing where neither set the key or its section."""
        for length in range(len(keys), 0, -1):
            if name := self.variables.get(tuple(map(str, keys[:length]))):
                return f" (from {name})"
            if self.file and _is_in(self.values, keys[:length]):
                return f" (in {printable(str(self.file))})"
            if length == len(keys) - 1:
                for other, name in self.variables.items():
                    if other[:length] == tuple(keys[:length]):
                        return f" (from {name})"
        return ""


def explain(model: Model, error: ValidationError, origin: Origin) -> str:
    """The line for what pydantic found; an unknown key first, since it often is the cause of the rest."""
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
    if problem["type"] == "missing":
        return f"{key} is missing: it must be {allowed}{origin.describe(keys)}"
    private = any(is_secret(step) for _, step, _ in path) or _may_hold_password(str(keys[-1]), value)
    if private or (allowed == "a table" and isinstance(value, str)):  # such as `telegram = "the token"`
        return f"{key} is not allowed as it stands: it must be {allowed}{origin.describe(keys)}"
    return f"{key} = {format_value(value)} is not allowed: it must be {allowed}{origin.describe(keys)}"


def explain_unknown_key(model: Model, keys: Keys, origin: Origin) -> str:
    """The line for a key that does not exist; never its value, which may be a misspelt key's secret."""
    near = _nearest_key(model, keys)
    hint = f"the nearest is {format_key(near)}" if near else ALL_KEYS
    return f"{format_key(keys)} is not a known key; {hint}{origin.describe(keys)}"


def explain_unknown_variable(model: Model, name: str, keys: Sequence[str]) -> str:
    """The line for an environment variable that sets no known key."""
    near = _nearest_key(model, keys)
    if near is None:
        return f"{shorten(printable(name))} is not a known setting; {ALL_KEYS}"
    variable = PREFIX + "__".join(near).upper()
    return (
        f"{shorten(printable(name))} is not a known setting; the nearest is {variable} ({format_key(near)})"
    )


def format_key(keys: Keys) -> str:
    """`models.chain[0]`; a key that TOML would quote is quoted."""
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
    """A value as one short line, much as TOML writes it; of lists and tables only that they are such."""
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
    """The text itself where it is one printable line, else with escapes."""
    return text if text.isprintable() else repr(text)


def shorten(text: str) -> str:
    """At most so much as belongs into one line."""
    return text if len(text) <= MAX_SHOWN_CHARS else f"{text[:MAX_SHOWN_CHARS]}..."


def _nearest_key(model: Model, keys: Keys) -> tuple[str, ...] | None:
    """The key that may be meant; None where none is like it."""
    from difflib import SequenceMatcher

    def likeness(known: tuple[str, ...]) -> tuple[float, float]:
        last = SequenceMatcher(None, str(keys[-1]).lower()[:MAX_SHOWN_CHARS], known[-1]).ratio()
        whole = SequenceMatcher(
            None, format_key(keys).lower()[: 2 * MAX_SHOWN_CHARS], format_key(known)
        ).ratio()
        return last + whole, last

    measured = [(*likeness(known), known) for known in known_keys(model, keys)]
    _, last, nearest = max(measured, key=lambda each: each[0])
    return nearest if last >= SIMILARITY else None


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
    """The value below the section that a validator complained of; its default where it was not set."""
    for key in further:
        if not isinstance(value, Mapping) or key not in value:
            *_, (_, _, field) = walk_keys(model, keys)
            return field.default if field else None
        value = value[key]
    return value


def _may_hold_password(key: str, value: Any) -> bool:
    return key.endswith(("url", "api_base")) and isinstance(value, str) and ("@" in value or "?" in value)
