"""Cost of a search within some folders of a large memory: `python benchmarks/folder_search.py [--vectors]`.

The memory is like the talk of twenty chats: one folder each, 3,000 notes of 32 short messages, one a list item.
The messages are made up, of words by Zipf's law. For each kind of query there is the CPU time from its terms to its
hits, the median and the 95th percentile over the queries: in all notes, in one folder, in all but one, and in all
by their names. *After a message* is one note written before each query, so that nothing of the search before holds.
"""

import argparse
import hashlib
import random
import statistics
import sys
import time
from array import array
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import closing
from datetime import date, timedelta
from itertools import accumulate
from pathlib import Path
from tempfile import TemporaryDirectory

from figures import Report
from workspaces import ROOT

sys.path.insert(0, str(ROOT))
from memory.embeddings.protocol import ModelId
from memory.embeddings.unit_vectors import pack_vector
from memory.index.location import IndexFileLocation
from memory.index.protocol import Index, VectorQuery
from memory.listing import Listing, NoteStat
from memory.note_source import LoadedNote
from memory.search import rank
from memory.search_query import read_query
from memory.settings import ChunkSettings
from memory.sync import sync_index

FOLDERS = 20
MESSAGES = 32
VOCABULARY = 30_000
COMMON, RARE = (3, 60), (2_000, 20_000)
"""Ranks of the words that the queries are made of, by how common they are."""
KINDS = {
    "c": "one common word",
    "cc": "two",
    "ccc": "three",
    "rcc": "one rare, two common",
    "rrr": "three rare",
}
LIMIT = 5
MAX_MILLISECONDS = 40.0
MAX_WITH_VECTORS = 100.0
MODEL = ModelId("benchmark", "made up", 384)
FIRST_DAY, TODAY = date(2024, 1, 1), date(2026, 11, 1)


class Talk:
    """A `NoteSource` of made-up messages."""

    is_shared = False

    def __init__(self, notes: int) -> None:
        """Make up all messages."""
        self._choose = random.Random(6)
        self._texts: dict[str, str] = {}
        self._sums = [*accumulate(1 / (n + 3) ** 1.05 for n in range(VOCABULARY))]
        self.words = [_spell(number) for number in range(VOCABULARY)]
        self.folders = [f"telegram:{number}" for number in range(FOLDERS)]
        for number in range(notes):
            day = FIRST_DAY + number // 4 * timedelta(1)
            path = f"{self.folders[number % FOLDERS]}/{number}/1/{day}.md"
            self._texts[path] = "".join(self._message() for _ in range(MESSAGES))

    def add_message(self) -> None:
        """Add a message to one of the notes."""
        path = self._choose.choice([*self._texts])
        self._texts[path] += self._message()

    def walk(self, *, known: Mapping[str, tuple[int, int, int]] | None = None) -> Listing:
        """Return all notes."""
        stats = [self._stat(path) for path in self._texts]
        new = [one for one in stats if (known or {}).get(one.path) != (one.size, one.mtime_ns, one.ctime_ns)]
        changed = {stat.path for stat in new}
        return Listing(new, [], [path for path in self._texts if path not in changed])

    def load(self, path: str) -> LoadedNote:
        """Return one note."""
        text = self._texts[path]
        return LoadedNote(text, "utf-8", hashlib.sha256(text.encode()).hexdigest(), self._stat(path))

    def query(self, kind: str) -> str:
        """Return a query with one word for each letter: c for a common one, r for a rare one."""
        return " ".join(
            self.words[self._choose.randrange(*(COMMON if each == "c" else RARE))] for each in kind
        )

    def _message(self) -> str:
        length = min(80, 2 + round(self._choose.expovariate(1 / 12)))
        words = self._choose.choices(self.words, cum_weights=self._sums, k=length)
        return f"- {self._choose.choice(('Anna', 'Commonplace'))}: {' '.join(words)}\n"

    def _stat(self, path: str) -> NoteStat:
        return NoteStat(path, len(self._texts[path]), 1_000_000_007, 0, 1)


