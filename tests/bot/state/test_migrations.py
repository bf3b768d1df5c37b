"""Every migration, by rows that are in the tables before it: nothing is lost, also if it is killed in the middle."""

import asyncio
import json
import shlex
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import apsw
import pytest

from bot.state import migrations
from bot.state.database import State, StateTooNew, StateUnusable
from bot.state.integrity import check_state
from bot.state.migrations import MIGRATIONS, read_format
from tests.fakes.stored_formats import (
    SAMPLES,
    build,
    hash_schema,
    lost,
    read_directives,
    read_file,
    read_rows,
    sample_file,
    write_state,
)

LATEST = len(MIGRATIONS)
FORMATS = range(1, LATEST + 1)
HOW_TO = (
    "has no sample rows: write {file} with INSERTs that fill every table and column that it makes, and above them "
    "the line `-- schema {hash}`; if it changes or drops what is stored, also `-- rewrites TABLE.COLUMN` or "
    "`-- drops TABLE.COLUMN`. The files beside it are examples."
)


@pytest.fixture
def db() -> Iterator[apsw.Connection]:
    with closing(apsw.Connection(":memory:")) as db:
        yield db


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / ".commonplace" / "state.db"


# -- each migration ---------------------------------------------------------------------------------------------


def check_samples(db: apsw.Connection, number: int) -> str:
    """Return what the sample rows of a format lack, with what to do; "" if they are complete."""
    name, file = MIGRATIONS[number - 1].__name__, sample_file(number)
    build(db, number - 1)
    before = columns_of(db)
    MIGRATIONS[number - 1](db)
    schema = hash_schema(db)
    if not file.is_file():
        return f"{name} {HOW_TO.format(file=file, hash=schema)}"
    if (known := read_directives(number, "schema")) != (schema,):
        return (
            f"{name} makes other tables than {file.name} knows ({schema} instead of {known}): a released migration "
            "never changes, write another one; if it is not released yet, correct the line `-- schema`."
        )
    new = {column: default for column, default in columns_of(db).items() if column not in before}
    db.execute(file.read_text("utf-8"))
    rows = read_rows(db)
    empty = [
        f"{table}.{name}"
        for (table, name), default in new.items()
        if all(row[name] in (None, default) for row in rows[table])
    ]
    return f"{file.name} has no row with a value in {', '.join(empty)}: add one." if empty else ""


def columns_of(db: apsw.Connection) -> dict[tuple[str, str], object]:
    """Return the default of each column, by table and name."""
    return {
        (table, str(row[1])): db.execute(f"SELECT {row[4] or 'NULL'}").get
        for table in read_rows(db)
        for row in db.execute(f"PRAGMA table_info({table})").fetchall()
    }


@pytest.mark.parametrize("number", FORMATS, ids=lambda number: MIGRATIONS[number - 1].__name__)
def test_it_has_rows_for_all_that_it_makes_and_never_changes(db: apsw.Connection, number: int) -> None:
    assert check_samples(db, number) == ""


def test_rows_are_of_a_migration() -> None:
    assert {file.name for file in SAMPLES.iterdir()} == {sample_file(number).name for number in FORMATS}


@pytest.mark.parametrize("number", FORMATS, ids=lambda number: MIGRATIONS[number - 1].__name__)
def test_it_keeps_every_row(db: apsw.Connection, number: int) -> None:
    build(db, number - 1)
    before = read_rows(db)
    MIGRATIONS[number - 1](db)
    assert lost(before, read_rows(db), upgrades=range(number, number + 1)) == []


