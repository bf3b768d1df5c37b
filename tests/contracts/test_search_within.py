"""A search within some folders gives what an index of these folders alone would give, in every index."""

import random
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import ExitStack, closing
from dataclasses import replace
from datetime import date, timedelta
from pathlib import Path

import pytest

from memory.index import sqlite_vectors
from memory.index.postgres.binary_quantization import open_vector_searcher
from memory.index.postgres.index import PostgresIndex
from memory.index.proposals import ProposalLimits
from memory.index.protocol import Index, IndexedNote, Stamp, VectorQuery
from memory.index.sqlite import SqliteIndex
from memory.index.vector_search.sqlite_vec import SqliteVecSearcher
from memory.notes import Notes
from memory.postgres.server import Server
from memory.ranking.candidates import PassageRun, SearchCandidates
from memory.scan import scan_notes
from memory.search_query import read_query
from memory.tokenizer import Term
from tests.contracts.test_index import alike, embed, note
from tests.memory.index.test_same_ranking import ALL_HITS, VOCABULARIES, set_limits

DAY, TODAY = date(2026, 3, 1), date(2026, 9, 1)
FOLDERS = ("a", "a b", "ab", "a%", "a_", "A", "á", "a\u0301", "ä", "telegram:1", "telegram:12", "0", "記憶")
SCOPES: tuple[tuple[str, ...], ...] = (
    *((folder,) for folder in FOLDERS),
    ("a", "A", "telegram:1"),
    FOLDERS,
    (),
    ("nowhere",),
    ("",),
    ("/",),
    ("a/deep",),
    ("a/deep", "a", "ab"),
    ("a/deep", "a b"),
    ("a/dee",),
    ("a//deep", "a/deep/"),
    ("root.md",),
    ("a/0.md",),
    ("%",),
    ("*",),
    ("a\0", "\ud800", "a'"),
)
FEW_HITS = ProposalLimits(exact_hits=60, rare_hits=30, surely_rare=15)
VOCABULARY = [word for words in VOCABULARIES.values() for word in words[:60]]
Opens = Callable[[], Index]


def is_within(path: str, folders: Collection[str]) -> bool:
    return any(path.startswith(f"{each}/") for each in folders if each)


def make_text(path: str, choose: random.Random) -> str:
    """List items, whose first words are the most common; each folder has its own most common words."""
    words = random.Random(repr(path.rpartition("/")[0])).sample(VOCABULARY, 120)
    shares = [1 / (n + 1) for n in range(len(words))]
    items = [" ".join(choose.choices(words, shares, k=choose.randint(2, 20))) for _ in range(12)]
    return "\n".join(["- same in every note", *(f"- {item}" for item in items)])


def make_note(path: str, text: str) -> IndexedNote:
    choose = random.Random(path)
    return replace(note(path, text, target=60), stamp=Stamp(len(text), choose.randrange(10**18), 1))


def make_notes(choose: random.Random, *, each: int) -> list[IndexedNote]:
    """Some notes in every folder, below it and in none, in any order; half of them are daily logs."""
    names = [str(n) if n % 2 else str(DAY + n * timedelta(1)) for n in range(each)]
    paths = [f"{folder}/{name}.md" for folder in FOLDERS for name in names]
    paths += [f"a/deep/{name}.md" for name in names] + ["root.md", f"{DAY}.md", "a.md", "telegram:1.md"]
    choose.shuffle(paths)
    return [make_note(path, make_text(path, choose)) for path in paths]


def make_query(
    choose: random.Random, folders: Sequence[str]
) -> tuple[str, list[Term], list[tuple[date, date]]]:
    """Words of the scope or of all notes, sometimes a form that is nowhere, sometimes a day."""
    of_scope = random.Random(repr(choose.choice([*folders, "a"]))).sample(VOCABULARY, 120)
    words = [
        choose.choice((of_scope[:10], of_scope, VOCABULARY)[choose.randrange(3)])
        for _ in range(choose.randint(1, 4))
    ]
    words += choose.choices(
        ["same", f"{words[0]}ish", str(DAY + choose.randint(0, 12) * timedelta(1))], k=choose.randint(0, 2)
    )
    query = " ".join(words)
    terms, times = read_query(query, TODAY)
    return query, terms, [(time.first, time.last) for time in times if not time.is_open]


