"""Cost of indexing notes, of detecting that none has changed, and of embedding them.

`python benchmarks/indexing.py [--notes 10000] [--embedded 200]`

The notes are made up, 4 KB each. Indexing runs as the real command in a process of its own, user and system
time. Detecting no change is measured inside a process, without its start, and compared with a walk that only
calls `stat` on every file; the two alternate. The embedding server runs in another process and answers at
once.
"""

import argparse
import gc
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from workspaces import (
    COMMAND,
    ENVIRONMENT,
    embedding_service,
    make_workspace,
    run_measured,
    write_config,
    write_notes,
)

MIN_FILES_PER_SECOND = 400
MAX_SCANS_RATIO = 1.3
MAX_EMBEDDING_SECONDS = 3.0
DIMENSIONS = 1536
BATCH = 100
TURNS = 5
# The minimum work: list each folder, read each file's size and times.
WALK = """
import os, sys
def walk(folder):
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                yield from walk(entry.path)
            else:
                yield entry.stat(follow_symlinks=False)
print(sum(found.st_size for found in walk(sys.argv[1])))
"""


class Report:
    """Prints figures and remembers those beyond their limits."""

    def __init__(self) -> None:
        self.failed: list[str] = []

    def figure(self, text: str, *, wanted: str = "", kept: bool = True) -> None:
        """Print a line with its limit."""
        print(
            f"  {text}" + (f"  (wanted: {wanted})" if wanted else "") + ("" if kept else "  NOT KEPT"),
            flush=True,
        )
        if not kept:
            self.failed.append(text)


def index_command(config: Path, *more: str) -> list[str]:
    return [*COMMAND, "memory", "index", "--config", str(config), *more]


