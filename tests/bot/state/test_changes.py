from pathlib import Path

import apsw

from bot.state import changes
from bot.state.changes import ChangeOrigin
from bot.state.database import State
from memory.line_diff import LineDiff
from tests.fakes.fresh_state import copy_fresh_state


async def test_what_undoes_a_change_is_looked_up_by_the_index(tmp_path: Path) -> None:
    """Otherwise a list of changes, and an undo, would read the whole record for each of them."""
    asked: list[str] = []

    def remember(_: object, statement: str, __: object) -> bool:
        asked.append(statement)
        return True

    def plan(db: apsw.Connection) -> list[str]:
        lines, origin = LineDiff(1, "top", (), ("- milk",)), ChangeOrigin("cli")
        changes.save_change(db, "effect", "a.md", lines, origin, at="2026-11-21T12:00:00.000+00:00")
        changes.mark_done(db, "effect")
        db.exec_trace = remember
        changes.read_chain(db, 1)
        db.exec_trace = None
        (query,) = [each for each in asked if "undoes = ?" in each]
        return [str(row[3]) for row in db.execute(f"EXPLAIN QUERY PLAN {query}", (1,))]

    async with State(copy_fresh_state(tmp_path / "state.db")) as state:
        assert await state.change(plan) == ["SEARCH changes USING INDEX changes_by_undone (undoes=?)"]


async def test_the_changes_of_a_program_are_found_by_its_name(tmp_path: Path) -> None:
    def fill(db: apsw.Connection) -> None:
        origins = [
            ChangeOrigin("mcp", client="Cursor"),
            ChangeOrigin("mcp", client="Zed"),
            ChangeOrigin("cli", person="terminal:owner"),
        ]
        for number, origin in enumerate(origins, start=1):
            lines = LineDiff(number, "top", (), (f"- milk {number}",))
            changes.save_change(db, f"e{number}", "a.md", lines, origin, at="2026-11-21T12:00:00.000+00:00")
            changes.mark_done(db, f"e{number}")

    def find(db: apsw.Connection) -> list[int]:
        listed = changes.read_changes(db, limit=9, client="Zed")
        last = changes.find_last(db, None, client="Cursor")
        assert changes.find_last(db, None, client="nobody") is None
        return [*(each.number for each in listed), last.number if last else 0]

    async with State(copy_fresh_state(tmp_path / "state.db")) as state:
        await state.change(fill)
        assert await state.read(find) == [2, 1]
