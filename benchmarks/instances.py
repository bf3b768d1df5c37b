"""Several instances on one memory: `python benchmarks/instances.py [--minutes 10] [--notes 3000] [--seed 1]`.

First two and then three processes index made-up notes into one empty database: each note must be indexed
once, for at most 1.3 times the CPU time of one process alone. Once more, one of them is killed midway. Then
three instances write, correct and search for `--minutes`, while they are killed, cut off from the database
and paused at random; then every line must exist once, every correction be done, and the index equal a rebuilt
one. All three compete for one lease, too: two must never hold it, and it must be held again 30 s after its
holder was killed.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path

from workspaces import ENVIRONMENT, ROOT, write_notes

sys.path.insert(0, str(ROOT))
from memory.index.fingerprint import compute_fingerprint
from memory.index.postgres.index import PostgresIndex
from memory.notes import Notes
from memory.postgres.note_locks import NoteLocks
from memory.postgres.server import Server
from memory.settings import ChunkSettings
from memory.sync import sync_index
from tests.fakes.many_writers import Writers
from tests.fakes.postgres_index_checks import assert_sound_on_server, read_server_contents
from tests.fakes.postgres_server import NEEDS, PostgresServer, find_programs

MAX_TIMES_ALONE = 1.3


def index_process(base: Path, name: str, url: str) -> None:
    """Run one process: after a signal on stdin, index until nothing is left to do."""
    server = Server(url)
    notes = Notes(base / "memory", private=base / name, shared=NoteLocks(server))
    place = PostgresIndex(server, fingerprint=compute_fingerprint(ChunkSettings()))
    place.identity()
    print("ready", flush=True)
    sys.stdin.readline()
    cpu, started = time.process_time(), time.monotonic()
    added = 0
    while True:
        report = sync_index(notes, place, ChunkSettings())
        added += report.added + report.changed
        if not report.elsewhere:
            break
        time.sleep(0.1)
    print(json.dumps([added, time.process_time() - cpu, time.monotonic() - started]), flush=True)
    place.close()
    server.close()


def index_together(base: Path, url: str, count: int, *, kill: bool = False) -> list[tuple[int, float, float]]:
    """Return notes, CPU seconds and seconds of each process that finished; the first may be killed midway."""
    processes = [
        subprocess.Popen(
            [sys.executable, __file__, "--index", str(base), f"instance-{number}", url],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=ENVIRONMENT,
        )
        for number in range(count)
    ]
    for process in processes:
        assert process.stdout
        process.stdout.readline()
    for process in processes:
        assert process.stdin
        process.stdin.write("\n")
        process.stdin.flush()
    if kill:
        time.sleep(1.5)
        processes[0].kill()
    ends = []
    for process in processes:
        out, _ = process.communicate()
        if process.returncode == 0:
            ends.append(json.loads(out))
        elif not kill:
            sys.exit("a process that indexes has failed")
    return ends


def measure_indexing(postgres: PostgresServer, notes: int) -> bool:
    """Print the cost; return whether it is within the limit."""
    well = True
    alone = 0.0
    with tempfile.TemporaryDirectory() as folder:
        base = Path(folder)
        write_notes(base / "memory", notes)
        # Make the files look old: a note that has just changed is read twice by any process.
        subprocess.run(["find", base / "memory", "-exec", "touch", "-d", "-1 hour", "{}", "+"], check=True)
        for count in (1, 2, 3):
            with postgres.database() as url:
                ends = index_together(base, url, count)
            indexed, cpu, seconds = (
                sum(n for n, *_ in ends),
                sum(cpu for _, cpu, _ in ends),
                max(s for *_, s in ends),
            )
            alone = alone or cpu
            parts = " + ".join(str(n) for n, *_ in ends)
            print(
                f"{count} indexing {notes} notes: {seconds:.1f} s, {cpu:.1f} s of processor time in all "
                f"({cpu / alone:.2f} times one alone), {indexed} indexed ({parts})"
            )
            well &= indexed == notes and cpu <= MAX_TIMES_ALONE * alone
        with postgres.database() as url:
            ends = index_together(base, url, 3, kill=True)
            there = len(read_server_contents(url))
            print(f"one of 3 killed: {max(s for *_, s in ends):.1f} s, {there} of {notes} notes are there")
            well &= there == notes
    print(f"each note once, for at most {MAX_TIMES_ALONE} times what one takes: {'yes' if well else 'NO'}")
    return well


def index_contents(folder: Path, private: Path, url: str) -> dict[str, object]:
    """Return the index's content once it is up to date."""
    server = Server(url)
    place = PostgresIndex(server, fingerprint=compute_fingerprint(ChunkSettings()))
    sync_index(Notes(folder, private=private), place, ChunkSettings())
    place.close()
    server.close()
    assert_sound_on_server(url)
    return read_server_contents(url)


def measure_writing(postgres: PostgresServer, minutes: float, seed: int) -> bool:
    """Let them write, and print the result; return whether nothing is wrong."""
    with ExitStack() as stack:
        base = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        url, fresh = stack.enter_context(postgres.database()), stack.enter_context(postgres.database())
        writers = Writers(base, url, seed=seed)
        outcome = writers.run(minutes * 60)
        print(f"{minutes:g} minutes of 3 instances: {outcome.told()}")
        same = index_contents(writers.folder, base / "one", url) == index_contents(
            writers.folder, base / "two", fresh
        )
        print(f"the index equals one built anew: {'yes' if same else 'NO'}")
    return same and not outcome.problems


def main() -> None:
    """Measure both; exit with 1 on any violation."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--minutes", type=float, default=10, help="how long the instances write")
    parser.add_argument("--notes", type=int, default=3_000, help="how many notes are indexed together")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--index", nargs=3, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.index:
        index_process(Path(arguments.index[0]), *arguments.index[1:])
        return
    if not find_programs():
        sys.exit(f"skipped: {NEEDS}")
    postgres = PostgresServer()
    try:
        well = measure_indexing(postgres, arguments.notes) if arguments.notes else True
        well &= measure_writing(postgres, arguments.minutes, arguments.seed) if arguments.minutes else True
    finally:
        postgres.close()
    sys.exit(not well)


if __name__ == "__main__":
    main()
