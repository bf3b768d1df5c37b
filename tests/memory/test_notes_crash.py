"""Real processes that write the same note and are killed while they do."""

import os
import random
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from memory.notes import Notes

DAY = "2026-11-21.md"
WRITER = """
import sys
from pathlib import Path
from memory.formatting import format_entry
from memory.notes import Notes
base, name, count = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
notes = Notes(base / "memory", private=base / "private")
for number in range(count):
    text = f"{name}{number:04} 明日 " + "word " * (number % 50 // 49 * 2000) + "end."
    written = notes.append("2026-11-21.md", format_entry(text), title="2026-11-21")
    if number % 10 == 9:
        notes.edit("2026-11-21.md", f"{name}{number - 9:04} ", f"{name}{number - 9:04} edited ")
    print(number, written.line_start, flush=True)
"""


def start(base: Path, name: str, count: int) -> "subprocess.Popen[str]":
    root = str(Path(__file__).parents[2])
    return subprocess.Popen(
        [sys.executable, "-c", WRITER, str(base), name, str(count)],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": root},
    )


@pytest.mark.thorough
def test_processes_that_append_at_once_write_every_line_exactly_once(tmp_path: Path) -> None:
    writers = {name: start(tmp_path, name, 250) for name in ("a", "b")}
    acknowledged = {name: writer.communicate(timeout=60)[0].splitlines() for name, writer in writers.items()}
    assert [len(lines) for lines in acknowledged.values()] == [250, 250]
    text = (tmp_path / "memory" / DAY).read_text()
    assert text.startswith("# 2026-11-21\n\n- ")
    lines = text.split("\n")
    for name, said in acknowledged.items():
        for line in said:
            number, place = map(int, line.split())
            assert lines[place - 1].startswith(f"- {name}{number:04} ")
    found = re.findall(r"(?m)^- ([ab]\d{4}) (?:edited )?明日 (?:word )*end\.$", text)
    assert len(found) == len(set(found)) == 500
    assert len(lines) == 503


@pytest.mark.thorough
def test_a_killed_writer_loses_nothing_it_acknowledged_and_leaves_no_lock(tmp_path: Path) -> None:
    chance = random.Random(7)
    acknowledged: set[str] = set()
    for turn in range(20):
        name = chr(ord("a") + turn)
        with start(tmp_path, name, 10_000) as writer:
            assert writer.stdout is not None
            first = writer.stdout.readline()
            time.sleep(chance.random() * 0.05)
            writer.send_signal(signal.SIGKILL)
            said = (first + writer.stdout.read()).splitlines(keepends=True)
        acknowledged |= {f"{name}{int(line.split()[0]):04}" for line in said if line.endswith("\n")}
    text = (tmp_path / "memory" / DAY).read_bytes().decode()
    assert text.startswith("# 2026-11-21\n\n- ")
    found = re.findall(r"(?m)^- ([a-t]\d{4}) (?:edited )?明日 (?:word )*end\.$", text)
    assert len(found) == len(set(found))
    assert acknowledged <= set(found)
    # Each kill interrupted at most one line, which is whole or cut off, but never joined to another.
    assert len(text.splitlines()) - 2 - len(found) <= 20
    assert len(set(found) - acknowledged) <= 20
    begun = time.monotonic()
    Notes(tmp_path / "memory", private=tmp_path / "private").append(DAY, "- still here", title="T")
    assert time.monotonic() - begun < 5
    assert [path.name for path in (tmp_path / "memory").iterdir()] == [DAY]
