import logging
import subprocess
import sys
from pathlib import Path

import pytest

from bot.log.setup import MAX_CHAT_LOGS, SharedFileHandler
from tests.fakes.commonplace import ROOT


def log_of_talks(path: Path, *, max_bytes: int) -> logging.Logger:
    log = logging.Logger("talk")
    log.addHandler(SharedFileHandler(path, max_bytes=max_bytes, kept=MAX_CHAT_LOGS))
    return log


def test_a_log_that_has_grown_is_put_aside_and_three_are_kept(tmp_path: Path) -> None:
    log = log_of_talks(tmp_path / "chat.log", max_bytes=100)
    for number in range(60):
        log.error("line %02d", number)
    files = sorted(path.name for path in tmp_path.iterdir())
    assert files in (
        ["chat.log", "chat.log.1", "chat.log.2", "chat.log.3"],
        ["chat.log.1", "chat.log.2", "chat.log.3"],
    )
    lines = [line for name in reversed(files) for line in (tmp_path / name).read_text().splitlines()]
    assert lines == [f"line {number:02}" for number in range(60 - len(lines), 60)]
    assert len(lines) >= 3 * 13
    assert max(path.stat().st_size for path in tmp_path.iterdir()) < 100 + len("line 00\n")
    assert {path.stat().st_mode & 0o777 for path in tmp_path.iterdir()} == {0o600}


def test_a_file_that_another_process_has_put_aside_is_not_put_aside_twice(tmp_path: Path) -> None:
    file = tmp_path / "chat.log"
    file.write_text("full\n")
    handler = SharedFileHandler(file, max_bytes=1, kept=3)
    with file.open("ab") as ours:  # opened, and written to, just before the other one renames it
        file.rename(tmp_path / "chat.log.1")
        file.write_text("new\n")
        handler._rotate(ours.fileno())
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == {
        "chat.log": "new\n",
        "chat.log.1": "full\n",
    }


WRITES = """
import logging, sys
from pathlib import Path
from bot.log.setup import SharedFileHandler
log = logging.Logger("talk")
log.addHandler(SharedFileHandler(Path(sys.argv[1]), max_bytes=20_000, kept=40))
for number in range(2000):
    log.error("%s %04d", sys.argv[2], number)
"""


@pytest.mark.thorough
def test_several_processes_lose_no_line_of_the_log(tmp_path: Path) -> None:
    command = [sys.executable, "-c", WRITES, str(tmp_path / "chat.log")]
    running = [subprocess.Popen([*command, name], cwd=ROOT) for name in "abc"]
    assert [each.wait(60) for each in running] == [0, 0, 0]
    lines = [line for path in tmp_path.iterdir() for line in path.read_text().splitlines()]
    assert sorted(lines) == [f"{name} {number:04}" for name in "abc" for number in range(2000)]
    # How much longer than 20,000 bytes a file gets is what the others write while one puts it aside: nothing waits
    # for a log, so that is the machine's to say.
    assert len(list(tmp_path.iterdir())) > 1