@pytest.fixture(
    params=[
        "numpy",
        pytest.param("sqlite-vec", marks=pytest.mark.thorough),
        pytest.param("postgres", marks=pytest.mark.thorough),
        pytest.param("postgres, many searches", marks=pytest.mark.thorough),
    ]
)
def new_index(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Opens]:
    """Opens another empty index each time."""
    with ExitStack() as stack:
        opened = 0

        def new() -> Index:
            nonlocal opened
            opened += 1
            if request.param.startswith("postgres"):
                url = stack.enter_context(request.getfixturevalue("postgres").database())
                server = stack.enter_context(closing(Server(url)))
                searcher = open_vector_searcher(lasting="many" in request.param)
                return stack.enter_context(
                    closing(PostgresIndex(server, fingerprint="test", searcher=searcher))
                )
            if request.param == "sqlite-vec":
                pytest.importorskip("sqlite_vec")
            searcher_of_file = SqliteVecSearcher() if request.param == "sqlite-vec" else None
            file = tmp_path / f"{opened}.db"
            return stack.enter_context(
                closing(SqliteIndex(file, fingerprint="test", searcher=searcher_of_file))
            )

        yield new


def rounded(candidates: SearchCandidates) -> SearchCandidates:
    """The same with similarities to nine digits: how they are summed depends on how many are compared at once."""

    def of_run(run: PassageRun) -> PassageRun:
        passages = [
            replace(
                each,
                similarity=each.similarity
                and replace(each.similarity, cosine=round(each.similarity.cosine, 5)),
            )
            for each in run.passages
        ]
        return replace(run, passages=tuple(passages))

    return replace(candidates, runs=tuple(map(of_run, candidates.runs)))


def assert_alike(
    whole: Index, alone: Index, folders: Sequence[str], choose: random.Random, *, queries: int
) -> int:
    """Ask both the same by words, by meaning and by both; return how many passages were found."""
    found = 0
    for _ in range(queries):
        query, terms, days = make_query(choose, folders)
        limit = choose.choice((1, 3, 10, 40))
        by_meaning: list[VectorQuery | None] = [
            None,
            alike(query, limit=choose.choice((1, 4, 1000)), minimum=0.2),
        ]
        for words in (terms, []):
            for vector_query in by_meaning:
                asked = {"limit": limit, "vector_query": vector_query, "days": days, "today": TODAY}
                within = whole.candidates(words, **asked, within=folders)  # type: ignore[arg-type]
                wanted = alone.candidates(words, **asked)  # type: ignore[arg-type]
                assert rounded(within) == rounded(wanted), (
                    folders,
                    query,
                    words,
                    vector_query and vector_query.limit,
                )
                assert all(is_within(run.path, folders) for run in within.runs)
                found += sum(len(run.passages) for run in within.runs)
    return found


def write(
    index: Index,
    notes: Sequence[IndexedNote],
    folders: Collection[str] | None = None,
    *,
    deleted: Collection[str] = (),
) -> None:
    chosen = [each for each in notes if folders is None or is_within(each.path, folders)]
    gone = [path for path in deleted if folders is None or is_within(path, folders)]
    index.stamps()
    index.claim([each.path for each in chosen])
    index.write_batch(chosen, deleted=gone)
    embed(index)


@pytest.mark.parametrize("limits", [ALL_HITS, FEW_HITS], ids=["all hits are scored", "few hits are scored"])
def test_it_finds_what_an_index_of_the_folders_alone_finds(
    new_index: Opens, limits: ProposalLimits, monkeypatch: pytest.MonkeyPatch
) -> None:
    set_limits(limits, monkeypatch)
    monkeypatch.setattr(sqlite_vectors, "FEW_TEXTS", limits.exact_hits)
    choose = random.Random(7)
    notes = make_notes(choose, each=6)
    whole = new_index()
    write(whole, notes)
    for folders in SCOPES:
        alone = new_index()
        write(alone, notes, folders)
        found = assert_alike(whole, alone, folders, choose, queries=6)
        assert bool(found) == any(is_within(each.path, folders) for each in notes)


def test_all_folders_by_their_names_are_the_same_as_everything(new_index: Opens) -> None:
    choose = random.Random(10)
    index = new_index()
    write(index, make_notes(choose, each=6), FOLDERS)
    assert assert_alike(index, index, FOLDERS, choose, queries=20)
    write(index, [make_note("root.md", "- same")])
    assert "root.md" not in {
        run.path for run in index.candidates([Term(("same",))], limit=999, within=FOLDERS).runs
    }


