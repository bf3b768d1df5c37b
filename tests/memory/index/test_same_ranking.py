"""The index file and the server propose the same chunks with the same scores, and so rank alike."""

import random
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing
from datetime import date, timedelta

import pytest

from memory.chunker import split_chunks, split_passages, split_segments
from memory.index.postgres.index import PostgresIndex
from memory.index.proposals import ProposalLimits
from memory.index.protocol import IndexedNote, Stamp
from memory.index.sqlite import SqliteIndex
from memory.postgres.server import Server
from memory.ranking.candidates import SearchCandidates
from memory.ranking.query import NamedTime
from memory.search import rank
from memory.search_query import read_query
from memory.tokenizer import Term, find_beginnings, tokenize
from tests.fakes.postgres_server import PostgresServer

FINGERPRINT = "2/3/400/80"
WORDS = [f"w{n}" for n in range(200)]
STEMS = [f"{a}{b}{c}b" for a in "dglr" for b in "aeio" for c in "mnt"]
FORMS = [f"{stem}{ending}" for ending in ("", "ox", "uk", "oxum") for stem in STEMS]
NUMBERED = [f"{stem}19" for stem in STEMS]
CYRILLIC = [
    f"{a}{b}{c}{d}{end}" for a in "бгк" for b in "ао" for c in "рл" for d in "тн" for end in ("", "а", "овый")
]
CHINESE = [f"{a}{b}" for a in "花园厨房夏天护照" for b in "我们在做饭时光"]
THAI = [f"{a}{b}" for a in "กขคงจ" for b in ("าน", "ิน", "ูม", "่อน")]
ARABIC = [f"{article}{a}{b}{c}" for article in ("", "ال") for a in "كقس" for b in "تمر" for c in "بلن"]
VOCABULARIES = {
    "words": WORDS,
    "forms": [*FORMS, *NUMBERED],
    "ru": CYRILLIC,
    "zh": CHINESE,
    "th": THAI,
    "ar": ARABIC,
}
FEW_HITS = ProposalLimits(exact_hits=320, rare_hits=240, surely_rare=240)
ALL_HITS = ProposalLimits(exact_hits=10_000, rare_hits=10_000, surely_rare=10_000)
DAY, WEEK = date(2026, 3, 1), timedelta(7)


def make_note(path: str, choose: random.Random) -> IndexedNote:
    """Return a note of list items of different lengths, the first words much more common than the last."""
    vocabulary = VOCABULARIES[path.partition("/")[0]]
    shares = [1 / (n + 1) for n in range(len(vocabulary))]
    items = ["- " + " ".join(choose.choices(vocabulary, shares, k=choose.randint(2, 20))) for _ in range(60)]
    passages = split_passages("\n".join(items))
    words = [" ".join(tokenize(passage.text)) for passage in passages]
    return IndexedNote(
        path, Stamp(1, 1, 1), path, passages, words, split_chunks(passages), split_segments(passages)
    )


@pytest.fixture(scope="module")
def notes() -> list[IndexedNote]:
    """Five thousand chunks, half of them told on some day; no word is in more than a thousand."""
    choose = random.Random(3)
    paths = [
        f"{kind}/{n:03}.md" if n % 2 else f"{kind}/{DAY + n * timedelta(1)}.md"
        for kind in VOCABULARIES
        for n in range(160)
    ]
    return [make_note(path, choose) for path in paths]


@pytest.fixture(scope="module")
def both(
    postgres: PostgresServer, tmp_path_factory: pytest.TempPathFactory, notes: list[IndexedNote]
) -> Iterator[tuple[SqliteIndex, PostgresIndex]]:
    file = tmp_path_factory.mktemp("same") / "index.db"
    with ExitStack() as stack:
        in_file = stack.enter_context(closing(SqliteIndex(file, fingerprint=FINGERPRINT)))
        server = stack.enter_context(closing(Server(stack.enter_context(postgres.database()))))
        on_server = stack.enter_context(closing(PostgresIndex(server, fingerprint=FINGERPRINT)))
        for index in (in_file, on_server):
            index.write_batch(notes)
        yield in_file, on_server


