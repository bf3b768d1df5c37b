"""state.db: rows as dataclasses whose fields are named after their columns.

A field that is itself a dataclass stands for its own columns, a bool is stored as 0 or 1, and a tuple as a JSON list.
"""

import json
from collections.abc import Iterator
from dataclasses import is_dataclass
from functools import cache
from typing import Any, Literal, TypeVar, get_origin, get_type_hints

import apsw

Record = TypeVar("Record")


def select(
    db: apsw.Connection, kind: type[Record], rest: str, *values: "apsw.SQLiteValue"
) -> Iterator[Record]:
    """Yield rows as dataclasses of a kind; `rest` is the SQL after the columns, from FROM on."""
    for row in db.execute(f"SELECT {', '.join(_columns(kind))} {rest}", values):
        yield _decode(kind, iter(row))


def select_first(
    db: apsw.Connection, kind: type[Record], rest: str, *values: "apsw.SQLiteValue"
) -> Record | None:
    """Return the first row as a dataclass of a kind; None if there is none. `rest` as in `select`."""
    return next(select(db, kind, rest, *values), None)


def insert(
    db: apsw.Connection,
    table: str,
    row: Any,
    *,
    conflict: Literal["ABORT", "IGNORE", "REPLACE"] = "ABORT",
    without: str = "",
    **more: "apsw.SQLiteValue",
) -> None:
    """Insert a dataclass, without one of its fields, and with `more` columns that it has no field for.

    `conflict`: what happens if there is a row with the same key; any other fault raises ConstraintError.
    """
    stored = dict(zip(_columns(type(row)), _encode(type(row), row), strict=True)) | more
    stored.pop(without, None)
    names, marks = ", ".join(stored), ", ".join("?" * len(stored))
    verb = "INSERT OR REPLACE" if conflict == "REPLACE" else "INSERT"
    # Not OR IGNORE, which would also drop a row that lacks a value or breaks another rule of the table.
    end = " ON CONFLICT DO NOTHING" if conflict == "IGNORE" else ""
    db.execute(f"{verb} INTO {table} ({names}) VALUES ({marks}){end}", (*stored.values(),))


@cache
def _fields(kind: Any) -> tuple[tuple[str, Any], ...]:
    """Return name and type of each field of a dataclass; none for another type."""
    hints = get_type_hints(kind) if is_dataclass(kind) else {}
    return tuple(hints.items())


def _columns(kind: Any) -> Iterator[str]:
    for name, hint in _fields(kind):
        yield from _columns(hint) if _fields(hint) else (name,)


def _encode(hint: Any, value: Any) -> "Iterator[apsw.SQLiteValue]":
    for name, inner in (parts := _fields(hint)):
        yield from _encode(inner, getattr(value, name))
    if not parts:
        yield json.dumps(value, ensure_ascii=False) if get_origin(hint) is tuple else value


def _decode(hint: Any, values: Iterator[Any]) -> Any:
    if parts := _fields(hint):
        return hint(*(_decode(inner, values) for _, inner in parts))
    value = next(values)
    if hint is bool:
        return bool(value)
    return tuple(json.loads(value)) if get_origin(hint) is tuple else value
