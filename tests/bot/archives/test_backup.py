import asyncio
import errno
import gzip
import io
import json
import os
import random
import shutil
import subprocess
import sys
import tarfile
import time
import tracemalloc
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, contextmanager, suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import apsw
import pytest

from bot.archives.archive import FORMAT, MANIFEST, read_archive, write_archive
from bot.archives.backup import Backups
from bot.archives.errors import ArchiveCorrupted, BackupError
from bot.archives.restore import restore
from bot.messages import ChatId
from bot.models.protocol import UserMessage
from bot.process_lock import RESTORE_PENDING, ProcessLock, is_unfinished
from bot.state.database import State
from bot.state.snapshot import check_database, copy_database
from memory import hidden_lines
from memory.hidden_lines import HiddenLines
from tests.fakes.commonplace import ROOT
from tests.fakes.stored_conversation import entries, open_conversation

NOW = datetime(2026, 11, 22, 3, 30, tzinfo=UTC)
NOTES = {"MEMORY.md": "Core.\n", "2026-11-22.md": "- today\n", "trips/oslo.md": "Fjord.\n", "über.md": "ä\n"}


class Clock:
    def __init__(self) -> None:
        self.time = NOW

    def __call__(self) -> datetime:
        return self.time


class Workspace:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.notes = folder / "memory"
        self.private = folder / ".commonplace"
        self.clock = Clock()
        self.backups = Backups(notes=self.notes, private=self.private, now=self.clock)

    def write(self, notes: dict[str, str]) -> None:
        for name, text in notes.items():
            file = self.notes / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, "utf-8")

    def read(self) -> dict[str, str]:
        files = (path for path in self.notes.rglob("*") if path.is_file())
        return {str(path.relative_to(self.notes)): path.read_text("utf-8") for path in files}

    def state(self) -> State:
        return State(self.private / "state.db", now=self.clock)

    async def say(self, text: str) -> None:
        async with self.state() as state:
            await say(state, text)

    async def said(self) -> list[str]:
        async with self.state() as state:
            number = await open_conversation(state, "terminal:main")
            rows = await entries(state, number) if number else ()
        return [json.loads(entry.payload)["text"] for entry in rows]

    def restore(self, file: Path) -> None:
        restore(file, notes=self.notes, private=self.private, now=self.clock)

    def restore_over(self, file: Path) -> Path:
        """Restore where there is something; return where that is kept."""
        kept = restore(file, notes=self.notes, private=self.private, now=self.clock).kept
        assert kept is not None
        return kept


async def say(state: State, text: str) -> None:
    from bot.conversations.conversation import Conversation

    conversation = Conversation(state, ChatId("terminal", "main"))
    await conversation.load()
    await conversation.append(UserMessage(text))


@pytest.fixture
async def workspace(tmp_path: Path) -> Workspace:
    workspace = Workspace(tmp_path / "workspace")
    workspace.write(NOTES)
    await workspace.say("hello")
    return workspace


def left_over(workspace: Workspace) -> list[str]:
    """What an attempt has left of itself."""
    found = [*workspace.folder.rglob(".commonplace-backup-*"), *(workspace.private / "tmp").glob("*")]
    return sorted(str(path) for path in [*found, *workspace.private.glob("restore*")])


# -- made ---------------------------------------------------------------------------------------------------


async def test_a_backup_holds_notes_and_conversations_and_comes_back_in_another_place(
    workspace: Workspace, tmp_path: Path
) -> None:
    made = await workspace.backups.make()
    assert made.file == workspace.private / "backups" / "commonplace-20261122T033000Z.tar.gz"
    assert (made.files, made.size, made.problems) == (4, made.file.stat().st_size, ())
    other = Workspace(tmp_path / "other")
    other.restore(made.file)
    assert other.read() == NOTES
    assert await other.said() == ["hello"]
    assert left_over(workspace) == left_over(other) == []


async def test_it_is_for_its_owner_alone_and_names_nobody(workspace: Workspace) -> None:
    made = await workspace.backups.make()
    assert made.file.stat().st_mode & 0o777 == 0o600
    assert made.file.parent.stat().st_mode & 0o777 == 0o700
    with tarfile.open(made.file) as tar:
        members = tar.getmembers()
        assert {member.uname + member.gname for member in members} == {""}
        assert tar.getnames() == [
            "state.db",
            "memory/2026-11-22.md",
            "memory/MEMORY.md",
            "memory/über.md",
            "memory/trips/oslo.md",
            MANIFEST,
        ]
        manifest = tar.extractfile(MANIFEST)
        assert manifest
        told = json.load(manifest)
    assert (told["format"], told["made_at"]) == (1, "2026-11-22T03:30:00+00:00")
    assert (told["files"], told["state"]) == (4, True)