def test_it_still_does_after_edits_and_deletions(new_index: Opens) -> None:
    choose = random.Random(8)
    notes = {each.path: each for each in make_notes(choose, each=8)}
    scopes: list[tuple[str, ...]] = [("a",), ("A", "telegram:1"), FOLDERS]
    whole, alone = new_index(), [new_index() for _ in scopes]
    for index, folders in ((whole, None), *zip(alone, scopes, strict=True)):
        write(index, list(notes.values()), folders)
    for _ in range(4):
        deleted = choose.sample(sorted(notes), 10)
        changed = [
            make_note(path, make_text(path, choose))
            for path in choose.sample(sorted(notes.keys() - {*deleted}), 20)
        ]
        moved = [
            make_note(f"{choose.choice(FOLDERS)}/new {n}.md", make_text("a/1.md", choose)) for n in range(4)
        ]
        for index, folders in ((whole, None), *zip(alone, scopes, strict=True)):
            write(index, [*changed, *moved], folders, deleted=deleted)
        notes = {path: each for path, each in notes.items() if path not in deleted}
        for index, folders in zip(alone, scopes, strict=True):
            assert assert_alike(whole, index, folders, choose, queries=4)


def test_a_text_that_is_also_elsewhere_is_found_here_alone(new_index: Opens) -> None:
    index = new_index()
    write(index, [make_note(path, "- the same text") for path in ("b/1.md", "a/1.md", "c/1.md", "x.md")])
    terms, _ = read_query("text", TODAY)
    for folder in "abc":
        found = index.candidates(terms, limit=1, vector_query=alike("text", limit=1), within=[folder])
        assert [run.path for run in found.runs] == [f"{folder}/1.md"]
        assert (found.chunks, found.frequencies[terms[0]]) == (1, 1)


def test_it_still_does_after_a_rebuild_a_purge_and_a_reset(new_index: Opens) -> None:
    index = new_index()
    terms, _ = read_query("passport", TODAY)

    def paths(within: Collection[str]) -> list[str]:
        found = index.candidates(terms, limit=9, vector_query=alike("passport"), within=within)
        assert found.chunks == len(found.runs)
        return [run.path for run in found.runs]

    write(index, [make_note(f"{folder}/1.md", "- passport") for folder in "abc"])
    assert paths(["b"]) == ["b/1.md"]
    with closing(index.shadow()) as shadow:
        notes = [make_note(f"{folder}/2.md", "- passport of somebody") for folder in "cba"]
        shadow.claim([each.path for each in notes])
        shadow.write_batch(notes)
        assert paths(["b"]) == ["b/1.md"]
        shadow.promote()
    assert paths(["b"]) == ["b/2.md"]
    embed(index)
    assert paths(["b"]) == ["b/2.md"]
    index.purge()
    assert paths(["b"]) == ["b/2.md"]
    index.reset()
    assert paths(["b"]) == []
    write(index, [make_note("b/3.md", "- passport")])
    assert paths(["b"]) == ["b/3.md"]
    assert paths(["a"]) == []


def test_a_search_that_fails_does_not_spoil_the_next(new_index: Opens) -> None:
    index = new_index()
    write(
        index, [make_note("a/1.md", "- passport"), make_note("b/1.md", "- passport\n\n# Title\n\n- folder")]
    )
    terms, _ = read_query("passport", TODAY)

    def paths(within: Collection[str] | None) -> list[str]:
        return [run.path for run in index.candidates(terms, limit=9, within=within).runs]

    assert paths(["a"]) == ["a/1.md"]
    with pytest.raises(AttributeError):
        index.candidates(terms, limit=9, days=[(None, None)], within=["b"])  # type: ignore[list-item]
    assert paths(["b"]) == ["b/1.md"]
    assert paths(["a"]) == ["a/1.md"]
    assert paths(None) == ["a/1.md", "b/1.md"]
    assert paths(["b"]) == ["b/1.md"]


def test_the_scan_without_an_index_looks_there_alone(tmp_path: Path) -> None:
    choose = random.Random(9)
    folders = [folder for folder in FOLDERS if folder.isascii()]
    within = ("a", "A", "ab")
    for name, only in (("whole", None), ("alone", within)):
        for each in make_notes(random.Random(7), each=4):
            if only is None or is_within(each.path, only):
                file = tmp_path / name / each.path
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_text("\n".join(passage.text for passage in each.passages))
    notes = [Notes(tmp_path / name, private=tmp_path / "private") for name in ("whole", "alone")]
    for _ in range(10):
        query, _, _ = make_query(choose, folders)
        terms, times = read_query(f"same {query}", TODAY)
        days = [(time.first, time.last) for time in times]
        whole, alone = (scan_notes(each, terms, days, within, max_tokens=400) for each in notes)
        assert {run.path for run in whole.runs} == {run.path for run in alone.runs} != set()
        assert (whole.frequencies, whole.chunks) == (alone.frequencies, alone.chunks)
        assert scan_notes(notes[0], terms, days, (), max_tokens=400).runs == ()
