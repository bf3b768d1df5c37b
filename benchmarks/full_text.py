"""Cost of full-text queries in a large memory: `python benchmarks/full_text.py`.

The text is made up: words by Zipf's law in bursts, as in real text, and Chinese characters in words of two.
For each kind of query there are three figures of the same run: the CPU time of `propose`, that of FTS5's own
`ORDER BY rank` over the same table, and their ratio (medians over the queries).

*Exact 10* is the share of FTS5's ten best chunks that `propose` has among its fifty. *Passages 5* is the
share of the five best passages, where the best are those that the search finds when it ranks the 2,000 best
chunks by `ORDER BY rank` and everything that `propose` returns; in brackets, the share when it ranks FTS5's
fifty best.
"""

import argparse
import statistics
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import apsw
from workspaces import ROOT

sys.path.insert(0, str(ROOT))
from memory.index.proposals import Proposal, propose
from memory.index.sqlite_full_text import SqliteFullText, any_of_query, register_functions
from memory.index.sqlite_schema import GENERATIONS, SqliteTables
from memory.ranking.candidates import CandidatePassage, PassageRun, SearchCandidates
from memory.search import rank
from memory.tokenizer import Term, find_beginnings

MOST = 50
CHUNK, PASSAGE = 400, 25
VOCABULARY = 60_000
CHARACTERS = 2_500
MAX_SHARE_OF_PLAIN = 0.25


@dataclass(frozen=True, slots=True)
class Memory:
    """A made-up memory: its tables, the words of chunks, and query terms by the number of chunks with them."""

    tables: SqliteTables
    words: Callable[[int], list[str]]
    terms: list[tuple[int, Term]]


def bursty_words(random: Any, chunks: int, length: int, vocabulary: int) -> Any:
    """Return word numbers, one row per chunk: two thirds by Zipf's law, the others repeat one of the previous forty."""
    import numpy as np

    shares = 1 / (np.arange(vocabulary) + 3.0) ** 1.05
    fresh = np.searchsorted(np.cumsum(shares / shares.sum()), random.random((chunks, length)))
    words = np.minimum(fresh, vocabulary - 1).astype(np.uint16)
    rows = np.arange(chunks)
    for place in range(1, length):
        again = random.random(chunks) < 1 / 3
        before = random.integers(max(0, place - 40), place, chunks)
        words[again, place] = words[rows[again], before[again]]
    return words