def test_a_migration_without_rows_says_what_to_do(
    db: apsw.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    def m999_later(db: apsw.Connection) -> None:
        db.execute("CREATE TABLE later (x TEXT)")

    monkeypatch.setattr("tests.bot.state.test_migrations.MIGRATIONS", (*MIGRATIONS, m999_later))
    monkeypatch.setattr("tests.fakes.stored_formats.MIGRATIONS", (*MIGRATIONS, m999_later))
    told = check_samples(db, LATEST + 1)
    assert "m999_later has no sample rows: write" in told
    assert "formats/m999_later.sql" in told
    assert f"`-- schema {hash_schema(db)}`" in told


def test_a_migration_that_drops_what_it_does_not_name_is_noticed(db: apsw.Connection) -> None:
    build(db, LATEST)
    before = read_rows(db)
    db.execute("DELETE FROM reminders WHERE number = 1; UPDATE people SET name = ''; DROP TABLE rooms")
    found = "\n".join(lost(before, read_rows(db), upgrades=range(0)))
    assert "reminders: 7 rows became 6" in found
    assert "'name': 'Ben'" in found
    assert "rooms: 2 rows became 0" in found


# -- files, upgraded by the program -----------------------------------------------------------------------------


@pytest.mark.parametrize("number", FORMATS)
async def test_a_file_of_any_format_is_upgraded_and_keeps_every_row(path: Path, number: int) -> None:
    write_state(path, number)
    _, before = read_file(path)
    async with State(path) as state:
        assert await state.read(read_format) == LATEST
        problems = await state.read(lambda db: db.execute("PRAGMA foreign_key_check").fetchall())
        assert problems == []
    assert lost(before, read_file(path)[1], upgrades=range(number + 1, LATEST + 1)) == []
    assert check_state(path, seconds=10).looked_through


async def test_an_upgrade_is_recorded_and_told(path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO")
    write_state(path, 28)

    def back_up() -> str:
        assert f" from format 28 to {LATEST}, after a backup" in caplog.text  # before what may take minutes
        return "backups/x.tar.gz"

    async with State(path, back_up=back_up):
        pass
    (row,) = read_file(path)[1]["upgrades"]
    assert (row["format"], row["earlier"], row["backup"]) == (LATEST, 28, "backups/x.tar.gz")
    kept = path.parent / "backups" / "x.tar.gz"
    assert caplog.messages[-1] == f"upgraded {path} from format 28 to {LATEST}; the earlier one is in {kept}"


async def test_a_new_file_needs_no_backup(path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO")

    def back_up() -> str:
        raise AssertionError

    for _ in range(2):
        async with State(path, back_up=back_up):
            pass
    assert "upgrad" not in caplog.text


async def test_processes_that_open_it_at_once_make_one_backup(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun = threading.Semaphore(0)
    made: list[str] = []

    def note_begin(cursor: object, statement: str, bindings: object) -> bool:
        if statement.startswith("BEGIN IMMEDIATE"):
            begun.release()
        return True

    def back_up() -> str:
        for _ in range(4):  # all of them have seen the earlier format
            assert begun.acquire(timeout=10)
        made.append(f"backups/{len(made)}.tar.gz")
        return made[-1]

    async def open_it() -> None:
        async with State(path, back_up=back_up):
            pass

    write_state(path, 28)
    monkeypatch.setattr(apsw, "connection_hooks", [lambda db: db.set_exec_trace(note_begin)])
    await asyncio.gather(*(open_it() for _ in range(4)))
    assert made == ["backups/0.tar.gz"]


async def test_beside_an_upgrade_that_takes_long_people_are_told_to_wait(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_state(path, 28)
    monkeypatch.setattr("bot.state.database.BUSY_TIMEOUT_MS", 20)
    with closing(apsw.Connection(str(path))) as upgrading:
        upgrading.execute("BEGIN IMMEDIATE")
        with pytest.raises(
            StateUnusable, match="perhaps to upgrade it just now: wait a minute and try again"
        ):
            async with State(path):
                pass


async def test_without_a_backup_nothing_is_upgraded(path: Path) -> None:
    def back_up() -> str:
        raise StateUnusable("the disk is full")

    write_state(path, 20)
    before = path.read_bytes()
    with pytest.raises(StateUnusable, match="the disk is full"):
        async with State(path, back_up=back_up):
            pass
    assert path.read_bytes() == before


async def test_a_migration_that_fails_leaves_the_earlier_format(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def half(db: apsw.Connection) -> None:
        db.execute("CREATE TABLE half (x)")
        raise RuntimeError("in the middle")

    write_state(path, 5)
    before = read_file(path)
    monkeypatch.setattr(migrations, "MIGRATIONS", (*MIGRATIONS, half))
    with pytest.raises(RuntimeError, match="in the middle"):
        async with State(path):
            pass
    assert read_file(path) == before


async def test_a_disk_that_fills_up_leaves_the_earlier_format(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A version that cannot finish must not keep the earlier one from going on."""

    def fill(db: apsw.Connection) -> None:
        db.execute(f"PRAGMA max_page_count = {db.execute('PRAGMA page_count').get}")
        db.execute("CREATE TABLE large (x); INSERT INTO large VALUES (zeroblob(1000000))")

    write_state(path, LATEST)
    before = read_file(path)
    monkeypatch.setattr(migrations, "MIGRATIONS", (*MIGRATIONS, fill))
    with pytest.raises(StateUnusable, match="disk is full"):
        async with State(path):
            pass
    assert read_file(path) == before


async def test_an_instance_that_has_lost_the_file_does_not_upgrade_it(path: Path) -> None:
    write_state(path, 28)
    before = read_file(path)
    with pytest.raises(StateUnusable, match="is another instance's now: nothing was changed"):
        async with State(path, is_ours=lambda: False):
            pass
    assert read_file(path) == before


# -- killed in the middle ---------------------------------------------------------------------------------------


def kill_at(state: Path, folder: Path, *, first: int, step: int) -> list[dict[str, object]]:
    folder.mkdir()
    command = [
        sys.executable,
        "-m",
        "tests.fakes.upgrading_process",
        str(state),
        str(folder),
        str(first),
        str(step),
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    assert (done.returncode, done.stderr) == (0, "")
    *outcomes, end = [json.loads(line) for line in done.stdout.splitlines()]
    assert end == "end"
    return outcomes


@pytest.mark.parametrize(
    "step", [13, pytest.param(1, marks=pytest.mark.thorough)], ids=["some", "every statement"]
)
def test_killed_between_and_within_migrations_it_completes_afterwards(
    path: Path, tmp_path: Path, step: int
) -> None:
    outcomes = kill_at(write_state(path, 1), tmp_path / "killed", first=2, step=step)
    assert all(each["complete"] for each in outcomes)
    assert [each["killed"] for each in outcomes] == [True] * (len(outcomes) - 1) + [False]
    assert {each["left"] for each in outcomes[:-1]} <= {1, LATEST}, "as it was, or done"
    assert len(outcomes) > (LATEST * 2) // step


# -- newer files ------------------------------------------------------------------------------------------------


def make_newer(path: Path, *, recorded: bool = True, backup: str = "") -> None:
    """Let a later version have upgraded a file of this one."""
    with closing(apsw.Connection(str(path))) as db:
        if recorded:
            row = (LATEST + 2, LATEST, "9.1.0", backup, "2099-01-01T00:00:00.000+00:00")
            db.execute(
                "INSERT INTO upgrades (format, earlier, version, backup, at) VALUES (?, ?, ?, ?, ?)", row
            )
        else:
            db.execute("DROP TABLE upgrades")
        db.execute(f"PRAGMA user_version = {LATEST + 2}")


def refused(path: Path) -> str:
    """Return how the file is refused; it must not change."""

    async def open_it() -> None:
        async with State(path):
            pass

    with closing(apsw.Connection(str(path))) as db:
        db.execute(
            "PRAGMA journal_mode = DELETE"
        ).fetchall()  # as in a restored file; opening it for use changes that
    before = path.read_bytes()
    with pytest.raises(StateTooNew) as caught:
        asyncio.run(open_it())
    assert path.read_bytes() == before
    assert sorted(each.name for each in path.parent.iterdir() if each.is_file()) == ["state.db"]
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_a_newer_file_is_refused_with_its_version_and_the_backup(path: Path) -> None:
    write_state(path, LATEST)
    (path.parent / "backups").mkdir()
    backup = path.parent / "backups" / "commonplace-20990101T000000Z-before-upgrade.tar.gz"
    backup.touch()
    make_newer(path, backup=f"backups/{backup.name}")
    told = refused(path)
    assert told.startswith(
        f"{path} was written by a newer version of Commonplace (9.1.0, format {LATEST + 2}; this is "
    )
    assert f"knows formats up to {LATEST})" in told
    assert told.endswith(
        ": install Commonplace 9.1.0 or later, or go back to the backup made before the upgrade: "
        f"commonplace restore {backup}"
    )


def test_the_command_that_goes_back_can_be_copied(path: Path) -> None:
    folder = path.parent / "Anna's notes"
    (folder / "backups").mkdir(parents=True)
    (backup := folder / "backups" / "before.tar.gz").touch()
    write_state(folder / "state.db", LATEST)
    make_newer(folder / "state.db", backup="backups/before.tar.gz")
    _, _, command = refused(folder / "state.db").rpartition("made before the upgrade: ")
    assert shlex.split(command) == ["commonplace", "restore", str(backup)]


def test_of_several_upgrades_since_the_backup_of_the_first_is_named(path: Path) -> None:
    """Only that one has a format that this version knows."""
    write_state(path, LATEST)
    names = {number: f"commonplace-2099010{number}T000000Z-before-upgrade.tar.gz" for number in (1, 2)}
    make_newer(path)
    (path.parent / "backups").mkdir()
    with closing(apsw.Connection(str(path))) as db:
        for number, name in names.items():
            (path.parent / "backups" / name).touch()
            row = (LATEST + number, LATEST + number - 1, f"9.{number}.0", f"backups/{name}", "2099")
            db.execute("INSERT OR REPLACE INTO upgrades VALUES (?, ?, ?, ?, ?)", row)
    told = refused(path)
    assert "(9.2.0, format" in told
    assert "install Commonplace 9.2.0 or later, or go back" in told
    assert told.endswith(names[1])


def test_a_backup_that_this_version_cannot_restore_is_not_promised(path: Path) -> None:
    write_state(path, LATEST)
    make_newer(path, backup="backups/later.tar.gz")
    (path.parent / "backups").mkdir()
    (path.parent / "backups" / "later.tar.gz").touch()
    with closing(apsw.Connection(str(path))) as db:
        db.execute("UPDATE upgrades SET earlier = ? WHERE format = ?", (LATEST + 1, LATEST + 2))
    assert "later.tar.gz" not in refused(path)


def test_a_backup_that_is_gone_is_not_promised(path: Path) -> None:
    write_state(path, LATEST)
    make_newer(path, backup="backups/gone.tar.gz")
    assert "gone.tar.gz" not in (told := refused(path))
    assert "or restore a backup that this version made (commonplace restore FILE)" in told


def test_a_newer_file_that_does_not_say_its_version_is_refused(path: Path) -> None:
    write_state(path, LATEST)
    make_newer(path, recorded=False)
    assert f"newer version of Commonplace (format {LATEST + 2}; this is " in (told := refused(path))
    assert "update Commonplace, or restore" in told


async def test_a_file_that_a_newer_version_upgrades_meanwhile_is_not_written_any_more(path: Path) -> None:
    """As where the command line is the new version's already, and the service still the old one's."""
    async with State(path) as state:
        await state.choose_model("telegram:1", "openai/gpt-4.1")
        make_newer(path)
        with pytest.raises(StateTooNew, match=r"newer version of Commonplace \(9\.1\.0, "):
            await state.choose_model("telegram:1", "builtin/notebook")
        assert await state.read_chosen_model("telegram:1") == "openai/gpt-4.1"
