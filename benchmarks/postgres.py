"""Search in a PostgreSQL index compared with a file: `python benchmarks/postgres.py [--chunks N] [--only NAME]`.

Made-up notes (words by Zipf's law in bursts, vectors clustered by topic) go into both, in the same batches;
then several processes ask both the same questions, each sequentially. p50 and p95 are wall times of
`Index.candidates`. Recall is that of the ten most similar texts, compared with an exhaustive search.
"""

import os

os.environ["OPENBLAS_NUM_THREADS"] = "1"

import argparse
import hashlib
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

import numpy as np
from full_text import bursty_words
from numpy.typing import NDArray
from vector_search import Clusters
from workspaces import ENVIRONMENT, ROOT

sys.path.insert(0, str(ROOT))
from memory.chunker import Chunk, Passage, Segment
from memory.embeddings.protocol import ModelId
from memory.index.postgres.binary_quantization import open_vector_searcher as open_server_nearest
from memory.index.postgres.index import PostgresIndex
from memory.index.protocol import Index, IndexedNote, Stamp, VectorQuery
from memory.index.sqlite import SqliteIndex
from memory.index.vector_search.factory import open_vector_searcher as open_file_nearest
from memory.postgres.server import Server
from memory.tokenizer import Term
from tests.fakes.postgres_server import NEEDS, PostgresServer, find_programs

DIMENSIONS = 384
MODEL = ModelId("benchmark", "topics", DIMENSIONS)
CHUNKS_A_NOTE = 20
PASSAGES_A_CHUNK, WORDS_A_PASSAGE = 8, 25
NOTES_A_BATCH = 100
MOST = 10
FINGERPRINT = "benchmark"
MIN_RECALL = 0.99
MAX_TIMES_SQLITE = 2.0
BLOCK = 5_000

Numbers = NDArray[np.uint16]


def chunk_digest(chunk: int) -> bytes:
    return hashlib.sha256(b"%d" % chunk).digest()


def make_notes(words: Numbers, first: int) -> Iterator[IndexedNote]:
    """Yield the notes for chunks with these words; `first` is the number of the first chunk."""
    size = PASSAGES_A_CHUNK * CHUNKS_A_NOTE
    for start in range(0, len(words), CHUNKS_A_NOTE):
        rows = words[start : start + CHUNKS_A_NOTE]
        lines = [
            " ".join(f"w{number}" for number in line) for line in rows.reshape(-1, WORDS_A_PASSAGE).tolist()
        ]
        passages = [Passage(n, n, f"- {line}", "") for n, line in enumerate(lines, 1)]
        spans = [(at, at + PASSAGES_A_CHUNK - 1) for at in range(0, min(size, len(lines)), PASSAGES_A_CHUNK)]
        yield IndexedNote(
            f"{(first + start) // CHUNKS_A_NOTE:07}.md",
            Stamp(1, 1, 1),
            "",
            passages,
            lines,
            [Chunk(a, b, "") for a, b in spans],
            [Segment(a, b, "", chunk_digest(first + start + n)) for n, (a, b) in enumerate(spans)],
        )


class SyntheticChunks:
    """Words and vectors of this many chunks, and questions."""

    def __init__(self, chunks: int, questions: int) -> None:
        random = np.random.default_rng(5)
        self.words: Numbers = np.concatenate(
            [
                bursty_words(random, min(10_000, chunks - at), PASSAGES_A_CHUNK * WORDS_A_PASSAGE, 60_000)
                for at in range(0, chunks, 10_000)
            ]
        )
        clusters = Clusters(chunks, DIMENSIONS)
        self.vectors = np.concatenate(
            [clusters.draw(min(5_000, chunks - at)) for at in range(0, chunks, 5_000)]
        )
        self.asked = clusters.draw(questions)
        # Realistic questions: three words of a passage, and one that is everywhere.
        rows = random.integers(0, chunks, questions)
        picked = [random.choice(np.unique(self.words[row]), 3, replace=False).tolist() for row in rows]
        self.terms = [[f"w{n}" for n in (*some, int(random.integers(5, 60)))] for some in picked]


def fill(index: Index, made: SyntheticChunks) -> tuple[float, float]:
    """Return the seconds for the notes, and for their vectors."""
    began = time.monotonic()
    size = CHUNKS_A_NOTE * NOTES_A_BATCH
    for at in range(0, len(made.words), size):
        index.write_batch(list(make_notes(made.words[at : at + size], at)))
    between = time.monotonic()
    for at in range(0, len(made.vectors), 2_000):
        some = enumerate(made.vectors[at : at + 2_000], at)
        index.store_vectors(MODEL, {chunk_digest(row): vector.tobytes() for row, vector in some})
    return between - began, time.monotonic() - between


def open_index(stack: ExitStack, place: str) -> Index:
    """Open the index as a service does."""
    if place.startswith("postgresql:"):
        server = stack.enter_context(closing(Server(place)))
        nearest = open_server_nearest(lasting=True)
        return stack.enter_context(closing(PostgresIndex(server, fingerprint=FINGERPRINT, searcher=nearest)))
    return stack.enter_context(
        closing(SqliteIndex(Path(place), fingerprint=FINGERPRINT, searcher=open_file_nearest(lasting=True)))
    )


