"""Edits TOML as text, so that comments and order stay. Every edit is checked; what cannot be done well is refused."""

import copy
import re
import tomllib
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import takewhile
from typing import TYPE_CHECKING, Any

from bot.config.errors import format_key
from bot.config.example import to_toml

if TYPE_CHECKING:
    from tomlkit import TOMLDocument

Keys = Sequence[str]
Tables = dict[str, Any]

_STRING = re.compile(r"""\"(?:\\.|[^"\\])*\"|'[^']*'""")


class NotEditable(Exception):
    """The edit would change or lose something else; the text says what to write by hand."""


def set_value(text: str, keys: Keys, value: Any) -> str:
    """Return the text with this value under these keys. A table that it lacks is added at the end.

    Raises NotEditable.
    """

    def change(tables: Tables) -> None:
        for key in keys[:-1]:
            tables = tables.setdefault(key, {})
        tables[keys[-1]] = value

    tables, line = keys[:-1], f"{format_key(keys[-1:])} = {to_toml(value)}\n"
    edits = (
        lambda: _edit(text, lambda document: _set_in(document, keys, value)),
        lambda: _append(text, f"[{format_key(tables)}]", {keys[-1]: value}) if tables else f"{line}\n{text}",
    )
    return _first_good(text, edits, change, advice=f"set {format_key(keys)} = {to_toml(value)}")


def add_table(text: str, keys: Keys, values: Mapping[str, Any]) -> str:
    """Return the text with one more table in the list of tables under these keys. Raises NotEditable."""

    def change(tables: Tables) -> None:
        for key in keys[:-1]:
            tables = tables.setdefault(key, {})
        tables.setdefault(keys[-1], []).append(dict(values))

    header = f"[[{format_key(keys)}]]"
    lines = " ".join(f"{key} = {to_toml(value)}" for key, value in values.items())
    return _first_good(text, (lambda: _append(text, header, values),), change, advice=f"add {header} {lines}")


def _append(text: str, header: str, values: Mapping[str, Any]) -> str:
    lines = [header, *(f"{format_key([key])} = {to_toml(value)}" for key, value in values.items())]
    before = text if not text or text.endswith("\n") else f"{text}\n"
    return before + "\n" * bool(before) + "\n".join(lines) + "\n"


def _edit(text: str, edit: Callable[["TOMLDocument"], None]) -> str | None:
    """Return the edited text; None if the library cannot edit it."""
    import tomlkit
    from tomlkit.exceptions import TOMLKitError

    try:
        document = tomlkit.parse(text)
        edit(document)
        return tomlkit.dumps(document)
    except (TOMLKitError, LookupError, TypeError, ValueError, AttributeError):
        return None  # it has trouble with tables that are spread over the file


def _set_in(document: "TOMLDocument", keys: Keys, value: Any) -> None:
    import tomlkit.items

    table, name = _table(document, keys[:-1]), keys[-1]
    old = table.get(name)
    if isinstance(old, tomlkit.items.Array) and "#" in old.as_string() and _is_within(old, value):
        for at, entry in enumerate(value):  # the others keep their comments
            if at >= len(old) or old[at] != entry:
                old.insert(at, entry)
        return
    item = tomlkit.parse(f"value = {to_toml(value)}\n")["value"]
    if name in table:
        table[name] = item
    elif table is document or not (last := [key for key, _ in table.value.body if key is not None]):
        table.add(name, item)
    else:  # not at the end of the table, where the comment of the next one stands
        table.value._insert_after(last[-1], tomlkit.key(name), item)


def _is_within(some: Sequence[Any], all_of_them: Sequence[Any]) -> bool:
    """Return whether `all_of_them` has these entries in the same order, among others."""
    rest = iter(all_of_them)
    return all(entry in rest for entry in some)


def _table(tables: Any, keys: Keys) -> Any:
    for key in keys:
        tables = tables[key]
    return tables


def _first_good(
    text: str, edits: Iterable[Callable[[], str | None]], change: Callable[[Tables], None], *, advice: str
) -> str:
    """Return the first edited text that says what it should and has kept every comment. Raises NotEditable."""
    wanted = copy.deepcopy(tomllib.loads(text))
    change(wanted)
    for edit in edits:
        edited = edit()
        if (
            edited is not None
            and _parse(edited) == wanted
            and not _comments(text) - _comments(edited)
            and _keeps_tables(text, edited)
        ):
            return edited
    raise NotEditable(advice)


def _parse(text: str) -> Tables | None:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return None


def _keeps_tables(text: str, edited: str) -> bool:
    """Return whether no table has moved: what changed, from its first line to its last, is inside of one."""
    before, after = text.splitlines(), edited.splitlines()
    begins = _count_same(before, after)
    ends = len(before) - _count_same(reversed(before[begins:]), reversed(after[begins:]))
    return not any(line.lstrip().startswith("[") for line in before[begins:ends])


def _count_same(some: Iterable[str], others: Iterable[str]) -> int:
    """Return how many lines are the same from the start."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(some, others, strict=False)))


def _comments(text: str) -> Counter[str]:
    lines = (_STRING.sub("", line) for line in text.splitlines())
    return Counter(line[line.index("#") :].strip() for line in lines if "#" in line)
