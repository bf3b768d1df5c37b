"""The names and links of notes in the index file."""

import json
from collections.abc import Collection, Sequence

from memory.index.note_graph import LinkRow, NameRow, line_of_passage
from memory.index.protocol import IndexedNote
from memory.index.sqlite_schema import POSITIONS, SqliteTables, check_integer, check_text
from memory.link_targets import link_key
from memory.tokenizer import tokenize

_NAMES = "SELECT notes@.path, n.name, n.key, n.words FROM"
_LINKS = "SELECT notes@.path, l.line, l.key, l.target, l.is_wiki, l.shown FROM"
_IN_ORDER = " ORDER BY notes@.path, l.line, l.id LIMIT ?2"
_OF_NOTE = "JOIN notes@ ON notes@.id = l.id >> 24"


class SqliteLinks:
    """`LinkTables` of one generation. Use it within a transaction."""

    def __init__(self, tables: SqliteTables) -> None:
        """Read nothing yet."""
        self._tables = tables

    def names_of(self, paths: Collection[str]) -> list[NameRow]:
        """See `LinkTables.names_of`."""
        return self._names(
            "json_each(?1) CROSS JOIN notes@ ON notes@.path = value CROSS JOIN names@ AS n ON n.note = notes@.id",
            paths,
        )

    def names_with_keys(self, keys: Collection[str]) -> list[NameRow]:
        """See `LinkTables.names_with_keys`."""
        return self._names(
            "json_each(?1) CROSS JOIN names@ AS n ON n.key = value AND n.key <> ''"
            " CROSS JOIN notes@ ON notes@.id = n.note",
            keys,
        )

    def names_with_words(self, phrases: Collection[str]) -> list[NameRow]:
        """See `LinkTables.names_with_words`."""
        return self._names(
            "json_each(?1) CROSS JOIN names@ AS n ON n.words = value CROSS JOIN notes@ ON notes@.id = n.note",
            phrases,
        )

    def links_showing(self, phrases: Collection[str], *, limit: int) -> list[LinkRow]:
        """See `LinkTables.links_showing`."""
        source = (
            f"json_each(?1) CROSS JOIN links@ AS l ON l.shown = value AND l.shown <> '' {_OF_NOTE}{_IN_ORDER}"
        )
        return self._links(source, phrases, limit)

    def links_from(self, paths: Collection[str], *, limit: int) -> list[LinkRow]:
        """See `LinkTables.links_from`."""
        source = (
            "json_each(?1) CROSS JOIN notes@ ON notes@.path = value CROSS JOIN links@ AS l"
            f" ON l.id >= notes@.id << 24 AND l.id < (notes@.id + 1) << 24{_IN_ORDER}"
        )
        return self._links(source, paths, limit)

    def links_to(
        self, keys: Collection[str], *, limit: int, among: Collection[str] | None = None
    ) -> list[LinkRow]:
        """See `LinkTables.links_to`."""
        if among is None:
            source = f"json_each(?1) CROSS JOIN links@ AS l ON l.key = value {_OF_NOTE}{_IN_ORDER}"
            return self._links(source, keys, limit)
        # One look into the index for each key and note: ten thousand other notes may link to a key.
        source = (
            "json_each(?1) AS k CROSS JOIN json_each(?3) AS p CROSS JOIN notes@ ON notes@.path = p.value"
            " CROSS JOIN links@ AS l ON l.key = k.value AND l.id >= notes@.id << 24"
            f" AND l.id < (notes@.id + 1) << 24{_IN_ORDER}"
        )
        return self._links(source, keys, limit, json.dumps(list(among)))

    def find_notes(self, paths: Collection[str]) -> dict[str, int]:
        """Return the id of each of these notes."""
        sql = "SELECT notes@.path, notes@.id FROM json_each(?) CROSS JOIN notes@ ON notes@.path = value"
        return {
            check_text(path): check_integer(note)
            for path, note in self._tables.run(sql, (json.dumps(list(paths)),))
        }

    def _names(self, source: str, values: Collection[str]) -> list[NameRow]:
        if not values:
            return []
        rows = self._tables.run(f"{_NAMES} {source}", (json.dumps(list(values)),))
        return [NameRow(*map(check_text, row)) for row in rows]

    def _links(self, source: str, values: Collection[str], limit: int, *more: str) -> list[LinkRow]:
        if not values:
            return []
        rows = self._tables.run(f"{_LINKS} {source}", (json.dumps(list(values)), limit, *more))
        return [
            LinkRow(
                check_text(path),
                check_integer(line),
                check_text(key),
                check_text(target),
                bool(is_wiki),
                check_text(shown),
            )
            for path, line, key, target, is_wiki, shown in rows
        ]


def read_lines(tables: SqliteTables, places: Sequence[tuple[str, int]]) -> list[str]:
    """Return the text of lines, each given by path and number; "" for a line that is not indexed."""
    sql = (
        "SELECT text, line_start FROM notes@ CROSS JOIN passages@ AS p ON p.id >= notes@.id << 24"
        " AND p.id < (notes@.id + 1) << 24 WHERE notes@.path = ?1 AND line_start <= ?2 AND line_end >= ?2 LIMIT 1"
    )
    found: list[str] = []
    for path, line in places:
        row = tables.run(sql, (path, line)).fetchone()
        found.append(line_of_passage(check_text(row[0]), check_integer(row[1]), line) if row else "")
    return found


def insert_links(tables: SqliteTables, note_id: int, note: IndexedNote) -> None:
    """Add the names and links of a note."""
    own = note.path.removesuffix(".md").rpartition("/")[2]
    names = [(note_id, "", link_key(note.path), " ".join(tokenize(own)))]
    names += [(note_id, each.name, each.key, each.words) for each in note.names]
    tables.run_each("INSERT OR IGNORE INTO names@ VALUES (?, ?, ?, ?)", names)
    if note.links:
        tables.run_each(
            "INSERT INTO links@ VALUES (?, ?, ?, ?, ?, ?)",
            [
                (note_id * POSITIONS + number, each.line, each.key, each.target, each.is_wiki, each.shown)
                for number, each in enumerate(note.links)
            ],
        )


def remove_links(tables: SqliteTables, note_id: int) -> None:
    """Remove the names and links of a note."""
    tables.run("DELETE FROM names@ WHERE note = ?", (note_id,))
    tables.run(
        "DELETE FROM links@ WHERE id >= ? AND id < ?", (note_id * POSITIONS, (note_id + 1) * POSITIONS)
    )
