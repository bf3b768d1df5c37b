"""Delay until a saved note is found and reported, and the idle cost of watching.

`python benchmarks/watch.py [--saves 20] [--notes 10000] [--idle 20]`

Finding is measured in the service, `commonplace run` in a process of its own: from saving a note until its
words are in the index, while nobody searches.
"""

import argparse
import asyncio
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import aclosing, closing, contextmanager
from functools import partial
from pathlib import Path
from typing import NoReturn
from unittest.mock import patch

import apsw
import watchfiles
from workspaces import (
    COMMAND,
    ENVIRONMENT,
    ROOT,
    EmbeddingService,
    MadeUpNotes,
    embedding_service,
    make_workspace,
    write_config,
    write_notes,
)

sys.path.insert(0, str(ROOT))
from memory import watcher
from memory.settings import WatchSettings
from memory.watcher import Watcher

MAX_SECONDS = 2.0
"""Maximum median seconds from saving until found, and from deleting until gone."""

PATIENCE = 30.0
OTHER_NOTES = 200
LOOK_SECONDS = 0.01


def save_plainly(note: Path) -> None:
    with note.open("a") as file:
        file.write("more\n")


def save_by_rename(note: Path) -> None:
    draft = note.with_name(f".{note.name}.draft")
    draft.write_text("new\n")
    draft.replace(note)


def delete_or_make(note: Path) -> None:
    if note.exists():
        note.unlink()
    else:
        note.write_text("new\n")


WAYS: dict[str, Callable[[Path], None]] = {
    "plain write": save_plainly,
    "write by rename": save_by_rename,
    "deleted, made": delete_or_make,
}


def edit_in_place(note: Path, text: str) -> None:
    note.write_text(text, "utf-8")


def edit_by_rename(note: Path, text: str) -> None:
    draft = note.with_name(f".{note.name}.draft")
    draft.write_text(text, "utf-8")
    draft.replace(note)


EDITORS = {"in place": edit_in_place, "by rename": edit_by_rename}


class IndexReader:
    """Reads the index file, as another process may, without asking the service."""

    def __init__(self, file: Path) -> None:
        self._db = apsw.Connection(
            f"{file.as_uri()}?mode=ro", flags=apsw.SQLITE_OPEN_URI | apsw.SQLITE_OPEN_READONLY
        )
        self._db.set_busy_timeout(10_000)

    def has(self, word: str) -> bool:
        """Return whether a chunk has the word."""
        at = self._one("SELECT value FROM about WHERE key = 'generation'")
        return bool(self._one(f"SELECT count(*) FROM chunk_words_{at} WHERE chunk_words_{at} MATCH ?", word))

    def has_not(self, word: str) -> bool:
        return not self.has(word)

    def without_vector(self) -> int:
        """Return the number of used texts without a vector."""
        return int(
            str(self._one("SELECT count(*) FROM texts WHERE uses AND id NOT IN (SELECT text FROM vectors)"))
        )

    def close(self) -> None:
        self._db.close()

    def _one(self, sql: str, *values: str) -> object:
        [[value]] = self._db.execute(sql, values)
        return value


