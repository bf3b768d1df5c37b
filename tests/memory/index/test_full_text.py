import random
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import apsw
import pytest

from memory.index.proposals import ASSUMED_SHARE, SCARCE, Proposal, ProposalLimits, propose
from memory.index.sqlite_full_text import SqliteFullText, register_functions
from memory.index.sqlite_schema import SqliteTables, check_integer
from memory.ranking.ties import score_band
from memory.tokenizer import Term, find_beginnings, parse_query, tokenize

Notes = Mapping[str, Sequence[str]]


@pytest.fixture
def tables() -> Iterator[SqliteTables]:
    opened = opened_anew()
    yield opened
    opened.db.close()


@pytest.fixture
def small_thresholds(monkeypatch: pytest.MonkeyPatch) -> None:
    """Treat a memory of a few hundred chunks as a large one."""
    for name, value in {
        "LIMITS": ProposalLimits(exact_hits=60, rare_hits=30, surely_rare=10),
        "MANY_TOGETHER": 40,
        "READ_AHEAD": 20,
        "FIRST_HITS": 5,
    }.items():
        monkeypatch.setattr(f"memory.index.sqlite_full_text.{name}", value)


def opened_anew() -> SqliteTables:
    tables = SqliteTables(apsw.Connection(":memory:"), "b")
    tables.create()
    register_functions(tables.db)
    return tables


def add(tables: SqliteTables, notes: Notes) -> None:
    for path, chunks in notes.items():
        remove(tables, [path])
        tables.run("INSERT INTO notes@ VALUES (NULL, ?, 0, 0, 0, '', '', NULL)", (path,))
        note = tables.db.last_insert_rowid()
        for first, words in enumerate(chunks):
            tables.run("INSERT INTO chunks@ (note, first, last) VALUES (?, ?, 0)", (note, first))
            tables.run(
                "INSERT INTO chunk_words@ (rowid, words) VALUES (?, ?)",
                (tables.db.last_insert_rowid(), " ".join(tokenize(words))),
            )


def remove(tables: SqliteTables, paths: Iterable[str]) -> None:
    for path in paths:
        rows = tables.run(
            "SELECT chunks@.id FROM chunks@ JOIN notes@ ON notes@.id = note WHERE path = ?", (path,)
        ).fetchall()
        for row in [check_integer(row) for (row,) in rows]:
            tables.run("DELETE FROM chunk_words@ WHERE rowid = ?", (row,))
            tables.run("DELETE FROM chunks@ WHERE id = ?", (row,))
        tables.run("DELETE FROM notes@ WHERE path = ?", (path,))


def places(tables: SqliteTables, proposal: Proposal) -> set[tuple[str, int]]:
    """Return the positions of the proposed chunks, whatever their row numbers."""
    assert len(set(proposal.chunks)) == len(proposal.chunks)
    return {
        (path, first)
        for row in proposal.chunks
        for path, first in tables.run(
            "SELECT path, first FROM chunks@ JOIN notes@ ON notes@.id = note WHERE chunks@.id = ?", (row,)
        )
    }


def asked(tables: SqliteTables, query: str, limit: int = 10) -> set[tuple[str, int]]:
    return places(tables, propose(SqliteFullText(tables), parse_query(query), limit=limit))


def large_memory() -> dict[str, list[str]]:
    """Return three hundred chunks with three words in most of them, many differing only by position."""
    choose = random.Random(2)
    chunks = [
        " ".join(
            choose.choices(
                ["garden", "kitchen", "summer", "and", "of", "to", "in"], k=choose.choice((5, 40, 90))
            )
        )
        for _ in range(60)
    ]
    notes = {f"{n}.md": choose.choices(chunks, k=3) for n in range(100)}
    notes["7.md"][1] += " passport"
    notes["8.md"][2] += " 我们 在 花园 里" * 3
    return notes


QUERIES = (
    "garden",
    "garden kitchen",
    "garden kitchen summer",
    "summer kitchen garden passport",
    "passport",
    "absent",
    "absent garden summer",
    "花园",
    "花园 garden kitchen",
    "passport summer garden kitchen",
    "passport 花园 garden to kitchen of",
    "passport kitchen",
)


