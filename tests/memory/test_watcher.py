import asyncio
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Callable
from contextlib import aclosing, asynccontextmanager, suppress
from dataclasses import replace
from pathlib import Path

import pytest

from memory.file_systems import find_eventless_mount
from memory.listing import NoteStat, list_notes
from memory.note_folders import NoteFolder, NoteFolders
from memory.watcher import Watcher, WatchTimes

ROOT = Path(__file__).parents[2]
QUICK = WatchTimes(events=0.02, root=0.1, settle=0.15, audit=60, poll=0.1, retry=0.3, longest=1.0)
PATIENCE = 20.0
"""Seconds until a test gives up; on an idle machine nothing takes a tenth of it."""


class Listener:
    """Does at each change what the memory does: it compares all notes with how it knows them."""

    def __init__(self, watcher: Watcher, folder: Path) -> None:
        self.watcher, self.folder = watcher, folder
        self.notes: dict[str, NoteStat] = {}
        self.heard: list[set[str]] = []
        """The notes that differed, at each change."""

    @property
    def mode(self) -> str:
        return self.watcher.state.mode

    @property
    def paths(self) -> set[str]:
        """All notes that differed after the first change."""
        return set().union(*self.heard[1:])

    async def listen(self) -> None:
        async with aclosing(self.watcher.changes()) as changes:
            async for _ in changes:
                now = {note.path: note for note in list_notes(NoteFolders(NoteFolder(self.folder))).notes}
                self.heard.append({path for path, _ in now.items() ^ self.notes.items()})
                self.notes = now

    async def until(self, wanted: Callable[[], object]) -> None:
        deadline = time.monotonic() + PATIENCE
        while not wanted():
            assert time.monotonic() < deadline, (self.heard, self.watcher.state)
            await asyncio.sleep(0.01)

    async def hears_again(self) -> None:
        """Wait for another change."""
        before = len(self.heard)
        await self.until(lambda: len(self.heard) > before)

    async def hears_of(self, path: str) -> None:
        """Wait until a change is reported by which this note differs."""
        await self.until(lambda: path in self.paths)

    async def hears_of_writing(self, path: str) -> None:
        """Write, and write again when nothing is scanned any more: only the note's folder can report that."""
        for _ in range(3):
            write_more(self.folder / path)
            earlier, self.heard = self.heard, [set()]
            await self.hears_of(path)
            self.heard = earlier + self.heard
            await asyncio.sleep(2 * QUICK.settle)


@asynccontextmanager
async def listening(
    folder: Path, *, debounce: float = 0.05, times: WatchTimes = QUICK, until: str = "events"
) -> AsyncIterator[Listener]:
    """A listener that has received the first report, and whose watch has settled."""
    listener = Listener(Watcher(folder, debounce_seconds=debounce, times=times), folder)
    task = asyncio.create_task(listener.listen())
    try:
        await listener.until(lambda: listener.heard and listener.mode == until)
        yield listener
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "memory"
    folder.mkdir()
    (folder / "old.md").write_text("one\n")
    (folder / "trips").mkdir()
    (folder / "trips/oslo.md").write_text("fjord\n")
    return folder


def write_plainly(note: Path) -> None:
    note.write_text("two\n")


def write_more(note: Path) -> None:
    with note.open("a") as file:
        file.write("more\n")


def write_by_rename(note: Path) -> None:
    draft = note.with_name(f".{note.name}.draft")
    draft.write_text("two\n")
    draft.replace(note)


def write_as_vim_does(note: Path) -> None:
    backup = note.with_name(f"{note.name}~")
    probe = note.with_name("4913")
    probe.touch()
    probe.unlink()
    note.rename(backup)
    note.write_text("two\n")
    backup.unlink()


def remove(note: Path) -> None:
    note.unlink()


async def test_the_first_change_comes_at_once_and_says_that_anything_may_have_changed(folder: Path) -> None:
    async with listening(folder, debounce=30) as listener:
        assert listener.heard == [{"old.md", "trips/oslo.md"}]
        state = listener.watcher.state
        assert (state.alive, state.mode, state.reason, state.error) == (True, "events", "", "")
        assert state.last_restart_at != ""


@pytest.mark.parametrize(
    "save",
    [write_plainly, write_more, write_by_rename, write_as_vim_does, remove],
    ids=lambda save: save.__name__,
)
@pytest.mark.parametrize("name", ["old.md", "trips/oslo.md"])
async def test_a_note_is_reported_however_it_is_saved(
    folder: Path, name: str, save: Callable[[Path], None]
) -> None:
    async with listening(folder) as listener:
        save(folder / name)
        await listener.hears_of(name)
        assert listener.paths == {name}
        assert listener.watcher.state.last_event_at != ""


