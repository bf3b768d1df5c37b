"""Cost and recall of vector search, compared with numpy, sqlite-vec's vec0 and exhaustive search.

`python benchmarks/vector_search.py [--embeddings FILE.npy [--questions FILE.npy]] [--full]`, or `--million` alone.
"""

import os

# One thread, so that CPU time is comparable between the baseline and us; numpy reads it on import.
os.environ["OPENBLAS_NUM_THREADS"] = "1"

import argparse
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import apsw
import numpy as np
from numpy.typing import NDArray
from workspaces import ENVIRONMENT

from memory.index.vector_search import binary_quantization
from memory.index.vector_search.binary_quantization import BLOCK_VECTORS, BinaryVectorSearcher
from memory.index.vector_search.sqlite_vec import ExtensionMissing, SqliteVecSearcher, load_extension

Vectors = NDArray[np.float32]

SIZES = ((10_000, 384), (100_000, 384), (100_000, 1536))
MILLION = (1_000_000, 1536)
MODEL = 1
MOST = 10
QUESTIONS = 200
BLOCK = 5_000
VERSION = "benchmark/1"
WANTED = {
    "10k x 384: our leg / (M @ q)": 1.5,
    "100k x 1536: our leg / (M @ q)": 1 / 4,
    "100k x 1536: our leg / vec0": 1 / 30,
    "1000k x 1536: our leg / (comparing all bits at once)": 0.8,
}
MIN_RECALL = 0.99
MAX_MEGABYTES = 120
MAX_MILLION_MEGABYTES = 300
BYTES_PER_DIMENSION = 5.5
"""A vector of 1,536 dimensions fills two pages of 4 KB in the file."""
SCHEMA = """
CREATE TABLE texts (
    id INTEGER PRIMARY KEY AUTOINCREMENT, digest BLOB NOT NULL UNIQUE, uses INTEGER NOT NULL, unused_since INTEGER
);
CREATE INDEX texts_unused ON texts (unused_since) WHERE uses = 0;
CREATE TABLE vectors (
    id INTEGER PRIMARY KEY AUTOINCREMENT, model INTEGER NOT NULL, text INTEGER NOT NULL, embedding BLOB NOT NULL
);
CREATE UNIQUE INDEX vector_of_text ON vectors (model, text);
"""


