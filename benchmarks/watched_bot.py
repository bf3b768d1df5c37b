"""The `commonplace` command in a process that can be inspected: what the soak test starts.

`python benchmarks/watched_bot.py FILE [--trace] ARGUMENTS OF THE COMMAND…`

On SIGUSR1 it frees what it can, and a child writes the numbers of tasks and objects to FILE as JSON: counting takes
35 MB, which would leave holes in the memory that is measured. `--trace` also lists the lines that hold more memory than
at the first look, and costs a lot.
"""

import asyncio
import ctypes
import gc
import json
import os
import signal
import sys
import tempfile
import threading
import traceback
import tracemalloc
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from workspaces import ROOT

sys.path.insert(0, str(ROOT))
from bot.malloc import trim_heap

LINES = 40


class Looker:
    """Counts the process's objects on request."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._first: tracemalloc.Snapshot | None = None
        self._looks = 0

    def ask(self, *_: object) -> None:
        """Have the event loop count between two of its steps."""
        asyncio.get_running_loop().call_soon_threadsafe(self._look)

    def _look(self) -> None:
        self._looks += 1
        gc.collect()
        trim_heap()
        growth = self._growth()
        tasks = Counter(_name(task) for task in asyncio.all_tasks())
        if child := os.fork():
            os.waitpid(child, 0)
            return
        try:
            self._write(tasks, growth)
        except Exception:  # noqa: BLE001 - nobody is above it
            traceback.print_exc()
        finally:
            os._exit(0)

    def _write(self, tasks: Counter[str], growth: list[str]) -> None:
        objects = gc.get_objects()
        types = Counter(f"{type(each).__module__}.{type(each).__qualname__}" for each in objects)
        told: dict[str, Any] = {
            "look": self._looks,
            "tasks": tasks,
            "threads": Counter(thread.name.rstrip("0123456789_-") for thread in threading.enumerate()),
            "objects": len(objects),
            "types": types,
            "bytes": _measure_types(objects),
            "growth": growth,
            "allocated": _allocated(),
        }
        new = self._file.with_suffix(".new")
        new.write_text(json.dumps(told), "utf-8")
        new.replace(self._file)

    def _growth(self) -> list[str]:
        """Return the lines that hold more than at the first look, the most first."""
        if not tracemalloc.is_tracing():
            return []
        now = tracemalloc.take_snapshot().filter_traces([tracemalloc.Filter(False, tracemalloc.__file__)])
        if self._first is None:
            self._first = now
            return []
        return [str(each) for each in now.compare_to(self._first, "lineno")[:LINES] if each.size_diff > 0]


def _allocated() -> dict[str, float]:
    """Return the MB that C code holds, those that it has freed and the allocator keeps, and those of SQLite."""
    import apsw

    sqlite = apsw.status(apsw.SQLITE_STATUS_MEMORY_USED)[0] / 1e6
    libc = ctypes.CDLL(None)
    if not hasattr(libc, "malloc_info"):
        return {"sqlite": sqlite}
    libc.fopen.restype = ctypes.c_void_p
    with tempfile.NamedTemporaryFile() as file:
        stream = ctypes.c_void_p(libc.fopen(file.name.encode(), b"w"))
        libc.malloc_info(0, stream)
        libc.fclose(stream)
        # Of all arenas together; `mallinfo2` knows the first one alone.
        told = ElementTree.parse(file.name).getroot()
    sizes = {
        f"{each.tag} {each.get('type')}": int(each.get("size", 0)) for each in told if each.tag != "heap"
    }
    kept = sizes["total fast"] + sizes["total rest"]
    return {
        "used": (sizes["system current"] + sizes["total mmap"] - kept) / 1e6,
        "kept": kept / 1e6,
        "sqlite": sqlite,
    }


def _measure_types(objects: Iterable[object]) -> Counter[str]:
    """Return the bytes by type: of these objects, and of what they refer to that the collector does not know."""
    sizes: Counter[str] = Counter()
    seen: set[int] = set()
    for each in objects:
        for found in (each, *(other for other in gc.get_referents(each) if not gc.is_tracked(other))):
            if id(found) not in seen:
                seen.add(id(found))
                sizes[f"{type(found).__module__}.{type(found).__qualname__}"] += sys.getsizeof(found, 0)
    return sizes


def _name(task: "asyncio.Task[Any]") -> str:
    coroutine = task.get_coro()
    return getattr(coroutine, "__qualname__", str(coroutine))


def main() -> int:
    file, *arguments = sys.argv[1:]
    if arguments[0] == "--trace":
        arguments = arguments[1:]
        tracemalloc.start(1)
    signal.signal(signal.SIGUSR1, Looker(Path(file)).ask)
    from bot.cli.main import main as run

    return run(arguments)


if __name__ == "__main__":
    sys.exit(main())