def spell_words(random: Any) -> list[str]:
    """Return made-up words; words as common as real ones begin with the same four letters."""
    letters = "abcdefghiklmnoprstuvwyz"
    beginnings = random.integers(0, 8_000, VOCABULARY)
    return [
        "".join(letters[n // 23**place % 23] for place in range(3)) + "x" + _spell(number, letters)
        for number, n in enumerate(beginnings.tolist())
    ]


def _spell(number: int, letters: str) -> str:
    spelled = ""
    while number:
        number, digit = divmod(number, len(letters))
        spelled += letters[digit]
    return spelled


def make_memory(file: Path, chunks: int, *, chinese: bool) -> Memory:
    """Return a memory with this many chunks."""
    import numpy as np

    random = np.random.default_rng(5)
    size = CHUNK // 2 if chinese else CHUNK
    numbers = bursty_words(random, chunks, size, VOCABULARY)
    if chinese:
        pairs = random.integers(0, CHARACTERS, (VOCABULARY, 2))
        spelled = [f"{chr(0x4E00 + a)} {chr(0x4E00 + b)}" for a, b in pairs.tolist()]
    else:
        spelled = spell_words(random)

    numbers_of = [
        row[:length] for row, length in zip(numbers, random.integers(size // 2, size, chunks), strict=True)
    ]

    def words(row: int) -> list[str]:
        return " ".join(spelled[number] for number in numbers_of[row - 1].tolist()).split(" ")

    db = apsw.Connection(str(file))
    register_functions(db)
    tables = SqliteTables(db, GENERATIONS[0])
    tables.create()
    db.execute("BEGIN")
    tables.run_each(
        "INSERT INTO notes@ VALUES (?, ?, 0, 0, 0, '', '', NULL)",
        ((n, f"{n:07}.md") for n in range(1, chunks // 4 + 2)),
    )
    tables.run_each(
        "INSERT INTO chunks@ (id, note, first, last) VALUES (?, ?, ?, ?)",
        ((row, row // 4 + 1, row % 4, 0) for row in range(1, chunks + 1)),
    )
    tables.run_each(
        "INSERT INTO chunk_words@ (rowid, words) VALUES (?, ?)",
        ((row, " ".join(words(row))) for row in range(1, chunks + 1)),
    )
    db.execute("COMMIT")
    # As in the index: the file is locked once, not for each statement.
    db.execute("BEGIN")
    frequencies = np.zeros(VOCABULARY, dtype=np.int64)
    for row in numbers_of:
        frequencies[np.unique(row)] += 1
    terms = [
        (frequency, Term(tuple(spelled[number].split(" "))))
        for number, frequency in enumerate(frequencies.tolist())
        if frequency
    ]
    return Memory(tables, words, terms)


def make_queries(memory: Memory, chunks: int, kind: str, count: int) -> Iterator[list[Term]]:
    """Yield this many queries, one letter per term: c for a common word, r for a rare one."""
    import random

    choose = random.Random(kind)
    common = [term for frequency, term in memory.terms if 0.15 * chunks <= frequency <= 0.7 * chunks]
    rare = [term for frequency, term in memory.terms if 20 <= frequency <= 300]
    for _ in range(count):
        terms: list[Term] = []
        while len(terms) < len(kind):
            term = choose.choice(rare if kind[len(terms)] == "r" else common)
            terms += [] if term in terms else [term]
        yield terms


def plain_search(tables: SqliteTables, terms: Sequence[Term], limit: int) -> list[int]:
    """Return FTS5's best chunks."""
    sql = "SELECT rowid FROM chunk_words@ WHERE chunk_words@ MATCH ? ORDER BY rank LIMIT ?"
    return [row for (row,) in tables.run(sql, (any_of_query(terms), limit))]


def best_passages(
    memory: Memory, terms: Sequence[Term], proposal: Proposal, rows: Sequence[int]
) -> list[tuple[str, int]]:
    """Return the references of the five best passages of these chunks."""
    runs = []
    for row in rows:
        words = memory.words(row)
        lines = [" ".join(words[start : start + PASSAGE]) for start in range(0, len(words), PASSAGE)]
        runs.append(
            PassageRun(
                str(row),
                tuple(CandidatePassage(n, n, "", False, line, line) for n, line in enumerate(lines, 1)),
            )
        )
    hits = rank(
        terms,
        SearchCandidates(tuple(runs), proposal.frequencies, proposal.total),
        limit=5,
        snippet_max_chars=100,
        source="fts",
    )
    return [(hit.path, hit.line_start) for hit in hits]


def cost_of(run: Callable[[], object]) -> float:
    """Return the CPU time in milliseconds, the median of three."""
    times = []
    for _ in range(3):
        started = time.process_time_ns()
        run()
        times.append((time.process_time_ns() - started) / 1e6)
    return statistics.median(times)


def overlap_share(wanted: Sequence[object], got: Sequence[object]) -> float:
    """Return the share of `wanted` that is in `got`."""
    return len(set(wanted) & set(got)) / len(wanted) if wanted else 1.0


def measure(memory: Memory, chunks: int, kind: str, count: int, *, quality: bool) -> dict[str, float]:
    """Return the figures for one kind of query: medians of costs, means of shares."""
    rows: dict[str, list[float]] = {}
    for terms in make_queries(memory, chunks, kind, count):
        asked = [*terms, *find_beginnings(terms)]
        proposal = propose(SqliteFullText(memory.tables), asked, limit=MOST)
        ours = cost_of(lambda asked=asked: propose(SqliteFullText(memory.tables), asked, limit=MOST))  # type: ignore[misc]
        theirs = cost_of(lambda terms=terms: plain_search(memory.tables, terms, MOST))  # type: ignore[misc]
        figures = {"ours": ours, "plain": theirs, "ratio": ours / theirs}
        if quality:
            fifty = plain_search(memory.tables, terms, MOST)
            pool = sorted({*plain_search(memory.tables, terms, 2000), *proposal.chunks})
            best = best_passages(memory, terms, proposal, pool)
            figures |= {
                "exact": overlap_share(fifty[:10], proposal.chunks),
                "passages": overlap_share(best, best_passages(memory, terms, proposal, proposal.chunks)),
                "plain passages": overlap_share(best, best_passages(memory, terms, proposal, fifty)),
            }
        for name, figure in figures.items():
            rows.setdefault(name, []).append(figure)
    return {
        name: statistics.median(figures) if name in ("ours", "plain", "ratio") else statistics.mean(figures)
        for name, figures in rows.items()
    }


KINDS = {
    "c": "one common word",
    "cc": "two",
    "ccc": "three",
    "rcc": "one rare, two common",
    "rrr": "three rare",
}


def main() -> None:
    """Print a line for each kind of query; exit with 1 if three common words cost too much."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--chunks", type=int, nargs="+", default=[10_000, 100_000])
    parser.add_argument("--queries", type=int, default=15, help="of each kind")
    parser.add_argument("--costs-only", action="store_true", help="leave out how good the proposals are")
    arguments = parser.parse_args()
    failed = False
    for chunks in arguments.chunks:
        for language in ("words", "Chinese pairs"):
            with TemporaryDirectory() as folder:
                memory = make_memory(Path(folder, "index.db"), chunks, chinese=language != "words")
                print(f"\n{chunks:,} chunks, {language}".ljust(32), end="")
                print("    ours  ORDER BY rank   ratio  exact 10    passages 5")
                for kind, name in KINDS.items():
                    row = measure(memory, chunks, kind, arguments.queries, quality=not arguments.costs_only)
                    print(f"{name:31}{row['ours']:5.2f} ms{row['plain']:12.2f} ms{row['ratio']:8.2f}", end="")
                    if not arguments.costs_only:
                        print(
                            f"{row['exact']:10.2f}{row['passages']:8.2f} ({row['plain passages']:.2f})",
                            end="",
                        )
                    print(flush=True)
                    failed = failed or (
                        kind == "ccc" and chunks >= 100_000 and row["ratio"] > MAX_SHARE_OF_PLAIN
                    )
                memory.tables.db.close()
    if failed:
        sys.exit(f"wanted: three common words for at most {MAX_SHARE_OF_PLAIN} of `ORDER BY rank`")


if __name__ == "__main__":
    main()