@contextmanager
def running_service(folder: Path, workspace: Path, service: EmbeddingService) -> Iterator[IndexReader]:
    """Run the service with default settings except its port and its embedding service; ready when this yields."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
    embedding = service.settings(dimensions=256)
    config = write_config(
        folder / "config.toml", workspace, server={"port": port}, memory_embedding=embedding
    )
    command = [*COMMAND, "run", "--config", str(config)]
    with subprocess.Popen(
        command, cwd=folder, env=ENVIRONMENT, stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as process:
        try:
            wait_until(lambda: is_healthy(port), "the service to start")
            wait_until((workspace / ".commonplace" / "index.db").exists, "an index")
            with closing(IndexReader(workspace / ".commonplace" / "index.db")) as index:
                yield index
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(20)


def is_healthy(port: int) -> bool:
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/healthz", timeout=5) as answer:
            return bool(answer.status == 200)
    except (urllib.error.URLError, ConnectionError, TimeoutError):
        return False


def wait_until(so: Callable[[], bool], what: str) -> float:
    """Wait until `so` is true; return the seconds that it took. Exits if it does not become true."""
    began = time.perf_counter()
    while not so():
        if time.perf_counter() - began > PATIENCE:
            sys.exit(f"waited {PATIENCE:g} s for {what}")
        time.sleep(LOOK_SECONDS)
    return time.perf_counter() - began


def print_until_found(folder: Path, saves: int) -> bool:
    """Save, edit and delete notes while the service runs; return whether all delays are within the limit."""
    workspace = make_workspace(folder / "w")
    write_notes(workspace / "memory", OTHER_NOTES)
    text = MadeUpNotes(3)
    kept = True

    def show(what: str, took: list[float]) -> None:
        nonlocal kept
        median = statistics.median(took)
        kept = kept and median < MAX_SECONDS
        print(f"  {what:26}  median {median:6.3f} s   most {max(took):6.3f} s", flush=True)

    with embedding_service() as service, running_service(folder, workspace, service) as index:
        wait_until(lambda: index.has("note") and not index.without_vector(), "the first vectors")
        gone = []
        for editor, save in EDITORS.items():
            note = workspace / "memory" / "edited.md"
            found = []
            for number in range(saves):
                word = f"q{editor[:2]}{number:04}"
                body = f"# Diary\n\n{text.sentence()}\n\nThe word of the day is {word}.\n"
                time.sleep(0.3 + 0.037 * number)  # out of step with the watcher's scans
                save(note, body)
                found.append(wait_until(partial(index.has, word), f"{word} to be found"))
                if number % 2:  # so that notes are created as often as changed
                    time.sleep(0.3 + 0.037 * number)
                    note.unlink()
                    gone.append(wait_until(partial(index.has_not, word), f"{word} to go"))
            show(f"saved {editor}, found", found)
        if gone:
            show("deleted, gone", gone)
        return print_requests(workspace / "memory", service, index) and kept


def print_requests(folder: Path, service: EmbeddingService, index: IndexReader) -> bool:
    """Change one of many paragraphs; return whether that caused one request for one text."""
    text = MadeUpNotes(4)
    paragraphs = [" ".join(text.sentence() for _ in range(5)) for _ in range(12)]

    def save(word: str) -> None:
        paragraphs[6] = f"{word} {paragraphs[6]}"
        edit_by_rename(folder / "many.md", "# Many\n\n" + "\n\n".join(paragraphs) + "\n")
        wait_until(partial(index.has, word), f"{word} to be found")
        wait_until(lambda: not index.without_vector(), "its vectors")
        time.sleep(3)  # further requests would come by now

    save("qfirst")
    service.requests()
    save("qsecond")
    sizes = [len(request.texts) for request in service.requests()]
    print(
        f"  one of {len(paragraphs)} paragraphs changed: {len(sizes)} requests, {sum(sizes)} texts  (wanted: 1, 1)"
    )
    return sizes == [1]


async def measure_delays(
    note: Path, save: Callable[[Path], None], *, saves: int, debounce: float
) -> list[float]:
    """Save a note repeatedly; return the seconds from each save to the change that reports it."""
    told: asyncio.Queue[float] = asyncio.Queue()

    async def listen() -> None:
        async with aclosing(Watcher(note.parent, debounce_seconds=debounce).changes()) as changes:
            async for _ in changes:
                told.put_nowait(time.perf_counter())

    took = []
    listening = asyncio.create_task(listen())
    await told.get()
    for number in range(saves):
        await asyncio.sleep(0.4 + 0.013 * number)  # out of step with the scans
        began = time.perf_counter()
        save(note)
        took.append(await told.get() - began)
    listening.cancel()
    await asyncio.wait({listening})
    return took


async def print_delays(folder: Path, saves: int, debounce: float) -> None:
    work = []
    for way, save in WAYS.items():
        note = folder / way / "note.md"
        note.parent.mkdir()
        note.write_text("first\n")
        work.append(measure_delays(note, save, saves=saves, debounce=debounce))
    for way, took in zip(WAYS, await asyncio.gather(*work), strict=True):
        print(f"  {way:16}  median {statistics.median(took):6.3f} s   most {max(took):6.3f} s")


async def measure_cpu_share(changes: AsyncIterator[object], *, seconds: float) -> float:
    """Return the CPU share in per cent while waiting for a change that does not come."""

    async def listen() -> None:
        async for _ in changes:
            pass

    listening = asyncio.create_task(listen())
    await asyncio.sleep(3)
    began, used = time.perf_counter(), time.process_time()
    await asyncio.sleep(seconds)
    share = 100 * (time.process_time() - used) / (time.perf_counter() - began)
    listening.cancel()
    await asyncio.wait({listening})
    return share


def ignore_events(seen: object) -> NoReturn:
    raise OSError("watch limit reached")


async def print_costs(folder: Path, notes: int, seconds: float) -> None:
    for number in range(notes):
        place = folder / f"{number // 100}"
        place.mkdir(exist_ok=True)
        (place / f"{number}.md").touch()
    began = time.process_time()
    watcher._scan_folder(folder, lambda below: False)
    print(f"  one walk          {1000 * (time.process_time() - began):6.1f} ms of a processor")

    def ours() -> AsyncIterator[object]:
        return Watcher(folder, debounce_seconds=1.5).changes()

    async def show(name: str, changes: AsyncIterator[object]) -> None:
        print(f"  {name:16}  {await measure_cpu_share(changes, seconds=seconds):6.2f} % of a core")

    await show("events", ours())
    await show("awatch", watchfiles.awatch(folder))
    with patch.object(watcher, "_open_watch", ignore_events):
        await show("polling", ours())
    await show("awatch, polling", watchfiles.awatch(folder, force_polling=True))


def main() -> None:
    """Print delays in the service, those of the watcher alone, and costs compared with plain watchfiles.

    Exits with 1 if the service is too slow, or sends too many requests.
    """
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--saves", type=int, default=20, help="how often each note is saved")
    parser.add_argument("--notes", type=int, default=10_000, help="notes in the folder that rests")
    parser.add_argument("--idle", type=float, default=20, help="seconds for which it rests, each time")
    parser.add_argument("--service-only", action="store_true", help="leave out the watcher by itself")
    arguments = parser.parse_args()
    print(
        f"in the service with its usual settings, {arguments.saves} saves (wanted: medians < {MAX_SECONDS:g} s)"
    )
    with tempfile.TemporaryDirectory() as name:
        kept = print_until_found(Path(name), arguments.saves)
    if not arguments.service_only:
        print_watcher(arguments)
    sys.exit(not kept)


def print_watcher(arguments: argparse.Namespace) -> None:
    """Measure the watcher alone: its delay, and its cost."""
    for debounce in (WatchSettings().debounce_seconds, 0.0):
        print(f"from saving until told, debounce {debounce:g} s, {arguments.saves} times")
        with tempfile.TemporaryDirectory() as name:
            asyncio.run(print_delays(Path(name), arguments.saves, debounce))
    print(f"while nothing happens to {arguments.notes} notes, {arguments.idle:g} s each")
    with tempfile.TemporaryDirectory() as name:
        asyncio.run(print_costs(Path(name), arguments.notes, arguments.idle))


if __name__ == "__main__":
    main()
