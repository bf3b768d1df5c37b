"""An import or its undo is killed again and again; going on gives the same as a run that nobody has disturbed."""

import hashlib
import random
import subprocess
import time
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import apsw
import pytest

from tests.fakes.assistant_exports import chatgpt_conversation, write_chatgpt_zip
from tests.fakes.commonplace import Commonplace

CHATS = 1_000
DAYS = 25


def write_export(folder: Path) -> Path:
    said = [("user", f"question {number} " * 20) for number in range(10)]
    chats = [chatgpt_conversation(f"c{number}", said, at=1.7e9 + 1000 * number) for number in range(CHATS)]
    return write_chatgpt_zip(folder / "export.zip", chats)


def write_notes(folder: Path) -> Path:
    vault = folder / "vault"
    (vault / "trips").mkdir(parents=True)
    for day in range(1, DAYS + 1):
        lines = "".join(f"- Line {number} of day {day}.\n" for number in range(4))
        (vault / f"2026-03-{day:02}.md").write_text(f"# 2026-03-{day:02}\n\n{lines}", "utf-8")
        (vault / "trips" / f"trip-{day}.md").write_text(f"Trip {day}.\n" * 50, "utf-8")
    (vault / "MEMORY.md").write_text("# Memory\n\n- Anna lives in Oslo.\n- Ben is her brother.\n", "utf-8")
    return vault


def write_own_notes(commonplace: Commonplace) -> None:
    """Notes that are there before, some with the same lines and names."""
    (commonplace.memory / "trips").mkdir(parents=True)
    for day in range(1, DAYS + 1, 2):
        log = f"# 2026-03-{day:02}\n\n- Line 1 of day {day}.\n- Line 3 of day {day}.\n- Own.\n"
        (commonplace.memory / f"2026-03-{day:02}.md").write_text(log, "utf-8")
        (commonplace.memory / "trips" / f"trip-{day}.md").write_text("Another trip.\n", "utf-8")
    (commonplace.memory / "MEMORY.md").write_text("# Memory\n\n- Anna lives in Oslo.\n", "utf-8")


def content_of(commonplace: Commonplace) -> tuple[dict[str, str], list[Any], list[Any]]:
    """Return the notes, and the rows without when they were written."""
    notes = {
        str(path.relative_to(commonplace.memory)): path.read_text("utf-8")
        for path in sorted(commonplace.memory.rglob("*.md"))
    }
    with closing(apsw.Connection(str(commonplace.memory.parent / ".commonplace" / "state.db"))) as db:
        conversations = db.execute(
            "SELECT id, chat, started_at, ended_at FROM conversations ORDER BY id"
        ).fetchall()
        entries = db.execute(
            "SELECT conversation, seq, kind, payload, at FROM entries ORDER BY 1, 2"
        ).fetchall()
        rows = db.execute(
            "SELECT run, source, path, kind, lines FROM imported_notes ORDER BY 1, 2"
        ).fetchall()
        states = db.execute("SELECT run, state FROM imports").fetchall()
        assert db.execute("PRAGMA integrity_check").get == "ok"
        assert db.execute("PRAGMA foreign_key_check").fetchall() == []
    digest = hashlib.sha256(repr(entries).encode()).hexdigest()
    return notes, [*conversations, digest], [*rows, *states]


def run_killed(
    commonplace: Commonplace, words: Sequence[str], *, took: float, kills: int, pick: random.Random
) -> int:
    """Run a command, kill it up to `kills` times at any moment of its work, then let it end; return how many hit."""
    hits = 0
    for _ in range(kills):
        with commonplace.start(*words) as process:
            try:
                process.wait(timeout=pick.uniform(took / 4, took))
            except subprocess.TimeoutExpired:
                process.kill()
                hits += 1
            process.communicate()
        if process.returncode == 0:
            return hits
    done = commonplace(*words)
    assert done.returncode == 0 or "already undone" in done.stderr, done.stderr
    return hits


def show_that_kills_change_nothing(
    folder: Path, words: Sequence[str], *, kills: int, seed: int
) -> tuple[int, int]:
    """Import and undo, killed and undisturbed; return how many kills hit the import and the undo."""
    clean, killed = Commonplace(folder / "clean"), Commonplace(folder / "killed")
    for commonplace in (clean, killed):
        write_own_notes(commonplace)
    pick = random.Random(seed)
    hits, contents = [], []
    for command in (words, ("import", "--undo", "1")):
        began = time.monotonic()
        clean.output_of(*command)
        took = time.monotonic() - began
        hits.append(run_killed(killed, command, took=took, kills=kills, pick=pick))
        contents.append(content_of(clean))
        assert content_of(killed) == contents[-1]
    assert contents[0] != contents[1]
    return hits[0], hits[1]


@pytest.mark.parametrize("what", ["conversations", "notes"])
@pytest.mark.thorough
def test_a_killed_import_goes_on_and_so_does_a_killed_undo(tmp_path: Path, what: str) -> None:
    source = write_export(tmp_path) if what == "conversations" else write_notes(tmp_path)
    for seed in range(2):
        show_that_kills_change_nothing(tmp_path / str(seed), ("import", str(source)), kills=6, seed=seed)