@pytest.fixture(params=[ALL_HITS, FEW_HITS], ids=["all hits are scored", "few hits are scored"])
def limits(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> ProposalLimits:
    chosen: ProposalLimits = request.param
    set_limits(chosen, monkeypatch)
    return chosen


def set_limits(limits: ProposalLimits, monkeypatch: pytest.MonkeyPatch) -> None:
    for backend in ("sqlite_full_text", "postgres.full_text"):
        monkeypatch.setattr(f"memory.index.{backend}.LIMITS", limits)
    for name in ("READ_AHEAD", "FIRST_HITS"):
        monkeypatch.setattr(f"memory.index.sqlite_full_text.{name}", 5)


def hits(
    terms: list[Term], candidates: SearchCandidates, times: Sequence[NamedTime] = ()
) -> list[tuple[str, int, float]]:
    found = rank(
        terms, candidates, limit=10, snippet_max_chars=700, source="fts", times=times, today=DAY + 20 * WEEK
    )
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
    set_limits(limits, monkeypatch)
    choose = random.Random(kinds)
    for _ in range(20):
        words = [choose.choice(WORDS[:8] if kind == "c" else WORDS[90:]) for kind in kinds]
        terms = [Term((word,)) for word in dict.fromkeys(words)]
        in_file, on_server = (index.candidates(terms, limit=4) for index in both)
        assert on_server == in_file
        assert hits(terms, on_server) == hits(terms, in_file) != []


@pytest.mark.usefixtures("limits")
def test_beginnings_of_words_are_counted_and_scored_alike(both: tuple[SqliteIndex, PostgresIndex]) -> None:
    choose = random.Random(4)
    looked_for: set[bool] = set()
    for _ in range(20):
        # Forms that no note contains, or seldom ones and common ones.
        words = [
            Term((choose.choice(FORMS[100:]) + choose.choice(["", "", "ez"]),)),
            Term((choose.choice(FORMS[:40]),)),
        ]
        words = words[: choose.randint(1, 2)]
        terms = [*words, *find_beginnings(words)]
        in_file, on_server = (index.candidates(terms, limit=4) for index in both)
        assert on_server == in_file
        assert hits(terms, on_server) == hits(terms, in_file) != []
        own = sum(in_file.frequencies[word] for word in words)
        looked_for.add(own < 4)
    assert looked_for == {True, False}


@pytest.mark.parametrize("script", ["ru", "zh", "th", "ar"])
def test_other_scripts_rank_alike(
    both: tuple[SqliteIndex, PostgresIndex], script: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # How close together common words are is measured in different ways, so all hits are scored.
    set_limits(ALL_HITS, monkeypatch)
    choose = random.Random(script)
    for _ in range(15):
        query = " ".join(choose.choices(VOCABULARIES[script], k=choose.randint(1, 4)))
        terms, times = read_query(query, DAY)
        in_file, on_server = (index.candidates(terms, limit=6) for index in both)
        assert on_server == in_file
        assert hits(terms, on_server, times) == hits(terms, in_file, times) != []


@pytest.mark.usefixtures("limits")
def test_queries_that_name_a_day_rank_alike(both: tuple[SqliteIndex, PostgresIndex]) -> None:
    choose = random.Random(5)
    named = 0
    for _ in range(15):
        day = DAY + choose.randint(0, 150) * timedelta(1)
        terms, times = read_query(f"{choose.choice(FORMS)} {choose.choice(WORDS)} {day}", DAY + 40 * WEEK)
        days = [(time.first, time.last) for time in times]
        assert days == [(day, day)]
        in_file, on_server = (
            index.candidates(terms, limit=6, days=days, today=DAY + 40 * WEEK) for index in both
        )
        assert on_server == in_file
        found = hits(terms, on_server, times)
        assert found == hits(terms, in_file, times) != []
        named += any(str(day) in path for path, _, _ in found)
    assert named


def test_the_limits_leave_out_chunks(both: tuple[SqliteIndex, PostgresIndex]) -> None:
    for index in both:
        assert index.numbers().chunks > 2_000
        few, many = (index.candidates([Term(("w3",))], limit=limit) for limit in (6, 2_000))
        assert sum(len(run.passages) for run in few.runs) < sum(len(run.passages) for run in many.runs) / 10