async def test_files_that_are_not_notes_are_not_reported(folder: Path) -> None:
    (folder / ".obsidian").mkdir()
    async with listening(folder) as listener:
        for name in (
            ".hidden.md",
            ".old.md.swp",
            "old.md~",
            "4913",
            "photo.jpg",
            "old.md.tmp",
            ".obsidian/x.md",
        ):
            (folder / name).write_text("x")
            (folder / name).unlink()
        (folder / ".git").mkdir()
        (folder / ".git/x.md").write_text("x")
        (folder / "last.md").write_text("x")
        await listener.hears_of("last.md")
        assert listener.heard[1:] == [{"last.md"}]


@pytest.mark.thorough
async def test_a_burst_is_one_change(folder: Path) -> None:
    async with listening(folder, debounce=0.4) as listener:
        for number in range(20):
            (folder / f"{number}.md").write_text("x")
            write_by_rename(folder / "old.md")
        await listener.until(lambda: len(listener.heard) > 1)
        assert listener.heard[1:] == [{"old.md", *(f"{n}.md" for n in range(20))}]


@pytest.mark.thorough
async def test_a_note_that_is_written_continuously_is_still_reported(folder: Path) -> None:
    async def write_on() -> None:
        while True:
            write_more(folder / "old.md")
            await asyncio.sleep(0.01)

    async with listening(folder, debounce=0.4) as listener:
        writing = asyncio.create_task(write_on())
        await listener.until(lambda: len(listener.heard) > 1)
        assert not writing.done()
        writing.cancel()
        assert listener.paths == {"old.md"}


async def test_changes_during_processing_are_reported_afterwards(folder: Path) -> None:
    async with aclosing(Watcher(folder, debounce_seconds=0, times=QUICK).changes()) as changes:
        await anext(changes)
        write_plainly(folder / "old.md")
        await asyncio.sleep(0.1)
        write_plainly(folder / "trips/oslo.md")
        async with asyncio.timeout(PATIENCE):
            await anext(changes)


async def test_new_folders_are_watched_and_deleted_ones_reported(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "elsewhere/deep").mkdir(parents=True)
    (tmp_path / "elsewhere/deep/note.md").write_text("x")
    async with listening(folder) as listener:
        for change in (
            lambda: (tmp_path / "elsewhere").rename(folder / "here"),
            lambda: (folder / "here").rename(folder / "there"),
            lambda: shutil.rmtree(folder / "there/deep"),
            lambda: (folder / "there/deep").mkdir(),
            lambda: (folder / "there").rename(tmp_path / "gone"),
            lambda: (folder / "trips/far/away").mkdir(parents=True),
        ):
            change()
            await listener.hears_again()
        await listener.hears_of_writing("trips/far/away/x.md")
        assert listener.mode == "events"


async def test_a_link_out_of_the_folder_is_not_followed(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "outside").mkdir()
    (folder / "link").symlink_to(tmp_path / "outside")
    async with listening(folder) as listener:
        (tmp_path / "outside/x.md").write_text("x")
        (folder / "last.md").write_text("x")
        await listener.hears_of("last.md")
        assert listener.paths == {"last.md"}


@pytest.mark.thorough
async def test_ten_thousand_notes_in_new_folders_at_once(folder: Path) -> None:
    listener = Listener(Watcher(folder, debounce_seconds=0.1, times=QUICK), folder)
    listening = asyncio.create_task(listener.listen())
    await listener.until(lambda: len(listener.notes) == 2)
    for number in range(10_000):
        place = folder / f"year/{number // 100}"
        if number % 100 == 0:
            place.mkdir(parents=True)
        (place / f"{number}.md").touch()
    await listener.until(lambda: len(listener.notes) == 10_002)
    # Even if the system reported only some of them, each folder is watched in the end.
    for number in (0, 57, 99):
        await listener.hears_of_writing(f"year/{number}/{number}00.md")
    assert listener.mode == "events"
    listening.cancel()
    await asyncio.wait({listening})


async def test_a_missing_folder_is_waited_for(tmp_path: Path) -> None:
    folder = tmp_path / "memory"
    async with listening(folder, until="waiting") as listener:
        assert listener.watcher.state.reason == "the folder does not exist"
        folder.mkdir()
        await listener.until(lambda: listener.mode == "events")
        (folder / "a.md").write_text("x")
        await listener.until(lambda: len(listener.heard) > 1)


def recreate(folder: Path) -> None:
    shutil.rmtree(folder)
    folder.mkdir()


