"""Rows of a real SQLite table as dataclasses, there and back."""

from collections.abc import Iterator
from dataclasses import dataclass

import apsw
import pytest

from bot.state.rows import insert, select, select_first


@dataclass(frozen=True, slots=True)
class Size:
    width: int
    height: int


@dataclass(frozen=True, slots=True)
class Picture:
    number: int
    title: str
    framed: bool
    size: Size
    price: float | None = None
    tags: tuple[str, ...] = ()


SEA = Picture(1, "Sea", True, Size(3, 2), 7.5, ("blue", "Käfer"))
HILL = Picture(2, "Hill", False, Size(5, 4))


@pytest.fixture
def db() -> Iterator[apsw.Connection]:
    connection = apsw.Connection(":memory:")
    connection.execute(
        """
        CREATE TABLE pictures (
            number INTEGER PRIMARY KEY, title TEXT NOT NULL UNIQUE, framed INTEGER NOT NULL, at TEXT,
            width INTEGER NOT NULL, height INTEGER NOT NULL, price REAL, tags TEXT NOT NULL
        ) STRICT
        """
    )
    yield connection
    connection.close()


def test_a_row_comes_back_as_it_was_stored(db: apsw.Connection) -> None:
    insert(db, "pictures", SEA)
    insert(db, "pictures", HILL)

    assert tuple(select(db, Picture, "FROM pictures ORDER BY number")) == (SEA, HILL)
    assert [row.framed for row in select(db, Picture, "FROM pictures ORDER BY number")] == [True, False]
    assert tuple(select(db, Size, "FROM pictures WHERE price > ?", 7)) == (SEA.size,)
    assert db.execute("SELECT framed, width, tags FROM pictures WHERE number = 1").fetchall() == [
        (1, 3, '["blue", "Käfer"]')
    ]


def test_the_first_row_or_none(db: apsw.Connection) -> None:
    insert(db, "pictures", SEA)
    insert(db, "pictures", HILL)

    assert select_first(db, Picture, "FROM pictures ORDER BY number DESC") == HILL
    assert select_first(db, Picture, "FROM pictures WHERE title = ?", "Sky") is None


def test_one_field_may_be_left_to_the_table_and_columns_without_a_field_added(db: apsw.Connection) -> None:
    insert(db, "pictures", HILL)
    insert(db, "pictures", SEA, without="number", at="now")

    assert db.execute("SELECT number, at FROM pictures ORDER BY number").fetchall() == [(2, None), (3, "now")]


def test_what_happens_to_a_row_that_is_there_already(db: apsw.Connection) -> None:
    insert(db, "pictures", SEA)

    insert(db, "pictures", Picture(1, "Sky", True, Size(1, 1)), conflict="IGNORE")
    assert tuple(select(db, Picture, "FROM pictures")) == (SEA,)

    with pytest.raises(apsw.ConstraintError):
        insert(db, "pictures", Picture(1, "Sky", True, Size(1, 1)))
    assert tuple(select(db, Picture, "FROM pictures")) == (SEA,)

    sky = Picture(4, "Sea", False, Size(9, 9))
    insert(db, "pictures", sky, conflict="REPLACE")
    assert tuple(select(db, Picture, "FROM pictures")) == (sky,)


def test_only_a_row_that_is_there_already_is_ignored(db: apsw.Connection) -> None:
    with pytest.raises(apsw.ConstraintError):
        insert(db, "pictures", SEA, conflict="IGNORE", title=None)