async def test_pictures_are_in_it_but_nothing_hidden_and_nothing_from_outside(
    workspace: Workspace, tmp_path: Path
) -> None:
    (tmp_path / "secret.md").write_text("of somebody else")
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "more.md").write_text("of somebody else")
    (workspace.notes / "photo.png").write_bytes(bytes(range(256)) * 40_000)
    (workspace.notes / ".obsidian").mkdir()
    (workspace.notes / ".obsidian" / "app.json").write_text("{}")
    (workspace.notes / ".hidden.md").write_text("hidden")
    (workspace.notes / "link.md").symlink_to(tmp_path / "secret.md")
    (workspace.notes / "linked").symlink_to(tmp_path / "folder")
    (workspace.notes / "trips" / "same.md").symlink_to("oslo.md")
    os.mkfifo(workspace.notes / "pipe.md")
    made = await workspace.backups.make()
    with tarfile.open(made.file) as tar:
        names = tar.getnames()
        picture = tar.extractfile("memory/photo.png")
        assert picture
        assert picture.read() == (workspace.notes / "photo.png").read_bytes()
    assert made.problems == ()
    assert sorted(set(names) - {f"memory/{name}" for name in NOTES}) == [
        MANIFEST,
        "memory/photo.png",
        "state.db",
    ]


async def test_a_name_that_is_no_utf8_comes_back(workspace: Workspace, tmp_path: Path) -> None:
    name = os.fsdecode(b"caf\xe9 and \n a long " + b"n" * 150 + b".md")
    (workspace.notes / name).write_text("x\n")
    made = await workspace.backups.make()
    other = Workspace(tmp_path / "other")
    other.restore(made.file)
    assert (other.notes / name).read_text() == "x\n"


async def test_times_and_modes_of_notes_come_back(workspace: Workspace, tmp_path: Path) -> None:
    note = workspace.notes / "MEMORY.md"
    note.chmod(0o600)
    os.utime(note, (1_000_000_000, 1_000_000_000))
    other = Workspace(tmp_path / "other")
    other.restore((await workspace.backups.make()).file)
    found = (other.notes / "MEMORY.md").stat()
    assert (found.st_mode & 0o777, found.st_mtime) == (0o600, 1_000_000_000)


async def test_without_conversations_there_are_none_in_it(tmp_path: Path) -> None:
    workspace = Workspace(tmp_path / "workspace")
    workspace.write(NOTES)
    made = await workspace.backups.make()
    with tarfile.open(made.file) as tar:
        assert "state.db" not in tar.getnames()
    await workspace.say("later")
    kept = workspace.restore_over(made.file)
    assert (kept / "state.db").is_file()
    assert await workspace.said() == []


@pytest.mark.thorough
async def test_beside_a_busy_writer_the_copy_is_of_one_moment(workspace: Workspace) -> None:
    """Two tables are always changed together: a copy of two moments would show them apart."""
    async with workspace.state() as state:
        await state.change(
            lambda db: db.execute("CREATE TABLE one (x); CREATE TABLE other (x)").fetchall() and None
        )
        await state.change(
            lambda db: [db.execute("INSERT INTO one VALUES (zeroblob(3000))") for _ in range(5000)] and None
        )
        written, waits = 0, []

        async def write() -> None:
            nonlocal written
            while True:
                began = asyncio.get_running_loop().time()
                await state.change(
                    lambda db: db.execute(
                        "INSERT INTO one VALUES (1); INSERT INTO other VALUES (1)"
                    ).fetchall()
                )
                waits.append(asyncio.get_running_loop().time() - began)
                written += 1

        writer = asyncio.create_task(write())
        made = await workspace.backups.make()
        writer.cancel()
        await asyncio.gather(writer, return_exceptions=True)
    assert written > 5, "the backup did not keep it waiting"
    with tarfile.open(made.file) as tar:
        kept = tar.extractfile("state.db")
        assert kept
        (made.file.parent / "state.db").write_bytes(kept.read())
    db = apsw.Connection(str(made.file.parent / "state.db"))
    ones, others = (db.execute(f"SELECT count(*) FROM {table}").get for table in ("one", "other"))
    assert ones - 5000 == others
    db.close()


@pytest.mark.thorough
def test_a_writer_that_never_rests_does_not_put_the_copy_off(tmp_path: Path) -> None:
    """Something is committed between any two steps of the copy: it still comes to its end, and has none of it."""
    source, target = tmp_path / "state.db", tmp_path / "copy.db"
    writer = apsw.Connection(str(source))
    writer.execute("PRAGMA journal_mode = WAL; CREATE TABLE one (x)").fetchall()
    with writer:
        writer.executemany("INSERT INTO one VALUES (zeroblob(3000))", [()] * 5000)
    written = 0

    def write() -> bool:
        nonlocal written
        written += 1
        writer.execute("INSERT INTO one VALUES (1)").fetchall()
        return written > 100

    copy_database(source, target, stopped=write)
    assert 5 < written < 100
    copy = apsw.Connection(str(target))
    assert copy.execute("SELECT count(*) FROM one").get == 5000
    copy.close()
    writer.close()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["copy.db", "state.db"]