def move_another_here(folder: Path) -> None:
    other = folder.with_name("other")
    other.mkdir()
    folder.rename(folder.with_name("away"))
    other.rename(folder)


def make_link(folder: Path) -> None:
    folder.rename(folder.with_name("real"))
    folder.symlink_to("real")


@pytest.mark.thorough
@pytest.mark.parametrize("swap", [recreate, move_another_here, make_link], ids=lambda way: way.__name__)
async def test_a_folder_that_was_replaced_is_watched_again(
    folder: Path, swap: Callable[[Path], None]
) -> None:
    async with listening(folder) as listener:
        swap(folder)
        await listener.hears_again()
        await listener.until(lambda: listener.mode == "events")
        await listener.hears_of_writing("new.md")


async def test_a_folder_that_disappears_for_a_while_is_waited_for(folder: Path) -> None:
    async with listening(folder) as listener:
        shutil.rmtree(folder)
        await listener.until(lambda: listener.mode == "waiting")
        before = len(listener.heard)
        folder.mkdir()
        await listener.until(lambda: listener.mode == "events" and len(listener.heard) > before)


def mounting(*command: str) -> bool:
    return subprocess.run(command, capture_output=True, check=False).returncode == 0


@pytest.mark.thorough
@pytest.mark.skipif(os.geteuid() != 0, reason="only root can mount")
async def test_a_mount_over_the_folder_is_noticed(folder: Path) -> None:
    async with listening(folder) as listener:
        if not mounting("mount", "-t", "tmpfs", "commonplace-test", str(folder)):
            pytest.skip("mounting is not allowed here")
        try:
            await listener.hears_again()
            await listener.hears_of_writing("new.md")
        finally:
            assert mounting("umount", str(folder))
        await listener.hears_again()
        await listener.hears_of_writing("old.md")


@pytest.mark.thorough
async def test_a_folder_that_cannot_be_read_is_waited_for(nobody_path: Path) -> None:
    folder = nobody_path / "memory"
    folder.mkdir(mode=0)
    async with listening(folder, until="waiting") as listener:
        assert "permission denied" in listener.watcher.state.reason
        folder.chmod(0o700)
        await listener.until(lambda: listener.mode == "events")
        await listener.hears_of_writing("a.md")


async def test_a_name_that_is_not_utf8_does_not_end_the_watch(folder: Path) -> None:
    async with listening(folder) as listener:
        Path(os.fsdecode(os.fsencode(folder) + b"/\xff.md")).write_text("x")
        await listener.until(lambda: "decode" in listener.watcher.state.error)
        await listener.hears_of_writing("old.md")


async def test_a_change_without_an_event_is_found_by_the_next_scan(folder: Path, tmp_path: Path) -> None:
    # The system reports a change in the folder of the name that was used, and only there.
    elsewhere = tmp_path / "another-name.md"
    elsewhere.hardlink_to(folder / "old.md")
    async with listening(folder, times=replace(QUICK, audit=0.2)) as listener:
        write_more(elsewhere)
        await listener.hears_of("old.md")
        assert listener.mode == "events"


def test_file_systems_without_events_are_known_by_their_mounts() -> None:
    mounts = "\n".join(
        [
            "21 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw",
            "30 21 0:40 / /srv/my\\040notes rw,relatime shared:9 master:2 - nfs4 host:/notes rw,vers=4.2",
            "31 30 254:1 / /srv/my\\040notes/local rw - xfs /dev/vdb rw",
            "32 21 0:41 / /phone rw - fuse.sshfs host:/ rw",
            "33 21 0:42 / /usb rw - fuseblk /dev/sdb1 rw",
        ]
    )
    roots = ["/srv", "/srv/my notes/memory", "/srv/my notes/local/x", "/phone/memory", "/usb/memory"]
    assert [find_eventless_mount(mounts, root) for root in roots] == ["", "nfs4", "", "fuse.sshfs", ""]


# Run where it may set limits of its own that affect nobody else.
LIMITED = """
import asyncio, sys
from pathlib import Path
from memory.watcher import WatchTimes, Watcher

async def main(limit, folder):
    usual = limit.read_text()
    limit.write_text(sys.argv[3])
    times = WatchTimes(events=0.02, root=0.1, settle=0.1, audit=60, poll=0.1, retry=0.3, longest=1)
    watcher = Watcher(folder, debounce_seconds=0.05, times=times)
    told = 0

    async def listen():
        nonlocal told
        async for _ in watcher.changes():
            told += 1

    async def until(wanted):
        while not wanted():
            await asyncio.sleep(0.01)

    async with asyncio.timeout(20):
        listening = asyncio.create_task(listen())
        await until(lambda: watcher.state.mode not in ("off", "waiting"))
        print(watcher.state.alive, watcher.state.mode, watcher.state.reason)
        for name in ("old.md", "trips/oslo.md"):
            await asyncio.sleep(0.3)
            before = told
            (folder / name).write_text("changed")
            await until(lambda: told > before)
        print(watcher.state.mode)
        limit.write_text(usual)
        await until(lambda: watcher.state.mode == "events")
        await asyncio.sleep(0.3)
        before = told
        (folder / "new.md").write_text("x")
        await until(lambda: told > before)
        print(watcher.state.mode, watcher.state.reason)

asyncio.run(main(Path("/proc/sys/user", sys.argv[1]), Path(sys.argv[2])))
"""


