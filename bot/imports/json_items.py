"""Reads the conversations of a JSON file one by one, holding no more of a conversation than what is kept of it."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from bot.imports.errors import ImportFault
from bot.imports.json_bytes import JsonBytes

MAX_PARTS = 250_000
"""Maximum number of messages in one conversation."""
MAX_PARTS_CHARS = 64_000_000
"""Maximum number of characters that are kept of one conversation."""
MAX_VALUES = 100_000
"""Maximum number of values in one part, and in everything else of a conversation."""

KeepPart = Callable[[str, Any], tuple[Any, int] | None]
"""Gets the key of a part (its number in a list) and the part; returns what to keep of it and its length, or None."""


@dataclass(slots=True)
class JsonItem:
    """One top-level object of a file."""

    fields: dict[str, Any] = field(default_factory=dict)
    """Its values, except for those in `parts`."""
    parts: dict[str, dict[str, Any]] = field(default_factory=dict)
    """What was kept of the parts of its large values, by the name of the value; a list counts from "0"."""
    problem: str = ""
    """Why it was not read completely; "" if it was."""


def read_items(stream: JsonBytes, *, name: str, large: Mapping[str, KeepPart]) -> Iterator[JsonItem]:
    """Yield the objects of a list, or the only one. `large`: the values that are read part by part.

    Raises ImportFault where the JSON is broken.
    """
    import ijson

    # Numbers as text and decimals: the quicker way fails on an integer of more than 64 bits.
    events = ijson.basic_parse(stream, buf_size=262_144)
    try:
        for event, _ in events:
            if event == "start_map":
                yield _read_item(events, large)
            elif event not in {"start_array", "end_array"}:
                pass  # a list of something else
    except (ijson.JSONError, UnicodeDecodeError) as error:
        at_end = "EOF" in str(error)
        raise ImportFault(
            f"{name} ends in the middle; download it again"
            if at_end
            else f"{name} is not valid JSON; download it again"
        ) from error


def _read_item(events: Iterator[tuple[str, Any]], large: Mapping[str, KeepPart]) -> JsonItem:
    item = JsonItem()
    left = MAX_VALUES
    for event, key in events:
        if event == "end_map":
            break
        opening, value = next(events)
        if key in large and opening in {"start_map", "start_array"}:
            _read_parts(events, item, key, keep=large[key])
            continue
        built, used = _build(events, opening, value, limit=left)
        left -= used
        if left < 0:
            item.problem = "it is too complex"
        else:
            item.fields[key] = built
    return item


def _read_parts(events: Iterator[tuple[str, Any]], item: JsonItem, field: str, *, keep: KeepPart) -> None:
    kept = item.parts.setdefault(field, {})
    number = length = 0
    name = ""
    for event, value in events:
        if event in {"end_map", "end_array"}:
            return
        if event == "map_key":
            name = value
            event, value = next(events)
        built, used = _build(events, event, value, limit=MAX_VALUES)
        key = name or str(number)
        number, name = number + 1, ""
        if number > MAX_PARTS or length > MAX_PARTS_CHARS:
            item.problem = (
                f"it has more than {MAX_PARTS:,} messages" if number > MAX_PARTS else "it is too long"
            )
            kept.clear()
        elif used <= MAX_VALUES and (part := keep(key, built)):
            kept[key] = part[0]
            length += part[1]


def _build(events: Iterator[tuple[str, Any]], event: str, value: Any, *, limit: int) -> tuple[Any, int]:
    """Return a whole value and the number of values in it; None instead of a value with more than `limit`."""
    if event not in {"start_map", "start_array"}:
        return value, 1
    root: Any = {} if event == "start_map" else []
    holders: list[Any] = [root]
    keys: list[str] = []  # of the maps that are open
    key, count = "", 1
    for event, value in events:
        if event == "map_key":
            key = value
            continue
        if event in {"end_map", "end_array"}:
            holders.pop()
            if not holders:
                break
            key = keys.pop()
            continue
        count += 1
        opens = event in {"start_map", "start_array"}
        if opens:
            value = {} if event == "start_map" else []
        if count <= limit:
            holder = holders[-1]
            if isinstance(holder, dict):
                holder[key] = value
            else:
                holder.append(value)
        if opens:
            keys.append(key)
            holders.append(value if count <= limit else None)
    return (root if count <= limit else None), count