@pytest.mark.parametrize("young", [False, True], ids=["time changes", "time stays"])
def test_a_note_that_is_written_while_it_is_read_is_read_again(tmp_path: Path, young: bool) -> None:
    """Each version is one letter many times; a torn one would show two. A write may keep the time of the file."""
    notes = tmp_path / "memory"
    notes.mkdir()
    note, size = notes / "busy.md", 1_000_000
    note.write_bytes(b"a" * size)
    when = time.time() if young else 1_000_000_000
    os.utime(note, (when, when))
    looks = 0

    def write() -> bool:
        nonlocal looks
        looks += 1
        if looks == 2:  # in the middle of the first reading
            with note.open("r+b") as file:
                file.write(b"b" * size)
            if young:
                os.utime(note, (when, when))
        return False

    with (tmp_path / "archive").open("w+b") as target:
        manifest, problems = write_archive(
            target,
            notes=notes,
            state=None,
            hidden=None,
            spool=tmp_path,
            made_at="",
            version="",
            stopped=write,
        )
        assert read_archive(target, name="archive") == manifest
        target.seek(0)
        with tarfile.open(fileobj=target) as tar:
            found = tar.extractfile("memory/busy.md")
            assert found
            assert found.read() == b"b" * size
    assert problems == []


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
async def test_what_cannot_be_read_is_told_and_the_rest_is_there(workspace: Workspace) -> None:
    (workspace.notes / "MEMORY.md").chmod(0)
    made = await workspace.backups.make()
    assert made.files == 3
    assert made.problems == (
        "MEMORY.md: permission denied; give the user who runs this program access to it",
    )