def test_with_few_matches_every_matching_chunk_is_proposed(tables: SqliteTables) -> None:
    add(tables, {"a.md": ["the passport", "nothing"], "b.md": ["a boiler", "passport and boiler"]})
    assert asked(tables, "passport boiler") == {("a.md", 0), ("b.md", 0), ("b.md", 1)}
    assert asked(tables, "nowhere") == set()
    assert propose(SqliteFullText(tables), [], limit=10) == Proposal((), {}, 4)
    assert propose(SqliteFullText(tables), parse_query("passport"), limit=0).chunks == ()
    assert len(propose(SqliteFullText(tables), parse_query("passport"), limit=(1 << 63) - 1).chunks) == 2


def test_frequencies_and_total_are_exact_after_edits(tables: SqliteTables) -> None:
    add(tables, {f"{n}.md": ["passport"] * 3 for n in range(40)})
    add(tables, {f"{n}.md": ["passport", "boiler"] for n in range(10)})
    remove(tables, [f"{n}.md" for n in range(30, 40)])
    terms = parse_query("passport boiler absent")
    proposal = propose(SqliteFullText(tables), terms, limit=10)
    assert proposal.frequencies == dict(zip(terms, (10 + 20 * 3, 10, 0), strict=True))
    assert proposal.total == 10 * 2 + 20 * 3
    assert propose(SqliteFullText(tables), parse_query("absent"), limit=10).total == proposal.total


def test_with_few_matches_the_ranking_is_that_of_fts5(tables: SqliteTables) -> None:
    choose = random.Random(4)
    words = [f"word{n}" for n in range(30)]
    add(
        tables, {f"{n:03}.md": [" ".join(choose.choices(words, k=choose.randint(5, 60)))] for n in range(200)}
    )
    for _ in range(10):
        terms = [Term((word,)) for word in choose.sample(words, 3)]
        rows: Iterable[Any] = tables.run(
            "SELECT rowid, -rank FROM chunk_words@ WHERE chunk_words@ MATCH ? ORDER BY rank",
            (" OR ".join(term.tokens[0] for term in terms),),
        )
        best: dict[int, float] = dict(rows)
        last = score_band(list(best.values())[9])
        proposed = propose(SqliteFullText(tables), terms, limit=10).chunks
        assert len(set(proposed)) == 10
        assert all(score_band(best[row]) >= last for row in proposed)
        assert {row for row, score in best.items() if score_band(score) > last} <= set(proposed)


def test_ties_are_broken_by_path_and_position_not_by_insertion_order(tables: SqliteTables) -> None:
    add(tables, {f"{n:03}.md": ["passport", "passport"] for n in reversed(range(150))})
    assert asked(tables, "passport", limit=3) == {("000.md", 0), ("000.md", 1), ("001.md", 0)}


@pytest.fixture(scope="module")
def one_memory_in_three_ways() -> Iterator[tuple[SqliteTables, SqliteTables, SqliteTables]]:
    notes = large_memory()
    forwards = opened_anew()
    add(forwards, notes)
    backwards = opened_anew()
    add(backwards, dict(reversed(notes.items())))
    edited = opened_anew()
    add(edited, {path: ["garden kitchen summer", "old"] for path in list(notes)[::3]})
    add(edited, {f"gone{n}.md": ["garden kitchen summer passport"] * 2 for n in range(30)})
    add(edited, dict(sorted(notes.items())))
    remove(edited, [f"gone{n}.md" for n in range(30)])
    edited.run("INSERT INTO chunk_words@ (chunk_words@) VALUES ('optimize')")
    yield forwards, backwards, edited
    for tables in (forwards, backwards, edited):
        tables.db.close()


@pytest.mark.thorough
@pytest.mark.usefixtures("small_thresholds")
@pytest.mark.parametrize("query", QUERIES)
def test_insertion_order_does_not_change_the_chunks(
    one_memory_in_three_ways: tuple[SqliteTables, SqliteTables, SqliteTables], query: str
) -> None:
    for most in (*range(1, 13), 20, 39):
        forwards, backwards, edited = (asked(it, query, most) for it in one_memory_in_three_ways)
        assert forwards == backwards == edited
    ours, *others = (
        propose(SqliteFullText(it), parse_query(query), limit=10) for it in one_memory_in_three_ways
    )
    for theirs in others:
        assert (ours.frequencies, ours.total) == (theirs.frequencies, theirs.total)


