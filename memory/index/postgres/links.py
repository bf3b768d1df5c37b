"""The names and links of notes on the server."""

from collections.abc import Collection, Iterator, Sequence
from typing import Any

from memory.index.note_graph import LinkRow, NameRow, line_of_passage
from memory.index.postgres.schema import PostgresTables, strip_invalid
from memory.index.protocol import IndexedNote
from memory.link_targets import link_key
from memory.tokenizer import tokenize

_NAMES = (
    "SELECT n.path, s.name, s.key, s.words FROM commonplace.names@ AS s"
    " JOIN commonplace.notes@ AS n ON n.id = s.note"
)
_LINKS = (
    "SELECT n.path, l.line, l.key, l.target, l.is_wiki, l.shown"
    " FROM commonplace.links@ AS l JOIN commonplace.notes@ AS n ON n.id = l.note"
)
_IN_ORDER = " ORDER BY n.path, l.line, l.number LIMIT %s"


class PostgresLinks:
    """`LinkTables` of one generation. Use it within a transaction."""

    def __init__(self, tables: PostgresTables) -> None:
        """Read nothing yet."""
        self._tables = tables

    def names_of(self, paths: Collection[str]) -> list[NameRow]:
        """See `LinkTables.names_of`."""
        return self._names("n.path = ANY(%s)", paths)

    def names_with_keys(self, keys: Collection[str]) -> list[NameRow]:
        """See `LinkTables.names_with_keys`."""
        return self._names("s.key = ANY(%s) AND s.key <> ''", keys)

    def names_with_words(self, phrases: Collection[str]) -> list[NameRow]:
        """See `LinkTables.names_with_words`."""
        return self._names("s.words = ANY(%s)", phrases)

    def links_showing(self, phrases: Collection[str], *, limit: int) -> list[LinkRow]:
        """See `LinkTables.links_showing`."""
        return self._links("l.shown = ANY(%s) AND l.shown <> ''", phrases, limit)

    def links_from(self, paths: Collection[str], *, limit: int) -> list[LinkRow]:
        """See `LinkTables.links_from`."""
        return self._links("n.path = ANY(%s)", paths, limit)

    def links_to(
        self, keys: Collection[str], *, limit: int, among: Collection[str] | None = None
    ) -> list[LinkRow]:
        """See `LinkTables.links_to`."""
        if among is None:
            return self._links("l.key = ANY(%s)", keys, limit)
        return self._links("l.key = ANY(%s) AND n.path = ANY(%s)", keys, limit, list(among))

    def find_notes(self, paths: Collection[str]) -> dict[str, int]:
        """Return the id of each of these notes."""
        if not paths:
            return {}
        sql = "SELECT path, id FROM commonplace.notes@ WHERE path = ANY(%s)"
        return dict(self._tables.run(sql, [list(paths)]).fetchall())

    def _names(self, condition: str, values: Collection[str]) -> list[NameRow]:
        if not values:
            return []
        return [NameRow(*row) for row in self._tables.run(f"{_NAMES} WHERE {condition}", [list(values)])]

    def _links(self, condition: str, values: Collection[str], limit: int, *more: list[str]) -> list[LinkRow]:
        if not values:
            return []
        sql = f"{_LINKS} WHERE {condition}{_IN_ORDER}"
        return [LinkRow(*row) for row in self._tables.run(sql, [list(values), *more, limit])]


def read_lines(tables: PostgresTables, places: Sequence[tuple[str, int]]) -> list[str]:
    """Return the text of lines, each given by path and number; "" for a line that is not indexed."""
    rows = tables.run(
        "SELECT DISTINCT ON (number) number, p.text, p.line_start FROM unnest(%s::text[], %s::integer[])"
        " WITH ORDINALITY AS place (path, line, number) JOIN commonplace.notes@ AS n ON n.path = place.path"
        " JOIN commonplace.passages@ AS p ON p.note = n.id AND place.line BETWEEN line_start AND line_end"
        " ORDER BY number, position",
        [[path for path, _ in places], [line for _, line in places]],
    )
    found = [""] * len(places)
    for number, text, first in rows:
        found[number - 1] = line_of_passage(text, first, places[number - 1][1])
    return found


def name_rows(note_id: int, note: IndexedNote) -> Iterator[tuple[Any, ...]]:
    """Yield the rows of a note's names, each name once."""
    own = note.path.removesuffix(".md").rpartition("/")[2]
    yield note_id, "", link_key(note.path), " ".join(tokenize(own))
    names = {strip_invalid(each.name): each for each in reversed(note.names)}
    for name, each in names.items():
        yield note_id, name, strip_invalid(each.key), each.words


def link_rows(note_id: int, note: IndexedNote) -> Iterator[tuple[Any, ...]]:
    """Yield the rows of a note's links."""
    for number, each in enumerate(note.links):
        key, target = strip_invalid(each.key), strip_invalid(each.target)
        yield note_id, number, each.line, key, target, each.is_wiki, each.shown