async def test_what_could_not_be_read_is_told_again_where_the_backup_is_asked_for_again(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(60):
        (workspace.notes / f"huge-{number:02}.md").write_text("x")
    opened = os.open

    def refusing(path: Any, *others: Any, **options: Any) -> int:
        if str(path).startswith("huge-"):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
        return opened(path, *others, **options)

    monkeypatch.setattr(os, "open", refusing)
    made = await workspace.backups.make(key="message-1")
    assert made.problems[0].startswith("huge-00.md: permission denied")
    assert made.problems[-1] == "and 10 more"
    assert await workspace.backups.make(key="message-1") == made


async def test_a_damaged_database_is_told_and_nothing_is_left(workspace: Workspace) -> None:
    file = workspace.private / "state.db"
    data = bytearray(file.read_bytes())
    data[5000:9000] = b"\xff" * 4000
    file.write_bytes(data)
    with pytest.raises(BackupError, match=r"^no backup was made: .* damaged"):
        await workspace.backups.make()
    assert left_over(workspace) == []
    assert list((workspace.private / "backups").iterdir()) == []


async def test_a_file_is_never_written_over(workspace: Workspace, tmp_path: Path) -> None:
    file = tmp_path / "mine.tar.gz"
    file.write_text("mine")
    with pytest.raises(BackupError, match=r"mine\.tar\.gz already exists"):
        await workspace.backups.make(file)
    with pytest.raises(BackupError, match="does not exist"):
        await workspace.backups.make(tmp_path / "nowhere" / "a.tar.gz")
    with pytest.raises(BackupError, match="folder of your notes"):
        await workspace.backups.make(workspace.notes / "trips" / "a.tar.gz")
    assert file.read_text() == "mine"
    first, second = await workspace.backups.make(tmp_path), await workspace.backups.make(tmp_path)
    assert [made.file.name for made in (first, second)] == [
        "commonplace-20261122T033000Z.tar.gz",
        "commonplace-20261122T033000Z-2.tar.gz",
    ]


async def test_for_one_key_there_is_one_backup_and_a_damaged_one_does_not_count(workspace: Workspace) -> None:
    first = await workspace.backups.make(key="message-1")
    workspace.clock.time += timedelta(minutes=1)
    assert await workspace.backups.make(key="message-1") == first
    other = await workspace.backups.make(key="message-2")
    assert other.file != first.file
    first.file.write_bytes(first.file.read_bytes()[:-40])
    assert (await workspace.backups.make(key="message-1")).file not in {first.file, other.file}


async def test_nights_beyond_keep_go_and_no_other_file(workspace: Workspace) -> None:
    assert workspace.backups.latest_nightly() is None
    asked_for = (await workspace.backups.make()).file
    mine = workspace.backups.folder / "commonplace-nightly-mine.tar.gz"
    mine.write_text("mine")
    made = []
    for _ in range(4):
        made.append((await workspace.backups.make_nightly(keep=2)).file)
        workspace.clock.time += timedelta(days=1)
    assert set(workspace.backups.folder.iterdir()) == {asked_for, mine, *made[2:]}
    assert workspace.backups.latest_nightly() == NOW + timedelta(days=3)


async def test_as_many_nights_are_kept_as_are_wanted(workspace: Workspace) -> None:
    for night in range(9):
        await workspace.backups.make_nightly(keep=7)
        assert len(list(workspace.backups.folder.iterdir())) == min(night + 1, 7)
        workspace.clock.time += timedelta(days=1)


async def test_with_a_clock_set_back_the_backup_just_made_stays(workspace: Workspace) -> None:
    await workspace.backups.make_nightly(keep=1)
    workspace.clock.time -= timedelta(days=300)
    made = await workspace.backups.make_nightly(keep=1)
    assert list(workspace.backups.folder.iterdir()) == [made.file]


async def test_one_that_is_stopped_leaves_nothing(workspace: Workspace) -> None:
    (workspace.notes / "large.bin").write_bytes(random.Random(0).randbytes(20_000_000))
    making = asyncio.create_task(workspace.backups.make())
    await asyncio.sleep(0.15)
    assert not making.done()
    began = asyncio.get_running_loop().time()
    making.cancel()
    with pytest.raises(asyncio.CancelledError):
        await making
    assert asyncio.get_running_loop().time() - began < 0.8
    assert left_over(workspace) == []
    assert list(workspace.backups.folder.iterdir()) == []


async def test_what_a_crash_has_left_is_swept(workspace: Workspace) -> None:
    workspace.backups.folder.mkdir()
    old, young = (workspace.backups.folder / f".commonplace-backup-{name}" for name in ("old", "young"))
    for each in (old, young):
        each.write_text("half")
    os.utime(old, (1, 1))
    await workspace.backups.make()
    assert (old.exists(), young.exists()) == (False, True)


@contextmanager
def little_room(folder: Path, megabytes: int) -> Iterator[None]:
    """A small file system of its own in place of `folder`."""
    folder.mkdir(parents=True, exist_ok=True)
    command = ["mount", "-t", "tmpfs", "-o", f"size={megabytes}m", "tmpfs", str(folder)]
    try:
        mounted = subprocess.run(command, capture_output=True).returncode == 0
    except FileNotFoundError:
        mounted = False
    if not mounted:
        pytest.skip("no tmpfs can be mounted here")
    try:
        yield
    finally:
        subprocess.run(["umount", str(folder)], check=True)


@pytest.mark.thorough
async def test_a_full_disk_is_one_line_and_no_half_archive(workspace: Workspace, tmp_path: Path) -> None:
    (workspace.notes / "large.bin").write_bytes(random.Random(0).randbytes(3_000_000))
    with little_room(tmp_path / "small", 1):
        with pytest.raises(BackupError, match="the disk is full; free some space"):
            await workspace.backups.make(tmp_path / "small")
        assert list((tmp_path / "small").iterdir()) == []


# -- taken back ---------------------------------------------------------------------------------------------


async def test_nothing_is_kept_aside_where_there_was_nothing(workspace: Workspace, tmp_path: Path) -> None:
    made = await workspace.backups.make()
    there = Workspace(tmp_path / "there")
    assert restore(made.file, notes=there.notes, private=there.private, now=there.clock).kept is None
    assert there.read() == NOTES
    assert list(there.private.glob("before-restore-*")) == []


async def test_what_was_there_before_is_kept_aside(workspace: Workspace) -> None:
    made = await workspace.backups.make()
    workspace.write({"MEMORY.md": "Changed.\n", "new.md": "New.\n"})
    (workspace.notes / "trips" / "oslo.md").unlink()
    await workspace.say("and then")
    before = workspace.read()
    kept = workspace.restore_over(made.file)
    assert kept == workspace.private / "before-restore-20261122T033000Z"
    assert workspace.read() == NOTES
    assert await workspace.said() == ["hello"]
    aside = Workspace(kept)
    assert aside.read() == before
    check_database(kept / "state.db")
    assert kept.stat().st_mode & 0o777 == 0o700
    assert left_over(workspace) == []
    assert not is_unfinished(workspace.private)


async def test_what_was_committed_but_only_to_the_log_of_the_database_is_kept_aside_with_it(
    workspace: Workspace,
) -> None:
    made = await workspace.backups.make()
    async with workspace.state() as state:
        await say(state, "in the write-ahead log")
        for name in ("state.db", "state.db-wal", "state.db-shm"):
            shutil.copy(workspace.private / name, workspace.folder / name)
    for name in ("state.db", "state.db-wal", "state.db-shm"):  # as a crash leaves them
        shutil.move(workspace.folder / name, workspace.private / name)
    kept = workspace.restore_over(made.file)
    assert await workspace.said() == ["hello"]
    shutil.copytree(kept, workspace.folder / "look" / ".commonplace")
    assert await Workspace(workspace.folder / "look").said() == ["hello", "in the write-ahead log"]


async def test_the_journal_of_an_interrupted_change_is_not_applied_to_what_is_restored(
    workspace: Workspace,
) -> None:
    """SQLite keeps one while it changes the journal mode, as it does when a restored file is first opened."""
    made = await workspace.backups.make()
    await workspace.say("and then")
    names = ("state.db", "state.db-journal")
    with closing(apsw.Connection(str(workspace.private / "state.db"))) as db:
        db.execute("PRAGMA journal_mode = DELETE").fetchall()
        db.execute("BEGIN IMMEDIATE; UPDATE entries SET payload = 'half'")
        db.cache_flush()
        for name in names:
            shutil.copy(workspace.private / name, workspace.folder / name)
    for name in names:  # as a crash leaves them
        shutil.move(workspace.folder / name, workspace.private / name)
    kept = workspace.restore_over(made.file)
    check_database(workspace.private / "state.db")
    assert await workspace.said() == ["hello"]
    shutil.copytree(kept, workspace.folder / "look" / ".commonplace")
    assert await Workspace(workspace.folder / "look").said() == ["hello", "and then"]


async def test_it_refuses_beside_a_process_that_has_the_workspace_open(workspace: Workspace) -> None:
    made = await workspace.backups.make()
    workspace.write({"new.md": "New.\n"})
    refused = pytest.raises(BackupError, match="this workspace is in use")
    with ProcessLock(workspace.private / "locks"), refused:
        workspace.restore(made.file)
    assert "new.md" in workspace.read()
    workspace.restore(made.file)
    assert "new.md" not in workspace.read()


def archive(members: Iterable[tarfile.TarInfo | tuple[str, bytes]], *, manifest: bool = True) -> bytes:
    """An archive of anything, as somebody else might make it."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz") as tar:
        for member in members:
            if isinstance(member, tarfile.TarInfo):
                tar.addfile(member)
            else:
                info = tarfile.TarInfo(member[0])
                info.size = len(member[1])
                tar.addfile(info, io.BytesIO(member[1]))
        if manifest:
            fields = {"format": 1, "made_at": "", "version": "", "files": 0, "bytes": 0, "state": False}
            text = json.dumps({**fields, "digest": ""}).encode()
            info = tarfile.TarInfo(MANIFEST)
            info.size = len(text)
            tar.addfile(info, io.BytesIO(text))
    return out.getvalue()


def sparse_by_header(size: int) -> bytes:
    """Two hundred bytes that say they are a file of that size, nearly all of it left out."""
    headers = {"GNU.sparse.map": f"{size},0", "GNU.sparse.size": str(size)}
    return headed({**headers, "GNU.sparse.name": "memory/a.md"}, kind=tarfile.XHDTYPE)


def headed(records: dict[str, str], *, kind: bytes, times: int = 1) -> bytes:
    """An archive with a file behind headers of a kind, which say `records`."""
    out = io.BytesIO()
    with gzip.GzipFile(fileobj=out, mode="wb") as packed:
        for _ in range(times):
            packed.write(tarfile.TarInfo._create_pax_generic_header(records, kind, "utf-8"))  # type: ignore[attr-defined]
        packed.write(tarfile.TarInfo("memory/a.md").tobuf(tarfile.USTAR_FORMAT))
        packed.write(bytes(1024))
    return out.getvalue()


def special(name: str, kind: bytes, target: str = "") -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.type, info.linkname = kind, target
    return info


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"no archive at all",
        gzip.compress(b"no archive at all"),
        archive([]),
        archive([("memory/a.md", b"a")], manifest=False),
        archive([("memory/a.md", b"a")]),
        archive([("/etc/passwd", b"a")]),
        archive([("memory/../../up.md", b"a")]),
        archive([("memory//a.md", b"a")]),
        archive([("memory/.ssh/keys", b"a")]),
        archive([("elsewhere.md", b"a")]),
        archive([("memory", b"a")]),
        archive([special("memory/l.md", tarfile.SYMTYPE, "/etc/passwd")]),
        archive([special("memory/l.md", tarfile.LNKTYPE, "state.db")]),
        archive([special("memory/d", tarfile.DIRTYPE)]),
        archive([special("memory/n", tarfile.CHRTYPE)]),
        archive([special("memory/p", tarfile.FIFOTYPE)]),
        archive([("memory/a.md", b"a"), ("memory/a.md", b"b")]),
        archive([special("memory/s.md", tarfile.GNUTYPE_SPARSE)]),
        sparse_by_header(1 << 40),
        headed({"comment": "x"}, kind=tarfile.XGLTYPE),
        headed({"path": "memory/a.md"}, kind=tarfile.XHDTYPE, times=2),
        headed({"comment": "x"}, kind=tarfile.XHDTYPE),
        headed({"path": f"memory/{'a' * 20_000}.md"}, kind=tarfile.XHDTYPE),
        headed({"size": "9" * 30}, kind=tarfile.XHDTYPE),
    ],
    ids=[
        "empty",
        "text",
        "packed text",
        "wrong list",
        "no list",
        "not on the list",
        "absolute",
        "climbing",
        "empty name",
        "hidden",
        "elsewhere",
        "a file for the folder",
        "symlink",
        "hard link",
        "folder",
        "device",
        "pipe",
        "twice",
        "sparse",
        "sparse by a header",
        "a header for all",
        "a header for a header",
        "a header with more than ours",
        "a header with a long path",
        "a header with a huge number",
    ],
)
async def test_a_foreign_archive_is_one_line_and_changes_nothing(
    workspace: Workspace, tmp_path: Path, data: bytes
) -> None:
    before = sorted(str(path) for path in tmp_path.rglob("*"))
    file = tmp_path / "foreign.tar.gz"
    file.write_bytes(data)
    with pytest.raises(BackupError, match=r"foreign\.tar\.gz is damaged, or was not made by"):
        workspace.restore(file)
    file.unlink()
    shutil.rmtree(workspace.private / "locks")
    assert sorted(str(path) for path in tmp_path.rglob("*")) == before


@pytest.mark.thorough
async def test_any_damage_is_noticed(workspace: Workspace, tmp_path: Path) -> None:
    data = (await workspace.backups.make()).file.read_bytes()
    step = max(1, len(data) // 150)
    broken = [data[:end] for end in range(0, len(data), step)]
    broken += [data[:at] + bytes([data[at] ^ 0x55]) + data[at + 1 :] for at in range(10, len(data), step)]
    broken += [data + data, data + b"more"]
    for each in broken:
        if harmless(each, data):
            continue
        with pytest.raises(ArchiveCorrupted):
            read_archive(io.BytesIO(each), name="x")


def harmless(changed: bytes, data: bytes) -> bool:
    """Whether the same comes out of it: before a block that is stored as it is, gzip leaves some bits unused."""
    with suppress(OSError, EOFError, zlib.error):
        return len(changed) == len(data) and gzip.decompress(changed) == gzip.decompress(data)
    return False


async def test_a_member_that_is_not_on_the_list_is_noticed(workspace: Workspace, tmp_path: Path) -> None:
    made = await workspace.backups.make()
    changed = tmp_path / "changed.tar.gz"
    for keep in (lambda name: name != "memory/MEMORY.md", lambda name: name != "state.db"):
        copy_members(made.file, changed, keep=keep)
        with pytest.raises(BackupError, match="damaged"):
            workspace.restore(changed)


def copy_members(source: Path, target: Path, *, keep: Callable[[str], bool]) -> None:
    with tarfile.open(source) as old, tarfile.open(target, "w:gz") as new:
        for member in old:
            if keep(member.name):
                new.addfile(member, old.extractfile(member))


async def test_a_newer_version_s_archive_or_database_is_refused(workspace: Workspace, tmp_path: Path) -> None:
    async with workspace.state() as state:
        await state.change(lambda db: db.execute("PRAGMA user_version = 99").fetchall())
    with pytest.raises(BackupError, match="newer version"):
        await workspace.backups.make()
    text = json.dumps({"format": FORMAT + 1}).encode()
    file = tmp_path / "new.tar.gz"
    file.write_bytes(archive([(MANIFEST, text)], manifest=False))
    with pytest.raises(BackupError, match="made by a newer version of Commonplace: update Commonplace first"):
        workspace.restore(file)


async def test_no_file_is_one_line(workspace: Workspace, tmp_path: Path) -> None:
    with pytest.raises(BackupError, match="no such file"):
        workspace.restore(tmp_path / "nowhere.tar.gz")
    with pytest.raises(BackupError, match=r"is not a file|it is a folder"):
        workspace.restore(tmp_path)


@pytest.mark.thorough
async def test_a_restore_that_is_finished_before_another_one_fails_is_told(
    workspace: Workspace, tmp_path: Path
) -> None:
    made = await workspace.backups.make()
    workspace.write({"new.md": "New.\n"})
    step = 0
    while not is_unfinished(workspace.private):
        step += 1
        folders = [str(made.file), str(workspace.notes), str(workspace.private)]
        command = [sys.executable, "-c", DIES, str(step), *folders]
        done = await asyncio.to_thread(subprocess.run, command, cwd=ROOT, check=False)
        assert done.returncode == 9
    assert is_unfinished(workspace.private)
    with pytest.raises(
        BackupError,
        match=r"the interrupted restore of the backup of .* is now complete, but then: .*no such file",
    ):
        workspace.restore(tmp_path / "nowhere.tar.gz")
    assert workspace.read() == NOTES


@pytest.mark.thorough
def test_a_name_of_gigabytes_is_not_taken_into_memory(tmp_path: Path) -> None:
    huge = tarfile.TarInfo("memory/a.md")
    huge.type, huge.size = tarfile.GNUTYPE_LONGNAME, 200 << 20
    file = tmp_path / "huge.tar.gz"
    with gzip.open(file, "wb", compresslevel=1) as packed:
        packed.write(huge.tobuf(tarfile.GNU_FORMAT))
        for _ in range(200):
            packed.write(b"a" * (1 << 20))
    tracemalloc.start()
    try:
        with file.open("rb") as source, pytest.raises(ArchiveCorrupted):
            read_archive(source, name=file.name)
        assert tracemalloc.get_traced_memory()[1] < 20 << 20
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("claimed", [1 << 40, 1 << 62])
def test_what_claims_more_than_the_disk_holds_is_not_read(
    workspace: Workspace, tmp_path: Path, claimed: int
) -> None:
    info = tarfile.TarInfo("memory/a.md")
    info.size = claimed
    file = tmp_path / "claims.tar.gz"
    with gzip.open(file, "wb") as packed:
        packed.write(info.tobuf(tarfile.PAX_FORMAT))
        packed.write(b"a" * 1024)
    assert file.stat().st_size < 300
    with pytest.raises(BackupError, match=r"there is not enough disk space to restore claims\.tar\.gz"):
        workspace.restore(file)


@pytest.mark.thorough
@pytest.mark.parametrize("kind", [tarfile.XHDTYPE, tarfile.XGLTYPE, tarfile.GNUTYPE_SPARSE])
def test_headers_without_end_take_neither_time_nor_memory(tmp_path: Path, kind: bytes) -> None:
    file = tmp_path / "headers.tar.gz"
    with gzip.open(file, "wb", compresslevel=1) as packed:
        for number in range(60):
            if kind == tarfile.GNUTYPE_SPARSE:
                header = bytearray(special("memory/a.md", kind).tobuf(tarfile.GNU_FORMAT))
                header[482] = 1
                packed.write(header + (b"1\0" * 252 + b"\1" * 8) * 2_000)
            else:
                # Digits, among which an expression of Python's own looks for something for minutes.
                records = {f"key-{number}": "1" * 900_000}
                packed.write(tarfile.TarInfo._create_pax_generic_header(records, kind, "utf-8"))  # type: ignore[attr-defined]
        packed.write(tarfile.TarInfo("memory/a.md").tobuf(tarfile.USTAR_FORMAT))
    began = time.process_time()
    tracemalloc.start()
    try:
        with file.open("rb") as source, pytest.raises(ArchiveCorrupted):
            read_archive(source, name=file.name)
        assert tracemalloc.get_traced_memory()[1] < 5 << 20
        assert time.process_time() - began < 2
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("is_whole", [False, True])
async def test_what_is_packed_in_many_pieces_is_refused_at_once(
    workspace: Workspace, tmp_path: Path, is_whole: bool
) -> None:
    made = await workspace.backups.make()
    file = tmp_path / "pieces.tar.gz"
    file.write_bytes(made.file.read_bytes() * is_whole + gzip.compress(b"") * 200_000)
    began = time.process_time()
    with pytest.raises(BackupError, match="is damaged, or was not made by"):
        workspace.restore(file)
    assert time.process_time() - began < 0.5


DIES = """
import os, sys
from datetime import UTC, datetime
from pathlib import Path
from bot.archives.restore import restore

left = int(sys.argv[1])

def look(event, arguments):
    global left
    if event in {"os.rename", "os.remove", "os.rmdir", "os.mkdir"}:
        left -= 1
        if left == 0:
            os._exit(9)

file, notes, private = map(Path, sys.argv[2:])
sys.addaudithook(look)
restore(file, notes=notes, private=private, now=lambda: datetime(2026, 11, 22, 3, 30, tzinfo=UTC))
"""
"""A restore that ends itself when it is about to change a name for the so-manieth time."""


@pytest.mark.thorough
async def test_a_crash_at_any_step_is_gone_on_with_and_loses_nothing(
    workspace: Workspace, tmp_path: Path
) -> None:
    """Every change of a name is a place to die at: afterwards it is the old, or a restore brings the new."""
    made = await workspace.backups.make()
    file = tmp_path / "archive.tar.gz"
    made.file.rename(file)
    (workspace.notes / "new.md").write_text("New.\n")
    await workspace.say("and then")
    after = {"new.md": "New.\n", **NOTES}
    outcomes = set()
    for step in range(1, 100):
        here = Workspace(tmp_path / f"crash{step}")
        shutil.copytree(workspace.folder, here.folder)
        command = [sys.executable, "-c", DIES, str(step), str(file), str(here.notes), str(here.private)]
        done = await asyncio.to_thread(
            subprocess.run, command, cwd=ROOT, capture_output=True, text=True, check=False
        )
        assert (done.returncode in {0, 9}, done.stderr) == (True, "")
        if is_unfinished(here.private):
            outcomes.add("between")
            again = restore(file, notes=here.notes, private=here.private, now=here.clock)
            assert again.resumed
            assert here.read() == NOTES
        else:
            outcomes.add("old" if here.read() == after else "new")
            assert here.read() in (NOTES, after)
        new = here.read() == NOTES
        assert await here.said() == (["hello"] if new else ["hello", "and then"])
        if new:
            (kept,) = here.private.glob("before-restore-*")
            assert Workspace(kept).read() == after
            assert (kept / "state.db").is_file()
        here.restore(file)
        assert here.read() == NOTES
        assert left_over(here) == []
        shutil.rmtree(here.folder)
        if done.returncode == 0:
            break
    else:
        pytest.fail("it never came to its end")
    assert outcomes == {"old", "between", "new"}


@pytest.mark.thorough
async def test_where_the_notes_are_mounted_they_are_copied(tmp_path: Path) -> None:
    workspace = Workspace(tmp_path / "workspace")
    with little_room(workspace.notes, 8):
        workspace.write(NOTES)
        await workspace.say("hello")
        made = await workspace.backups.make()
        workspace.write({"new.md": "New.\n", "trips/bergen.md": "Rain.\n"})
        kept = workspace.restore_over(made.file)
        assert workspace.read() == NOTES
        assert set(Workspace(kept).read()) == {*NOTES, "new.md", "trips/bergen.md"}
        assert left_over(workspace) == []
    assert not (workspace.private / RESTORE_PENDING).exists()


@pytest.mark.thorough
@pytest.mark.parametrize("since", [{}, {"new.md": "New.\n"}], ids=["all gone", "others"])
async def test_where_only_the_two_folders_can_be_written_to_a_backup_comes_back(
    tmp_path: Path, since: dict[str, str]
) -> None:
    """As in a container: both are mounted, and what is around them is read-only."""
    with little_room(tmp_path / "workspace", 1):
        workspace = Workspace(tmp_path / "workspace")
        with little_room(workspace.notes, 8), little_room(workspace.private, 8):
            workspace.write(NOTES)
            await workspace.say("hello")
            made = await workspace.backups.make()
            shutil.rmtree(workspace.notes, ignore_errors=True)  # all but the folder, which is mounted
            workspace.write(since)
            read_only = ["mount", "-o", "remount,ro", str(workspace.folder)]
            await asyncio.to_thread(subprocess.run, read_only, check=True)
            kept = workspace.restore_over(made.file)
            assert workspace.read() == NOTES
            assert not since or Workspace(kept).read() == since
            assert left_over(workspace) == []
            assert not (workspace.private / RESTORE_PENDING).exists()


async def test_what_broke_off_is_finished_though_there_is_no_room_for_it_twice(
    workspace: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = await workspace.backups.make()
    file = tmp_path / "archive.tar.gz"
    made.file.rename(file)
    for step in range(1, 100):
        here = Workspace(tmp_path / f"crash{step}")
        shutil.copytree(workspace.folder, here.folder)
        command = [sys.executable, "-c", DIES, str(step), str(file), str(here.notes), str(here.private)]
        await asyncio.to_thread(subprocess.run, command, cwd=ROOT, capture_output=True, check=False)
        if is_unfinished(here.private):
            break
    monkeypatch.setattr("bot.archives.restore.shutil.disk_usage", lambda _: type("Usage", (), {"free": 1}))
    assert restore(file, notes=here.notes, private=here.private, now=here.clock).resumed
    assert here.read() == NOTES


@pytest.mark.thorough
async def test_where_there_is_no_room_for_it_nothing_changes(workspace: Workspace, tmp_path: Path) -> None:
    (workspace.notes / "large.bin").write_bytes(b"\0" * 30_000_000)
    made = await workspace.backups.make()
    other = Workspace(tmp_path / "other")
    with little_room(other.folder, 4):
        other.write(NOTES)
        with pytest.raises(BackupError, match="not enough disk space"):
            other.restore(made.file)
        assert other.read() == NOTES
        assert left_over(other) == []


@pytest.mark.thorough
async def test_where_there_is_no_room_for_mounted_notes_nothing_changes(
    workspace: Workspace, tmp_path: Path
) -> None:
    (workspace.notes / "large.bin").write_bytes(random.Random(0).randbytes(3_000_000))
    made = await workspace.backups.make()
    other = Workspace(tmp_path / "other")
    with little_room(other.notes, 1):
        other.write(NOTES)
        with pytest.raises(BackupError, match="not enough disk space"):
            other.restore(made.file)
        assert other.read() == NOTES
        assert left_over(other) == []


@pytest.mark.thorough
async def test_what_is_no_file_among_mounted_notes_keeps_nobody_from_restoring(tmp_path: Path) -> None:
    workspace = Workspace(tmp_path / "workspace")
    with little_room(workspace.notes, 8):
        workspace.write(NOTES)
        made = await workspace.backups.make()
        os.mkfifo(workspace.notes / "pipe")
        (workspace.notes / "link.md").symlink_to("MEMORY.md")
        kept = workspace.restore_over(made.file)
        assert workspace.read() == NOTES
        assert (kept / "memory" / "link.md").is_symlink()


# -- of the conversations alone -----------------------------------------------------------------------------


async def test_a_backup_of_the_conversations_alone_leaves_the_notes_as_they_are(workspace: Workspace) -> None:
    made = await workspace.backups.make_nightly(keep=2, notes=False)
    assert (made.files, made.problems) == (0, ())
    with tarfile.open(made.file) as tar:
        assert tar.getnames() == ["state.db", MANIFEST]
    await workspace.say("and more")
    workspace.write({"MEMORY.md": "- written since\n", "new.md": "- new\n"})
    before = workspace.read()
    workspace.restore(made.file)
    assert workspace.read() == before
    assert await workspace.said() == ["hello"]


async def test_only_one_without_notes_asks_for_a_program_that_knows_such(workspace: Workspace) -> None:
    def written(file: Path) -> dict[str, Any]:
        with tarfile.open(file) as tar:
            content = tar.extractfile(MANIFEST)
            assert content
            return dict(json.load(content))

    usual = written((await workspace.backups.make()).file)
    assert usual["format"] == 1
    assert "notes" not in usual, "an older version would not know it"
    alone = written((await workspace.backups.make_nightly(keep=2, notes=False)).file)
    assert (alone["format"], alone["notes"]) == (2, False)


async def test_damaged_hidden_lines_keep_nobody_from_a_backup_and_come_back_from_one(
    workspace: Workspace,
) -> None:
    hidden = HiddenLines(workspace.private)
    hidden.hide("vault/a.md", ["one"])
    whole = (await workspace.backups.make()).file
    (workspace.private / hidden_lines.FILE).write_text("{")
    without = await workspace.backups.make(workspace.folder / "without.tar.gz")
    (problem,) = without.problems
    assert "hidden-lines.json is damaged" in problem
    workspace.restore(without.file)
    assert (workspace.private / hidden_lines.FILE).read_text() == "{"
    kept = workspace.restore_over(whole)
    assert hidden.blank("vault/a.md", "one\ntwo") == "\ntwo"
    assert (kept / hidden_lines.FILE).read_text() == "{"