def test_a_beginning_finds_every_word_that_begins_so(tables: SqliteTables) -> None:
    add(tables, {"a.md": ["Kinderwagen", "Kind", "kin"], "b.md": ["das Kind und Kinder"]})
    proposal = propose(SqliteFullText(tables), [Term(("kind",), is_beginning=True)], limit=10)
    assert places(tables, proposal) == {("a.md", 0), ("a.md", 1), ("b.md", 0)}
    assert list(proposal.frequencies.values()) == [3]


def test_only_words_in_few_chunks_are_looked_for_by_how_they_begin(tables: SqliteTables) -> None:
    add(tables, {f"word{n}.md": ["garden"] for n in range(SCARCE)})
    add(tables, {f"form{n}.md": ["gardenia", "kitchen kitchenware"] for n in range(300)})
    garden, kitchen, scarce = (Term((word,)) for word in ("garden", "kitchen", "kitchenet"))
    gard, kitc = find_beginnings([garden, kitchen])
    often = propose(SqliteFullText(tables), [garden, gard], limit=SCARCE)
    assert places(tables, often) == {(f"word{n}.md", 0) for n in range(SCARCE)}
    assert often.frequencies[gard] == round(ASSUMED_SHARE * often.total) > SCARCE
    everywhere = propose(SqliteFullText(tables), [kitchen, kitc], limit=SCARCE)
    assert everywhere.frequencies == {kitchen: 300, kitc: 300}
    seldom = propose(SqliteFullText(tables), [kitchen, garden, scarce, gard, kitc], limit=SCARCE)
    assert seldom.frequencies[kitc] == 300
    assert seldom.frequencies[gard] == often.frequencies[gard]


def test_with_too_few_hits_forms_fill_what_is_left(tables: SqliteTables) -> None:
    add(tables, {f"word{n}.md": ["garden"] for n in range(SCARCE)})
    add(tables, {f"form{n}.md": ["gardenia and more"] for n in range(300)})
    terms = [Term(("garden",)), Term(("gard",), is_beginning=True)]
    filled = propose(SqliteFullText(tables), terms, limit=SCARCE + 20)
    assert {(f"word{n}.md", 0) for n in range(SCARCE)} < places(tables, filled)
    assert len(filled.chunks) == SCARCE + 20
    assert filled.frequencies == dict(zip(terms, (SCARCE, SCARCE + 300), strict=True))


@pytest.mark.usefixtures("small_thresholds")
def test_a_common_beginning_proposes_if_there_is_nothing_else(tables: SqliteTables) -> None:
    add(tables, {f"{n}.md": ["garden kitchens"] for n in range(100)})
    beginning = Term(("kitc",), is_beginning=True)
    proposal = propose(SqliteFullText(tables), [Term(("kitchenette",)), beginning], limit=5)
    assert len(proposal.chunks) == 5
    assert proposal.frequencies[beginning] == 100


@pytest.mark.usefixtures("small_thresholds")
def test_common_words_are_found_close_together(tables: SqliteTables) -> None:
    filler = " ".join(["and of"] * 40)
    apart = f"garden {filler} kitchen {filler} summer {filler}"
    add(tables, {f"{n}.md": [apart] for n in range(100)})
    add(tables, {"together.md": [f"{filler} garden of kitchen and summer {filler}"]})
    assert asked(tables, "summer kitchen garden", limit=1) == {("together.md", 0)}
    # Other chunks fill the remaining places.
    assert len(asked(tables, "summer kitchen garden", limit=20)) == 20


@pytest.mark.usefixtures("small_thresholds")
def test_more_frequent_common_words_close_together_win(tables: SqliteTables) -> None:
    add(tables, {f"{n}.md": ["garden kitchen summer"] for n in range(100)})
    add(tables, {"often.md": ["garden kitchen summer garden kitchen summer"]})
    add(tables, {"far.md": [f"garden kitchen summer {'of ' * 200} garden kitchen summer"]})
    assert asked(tables, "summer kitchen garden", limit=1) == {("often.md", 0)}


@pytest.mark.usefixtures("small_thresholds")
def test_a_rare_word_chooses_and_common_ones_only_rank(tables: SqliteTables) -> None:
    add(tables, {f"{n:03}.md": ["garden kitchen"] for n in range(200)})
    add(tables, {f"rare{n}.md": ["passport " + ("garden" if n == 3 else "cellar")] for n in range(8)})
    assert asked(tables, "garden passport", limit=8) == {(f"rare{n}.md", 0) for n in range(8)}
    assert ("rare3.md", 0) in asked(tables, "garden kitchen passport", limit=1)
    wide = asked(tables, "garden kitchen passport", limit=20)
    assert {(f"rare{n}.md", 0) for n in range(8)} < wide
    assert len(wide) == 20


