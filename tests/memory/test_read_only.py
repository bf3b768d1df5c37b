from pathlib import Path

import apsw
import pytest

from memory.read_only import DatabaseDamaged, quick_check, run_read_only
from memory.watcher import explain_missing_events


@pytest.fixture
def file(tmp_path: Path) -> Path:
    file = tmp_path / "some name with # and %.db"
    db = apsw.Connection(str(file))
    db.execute("PRAGMA journal_mode = WAL")
    db.execute("CREATE TABLE numbers (number INTEGER); INSERT INTO numbers VALUES (1)")
    db.close()
    return file


def count(db: apsw.Connection) -> int:
    number: int = db.execute("SELECT count(*) FROM numbers").get
    return number


def test_no_file_is_created_and_nothing_can_be_written(file: Path) -> None:
    assert run_read_only(file, count, seconds=5) == 1
    run_read_only(file, quick_check, seconds=5)
    with pytest.raises(apsw.ReadOnlyError):
        run_read_only(file, lambda db: db.execute("DELETE FROM numbers"), seconds=5)
    assert list(file.parent.iterdir()) == [file]


def test_a_file_opened_by_a_writer_meanwhile_is_read_again(file: Path) -> None:
    writer: list[apsw.Connection] = []

    def read(db: apsw.Connection) -> int:
        if not writer:
            writer.append(apsw.Connection(str(file)))
            writer[0].execute("INSERT INTO numbers VALUES (2)")
            raise DatabaseDamaged("half of it is from before")
        return count(db)

    assert run_read_only(file, read, seconds=5) == 2
    writer[0].close()


def test_work_that_takes_too_long_is_interrupted(file: Path) -> None:
    endless = "WITH n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n"
    with pytest.raises(apsw.InterruptError):
        run_read_only(file, lambda db: db.execute(endless).get, seconds=0.05)


def test_a_missing_file_is_not_created(tmp_path: Path) -> None:
    with pytest.raises(apsw.CantOpenError):
        run_read_only(tmp_path / "none.db", count, seconds=5)
    assert list(tmp_path.iterdir()) == []


def test_missing_file_system_events_are_detected(tmp_path: Path) -> None:
    assert explain_missing_events(tmp_path, lambda: (tmp_path / "x").write_text("x")) == ""
    assert "sends no events" in explain_missing_events(tmp_path, lambda: None, seconds=0.05)
    assert explain_missing_events(tmp_path / "nowhere", lambda: None) != ""