class Clusters:
    """Vectors like those of models: biased to one side, a few dominant directions, clustered by topic."""

    def __init__(self, count: int, dimensions: int) -> None:
        self._rng = np.random.default_rng(7)
        self._spread = (np.arange(1, dimensions + 1, dtype=np.float32) ** -0.25).astype(np.float32)
        self._lean = 0.8 * self._normal(1)
        # Makes the 1st, 10th and 50th best cosine about .61, .57 and .47; MiniLM has .68, .59 and .52.
        self._topics = 0.7 * self._normal(max(1, count // 40))

    def draw(self, count: int) -> Vectors:
        """Return more of them."""
        topics = self._topics[self._rng.integers(len(self._topics), size=count)]
        return unit(self._lean + topics + self._normal(count))

    def _normal(self, count: int) -> Vectors:
        return self._rng.standard_normal((count, len(self._spread)), dtype=np.float32) * self._spread


class Report:
    """Prints figures and remembers those beyond their limits."""

    def __init__(self) -> None:
        self.failed: list[str] = []

    def ratio(self, name: str, ratio: float) -> None:
        """Print a ratio of costs, and its limit."""
        most = WANTED.get(name)
        print(f"  {name}: {ratio:.3f}" + (f" (at most {most:.3f})" if most else ""))
        if most and ratio > most:
            self.failed.append(name)

    def recall(self, name: str, recall: float, *, minimum: float = 0.0) -> None:
        """Print the share of the exact best that was found."""
        print(f"  {name}: recall@{MOST} {recall:.4f}" + (f" (at least {minimum})" if minimum else ""))
        if recall < minimum:
            self.failed.append(name)

    def megabytes(self, name: str, size: float, *, limit: float = 0.0) -> None:
        """Print a size in memory."""
        print(f"  {name}: {size:.1f} MB" + (f" (at most {limit:.0f})" if limit else ""))
        if limit and size > limit:
            self.failed.append(name)


def main() -> None:
    """Print every figure; exit with 1 if one exceeds its limit."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--embeddings", type=Path, help="real vectors, float32, one a row")
    parser.add_argument("--questions", type=Path, help="vectors of questions; else every 20th of them")
    parser.add_argument(
        "--full", action="store_true", help="vec0 at 100k x 1536 too (some minutes, 1.3 GB of disk)"
    )
    parser.add_argument(
        "--million",
        action="store_true",
        help="only 1,000,000 x 1536 (ten minutes, 8.5 GB in the folder for temporary files)",
    )
    parser.add_argument("--memory-of", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.memory_of:
        print_memory(arguments.memory_of)
        return
    report = Report()
    with tempfile.TemporaryDirectory() as folder:
        if arguments.million:
            million(report, Path(folder), *MILLION)
        elif arguments.embeddings:
            real(report, Path(folder), arguments.embeddings, arguments.questions)
        for count, dimensions in () if arguments.million else SIZES:
            synthetic(report, Path(folder), count, dimensions, with_vec0=dimensions < 1000 or arguments.full)
    print(f"not as promised: {', '.join(report.failed) or 'nothing'}")
    sys.exit(bool(report.failed))


def real(report: Report, folder: Path, embeddings: Path, questions: Path | None) -> None:
    """Measure recall on vectors of a real model."""
    vectors = unit(np.load(embeddings))
    if questions:
        asked = unit(np.load(questions))
    else:
        held_out = np.arange(len(vectors)) % 20 == 0
        vectors, asked = vectors[~held_out], vectors[held_out]
    file = folder / "real.db"
    write_table(file, [vectors])
    db = apsw.Connection(str(file))
    print(f"{len(vectors)} real vectors of {vectors.shape[1]}, {len(asked)} questions")
    report.recall("our leg", recall(db, BinaryVectorSearcher(), vectors, asked), minimum=MIN_RECALL)
    db.close()
    file.unlink()


def synthetic(report: Report, folder: Path, count: int, dimensions: int, *, with_vec0: bool) -> None:
    """Measure costs, recall and memory at one size."""
    name = f"{count // 1000}k x {dimensions}"
    clusters = Clusters(count, dimensions)
    vectors = np.empty((count, dimensions), np.float32)
    for start in range(0, count, BLOCK):
        vectors[start : start + BLOCK] = clusters.draw(len(vectors[start : start + BLOCK]))
    questions = clusters.draw(QUESTIONS)
    file = folder / "vectors.db"
    write_table(file, (vectors[start : start + BLOCK] for start in range(0, count, BLOCK)))
    db = apsw.Connection(str(file))
    ours = BinaryVectorSearcher()
    started = time.process_time()
    search(db, ours, questions[0])
    loading = time.process_time() - started
    asked = Turns(questions)
    product = milliseconds(lambda: vectors @ next(asked))
    sorting = milliseconds(lambda: np.argpartition(-(vectors @ next(asked)), MOST)[:MOST]) - product
    leg = milliseconds(lambda: search(db, ours, next(asked)))
    # Before and after, so that other work on the machine favours neither.
    product = (product + milliseconds(lambda: vectors @ next(asked))) / 2
    print(f"{name}, CPU ms: M @ q {product:.2f} (top {MOST} of it +{max(0, sorting):.2f}), our leg {leg:.2f}")
    print(f"  reading it once at the start: {loading:.2f} s")
    report.ratio(f"{name}: our leg / (M @ q)", leg / product)
    try:
        once = SqliteVecSearcher()
        scan = milliseconds(lambda: search(db, once, next(asked)), calls=7)
        print(f"  one search from the command line, by sqlite-vec's functions: {scan:.1f} ms")
        if with_vec0:
            exact = vec0_milliseconds(folder / "vec0.db", vectors, asked)
            print(f"  vec0 float32: {exact:.1f} ms")
            report.ratio(f"{name}: our leg / vec0", leg / exact)
        else:
            print(f"  {name}: our leg / vec0: not measured (--full)")
    except ExtensionMissing as missing:
        print(f"  {missing}")
    report.recall("synthetic clusters", recall(db, ours, vectors, questions))
    report.megabytes("held in memory", ours.memory_bytes() / 1e6)
    db.close()
    if (count, dimensions) == (100_000, 384):
        grown = subprocess.run(
            [sys.executable, __file__, "--memory-of", str(file)],
            env=ENVIRONMENT,
            stdout=subprocess.PIPE,
            text=True,
            check=True,
        )
        at_rest, most = map(float, grown.stdout.split())
        report.megabytes("resident set after the first search, less before", at_rest, limit=MAX_MEGABYTES)
        report.megabytes("the same at its highest", most)
    file.unlink()


def million(report: Report, folder: Path, count: int, dimensions: int) -> None:
    """Measure what a very large memory costs; its vectors are only in the file, never in this process."""
    name = f"{count // 1000}k x {dimensions}"
    needed = count * dimensions * BYTES_PER_DIMENSION
    if shutil.disk_usage(folder).free < needed:
        sys.exit(f"{name} needs {needed / 1e9:.1f} GB in {folder}; TMPDIR names another folder")
    file = folder / "vectors.db"
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as writer:
        questions, best = writer.submit(write_clusters, file, count, dimensions).result()
    db = apsw.Connection(str(file))
    ours = BinaryVectorSearcher()
    before = resident("VmRSS")
    evict(file)
    _, wall, cpu = timed_search(db, ours, questions[0])
    print(f"{name}\n  reading it once from disk: {wall:.1f} s, {cpu:.1f} s of CPU")
    searches = [timed_search(db, ours, question) for question in questions]
    hits = sum(len({*exact.tolist()} & {*found}) for exact, (found, _, _) in zip(best, searches, strict=True))
    _, walls, cpus = zip(*searches, strict=True)
    p95 = statistics.quantiles(walls, n=20)[-1]
    print(f"  our leg, ms: p50 {1000 * statistics.median(walls):.1f}, p95 {1000 * p95:.1f};", end=" ")
    print(f"of CPU p50 {1000 * statistics.median(cpus):.1f}")
    report.recall("synthetic clusters", hits / best.size, minimum=MIN_RECALL)
    report.megabytes("held in memory", ours.memory_bytes() / 1e6)
    report.megabytes(
        "resident set at its highest, less before", resident("VmHWM") - before, limit=MAX_MILLION_MEGABYTES
    )
    asked = Turns(questions)
    prefix_first = milliseconds(lambda: search(db, ours, next(asked)), calls=50)
    usual = binary_quantization.MIN_PREFIX_VECTORS
    binary_quantization.MIN_PREFIX_VECTORS = count + 1
    at_once = milliseconds(lambda: search(db, ours, next(asked)), calls=50)
    binary_quantization.MIN_PREFIX_VECTORS = usual
    print(f"  comparing all bits at once: {at_once:.1f} ms of CPU")
    report.ratio(f"{name}: our leg / (comparing all bits at once)", prefix_first / at_once)
    rng = np.random.default_rng(3)
    words = (dimensions // 64, BLOCK_VECTORS)
    blocks = [rng.integers(1 << 64, size=words, dtype=np.uint64) for _ in range(-(-count // BLOCK_VECTORS))]
    plain = milliseconds(
        lambda: [np.bitwise_count(block ^ blocks[0][:, :1]).sum(axis=0, dtype=np.uint16) for block in blocks],
        calls=20,
    )
    print(f"  XOR and bit count of all, nothing else: {plain:.1f} ms of CPU")
    report.ratio(f"{name}: our leg / (XOR and bit count of all)", prefix_first / plain)
    cold = []
    for question in questions[:10]:
        evict(file)
        cold.append(timed_search(db, ours, question)[1])
    print(f"  p50 if the system has cached nothing of the file: {1000 * statistics.median(cold):.0f} ms")
    db.close()


def write_clusters(file: Path, count: int, dimensions: int) -> tuple[Vectors, NDArray[np.int64]]:
    """Write vectors block by block; return questions and their exact best texts."""
    clusters = Clusters(count, dimensions)
    questions = clusters.draw(QUESTIONS)
    best: NDArray[np.int64] = np.empty((QUESTIONS, 0), np.int64)
    cosines: Vectors = np.empty((QUESTIONS, 0), np.float32)

    def blocks() -> Iterator[Vectors]:
        nonlocal best, cosines
        for start in range(0, count, BLOCK):
            block = clusters.draw(min(BLOCK, count - start))
            texts = np.broadcast_to(np.arange(start + 1, start + 1 + len(block)), (QUESTIONS, len(block)))
            best = np.concatenate((best, texts), axis=1)
            cosines = np.concatenate((cosines, questions @ block.T), axis=1)
            places = np.argpartition(-cosines, MOST, axis=1)[:, :MOST]
            best = np.take_along_axis(best, places, axis=1)
            cosines = np.take_along_axis(cosines, places, axis=1)
            yield block

    write_table(file, blocks())
    return questions, best


def timed_search(
    db: apsw.Connection, searcher: BinaryVectorSearcher, question: Vectors
) -> tuple[list[int], float, float]:
    """Return what `search` returns, the seconds that it took, and those of CPU time."""
    started = time.perf_counter(), time.process_time()
    found = search(db, searcher, question)
    return found, time.perf_counter() - started[0], time.process_time() - started[1]


def evict(file: Path) -> None:
    """Drop the file from the system's cache, where the system can."""
    if hasattr(os, "posix_fadvise"):
        with file.open("rb") as opened:
            os.fsync(opened.fileno())
            os.posix_fadvise(opened.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


class Turns(Iterator[Vectors]):
    """An endless sequence of questions."""

    def __init__(self, questions: Vectors) -> None:
        self._questions = questions
        self._next = 0

    def __next__(self) -> Vectors:
        self._next = (self._next + 1) % len(self._questions)
        question: Vectors = self._questions[self._next]
        return question


def unit(vectors: Vectors) -> Vectors:
    """Return each row scaled to length 1, as vectors are stored."""
    scaled: Vectors = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    return scaled.astype("<f4")


def write_table(file: Path, blocks: "Iterator[Vectors] | list[Vectors]") -> None:
    """Write the two tables of the index for vector search."""
    db = apsw.Connection(str(file))
    db.execute("PRAGMA journal_mode = WAL; PRAGMA synchronous = OFF")
    db.execute(SCHEMA)
    for block in blocks:
        with db:
            for vector in block:
                db.execute("INSERT INTO texts (digest, uses) VALUES (randomblob(32), 1)")
                text = db.last_insert_rowid()
                row = (MODEL, text, vector.tobytes())
                db.execute("INSERT INTO vectors (model, text, embedding) VALUES (?, ?, ?)", row)
    db.close()


def search(
    db: apsw.Connection, searcher: BinaryVectorSearcher | SqliteVecSearcher, question: Vectors
) -> list[int]:
    """Return the best texts, in a transaction as in the index."""
    db.execute("BEGIN")
    found = searcher.search(db, MODEL, question.tobytes(), limit=MOST, version=VERSION)
    db.execute("COMMIT")
    return [text for text, _ in found]


def recall(
    db: apsw.Connection, searcher: BinaryVectorSearcher, vectors: Vectors, questions: Vectors
) -> float:
    """Return the share of the exact best that is found; texts are numbered from 1."""
    hits = 0
    for question in questions:
        best = np.argpartition(-(vectors @ question), MOST)[:MOST] + 1
        hits += len({*best.tolist()} & {*search(db, searcher, question)})
    return hits / (MOST * len(questions))


def vec0_milliseconds(file: Path, vectors: Vectors, asked: Turns) -> float:
    """Return the time of an exhaustive search in a vec0 table with default settings."""
    db = apsw.Connection(str(file))
    db.execute("PRAGMA journal_mode = WAL; PRAGMA synchronous = OFF")
    load_extension(db)
    db.execute(f"CREATE VIRTUAL TABLE v USING vec0 (embedding float[{vectors.shape[1]}])")
    for start in range(0, len(vectors), BLOCK):
        with db:
            rows = [(vector.tobytes(),) for vector in vectors[start : start + BLOCK]]
            db.executemany("INSERT INTO v (embedding) VALUES (?)", rows)
    sql = "SELECT rowid, distance FROM v WHERE embedding MATCH ? ORDER BY distance LIMIT ?"
    spent = milliseconds(lambda: list(db.execute(sql, (next(asked).tobytes(), MOST))), calls=7)
    db.close()
    file.unlink()
    return spent


def milliseconds(call: Callable[[], object], *, calls: int = 100) -> float:
    """Return the CPU time of one call, the median of many."""
    call()
    spent = []
    for _ in range(calls):
        started = time.process_time()
        call()
        spent.append(time.process_time() - started)
    return statistics.median(spent) * 1000


def print_memory(file: Path) -> None:
    """Print the megabytes that the first search adds to this process: afterwards, and at most."""
    db = apsw.Connection(str(file))
    [(size,)] = db.execute("SELECT length(embedding) FROM vectors LIMIT 1")
    question = unit(np.random.default_rng(1).standard_normal((1, size // 4), dtype=np.float32))[0]
    before = resident("VmRSS")
    search(db, nearest := BinaryVectorSearcher(), question)
    print(resident("VmRSS") - before, resident("VmHWM") - before)
    assert nearest.memory_bytes()


def resident(field: str) -> float:
    """Return a field of /proc/self/status in MB; 0 if there is no such file."""
    status = Path("/proc/self/status")
    if not status.exists():
        return 0.0
    [line] = [line for line in status.read_text().splitlines() if line.startswith(f"{field}:")]
    return int(line.split()[1]) / 1000


if __name__ == "__main__":
    main()
