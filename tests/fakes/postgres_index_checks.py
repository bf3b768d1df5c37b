"""Check a PostgreSQL index's consistency and read its contents without the index's own code."""

from collections import Counter
from typing import Any

import psycopg


def assert_sound_on_server(url: str) -> None:
    """Assert no orphans, no claims, an empty second generation, exact sums and exact `texts.uses`."""
    with psycopg.connect(url, autocommit=True) as db:
        found = db.execute("SELECT to_regclass('commonplace.index_state')").fetchone()
        if not found or not found[0]:
            return
        rows = db.execute("SELECT generation FROM commonplace.index_state").fetchall()
        if not rows:
            return
        at = str(rows[0][0])

        def ask(sql: str) -> list[tuple[Any, ...]]:
            return db.execute(sql.encode()).fetchall()

        for nothing in (
            f"SELECT 1 FROM commonplace.passages_{at} WHERE note NOT IN (SELECT id FROM commonplace.notes_{at})",
            f"SELECT 1 FROM commonplace.segments_{at} WHERE note NOT IN (SELECT id FROM commonplace.notes_{at})",
            f"SELECT 1 FROM commonplace.chunks_{at} WHERE note NOT IN (SELECT id FROM commonplace.notes_{at})",
            f"SELECT 1 FROM commonplace.names_{at} WHERE note NOT IN (SELECT id FROM commonplace.notes_{at})",
            f"SELECT 1 FROM commonplace.links_{at} WHERE note NOT IN (SELECT id FROM commonplace.notes_{at})",
            f"SELECT 1 FROM commonplace.segments_{at} WHERE text NOT IN (SELECT id FROM commonplace.texts)",
            "SELECT 1 FROM commonplace.embeddings WHERE text NOT IN (SELECT id FROM commonplace.texts)",
            "SELECT 1 FROM commonplace.embeddings WHERE model NOT IN (SELECT id FROM commonplace.models)",
            "SELECT 1 FROM commonplace.embeddings e JOIN commonplace.models m ON m.id = e.model"
            " WHERE vector_dims(embedding) <> dimensions",
            "SELECT 1 FROM commonplace.refusals WHERE text NOT IN (SELECT id FROM commonplace.texts)",
            "SELECT 1 FROM commonplace.refusals JOIN commonplace.embeddings USING (model, text)",
            "SELECT 1 FROM commonplace.texts WHERE (uses = 0) <> (unused_since IS NOT NULL)",
            "SELECT 1 FROM commonplace.claims WHERE until > now()",
        ):
            assert not ask(nothing), nothing
        other = "b" if at == "a" else "a"
        assert ask(
            f"SELECT word, sum(chunks) FROM (SELECT * FROM commonplace.lexemes_{at}"
            f" UNION ALL SELECT * FROM commonplace.lexeme_changes_{at}) AS l GROUP BY word HAVING sum(chunks) <> 0"
            " ORDER BY word"
        ) == ask(
            f'SELECT lexeme COLLATE "C" AS word, count(*) FROM commonplace.chunks_{at} AS c, unnest(c.words)'
            " GROUP BY lexeme ORDER BY word"
        )
        for table in (
            "notes",
            "passages",
            "chunks",
            "segments",
            "lexemes",
            "lexeme_changes",
            "names",
            "links",
        ):
            assert ask(f"SELECT count(*) FROM commonplace.{table}_{other}") == [(0,)], table
        assert ask(
            f"SELECT notes, chunks, words FROM commonplace.index_sums WHERE generation = '{at}'"
        ) == ask(
            f"SELECT (SELECT count(*) FROM commonplace.notes_{at}), count(*), coalesce(sum(length), 0)"
            f" FROM commonplace.chunks_{at}"
        )
        uses = Counter(row[0] for row in ask(f"SELECT text FROM commonplace.segments_{at}"))
        assert dict(ask("SELECT id, uses FROM commonplace.texts WHERE uses <> 0")) == dict(uses)
        assert ask("SELECT id, vectors FROM commonplace.models ORDER BY id") == ask(
            "SELECT m.id, count(e.id) FROM commonplace.models m LEFT JOIN commonplace.embeddings e ON e.model = m.id"
            " GROUP BY m.id ORDER BY m.id"
        )


def read_server_contents(url: str) -> dict[str, object]:
    """Return everything stored of each note by its path, including word positions, without row ids."""
    with psycopg.connect(url, autocommit=True) as db:
        [(at,)] = db.execute("SELECT generation FROM commonplace.index_state").fetchall()

        def ask(sql: str, *values: object) -> list[tuple[Any, ...]]:
            return db.execute(sql.replace("@", f"_{at}").encode(), values or None).fetchall()

        return {
            path: (
                (size, digest, fault, day),
                ask(
                    "SELECT position, line_start, line_end, heading, is_heading, text, words"
                    " FROM commonplace.passages@ WHERE note = %s ORDER BY position",
                    note,
                ),
                ask(
                    "SELECT first, last, heading, encode(digest, 'hex') FROM commonplace.segments@ AS s"
                    " JOIN commonplace.texts AS t ON t.id = s.text WHERE note = %s ORDER BY first",
                    note,
                ),
                ask("SELECT name, key, words FROM commonplace.names@ WHERE note = %s ORDER BY name", note),
                ask(
                    "SELECT number, line, key, target, is_wiki, shown FROM commonplace.links@"
                    " WHERE note = %s ORDER BY number",
                    note,
                ),
                ask(
                    "SELECT first, last, length, words::text FROM commonplace.chunks@ WHERE note = %s ORDER BY first",
                    note,
                ),
            )
            for note, path, size, digest, fault, day in ask(
                "SELECT id, path, size, digest, fault, day FROM commonplace.notes@"
            )
        }