@pytest.mark.skipif(not shutil.which("unshare"), reason="needs Linux and unshare")
@pytest.mark.parametrize(
    ("limit", "value", "mend"),
    [
        ("max_inotify_watches", "1", "raise fs.inotify.max_user_watches"),
        ("max_inotify_instances", "0", "raise fs.inotify.max_user_instances (or `ulimit -n`)"),
    ],
)
def test_without_free_watches_notes_are_polled_until_there_are_some(
    folder: Path, limit: str, value: str, mend: str
) -> None:
    alone = ["unshare", "--user", "--map-root-user"]
    if subprocess.run([*alone, "test", "-w", f"/proc/sys/user/{limit}"], check=False).returncode:
        pytest.skip("limits of one's own are not allowed here")
    run = subprocess.run(
        [*alone, sys.executable, "-W", "error", "-c", LIMITED, limit, str(folder), value],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT), "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    first, *others = run.stdout.splitlines() or [""]
    assert (first.startswith("True polling the system's limit"), others) == (
        True,
        ["polling", "events "],
    ), run.stdout + run.stderr
    assert first.endswith(mend)


def threads() -> list[str]:
    """Return the names of this process's threads, including the library's."""
    names = []
    for task in Path("/proc/self/task").iterdir():
        with suppress(FileNotFoundError):
            names.append((task / "comm").read_text().strip())
    return [name for name in names if name.startswith(("notify", "memory-watch"))]


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="counts threads in /proc")
async def test_cancelling_ends_it_at_once_and_leaves_no_thread(folder: Path) -> None:
    listener = Listener(Watcher(folder, debounce_seconds=30), folder)
    task = asyncio.create_task(listener.listen())
    await listener.until(lambda: listener.mode == "events")
    assert threads() != []
    began = time.monotonic()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert time.monotonic() - began < 10, "what is held back would come after 30 s"
    assert (listener.watcher.state.alive, listener.mode) == (False, "off")
    await listener.until(lambda: threads() == [])


async def test_it_can_be_listened_to_again(folder: Path) -> None:
    watcher = Watcher(folder, debounce_seconds=0.05, times=QUICK)
    for _ in range(2):
        async with aclosing(watcher.changes()) as changes:
            await anext(changes)
            (folder / "old.md").write_text("x")
            async with asyncio.timeout(PATIENCE):
                await anext(changes)
        assert not watcher.state.alive


STOPPED = """
import asyncio, signal, sys
from pathlib import Path
from memory.watcher import Watcher

async def main():
    async for change in Watcher(Path(sys.argv[1]), debounce_seconds=1.5).changes():
        print("watching", flush=True)

# What was started in the background by a shell ignores it, and so do its children.
signal.signal(signal.SIGINT, signal.default_int_handler)
asyncio.run(main())
"""


def test_a_program_that_watches_ends_at_once_when_it_is_interrupted(folder: Path) -> None:
    command = [sys.executable, "-W", "error", "-c", STOPPED, str(folder)]
    with subprocess.Popen(
        command,
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    ) as program:
        assert program.stdout is not None
        assert program.stdout.readline() == "watching\n"
        began = time.monotonic()
        program.send_signal(signal.SIGINT)
        try:
            _, errors = program.communicate(timeout=PATIENCE)
        finally:
            program.kill()
        assert time.monotonic() - began < 10
        assert errors.rstrip().endswith("KeyboardInterrupt")


@pytest.mark.thorough
async def test_watching_costs_hardly_any_cpu(folder: Path) -> None:
    async with listening(folder, times=WatchTimes()) as listener:
        shares: list[float] = []
        while len(shares) < 10 and min(shares, default=1) >= 0.02:  # other threads may have been busy
            began, used = time.monotonic(), time.process_time()
            await asyncio.sleep(1.0)
            shares.append((time.process_time() - used) / (time.monotonic() - began))
        assert min(shares) < 0.02
        assert len(listener.heard) == 1