def _spell(number: int) -> str:
    """Return a made-up word; the commonest ones begin differently."""
    syllables = [f"{consonant}{vowel}" for consonant in "bdfgklmnprstvz" for vowel in "aeiou"]
    spelled = ""
    while number or len(spelled) < 4:
        number, digit = divmod(number, len(syllables))
        spelled += syllables[digit]
    return spelled


def make_vector(choose: random.Random) -> bytes:
    """Return a random vector of length one."""
    numbers = [choose.gauss(0.2, 1) for _ in range(MODEL.dimensions)]
    length = sum(number * number for number in numbers) ** 0.5
    return pack_vector(array("f", [number / length for number in numbers]))


def embed(index: Index) -> None:
    """Give every text a random vector."""
    choose = random.Random(7)
    while missing := index.list_unembedded(MODEL, limit=2_000):
        index.store_vectors(MODEL, {text.digest: make_vector(choose) for text in missing})


def search(index: Index, query: str, *, within: Collection[str] | None, vector: bytes | None) -> float:
    """Search once; return the CPU time in milliseconds."""
    began = time.process_time_ns()
    terms, times = read_query(query, TODAY)
    similar = VectorQuery(MODEL, vector, 10, 0.3) if vector else None
    candidates = index.candidates(terms, limit=10, vector_query=similar, today=TODAY, within=within)
    rank(terms, candidates, limit=LIMIT, snippet_max_chars=700, source="fts", times=times, today=TODAY)
    return (time.process_time_ns() - began) / 1e6


def measure(
    index: Index,
    queries: Sequence[str],
    *,
    within: Collection[str] | None,
    vectors: bool,
    before: Callable[[], object] = lambda: None,
) -> tuple[float, float]:
    """Return the median and the 95th percentile of the searches' CPU time."""
    choose = random.Random(8)
    costs: list[float] = []
    for query in [queries[0], *queries]:
        before()
        costs.append(search(index, query, within=within, vector=make_vector(choose) if vectors else None))
    costs = sorted(costs[1:])  # without the first, which reads the file
    return statistics.median(costs), costs[int(0.95 * len(costs))]


def main() -> None:
    """Print the figures; exit with 1 if a search costs too much."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--notes", type=int, default=3_125)
    parser.add_argument("--queries", type=int, default=40, help="of each kind")
    parser.add_argument("--vectors", action="store_true", help="compare vectors of 384 numbers too")
    arguments = parser.parse_args()
    report, most = Report(), MAX_WITH_VECTORS if arguments.vectors else MAX_MILLISECONDS
    with TemporaryDirectory() as folder:
        talk = Talk(arguments.notes)
        index, _ = IndexFileLocation(Path(folder), fingerprint="benchmark").open_with_backend(lasting=True)
        with closing(index):
            began = time.process_time()
            sync_index(talk, index, ChunkSettings())
            seconds = time.process_time() - began
            messages = arguments.notes * MESSAGES
            if arguments.vectors:
                embed(index)
            print(f"{messages:,} messages in {index.numbers().chunks:,} chunks; CPU time in ms")
            report.figure("to index a thousand messages", 1e6 * seconds / messages)
            scopes: dict[str, Collection[str] | None] = {
                "everything": None,
                "one folder": talk.folders[:1],
                "all folders but one": talk.folders[1:],
                "all folders": talk.folders,
            }
            for kind, name in KINDS.items():
                queries = [talk.query(kind) for _ in range(arguments.queries)]
                for place, within in scopes.items():
                    median, high = measure(index, queries, within=within, vectors=arguments.vectors)
                    report.figure(f"{name}, in {place}, median", median)
                    report.figure(f"{name}, in {place}, p95", high, limit=most)

            def say_something() -> None:
                talk.add_message()
                sync_index(talk, index, ChunkSettings())

            queries = [talk.query("cc") for _ in range(arguments.queries)]
            for place, within in scopes.items():
                _, high = measure(
                    index, queries, within=within, vectors=arguments.vectors, before=say_something
                )
                report.figure(f"two common, in {place}, after a message, p95", high, limit=most)
    if report.failed:
        sys.exit(f"too slow: {'; '.join(report.failed)}")


if __name__ == "__main__":
    main()