@pytest.mark.usefixtures("small_thresholds")
def test_common_words_that_are_never_close_are_still_found(tables: SqliteTables) -> None:
    add(tables, {f"{word}{n}.md": [word] for word in ("garden", "kitchen", "summer") for n in range(100)})
    assert len(asked(tables, "garden kitchen summer")) == 10


@pytest.mark.usefixtures("small_thresholds")
def test_two_common_words_suffice_if_no_chunk_contains_three(tables: SqliteTables) -> None:
    add(
        tables,
        {f"{n}.md": ["garden kitchen" if n < 15 else "summer" if n % 2 else "garden"] for n in range(200)},
    )
    add(tables, {f"k{n}.md": ["kitchen"] for n in range(40)})
    assert asked(tables, "summer garden kitchen") <= {(f"{n}.md", 0) for n in range(15)}


@pytest.mark.usefixtures("small_thresholds")
def test_pairs_of_characters_are_looked_for_as_neighbours(tables: SqliteTables) -> None:
    add(tables, {f"{n}.md": ["我们在花园里做饭", "园花 饭做"] for n in range(100)})
    add(tables, {"both.md": ["花园做饭花园做饭"]})
    terms = parse_query("花园做饭")
    proposal = propose(SqliteFullText(tables), terms, limit=5)
    assert [proposal.frequencies[term] for term in terms] == [101, 1, 101]
    assert ("both.md", 0) in places(tables, proposal)
    assert all(first == 0 for _, first in places(tables, proposal))
    common = propose(SqliteFullText(tables), [terms[0], terms[2]], limit=1)
    assert places(tables, common) == {("both.md", 0)}


@pytest.mark.thorough
@pytest.mark.usefixtures("small_thresholds")
@pytest.mark.parametrize("common", [True, False])
def test_a_thousand_terms_can_be_asked_for(tables: SqliteTables, common: bool) -> None:
    words = [f"word{n}" for n in range(1000)]
    chunks = [" ".join(words)] * 5 if common else [" ".join(words[n : n + 5]) for n in range(0, 1000, 5)]
    add(tables, {f"{n}.md": [chunk] for n, chunk in enumerate(chunks)})
    terms = [Term((word,)) for word in words]
    proposal = propose(SqliteFullText(tables), terms, limit=5)
    assert len(proposal.chunks) == 5
    assert set(proposal.frequencies.values()) == {5 if common else 1}


@pytest.mark.parametrize("number_of_chunks", [1, 2, 130, 400])
def test_frequencies_are_exact_however_common_a_word_is(
    tables: SqliteTables, number_of_chunks: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("memory.index.sqlite_full_text.READ_AHEAD", 5)
    monkeypatch.setattr("memory.index.sqlite_full_text.FIRST_HITS", 2)
    choose = random.Random(9)
    words = {f"word{n}": n / 20 for n in range(21)}
    chunks = [
        " ".join(word for word, share in words.items() for _ in range(2) if choose.random() < share)
        for _ in range(number_of_chunks)
    ]
    add(tables, {f"{n}.md": [chunk] for n, chunk in enumerate(chunks)})
    remove(tables, [f"{n}.md" for n in range(3, number_of_chunks, 5)])
    left = [set(chunk.split()) for n, chunk in enumerate(chunks) if n < 3 or (n - 3) % 5]
    for word in words:
        for terms in ([Term((word,))], [Term((word,)), Term(("word3",))]):
            proposal = propose(SqliteFullText(tables), terms, limit=10)
            assert proposal.total == len(left)
            assert proposal.frequencies == {
                term: sum(term.tokens[0] in chunk for chunk in left) for term in terms
            }


def test_fts5_operators_are_searched_as_words(tables: SqliteTables) -> None:
    add(tables, {"a.md": ["and or not near"], "b.md": ["other"]})
    terms = [Term((word,)) for word in ("and", "or", "not", "near")]
    assert places(tables, propose(SqliteFullText(tables), terms, limit=5)) == {("a.md", 0)}