def time_queries(place: str, file: Path, seed: int) -> None:
    """Ask all questions of a file, and print how long each took."""
    with ExitStack() as stack, np.load(file) as questions:
        index = open_index(stack, place)
        vectors, terms = questions["vectors"], questions["terms"].tolist()
        order = np.random.default_rng(seed).permutation(len(vectors)).tolist()
        for number in [order[-1], *order]:  # the first one fills the caches
            likeness = VectorQuery(MODEL, vectors[number].tobytes(), MOST, 0.3)
            began = time.perf_counter()
            found = index.candidates(
                [Term((word,)) for word in terms[number]], limit=MOST, vector_query=likeness
            )
            print((time.perf_counter() - began) * 1000, flush=True)
            assert found.runs


def measure_times(place: str, file: Path, clients: int) -> tuple[list[float], float]:
    """Return the milliseconds of all questions but each client's first, and the longest first one."""
    command = [sys.executable, __file__, "--ask", place, "--questions", str(file)]
    running = [
        subprocess.Popen([*command, "--seed", str(seed)], cwd=ROOT, env=ENVIRONMENT, stdout=subprocess.PIPE)
        for seed in range(clients)
    ]
    told = [[float(line) for line in each.communicate()[0].split()] for each in running]
    assert not any(each.returncode for each in running)
    return [each for client in told for each in client[1:]], max(client[0] for client in told)


def measure_recall(place: str, made: SyntheticChunks, questions: int) -> float:
    """Return the share of the ten most similar texts that the service's search finds."""
    rows = {chunk_digest(row): row for row in range(len(made.vectors))}
    found = 0
    with ExitStack() as stack:
        index: Any = open_index(stack, place)
        for asked in made.asked[:questions]:
            exact = set(np.argpartition(-(made.vectors @ asked), MOST)[:MOST].tolist())
            found += len(exact & {rows[digest] for digest in find_most_similar(index, asked.tobytes())})
    return found / (MOST * questions)


def find_most_similar(index: Any, asked: bytes) -> list[bytes]:
    """Return the digests of the ten most similar texts."""
    if isinstance(index, PostgresIndex):
        with index._open_read() as moment:
            texts = index._searcher.search(moment.db, 1, asked, limit=MOST, state=moment.version)
            ids = [text for text, _ in texts]
            sql = "SELECT digest FROM commonplace.texts WHERE id = ANY(%s)"
            return [bytes(row[0]) for row in moment.db.execute(sql, [ids])]
    with index._file.reading() as moment:
        texts = index._searcher.search(moment.db, 1, asked, limit=MOST, version=index._state(moment))
        sql = "SELECT digest FROM texts WHERE id = ?"
        return [row[0] for text, _ in texts for row in moment.db.execute(sql, (text,))]


def main() -> None:
    """Print every figure; exit with 1 if one exceeds its limit."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--chunks", type=int, default=200_000)
    parser.add_argument("--clients", type=int, default=3)
    parser.add_argument("--each", type=int, default=200, help="questions of each client")
    parser.add_argument("--only", choices=("postgres", "sqlite"))
    parser.add_argument("--ask", help=argparse.SUPPRESS)
    parser.add_argument("--questions", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--seed", type=int, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.ask:
        time_queries(arguments.ask, arguments.questions, arguments.seed)
        return
    if not find_programs():
        print(f"skipped: {NEEDS}")
        return
    made = SyntheticChunks(arguments.chunks, arguments.each)
    p50: dict[str, float] = {}
    failed: list[str] = []
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        file = folder / "questions.npz"
        np.savez(file, vectors=made.asked, terms=np.array(made.terms))
        places = {}
        if arguments.only != "postgres":
            places["sqlite"] = str(folder / "index.db")
        if arguments.only != "sqlite":
            server = stack.enter_context(
                closing(
                    PostgresServer(shared_buffers="512MB", max_wal_size="4GB", maintenance_work_mem="256MB")
                )
            )
            places["postgres"] = stack.enter_context(server.database())
        print(
            f"{arguments.chunks} chunks x {DIMENSIONS}, {arguments.clients} clients, load {os.getloadavg()[0]:.1f}"
        )
        for name, place in places.items():
            with ExitStack() as one:
                notes, vectors = fill(open_index(one, place), made)
            print(f"{name}: indexed in {notes:.0f} s, vectors kept in {vectors:.0f} s", flush=True)
            if name == "postgres":
                server.execute("VACUUM ANALYZE", database=place.rpartition("/")[2])
        for name, place in places.items():
            times, first = measure_times(place, file, arguments.clients)
            p50[name], p95 = statistics.median(times), statistics.quantiles(times, n=20)[-1]
            recall = measure_recall(place, made, min(100, arguments.each))
            print(
                f"{name}: p50 {p50[name]:.1f} ms, p95 {p95:.1f} ms, the first {first:.0f} ms, "
                f"recall@{MOST} {recall:.4f}, load {os.getloadavg()[0]:.1f}",
                flush=True,
            )
            if name == "postgres" and recall < MIN_RECALL:
                failed.append(f"recall of {name}")
    if len(p50) == 2:
        ratio = p50["postgres"] / p50["sqlite"]
        print(f"p50 of postgres / sqlite: {ratio:.2f} (at most {MAX_TIMES_SQLITE})")
        if ratio > MAX_TIMES_SQLITE:
            failed.append("p50")
    print(f"not as promised: {', '.join(failed) or 'nothing'}")
    sys.exit(bool(failed))


if __name__ == "__main__":
    main()
