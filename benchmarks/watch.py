"""How soon a saved note is told of, and what watching costs while nothing happens.

`python benchmarks/watch.py [--saves 20] [--notes 10000] [--idle 20]`
"""

import argparse
import asyncio
import statistics
import tempfile
import time
from collections.abc import AsyncIterator, Callable
from contextlib import aclosing
from pathlib import Path
from typing import NoReturn
from unittest.mock import patch

import watchfiles

from memory import watcher
from memory.settings import WatchSettings
from memory.watcher import Watcher


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


async def seconds_until_told(
    note: Path, save: Callable[[Path], None], *, saves: int, debounce: float
) -> list[float]:
    """Save a note so many times; seconds from each to the change that tells of it."""
    told: asyncio.Queue[float] = asyncio.Queue()

    async def listen() -> None:
        async with aclosing(Watcher(note.parent, debounce_seconds=debounce).changes()) as changes:
            async for _ in changes:
                told.put_nowait(time.perf_counter())

    took = []
    listening = asyncio.create_task(listen())
    await told.get()
    for number in range(saves):
        await asyncio.sleep(0.4 + 0.013 * number)  # not in step with the looks
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
        work.append(seconds_until_told(note, save, saves=saves, debounce=debounce))
    for way, took in zip(WAYS, await asyncio.gather(*work), strict=True):
        print(f"  {way:16}  median {statistics.median(took):6.3f} s   most {max(took):6.3f} s")


async def share_of_core(changes: AsyncIterator[object], *, seconds: float) -> float:
    """Processor time by time, in per cent, while somebody waits for a change that does not come."""

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


def no_events(seen: object) -> NoReturn:
    raise OSError("watch limit reached")


async def print_costs(folder: Path, notes: int, seconds: float) -> None:
    for number in range(notes):
        place = folder / f"{number // 100}"
        place.mkdir(exist_ok=True)
        (place / f"{number}.md").touch()
    began = time.process_time()
    watcher._take_snapshot(folder)
    print(f"  one walk          {1000 * (time.process_time() - began):6.1f} ms of a processor")

    def ours() -> AsyncIterator[object]:
        return Watcher(folder, debounce_seconds=1.5).changes()

    async def show(name: str, changes: AsyncIterator[object]) -> None:
        print(f"  {name:16}  {await share_of_core(changes, seconds=seconds):6.2f} % of a core")

    await show("events", ours())
    await show("awatch", watchfiles.awatch(folder))
    with patch.object(watcher, "_watch", no_events):
        await show("polling", ours())
    await show("awatch, polling", watchfiles.awatch(folder, force_polling=True))


def main() -> None:
    """Print delays as configured and without debounce, then costs beside those of plain watchfiles."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--saves", type=int, default=20, help="how often each note is saved")
    parser.add_argument("--notes", type=int, default=10_000, help="notes in the folder that rests")
    parser.add_argument("--idle", type=float, default=20, help="seconds for which it rests, each time")
    arguments = parser.parse_args()
    for debounce in (WatchSettings().debounce_seconds, 0.0):
        print(f"from saving until told, debounce {debounce:g} s, {arguments.saves} times")
        with tempfile.TemporaryDirectory() as name:
            asyncio.run(print_delays(Path(name), arguments.saves, debounce))
    print(f"while nothing happens to {arguments.notes} notes, {arguments.idle:g} s each")
    with tempfile.TemporaryDirectory() as name:
        asyncio.run(print_costs(Path(name), arguments.notes, arguments.idle))


if __name__ == "__main__":
    main()
