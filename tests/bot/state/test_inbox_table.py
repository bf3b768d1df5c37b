"""How the inbox is looked up: a month of a busy service must not make each turn slower."""

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import median
from typing import Any

import apsw
import pytest

from bot.state import database, inbox, migrations

NOW = "2026-11-21T12:00:00.000+00:00"
CONVERSATION = 3

LOOK_UPS: dict[str, Callable[[apsw.Connection, int], object]] = {
    "least_heard": lambda db, turn: inbox.first_unanswered_seq(db, CONVERSATION),
    "answer": lambda db, turn: inbox.save_reply(db, turn, "Fine."),
    "deliver": inbox.mark_delivered,
    "tried": lambda db, turn: inbox.count_attempts(db, [turn]),
    "not_tried": lambda db, turn: inbox.uncount_attempts(db, [turn]),
    "got_on": inbox.reset_attempts,
    "show": lambda db, turn: inbox.save_shown(db, turn, ["7"]),
    "owners": lambda db, turn: inbox.read_owners(db),
    "unfinished": lambda db, turn: inbox.read_undelivered(db),
    "undelivered": lambda db, turn: inbox.read_undelivered_notices(db),
    "open_since": lambda db, turn: inbox.oldest_open_at(db),
    "when_put": lambda db, turn: inbox.read_notice_times(db, "asks:1:", since="", until=NOW),
}
"""What is asked again and again while messages are answered."""


@pytest.fixture
def db(tmp_path: Path) -> Iterator[apsw.Connection]:
    connection = opened(tmp_path / "state.db")
    yield connection
    connection.close()


def opened(path: Path, *, version: int = len(migrations.MIGRATIONS)) -> apsw.Connection:
    """A state.db as that version of the program has made it."""
    db = apsw.Connection(str(path))
    for migrate in migrations.MIGRATIONS[:version]:
        migrate(db)
    db.execute(f"PRAGMA user_version = {version}")
    return db


def fill(db: apsw.Connection, count: int) -> int:
    """Put in messages that were answered, and one turn that runs; return the number of the turn."""
    with db:
        db.executemany(
            "INSERT INTO inbox (chat, message, payload, state, owner, turn, conversation, heard, at) "
            "VALUES ('telegram:1', ?, '', 'delivered', '', ?, ?, ?, ?)",
            ((f"old-{number}", number, number % 50, number, NOW) for number in range(1, count + 1)),
        )
        db.execute(
            "INSERT INTO inbox (chat, message, payload, state, owner, at) "
            "VALUES ('telegram:1', 'new', '{}', 'waiting', '', ?)",
            (NOW,),
        )
        turn = db.last_insert_rowid()
        inbox.mark_running(db, turn, [(turn, CONVERSATION, 7)])
    return turn


def reads_all(step: str) -> bool:
    """Return whether a step of a plan goes through the whole table.

    The partial indexes of open messages and notices may be read from end to end: they hold nothing else.
    SQLite writes SEARCH without an index where it looks for the least of all rows.
    """
    return step.startswith(("SCAN inbox", "SCAN outbox", "SEARCH inbox", "SEARCH outbox")) and (
        "USING" not in step or (step.startswith("SCAN") and "_open" not in step)
    )


@pytest.mark.parametrize("name", LOOK_UPS)
def test_no_step_of_a_turn_reads_messages_that_are_done(name: str, db: apsw.Connection) -> None:
    turn = fill(db, 10)
    asked: list[tuple[str, Any]] = []

    def note(_: apsw.Cursor, sql: str, values: Any) -> bool:
        asked.append((sql, values))
        return True

    db.exec_trace = note
    LOOK_UPS[name](db, turn)
    db.exec_trace = None
    assert asked
    for sql, values in asked:
        plan = [str(row[3]) for row in db.execute(f"EXPLAIN QUERY PLAN {sql}", values)]
        scans = [step for step in plan if reads_all(step)]
        assert scans == [], sql


@pytest.mark.parametrize("first", ["asks:1:", "asks-2-", "fragt 3–", "~"])
def test_notices_are_found_by_the_beginning_of_their_keys(db: apsw.Connection, first: str) -> None:
    days = [f"2026-11-{day}T12:00:00.000+00:00" for day in range(10, 16)]
    keys = [
        first,
        f"{first}a",
        f"{first}\U0010ffff",
        first[:-1],
        f"{first[:-1]}{chr(ord(first[-1]) + 1)}",
        f"a{first}",
    ]
    for key, day in zip(keys, days, strict=True):
        inbox.add_notice(db, "telegram:1", "", key=key, owner="", at=day)
    assert inbox.read_notice_times(db, first, since="", until=NOW) == tuple(days[:3])
    assert inbox.read_notice_times(db, first, since=days[0], until=days[1]) == (days[1],)


@pytest.mark.thorough
def test_a_turn_costs_the_same_after_a_hundred_thousand_messages(tmp_path: Path) -> None:
    few, many = opened(tmp_path / "few.db"), opened(tmp_path / "many.db")
    turns = {few: fill(few, 100), many: fill(many, 100_000)}

    def seconds(db: apsw.Connection) -> float:
        def once() -> float:
            began = time.perf_counter()
            with db:
                inbox.first_unanswered_seq(db, CONVERSATION)
                inbox.save_reply(db, turns[db], "Fine.")
                inbox.mark_delivered(db, turns[db])
            return time.perf_counter() - began

        return median(once() for _ in range(50))

    # 300 times as long without indexes; the rest is room for deeper trees and a busy machine.
    assert seconds(many) < 10 * seconds(few) + 0.001
    few.close()
    many.close()


async def test_a_file_of_an_earlier_version_gets_the_indexes(tmp_path: Path) -> None:
    path = tmp_path / "state.db"
    old = opened(path, version=14)
    turn = fill(old, 10)
    old.close()
    async with database.State(path) as state:
        assert await state.read(lambda db: inbox.first_unanswered_seq(db, CONVERSATION)) == 7
        await state.change(lambda db: inbox.mark_delivered(db, turn))
        assert await state.read(lambda db: inbox.oldest_open_at(db)) is None
        names = await state.read(
            lambda db: {name for (name,) in db.execute("SELECT name FROM sqlite_schema")}
        )
    assert {"inbox_turn", "inbox_running"} <= names