def measure_without_vectors(report: Report, folder: Path, count: int) -> None:
    """Index many notes, then none."""
    workspace = make_workspace(folder / "w")
    write_notes(workspace / "memory", count)
    time.sleep(0.2)  # files younger than that would be read again
    config = write_config(folder / "config.toml", workspace, memory_embedding={"provider": "none"})
    print(f"{count} files of 4 KB without vectors")
    first = run_measured(index_command(config), folder)
    rate = count / first.seconds
    report.figure(
        f"indexed in {first.seconds:.2f} CPU s: {rate:.0f} files a CPU s, {first.megabytes:.0f} MB of memory at most",
        wanted=f">= {MIN_FILES_PER_SECOND}",
        kept=rate >= MIN_FILES_PER_SECOND,
    )
    report.figure(f"index: {index_bytes(workspace) / count:.0f} bytes a file")
    inner = subprocess.run(
        [sys.executable, __file__, "--inside", str(workspace)],
        env=ENVIRONMENT,
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    for name, (ours, walk, ratio) in json.loads(inner.stdout).items():
        report.figure(
            f"nothing changed, {name}: {ours:.1f} ms, a bare walk {walk:.1f} ms, {ratio:.2f} times",
            wanted=f"<= {MAX_SCANS_RATIO}",
            kept=ratio <= MAX_SCANS_RATIO,
        )
    commands = [
        [run_measured(command, folder).seconds for _ in range(TURNS)]
        for command in (index_command(config), [sys.executable, "-c", WALK, str(workspace / "memory")])
    ]
    ours, walk = (1000 * statistics.median(seconds) for seconds in commands)
    report.figure(f"… as whole commands, with their start: {ours:.0f} ms, the walk {walk:.0f} ms")


def print_inner_costs(workspace: Path) -> None:
    """Print as JSON the cost of a sync without changes and of a walk in this process, alternating: CPU ms, medians."""
    from memory.index.sqlite import SqliteIndex
    from memory.notes import Notes
    from memory.settings import ChunkSettings
    from memory.sync import sync_index

    private = workspace / ".commonplace"
    notes = Notes(workspace / "memory", private=private)
    index = SqliteIndex(private / "index.db", fingerprint=index_fingerprint())
    walk = compile(WALK.replace("print", "str"), "walk", "exec")
    sys.argv = ["", str(workspace / "memory")]

    def sync() -> None:
        report = sync_index(notes, index, ChunkSettings())
        assert (report.added, report.changed, report.removed, report.problems) == (0, 0, 0, ())

    def figures() -> tuple[float, float, float]:
        spent = [(measure_cpu(sync), measure_cpu(lambda: exec(walk, {}))) for _ in range(TURNS + 1)][1:]
        ours, bare = (statistics.median(turn[side] for turn in spent) for side in (0, 1))
        return ours, bare, ours / bare

    found = {"in a service": figures()}
    gc.disable()  # as a command does
    found["in a command"] = figures()
    index.close()
    print(json.dumps(found))


def index_fingerprint() -> str:
    """Return the fingerprint of a memory with default settings; with another one the index would be rebuilt."""
    from memory.index.fingerprint import compute_fingerprint
    from memory.settings import ChunkSettings

    return compute_fingerprint(ChunkSettings())


def measure_cpu(work: Callable[[], object]) -> float:
    """Return the CPU time in ms."""
    began = time.process_time()
    work()
    return 1000 * (time.process_time() - began)


def measure_with_vectors(report: Report, folder: Path, count: int) -> None:
    """Index some notes with an embedding server."""
    workspace = make_workspace(folder / "v")
    write_notes(workspace / "memory", count, seed=2)
    time.sleep(0.2)
    plain = write_config(folder / "plain.toml", workspace, memory_embedding={"provider": "none"})
    without = run_measured(index_command(plain), folder)
    words_only = index_bytes(workspace)
    for file in (workspace / ".commonplace").glob("index.db*"):
        file.unlink()
    print(f"{count} files of 4 KB with vectors of {DIMENSIONS} from a server")
    with embedding_service() as service:
        embedding = service.settings(dimensions=DIMENSIONS, batch_size=BATCH)
        config = write_config(folder / "vectors.toml", workspace, memory_embedding=embedding)
        cost = run_measured(index_command(config), folder)
        requests = service.requests()
        run_measured(index_command(config), folder)
        again = len(service.requests())
    sizes = [len(request.texts) for request in requests]
    texts = sum(sizes)
    report.figure(
        f"{cost.seconds:.2f} CPU s ({without.seconds:.2f} without vectors), {cost.megabytes:.0f} MB of memory at most",
        wanted=f"<= {MAX_EMBEDDING_SECONDS:g} CPU s",
        kept=cost.seconds <= MAX_EMBEDDING_SECONDS,
    )
    least = -(-texts // BATCH)
    report.figure(
        f"{len(requests)} requests for {texts} texts, {sum(size == BATCH for size in sizes)} of them full",
        wanted=f"{least}, all full but one",
        kept=len(requests) == least and all(request.base64 for request in requests),
    )
    report.figure(f"{again} requests when nothing has changed", wanted="0", kept=not again)
    letters = sum(len(text.encode()) for request in requests for text in request.texts)
    report.figure(f"a file: {texts / count:.1f} texts, {letters / 4 / count:.0f} tokens (bytes / 4)")
    total = index_bytes(workspace)
    report.figure(
        f"index: {total / count:.0f} bytes a file, {words_only / count:.0f} without vectors"
        f" ({4 * DIMENSIONS * texts / count:.0f} are the vectors themselves)"
    )


def index_bytes(workspace: Path) -> int:
    return sum(file.stat().st_size for file in (workspace / ".commonplace").glob("index.db*"))


def main() -> None:
    """Print every figure; exit with 1 if one exceeds its limit."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--notes", type=int, default=10_000, help="how many are indexed without vectors")
    parser.add_argument("--embedded", type=int, default=200, help="how many with vectors")
    parser.add_argument("--inside", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.inside:
        print_inner_costs(arguments.inside)
        return
    report = Report()
    with tempfile.TemporaryDirectory() as folder:
        if arguments.notes:
            measure_without_vectors(report, Path(folder), arguments.notes)
        if arguments.embedded:
            measure_with_vectors(report, Path(folder), arguments.embedded)
    print(f"not as promised: {'; '.join(report.failed) or 'nothing'}")
    sys.exit(bool(report.failed))


if __name__ == "__main__":
    main()
