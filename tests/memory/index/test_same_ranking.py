"""The index file and the server propose the same chunks with the same scores, and so rank alike."""

import random
from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path

import pytest

from memory.chunker import split_chunks, split_passages, split_segments
from memory.index.postgres.index import PostgresIndex
from memory.index.proposals import ProposalLimits
from memory.index.protocol import IndexedNote, Stamp
from memory.index.sqlite import SqliteIndex
from memory.postgres.server import Server
from memory.ranking.candidates import SearchCandidates
from memory.search import rank
from memory.tokenizer import Term, find_beginnings, tokenize

FINGERPRINT = "2/3/400/80"
WORDS = [f"w{n}" for n in range(200)]
STEMS = [f"{a}{b}{c}b" for a in "dglr" for b in "aeio" for c in "mnt"]
FORMS = [f"{stem}{ending}" for ending in ("", "ox", "uk", "oxum") for stem in STEMS]
FEW_HITS = ProposalLimits(exact_hits=120, rare_hits=90, surely_rare=90)
ALL_HITS = ProposalLimits(exact_hits=1_000, rare_hits=1_000, surely_rare=1_000)


def make_note(path: str, choose: random.Random) -> IndexedNote:
    """Return a note of list items of different lengths, the first words much more common than the last."""
    vocabulary = FORMS if path.startswith("forms") else WORDS
    shares = [1 / (n + 1) for n in range(len(vocabulary))]
    items = ["- " + " ".join(choose.choices(vocabulary, shares, k=choose.randint(2, 20))) for _ in range(60)]
    passages = split_passages("\n".join(items))
    words = [" ".join(tokenize(passage.text)) for passage in passages]
    return IndexedNote(
        path, Stamp(1, 1, 1), path, passages, words, split_chunks(passages), split_segments(passages)
    )


@pytest.fixture(scope="module")
def notes() -> list[IndexedNote]:
    choose = random.Random(3)
    numbered = [make_note(f"{n:03}.md", choose) for n in range(60)]
    return numbered + [make_note(f"forms/{n:03}.md", choose) for n in range(40)]


@pytest.fixture
def both(
    database: str, tmp_path: Path, notes: list[IndexedNote]
) -> Iterator[tuple[SqliteIndex, PostgresIndex]]:
    with ExitStack() as stack:
        in_file = stack.enter_context(closing(SqliteIndex(tmp_path / "index.db", fingerprint=FINGERPRINT)))
        server = stack.enter_context(closing(Server(database)))
        on_server = stack.enter_context(closing(PostgresIndex(server, fingerprint=FINGERPRINT)))
        for index in (in_file, on_server):
            index.write_batch(notes)
        yield in_file, on_server


def hits(terms: list[Term], candidates: SearchCandidates) -> list[tuple[str, int, float]]:
    found = rank(terms, candidates, limit=10, snippet_max_chars=700, source="fts")
    return [(hit.path, hit.line_start, round(hit.score, 3)) for hit in found]


@pytest.mark.parametrize(
    ("kinds", "limits"),
    [
        pytest.param("rrr", ALL_HITS, id="all hits are scored"),
        pytest.param("rcc", FEW_HITS, id="a rare word chooses"),
        pytest.param("rrc", FEW_HITS, id="two rare words choose"),
        pytest.param("c", FEW_HITS, id="one common word"),
    ],
)
def test_the_file_and_the_server_rank_alike(
    both: tuple[SqliteIndex, PostgresIndex],
    kinds: str,
    limits: ProposalLimits,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for backend in ("sqlite_full_text", "postgres.full_text"):
        monkeypatch.setattr(f"memory.index.{backend}.LIMITS", limits)
    for name in ("READ_AHEAD", "FIRST_HITS"):
        monkeypatch.setattr(f"memory.index.sqlite_full_text.{name}", 5)
    choose = random.Random(kinds)
    for _ in range(20):
        words = [choose.choice(WORDS[:8] if kind == "c" else WORDS[90:]) for kind in kinds]
        terms = [Term((word,)) for word in dict.fromkeys(words)]
        in_file, on_server = (index.candidates(terms, limit=4) for index in both)
        assert on_server == in_file
        assert hits(terms, on_server) == hits(terms, in_file) != []


@pytest.mark.parametrize("limits", [ALL_HITS, FEW_HITS])
def test_beginnings_of_words_are_counted_and_scored_alike(
    both: tuple[SqliteIndex, PostgresIndex], limits: ProposalLimits, monkeypatch: pytest.MonkeyPatch
) -> None:
    for backend in ("sqlite_full_text", "postgres.full_text"):
        monkeypatch.setattr(f"memory.index.{backend}.LIMITS", limits)
    for name in ("READ_AHEAD", "FIRST_HITS"):
        monkeypatch.setattr(f"memory.index.sqlite_full_text.{name}", 5)
    choose = random.Random(4)
    for _ in range(20):
        word = Term((choose.choice(FORMS[100:]),))
        terms = [word, *find_beginnings([word])]
        in_file, on_server = (index.candidates(terms, limit=4) for index in both)
        assert on_server == in_file
        assert in_file.frequencies[terms[1]] > in_file.frequencies[word]
        assert hits(terms, on_server) == hits(terms, in_file) != []
